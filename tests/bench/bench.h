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

/* A program of steps: its first argument says how many, after a thousand that warm it up. */
static inline int bench_main(int argc, char **argv, long steps, int *rank, long (*step)(long i))
{
	long n = argc > 1 ? atol(argv[1]) : steps, calls = 0;
	bench_begin(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, rank);
	for (long i = 0; i < 1000; i++)
		step(i);
	double seconds = bench_timed(step, n, &calls);
	bench_end(*rank, (double)calls, seconds);
	return 0;
}
