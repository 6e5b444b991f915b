/* environment.c NAME BYTES - sets the variable to that many bytes by itself (execve takes none that long), then is
 * an ordinary program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	int rank, sum = 0;
	size_t len = argc > 2 ? (size_t)atol(argv[2]) : 0;
	char *value = malloc(len + 2);
	if (value == NULL)
		return 2;
	memset(value, 'x', len);
	memcpy(value, "/", 1);
	value[len] = '\0';
	if (argc > 2)
		setenv(argv[1], value, 1);
	free(value);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 100; i++)
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("sum %d\n", sum);
	MPI_Finalize();
	return 0;
}
