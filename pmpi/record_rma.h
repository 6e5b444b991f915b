/* record_rma.h - one-sided calls: data, synchronisation, windows. */
#pragma once

#include "pmpi/record.h"

void record_rma(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_rma kind, MPI_Win win,
		int target, uint64_t to_target, uint64_t from_target) HIDDEN;

/* With MPI_NO_OP nothing goes to the target, and its datatype need not be one. */
#define record_rma_fetch(s, op, flags, request, win, target, count, type, result_count, result_type, mpi_op) \
	record_rma(s, op, flags, request, RMA_FETCH, win, target, \
		   (mpi_op) == MPI_NO_OP ? 0 : bytes_of((uint64_t)(count), type), \
		   bytes_of((uint64_t)(result_count), result_type))

/* target: MPI_ANY_SOURCE stands for all members. */
#define record_epoch(s, op, flags, request, kind, win, target, assertion, lock_type) \
	record_rma(s, op, flags, request, kind, win, target, \
		   sig_pair((uint32_t)(assertion), (lock_type) == MPI_LOCK_SHARED      ? 1 \
						   : (lock_type) == MPI_LOCK_EXCLUSIVE ? 2 \
										       : 0), \
		   0)
#define NO_LOCK (-1)

/* For the agent, should the call never return. */
void span_waits_window(const struct call_span *s, uint32_t op, enum sig_rma kind, MPI_Win win, int target,
		       int assertion, int lock_type) HIDDEN;
/* The same of Start: a group of more than OPEN_GROUP_MAX runs is not told. */
void span_waits_start(const struct call_span *s, uint32_t op, MPI_Win win, MPI_Group group, int assertion) HIDDEN;
/* Post and Start: who is in the group. */
void record_epoch_group(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_rma kind,
			MPI_Win win, MPI_Group group, int assertion) HIDDEN;
/* Win_test: a run of unsuccessful ones is one event. */
void record_win_test(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Win win,
		     const int *flag) HIDDEN;
/* A window was made on comm; bytes of it are this rank's. */
void record_win_created(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm,
			int64_t bytes, const MPI_Win *win) HIDDEN;
