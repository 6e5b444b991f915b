/* unseen_types.c - datatypes that a library makes and frees by itself, by PMPI_, in turns of 3 and 5 integers: the next one
 * may have the handle of the last. Each rank sends one of each to itself, ROUNDS times. */
#include <mpi.h>
#include <stdio.h>

#define ROUNDS 20

int main(int argc, char **argv)
{
	int rank, out[5] = {1, 2, 3, 4, 5}, in[5] = {0}, sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 2 * ROUNDS; i++) {
		MPI_Datatype some;
		PMPI_Type_contiguous(i % 2 == 0 ? 3 : 5, MPI_INT, &some);
		PMPI_Type_commit(&some);
		MPI_Sendrecv(out, 1, some, rank, 1, in, 1, some, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		PMPI_Type_free(&some);
		sum += in[4];
	}
	printf("sum %d\n", sum);
	MPI_Finalize();
	return 0;
}
