/* waits_coll.c - waits in collectives. Only operations of which every member is in the record are
 * judged: of the others nobody knows who came last. */
#include "postproc/comms.h"
#include "postproc/waits.h"

/* When one member entered, and the part of it that could wait: its own call, or the call that
 * completed it. */
struct part {
	const struct coll_op *op;
	int64_t enter_ns;
	const struct event *completion;
	int32_t position; /* rank in the communicator, for scans */
};

/* All members of one operation. */
struct meeting {
	struct waits *w;
	struct step *s;
	VEC(struct part) parts;
	const struct comm *comm;
	int64_t last_enter_ns, first_exit_ns;
	const struct coll_op *last; /* to come */
};

static int gather(struct meeting *g, const struct ops *o, const struct matching *m, const struct collective *c)
{
	g->parts.n = 0;
	g->last_enter_ns = INT64_MIN;
	g->first_exit_ns = INT64_MAX;
	g->comm = &g->s->comms.at[c->comm];
	for (uint32_t i = c->first; i != NONE; i = m->coll_next[i]) {
		const struct coll_op *op = &o->colls.at[i];
		struct part part = {op, op_event(g->s, op->rank, op->start)->start_ns,
				    op->completion == NONE ? NULL : op_event(g->s, op->rank, op->completion), 0};
		if (vec_push(&g->parts, part) < 0)
			return -ENOMEM;
		if (part.enter_ns > g->last_enter_ns) {
			g->last_enter_ns = part.enter_ns;
			g->last = op;
		}
		if (part.completion != NULL && part.completion->end_ns < g->first_exit_ns)
			g->first_exit_ns = part.completion->end_ns;
	}
	return 0;
}

static int64_t clip(const struct part *p, int64_t until_ns)
{
	int64_t end = p->completion->end_ns < until_ns ? p->completion->end_ns : until_ns;
	return end - p->completion->start_ns;
}

static int note(struct meeting *g, enum wait_state state, const struct part *p, int64_t ns,
		const struct coll_op *causer)
{
	struct wait_link link = {p->op->rank, p->op->completion, causer != NULL ? causer->rank : NONE,
				 causer != NULL ? causer->start : NONE};
	return waits_note(g->w, g->s, state, &link, ns);
}

/* All wait for the last to come, and some leave later than the first. */
static int all_for_all(struct meeting *g, enum wait_state waiting, enum wait_state completion)
{
	int code = 0;
	for (size_t i = 0; i < g->parts.n && code == 0; i++) {
		const struct part *p = &g->parts.at[i];
		if (p->completion == NULL)
			continue;
		int64_t from = g->first_exit_ns > p->completion->start_ns ? g->first_exit_ns : p->completion->start_ns;
		code = note(g, waiting, p, clip(p, g->last_enter_ns), g->last);
		if (code == 0)
			code = note(g, completion, p, p->completion->end_ns - from, NULL);
	}
	return code;
}

static const struct part *root_part(const struct meeting *g)
{
	for (size_t i = 0; i < g->parts.n; i++) {
		const struct coll_op *op = g->parts.at[i].op;
		int32_t root = g->s->ranks[op->rank]->sigs.at[op->sig].peer;
		if (root == SIG_ROOT || (!g->comm->inter && root == (int32_t)op->rank))
			return &g->parts.at[i];
	}
	return NULL;
}

static bool takes_part(const struct meeting *g, const struct part *p)
{
	return g->s->ranks[p->op->rank]->sigs.at[p->op->sig].peer != SIG_PROC_NULL;
}

static int from_root(struct meeting *g)
{
	const struct part *root = root_part(g);
	int code = 0;
	for (size_t i = 0; i < g->parts.n && root != NULL && code == 0; i++) {
		const struct part *p = &g->parts.at[i];
		if (p != root && p->completion != NULL && takes_part(g, p))
			code = note(g, LATE_BROADCAST, p, clip(p, root->enter_ns), root->op);
	}
	return code;
}

/* The root waits for nothing until the first other has come: that is what it certainly loses. */
static int to_root(struct meeting *g)
{
	const struct part *root = root_part(g);
	int64_t first = INT64_MAX;
	const struct coll_op *causer = NULL;
	if (root == NULL || root->completion == NULL)
		return 0;
	for (size_t i = 0; i < g->parts.n; i++) {
		const struct part *p = &g->parts.at[i];
		if (p == root || !takes_part(g, p) || p->enter_ns >= first)
			continue;
		first = p->enter_ns;
		causer = p->op;
	}
	return first == INT64_MAX ? 0 : note(g, EARLY_REDUCE, root, clip(root, first), causer);
}

static int by_position(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	return (x->position > y->position) - (x->position < y->position);
}

static int prefix(struct meeting *g)
{
	int64_t last = INT64_MIN;
	const struct coll_op *causer = NULL;
	int code = 0;
	for (size_t i = 0; i < g->parts.n; i++)
		g->parts.at[i].position = comms_rank_of(g->comm, g->parts.at[i].op->rank);
	vec_sort(&g->parts, by_position);
	for (size_t i = 0; i < g->parts.n && code == 0; i++) {
		const struct part *p = &g->parts.at[i];
		if (i > 0 && p->completion != NULL)
			code = note(g, EARLY_SCAN, p, clip(p, last), causer);
		if (p->enter_ns > last) {
			last = p->enter_ns;
			causer = p->op;
		}
	}
	return code;
}

static int judge(struct meeting *g, enum sig_coll kind)
{
	switch (kind) {
	case COLL_BARRIER:
		return all_for_all(g, WAIT_AT_BARRIER, BARRIER_COMPLETION);
	case COLL_ALLREDUCE:
	case COLL_ALLGATHER:
	case COLL_ALLGATHERV:
	case COLL_ALLTOALL:
	case COLL_ALLTOALLV:
	case COLL_REDUCE_SCATTER:
	case COLL_REDUCE_SCATTER_BLOCK:
		return all_for_all(g, WAIT_AT_NXN, NXN_COMPLETION);
	case COLL_BCAST:
	case COLL_SCATTER:
	case COLL_SCATTERV:
		return from_root(g);
	case COLL_REDUCE:
	case COLL_GATHER:
	case COLL_GATHERV:
		return to_root(g);
	case COLL_SCAN:
	case COLL_EXSCAN:
		return prefix(g);
	default:
		return 0;
	}
}

int waits_coll(struct waits *w, struct step *s, const struct ops *o, const struct matching *m)
{
	struct meeting g = {.w = w, .s = s};
	int code = 0;
	for (size_t i = 0; i < m->colls.n && code == 0; i++) {
		const struct collective *c = &m->colls.at[i];
		if (c->differs || c->parts != c->expected || c->parts < 2)
			continue;
		const struct coll_op *first = &o->colls.at[c->first];
		code = gather(&g, o, m, c);
		if (code == 0)
			code = judge(&g, s->ranks[first->rank]->sigs.at[first->sig].call.coll);
	}
	vec_done(&g.parts);
	return code;
}
