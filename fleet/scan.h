/* scan.h - jobs in memory, as what judges nodes and programs needs them: those of the last SAMPLE_DAYS, or of days with
 * very many those that stand for all (fleet/samples.h). */
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
	float slowed;		    /* by a node of its own that is slow: of the logarithm of its efficiency */
	float others;		    /* so many others of its program, user and day are not here */
};

struct scan_node {
	uint32_t node;	 /* index into scan.names */
	float deviation; /* share */
};

/* A day on which a build, or an MPI library, of a program was first used, which was not the first of them. */
struct scan_version {
	uint32_t program, day;
};

struct scan {
	VEC(struct scan_job) jobs; /* by start */
	VEC(struct scan_node) nodes;
	VEC(uint32_t) names;		   /* number of a node's name in the database */
	VEC(struct scan_version) versions; /* by program */
	uint32_t day_end;		   /* after the last */
	uint32_t thinned;		   /* the last day of which not all jobs are here; 0: none */
};

/* samples_renew() before. 0, or -errno with text. */
int scan_load(struct fleet *f, struct scan *ret_s, struct error *e);
/* All jobs from that day on. */
int scan_load_from(struct fleet *f, uint32_t day, struct scan *ret_s, struct error *e);
void scan_done(struct scan *s);

/* Rows of jobs, and what a row says but for its nodes. */
#define SCAN_JOBS_OF \
	"SELECT j.id, j.program, j.user, j.ranks, j.start, j.core_hours, CASE WHEN j.complete THEN j.parallel END," \
	" r.nodes, j.elapsed_s, CASE WHEN j.complete AND j.hung_core_hours=0 AND j.core_hours>j.idle_core_hours THEN" \
	" 1-j.useful*j.core_hours/(j.core_hours-j.idle_core_hours) END FROM jobs j INDEXED BY jobs_by_start" \
	" LEFT JOIN runs r ON r.job=j.id"
#define SCAN_COLUMN_NODES 7
struct scan_job scan_job_of(sqlite3_stmt *row);
