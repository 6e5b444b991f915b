/* sample.h - what the job does now, and how its profile grew: SAMPLE blocks (format/mpic_sample.h), one a node and
 * time. In: totals and open calls from the processes' mapped files, /proc.  Out: a block with what came since the
 * last one. The program has no part in it. */
#pragma once

#include "collect/memory.h"
#include "collect/process.h"
#include "format/layout.h"

#define SAMPLE_GAP_NS 1000000000ll
/* Gaps double, so that each divides the next: one is 1/260 to 1/130 of the job's age. With 1 s there are 1,000
 * samples after 4 hours, and 2,000 after 30 days. */
#define SAMPLE_SHARE 130

struct sampler {
	int64_t every_ns; /* 0: none are wanted */
	int64_t last_ns;  /* realtime; 0: there was none */
	int64_t most_ns;  /* gaps are no longer than that, if every_ns is not; 0: as the job's age has it */
	uint64_t seq;
	struct memory memory;
	bool partial; /* the last one is in the file: the next has what came since */
	struct buf payload;
};

/* What `sample` of the layout asks for; 1 s without it. */
void sampler_begin(struct sampler *s, const struct layout *layout);
void sampler_done(struct sampler *s);
/* Take a sample if it is time. To be called often. */
void sampler_round(struct sampler *s, struct output *o, struct process *processes, uint32_t n,
		   const struct tick_sample *now);
/* The last one, of what no longer changes: the sums of all are then the exact totals. */
void sampler_end(struct sampler *s, struct output *o, struct process *processes, uint32_t n);
/* Gap between samples of a job of that age. */
int64_t sample_gap_ns(int64_t every_ns, int64_t age_ns);
