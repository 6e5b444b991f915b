/* traffic_row.h - a matrix row under construction; shared by traffic.c, traffic_coll.c and traffic_rma.c. */
#pragma once

#include "postproc/totals/traffic.h"

struct row {
	const struct step *s;
	struct traffic *t;
	uint32_t src;
	uint32_t cached_comm;	 /* communicator + 1: */
	bool in_a_row;		 /* its members are ranks in a row */
	bool in_runs;		 /* keep runs of equal links, not each */
	uint64_t *count, *bytes; /* by destination */
	bool *touched;		 /* by ROW_BLOCK destinations: something was added there */
	bool any;		 /* anywhere */
};

#define ROW_BLOCK 64u

int row_init(struct row *r, const struct step *s, struct traffic *t);
/* count operations that moved bytes in all from r->src to dst. Outsiders and the rank itself are
 * ignored when they are not ranks; a message to oneself counts. */
void row_add(struct row *r, int32_t dst, uint64_t count, uint64_t bytes);
/* A row that is empty becomes the same to each of n destinations from first on, but to r->src, and goes into the matrix
 * at once: 0 or -ENOMEM. Only with in_runs. */
int row_flush_even(struct row *r, uint32_t first, uint32_t n, uint64_t count, uint64_t bytes);
/* Move the row into the matrix and clear it: 0 or -ENOMEM. */
int row_flush(struct row *r);
void row_done(struct row *r);
