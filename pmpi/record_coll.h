/* record_coll.h - collectives whose arguments mean something at the root only, or that have a size for each peer. */
#pragma once

#include "pmpi/record.h"

void record_gather(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
		   MPI_Comm comm, int root, const void *sendbuf, uint64_t sendcount, MPI_Datatype sendtype,
		   uint64_t recvcount, MPI_Datatype recvtype) HIDDEN;
void record_scatter(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
		    MPI_Comm comm, int root, const void *recvbuf, uint64_t sendcount, MPI_Datatype sendtype,
		    uint64_t recvcount, MPI_Datatype recvtype) HIDDEN;
/* Allgather, Alltoall: by kind. */
void record_alltoall(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
		     MPI_Comm comm, const void *sendbuf, uint64_t sendcount, MPI_Datatype sendtype, uint64_t recvcount,
		     MPI_Datatype recvtype) HIDDEN;

/* ---- sizes per peer ---- */

/* Counts of either width, of one type or one each. */
struct sizes {
	const void *counts;
	bool wide; /* MPI_Count instead of int */
	MPI_Datatype type;
	const MPI_Datatype *types; /* one each, or NULL */
};

#define SIZES(counts_, type_) (&(struct sizes){(counts_), sizeof(*(counts_)) == 8, (type_), NULL})
#define SIZES_W(counts_, types_) (&(struct sizes){(counts_), sizeof(*(counts_)) == 8, MPI_DATATYPE_NULL, (types_)})

/* Am I the root, as arguments are significant only there? For inter-communicators the root says MPI_ROOT. */
INLINE bool is_root(struct comm_view c, int root)
{
	return c.remote_size > 0 ? root == MPI_ROOT : root == c.rank;
}

/* Does this side of the communicator have a part of its own in a gather or scatter? */
INLINE bool takes_part(struct comm_view c, int root)
{
	return c.remote_size == 0 || root >= 0;
}

/* Bytes of my part where one's own lies in the receive buffer (MPI_IN_PLACE). */
uint64_t own_part(MPI_Comm comm, const struct sizes *sizes) HIDDEN;

/* kind decides what the list means (sig.h); sizes is NULL where it is not significant. */
void record_list(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
		 MPI_Comm comm, int root, uint64_t send_unit, uint64_t recv_unit, const struct sizes *sizes) HIDDEN;

#define record_reduce_scatter(s, op, flags, request, comm, recvcounts, type) \
	record_list(s, op, flags, request, COLL_REDUCE_SCATTER, comm, SIG_NO_ROOT, 0, 0, SIZES(recvcounts, type))
#define record_gatherv(s, op, flags, request, comm, root, sendbuf, sendcount, sendtype, recvcounts, recvtype) \
	record_list(s, op, flags, request, COLL_GATHERV, comm, root, \
		    (sendbuf) != MPI_IN_PLACE && takes_part(comm_find(comm), root) \
			    ? bytes_of((uint64_t)(sendcount), sendtype) \
			    : 0, \
		    0, is_root(comm_find(comm), root) ? SIZES(recvcounts, recvtype) : NULL)
#define record_scatterv(s, op, flags, request, comm, root, recvbuf, sendcounts, sendtype, recvcount, recvtype) \
	record_list(s, op, flags, request, COLL_SCATTERV, comm, root, 0, \
		    (recvbuf) != MPI_IN_PLACE && takes_part(comm_find(comm), root) \
			    ? bytes_of((uint64_t)(recvcount), recvtype) \
			    : 0, \
		    is_root(comm_find(comm), root) ? SIZES(sendcounts, sendtype) : NULL)
#define record_allgatherv(s, op, flags, request, comm, sendbuf, sendcount, sendtype, recvcounts, recvtype) \
	record_list(s, op, flags, request, COLL_ALLGATHERV, comm, SIG_NO_ROOT, \
		    (sendbuf) == MPI_IN_PLACE ? own_part(comm, SIZES(recvcounts, recvtype)) \
					      : bytes_of((uint64_t)(sendcount), sendtype), \
		    0, SIZES(recvcounts, recvtype))
#define record_alltoallv(s, op, flags, request, comm, sendbuf, sendcounts, sendtype, recvcounts, recvtype) \
	record_list(s, op, flags, request, COLL_ALLTOALLV, comm, SIG_NO_ROOT, 0, 0, \
		    (sendbuf) == MPI_IN_PLACE ? SIZES(recvcounts, recvtype) : SIZES(sendcounts, sendtype))
#define record_alltoallw(s, op, flags, request, comm, sendbuf, sendcounts, sendtypes, recvcounts, recvtypes) \
	record_list(s, op, flags, request, COLL_ALLTOALLV, comm, SIG_NO_ROOT, 0, 0, \
		    (sendbuf) == MPI_IN_PLACE ? SIZES_W(recvcounts, recvtypes) : SIZES_W(sendcounts, sendtypes))

#define record_neighbor(s, op, flags, request, comm, to_each, from_each) \
	record_coll(s, op, flags, request, (comm_neighbors(comm), COLL_NEIGHBOR), comm, SIG_NO_ROOT, to_each, from_each)
#define record_neighbor_allgatherv(s, op, flags, request, comm, sendcount, sendtype, recvcounts, recvtype) \
	record_list(s, op, flags, request, COLL_NEIGHBOR_ALLGATHERV, comm, SIG_NO_ROOT, \
		    bytes_of((uint64_t)(sendcount), sendtype), 0, SIZES(recvcounts, recvtype))
#define record_neighbor_alltoallv(s, op, flags, request, comm, sendcounts, sendtype) \
	record_list(s, op, flags, request, COLL_NEIGHBOR_ALLTOALLV, comm, SIG_NO_ROOT, 0, 0, \
		    SIZES(sendcounts, sendtype))
#define record_neighbor_alltoallw(s, op, flags, request, comm, sendcounts, sendtypes) \
	record_list(s, op, flags, request, COLL_NEIGHBOR_ALLTOALLV, comm, SIG_NO_ROOT, 0, 0, \
		    SIZES_W(sendcounts, sendtypes))
