/* region.c - preloaded before anything else: the time from the return of MPI_Init to the call of MPI_Finalize, as
 * one line "REGION <seconds> <on processors>" of each rank on standard error. So programs nobody here wrote can be
 * timed, traced and not. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double begun, used;

static double now_s(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The innermost call returns last but one: the outer one, if any, sets it once more. */
#define INIT(name, parameters, arguments) \
	int name parameters \
	{ \
		int(*next) parameters = (__typeof__(next))dlsym(RTLD_NEXT, #name); \
		int rc = next arguments; \
		begun = now_s(CLOCK_MONOTONIC); \
		used = now_s(CLOCK_PROCESS_CPUTIME_ID); \
		return rc; \
	}

#define FINALIZE(name) \
	int name(void) \
	{ \
		int (*next)(void) = (__typeof__(next))dlsym(RTLD_NEXT, #name); \
		if (begun > 0) \
			fprintf(stderr, "REGION %.9f %.9f\n", now_s(CLOCK_MONOTONIC) - begun, \
				now_s(CLOCK_PROCESS_CPUTIME_ID) - used); \
		begun = 0; \
		return next(); \
	}

INIT(MPI_Init, (int *argc, char ***argv), (argc, argv))
INIT(PMPI_Init, (int *argc, char ***argv), (argc, argv))
INIT(MPI_Init_thread, (int *argc, char ***argv, int wanted, int *got), (argc, argv, wanted, got))
INIT(PMPI_Init_thread, (int *argc, char ***argv, int wanted, int *got), (argc, argv, wanted, got))
FINALIZE(MPI_Finalize)
FINALIZE(PMPI_Finalize)
