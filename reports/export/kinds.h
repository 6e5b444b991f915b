/* kinds.h - what other formats want to know of an MPI function beside its name. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum op_does {
	OP_OTHER,
	OP_BARRIER,
	OP_BCAST,
	OP_GATHER,
	OP_GATHERV,
	OP_SCATTER,
	OP_SCATTERV,
	OP_ALLGATHER,
	OP_ALLGATHERV,
	OP_ALLTOALL,
	OP_ALLTOALLV,
	OP_ALLTOALLW,
	OP_ALLREDUCE,
	OP_REDUCE,
	OP_REDUCE_SCATTER,
	OP_REDUCE_SCATTER_BLOCK,
	OP_SCAN,
	OP_EXSCAN,
	OP_WIN_CREATE,
	OP_WIN_ALLOCATE,
	OP_WIN_FREE,
	OP_PUT,
	OP_GET,
	OP_ACCUMULATE,
	OP_FETCH,
	OP_FENCE,
	OP_POST,
	OP_START,
	OP_COMPLETE,
	OP_WAIT_WINDOW,
	OP_LOCK,
	OP_LOCK_ALL,
	OP_UNLOCK,
	OP_UNLOCK_ALL,
	OP_FLUSH,
	OP_FLUSH_LOCAL,
	OP_WIN_SYNC,
	OP_FILE_OPEN,
	OP_FILE_CLOSE,
	OP_FILE_READ,
	OP_FILE_WRITE,
	OP_FILE_END, /* of a split one */
	OP_FILE_FLUSH,
};

/* How bytes of a collective go. */
enum op_flow {
	FLOW_NONE,
	FLOW_FROM_ROOT,
	FLOW_TO_ROOT,
	FLOW_ALL,
	FLOW_SCAN,
};

struct op_kind {
	enum op_does does;
	enum op_flow flow;
	bool blocking, collective;
	bool split; /* MPI_File_..._begin: another call ends it, without a request */
};

/* Of a function by its name in the standard, with or without _c. */
struct op_kind op_kind_of(const char *name);
/* Of a collective's bytes, those that the rank sent: the meaning of the operation tells. rank, root: of the
 * communicator, UINT32_MAX: not known; size: its members. */
uint64_t op_bytes_sent(struct op_kind kind, uint64_t bytes, uint32_t rank, uint32_t root, uint32_t size);
