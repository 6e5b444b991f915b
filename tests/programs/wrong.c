/* wrong.c WHAT - programs that do one thing wrong with MPI each, ten times over, and `right`, which does much the same
 * and nothing wrong. Errors are returned, so all of them end. Messages are so small that every MPI library buffers
 * them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMES 10

static int rank, size, next, before;
static int a[256], b[256];
static float f[256];

static void truncated(void)
{
	MPI_Request request;
	for (int i = 0; i < TIMES; i++) {
		if (rank == 0) {
			MPI_Send(a, 100, MPI_INT, 1, 3, MPI_COMM_WORLD); /* line 23 */
			MPI_Send(a, 100, MPI_INT, 1, 3, MPI_COMM_WORLD);
			MPI_Send(a, 100, MPI_INT, 1, 4, MPI_COMM_WORLD);
			MPI_Send(a, 50, MPI_INT, 1, 3, MPI_COMM_WORLD); /* as long as its room: all right */
		} else if (rank == 1) {
			MPI_Recv(b, 50, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line 28 */
			MPI_Irecv(b, 50, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
			MPI_Recv(b, 50, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Recv(b, 50, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
	}
}

static void types(void)
{
	MPI_Datatype mixed;
	MPI_Type_create_struct(2, (int[]){2, 2}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_FLOAT}, &mixed);
	MPI_Type_commit(&mixed);
	for (int i = 0; i < TIMES; i++) {
		if (rank == 0) {
			MPI_Send(a, 10, MPI_INT, 1, 0, MPI_COMM_WORLD);
			MPI_Send(a, 10, mixed, 1, 1, MPI_COMM_WORLD);
			MPI_Send(a, 10, MPI_INT, 1, 2, MPI_COMM_WORLD);
		} else if (rank == 1) {
			MPI_Recv(f, 10, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Recv(b, 40, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Recv(b, 40, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
	}
	MPI_Type_free(&mixed);
}

/* Roots that send without being asked. */
static void order(void)
{
	if (rank == 0)
		MPI_Bcast(a, 1, MPI_INT, 0, MPI_COMM_WORLD);
	else
		MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void root(void)
{
	MPI_Bcast(a, 1, MPI_INT, rank, MPI_COMM_WORLD);
}

/* Rank 1 has more room than comes. */
static void sizes(void)
{
	for (int i = 0; i < TIMES; i++)
		MPI_Gather(a, rank == 1 ? 1 : 2, MPI_INT, b, 2, MPI_INT, 0, MPI_COMM_WORLD);
}

static void leaks(void)
{
	MPI_Comm copy;
	MPI_Datatype type;
	MPI_Request request;
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Comm_free(&copy);
	for (int i = 0; i < 3; i++)
		MPI_Type_contiguous(2 + i, MPI_INT, &type);
	MPI_Type_free(&type);
	if (rank == 0) {
		MPI_Isend(a, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
		MPI_Send(a, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
	} else if (rank == 1) {
		MPI_Recv(b, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* MPICH aborts in MPI_Finalize. */
static void window(void)
{
	MPI_Win window;
	MPI_Win_create(a, sizeof(a), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
}

static void pair(void)
{
	for (int i = 0; i < TIMES && rank < 2; i++) {
		MPI_Send(a, 4, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
		MPI_Recv(b, 4, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static void ring(void)
{
	for (int i = 0; i < TIMES; i++) {
		MPI_Send(a, 4, MPI_INT, next, 0, MPI_COMM_WORLD);
		MPI_Recv(b, 4, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* ---- the same without mistakes ---- */

static void exchange(void)
{
	MPI_Request requests[2];
	MPI_Sendrecv(a, 4, MPI_INT, next, 0, b, 4, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Irecv(b, 4, MPI_INT, before, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(a, 4, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	MPI_Irecv(b, 4, MPI_INT, before, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Send(a, 4, MPI_INT, next, 0, MPI_COMM_WORLD);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	MPI_Bsend(a, 4, MPI_INT, next, 0, MPI_COMM_WORLD);
	MPI_Recv(b, 4, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank % 2 == 0)
		MPI_Send(a, 4, MPI_INT, next, 0, MPI_COMM_WORLD);
	MPI_Recv(b, 4, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank % 2 != 0)
		MPI_Send(a, 4, MPI_INT, next, 0, MPI_COMM_WORLD);
}

/* Rank 0 runs far ahead of the others, and is waited for: many sends without receives, but no cycle. */
static void stream(void)
{
	for (int i = 0; i < TIMES; i++)
		if (rank == 0)
			MPI_Send(a, 4, MPI_INT, 1, 7, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < TIMES; i++)
		if (rank == 1)
			MPI_Recv(b, 4, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		MPI_Send(a, 4, MPI_INT, 0, 8, MPI_COMM_WORLD);
	if (rank == 0)
		MPI_Recv(b, 4, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void kinds(void)
{
	MPI_Datatype six, mixed;
	MPI_Type_contiguous(6, MPI_INT, &six);
	MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &mixed);
	MPI_Type_commit(&six);
	MPI_Type_commit(&mixed);
	if (rank == 0) {
		MPI_Send(a, 2, six, 1, 0, MPI_COMM_WORLD);
		MPI_Send(a, 12, MPI_INT32_T, 1, 0, MPI_COMM_WORLD);
		MPI_Send(a, 3, mixed, 1, 0, MPI_COMM_WORLD);
		MPI_Send(a, 0, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
		MPI_Send(a, 8, MPI_PACKED, 1, 0, MPI_COMM_WORLD);
	} else if (rank == 1) {
		MPI_Recv(b, 100, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(b, 2, six, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(b, 5, mixed, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(b, 5, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(b, 5, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Type_free(&six);
	MPI_Type_free(&mixed);
}

static void collectives(void)
{
	int counts[64], places[64], sum = 0;
	for (int i = 0; i < size; i++) {
		counts[i] = 1 + i;
		places[i] = sum;
		sum += counts[i];
	}
	MPI_Bcast(a, 4, MPI_INT, 1, MPI_COMM_WORLD);
	MPI_Reduce(a, b, 4, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, a, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Gather(rank == 0 ? MPI_IN_PLACE : a, 1, MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Scatter(a, 1, MPI_INT, rank == 0 ? MPI_IN_PLACE : b, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Gatherv(a, 1 + rank, MPI_INT, b, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Allgatherv(a, 1 + rank, MPI_INT, b, counts, places, MPI_INT, MPI_COMM_WORLD);
	MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Alltoall(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD);
	MPI_Scan(a, b, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void right(void)
{
	char *room = malloc(65536);
	int bytes;
	MPI_Comm copy;
	MPI_Win window;
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Win_create(a, sizeof(a), 1, MPI_INFO_NULL, copy, &window);
	MPI_Buffer_attach(room, 65536);
	for (int i = 0; i < TIMES; i++)
		exchange();
	stream();
	kinds();
	collectives();
	MPI_Buffer_detach(&room, &bytes);
	MPI_Win_free(&window);
	MPI_Comm_free(&copy);
	free(room);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{"truncated", truncated}, {"types", types},   {"order", order}, {"root", root}, {"sizes", sizes},
		{"leaks", leaks},	  {"window", window}, {"pair", pair},	{"ring", ring}, {"right", right},
	};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].name, argv[1]) == 0)
			all[i].run();
	return MPI_Finalize();
}
