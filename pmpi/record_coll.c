/* record_coll.c - see record_coll.h. */
#include "pmpi/record_coll.h"

void record_gather(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
		   MPI_Comm comm, int root, const void *sendbuf, uint64_t sendcount, MPI_Datatype sendtype,
		   uint64_t recvcount, MPI_Datatype recvtype)
{
	struct comm_view c = comm_find(comm);
	bool sends = sendbuf != MPI_IN_PLACE && takes_part(c, root);
	record_coll(s, op, flags, request, kind, comm, root, sends ? bytes_of(sendcount, sendtype) : 0,
		    is_root(c, root) ? bytes_of(recvcount, recvtype) : 0);
}

void record_scatter(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
		    MPI_Comm comm, int root, const void *recvbuf, uint64_t sendcount, MPI_Datatype sendtype,
		    uint64_t recvcount, MPI_Datatype recvtype)
{
	struct comm_view c = comm_find(comm);
	bool receives = recvbuf != MPI_IN_PLACE && takes_part(c, root);
	record_coll(s, op, flags, request, kind, comm, root, is_root(c, root) ? bytes_of(sendcount, sendtype) : 0,
		    receives ? bytes_of(recvcount, recvtype) : 0);
}

void record_alltoall(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
		     MPI_Comm comm, const void *sendbuf, uint64_t sendcount, MPI_Datatype sendtype, uint64_t recvcount,
		     MPI_Datatype recvtype)
{
	uint64_t in = bytes_of(recvcount, recvtype);
	record_coll(s, op, flags, request, kind, comm, SIG_NO_ROOT,
		    sendbuf == MPI_IN_PLACE ? in : bytes_of(sendcount, sendtype), in);
}

static uint64_t size_at(const struct sizes *sizes, uint32_t i)
{
	MPI_Datatype type = sizes->types != NULL ? sizes->types[i] : sizes->type;
	uint64_t count = sizes->wide ? (uint64_t)((const int64_t *)sizes->counts)[i]
				     : (uint64_t)(int64_t)((const int *)sizes->counts)[i];
	return count == 0 ? 0 : bytes_of(count, type);
}

uint64_t own_part(MPI_Comm comm, const struct sizes *sizes)
{
	int32_t rank = comm_find(comm).rank;
	return rank >= 0 ? size_at(sizes, (uint32_t)rank) : 0;
}

#define LIST_REPEAT_MAX 0xffffu
#define LIST_WORDS_MAX 0xffffu

static uint32_t put_sizes(uint64_t *w, const struct sizes *sizes, uint32_t n)
{
	uint32_t used = 0;
	for (uint32_t i = 0; i < n && used < LIST_WORDS_MAX;) {
		uint64_t bytes = size_at(sizes, i) & ((1ull << 48) - 1);
		uint32_t repeat = 1;
		while (i + repeat < n && repeat < LIST_REPEAT_MAX && size_at(sizes, i + repeat) == bytes)
			repeat++;
		w[used++] = bytes | (uint64_t)repeat << 48;
		i += repeat;
	}
	return used;
}

void record_list(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
		 MPI_Comm comm, int root, uint64_t send_unit, uint64_t recv_unit, const struct sizes *sizes)
{
	struct comm_view c = comm_find(comm);
	uint32_t peers = kind == COLL_NEIGHBOR_ALLGATHERV  ? comm_neighbors(comm).in
			 : kind == COLL_NEIGHBOR_ALLTOALLV ? comm_neighbors(comm).out
			 : kind == COLL_REDUCE_SCATTER ? c.size /* of an inter-communicator, too (MPI 4.0, 6.10.2) */
			 : c.remote_size > 0	       ? c.remote_size
						       : c.size;
	uint64_t small[5 + 16 + FRAMES_MAX], *w = small;
	uint32_t list = 0;

	if (sizes != NULL && peers > 16)
		w = stream_scratch(s->stream, SCRATCH_WORDS, 5 + peers + FRAMES_MAX);
	if (w == NULL) {
		record_time(s, op);
		return;
	}
	if (sizes != NULL)
		list = put_sizes(w + 5, sizes, peers);
	w[0] = sig_head((uint16_t)op, SIG_COLL, flags | s->failed, list, 0, kind);
	w[1] = s->address;
	w[2] = sig_pair(c.id, kind == COLL_GATHERV || kind == COLL_SCATTERV ? root_of(root) : (uint32_t)SIG_NO_ROOT);
	w[3] = send_unit;
	w[4] = recv_unit;
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, 0, request);
	span_end(s, w, 5 + list);
}
