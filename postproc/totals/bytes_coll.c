/* bytes_coll.c - what one call of a collective moves, by its meaning: see bytes.h. */
#include "postproc/totals/bytes.h"
#include "postproc/read/comms.h"
#include "postproc/totals/traffic.h"

/* One member's view of a collective. */
struct view {
	const struct sig_call *call;
	const struct comm *comm;
	uint64_t others; /* how many it exchanges with */
	int32_t me;	 /* place among them, or -1: in the other group */
	bool root, aside;
};

static struct view view_of(const struct step *s, uint32_t rank, const struct sig *sig)
{
	const struct comm *c = &s->comms.at[sig->comm];
	int32_t me = c->inter ? -1 : comms_rank_of(c, rank);
	uint64_t others = c->inter ? c->remote_size : c->size - (me >= 0 ? 1u : 0u);
	return (struct view){.call = &sig->call,
			     .comm = c,
			     .others = others,
			     .me = me,
			     .root = sig->peer == SIG_ROOT || (!c->inter && sig->peer == (int32_t)rank),
			     .aside = sig->peer == SIG_PROC_NULL || sig->peer == SIG_NO_ROOT};
}

/* Sum of a list {bytes:48 | repeat:16}, and what stands at place me (if >= 0), which is not in the sum. */
static uint64_t sum_list(const struct sig_call *c, int32_t me, uint64_t *ret_mine)
{
	uint64_t sum = 0, at = 0;
	*ret_mine = 0;
	for (uint32_t i = 0; i < c->nlist; i++) {
		uint64_t bytes = c->list[i] & 0xffffffffffffull, repeat = c->list[i] >> 48;
		bool here = me >= 0 && (uint64_t)me >= at && (uint64_t)me < at + repeat;
		if (here)
			*ret_mine = bytes;
		sum += bytes * (repeat - here);
		at += repeat;
	}
	return sum;
}

static uint64_t list_bytes(const struct view *v)
{
	uint64_t mine;
	return sum_list(v->call, v->me, &mine);
}

/* What goes to each and comes from each of these neighbours; with a list: what stands at their places in it. */
static uint64_t neighbor_bytes(const struct step *s, uint32_t rank, const struct sig *sig, bool in, bool listed)
{
	const struct neighbors *n = traffic_neighbors(s->ranks[rank], sig->comm);
	struct neighbor_walk w = neighbor_walk(s, rank, sig,
					       n == NULL ? (struct span){0}
					       : in	 ? n->in
							 : n->out,
					       in ? sig->call.recv_unit_bytes : sig->call.send_unit_bytes, listed);
	uint64_t sum = 0, bytes;
	int32_t who;
	while (neighbor_next(&w, &who, &bytes))
		sum += bytes;
	return sum;
}

static uint64_t neighborhood(const struct step *s, uint32_t rank, const struct sig *sig)
{
	enum sig_coll kind = sig->call.coll;
	uint64_t out = neighbor_bytes(s, rank, sig, false, kind == COLL_NEIGHBOR_ALLTOALLV);
	if (kind == COLL_NEIGHBOR_ALLTOALLV)
		return out;
	return out + neighbor_bytes(s, rank, sig, true, kind == COLL_NEIGHBOR_ALLGATHERV);
}

static uint64_t reduce_scatter(const struct view *v)
{
	uint64_t mine, sent = sum_list(v->call, v->me, &mine);
	return sent + mine * v->others;
}

static uint64_t scan(const struct view *v)
{
	uint64_t before = v->me >= 0 ? (uint64_t)v->me : 0;
	return v->call->send_unit_bytes * (v->others - before) + v->call->recv_unit_bytes * before;
}

uint64_t bytes_collective(const struct step *s, uint32_t rank, const struct sig *sig)
{
	struct view v = view_of(s, rank, sig);
	uint64_t to_each = v.call->send_unit_bytes, from_each = v.call->recv_unit_bytes;
	switch (v.call->coll) {
	case COLL_BCAST:
	case COLL_SCATTER:
		return v.root ? to_each * v.others : v.aside ? 0 : from_each;
	case COLL_SCATTERV:
		return v.root ? list_bytes(&v) : v.aside ? 0 : from_each;
	case COLL_REDUCE:
	case COLL_GATHER:
		return v.root ? from_each * v.others : v.aside ? 0 : to_each;
	case COLL_GATHERV:
		return v.root ? list_bytes(&v) : v.aside ? 0 : to_each;
	case COLL_ALLREDUCE:
	case COLL_ALLGATHER:
	case COLL_ALLTOALL:
	case COLL_REDUCE_SCATTER_BLOCK:
		return (to_each + from_each) * v.others;
	case COLL_ALLGATHERV:
		return to_each * v.others + list_bytes(&v);
	case COLL_ALLTOALLV:
		return list_bytes(&v);
	case COLL_REDUCE_SCATTER:
		return reduce_scatter(&v);
	case COLL_SCAN:
	case COLL_EXSCAN:
		return scan(&v);
	default:
		return coll_is_neighborhood(v.call->coll) ? neighborhood(s, rank, sig) : 0;
	}
}

bool bytes_need_partners(const struct step *s, const struct sig *sig)
{
	enum sig_coll kind = sig->call.coll;
	if (!sig->defined || sig->call.shape != SIG_COLL || sig->comm == NONE || (sig->call.flags & SIG_FAILED) != 0)
		return false;
	return kind == COLL_ALLTOALLV || kind == COLL_NEIGHBOR_ALLTOALLV ||
	       (kind == COLL_REDUCE_SCATTER && s->comms.at[sig->comm].inter);
}
