/* shapes.c - traffic of one known shape.
 * shapes pingpong|exchange|puts|alltoall|stray: ranks answer each other; send to each other at the same time; write
 * into the window of the next rank; exchange by Alltoall with a few bytes to the next rank; send some bytes to each
 * other once. */
#include <mpi.h>
#include <string.h>

#define ROUNDS 100

static char mine[64 * 1024], theirs[64 * 1024];
static int rank, ranks;

static void pingpong(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (rank % 2 == 0)
			MPI_Send(mine, 8, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
		MPI_Recv(theirs, 8, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank % 2 == 1)
			MPI_Send(mine, 8, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD);
	}
}

static void exchange(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Request r[2];
		MPI_Irecv(theirs, 8, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(mine, 8, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	}
}

static void puts_(void)
{
	MPI_Win w;
	MPI_Win_create(theirs, sizeof(theirs), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
	MPI_Win_fence(0, w);
	for (int i = 0; i < ROUNDS; i++)
		MPI_Put(mine, 1024, MPI_BYTE, (rank + 1) % ranks, 0, 1024, MPI_BYTE, w);
	MPI_Win_fence(0, w);
	MPI_Win_free(&w);
}

static void alltoall(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Sendrecv(mine, 8, MPI_BYTE, (rank + 1) % ranks, 0, theirs, 8, MPI_BYTE, (rank + ranks - 1) % ranks,
			     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Alltoall(mine, 1024, MPI_BYTE, theirs, 1024, MPI_BYTE, MPI_COMM_WORLD);
	}
}

static void stray(void)
{
	for (int k = 1; k < ranks; k++)
		MPI_Sendrecv(mine, 4, MPI_BYTE, (rank + k) % ranks, 0, theirs, 4, MPI_BYTE, (rank + ranks - k) % ranks,
			     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} shapes[] = {{"pingpong", pingpong},
		      {"exchange", exchange},
		      {"puts", puts_},
		      {"alltoall", alltoall},
		      {"stray", stray}};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (strcmp(argv[1], shapes[i].name) == 0)
			shapes[i].run();
	MPI_Finalize();
	return 0;
}
