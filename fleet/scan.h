/* scan.h - all jobs in memory, as what judges nodes and programs needs them. */
#pragma once

#include "fleet/db.h"

#include "base/vec.h"

/* Splits of a series whose z or t, squared, is less than the best one's by no more than this are where it surely
 * changed (95 %; Hansen, Econometrica 68, 2000). */
#define AS_LIKELY 7.35

struct scan_job {
	sqlite3_int64 id;
	uint32_t program, user, ranks;
	uint32_t start, day;	    /* seconds and days since 1970 */
	uint32_t first_node, nodes; /* in scan.nodes: 0 of them when it had one, or is not whole */
	float core_hours, parallel; /* parallel: NAN when not known */
	float elapsed_s, in_mpi;    /* in_mpi: share of the ranks' time; NAN when not known, or it hung */
};

struct scan_node {
	uint32_t node;	 /* index into scan.names */
	float deviation; /* share */
};

struct scan {
	VEC(struct scan_job) jobs; /* by start */
	VEC(struct scan_node) nodes;
	VEC(uint32_t) names; /* number of a node's name in the database */
	uint32_t day_end;    /* after the last */
};

/* 0, or -errno with text. */
int scan_load(struct fleet *f, struct scan *ret_s, struct error *e);
void scan_done(struct scan *s);
