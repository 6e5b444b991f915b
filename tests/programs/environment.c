/* environment.c NAME BYTES - sets the variable to that many bytes by itself (execve takes none that long), or, without
 * BYTES, takes it out of its environment with MPITRACE_MODE; then is an ordinary program. */
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
	if (argc == 2) {
		unsetenv(argv[1]);
		unsetenv("MPITRACE_MODE");
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 100; i++)
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("sum %d\n", sum);
	MPI_Finalize();
	return 0;
}
