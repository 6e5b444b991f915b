/* patterns.h - what the ranks of a simulated program do. Each pattern runs until all ranks together have that many
 * events or more.
 * In: nothing but the options.  Out: calls (synth.h) at times that follow from each other: a receive ends after its
 * send began, a collective after the last one came. */
#pragma once

#include "synth.h"

/* clang-format off */
#define PATTERN_TABLE(ROW) \
	ROW(halo, 1, "2-D periodic grid: 4 Irecv, 4 Isend, Waitall, Allreduce") \
	ROW(alltoall, 1, "Alltoall, Alltoallv every other time, Allreduce, Bcast") \
	ROW(master, 2, "teams of 64: wildcard receives of results, tasks of varying sizes") \
	ROW(irregular, 1, "random neighbours, 20,000 sizes, Waitany, Testall, rows and columns, persistent requests") \
	ROW(self, 1, "Irecv and Isend to itself, Waitall") \
	ROW(faults, 2, "one to three faults by the seed, each of which --without can leave out") \
	/* adding a pattern: one row here (name, least number of ranks, what) and its pattern_<name>() */
/* clang-format on */

#define ROW(name, min_ranks, what) void pattern_##name(struct synth *s, uint64_t events);
PATTERN_TABLE(ROW)
#undef ROW
