/* fleeting.c N - in a ring, messages of N sizes and as many tags that never come again, then half of them once more:
 * by Sendrecv, and by Isend and Irecv. Rank 0 prints the bytes that each rank sent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static char in[1 << 16], out[1 << 16];
static int left, right;
static long long sent;

static void both(int i)
{
	MPI_Request r[2];
	MPI_Sendrecv(out, i, MPI_CHAR, right, 0, in, i, MPI_CHAR, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Irecv(in, 1, MPI_INT, left, i, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(out, 1, MPI_INT, right, i, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	sent += i + 4;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	right = (rank + 1) % size;
	left = (rank + size - 1) % size;
	for (int i = 0; i < n; i++)
		both(i);
	for (int i = 0; i < n / 2; i++)
		both(i);
	if (rank == 0)
		printf("%lld\n", sent);
	MPI_Finalize();
	return 0;
}
