/* own_tags.c - own_tags N [PASSES]: the first rank sends itself a message with each of N tags, PASSES times. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, n = argc > 1 ? atoi(argv[1]) : 1000, passes = argc > 2 ? atoi(argv[2]) : 1;
	char in[8], out[8] = {0};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int pass = 0; pass < passes && rank == 0; pass++)
		for (int tag = 0; tag < n; tag++)
			MPI_Sendrecv(out, 8, MPI_CHAR, 0, tag, in, 8, MPI_CHAR, 0, tag, MPI_COMM_SELF,
				     MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}
