/* patterns.h - what the ranks of a simulated program do. Each pattern runs until rank 0 has that many events or more.
 * In: nothing but the options.  Out: calls (synth.h) at times that follow from each other: a receive ends after its
 * send began, a collective after the last one came. */
#pragma once

#include "synth.h"

/* clang-format off */
#define PATTERN_TABLE(ROW) \
	ROW(halo, "2-D periodic grid: 4 Irecv, 4 Isend, Waitall, Allreduce") \
	ROW(self, "Irecv and Isend to itself, Waitall") \
	/* adding a pattern: one row here and its pattern_<name>() */
/* clang-format on */

#define ROW(name, what) void pattern_##name(struct synth *s, uint64_t events);
PATTERN_TABLE(ROW)
#undef ROW
