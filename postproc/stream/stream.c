/* stream.c - see stream.h: the order of phases. */
#include "postproc/stream/stream.h"
#include "postproc/stream/rma.h"
#include "postproc/stream/last.h"
#include "postproc/stream/threads.h"
#include "postproc/stream/cycles.h"
#include "postproc/stream/deadlock.h"
#include "base/pool.h"
#include "base/progress.h"

#include <math.h>

#define SHARDS_MAX 32u

static int make_shards(struct stream *st)
{
	uint32_t nranks = st->step->nranks;
	st->shards = calloc(st->nshards + 1, sizeof(*st->shards));
	st->mail = calloc((size_t)st->nshards * st->nshards + 1, sizeof(*st->mail));
	st->shard_of = calloc(nranks + 1u, sizeof(*st->shard_of));
	if (st->shards == NULL || st->mail == NULL || st->shard_of == NULL)
		return -ENOMEM;
	int code = team_begin(st, st->step->peers);
	if (code < 0)
		return code;
	for (uint32_t r = 0; r < nranks; r++)
		st->shard_of[r] = (uint8_t)((uint64_t)r * st->nshards / nranks);
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
		sh->polls = SLAB(struct poll);
		sh->claims = SLAB(struct claim);
		sh->parts = SLAB(struct part);
		sh->collectives = SLAB(struct collective);
		sh->pages = SLAB(struct request_page);
		sh->edges = SLAB(struct edge);
		sh->needs = SLAB(struct need);
		match_begin(sh);
		sh->pairs.runs = st->runs;
		sh->unread = calloc(st->step->files.n + 1, sizeof(*sh->unread));
		bool is_here = i >= st->first_shard && i < st->end_shard;
		if (sh->unread == NULL || (is_here && tally_begin(&sh->tally, st->step) < 0) || rma_begin(sh) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void shard_done(struct shard *sh)
{
	match_done(sh);
	collectives_done(sh);
	rma_done(sh);
	slab_done(&sh->sends);
	slab_done(&sh->recvs);
	slab_done(&sh->waits);
	slab_done(&sh->polls);
	slab_done(&sh->claims);
	slab_done(&sh->parts);
	slab_done(&sh->collectives);
	slab_done(&sh->pages);
	slab_done(&sh->edges);
	slab_done(&sh->needs);
	vec_done(&sh->transfers);
	vec_done(&sh->waited);
	vec_done(&sh->came);
	vec_done(&sh->completed);
	vec_done(&sh->slow);
	free(sh->unread);
	free(sh->part_of);
	tally_done(&sh->tally);
	pairs_done(&sh->pairs);
}

static int no_visit(void *context, struct stream *st)
{
	(void)context, (void)st;
	return 0;
}

#define PHASE(name, ...) \
	static void name(void *context, size_t i) \
	{ \
		struct stream *of = context; \
		struct shard *sh = &of->shards[of->first_shard + i]; \
		__VA_ARGS__ \
	}

static void clear(struct shard *sh)
{
	sh->transfers.n = 0;
	sh->waited.n = 0;
	sh->came.n = 0;
	sh->completed.n = 0;
}

static void begin_slice(struct shard *sh)
{
	if (sh->stream->slice % sh->stream->slices == 0)
		clear(sh);
}

PHASE(phase_calls, begin_slice(sh); calls_window(sh);)
PHASE(phase_match, match_window(sh); collectives_window(sh); progress_match(sh); rma_match(sh);)
PHASE(phase_classify, classify_window(sh); progress_classify(sh); rma_classify(sh);)
PHASE(phase_calls_end, clear(sh); calls_end(sh);)
PHASE(phase_match_end, match_end(sh); collectives_end(sh); progress_match_end(sh); rma_match_end(sh);)

/* Of the shards here, if nothing has failed so far. */
static int phase(struct stream *st, int code, void (*work)(void *context, size_t i))
{
	if (code < 0)
		return code;
	pool_run(st->pool, st->end_shard - st->first_shard, work, st);
	for (uint32_t i = st->first_shard; i < st->end_shard; i++)
		if (st->shards[i].code < 0)
			return st->shards[i].code;
	return 0;
}

/* The sweep, and what the visitor does with the window, at the same time. */
struct keeping {
	struct stream *st;
	const struct stream_visitor *v;
	int code;
};

static void keep_piece(void *context, size_t i)
{
	struct keeping *k = context;
	int code = i > 0		  ? k->v->piece(k->v->context, k->st, (uint32_t)i - 1)
		   : k->st->sweep != NULL ? sweep_window(k->st->sweep)
					  : 0;
	if (code < 0)
		__atomic_store_n(&k->code, code, __ATOMIC_RELAXED);
}

/* What is not here goes to process 0, and what visitors lend each other. */
static int bring(struct stream *st, const struct stream_visitor *v, bool whole, int code, bool *ret_buffered)
{
	int64_t buffered = 0;
	if (code == 0)
		columns_send(st);
	for (const struct stream_visitor *i = v; i != NULL && code == 0 && whole; i = i->inner)
		code = i->lend != NULL ? i->lend(i->context, st) : 0;
	if (whole && st->cycles != NULL && cycles_any(st->cycles, st))
		buffered = -1;
	code = team_exchange(st, code, &buffered);
	*ret_buffered = buffered < 0;
	for (uint32_t q = 0; q < st->team->peers->size; q++)
		st->team->rest[q] = cursor_over(st->team->in[q].data, st->team->in[q].len_bytes);
	if (code == 0 && team_is_first(st))
		code = columns_take(st);
	for (uint32_t q = 0; q < st->team->peers->size && code == 0 && whole; q++)
		for (const struct stream_visitor *i = v; i != NULL && code == 0; i = i->inner)
			code = i->borrow != NULL ? i->borrow(i->context, st, q, &st->team->rest[q]) : 0;
	return code;
}

/* What came of a window elsewhere. */
static int collect(struct stream *st, const struct stream_visitor *v, int code, bool buffered)
{
	struct team *t = st->team;
	bool cycles = buffered && st->cycles != NULL;
	if (code == 0 && !team_is_first(st) && st->first_shard < st->end_shard) {
		if (cycles)
			cycles_send(st->cycles, st, &t->out[0]);
		for (const struct stream_visitor *i = v; i != NULL && code == 0; i = i->inner)
			code = i->send != NULL ? i->send(i->context, st, &t->out[0]) : 0;
	}
	code = team_exchange(st, code, NULL);
	for (uint32_t q = 1; q < t->peers->size && code == 0 && team_is_first(st); q++) {
		struct cursor c = cursor_over(t->in[q].data, t->in[q].len_bytes);
		bool some = cursor_left(&c) > 0;
		code = cycles && some ? cycles_take(st->cycles, &c) : 0;
		for (const struct stream_visitor *i = v; i != NULL && code == 0 && some; i = i->inner)
			code = i->take != NULL ? i->take(i->context, st, q, &c) : 0;
	}
	return code;
}

/* whole: the window ends with this slice. */
static int keep_slice(struct stream *st, const struct stream_visitor *v, bool whole, int code)
{
	bool shares = team_shares(st), buffered = true;
	if (shares)
		code = bring(st, v, whole, code, &buffered);
	struct keeping k = {.st = st, .v = v, .code = code};
	if (code == 0)
		pool_run(st->pool, 1 + (whole ? (size_t)v->n : 0), keep_piece, &k);
	if (shares && whole)
		k.code = collect(st, v, k.code, buffered);
	if (k.code < 0 || !whole || !team_is_first(st))
		return k.code;
	if (st->cycles != NULL)
		k.code = cycles_window(st->cycles, st);
	return k.code == 0 ? v->window(v->context, st) : k.code;
}

static int run_slice(struct stream *st, const struct stream_visitor *v, bool whole)
{
	bool shares = team_shares(st);
	int code = phase(st, 0, phase_calls);
	if (shares)
		code = mail_posted(st, code);
	code = phase(st, code, phase_match);
	if (shares)
		code = mail_answered(st, code);
	code = phase(st, code, phase_classify);
	return code == 0 || shares ? keep_slice(st, v, whole, code) : code;
}

static int run_windows(struct stream *st, const struct stream_visitor *v)
{
	struct progress p;
	int code = 0;
	progress_begin(&p, "analysing", st->nslices);
	for (st->slice = 0; st->slice < st->nslices && code == 0; st->slice++) {
		st->window = st->slice / st->slices;
		code = run_slice(st, v, (st->slice + 1) % st->slices == 0 || st->slice + 1 == st->nslices);
		progress_at(&p, st->slice);
	}
	progress_end(&p);
	return code;
}

/* What never found its end, in a window of its own without events. */
static int run_end(struct stream *st, const struct stream_visitor *v)
{
	bool shares = team_shares(st);
	for (uint32_t i = 0; i < st->nlanes; i++) {
		if (!team_has_rank(st, st->lanes[i].rank))
			continue;
		lane_end(&st->lanes[i], st->step->nodes.at[st->lanes[i].process->node].file.finished);
		lane_clear(&st->lanes[i]);
	}
	st->window = st->nwindows;
	st->slice = st->nslices; /* starts at the end of all times */
	int code = shares ? results_share_gaps(st, 0) : deadlock_find(st);
	code = phase(st, code, phase_calls_end);
	if (shares)
		code = mail_posted(st, code);
	code = phase(st, code, phase_match_end);
	if (shares)
		code = mail_answered(st, code);
	code = phase(st, code, phase_classify);
	return code == 0 || shares ? keep_slice(st, v, true, code) : code;
}

static void drop_shards(struct stream *st)
{
	team_clear(st);
	for (uint32_t i = 0; i < st->nshards && st->shards != NULL; i++)
		shard_done(&st->shards[i]);
	for (uint32_t i = 0; st->ranks != NULL && i < st->step->nranks; i++) {
		struct rank_stream *r = &st->ranks[i];
		vec_done(&r->comms);
		index_done(&r->comm_index);
		vec_done(&r->wild);
		vec_done(&r->held);
		vec_done(&r->probed);
		*r = (struct rank_stream){.first_lane = r->first_lane, .nlanes = r->nlanes};
	}
	for (size_t i = 0; st->mail != NULL && i < (size_t)st->nshards * st->nshards; i++) {
		vec_done(&st->mail[i].sends);
		vec_done(&st->mail[i].over);
		vec_done(&st->mail[i].classified);
		vec_done(&st->mail[i].slow);
		vec_done(&st->mail[i].answered);
		vec_done(&st->mail[i].collectives);
		vec_done(&st->mail[i].decided);
	}
	free(st->shards);
	free(st->shard_of);
	free(st->mail);
	st->shards = NULL;
	st->shard_of = NULL;
	st->mail = NULL;
}

static void drop_lanes(struct stream *st)
{
	for (uint32_t i = 0; i < st->nlanes && st->lanes != NULL; i++)
		lane_done(&st->lanes[i]);
	free(st->lanes);
	st->lanes = NULL;
	st->nlanes = 0;
}

/* The sweep follows one line of events a rank. */
static void plan_sweep(struct stream *st)
{
	const struct step *s = st->step;
	st->sweeps = true;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		st->sweeps &= st->ranks[r].nlanes <= 1;
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++)
			st->any_synchronous |=
				(p->sigs.at[i].call.flags & SIG_SYNCHRONOUS) != 0 &&
				(p->sigs.at[i].call.shape == SIG_SEND || p->sigs.at[i].call.shape == SIG_SENDRECV);
	}
}

/* Totals of signatures that grow with the events. */
static void forget_totals(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++) {
		struct process *p = s->ranks[r];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
			struct sig *sig = &p->sigs.at[i];
			sig->starts = sig->started_bytes = sig->came_bytes = sig->came_calls = 0;
		}
		if (p == NULL)
			continue;
		p->first_ns = p->last_ns = TIME_ABSENT;
		threads_forget(p);
		last_forget(p);
		if (p->calls_in != NULL)
			memset(p->calls_in, 0, TIME_WINDOWS * sizeof(*p->calls_in));
	}
}

static int run_once(struct stream *st, const struct stream_visitor *v, bool repair)
{
	int code = make_shards(st);
	forget_totals(st->step);
	if (st->sweeps && code == 0 && team_is_first(st)) {
		st->sweep = sweep_create(st, repair);
		code = st->sweep == NULL ? -ENOMEM : 0;
	}
	if (code == 0)
		st->cycles = cycles_create(st, &code);
	if (code == 0)
		code = v->begin(v->context, st);
	if (code == 0)
		code = run_windows(st, v);
	if (code == 0)
		code = run_end(st, v);
	if (code == 0 && st->sweep != NULL) {
		sweep_result_done(&st->swept);
		code = sweep_end(st->sweep, &st->swept);
	}
	cycles_destroy(st->cycles);
	st->cycles = NULL;
	sweep_destroy(st->sweep);
	st->sweep = NULL;
	return code;
}

static uint64_t count_violations(const struct stream *st)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < st->nshards; i++)
		n += st->shards[i].violations;
	return n;
}

/* Begin again with other times. */
static int run_again(struct stream *st, const struct stream_visitor *v, bool repair)
{
	drop_shards(st);
	return run_once(st, v, repair);
}

/* What still runs backwards is moved: once to find out by how much, once more with all times moved. */
static int repair(struct stream *st, const struct stream_visitor *v)
{
	static const struct stream_visitor none = {.begin = no_visit, .window = no_visit};
	uint64_t before = count_violations(st), moved = 0, largest = 0;
	for (uint32_t i = 0; i < st->nshards; i++)
		largest = st->shards[i].largest_ns > largest ? st->shards[i].largest_ns : largest;
	int code = plan_repaired(st);
	if (code == 0)
		code = run_again(st, &none, true);
	for (uint32_t i = 0; i < st->nlanes; i++)
		moved += st->lanes[i].shifts.n;
	if (code == 0)
		code = plan_repaired(st);
	if (code == 0)
		code = run_again(st, v, false);
	uint64_t left = count_violations(st);
	st->clock.violations_repaired = before > left ? before - left : 0;
	st->clock.events_moved = moved;
	st->clock.largest_ns = largest;
	return code;
}

/* All processes have read the same of the files. */
static int same_plan(const struct stream *st)
{
	struct peers *c = st->step->peers;
	uint64_t h = index_hash(INDEX_SEED, st->starts, st->nslices * sizeof(*st->starts));
	int64_t least = (int64_t)(index_mix(h, st->nlanes) >> 2), most = -least;
	int code = peers_agree(c, 0, &least);
	if (code == 0)
		code = peers_agree(c, 0, &most);
	return code == 0 && least != -most ? -ESTALE : code;
}

static int follow(struct stream *st, const struct stream_visitor *v)
{
	struct tie *ties = NULL;
	bool violated;
	int code = run_once(st, v, false);
	if (code == 0 || team_shares(st))
		code = clocks_decide(st, code, &ties, &violated);
	if (code == 1) {
		drop_lanes(st);
		code = plan_again(st, ties);
		if (code == 0)
			code = run_again(st, v, false);
		if (team_shares(st))
			code = clocks_count(st, code, &violated);
		else
			violated = count_violations(st) > 0;
	}
	free(ties);
	if (code == 0 && st->sweeps && violated) {
		team_leave(st); /* times are moved by the sweep, which has all ranks */
		code = team_is_first(st) ? repair(st, v) : 0;
	}
	return code;
}

int stream_run(struct step *s, unsigned nthreads, const struct stream_visitor *visitor, struct stream *ret_stream,
	       struct error *e)
{
	struct stream *st = ret_stream;
	bool together = s->peers != NULL && s->peers->size > 1;
	*st = (struct stream){.step = s, .pool = pool_create(nthreads), .swept = {.ideal_ns = NAN}};
	st->ranks = calloc(s->nranks + 1u, sizeof(*st->ranks));
	int code = st->pool == NULL || st->ranks == NULL ? -ENOMEM : plan_make(st);
	if (code == 0 && s->totals) /* there are no events: the times of processes are what was to be had */
		return 0;
	st->nshards = s->nranks < SHARDS_MAX ? s->nranks : SHARDS_MAX;
	if (code == 0)
		code = rma_plan(st);
	if (code == 0 && together)
		code = same_plan(st);
	if (code == 0)
		code = team_begin(st, s->peers);
	if (code == 0 && (!together || team_shares(st) || team_is_first(st))) {
		plan_sweep(st);
		code = follow(st, visitor);
	}
	if (together && st->team != NULL)
		code = results_gather(st, code);
	if (code == -ESTALE)
		return fail(e, code,
			    "the processes do not read the same from the step's files: is the step over, and "
			    "its directory the same on all nodes?");
	int own = st->team != NULL ? st->team->own : code; /* else the one that failed says why */
	return own < 0 ? fail(e, code, "cannot follow the step's events: %s", strerror(-own)) : code;
}

void stream_done(struct stream *st)
{
	pool_destroy(st->pool);
	drop_lanes(st);
	drop_shards(st);
	team_done(st);
	for (size_t i = 0; st->rules != NULL && i < st->step->nodes.n; i++)
		vec_done(&st->rules[i].knots);
	sweep_result_done(&st->swept);
	free(st->rules);
	free(st->locks_used);
	free(st->ranks);
	free(st->starts);
	free(st->runs);
	*st = (struct stream){0};
}
