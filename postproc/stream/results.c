/* results.c - sums of shards of other processes, brought to process 0 when all events have passed. See team.h. */
#include "postproc/stream/rma.h"
#include "postproc/stream/stream.h"

/* What goes out of here, or what comes in: each function below is both, so that a member is named once. */
struct passage {
	struct buf *out; /* NULL: in */
	struct cursor in;
	int code;
};

static void pass(struct passage *p, void *at, size_t size)
{
	if (p->out != NULL)
		put(p->out, at, size);
	else if (p->code == 0)
		p->code = get(&p->in, at, size);
}

#define PASS(p, x) pass(p, &(x), sizeof(x))
#define PASS_MANY(p, at, n) pass(p, at, (n) * sizeof(*(at)))
#define PASS_ALL(p, v) pass_all(p, &(v)->at, &(v)->n, &(v)->cap, sizeof(*(v)->at))

static int make_room(const struct passage *p, void *at, size_t n, size_t *cap, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes) || bytes > cursor_left(&p->in))
		return -EBADMSG;
	return vec_grow(at, cap, n + 1, size) < 0 ? -ENOMEM : 0;
}

/* A vector; `at`: its pointer's address. */
static void pass_all(struct passage *p, void *at, size_t *n, size_t *cap, size_t size)
{
	size_t wanted = *n;
	void *to;
	PASS(p, wanted);
	if (p->out == NULL && p->code == 0)
		p->code = make_room(p, at, wanted, cap, size);
	if (p->code < 0)
		return;
	memcpy(&to, at, sizeof(to));
	*n = wanted;
	pass(p, to, wanted * size);
}

/* ---- a shard ---- */

static void pass_waits(struct passage *p, struct waits *w, uint32_t nranks)
{
	PASS_ALL(p, &w->rows);
	PASS_MANY(p, w->by_rank, nranks);
	PASS_MANY(p, w->caused, nranks);
	PASS(p, w->total_ns);
	PASS(p, w->all_ns);
}

static void pass_tally(struct passage *p, struct tally *t, const struct step *s)
{
	if (p->out == NULL && p->code == 0)
		p->code = tally_begin(t, s);
	if (p->code < 0)
		return;
	PASS(p, t->windows);
	pass_waits(p, &t->waits, s->nranks);
	PASS(p, t->waited);
	PASS(p, t->sent_from_ns);
	PASS(p, t->sent_to_ns);
	PASS(p, t->transfers);
	PASS(p, t->bytes);
	PASS_MANY(p, t->spreads, s->comms.n);
	PASS_MANY(p, t->arrivals, s->sites.n + 1);
	PASS_MANY(p, t->came_last, s->nranks);
	PASS_ALL(p, &t->orphans);
	PASS_ALL(p, &t->defects.rows);
	PASS(p, t->defects.left_out);
}

static void pass_shard(struct passage *p, struct shard *sh)
{
	const struct step *s = sh->stream->step;
	PASS(p, sh->counts);
	PASS(p, sh->unmatched);
	PASS_MANY(p, sh->unread, s->files.n);
	pass_tally(p, &sh->tally, s);
}

/* ---- a rank: what its process, threads and signatures have of events ---- */

static void pass_thread(struct passage *p, struct thread *t)
{
	PASS(p, t->events);
	PASS(p, t->apart);
	PASS(p, t->left_out);
	PASS(p, t->read);
	PASS(p, t->behind);
	PASS(p, t->not_written);
	PASS(p, t->first_ns);
	PASS(p, t->last_ns);
	PASS(p, t->wait_ns);
	PASS(p, t->last_sig);
	PASS(p, t->gap);
	PASS(p, t->not_taken);
}

static void pass_sig(struct passage *p, struct sig *g)
{
	PASS(p, g->calls);
	PASS(p, g->ticks);
	PASS(p, g->parts);
	PASS(p, g->starts);
	PASS(p, g->started_bytes);
	PASS(p, g->came_bytes);
	PASS(p, g->came_calls);
}

static void pass_rank(struct passage *p, struct rank_stream *r, struct process *of)
{
	size_t threads = of->threads.n, sigs = of->sigs.n;
	PASS(p, threads);
	PASS(p, sigs);
	if (p->code == 0 && (threads != of->threads.n || sigs != of->sigs.n))
		p->code = -EBADMSG;
	PASS(p, r->leaked);
	PASS(p, r->leak_site);
	PASS(p, of->bad_blocks);
	PASS(p, of->first_ns);
	PASS(p, of->last_ns);
	PASS(p, of->last_barrier);
	PASS(p, of->in_mpi);
	if (of->calls_in != NULL)
		PASS_MANY(p, of->calls_in, TIME_WINDOWS);
	for (size_t i = 0; i < of->threads.n; i++)
		pass_thread(p, &of->threads.at[i]);
	for (size_t i = 0; i < of->sigs.n; i++)
		pass_sig(p, &of->sigs.at[i]);
}

/* ---- all of a process ---- */

static int pass_process(struct stream *st, uint32_t process, struct passage *p)
{
	for (uint32_t i = st->team->first_shard[process]; i < st->team->first_shard[process + 1]; i++) {
		struct shard *sh = &st->shards[i];
		pass_shard(p, sh);
		for (uint32_t r = sh->first_rank; r < sh->end_rank && p->code == 0; r++)
			if (st->step->ranks[r] != NULL)
				pass_rank(p, &st->ranks[r], st->step->ranks[r]);
	}
	return p->code;
}

static struct cursor from_process(const struct stream *st, uint32_t q)
{
	return cursor_over(st->team->in[q].data, st->team->in[q].len_bytes);
}

int results_gather(struct stream *st, int code)
{
	if (!team_shares(st))
		return code;
	if (code == 0 && !team_is_first(st))
		code = pass_process(st, st->team->peers->rank, &(struct passage){.out = &st->team->out[0]});
	code = team_exchange(st, code, NULL);
	for (uint32_t q = 1; q < st->team->peers->size && code == 0 && team_is_first(st); q++)
		code = pass_process(st, q, &(struct passage){.in = from_process(st, q)});
	return code;
}

/* ---- threads of which events are missing: whom others missed may be one of theirs ---- */

struct told_gap {
	uint32_t rank, thread, bad_blocks;
	bool gap, not_taken;
};

static void put_gaps(struct buf *b, const struct process *p)
{
	for (uint32_t i = 0; i < p->threads.n; i++) {
		struct told_gap told = {p->rank, i, p->bad_blocks, p->threads.at[i].gap, p->threads.at[i].not_taken};
		if (told.gap || told.not_taken || told.bad_blocks > 0)
			put(b, &told, sizeof(told));
	}
}

static int get_gaps(struct stream *st, struct cursor c)
{
	struct told_gap told;
	while (cursor_left(&c) > 0) {
		if (get(&c, &told, sizeof(told)) < 0)
			return -EBADMSG;
		struct process *p = st->step->ranks[told.rank];
		struct thread *t = &p->threads.at[told.thread];
		p->bad_blocks = told.bad_blocks;
		t->gap = told.gap;
		t->not_taken = told.not_taken;
	}
	return 0;
}

int results_share_gaps(struct stream *st, int code)
{
	const struct team *t = st->team;
	for (uint32_t r = 0; r < st->step->nranks && code == 0; r++)
		if (st->step->ranks[r] != NULL && team_has_rank(st, r))
			put_gaps(&t->out[t->peers->rank], st->step->ranks[r]);
	const struct buf *mine = &t->out[t->peers->rank];
	for (uint32_t q = 0; q < t->peers->size && code == 0 && mine->len_bytes > 0; q++)
		if (q != t->peers->rank)
			put(&t->out[q], mine->data, mine->len_bytes);
	code = team_exchange(st, code, NULL);
	for (uint32_t q = 0; q < t->peers->size && code == 0; q++)
		code = get_gaps(st, from_process(st, q));
	return code;
}

/* ---- what was learnt of clocks ---- */

struct told_clocks {
	uint64_t violations, largest_ns;
};

static int get_clocks(struct stream *st, uint32_t process, struct pairs *all)
{
	struct cursor c = from_process(st, process);
	struct told_clocks told;
	struct pairs theirs = {0};
	struct pair x;
	struct hull hull;
	int code = get(&c, &told, sizeof(told));
	if (code == 0 && st->team->first_shard[process] < st->team->first_shard[process + 1]) {
		st->shards[st->team->first_shard[process]].violations = told.violations;
		st->shards[st->team->first_shard[process]].largest_ns = told.largest_ns;
	}
	while (code == 0 && cursor_left(&c) > 0) {
		code = get(&c, &x, sizeof(x));
		if (code == 0)
			code = get(&c, &hull, sizeof(hull));
		x.hull = &hull;
		theirs.list.at = &x;
		theirs.list.n = 1;
		if (code == 0)
			code = pairs_merge(all, &theirs);
	}
	return code;
}

int results_gather_clocks(struct stream *st, int code, struct pairs *all, bool *ret_violated)
{
	struct told_clocks told = {0};
	struct buf *b = &st->team->out[0];
	for (uint32_t i = st->first_shard; i < st->end_shard; i++) {
		told.violations += st->shards[i].violations;
		told.largest_ns =
			st->shards[i].largest_ns > told.largest_ns ? st->shards[i].largest_ns : told.largest_ns;
	}
	if (!team_is_first(st)) {
		put(b, &told, sizeof(told));
		for (size_t i = 0; i < all->list.n; i++) {
			put(b, &all->list.at[i], sizeof(all->list.at[i]));
			put(b, all->list.at[i].hull, sizeof(*all->list.at[i].hull));
		}
	}
	int64_t any = told.violations > 0 ? -1 : 0;
	code = team_exchange(st, code, &any);
	*ret_violated = any < 0;
	for (uint32_t q = 1; q < st->team->peers->size && code == 0 && team_is_first(st); q++)
		code = get_clocks(st, q, all);
	return code;
}
