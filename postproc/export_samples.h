/* export_samples.h - what the profile over time is made of, beside the samples. */
#pragma once

#include "postproc/read/step.h"

/* ---- export_calls.c: what a call that is open is, by what its thread said of it: operation and address ---- */

struct calls; /* of all processes, sorted when one is first asked for */

/* NULL without memory; to be given to calls_free(). */
struct calls *calls_of(const struct step *s);
void calls_free(struct calls *c);
/* A signature of p with this operation (its number in the file) and address; NULL: none, or no memory. */
const struct sig *calls_find(struct calls *c, const struct process *p, uint16_t op, uint64_t address);

/* ---- export_waits.c: waiting by lane, sample and call site, added up while the events pass ---- */

struct wait_sum {
	uint32_t sample, site;
	int64_t ns;
};

struct lane_waits {
	VEC(struct wait_sum) sums;
	size_t next; /* once they are sorted: the first that was not taken */
};

struct wait_sums {
	VEC(int64_t) ends_ns; /* of samples, ascending */
	struct lane_waits *lanes;
	uint32_t nlanes;
};

/* Waiting of a lane from start_ns on for so long: of all samples that it touches. Lanes may be of several threads at a
 * time. 0 or -ENOMEM. */
int wait_sums_add(struct wait_sums *w, uint32_t lane, int64_t start_ns, int64_t ns, uint32_t site);
/* Before the first wait_sums_take(). */
void wait_sums_sort(struct wait_sums *w);
/* What of a sample has not been taken yet, one call site after the other; samples ascending. NULL: there is no more. */
const struct wait_sum *wait_sums_take(struct wait_sums *w, uint32_t lane, uint32_t sample);
void wait_sums_done(struct wait_sums *w);
