/* import_link.c - what events of an imported trace have to do with each other. */
#include "postproc/protocol/import.h"

static int no_memory(const struct import *x, struct error *e)
{
	return fail(e, -ENOMEM, "%s: out of memory", x->file != NULL ? x->file : "import");
}

/* ---- messages ---- */

struct end {
	struct import_envelope envelope;
	uint32_t event;
};

struct ends {
	struct end *at;
	size_t n, cap;
};

/* Not MPI_ANY_SOURCE, MPI_PROC_NULL, or a number that is no rank here. */
static bool import_is_rank(const struct import *x, int32_t peer)
{
	return peer >= 0 && (uint32_t)peer < x->nranks;
}

bool import_envelope_of(const struct import *x, uint32_t rank, const struct import_event *ev, bool of_send,
			struct import_envelope *ret_envelope)
{
	if (of_send)
		*ret_envelope = (struct import_envelope){rank, (uint32_t)ev->send_peer, ev->comm, ev->send_tag};
	else
		*ret_envelope = (struct import_envelope){(uint32_t)ev->recv_peer, rank, ev->comm, ev->recv_tag};
	return (of_send ? ev->sends : ev->receives) && import_is_rank(x, of_send ? ev->send_peer : ev->recv_peer);
}

int import_compare_envelopes(const struct import_envelope *x, const struct import_envelope *y)
{
	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	if (x->dst != y->dst)
		return x->dst < y->dst ? -1 : 1;
	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	return (x->tag > y->tag) - (x->tag < y->tag);
}

static int compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;
	int c = import_compare_envelopes(&x->envelope, &y->envelope);
	return c != 0 ? c : (x->event > y->event) - (x->event < y->event);
}

static int gather_ends(const struct import *x, struct ends *sends, struct ends *recvs)
{
	int code = 0;
	for (uint32_t r = 0; r < x->nranks; r++)
		for (size_t i = 0; i < x->ranks[r].events.n && code == 0; i++) {
			const struct import_event *ev = &x->ranks[r].events.at[i];
			struct end end = {.event = (uint32_t)i};
			if (import_envelope_of(x, r, ev, true, &end.envelope))
				code = vec_push(sends, end);
			if (code == 0 && import_envelope_of(x, r, ev, false, &end.envelope))
				code = vec_push(recvs, end);
		}
	vec_sort(sends, compare_ends);
	vec_sort(recvs, compare_ends);
	return code;
}

static int join_ends(struct import *x, const struct ends *sends, const struct ends *recvs)
{
	size_t i = 0, k = 0;
	while (i < sends->n || k < recvs->n) {
		int c = i == sends->n	? 1
			: k == recvs->n ? -1
					: import_compare_envelopes(&sends->at[i].envelope, &recvs->at[k].envelope);
		if (c < 0) {
			x->unmatched_sends++;
			i++;
		} else if (c > 0) {
			x->unmatched_receives++;
			k++;
		} else {
			struct import_link link = {sends->at[i].envelope.src, sends->at[i].event,
						   recvs->at[k].envelope.dst, recvs->at[k].event};
			if (vec_push(&x->links, link) < 0)
				return -ENOMEM;
			i++;
			k++;
		}
	}
	return 0;
}

int import_find_links(struct import *x, struct error *e)
{
	struct ends sends = {0}, recvs = {0};
	int code = gather_ends(x, &sends, &recvs);
	if (code == 0)
		code = join_ends(x, &sends, &recvs);
	free(sends.at);
	free(recvs.at);
	return code < 0 ? no_memory(x, e) : 0;
}

/* ---- collectives ---- */

/* Of one communicator: how many collectives each member called. */
struct comm_count {
	uint64_t of_first, n; /* of its first member; of the rank that is looked at */
	uint32_t rank;	      /* that one, plus 1 */
	bool known, differs;
};

bool import_is_on_comm(const struct import *x, const struct import_event *ev)
{
	return ev->sends || ev->receives || x->ops.at[ev->op].collective;
}

/* Members are those that call on it at all. */
static void count_rank(const struct import *x, uint32_t r, struct comm_count *counts)
{
	const struct import_rank *rank = &x->ranks[r];
	for (size_t i = 0; i < rank->events.n; i++) {
		const struct import_event *ev = &rank->events.at[i];
		struct comm_count *c = &counts[ev->comm];
		if (!import_is_on_comm(x, ev))
			continue;
		c->n = c->rank == r + 1 ? c->n : 0;
		c->rank = r + 1;
		c->n += x->ops.at[ev->op].collective;
	}
	for (size_t i = 0; i < rank->events.n; i++) {
		struct comm_count *c = &counts[rank->events.at[i].comm];
		if (!import_is_on_comm(x, &rank->events.at[i]))
			continue;
		c->differs |= c->known && c->of_first != c->n;
		c->of_first = c->known ? c->of_first : c->n;
		c->known = true;
	}
}

static void number_rank(struct import *x, uint32_t r, struct comm_count *counts)
{
	for (size_t i = 0; i < x->ranks[r].events.n; i++) {
		struct import_event *ev = &x->ranks[r].events.at[i];
		struct comm_count *c = &counts[ev->comm];
		if (!x->ops.at[ev->op].collective || c->differs)
			continue;
		c->n = c->rank == r + 1 ? c->n : 0;
		c->rank = r + 1;
		ev->number = c->n++;
	}
}

int import_find_comms(struct import *x, struct error *e)
{
	struct comm_count *counts = calloc(x->comms.n + 1, sizeof(*counts));
	if (counts == NULL)
		return no_memory(x, e);
	for (uint32_t r = 0; r < x->nranks; r++)
		count_rank(x, r, counts);
	int code = 0;
	for (uint32_t c = 0; c < x->comms.n; c++) {
		counts[c].rank = 0;
		if (counts[c].differs && code == 0)
			code = import_reason(x,
					     "Members of communicator %lld call different numbers of collectives: "
					     "which calls belong together is not known.",
					     (long long)x->comms.at[c].value);
	}
	for (uint32_t r = 0; r < x->nranks; r++)
		number_rank(x, r, counts);
	free(counts);
	return code < 0 ? no_memory(x, e) : 0;
}
