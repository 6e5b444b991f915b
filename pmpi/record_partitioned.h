/* record_partitioned.h - partitioned communication. */
#pragma once

#include "pmpi/record.h"

/* shape: SIG_SEND or SIG_RECV. */
void record_partitioned(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_shape shape,
			MPI_Comm comm, int peer, int tag, MPI_Datatype type, uint64_t count, int partitions) HIDDEN;

/* Pready, Parrived: flag is NULL, or says whether the partition is there. */
void record_partition(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Request handle,
		      int first, int count, const int *flag) HIDDEN;
