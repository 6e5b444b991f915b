/* results.c - sums of shards of other processes, brought to process 0 when all events have passed. See team.h. */
#include "postproc/stream/rma.h"
#include "postproc/stream/stream.h"

/* ---- a shard ---- */

#define PUT_ALL(b, v) (put(b, &(v)->n, sizeof((v)->n)), put(b, (v)->at, (v)->n * sizeof(*(v)->at)))
#define GET_ALL(c, v) get_all(c, &(v)->at, &(v)->n, &(v)->cap, sizeof(*(v)->at))

static int get_all(struct cursor *c, void *at, size_t *n, size_t *cap, size_t size)
{
	size_t wanted, bytes;
	void *to;
	if (get(c, &wanted, sizeof(wanted)) < 0 || __builtin_mul_overflow(wanted, size, &bytes) ||
	    bytes > cursor_left(c))
		return -EBADMSG;
	if (vec_grow(at, cap, wanted + 1, size) < 0)
		return -ENOMEM;
	memcpy(&to, at, sizeof(to));
	*n = wanted;
	return get(c, to, bytes);
}

static void put_tally(struct buf *b, const struct tally *t, const struct step *s)
{
	put(b, t, sizeof(*t));
	put(b, t->spreads, s->comms.n * sizeof(*t->spreads));
	put(b, t->arrivals, (s->sites.n + 1) * sizeof(*t->arrivals));
	put(b, t->came_last, s->nranks * sizeof(*t->came_last));
	PUT_ALL(b, &t->orphans);
	PUT_ALL(b, &t->defects.rows);
	PUT_ALL(b, &t->waits.rows);
	put(b, t->waits.by_rank, s->nranks * sizeof(*t->waits.by_rank));
	put(b, t->waits.caused, s->nranks * sizeof(*t->waits.caused));
}

static int get_tally(struct cursor *c, struct tally *t, const struct step *s)
{
	struct tally was;
	int code = tally_begin(t, s);
	if (code < 0)
		return code;
	memcpy(&was, t, sizeof(was));
	if (get(c, t, sizeof(*t)) < 0) {
		memcpy(t, &was, sizeof(was));
		return -EBADMSG;
	}
	t->spreads = was.spreads;
	t->arrivals = was.arrivals;
	t->came_last = was.came_last;
	memset(&t->orphans, 0, sizeof(t->orphans));
	uint64_t left_out = t->defects.left_out;
	t->defects = (struct defects){.left_out = left_out};
	memset(&t->waits.rows, 0, sizeof(t->waits.rows));
	t->waits.index = (struct index){0};
	t->waits.by_rank = was.waits.by_rank;
	t->waits.caused = was.waits.caused;
	if (get(c, t->spreads, s->comms.n * sizeof(*t->spreads)) < 0 ||
	    get(c, t->arrivals, (s->sites.n + 1) * sizeof(*t->arrivals)) < 0 ||
	    get(c, t->came_last, s->nranks * sizeof(*t->came_last)) < 0)
		return -EBADMSG;
	code = GET_ALL(c, &t->orphans);
	if (code == 0)
		code = GET_ALL(c, &t->defects.rows);
	if (code == 0)
		code = GET_ALL(c, &t->waits.rows);
	if (code == 0)
		code = get(c, t->waits.by_rank, s->nranks * sizeof(*t->waits.by_rank));
	return code == 0 ? get(c, t->waits.caused, s->nranks * sizeof(*t->waits.caused)) : code;
}

static void put_shard(struct buf *b, const struct shard *sh)
{
	const struct step *s = sh->stream->step;
	put(b, &sh->counts, sizeof(sh->counts));
	put(b, &sh->unmatched, sizeof(sh->unmatched));
	put(b, sh->unread, s->files.n * sizeof(*sh->unread));
	put_tally(b, &sh->tally, s);
}

static int get_shard(struct cursor *c, struct shard *sh)
{
	const struct step *s = sh->stream->step;
	if (get(c, &sh->counts, sizeof(sh->counts)) < 0 || get(c, &sh->unmatched, sizeof(sh->unmatched)) < 0 ||
	    get(c, sh->unread, s->files.n * sizeof(*sh->unread)) < 0)
		return -EBADMSG;
	return get_tally(c, &sh->tally, s);
}

/* ---- a rank: what its process, threads and signatures have of events ---- */

struct told_rank {
	uint64_t leaked;
	uint32_t leak_site, bad_blocks, nthreads, nsigs;
	int64_t first_ns, last_ns;
	struct last_barrier last_barrier;
	struct mpi_union in_mpi;
	uint64_t calls_in[TIME_WINDOWS];
};

struct told_thread {
	uint64_t events, apart, left_out, read, behind, not_written;
	int64_t first_ns, last_ns, wait_ns;
	uint32_t last_sig;
	bool gap, not_taken;
};

struct told_sig {
	uint64_t calls, ticks, parts, starts, started_bytes, came_bytes, came_calls;
};

static void put_rank(struct buf *b, const struct rank_stream *r, const struct process *p)
{
	struct told_rank told = {.leaked = r->leaked,
				 .leak_site = r->leak_site,
				 .bad_blocks = p->bad_blocks,
				 .nthreads = (uint32_t)p->threads.n,
				 .nsigs = (uint32_t)p->sigs.n,
				 .first_ns = p->first_ns,
				 .last_ns = p->last_ns,
				 .last_barrier = p->last_barrier,
				 .in_mpi = p->in_mpi};
	if (p->calls_in != NULL)
		memcpy(told.calls_in, p->calls_in, sizeof(told.calls_in));
	put(b, &told, sizeof(told));
	for (size_t i = 0; i < p->threads.n; i++) {
		const struct thread *t = &p->threads.at[i];
		struct told_thread x = {t->events,   t->apart,	 t->left_out, t->read,	   t->behind, t->not_written,
					t->first_ns, t->last_ns, t->wait_ns,  t->last_sig, t->gap,    t->not_taken};
		put(b, &x, sizeof(x));
	}
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *g = &p->sigs.at[i];
		struct told_sig x = {g->calls,	       g->ticks,      g->parts,	    g->starts,
				     g->started_bytes, g->came_bytes, g->came_calls};
		put(b, &x, sizeof(x));
	}
}

static int get_threads(struct cursor *c, struct process *p)
{
	for (size_t i = 0; i < p->threads.n; i++) {
		struct thread *t = &p->threads.at[i];
		struct told_thread x;
		if (get(c, &x, sizeof(x)) < 0)
			return -EBADMSG;
		t->events = x.events;
		t->apart = x.apart;
		t->left_out = x.left_out;
		t->read = x.read;
		t->behind = x.behind;
		t->not_written = x.not_written;
		t->first_ns = x.first_ns;
		t->last_ns = x.last_ns;
		t->wait_ns = x.wait_ns;
		t->last_sig = x.last_sig;
		t->gap = x.gap;
		t->not_taken = x.not_taken;
	}
	return 0;
}

static int get_sigs(struct cursor *c, struct process *p)
{
	for (size_t i = 0; i < p->sigs.n; i++) {
		struct sig *g = &p->sigs.at[i];
		struct told_sig x;
		if (get(c, &x, sizeof(x)) < 0)
			return -EBADMSG;
		g->calls = x.calls;
		g->ticks = x.ticks;
		g->parts = x.parts;
		g->starts = x.starts;
		g->started_bytes = x.started_bytes;
		g->came_bytes = x.came_bytes;
		g->came_calls = x.came_calls;
	}
	return 0;
}

static int get_rank(struct cursor *c, struct rank_stream *r, struct process *p)
{
	struct told_rank told;
	if (get(c, &told, sizeof(told)) < 0 || told.nthreads != p->threads.n || told.nsigs != p->sigs.n)
		return -EBADMSG;
	r->leaked = told.leaked;
	r->leak_site = told.leak_site;
	p->bad_blocks = told.bad_blocks;
	p->first_ns = told.first_ns;
	p->last_ns = told.last_ns;
	p->last_barrier = told.last_barrier;
	p->in_mpi = told.in_mpi;
	if (p->calls_in != NULL)
		memcpy(p->calls_in, told.calls_in, sizeof(told.calls_in));
	int code = get_threads(c, p);
	return code == 0 ? get_sigs(c, p) : code;
}

/* ---- all of a process ---- */

static void put_shards(struct stream *st)
{
	struct buf *b = &st->team->out[0];
	for (uint32_t i = st->first_shard; i < st->end_shard; i++) {
		const struct shard *sh = &st->shards[i];
		put_shard(b, sh);
		for (uint32_t r = sh->first_rank; r < sh->end_rank; r++)
			if (st->step->ranks[r] != NULL)
				put_rank(b, &st->ranks[r], st->step->ranks[r]);
	}
}

static int get_shards(struct stream *st, uint32_t process, struct cursor *c)
{
	int code = 0;
	for (uint32_t i = st->team->first_shard[process]; i < st->team->first_shard[process + 1] && code == 0; i++) {
		struct shard *sh = &st->shards[i];
		code = get_shard(c, sh);
		for (uint32_t r = sh->first_rank; r < sh->end_rank && code == 0; r++)
			if (st->step->ranks[r] != NULL)
				code = get_rank(c, &st->ranks[r], st->step->ranks[r]);
	}
	return code;
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
		put_shards(st);
	code = team_exchange(st, code, NULL);
	for (uint32_t q = 1; q < st->team->peers->size && code == 0 && team_is_first(st); q++) {
		struct cursor c = from_process(st, q);
		code = get_shards(st, q, &c);
	}
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
