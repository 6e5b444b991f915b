/* bench.h - a benchmark program prints one line: "<calls> <seconds> <resident KiB> <init seconds> <finalize
 * seconds>". */
#pragma once

#include "../programs/resident.h"
#include "parts.h"

#include <mpi.h>
#include <stdio.h>

static double bench_init_s;

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
