/* traffic_row.h - a matrix row under construction; shared by traffic.c, traffic_coll.c and traffic_rma.c. */
#pragma once

#include "postproc/totals/traffic.h"

struct row {
	const struct step *s;
	struct traffic *t;
	uint32_t src;
	uint64_t *count, *bytes; /* by destination */
};

int row_init(struct row *r, const struct step *s, struct traffic *t);
/* count operations that moved bytes in all from r->src to dst. Outsiders and the rank itself are
 * ignored when they are not ranks; a message to oneself counts. */
void row_add(struct row *r, int32_t dst, uint64_t count, uint64_t bytes);
/* Move the row into the matrix and clear it: 0 or -ENOMEM. */
int row_flush(struct row *r);
void row_done(struct row *r);
