/* state_truth.c - see state_truth.h: starts with nobody who can go on, and adds whoever can by what is known so far,
 * until nobody is added. */
#include "state_truth.h"

#include <stddef.h>

struct place {
	const struct states *s;
	const uint8_t *goes;
};

_Static_assert(offsetof(struct state, rank) == 0, "rows begin with it");
_Static_assert(offsetof(struct state_use, rank) == 0, "rows begin with it");

/* Where in rows that stand in the order of ranks those of this one begin. By bisection. */
static size_t rows_from(const void *rows, size_t n, size_t size, uint32_t rank)
{
	size_t low = 0;
	while (low < n) {
		size_t middle = (low + n) / 2;
		if (*(const uint32_t *)(const void *)((const char *)rows + middle * size) < rank)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

static size_t threads_from(const struct states *s, uint32_t rank)
{
	return rows_from(s->threads.at, s->threads.n, sizeof(*s->threads.at), rank);
}

static size_t uses_from(const struct states *s, uint32_t rank)
{
	return rows_from(s->uses.at, s->uses.n, sizeof(*s->uses.at), rank);
}

static bool has_any_thread(const struct states *s, uint32_t rank)
{
	return threads_from(s, rank) < threads_from(s, rank + 1);
}

/* Does somebody send now what the rank wants? */
static bool somebody_sends(const struct states *s, uint32_t rank, const struct want *w)
{
	for (size_t i = 0; i < s->threads.n; i++)
		for (uint32_t k = 0; k < s->threads.at[i].nwants; k++) {
			const struct want *x = &s->wants.at[s->threads.at[i].first_want + k];
			if (x->kind == WANT_RECEIVER && s->comms.at[x->comm].same == s->comms.at[w->comm].same &&
			    x->peer == (int32_t)rank && x->partitioned == w->partitioned &&
			    (w->peer < 0 || w->peer == (int32_t)s->threads.at[i].rank) &&
			    (w->tag < 0 || w->tag == x->tag))
				return true;
		}
	return false;
}

static bool it_receives(const struct states *s, uint32_t rank, const struct want *w)
{
	for (size_t i = threads_from(s, (uint32_t)w->peer); i < threads_from(s, (uint32_t)w->peer + 1); i++)
		for (uint32_t k = 0; k < s->threads.at[i].nwants; k++) {
			const struct want *x = &s->wants.at[s->threads.at[i].first_want + k];
			if (x->kind == WANT_MESSAGE && s->comms.at[x->comm].same == s->comms.at[w->comm].same &&
			    x->partitioned == w->partitioned && (x->peer < 0 || x->peer == (int32_t)rank) &&
			    (x->tag < 0 || x->tag == w->tag))
				return true;
		}
	return false;
}

static bool goes(const struct place *p, int32_t rank)
{
	return rank < 0 || (uint32_t)rank >= p->s->nranks || p->goes[rank];
}

static bool one_goes(const struct place *p, const int32_t *ranks, uint32_t n)
{
	bool any = false;
	for (uint32_t i = 0; i < n; i++)
		any |= goes(p, ranks[i]);
	return any;
}

static bool has_come(const struct states *s, int32_t rank, const struct want *w)
{
	uint32_t comm = s->comms.at[w->comm].same;
	uint64_t entered = 0;
	for (size_t i = uses_from(s, (uint32_t)rank); i < uses_from(s, (uint32_t)rank + 1); i++)
		if (s->uses.at[i].comm == comm && s->uses.at[i].channel == w->channel)
			entered = s->uses.at[i].entered;
	if (entered > w->k)
		return true;
	for (size_t i = threads_from(s, (uint32_t)rank); i < threads_from(s, (uint32_t)rank + 1) && entered == w->k;
	     i++)
		for (uint32_t k = 0; k < s->threads.at[i].nwants; k++) {
			const struct want *x = &s->wants.at[s->threads.at[i].first_want + k];
			if (x->kind == WANT_MEETING && x->k == w->k && s->comms.at[x->comm].same == comm &&
			    x->channel == w->channel && x->coll == w->coll && x->root == w->root)
				return true;
		}
	return false;
}

/* Of those who have not come to it: how many there are, and how many can go on; who is not of this world can. */
static void missing(const struct place *p, const struct want *w, uint32_t *ret_n, uint32_t *ret_go, bool *ret_outside)
{
	const struct state_comm *c = &p->s->comms.at[p->s->comms.at[w->comm].same];
	*ret_n = *ret_go = 0;
	*ret_outside = false;
	for (uint32_t i = 0; i < c->size + c->remote_size; i++) {
		int32_t rank = i < c->size ? c->group[i] : c->remote[i - c->size];
		if (rank < 0) {
			*ret_outside = true;
			continue;
		}
		if (has_come(p->s, rank, w))
			continue;
		(*ret_n)++;
		*ret_go += goes(p, rank);
	}
}

static bool meets(const struct place *p, uint32_t rank, const struct want *w)
{
	static const uint8_t from_root[COLL_KINDS] = {[COLL_BCAST] = 1, [COLL_SCATTER] = 1, [COLL_SCATTERV] = 1};
	static const uint8_t to_root[COLL_KINDS] = {[COLL_REDUCE] = 1, [COLL_GATHER] = 1, [COLL_GATHERV] = 1};
	static const uint8_t some[COLL_KINDS] = {[COLL_SCAN] = 1,
						 [COLL_EXSCAN] = 1,
						 [COLL_NEIGHBOR] = 1,
						 [COLL_NEIGHBOR_ALLGATHERV] = 1,
						 [COLL_NEIGHBOR_ALLTOALLV] = 1};
	bool inter = p->s->comms.at[w->comm].remote != NULL, outside;
	uint32_t n, go;
	missing(p, w, &n, &go, &outside);
	if (from_root[w->coll] && !inter && w->root >= 0 && w->root != (int32_t)rank && !has_come(p->s, w->root, w))
		return goes(p, w->root);
	bool one = from_root[w->coll] || some[w->coll] || (to_root[w->coll] && (inter || w->root != (int32_t)rank));
	if (one)
		return n == 0 || go > 0 || outside;
	return go == n;
}

static bool can_be_met(const struct place *p, uint32_t rank, const struct want *w)
{
	const struct state_comm *c = &p->s->comms.at[w->comm];
	if (w->there)
		return true;
	switch (w->kind) {
	case WANT_MESSAGE:
		if (somebody_sends(p->s, rank, w))
			return true;
		if (w->peer >= 0)
			return goes(p, w->peer);
		return c->remote != NULL ? one_goes(p, c->remote, c->remote_size) : one_goes(p, c->group, c->size);
	case WANT_RECEIVER:
		return it_receives(p->s, rank, w) || goes(p, w->peer);
	case WANT_MEETING:
		return meets(p, rank, w);
	default:
		return one_goes(p, p->s->ranks.at + w->first, w->n);
	}
}

static bool thread_goes(const struct place *p, const struct state *t)
{
	uint32_t met = 0;
	for (uint32_t i = 0; i < t->nwants; i++)
		met += can_be_met(p, t->rank, &p->s->wants.at[t->first_want + i]);
	switch (t->kind) {
	case STATE_FREE:
		return true;
	case STATE_OVER:
		return false;
	case STATE_ALL:
		return met == t->nwants;
	default:
		return met > 0 || t->nwants == 0 || t->left_out > 0;
	}
}

void truth(const struct states *s, const uint8_t *free_ranks, uint8_t *ret_goes)
{
	struct place p = {s, ret_goes};
	bool more = true;
	for (uint32_t r = 0; r < s->nranks; r++)
		ret_goes[r] = (free_ranks != NULL && free_ranks[r]) || !has_any_thread(s, r);
	while (more) {
		more = false;
		for (size_t i = 0; i < s->threads.n; i++)
			if (!ret_goes[s->threads.at[i].rank] && thread_goes(&p, &s->threads.at[i])) {
				ret_goes[s->threads.at[i].rank] = 1;
				more = true;
			}
	}
}
