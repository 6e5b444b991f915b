/* stub_mpi.c - as much of an MPI as the tracer, threads.c and tests/unit/pmpi_*.c ask for, with MPICH's mpi.h and no
 * communication: what a call gives back stands in `stub`.
 * Handles are given out from small pools and given out again soon, also to other threads: that is what the
 * tracer's tables have to bear. */
#include "stub_mpi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define POOL 256
#define REQUESTS 0x2c000100
#define COMMS 0x44000100
#define TYPES 0x4c000100
#define WINDOWS 0x20000100
#define GROUPS 0x48000100
#define PARENT 0x44000080 /* below those that are given out */
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

struct stub stub = {.size = 1, .source = 0, .tag = 1, .bytes = 4};

/* What the call returns; an error once. */
static int result(void)
{
	int rc = stub.error;
	if (rc != MPI_SUCCESS)
		stub.error = MPI_SUCCESS;
	return rc;
}

static void put_status(MPI_Status *status)
{
	if (status != MPI_STATUS_IGNORE)
		*status = (MPI_Status){.MPI_SOURCE = stub.source, .MPI_TAG = stub.tag, .count_lo = stub.bytes};
}

static void complete(MPI_Request *request, MPI_Status *status)
{
	put_status(status);
	if (*request != stub.persistent || stub.persistent == 0)
		give(REQUEST, request, MPI_REQUEST_NULL);
}

/* Members of groups, in the order of the group; each handle of a group is asked about once and freed. */
static struct stub_members members_of[2 * POOL];

static struct stub_members *members_at(int handle)
{
	return handle >= COMMS && handle < COMMS + POOL	    ? &members_of[handle - COMMS]
	       : handle >= GROUPS && handle < GROUPS + POOL ? &members_of[POOL + handle - GROUPS]
							    : NULL;
}

static void set_members(int handle, struct stub_members members)
{
	struct stub_members *at = members_at(handle);
	if (at != NULL && stub.size > 1)
		*at = members;
}

static struct stub_members get_members(int handle)
{
	const struct stub_members *at = members_at(handle);
	if (at != NULL && stub.size > 1)
		return *at;
	struct stub_members m = {handle == MPI_COMM_SELF ? 1 : stub.size, {stub.rank}};
	for (int i = 0; handle != MPI_COMM_SELF && i < m.n; i++)
		m.ranks[i] = i;
	return m;
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
	*size = get_members(comm).n;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
	struct stub_members m = get_members(comm);
	*rank = 0;
	for (int i = 0; i < m.n; i++)
		if (m.ranks[i] == stub.rank)
			*rank = i;
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
	static _Thread_local int taken_groups;
	*group = stub.size > 1 ? GROUPS + taken_groups++ % POOL : MPI_GROUP_EMPTY;
	set_members(*group, get_members(comm));
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_get_parent(MPI_Comm *parent)
{
	*parent = stub.parents > 0 ? PARENT : MPI_COMM_NULL;
	return MPI_SUCCESS;
}

/* Of inter-communicators, those on the other side. */
static struct stub_members remote_of[POOL];

static bool is_inter(int handle)
{
	return handle >= COMMS && handle < COMMS + POOL && remote_of[handle - COMMS].n > 0;
}

EXPORT int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
	*flag = is_inter(comm);
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_remote_size(MPI_Comm comm, int *size)
{
	*size = comm == PARENT ? stub.parents : is_inter(comm) ? remote_of[comm - COMMS].n : 0;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
	PMPI_Comm_group(comm, group);
	if (is_inter(comm))
		set_members(*group, remote_of[comm - COMMS]);
	return MPI_SUCCESS;
}

EXPORT int PMPI_Group_free(MPI_Group *group)
{
	*group = MPI_GROUP_NULL;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Group_size(MPI_Group group, int *size)
{
	*size = get_members(group).n;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Group_translate_ranks(MPI_Group a, int n, const int ranks[], MPI_Group b, int to[])
{
	struct stub_members m = get_members(a);
	(void)b;
	for (int i = 0; i < n; i++)
		to[i] = m.ranks[ranks[i]];
	return MPI_SUCCESS;
}

/* The last type that a thread has made, as long as it is there; all others are predefined. */
static __thread struct {
	bool is_there;
	MPI_Datatype type;
	int count;
} made;

EXPORT int PMPI_Type_size_x(MPI_Datatype type, MPI_Count *size)
{
	*size = made.is_there && type == made.type ? 4 * made.count : 4;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Type_get_envelope_c(MPI_Datatype type, MPI_Count *ints, MPI_Count *addresses, MPI_Count *counts,
				    MPI_Count *types, int *combiner)
{
	*ints = *addresses = *counts = *types = 0;
	*combiner = made.is_there && type == made.type ? MPI_COMBINER_CONTIGUOUS : MPI_COMBINER_NAMED;
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
	for (int i = 0; i < n && (stub.error == MPI_SUCCESS || i < stub.ndone); i++)
		complete(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
	return result();
}

/* Those of stub.done are complete. */
static int complete_some(MPI_Request requests[], int *n, int indices[], MPI_Status *statuses)
{
	*n = stub.ndone;
	for (int i = 0; i < stub.ndone; i++) {
		indices[i] = stub.done[i];
		complete(&requests[indices[i]], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
	}
	return result();
}

EXPORT int PMPI_Waitsome(int n, MPI_Request requests[], int *ndone, int indices[], MPI_Status *statuses)
{
	(void)n;
	return complete_some(requests, ndone, indices, statuses);
}

EXPORT int PMPI_Testsome(int n, MPI_Request requests[], int *ndone, int indices[], MPI_Status *statuses)
{
	(void)n;
	return complete_some(requests, ndone, indices, statuses);
}

EXPORT int PMPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
	int ndone;
	(void)n;
	*index = MPI_UNDEFINED;
	return complete_some(requests, &ndone, index, status);
}

EXPORT int PMPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	(void)n;
	*index = MPI_UNDEFINED;
	return complete_some(requests, flag, index, status);
}

EXPORT int PMPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status *statuses)
{
	*flag = stub.ndone > 0;
	return *flag ? PMPI_Waitall(n, requests, statuses) : result();
}

EXPORT int PMPI_Send_init(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
			  MPI_Request *request)
{
	(void)buf, (void)count, (void)type, (void)dest, (void)tag, (void)comm;
	*request = stub.persistent = take(REQUEST);
	return MPI_SUCCESS;
}

EXPORT int PMPI_Start(MPI_Request *request)
{
	(void)request;
	return result();
}

EXPORT int PMPI_Startall(int n, MPI_Request requests[])
{
	(void)n, (void)requests;
	return result();
}

EXPORT int PMPI_Cancel(MPI_Request *request)
{
	(void)request;
	return result();
}

EXPORT int PMPI_Request_free(MPI_Request *request)
{
	return give(REQUEST, request, MPI_REQUEST_NULL);
}

EXPORT int PMPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
	(void)buf, (void)count, (void)type, (void)dest, (void)tag, (void)comm;
	return result();
}

EXPORT int PMPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	(void)buf, (void)count, (void)type, (void)source, (void)tag, (void)comm;
	put_status(status);
	return result();
}

EXPORT int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
	static int messages;
	(void)source, (void)tag, (void)comm;
	*message = ++messages;
	put_status(status);
	return result();
}

EXPORT int PMPI_Mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
	(void)buf, (void)count, (void)type;
	*message = MPI_MESSAGE_NULL;
	put_status(status);
	return result();
}

EXPORT int PMPI_Error_class(int error, int *class)
{
	*class = error;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Barrier(MPI_Comm comm)
{
	(void)comm;
	return result();
}

EXPORT int PMPI_Gather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype out_type, int root,
		       MPI_Comm comm)
{
	(void)in, (void)n, (void)type, (void)out, (void)m, (void)out_type, (void)root, (void)comm;
	return result();
}

EXPORT int PMPI_Alltoall(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype out_type,
			 MPI_Comm comm)
{
	(void)in, (void)n, (void)type, (void)out, (void)m, (void)out_type, (void)comm;
	return result();
}

EXPORT int PMPI_Gatherv(const void *in, int n, MPI_Datatype type, void *out, const int counts[], const int at[],
			MPI_Datatype out_type, int root, MPI_Comm comm)
{
	(void)in, (void)n, (void)type, (void)out, (void)counts, (void)at, (void)out_type, (void)root, (void)comm;
	return result();
}

EXPORT int PMPI_Allgatherv(const void *in, int n, MPI_Datatype type, void *out, const int counts[], const int at[],
			   MPI_Datatype out_type, MPI_Comm comm)
{
	(void)in, (void)n, (void)type, (void)out, (void)counts, (void)at, (void)out_type, (void)comm;
	return result();
}

EXPORT int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *ret_comm)
{
	(void)comm, (void)color, (void)key;
	*ret_comm = stub.next.n > 0 ? take(COMM) : MPI_COMM_NULL;
	if (*ret_comm != MPI_COMM_NULL) {
		set_members(*ret_comm, stub.next);
		remote_of[*ret_comm - COMMS] = stub.next_remote;
	}
	return result();
}

EXPORT int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *ret_comm)
{
	(void)group, (void)tag;
	return PMPI_Comm_split(comm, 0, 0, ret_comm);
}

EXPORT int PMPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag,
				 MPI_Comm *ret_comm)
{
	(void)leader, (void)peer, (void)remote_leader, (void)tag;
	return PMPI_Comm_split(local, 0, 0, ret_comm);
}

EXPORT int PMPI_Pcontrol(const int level, ...)
{
	(void)level;
	return result();
}

EXPORT int PMPI_Win_post(MPI_Group group, int assertion, MPI_Win win)
{
	(void)group, (void)assertion, (void)win;
	return result();
}

/* Every third one finds all there. */
EXPORT int PMPI_Win_test(MPI_Win win, int *flag)
{
	static _Thread_local unsigned asked;
	(void)win;
	*flag = asked++ % 3 == 2;
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
	if (stub.reduction != NULL)
		stub.reduction();
	return MPI_SUCCESS;
}

EXPORT int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *ret_comm)
{
	*ret_comm = take(COMM);
	set_members(*ret_comm, get_members(comm));
	remote_of[*ret_comm - COMMS] = is_inter(comm) ? remote_of[comm - COMMS] : (struct stub_members){0};
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
	(void)old;
	*ret_type = made.type = take(TYPE);
	made.count = n;
	made.is_there = true;
	return MPI_SUCCESS;
}

EXPORT int PMPI_Type_free(MPI_Datatype *type)
{
	made.is_there &= *type != made.type;
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
