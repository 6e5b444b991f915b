/* clock_cases.h - nodes whose clocks are known, messages between them, and what the analysis makes of it. Everything
 * follows from a seed. */
#pragma once

#include <stdint.h>

#define CASE_NODES_MAX 6
#define CASE_TIMES 33 /* times at which errors are taken, over the run */

/* Each has what those before it have, but for the last. */
enum case_kind {
	CASE_OFFSET, /* real-time clocks are up to 10 s off, all run alike */
	CASE_NTP,    /* they are some microseconds off, as on a good network */
	CASE_DRIFT,  /* each runs up to 50 ppm too fast or too slow */
	CASE_JUMP,   /* and real-time clocks are set while the program runs */
	CASE_SKEWED, /* and messages take up to 20 times as long one way as the other */
	CASE_LATE,   /* and nodes begin and end at different times; what is the slow way changes */
	CASE_STEER,  /* CASE_DRIFT, and the rates change by up to 1 ppm a few times: no line describes that */
	CASE_KINDS
};

extern const char *const case_names[CASE_KINDS];

struct clock_outcome {
	unsigned nodes;
	double run_s;
	double bound_ns; /* as printed: NAN where nothing ties the nodes */
	double worst_ns; /* largest true error between times of two nodes */
	/* of each node but the first, over the run: how far its times are off from the first one's */
	double ours_ns[CASE_NODES_MAX][CASE_TIMES], start_ns[CASE_NODES_MAX][CASE_TIMES];
};

/* start_ns is the method of MPEye: a node's clock is set when the root's word to start arrives, less half of a round
 * trip. */
struct clock_outcome clock_case(enum case_kind kind, uint64_t seed);
