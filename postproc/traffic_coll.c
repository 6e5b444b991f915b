/* traffic_coll.c - what collectives move between world ranks. Each flow is told by the signature of
 * the rank that data leaves, so nothing is counted twice. Flows that are equal to all members are
 * summed first and spread once. */
#include "postproc/comms.h"
#include "postproc/traffic_row.h"

/* Sums of one rank over one communicator: the same bytes to every other member. */
struct even {
	uint64_t count, bytes;
	uint32_t comm;
};

struct evens {
	VEC(struct even) list;
};

static int add_even(struct evens *v, uint32_t comm, uint64_t count, uint64_t bytes)
{
	for (size_t i = 0; i < v->list.n; i++)
		if (v->list.at[i].comm == comm) {
			v->list.at[i].count += count;
			v->list.at[i].bytes += bytes;
			return 0;
		}
	return vec_push(&v->list, (struct even){count, bytes, comm});
}

static const int32_t *partners(const struct comm *c, uint32_t *ret_n)
{
	*ret_n = c->inter ? c->remote_size : c->size;
	return c->inter ? c->remote : c->group;
}

static void spread(struct row *r, const struct even *v)
{
	uint32_t n;
	const int32_t *to = partners(&r->s->comms.at[v->comm], &n);
	for (uint32_t i = 0; i < n; i++)
		if (to[i] != (int32_t)r->src)
			row_add(r, to[i], v->count, v->bytes);
}

/* Sizes per peer from the list {bytes:48 | repeat:16}. */
static void add_list(struct row *r, const struct sig *sig, uint64_t count)
{
	uint32_t n, at = 0;
	const int32_t *to = partners(&r->s->comms.at[sig->comm], &n);
	for (uint32_t i = 0; i < sig->call.nlist; i++) {
		uint64_t bytes = sig->call.list[i] & 0xffffffffffffull, repeat = sig->call.list[i] >> 48;
		for (uint64_t k = 0; k < repeat && at < n; k++, at++)
			if (to[at] != (int32_t)r->src && bytes > 0)
				row_add(r, to[at], count, count * bytes);
	}
}

static const struct neighbors *neighbors_of(const struct process *p, uint32_t comm)
{
	for (size_t i = 0; i < p->neighbors.n; i++)
		if (p->neighbors.at[i].comm == comm)
			return &p->neighbors.at[i];
	return NULL;
}

/* The same bytes to every out-neighbour, or by the list. */
static void add_neighbors(struct row *r, const struct sig *sig, uint64_t count)
{
	const struct comm *c = &r->s->comms.at[sig->comm];
	const struct neighbors *to = neighbors_of(r->s->ranks[r->src], sig->comm);
	bool listed = sig->call.coll == COLL_NEIGHBOR_ALLTOALLV;
	struct cursor out = cursor_over(to != NULL ? to->out.data : NULL, to != NULL ? to->out.len_bytes : 0);
	uint64_t bytes = sig->call.send_unit_bytes, left = 0;
	uint32_t at = 0, rank;
	while (rd_u32(&out, &rank) == 0) {
		while (listed && left == 0 && at < sig->call.nlist) {
			bytes = sig->call.list[at] & 0xffffffffffffull;
			left = sig->call.list[at++] >> 48;
		}
		if (listed && left-- == 0)
			return;
		if (rank < c->size && c->group[rank] != (int32_t)r->src && !(listed && bytes == 0))
			row_add(r, c->group[rank], count, count * bytes);
	}
}

static void add_scan(struct row *r, const struct sig *sig, uint64_t count)
{
	const struct comm *c = &r->s->comms.at[sig->comm];
	int32_t me = comms_rank_of(c, r->src);
	for (uint32_t i = (uint32_t)(me + 1); me >= 0 && i < c->size; i++)
		row_add(r, c->group[i], count, count * sig->call.send_unit_bytes);
}

static bool is_root(const struct row *r, const struct sig *sig)
{
	return sig->peer == SIG_ROOT || (!r->s->comms.at[sig->comm].inter && sig->peer == (int32_t)r->src);
}

static int add_coll(struct row *r, struct evens *v, const struct sig *sig, uint64_t count)
{
	uint64_t bytes = count * sig->call.send_unit_bytes;
	switch (sig->call.coll) {
	case COLL_BCAST:
	case COLL_SCATTER:
		return is_root(r, sig) ? add_even(v, sig->comm, count, bytes) : 0;
	case COLL_SCATTERV:
		if (is_root(r, sig))
			add_list(r, sig, count);
		return 0;
	case COLL_REDUCE:
	case COLL_GATHER:
	case COLL_GATHERV:
		if (!is_root(r, sig))
			row_add(r, sig->peer, count, bytes);
		return 0;
	case COLL_ALLREDUCE:
	case COLL_ALLGATHER:
	case COLL_ALLGATHERV:
	case COLL_ALLTOALL:
	case COLL_REDUCE_SCATTER_BLOCK:
		return add_even(v, sig->comm, count, bytes);
	case COLL_ALLTOALLV:
	case COLL_REDUCE_SCATTER:
		add_list(r, sig, count);
		return 0;
	case COLL_NEIGHBOR:
	case COLL_NEIGHBOR_ALLGATHERV:
	case COLL_NEIGHBOR_ALLTOALLV:
		add_neighbors(r, sig, count);
		return 0;
	case COLL_SCAN:
	case COLL_EXSCAN:
		add_scan(r, sig, count);
		return 0;
	default:
		return 0;
	}
}

static bool moves_each_call(const struct sig *sig)
{
	return sig->defined && sig->call.shape == SIG_COLL && sig->comm != NONE &&
	       (sig->call.flags & (SIG_PERSISTENT | SIG_FAILED)) == 0;
}

static int add_rank(struct row *r, struct evens *v, const struct ops *o, size_t *at)
{
	const struct process *p = r->s->ranks[r->src];
	int code = 0;
	v->list.n = 0;
	for (size_t i = 0; p != NULL && i < p->sigs.n && code == 0; i++)
		if (moves_each_call(&p->sigs.at[i]) && p->sigs.at[i].calls > 0)
			code = add_coll(r, v, &p->sigs.at[i], p->sigs.at[i].calls);
	for (; *at < o->colls.n && o->colls.at[*at].rank == r->src && code == 0; ++*at)
		if (o->colls.at[*at].channel != 0) /* persistent: each start is an operation */
			code = add_coll(r, v, &p->sigs.at[o->colls.at[*at].sig], 1);
	for (size_t i = 0; i < v->list.n && code == 0; i++)
		spread(r, &v->list.at[i]);
	return code;
}

int traffic_collective(const struct step *s, const struct ops *o, struct traffic *ret_traffic)
{
	struct row r;
	struct evens v = {0};
	size_t at = 0;
	int code = row_init(&r, s, ret_traffic);
	for (r.src = 0; r.src < s->nranks && code == 0; r.src++) {
		code = add_rank(&r, &v, o, &at);
		if (code == 0)
			code = row_flush(&r);
	}
	vec_done(&v.list);
	row_done(&r);
	return code;
}
