/* loop.c - 0.5 s of init, 40 iterations from 20 to 60 ms, a file written by all; or calls without a rhythm.
 * loop even|random FILE */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ITERATIONS 40

static int rank, ranks;

static void iterate(int even)
{
	double out = rank, in;
	unsigned x = 1;
	for (int i = 0; i < ITERATIONS; i++) {
		x = x * 1664525 + 1013904223;
		usleep(even ? 20000 + 40000 * i / (ITERATIONS - 1) : (x >> 16) % 8 == 0 ? 100000 : 500);
		MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, &in, 1, MPI_DOUBLE, (rank + ranks - 1) % ranks,
			     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void output(const char *path)
{
	static char bytes[1 << 20];
	MPI_File f;
	MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
	for (int i = 0; i < 10; i++)
		MPI_File_write_at_all(f, (MPI_Offset)(i * ranks + rank) * (MPI_Offset)sizeof(bytes), bytes,
				      sizeof(bytes), MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
}

int main(int argc, char **argv)
{
	int steps = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	usleep(500000);
	MPI_Bcast(&steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
	iterate(strcmp(argv[1], "even") == 0);
	output(argv[2]);
	MPI_Finalize();
	return 0;
}
