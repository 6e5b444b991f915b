/* db.h - the fleet's database: one SQLite file with all jobs (docs/FLEET.md has the schema). */
#pragma once

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Kinds of names; the numbers stand in databases and never change. */
enum fleet_kind {
	FLEET_USER = 1,
	FLEET_ACCOUNT,
	FLEET_PARTITION,
	FLEET_PROGRAM,
	FLEET_BUILD,
	FLEET_MPI,
	FLEET_NODE,
	FLEET_ISSUE,
	FLEET_CLUSTER,
};

#define FLEET_ROUNDED 1e-9 /* of a sum of core-hours: less is what adding and taking away has left */
#define FLEET_SECONDS_PER_DAY 86400
/* Ranks of a job by powers of two, in SQL: 64 for 33 to 64. */
#define FLEET_SIZE_OF_RANKS "1<<CAST(ceil(log2(max(ranks, 1))) AS INTEGER)"

struct fleet {
	sqlite3 *db;
	const char *path;
};

enum fleet_mode { FLEET_READ, FLEET_WRITE, FLEET_CREATE };

/* Open path, and bring it to the version of this program unless it is only read. FLEET_CREATE makes it, mode 0640 less
 * umask. 0 or -errno with text; -EPROTO: made by a newer version, or (when only read) by an older one. */
int fleet_open(const char *path, enum fleet_mode mode, struct fleet *ret_f, struct error *e);
/* A new one in memory. */
int fleet_open_memory(struct fleet *ret_f, struct error *e);
/* Also for a zeroed one. */
void fleet_close(struct fleet *f);
/* SQLite's checks, and that the sums by day are those of the jobs. 0, or -EBADMSG with what is wrong. */
int fleet_check(struct fleet *f, struct error *e);

/* Text of an SQLite error as ours, -EIO and such. */
int fleet_fail(const struct fleet *f, struct error *e);
int fleet_run(struct fleet *f, const char *sql, struct error *e);
/* NULL with text in e. */
sqlite3_stmt *fleet_prepare(struct fleet *f, const char *sql, struct error *e);
/* A statement with a day in it, which gives no rows. 0 or -EIO, with text. */
int fleet_run_on(struct fleet *f, const char *sql, int64_t day, struct error *e);
/* The first column of the first row; fallback without a row, or of NULL. 0, or -errno with text. */
int fleet_number(struct fleet *f, const char *sql, double fallback, double *ret_value, struct error *e);
