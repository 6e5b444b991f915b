/* traffic_coll.c - what collectives move between world ranks. Each flow is recorded in the signature of
 * the rank that data leaves, so nothing is counted twice. Flows that are equal to all members are
 * summed first and spread once. */
#include "postproc/read/comms.h"
#include "postproc/totals/traffic_row.h"

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

const struct neighbors *traffic_neighbors(const struct process *p, uint32_t comm)
{
	for (size_t i = 0; i < p->neighbors.n; i++)
		if (p->neighbors.at[i].comm == comm)
			return &p->neighbors.at[i];
	return NULL;
}

struct neighbor_walk neighbor_walk(const struct step *s, uint32_t rank, const struct sig *sig, struct span neighbors,
				   uint64_t bytes, bool listed)
{
	return (struct neighbor_walk){.comm = &s->comms.at[sig->comm],
				      .call = &sig->call,
				      .ranks = cursor_over(neighbors.data, neighbors.len_bytes),
				      .rank = rank,
				      .bytes = bytes,
				      .listed = listed};
}

bool neighbor_next(struct neighbor_walk *w, int32_t *ret_rank, uint64_t *ret_bytes)
{
	uint32_t rank;
	while (rd_u32(&w->ranks, &rank) == 0) {
		while (w->listed && w->left == 0 && w->at < w->call->nlist) {
			w->bytes = w->call->list[w->at] & 0xffffffffffffull;
			w->left = w->call->list[w->at++] >> 48;
		}
		if (w->listed && w->left-- == 0)
			return false;
		if (rank >= w->comm->size || w->comm->group[rank] == (int32_t)w->rank)
			continue;
		*ret_rank = w->comm->group[rank];
		*ret_bytes = w->bytes;
		return true;
	}
	return false;
}

/* Sizes per peer from the list {bytes:48 | repeat:16}. */
static void listed_peers(const struct step *s, uint32_t src, const struct sig *sig,
			 void (*flow)(void *context, int32_t dst, uint64_t bytes), void *context)
{
	uint32_t n, at = 0;
	const int32_t *to = partners(&s->comms.at[sig->comm], &n);
	for (uint32_t i = 0; i < sig->call.nlist; i++) {
		uint64_t bytes = sig->call.list[i] & 0xffffffffffffull, repeat = sig->call.list[i] >> 48;
		for (uint64_t k = 0; k < repeat && at < n; k++, at++)
			if (to[at] != (int32_t)src && bytes > 0)
				flow(context, to[at], bytes);
	}
}

/* The same bytes to every out-neighbour, or by the list. */
static void to_neighbors(const struct step *s, uint32_t src, const struct sig *sig,
			 void (*flow)(void *context, int32_t dst, uint64_t bytes), void *context)
{
	const struct neighbors *n = traffic_neighbors(s->ranks[src], sig->comm);
	bool listed = sig->call.coll == COLL_NEIGHBOR_ALLTOALLV;
	struct neighbor_walk w =
		neighbor_walk(s, src, sig, n != NULL ? n->out : (struct span){0}, sig->call.send_unit_bytes, listed);
	uint64_t bytes;
	int32_t dst;
	while (neighbor_next(&w, &dst, &bytes))
		if (!listed || bytes > 0)
			flow(context, dst, bytes);
}

void traffic_listed(const struct step *s, uint32_t src, const struct sig *sig,
		    void (*flow)(void *context, int32_t dst, uint64_t bytes), void *context)
{
	if (coll_is_neighborhood(sig->call.coll))
		to_neighbors(s, src, sig, flow, context);
	else
		listed_peers(s, src, sig, flow, context);
}

struct listed {
	struct row *row;
	uint64_t count;
};

static void add_flow(void *context, int32_t dst, uint64_t bytes)
{
	const struct listed *l = context;
	row_add(l->row, dst, l->count, l->count * bytes);
}

static void add_listed(struct row *r, const struct sig *sig, uint64_t count)
{
	struct listed l = {r, count};
	traffic_listed(r->s, r->src, sig, add_flow, &l);
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
			add_listed(r, sig, count);
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
	case COLL_NEIGHBOR:
	case COLL_NEIGHBOR_ALLGATHERV:
	case COLL_NEIGHBOR_ALLTOALLV:
		add_listed(r, sig, count);
		return 0;
	case COLL_SCAN:
	case COLL_EXSCAN:
		add_scan(r, sig, count);
		return 0;
	default:
		return 0;
	}
}

static uint64_t operations_of(const struct sig *sig)
{
	bool moves =
		sig->defined && sig->call.shape == SIG_COLL && sig->comm != NONE && (sig->call.flags & SIG_FAILED) == 0;
	return !moves ? 0 : (sig->call.flags & SIG_PERSISTENT) != 0 ? sig->starts : sig->calls;
}

/* Are the partners on a communicator ranks of the world in a row, as in MPI_COMM_WORLD? */
static bool is_in_a_row(struct row *r, uint32_t comm)
{
	uint32_t n;
	const int32_t *to = partners(&r->s->comms.at[comm], &n);
	if (r->cached_comm == comm + 1)
		return r->in_a_row;
	r->cached_comm = comm + 1;
	r->in_a_row = n > 0 && to[0] >= 0 && (uint32_t)to[0] + n <= r->s->nranks;
	for (uint32_t i = 1; i < n && r->in_a_row; i++)
		r->in_a_row = to[i] == to[0] + (int32_t)i;
	return r->in_a_row;
}

static int add_rank(struct row *r, struct evens *v)
{
	const struct process *p = r->s->ranks[r->src];
	int code = 0;
	v->list.n = 0;
	for (size_t i = 0; p != NULL && i < p->sigs.n && code == 0; i++) {
		uint64_t n = operations_of(&p->sigs.at[i]);
		if (n > 0)
			code = add_coll(r, v, &p->sigs.at[i], n);
	}
	if (code == 0 && v->list.n == 1 && !r->any && v->list.at[0].count > 0 && is_in_a_row(r, v->list.at[0].comm)) {
		uint32_t n;
		const int32_t *to = partners(&r->s->comms.at[v->list.at[0].comm], &n);
		return row_flush_even(r, (uint32_t)to[0], n, v->list.at[0].count, v->list.at[0].bytes);
	}
	for (size_t i = 0; i < v->list.n && code == 0; i++)
		spread(r, &v->list.at[i]);
	return code;
}

int traffic_collective(const struct step *s, struct traffic *ret_traffic)
{
	struct row r;
	struct evens v = {0};
	int code = row_init(&r, s, ret_traffic);
	r.in_runs = true;
	for (r.src = 0; r.src < s->nranks && code == 0; r.src++) {
		code = add_rank(&r, &v);
		if (code == 0)
			code = row_flush(&r);
	}
	vec_done(&v.list);
	row_done(&r);
	return code;
}
