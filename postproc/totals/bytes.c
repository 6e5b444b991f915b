/* bytes.c - see bytes.h. */
#include "postproc/totals/bytes.h"
#include "postproc/totals/traffic.h"

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

void bytes_of_calls(struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++) {
		struct process *p = s->ranks[r];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++)
			p->sigs.at[i].call_bytes = call_bytes(s, r, &p->sigs.at[i]);
	}
}

static void count_calls(struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++) {
		struct process *p = s->ranks[r];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
			struct sig *sig = &p->sigs.at[i];
			bool persistent = (sig->call.flags & SIG_PERSISTENT) != 0;
			sig->moved_bytes = (persistent ? 0 : sig->calls * sig->call_bytes) + sig->started_bytes;
		}
	}
}

static bool any_listed(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->sigs.n; i++)
			if (bytes_need_partners(s, &s->ranks[r]->sigs.at[i]))
				return true;
	return false;
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

/* Give what came in operations that are wholly there to the calls it came to. */
static int give_matched(struct inflows *f, uint32_t rank)
{
	struct process *p = f->s->ranks[rank];
	for (size_t i = 0; i < p->sigs.n; i++) {
		struct sig *sig = &p->sigs.at[i];
		struct inflow *x = sig->came_calls > 0 ? inflow_of(f, rank, sig) : NULL;
		if (sig->came_calls == 0)
			continue;
		if (x == NULL)
			return -ENOMEM;
		sig->moved_bytes += sig->came_bytes;
		x->bytes -= x->bytes < sig->came_bytes ? x->bytes : sig->came_bytes;
	}
	return 0;
}

static uint64_t calls_left(const struct sig *sig, uint64_t seen)
{
	return sig->calls > seen ? sig->calls - seen : 0;
}

/* The rest by calls; the last gets what rounding left. */
static int assign_rest(struct inflows *f, uint32_t rank)
{
	struct process *p = f->s->ranks[rank];
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < p->sigs.n; i++) {
			struct sig *sig = &p->sigs.at[i];
			uint64_t left = is_listed_each_call(f->s, sig) ? calls_left(sig, sig->came_calls) : 0;
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

int bytes_count(struct step *s)
{
	struct inflows f = {.s = s};
	int code = 0;
	count_calls(s);
	if (any_listed(s))
		code = add_outflows(&f);
	for (uint32_t r = 0; r < s->nranks && code == 0; r++) {
		if (s->ranks[r] == NULL || f.list.n == 0)
			continue;
		code = give_matched(&f, r);
		if (code == 0)
			code = assign_rest(&f, r);
	}
	vec_done(&f.list);
	index_done(&f.index);
	return code;
}
