/* bench.h - a benchmark program prints one line: "<calls> <seconds> <resident KiB> <init seconds> <finalize
 * seconds>". */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double bench_init_s;

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long resident_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return kib;
}

static void bench_begin(int *argc, char ***argv)
{
	double start = now_s();
	MPI_Init(argc, argv);
	bench_init_s = now_s() - start;
}

static void bench_end(int rank, double calls, double seconds)
{
	long kib = resident_kib();
	double start = now_s();
	MPI_Finalize();
	if (rank == 0)
		printf("BENCH %.0f %.9f %ld %.6f %.6f\n", calls, seconds, kib, bench_init_s, now_s() - start);
}
