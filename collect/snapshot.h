/* snapshot.h - what a reader needs who finds the trace cut: who the processes are, how far their totals were, what
 * time it was. Written with back-off; what does not change once when it is known, and once more at the end, so that
 * one damaged block costs nothing.
 * In: the processes as process.h maps them, `exits`, the node.  Out: META, PROFILE and CLOCK blocks. */
#pragma once

#include "collect/backoff.h"
#include "collect/meta.h"

#define SNAPSHOT_SHARE 8	 /* gaps: 1/8 of the age of a process; some 90 in a day */
#define CLOCK_SHARE 128		 /* between blocks of clock samples: behind the last one times are extrapolated */
#define CLOCK_APART_NS 100000000 /* more than a pause between the two readings of one moment */
#define CLOCK_SAMPLE_SHARE 1000	 /* between two samples */

#define NODE_PATIENCE_NS 2000000000ll

struct snapshots {
	struct node_meta node;
	struct backoff node_written, clocks_written, clocks_sampled;
	uint64_t clock_seq;
	int64_t first_round_ns; /* monotonic; 0: none yet */
	uint64_t failed_blocks; /* of the output, when last looked */
	struct buf clocks;	/* not written yet */
};

/* Keep a sample of the clocks, if it is time. */
void snapshot_clock(struct snapshots *s, const struct tick_sample *now, bool always);
/* One process, now. 0 or -errno. */
int snapshot_process(struct output *o, struct process *p, bool whole, int64_t now_ns);
/* Everything that is due at now_ns, into the file. To be called often: a process is described as soon as it has a
 * rank, and once more when it is gone. */
void snapshot_round(struct snapshots *s, struct output *o, struct process *processes, uint32_t n, int64_t now_ns);
/* The clocks that the processes read when they began and ended. Not those of another time namespace, nor of before the
 * date was set: their date and CLOCK_MONOTONIC are not as far apart as `now` (time_namespaces(7)). */
void snapshot_clocks_of(struct snapshots *s, const struct tick_sample *now, const struct process *processes,
			uint32_t n);
/* Everything, whole. 0 or -errno; may be called again. */
int snapshot_end(struct snapshots *s, struct output *o, struct process *processes, uint32_t n, int64_t now_ns);
void snapshots_done(struct snapshots *s);
