/* match.c - see match.h. MPI's non-overtaking rule makes it simple: messages of one (communicator,
 * sender, receiver, tag) are received in the order in which they were sent, by the receives that
 * got this tag from this sender in the order in which those were started. Linear in the number of
 * operations. */
#include "postproc/match.h"

/* Sends of one envelope that wait for a receive, oldest first. */
struct queue {
	uint32_t comm, src, dst;
	int32_t tag;
	bool partitioned;
	uint32_t head, tail;
};

struct queues {
	VEC(struct queue) list;
	struct index index;
	uint32_t *next; /* by send */
};

struct wanted_queue {
	const struct queues *q;
	uint32_t comm, src, dst;
	int32_t tag;
	bool partitioned;
};

static bool same_queue(const void *context, uint32_t at)
{
	const struct wanted_queue *w = context;
	const struct queue *q = &w->q->list.at[at];
	return q->comm == w->comm && q->src == w->src && q->dst == w->dst && q->tag == w->tag &&
	       q->partitioned == w->partitioned;
}

static uint64_t queue_hash(const struct wanted_queue *w)
{
	return index_mix((uint64_t)w->src << 32 | w->dst, (uint64_t)w->comm << 32 | (uint32_t)w->tag);
}

static int enqueue(struct queues *q, const struct p2p_op *send, uint32_t at)
{
	struct wanted_queue w = {
		q, send->comm, send->rank, (uint32_t)send->peer, send->tag, (send->flags & P2P_PARTITIONED) != 0};
	uint32_t found = index_find(&q->index, queue_hash(&w), same_queue, &w);
	q->next[at] = NONE;
	if (found != INDEX_NONE) {
		struct queue *to = &q->list.at[found];
		if (to->head == NONE)
			to->head = at;
		else
			q->next[to->tail] = at;
		to->tail = at;
		return 0;
	}
	struct queue fresh = {w.comm, w.src, w.dst, w.tag, w.partitioned, at, at};
	if (vec_push(&q->list, fresh) < 0)
		return -ENOMEM;
	return index_add(&q->index, queue_hash(&w), (uint32_t)q->list.n - 1);
}

static uint32_t dequeue(struct queues *q, const struct p2p_op *recv)
{
	struct wanted_queue w = {q,	     recv->comm, (uint32_t)recv->peer,
				 recv->rank, recv->tag,	 (recv->flags & P2P_PARTITIONED) != 0};
	uint32_t found = index_find(&q->index, queue_hash(&w), same_queue, &w);
	if (found == INDEX_NONE || q->list.at[found].head == NONE)
		return NONE;
	uint32_t at = q->list.at[found].head;
	q->list.at[found].head = q->next[at];
	return at;
}

static int match_messages(struct ops *o, struct queues *q, struct matching *m)
{
	for (uint32_t i = 0; i < o->sends.n; i++)
		if ((o->sends.at[i].flags & P2P_CANCELLED) == 0 && enqueue(q, &o->sends.at[i], i) < 0)
			return -ENOMEM;
	for (uint32_t i = 0; i < o->recvs.n; i++) {
		struct p2p_op *recv = &o->recvs.at[i];
		uint32_t send = NONE;
		if ((recv->flags & P2P_CANCELLED) == 0 && recv->peer >= 0)
			send = dequeue(q, recv);
		if (send == NONE)
			continue;
		recv->flags |= P2P_MATCHED;
		o->sends.at[send].flags |= P2P_MATCHED;
		if (vec_push(&m->messages, (struct message){send, i}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool is_cut(const struct step *s, const struct process *p)
{
	for (size_t i = 0; i < p->threads.n; i++)
		if (p->threads.at[i].lost > 0 || p->threads.at[i].gap)
			return true;
	return !p->finalized || p->bad_blocks > 0 || !s->nodes.at[p->node].file.finished;
}

static void explain(const struct step *s, const struct p2p_op *op, struct unmatched *u)
{
	if (op->peer < 0)
		u->unknown_source++;
	else if (s->ranks[op->peer] == NULL)
		u->partner_missing++;
	else if (is_cut(s, s->ranks[op->peer]) || is_cut(s, s->ranks[op->rank]))
		u->record_cut++;
	else
		u->program++;
}

static void count_unmatched(const struct step *s, const struct ops *o, struct unmatched *u)
{
	for (size_t i = 0; i < o->sends.n; i++)
		if ((o->sends.at[i].flags & (P2P_MATCHED | P2P_CANCELLED)) == 0) {
			u->sends++;
			explain(s, &o->sends.at[i], u);
		}
	for (size_t i = 0; i < o->recvs.n; i++)
		if ((o->recvs.at[i].flags & (P2P_MATCHED | P2P_CANCELLED)) == 0 &&
		    o->recvs.at[i].peer != SIG_PROC_NULL) {
			u->recvs++;
			explain(s, &o->recvs.at[i], u);
		}
}

struct wanted_coll {
	const struct matching *m;
	uint32_t comm, channel, k;
};

static bool same_coll(const void *context, uint32_t at)
{
	const struct wanted_coll *w = context;
	const struct collective *c = &w->m->colls.at[at];
	return c->comm == w->comm && c->channel == w->channel && c->k == w->k;
}

static bool differ(const struct step *s, const struct coll_op *a, const struct coll_op *b)
{
	const struct sig *x = &s->ranks[a->rank]->sigs.at[a->sig], *y = &s->ranks[b->rank]->sigs.at[b->sig];
	if (x->call.coll != y->call.coll)
		return true;
	return !s->comms.at[a->comm].inter && x->peer != y->peer;
}

static int add_part(const struct step *s, const struct ops *o, struct matching *m, struct index *x, uint32_t at)
{
	const struct coll_op *op = &o->colls.at[at];
	struct wanted_coll w = {m, op->comm, op->channel, op->k};
	uint64_t hash = index_mix((uint64_t)op->comm << 32 | op->channel, op->k);
	uint32_t found = index_find(x, hash, same_coll, &w);
	if (found != INDEX_NONE) {
		struct collective *c = &m->colls.at[found];
		c->differs |= differ(s, op, &o->colls.at[c->first]);
		m->coll_next[at] = c->first;
		c->first = at;
		c->parts++;
		return 0;
	}
	struct collective fresh = {op->comm, op->channel, op->k, at, 1, s->comms.at[op->comm].here, false};
	m->coll_next[at] = NONE;
	if (vec_push(&m->colls, fresh) < 0)
		return -ENOMEM;
	return index_add(x, hash, (uint32_t)m->colls.n - 1);
}

static int match_collectives(const struct step *s, const struct ops *o, struct matching *m)
{
	struct index x = {0};
	int code = 0;
	for (uint32_t i = 0; i < o->colls.n && code == 0; i++)
		code = add_part(s, o, m, &x, i);
	for (size_t i = 0; i < m->colls.n; i++) {
		m->unmatched.collectives += m->colls.at[i].parts < m->colls.at[i].expected;
		m->unmatched.collectives_differ += m->colls.at[i].differs;
	}
	index_done(&x);
	return code;
}

int match_all(const struct step *s, struct ops *o, struct matching *ret_matching)
{
	struct matching m = {.coll_next = malloc((o->colls.n + 1) * sizeof(uint32_t))};
	struct queues q = {.next = malloc((o->sends.n + 1) * sizeof(uint32_t))};
	int code = m.coll_next == NULL || q.next == NULL ? -ENOMEM : 0;
	if (code == 0)
		code = match_messages(o, &q, &m);
	if (code == 0)
		code = match_collectives(s, o, &m);
	count_unmatched(s, o, &m.unmatched);
	vec_done(&q.list);
	index_done(&q.index);
	free(q.next);
	*ret_matching = m;
	return code;
}

void matching_done(struct matching *m)
{
	vec_done(&m->messages);
	vec_done(&m->colls);
	free(m->coll_next);
	memset(m, 0, sizeof(*m));
}
