/* record_partitioned.h - partitioned communication. Part of record.h. */
#pragma once

#include "pmpi/record.h"

/* shape: SIG_SEND or SIG_RECV. */
INLINE void record_partitioned(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request,
			       enum sig_shape shape, MPI_Comm comm, int peer, int tag, MPI_Datatype type,
			       uint64_t count, int partitions)
{
	uint64_t w[5 + FRAMES_MAX];
	w[0] = sig_head((uint16_t)op, shape, flags | wildcards(peer, tag) | s->failed, 0, 0, 1);
	w[1] = s->address;
	w[2] = sig_pair(comm_find(comm)->id, peer_of(peer));
	w[3] = sig_pair((uint32_t)tag, type_find(type).id);
	w[4] = count * (uint64_t)partitions;
	request_begin(s, flags, 0, request);
	span_end(s, w, 5);
}

/* Pready, Parrived: flag is NULL, or says whether the partition is there. */
void record_partition(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Request handle,
		      int first, int count, const int *flag) HIDDEN;
