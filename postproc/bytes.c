/* bytes.c - see bytes.h. */
#include "postproc/bytes.h"
#include "postproc/traffic.h"

static uint64_t call_bytes(const struct step *s, uint32_t rank, const struct sig *sig)
{
	if (!sig->defined || (sig->call.flags & SIG_FAILED) != 0)
		return 0;
	if (sig->call.shape == SIG_COLL)
		return sig->comm == NONE ? 0 : bytes_collective(s, rank, sig);
	switch (sig->call.shape) {
	case SIG_SEND:
		return sig->bytes;
	case SIG_RECV:
		return sig->recv_bytes;
	case SIG_SENDRECV:
		return sig->bytes + sig->recv_bytes;
	default:
		return sig->call.moved_bytes;
	}
}

static void count_calls(struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++) {
		struct process *p = s->ranks[r];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
			struct sig *sig = &p->sigs.at[i];
			sig->call_bytes = call_bytes(s, r, sig);
			sig->moved_bytes = (sig->call.flags & SIG_PERSISTENT) != 0 ? 0 : sig->calls * sig->call_bytes;
		}
	}
}

static struct sig *starting_sig(const struct step *s, uint32_t rank, uint32_t start)
{
	struct process *p = s->ranks[rank];
	return &p->sigs.at[p->events.at[start].sig];
}

static bool was_started(const struct step *s, uint32_t rank, uint32_t start)
{
	return starting_sig(s, rank, start)->call.shape == SIG_START;
}

/* What persistent requests moved goes to the calls that started them. */
static void count_starts(struct step *s, const struct ops *o, const struct moved *m)
{
	for (size_t i = 0; i < o->sends.n; i++)
		if (was_started(s, o->sends.at[i].rank, o->sends.at[i].start))
			starting_sig(s, o->sends.at[i].rank, o->sends.at[i].start)->moved_bytes += o->sends.at[i].bytes;
	for (size_t i = 0; i < o->recvs.n; i++)
		if (was_started(s, o->recvs.at[i].rank, o->recvs.at[i].start))
			starting_sig(s, o->recvs.at[i].rank, o->recvs.at[i].start)->moved_bytes += o->recvs.at[i].bytes;
	for (size_t i = 0; i < o->colls.n; i++) {
		const struct coll_op *op = &o->colls.at[i];
		if (op->channel != 0)
			starting_sig(s, op->rank, op->start)->moved_bytes +=
				s->ranks[op->rank]->sigs.at[op->sig].call_bytes + (m->came != NULL ? m->came[i] : 0);
	}
}

/* ---- what came, operation by operation ---- */

/* Operations in which every member made the call it had made in an earlier one are computed once. */
struct arrivals {
	const struct step *s;
	const struct ops *o;
	const struct matching *m;
	uint64_t *came;
	uint32_t *part_of;  /* by rank: coll op of the operation at hand, plus 1 */
	struct index known; /* operations by the calls they are made of */
};

static const struct sig *sig_of(const struct arrivals *a, uint32_t op)
{
	return &a->s->ranks[a->o->colls.at[op].rank]->sigs.at[a->o->colls.at[op].sig];
}

static void arrive(void *context, int32_t dst, uint64_t bytes)
{
	struct arrivals *a = context;
	if (dst >= 0 && (uint32_t)dst < a->s->nranks && a->part_of[dst] != 0)
		a->came[a->part_of[dst] - 1] += bytes;
}

static void exchange(struct arrivals *a, const struct collective *c)
{
	const uint32_t *next = a->m->coll_next;
	for (uint32_t i = c->first; i != NONE; i = next[i])
		a->part_of[a->o->colls.at[i].rank] = i + 1;
	for (uint32_t i = c->first; i != NONE; i = next[i])
		traffic_listed(a->s, a->o->colls.at[i].rank, sig_of(a, i), arrive, a);
	for (uint32_t i = c->first; i != NONE; i = next[i])
		a->part_of[a->o->colls.at[i].rank] = 0;
}

struct wanted_calls {
	const struct arrivals *a;
	uint32_t first;
};

/* Parts of every operation are linked in one order of ranks. */
static bool same_calls(const void *context, uint32_t at)
{
	const struct wanted_calls *w = context;
	const struct coll_op *ops = w->a->o->colls.at;
	uint32_t i = w->first, k = w->a->m->colls.at[at].first;
	for (; i != NONE && k != NONE; i = w->a->m->coll_next[i], k = w->a->m->coll_next[k])
		if (ops[i].rank != ops[k].rank || ops[i].sig != ops[k].sig)
			return false;
	return i == k;
}

static int take_operation(struct arrivals *a, uint32_t at)
{
	const struct collective *c = &a->m->colls.at[at];
	struct wanted_calls w = {a, c->first};
	uint64_t hash = INDEX_SEED;
	for (uint32_t i = c->first; i != NONE; i = a->m->coll_next[i])
		hash = index_mix(hash, (uint64_t)a->o->colls.at[i].rank << 32 | a->o->colls.at[i].sig);
	uint32_t found = index_find(&a->known, hash, same_calls, &w);
	if (found == INDEX_NONE) {
		exchange(a, c);
		return index_add(&a->known, hash, at);
	}
	for (uint32_t i = c->first, k = a->m->colls.at[found].first; i != NONE;
	     i = a->m->coll_next[i], k = a->m->coll_next[k])
		a->came[i] = a->came[k];
	return 0;
}

static bool any_listed(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->sigs.n; i++)
			if (bytes_need_partners(s, &s->ranks[r]->sigs.at[i]))
				return true;
	return false;
}

static int find_arrivals(const struct step *s, const struct ops *o, const struct matching *m, struct moved *ret_moved)
{
	struct arrivals a = {.s = s, .o = o, .m = m};
	int code = 0;
	a.came = calloc(o->colls.n + 1, sizeof(*a.came));
	a.part_of = calloc(s->nranks, sizeof(*a.part_of));
	if (a.came == NULL || a.part_of == NULL)
		code = -ENOMEM;
	for (uint32_t i = 0; i < m->colls.n && code == 0; i++)
		if (bytes_need_partners(s, sig_of(&a, m->colls.at[i].first)))
			code = take_operation(&a, i);
	index_done(&a.known);
	free(a.part_of);
	ret_moved->came = a.came;
	return code;
}

/* ---- and in all, from the totals ---- */

/* What came to a rank by all calls of one function on one communicator. */
struct inflow {
	uint32_t rank, comm, op;
	uint64_t bytes, calls; /* not given to a call site yet, and the calls that have got none */
};

struct inflows {
	const struct step *s;
	VEC(struct inflow) list;
	struct index index;
	const struct sig *sig; /* of the sender at hand */
	int code;
};

struct wanted_inflow {
	const struct inflows *f;
	uint32_t rank, comm, op;
};

static bool same_inflow(const void *context, uint32_t at)
{
	const struct wanted_inflow *w = context;
	const struct inflow *x = &w->f->list.at[at];
	return x->rank == w->rank && x->comm == w->comm && x->op == w->op;
}

/* NULL when out of memory. */
static struct inflow *inflow_of(struct inflows *f, uint32_t rank, const struct sig *sig)
{
	struct wanted_inflow w = {f, rank, f->s->comms.at[sig->comm].same, sig->op};
	uint64_t hash = index_mix((uint64_t)w.rank << 32 | w.comm, w.op);
	uint32_t at = index_find(&f->index, hash, same_inflow, &w);
	if (at != INDEX_NONE)
		return &f->list.at[at];
	if (vec_push(&f->list, ((struct inflow){w.rank, w.comm, w.op, 0, 0})) < 0 ||
	    index_add(&f->index, hash, (uint32_t)f->list.n - 1) < 0)
		return NULL;
	return &f->list.at[f->list.n - 1];
}

static void flow_in(void *context, int32_t dst, uint64_t bytes)
{
	struct inflows *f = context;
	if (dst < 0 || (uint32_t)dst >= f->s->nranks || f->code < 0)
		return;
	struct inflow *x = inflow_of(f, (uint32_t)dst, f->sig);
	if (x == NULL)
		f->code = -ENOMEM;
	else
		x->bytes += bytes * f->sig->calls;
}

static bool is_listed_each_call(const struct step *s, const struct sig *sig)
{
	return bytes_need_partners(s, sig) && (sig->call.flags & SIG_PERSISTENT) == 0 && sig->calls > 0;
}

static int add_outflows(struct inflows *f)
{
	for (uint32_t r = 0; r < f->s->nranks; r++)
		for (size_t i = 0; f->s->ranks[r] != NULL && i < f->s->ranks[r]->sigs.n; i++) {
			f->sig = &f->s->ranks[r]->sigs.at[i];
			if (is_listed_each_call(f->s, f->sig))
				traffic_listed(f->s, r, f->sig, flow_in, f);
		}
	return f->code;
}

/* Give what came in operations that are wholly there to the calls it came to; seen counts those, by signature. */
static int give_matched(struct inflows *f, const struct ops *o, const uint64_t *came, const bool *whole, uint32_t rank,
			size_t *at, uint64_t *seen)
{
	struct process *p = f->s->ranks[rank];
	for (; *at < o->colls.n && o->colls.at[*at].rank == rank; ++*at) {
		const struct coll_op *op = &o->colls.at[*at];
		struct sig *sig = &p->sigs.at[op->sig];
		if (!whole[*at] || op->channel != 0 || !bytes_need_partners(f->s, sig))
			continue;
		struct inflow *x = inflow_of(f, rank, sig);
		if (x == NULL)
			return -ENOMEM;
		sig->moved_bytes += came[*at];
		x->bytes -= x->bytes < came[*at] ? x->bytes : came[*at];
		seen[op->sig]++;
	}
	return 0;
}

static uint64_t calls_left(const struct sig *sig, uint64_t seen)
{
	return sig->calls > seen ? sig->calls - seen : 0;
}

/* The rest by calls; the last gets what rounding left. */
static int give_rest(struct inflows *f, uint32_t rank, const uint64_t *seen)
{
	struct process *p = f->s->ranks[rank];
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < p->sigs.n; i++) {
			struct sig *sig = &p->sigs.at[i];
			uint64_t left = is_listed_each_call(f->s, sig) ? calls_left(sig, seen[i]) : 0;
			struct inflow *x = left > 0 ? inflow_of(f, rank, sig) : NULL;
			if (left > 0 && x == NULL)
				return -ENOMEM;
			if (left == 0)
				continue;
			if (pass == 0) {
				x->calls += left;
				continue;
			}
			uint64_t share = (uint64_t)((unsigned __int128)x->bytes * left / x->calls);
			sig->moved_bytes += share;
			x->bytes -= share;
			x->calls -= left;
		}
	return 0;
}

static bool *whole_operations(const struct ops *o, const struct matching *m)
{
	bool *whole = calloc(o->colls.n + 1, sizeof(*whole));
	for (size_t c = 0; whole != NULL && c < m->colls.n; c++)
		for (uint32_t i = m->colls.at[c].first; i != NONE; i = m->coll_next[i])
			whole[i] = m->colls.at[c].parts == m->colls.at[c].expected;
	return whole;
}

static int give_all(struct inflows *f, const struct ops *o, const uint64_t *came, const bool *whole)
{
	size_t at = 0;
	int code = 0;
	for (uint32_t r = 0; r < f->s->nranks && code == 0; r++) {
		const struct process *p = f->s->ranks[r];
		uint64_t *seen = p == NULL ? NULL : calloc(p->sigs.n + 1, sizeof(*seen));
		if (p == NULL)
			continue;
		code = seen == NULL ? -ENOMEM : give_matched(f, o, came, whole, r, &at, seen);
		if (code == 0)
			code = give_rest(f, r, seen);
		free(seen);
	}
	return code;
}

static int count_inflows(struct step *s, const struct ops *o, const struct matching *m, const uint64_t *came)
{
	struct inflows f = {.s = s};
	bool *whole = whole_operations(o, m);
	int code = whole == NULL ? -ENOMEM : add_outflows(&f);
	if (code == 0)
		code = give_all(&f, o, came, whole);
	free(whole);
	vec_done(&f.list);
	index_done(&f.index);
	return code;
}

int bytes_count(struct step *s, const struct ops *o, const struct matching *m, struct moved *ret_moved)
{
	int code = 0;
	count_calls(s);
	if (any_listed(s)) {
		code = find_arrivals(s, o, m, ret_moved);
		if (code == 0)
			code = count_inflows(s, o, m, ret_moved->came);
	}
	if (code == 0)
		count_starts(s, o, ret_moved);
	return code;
}

void moved_done(struct moved *m)
{
	free(m->came);
	m->came = NULL;
}

/* ---- event by event ---- */

static uint64_t started_bytes(size_t *walk, const struct p2p_op *ops, size_t n, const struct step *s, uint32_t rank,
			      uint32_t at)
{
	uint64_t sum = 0;
	while (*walk < n && ops[*walk].rank < rank)
		++*walk;
	for (; *walk < n && ops[*walk].rank == rank && ops[*walk].start <= at; ++*walk)
		if (was_started(s, rank, ops[*walk].start))
			sum += ops[*walk].bytes;
	return sum;
}

uint64_t bytes_of_event(struct moved_walk *w, const struct step *s, const struct ops *o, const struct moved *m,
			uint32_t rank, uint32_t at)
{
	const struct sig *sig = event_sig(s, rank, at);
	uint64_t bytes = (sig->call.flags & SIG_PERSISTENT) != 0 ? 0 : sig->call_bytes;
	bytes += started_bytes(&w->send, o->sends.at, o->sends.n, s, rank, at);
	bytes += started_bytes(&w->recv, o->recvs.at, o->recvs.n, s, rank, at);
	while (w->coll < o->colls.n && o->colls.at[w->coll].rank < rank)
		w->coll++;
	for (; w->coll < o->colls.n && o->colls.at[w->coll].rank == rank && o->colls.at[w->coll].start <= at;
	     w->coll++) {
		const struct coll_op *op = &o->colls.at[w->coll];
		bytes += m->came != NULL ? m->came[w->coll] : 0;
		bytes += op->channel != 0 ? s->ranks[rank]->sigs.at[op->sig].call_bytes : 0;
	}
	return bytes;
}
