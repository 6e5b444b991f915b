/* counts_mpi4.c DIRECTORY - what MPI 4.0 added: calls with large counts (_c), partitioned communication,
 * Isendrecv, persistent collectives. 4 ranks or more, an even number. */
#include "truth.h"

#define PARTITIONS 4

static int rank, size, peer, next, previous;
static int a[4096], b[4096];
static MPI_Count one = 1;

static void messages(void)
{
	static char space[1 << 16];
	MPI_Request r[3];
	MPI_Message m;
	void *back;
	MPI_Count len;
	CALL(MPI_Irecv_c, b, 64, MPI_INT, peer, 1, MPI_COMM_WORLD, &r[0]);
	CALL(MPI_Send_c, a, 3, MPI_INT, peer, 1, MPI_COMM_WORLD), sent(peer, 12);
	CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
	CALL(MPI_Isend_c, a, 5, MPI_INT, peer, 2, MPI_COMM_WORLD, &r[0]), sent(peer, 20);
	CALL(MPI_Recv_c, b, 5, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
	CALL(MPI_Sendrecv_c, a, 2, MPI_INT, next, 3, b, 2, MPI_INT, previous, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
		sent(next, 8);
	CALL(MPI_Sendrecv_replace_c, a, 1, MPI_INT, next, 3, previous, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
		sent(next, 4);
	CALL(MPI_Buffer_attach_c, space, sizeof(space));
	CALL(MPI_Bsend_c, a, 7, MPI_INT, peer, 4, MPI_COMM_WORLD), sent(peer, 28);
	CALL(MPI_Mprobe, peer, 4, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
	CALL(MPI_Mrecv_c, b, 7, MPI_INT, &m, MPI_STATUS_IGNORE);
	CALL(MPI_Buffer_detach_c, &back, &len);
	CALL(MPI_Send_init_c, a, 2, MPI_INT, peer, 5, MPI_COMM_WORLD, &r[0]);
	CALL(MPI_Recv_init_c, b, 2, MPI_INT, peer, 5, MPI_COMM_WORLD, &r[1]);
	for (int i = 0; i < 3; i++) {
		CALL(MPI_Startall, 2, r), sent(peer, 8);
		CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
	}
	CALL(MPI_Request_free, &r[0]);
	CALL(MPI_Request_free, &r[1]);
	CALL(MPI_Isendrecv, a, 3, MPI_INT, next, 6, b, 3, MPI_INT, previous, 6, MPI_COMM_WORLD, &r[0]), sent(next, 12);
	CALL(MPI_Isendrecv_replace, a + 64, 2, MPI_INT, next, 7, previous, 7, MPI_COMM_WORLD, &r[1]), sent(next, 8);
	CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
}

static void partitioned(void)
{
	MPI_Request r[2];
	int list[2] = {3, 2}, flag;
	CALL(MPI_Psend_init, a, PARTITIONS, 2, MPI_INT, next, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
	CALL(MPI_Precv_init, b, PARTITIONS, 2, MPI_INT, previous, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
	for (int i = 0; i < 3; i++) {
		CALL(MPI_Startall, 2, r), sent(next, PARTITIONS * 8);
		CALL(MPI_Pready, 0, r[0]);
		CALL(MPI_Pready_range, 1, 1, r[0]);
		CALL(MPI_Pready_list, 2, list, r[0]);
		for (flag = 0; !flag;)
			CALL(MPI_Parrived, r[1], 2, &flag);
		CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
	}
	CALL(MPI_Request_free, &r[0]);
	CALL(MPI_Request_free, &r[1]);
}

static void all(long bytes)
{
	for (int i = 0; i < size; i++)
		if (i != rank)
			passed(i, bytes);
}

static void collectives(void)
{
	MPI_Count counts[TRUTH_RANKS];
	MPI_Aint displs[TRUTH_RANKS];
	MPI_Datatype types[TRUTH_RANKS];
	MPI_Request r[2];
	for (int i = 0; i < size; i++) {
		counts[i] = 2;
		displs[i] = i * 16;
		types[i] = MPI_INT;
	}
	CALL(MPI_Bcast_c, a, 3, MPI_INT, 0, MPI_COMM_WORLD);
	if (rank == 0)
		all(12);
	CALL(MPI_Allgatherv_c, a, 2, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD), all(8);
	CALL(MPI_Alltoallw_c, a, counts, displs, types, b, counts, displs, types, MPI_COMM_WORLD), all(8);
	CALL(MPI_Reduce_scatter_c, a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD), all(8);
	CALL(MPI_Iallreduce_c, a, b, one, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]), all(4);
	CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
	CALL(MPI_Allreduce_init, a, b, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
	CALL(MPI_Barrier_init, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
	for (int i = 0; i < 3; i++) {
		CALL(MPI_Startall, 2, r), all(8);
		CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
	}
	CALL(MPI_Request_free, &r[0]);
	CALL(MPI_Request_free, &r[1]);
}

static void objects(const char *directory)
{
	MPI_Win win;
	MPI_File f;
	char path[4096];
	snprintf(path, sizeof(path), "%s/large", directory);
	CALL(MPI_Win_create_c, a, sizeof(a), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	CALL(MPI_Win_fence, 0, win);
	CALL(MPI_Put_c, b, 3, MPI_INT, next, 0, 3, MPI_INT, win), put(next, 12);
	CALL(MPI_Win_fence, 0, win);
	CALL(MPI_Get_c, b, 2, MPI_INT, next, 0, 2, MPI_INT, win), got(next, 8);
	CALL(MPI_Win_fence, 0, win);
	CALL(MPI_Win_free, &win);
	CALL(MPI_File_open, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	CALL(MPI_File_write_at_c, f, rank * 16, a, 4, MPI_INT, MPI_STATUS_IGNORE);
	CALL(MPI_File_read_at_all_c, f, rank * 16, b, 4, MPI_INT, MPI_STATUS_IGNORE);
	CALL(MPI_File_close, &f);
	truth_file("large", 16, 16);
}

int main(int argc, char **argv)
{
	CALL(MPI_Init, &argc, &argv);
	CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
	CALL(MPI_Comm_size, MPI_COMM_WORLD, &size);
	peer = rank ^ 1;
	next = (rank + 1) % size;
	previous = (rank + size - 1) % size;
	messages();
	partitioned();
	collectives();
	objects(argc > 1 ? argv[1] : ".");
	CALL(MPI_Finalize);
	truth_write(rank, size);
	return 0;
}
