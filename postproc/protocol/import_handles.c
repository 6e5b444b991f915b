/* import_handles.c - handles of communicators mean something on their own rank only: which are one communicator, by
 * what was sent and received with them.
 *
 * Between two ranks, what was sent with one handle was received with the same one, if as many messages with the same
 * tags were; else with the only other one of which that is so. Handles that nowhere meet another stay one communicator
 * on all ranks, as those of MPI_COMM_WORLD and of what all ranks made together; the others are one where messages say
 * so, and the rest stay apart, each on its own. */
#include "postproc/protocol/import.h"

#include "base/index.h"
#include "base/search.h"

#define UNPAIRED_MAX 64u /* handles between two ranks that are compared with each other */

/* Messages of one direction with one handle. */
struct run {
	uint32_t src, dst, comm, n;
	uint64_t tags;
	bool paired;
};

/* A handle of a rank. */
struct node {
	uint32_t rank, comm;
	uint32_t parent; /* towards the first of those that are one communicator */
	uint32_t made;	 /* index of its communicator, plus 1 */
	uint32_t seen;	 /* rank, plus 1, of the last one that is joined with it */
	bool twice;	 /* two of one rank are */
};

struct joining {
	struct import *x;
	VEC(struct import_envelope) ends;
	VEC(struct run) sends, recvs;
	VEC(struct node) nodes; /* by rank, then communicator */
	VEC(uint32_t) first;	/* of a rank */
	bool *is_local;		/* of a communicator: its handle is another's elsewhere */
};

static int by_envelope(const void *a, const void *b)
{
	return import_compare_envelopes(a, b);
}

static int gather(struct joining *j, bool sends)
{
	const struct import *x = j->x;
	j->ends.n = 0;
	for (uint32_t r = 0; r < x->nranks; r++)
		for (size_t i = 0; i < x->ranks[r].events.n; i++) {
			const struct import_event *ev = &x->ranks[r].events.at[i];
			struct import_envelope end;
			if (import_envelope_of(x, r, ev, sends, &end) && vec_push(&j->ends, end) < 0)
				return -ENOMEM;
		}
	vec_sort(&j->ends, by_envelope);
	return 0;
}

/* The ends that were gathered, run by run. */
static int add_ends(struct joining *j, bool sends)
{
	for (size_t i = 0; i < j->ends.n;) {
		const struct import_envelope *first = &j->ends.at[i];
		struct run run = {.src = first->src, .dst = first->dst, .comm = first->comm};
		for (; i < j->ends.n && j->ends.at[i].src == run.src && j->ends.at[i].dst == run.dst &&
		       j->ends.at[i].comm == run.comm;
		     i++, run.n++)
			run.tags = index_mix(run.tags, (uint32_t)j->ends.at[i].tag);
		if ((sends ? vec_push(&j->sends, run) : vec_push(&j->recvs, run)) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- handles ---- */

static int by_rank(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
				  : (x->comm > y->comm) - (x->comm < y->comm);
}

static int add_nodes(struct joining *j)
{
	for (uint32_t c = 0; c < j->x->comms.n; c++)
		for (size_t i = 0; i < j->x->comms.at[c].ranks.n; i++)
			if (vec_push(&j->nodes, (struct node){.rank = j->x->comms.at[c].ranks.at[i], .comm = c}) < 0)
				return -ENOMEM;
	vec_sort(&j->nodes, by_rank);
	for (uint32_t r = 0, n = 0; r <= j->x->nranks; r++) {
		if (vec_push(&j->first, n) < 0)
			return -ENOMEM;
		for (; n < j->nodes.n && j->nodes.at[n].rank == r; n++)
			j->nodes.at[n].parent = n;
	}
	return 0;
}

static uint32_t node_of(const struct joining *j, uint32_t rank, uint32_t comm)
{
	return (uint32_t)search_first(j->first.at[rank], j->first.at[rank + 1], i, j->nodes.at[i].comm < comm);
}

static uint32_t root_of(struct joining *j, uint32_t node)
{
	while (j->nodes.at[node].parent != node) {
		j->nodes.at[node].parent = j->nodes.at[j->nodes.at[node].parent].parent;
		node = j->nodes.at[node].parent;
	}
	return node;
}

static void join(struct joining *j, const struct run *s, const struct run *r)
{
	uint32_t a = root_of(j, node_of(j, s->src, s->comm)), b = root_of(j, node_of(j, r->dst, r->comm));
	j->nodes.at[a > b ? a : b].parent = a > b ? b : a;
}

/* ---- what messages say ---- */

static bool agree(const struct run *s, const struct run *r)
{
	return s->n == r->n && s->tags == r->tags;
}

static bool is_before(const struct run *a, const struct run *b)
{
	return a->src != b->src ? a->src < b->src : a->dst < b->dst;
}

/* The only one that is left of those in [from, to) that agree; or NULL. */
static struct run *only(struct run *at, size_t from, size_t to, const struct run *with)
{
	struct run *found = NULL;
	for (size_t i = from; i < to; i++) {
		if (at[i].paired || !agree(&at[i], with))
			continue;
		if (found != NULL)
			return NULL;
		found = &at[i];
	}
	return found;
}

/* Both are in the order of their communicators. How many sends are left. */
static size_t join_same(struct joining *j, size_t s, size_t s_end, size_t r, size_t r_end)
{
	size_t left = 0;
	for (; s < s_end; s++) {
		struct run *send = &j->sends.at[s];
		while (r < r_end && j->recvs.at[r].comm < send->comm)
			r++;
		send->paired = r < r_end && j->recvs.at[r].comm == send->comm && agree(send, &j->recvs.at[r]);
		left += !send->paired;
		if (send->paired) {
			j->recvs.at[r].paired = true;
			join(j, send, &j->recvs.at[r]);
		}
	}
	return left;
}

/* Of one direction between two ranks. */
static void join_direction(struct joining *j, size_t s, size_t s_end, size_t r, size_t r_end)
{
	size_t left = join_same(j, s, s_end, r, r_end);
	for (size_t i = s; i < s_end && left > 0 && left <= UNPAIRED_MAX; i++) {
		struct run *send = &j->sends.at[i], *recv = send->paired ? NULL : only(j->recvs.at, r, r_end, send);
		if (recv == NULL || only(j->sends.at, s, s_end, recv) != send)
			continue;
		send->paired = recv->paired = true;
		join(j, send, recv);
		j->is_local[send->comm] = j->is_local[recv->comm] = true;
	}
}

static void join_all(struct joining *j)
{
	size_t s = 0, r = 0;
	while (s < j->sends.n) {
		size_t s_end = s, r_end;
		while (s_end < j->sends.n && !is_before(&j->sends.at[s], &j->sends.at[s_end]))
			s_end++;
		while (r < j->recvs.n && is_before(&j->recvs.at[r], &j->sends.at[s]))
			r++;
		for (r_end = r; r_end < j->recvs.n && !is_before(&j->sends.at[s], &j->recvs.at[r_end]);)
			r_end++;
		join_direction(j, s, s_end, r, r_end);
		s = s_end;
		r = r_end;
	}
}

/* ---- new communicators ---- */

/* A rank has no two handles of one communicator: then messages only seem to say so. */
static void part_twice(struct joining *j)
{
	for (uint32_t i = 0; i < j->nodes.n; i++) {
		struct node *root = &j->nodes.at[root_of(j, i)];
		root->twice |= root->seen == j->nodes.at[i].rank + 1;
		root->seen = j->nodes.at[i].rank + 1;
	}
}

/* Whose number its communicator has: that of all who have this handle, or of those who are joined, or its own. */
static uint32_t *made_of(struct joining *j, uint32_t *of_handle, uint32_t n)
{
	const struct node *root = &j->nodes.at[root_of(j, n)];
	if (!j->is_local[j->nodes.at[n].comm])
		return &of_handle[j->nodes.at[n].comm];
	return root->twice ? &j->nodes.at[n].made : &j->nodes.at[root_of(j, n)].made;
}

static int put_node(struct joining *j, uint32_t *of_handle, uint32_t n, struct import *to)
{
	struct node *node = &j->nodes.at[n];
	uint32_t *made = made_of(j, of_handle, n);
	if (*made == 0) {
		if (vec_push(&to->comms, (struct import_comm){.value = j->x->comms.at[node->comm].value}) < 0)
			return -ENOMEM;
		*made = (uint32_t)to->comms.n;
	}
	node->made = *made;
	return vec_push(&to->comms.at[node->made - 1].ranks, node->rank);
}

static void count(const struct joining *j, const struct import *to, struct import_handles *ret)
{
	for (size_t i = 0; i < j->nodes.n; i++) {
		bool is_local = j->is_local[j->nodes.at[i].comm];
		ret->joined += is_local && to->comms.at[j->nodes.at[i].made - 1].ranks.n > 1;
		ret->apart += is_local && to->comms.at[j->nodes.at[i].made - 1].ranks.n == 1;
	}
}

static int make(struct joining *j, struct import_handles *ret)
{
	struct import *x = j->x, to = {0};
	uint32_t *of_handle = calloc(x->comms.n + 1, sizeof(*of_handle));
	int code = of_handle == NULL ? -ENOMEM : 0;
	for (size_t i = 0; i < j->nodes.n && code == 0; i++)
		code = put_node(j, of_handle, (uint32_t)i, &to);
	for (uint32_t r = 0; r < x->nranks && code == 0; r++)
		for (size_t i = 0; i < x->ranks[r].events.n; i++) {
			struct import_event *ev = &x->ranks[r].events.at[i];
			if (import_is_on_comm(x, ev))
				ev->comm = j->nodes.at[node_of(j, r, ev->comm)].made - 1;
		}
	if (code == 0) {
		count(j, &to, ret);
		__typeof__(x->comms) before = x->comms;
		x->comms = to.comms;
		to.comms = before;
	}
	free(of_handle);
	import_done(&to);
	return code;
}

int import_join_handles(struct import *x, struct import_handles *ret_handles, struct error *e)
{
	struct joining j = {.x = x, .is_local = calloc(x->comms.n + 1, sizeof(*j.is_local))};
	*ret_handles = (struct import_handles){0};
	int code = j.is_local == NULL ? -ENOMEM : add_nodes(&j);
	if (code == 0)
		code = gather(&j, true);
	if (code == 0)
		code = add_ends(&j, true);
	if (code == 0)
		code = gather(&j, false);
	if (code == 0)
		code = add_ends(&j, false);
	if (code == 0) {
		join_all(&j);
		part_twice(&j);
		code = make(&j, ret_handles);
	}
	vec_done(&j.ends);
	vec_done(&j.sends);
	vec_done(&j.recvs);
	vec_done(&j.nodes);
	vec_done(&j.first);
	free(j.is_local);
	return code < 0 ? fail(e, code, "%s: out of memory", x->file) : 0;
}
