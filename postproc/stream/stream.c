/* stream.c - see stream.h: the order of phases. */
#include "postproc/stream/stream.h"
#include "base/pool.h"
#include "base/progress.h"

#define SHARDS_MAX 64u

static int make_shards(struct stream *st)
{
	uint32_t nranks = st->step->nranks;
	st->nshards = nranks < SHARDS_MAX ? nranks : SHARDS_MAX;
	st->shards = calloc(st->nshards + 1, sizeof(*st->shards));
	st->mail = calloc((size_t)st->nshards * st->nshards + 1, sizeof(*st->mail));
	if (st->shards == NULL || st->mail == NULL)
		return -ENOMEM;
	for (uint32_t i = 0, rank = 0; i < st->nshards; i++) {
		struct shard *sh = &st->shards[i];
		sh->stream = st;
		sh->number = i;
		sh->first_rank = rank;
		while (rank < nranks && shard_of(st, rank) == i)
			rank++;
		sh->end_rank = rank;
		sh->sends = SLAB(struct send);
		sh->recvs = SLAB(struct recv);
		sh->waits = SLAB(struct wait);
		sh->parts = SLAB(struct part);
		sh->meets = SLAB(struct meet);
		sh->pages = SLAB(struct request_page);
		match_begin(sh);
		sh->pairs.runs = st->runs;
		sh->unread = calloc(st->step->files.n + 1, sizeof(*sh->unread));
		if (sh->unread == NULL || tally_begin(&sh->tally, st->step) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void shard_done(struct shard *sh)
{
	match_done(sh);
	meet_done(sh);
	slab_done(&sh->sends);
	slab_done(&sh->recvs);
	slab_done(&sh->waits);
	slab_done(&sh->parts);
	slab_done(&sh->meets);
	slab_done(&sh->pages);
	vec_done(&sh->transfers);
	vec_done(&sh->waited);
	free(sh->unread);
	free(sh->part_of);
	tally_done(&sh->tally);
	pairs_done(&sh->pairs);
}

#define PHASE(name, ...) \
	static void name(void *context, size_t i) \
	{ \
		struct shard *sh = &((struct stream *)context)->shards[i]; \
		__VA_ARGS__ \
	}

static void clear(struct shard *sh)
{
	sh->transfers.n = 0;
	sh->waited.n = 0;
}

PHASE(phase_calls, clear(sh); calls_window(sh);)
PHASE(phase_match, match_window(sh); meet_window(sh);)
PHASE(phase_judge, judge_window(sh);)
PHASE(phase_calls_end, clear(sh); calls_end(sh);)
PHASE(phase_match_end, match_end(sh); meet_end(sh);)

static int phase(struct stream *st, void (*work)(void *context, size_t i))
{
	pool_run(st->pool, st->nshards, work, st);
	for (uint32_t i = 0; i < st->nshards; i++)
		if (st->shards[i].code < 0)
			return st->shards[i].code;
	return 0;
}

static int run_windows(struct stream *st, const struct stream_visitor *v)
{
	struct progress p;
	int code = 0;
	progress_begin(&p, "analysing", st->nwindows);
	for (st->window = 0; st->window < st->nwindows && code == 0; st->window++) {
		code = phase(st, phase_calls);
		if (code == 0)
			code = phase(st, phase_match);
		if (code == 0)
			code = phase(st, phase_judge);
		if (code == 0)
			code = v->window(v->context, st);
		progress_at(&p, st->window);
	}
	progress_end(&p);
	return code;
}

/* What never found its end, in a window of its own without events. */
static int run_end(struct stream *st, const struct stream_visitor *v)
{
	for (uint32_t i = 0; i < st->nlanes; i++)
		st->lanes[i].n = 0;
	int code = phase(st, phase_calls_end);
	if (code == 0)
		code = phase(st, phase_match_end);
	if (code == 0)
		code = phase(st, phase_judge);
	return code == 0 ? v->window(v->context, st) : code;
}

static void drop_shards(struct stream *st)
{
	for (uint32_t i = 0; i < st->nlanes && st->lanes != NULL; i++)
		lane_done(&st->lanes[i]);
	for (uint32_t i = 0; i < st->nshards && st->shards != NULL; i++)
		shard_done(&st->shards[i]);
	for (uint32_t i = 0; st->ranks != NULL && i < st->step->nranks; i++) {
		vec_done(&st->ranks[i].comms);
		vec_done(&st->ranks[i].wild);
		vec_done(&st->ranks[i].held);
		st->ranks[i] = (struct rank_stream){0};
	}
	for (size_t i = 0; st->mail != NULL && i < (size_t)st->nshards * st->nshards; i++) {
		vec_done(&st->mail[i].sends);
		vec_done(&st->mail[i].over);
		vec_done(&st->mail[i].judged);
		vec_done(&st->mail[i].meets);
		vec_done(&st->mail[i].decided);
	}
	free(st->lanes);
	free(st->shards);
	free(st->mail);
	st->lanes = NULL;
	st->shards = NULL;
	st->mail = NULL;
}

static int run_once(struct stream *st, const struct stream_visitor *v)
{
	int code = make_shards(st);
	if (code == 0)
		code = v->begin(v->context, st);
	if (code == 0)
		code = run_windows(st, v);
	return code == 0 ? run_end(st, v) : code;
}

int stream_run(struct step *s, unsigned nthreads, const struct stream_visitor *visitor, struct stream *ret_stream,
	       struct error *e)
{
	struct stream *st = ret_stream;
	struct tie *ties = NULL;
	*st = (struct stream){.step = s, .pool = pool_create(nthreads)};
	st->ranks = calloc(s->nranks + 1u, sizeof(*st->ranks));
	int code = st->pool == NULL || st->ranks == NULL ? -ENOMEM : plan_make(st);
	if (code == 0)
		code = run_once(st, visitor);
	if (code == 0)
		code = clocks_judge(st, &ties);
	if (code == 1) {
		drop_shards(st);
		code = plan_again(st, ties);
		if (code == 0)
			code = run_once(st, visitor);
	}
	free(ties);
	for (uint32_t i = 0; i < st->nlanes && code == 0; i++)
		lane_end(&st->lanes[i]);
	return code < 0 ? fail(e, code, "cannot follow the step's events: %s", strerror(-code)) : 0;
}

void stream_done(struct stream *st)
{
	pool_destroy(st->pool);
	drop_shards(st);
	for (size_t i = 0; st->rules != NULL && i < st->step->nodes.n; i++)
		vec_done(&st->rules[i].knots);
	free(st->rules);
	free(st->ranks);
	free(st->starts);
	free(st->runs);
	*st = (struct stream){0};
}
