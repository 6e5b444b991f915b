/* cases.h - programs of several cases, one of which is run by its name: what verdicts.c, answers.c and headlines.c
 * share. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;
static char *buffer;

struct program_case {
	const char *name;
	void (*run)(void);
};

/* Computing is sleeping, so that it lasts as long with many ranks on few processors. */
static void compute(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* From MPI_Init to MPI_Finalize; the case named `threaded` may call MPI from several threads. */
static int run_case(int argc, char **argv, const struct program_case *all, size_t n, const char *threaded, size_t bytes)
{
	const char *what = argc > 1 ? argv[1] : "";
	int level;
	MPI_Init_thread(&argc, &argv, strcmp(what, threaded) == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	buffer = calloc(1, bytes);
	MPI_Barrier(MPI_COMM_WORLD);
	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].name, what) == 0)
			all[i].run();
	free(buffer);
	MPI_Finalize();
	return 0;
}
