/* kinds.c - see kinds.h. */
#include "reports/export/kinds.h"

#include <string.h>

static const struct row {
	const char *name;
	enum op_does does;
	enum op_flow flow;
} table[] = {
	{"Barrier", OP_BARRIER, FLOW_NONE},
	{"Bcast", OP_BCAST, FLOW_FROM_ROOT},
	{"Gather", OP_GATHER, FLOW_TO_ROOT},
	{"Gatherv", OP_GATHERV, FLOW_TO_ROOT},
	{"Scatter", OP_SCATTER, FLOW_FROM_ROOT},
	{"Scatterv", OP_SCATTERV, FLOW_FROM_ROOT},
	{"Allgather", OP_ALLGATHER, FLOW_ALL},
	{"Allgatherv", OP_ALLGATHERV, FLOW_ALL},
	{"Alltoall", OP_ALLTOALL, FLOW_ALL},
	{"Alltoallv", OP_ALLTOALLV, FLOW_ALL},
	{"Alltoallw", OP_ALLTOALLW, FLOW_ALL},
	{"Allreduce", OP_ALLREDUCE, FLOW_ALL},
	{"Reduce", OP_REDUCE, FLOW_TO_ROOT},
	{"Reduce_scatter", OP_REDUCE_SCATTER, FLOW_ALL},
	{"Reduce_scatter_block", OP_REDUCE_SCATTER_BLOCK, FLOW_ALL},
	{"Scan", OP_SCAN, FLOW_SCAN},
	{"Exscan", OP_EXSCAN, FLOW_SCAN},
	{"Put", OP_PUT, FLOW_NONE},
	{"Rput", OP_PUT, FLOW_NONE},
	{"Get", OP_GET, FLOW_NONE},
	{"Rget", OP_GET, FLOW_NONE},
	{"Accumulate", OP_ACCUMULATE, FLOW_NONE},
	{"Raccumulate", OP_ACCUMULATE, FLOW_NONE},
	{"Get_accumulate", OP_FETCH, FLOW_NONE},
	{"Rget_accumulate", OP_FETCH, FLOW_NONE},
	{"Fetch_and_op", OP_FETCH, FLOW_NONE},
	{"Compare_and_swap", OP_FETCH, FLOW_NONE},
	{"Win_create", OP_WIN_CREATE, FLOW_NONE},
	{"Win_create_dynamic", OP_WIN_CREATE, FLOW_NONE},
	{"Win_allocate", OP_WIN_ALLOCATE, FLOW_NONE},
	{"Win_allocate_shared", OP_WIN_ALLOCATE, FLOW_NONE},
	{"Win_free", OP_WIN_FREE, FLOW_NONE},
	{"Win_fence", OP_FENCE, FLOW_NONE},
	{"Win_post", OP_POST, FLOW_NONE},
	{"Win_start", OP_START, FLOW_NONE},
	{"Win_complete", OP_COMPLETE, FLOW_NONE},
	{"Win_wait", OP_WAIT_WINDOW, FLOW_NONE},
	{"Win_test", OP_WAIT_WINDOW, FLOW_NONE},
	{"Win_lock", OP_LOCK, FLOW_NONE},
	{"Win_lock_all", OP_LOCK_ALL, FLOW_NONE},
	{"Win_unlock", OP_UNLOCK, FLOW_NONE},
	{"Win_unlock_all", OP_UNLOCK_ALL, FLOW_NONE},
	{"Win_flush", OP_FLUSH, FLOW_NONE},
	{"Win_flush_all", OP_FLUSH, FLOW_NONE},
	{"Win_flush_local", OP_FLUSH_LOCAL, FLOW_NONE},
	{"Win_flush_local_all", OP_FLUSH_LOCAL, FLOW_NONE},
	{"Win_sync", OP_WIN_SYNC, FLOW_NONE},
	{"File_open", OP_FILE_OPEN, FLOW_NONE},
	{"File_close", OP_FILE_CLOSE, FLOW_NONE},
	{"File_sync", OP_FILE_FLUSH, FLOW_NONE},
};

static bool equal(const char *name, size_t len_bytes, const char *row)
{
	return strlen(row) == len_bytes && strncmp(name, row, len_bytes) == 0;
}

/* first: added to the first letter of rows: Ibcast is a Bcast. */
static const struct row *find(const char *name, size_t len_bytes, char first)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (len_bytes > 0 && name[0] == table[i].name[0] + first &&
		    equal(name + 1, len_bytes - 1, table[i].name + 1))
			return &table[i];
	return NULL;
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* File_read_at_all_begin and the like: what moves data, and the _end of a split one. */
static struct op_kind file_kind(const char *name, size_t len_bytes)
{
	struct op_kind kind = {.blocking = true};
	bool reads = begins(name, "File_read") || begins(name, "File_iread");
	bool writes = begins(name, "File_write") || begins(name, "File_iwrite");
	if (!reads && !writes)
		return kind;
	if (len_bytes > 4 && strncmp(name + len_bytes - 4, "_end", 4) == 0) {
		kind.does = OP_FILE_END;
		return kind;
	}
	kind.does = reads ? OP_FILE_READ : OP_FILE_WRITE;
	kind.split = len_bytes > 6 && strncmp(name + len_bytes - 6, "_begin", 6) == 0;
	kind.blocking = name[5] != 'i' && !kind.split;
	kind.collective = strstr(name, "_all") != NULL || strstr(name, "_ordered") != NULL;
	return kind;
}

struct op_kind op_kind_of(const char *name)
{
	struct op_kind kind = {.blocking = true};
	if (!begins(name, "MPI_"))
		return kind;
	name += 4;
	size_t n = strlen(name);
	if (n > 2 && strcmp(name + n - 2, "_c") == 0)
		n -= 2;
	if (begins(name, "File_i") || begins(name, "File_r") || begins(name, "File_w"))
		return file_kind(name, n);
	const struct row *row = find(name, n, 0);
	if (row == NULL && name[0] == 'I' && (row = find(name + 1, n - 1, 'a' - 'A')) != NULL)
		kind.blocking = false;
	if (row == NULL || (!kind.blocking && row->does > OP_EXSCAN))
		return kind;
	kind.does = row->does;
	kind.flow = row->flow;
	kind.collective = kind.does <= OP_EXSCAN;
	return kind;
}

uint64_t op_bytes_sent(struct op_kind kind, uint64_t bytes, uint32_t rank, uint32_t root, uint32_t size)
{
	switch (kind.flow) {
	case FLOW_FROM_ROOT:
		return rank == root ? bytes : 0;
	case FLOW_TO_ROOT:
		return rank == root ? 0 : bytes;
	case FLOW_SCAN: /* from all ranks before, to all behind */
		return size < 2 || rank >= size ? 0 : bytes / (size - 1) * (size - 1 - rank);
	case FLOW_ALL:
		return bytes / 2;
	default:
		return 0;
	}
}
