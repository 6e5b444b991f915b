/* stub_mpi.c - as much of an MPI as the tracer and threads.c ask for, with MPICH's mpi.h and no communication.
 * Handles are given out from small pools and given out again soon, also to other threads: that is what the
 * tracer's tables have to bear. */
#include <mpi.h>
#include <stdatomic.h>
#include <string.h>

#define POOL 256
#define REQUESTS 0x2c000100
#define COMMS 0x44000100
#define TYPES 0x4c000100
#define WINDOWS 0x20000100
#define EXPORT __attribute__((visibility("default")))

enum pool { REQUEST, COMM, TYPE, WINDOW, POOLS };
static atomic_int taken[POOLS][POOL];
static const int base[POOLS] = {REQUESTS, COMMS, TYPES, WINDOWS};

static int take(enum pool pool)
{
	static _Thread_local unsigned start;
	for (;; start++) {
		int nothing = 0;
		if (atomic_compare_exchange_strong(&taken[pool][start % POOL], &nothing, 1))
			return base[pool] + (int)(start++ % POOL);
	}
}

static int give(enum pool pool, int *handle, int null)
{
	if (*handle >= base[pool] && *handle < base[pool] + POOL)
		atomic_store(&taken[pool][*handle - base[pool]], 0);
	*handle = null;
	return MPI_SUCCESS;
}

static void complete(MPI_Request *request, MPI_Status *status)
{
	if (status != MPI_STATUS_IGNORE)
		*status = (MPI_Status){.MPI_SOURCE = 0, .MPI_TAG = 1, .count_lo = 4};
	give(REQUEST, request, MPI_REQUEST_NULL);
}

EXPORT int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	(void)argc, (void)argv;
	*provided = required;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Finalize(void)
{
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_size(MPI_Comm comm, int *size)
{
	(void)comm;
	*size = 1;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
	(void)comm;
	*rank = 0;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Get_library_version(char *version, int *len)
{
	*len = 4;
	memcpy(version, "stub", sizeof("stub"));
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
	(void)comm, (void)key, (void)value;
	*flag = 0;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
	(void)comm;
	*group = MPI_GROUP_EMPTY;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_get_parent(MPI_Comm *parent)
{
	*parent = MPI_COMM_NULL;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
	(void)comm;
	*flag = 0;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Group_free(MPI_Group *group)
{
	*group = MPI_GROUP_NULL;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Group_size(MPI_Group group, int *size)
{
	(void)group;
	*size = 1;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Group_translate_ranks(MPI_Group a, int n, const int ranks[], MPI_Group b, int to[])
{
	(void)a, (void)b;
	memcpy(to, ranks, (size_t)n * sizeof(*to));
	return MPI_SUCCESS;
}

EXPORT int PMPI_Type_size_x(MPI_Datatype type, MPI_Count *size)
{
	(void)type;
	*size = 4;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Type_get_envelope_c(MPI_Datatype type, MPI_Count *ints, MPI_Count *addresses, MPI_Count *counts,
				    MPI_Count *types, int *combiner)
{
	(void)type;
	*ints = *addresses = *counts = *types = 0;
	*combiner = MPI_COMBINER_NAMED;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Type_get_name(MPI_Datatype type, char *name, int *len)
{
	(void)type;
	*len = 1;
	memcpy(name, "t", sizeof("t"));
	return MPI_SUCCESS;
}

EXPORT int PMPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
		      MPI_Request *request)
{
	(void)buf, (void)count, (void)type, (void)dest, (void)tag, (void)comm;
	*request = take(REQUEST);
	return MPI_SUCCESS;
}

EXPORT int PMPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
	(void)buf, (void)count, (void)type, (void)source, (void)tag, (void)comm;
	*request = take(REQUEST);
	return MPI_SUCCESS;
}

EXPORT int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
	complete(request, status);
	return MPI_SUCCESS;
}

EXPORT int PMPI_Waitall(int n, MPI_Request requests[], MPI_Status *statuses)
{
	for (int i = 0; i < n; i++)
		complete(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
	return MPI_SUCCESS;
}

/* Every other one is complete. */
EXPORT int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	static _Thread_local unsigned asked;
	*flag = asked++ % 2 != 0;
	if (*flag)
		complete(request, status);
	return MPI_SUCCESS;
}

EXPORT int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	(void)source, (void)tag, (void)comm, (void)status;
	*flag = 0;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	(void)in, (void)out, (void)n, (void)type, (void)op, (void)comm;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *ret_comm)
{
	(void)comm;
	*ret_comm = take(COMM);
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_set_name(MPI_Comm comm, const char *name)
{
	(void)comm, (void)name;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_free(MPI_Comm *comm)
{
	return give(COMM, comm, MPI_COMM_NULL);
}

EXPORT int PMPI_Type_contiguous(int n, MPI_Datatype old, MPI_Datatype *ret_type)
{
	(void)n, (void)old;
	*ret_type = take(TYPE);
	return MPI_SUCCESS;
}

EXPORT int PMPI_Type_free(MPI_Datatype *type)
{
	return give(TYPE, type, MPI_DATATYPE_NULL);
}

EXPORT int PMPI_Win_create(void *base_address, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	(void)base_address, (void)size, (void)unit, (void)info, (void)comm;
	*win = take(WINDOW);
	return MPI_SUCCESS;
}

EXPORT int PMPI_Put(const void *buf, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count,
		    MPI_Datatype target_type, MPI_Win win)
{
	(void)buf, (void)count, (void)type, (void)target, (void)at, (void)target_count, (void)target_type, (void)win;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Win_free(MPI_Win *win)
{
	return give(WINDOW, win, MPI_WIN_NULL);
}

/* Files are pointers; only their addresses matter. */
static char files[POOL];
static atomic_int files_taken[POOL];

EXPORT int PMPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
{
	(void)comm, (void)name, (void)mode, (void)info;
	for (unsigned i = 0;; i++) {
		int nothing = 0;
		if (atomic_compare_exchange_strong(&files_taken[i % POOL], &nothing, 1)) {
			*file = (MPI_File)(void *)&files[i % POOL];
			return MPI_SUCCESS;
		}
	}
}

EXPORT int PMPI_File_iwrite(MPI_File file, const void *buf, int count, MPI_Datatype type, MPI_Request *request)
{
	(void)file, (void)buf, (void)count, (void)type;
	*request = take(REQUEST);
	return MPI_SUCCESS;
}

EXPORT int PMPI_File_close(MPI_File *file)
{
	atomic_store(&files_taken[(char *)*file - files], 0);
	*file = MPI_FILE_NULL;
	return MPI_SUCCESS;
}
