/* lang_c.c - the same program in four languages: lang_mpif.f, lang_use.f90, lang_f08.f90 make the same calls. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, size, got, sum = 0, in[200], out[200], place;
	MPI_Request r[2];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 50; i++) {
		out[0] = rank;
		MPI_Irecv(in, 200, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(out, i, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		sum += got;
	}
	place = rank;
	MPI_Allreduce(MPI_IN_PLACE, &place, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf(" sum %d place %d\n", sum, place);
	MPI_Finalize();
	return 0;
}
