/* merge_node.h - what merge.c keeps of each node; merge_json.c writes it. */
#pragma once

#include "postproc/live/snapshot.h"
#include "postproc/read/sampled.h"

enum merge_state { MERGE_SAMPLED, MERGE_NOT_DUE, MERGE_LAGS, MERGE_ENDED, MERGE_NONE };

struct merge_node {
	char *path;
	uint32_t file_id;
	size_t node; /* in the step */
	struct live_node live;
	VEC(struct sampled) waiting; /* that were seen and not merged yet */
	size_t next;		     /* of waiting */
	bool begun;		     /* something was queued */
	uint64_t next_seq;
	int64_t slot_ns, gap_ns; /* of the last one merged; gap 0: there is none to come, or nothing was merged */
	bool late;		 /* not waited for until it says something */
	enum merge_state state;	 /* in the sample that is being merged */
	uint32_t folded;	 /* of its samples are in that one */
	uint64_t given_tick;	 /* of the last one that was handed on; 0: none was */
	uint64_t interval_ticks; /* that this one is of; 0: not known */
};

struct merging {
	struct step step;
	VEC(struct merge_node) nodes;
	struct missing missing;
	uint64_t number;
	int64_t slot_ns;
};

#define MERGE_ROWS_MAX 512u /* of a summary: more ranks share them, in order */

/* Shares of the interval, of a rank or of all; parts of nothing are not known. */
struct merge_share {
	double part_ns, whole_ns;
};

struct merge_summary {
	uint32_t rows, ranks;
	struct merge_share mpi[MERGE_ROWS_MAX];
	struct merge_share all, waiting; /* in MPI; ready, and on no processor */
};

/* The sample that is being merged, as JSON; what it holds counts as handed on. NULL without memory. */
char *merge_json(struct merging *m, struct merge_summary *ret_summary, size_t *ret_len_bytes);
/* merge_summary.c: that in short. NULL without memory. */
char *merge_summary_json(const struct merging *m, const struct merge_summary *s);
void merge_summary_add(struct merge_summary *s, const struct process *p, const struct merge_node *n, double mpi_ticks,
		       double wait_ns);
