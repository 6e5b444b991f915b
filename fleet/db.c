/* db.c - see db.h. */
#include "fleet/db.h"
#include "fleet/migrations.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION_ID 0x6d70666c /* "mpfl": what file(1) and we know it by */
#define BUSY_MS 60000		  /* so long another writer is waited for */
#define SUMS_TOLERANCE 1e-6	  /* of core-hours: sums are added in another order */

int fleet_fail(const struct fleet *f, struct error *e)
{
	int code = sqlite3_errcode(f->db), rc = -EIO;
	if (code == SQLITE_NOMEM)
		rc = -ENOMEM;
	else if (code == SQLITE_FULL)
		rc = -ENOSPC;
	else if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		rc = -EBUSY;
	else if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		rc = -EBADMSG;
	return fail(e, rc, "%s: %s", f->path, sqlite3_errmsg(f->db));
}

int fleet_run(struct fleet *f, const char *sql, struct error *e)
{
	return sqlite3_exec(f->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fleet_fail(f, e);
}

sqlite3_stmt *fleet_prepare(struct fleet *f, const char *sql, struct error *e)
{
	sqlite3_stmt *s = NULL;
	if (sqlite3_prepare_v2(f->db, sql, -1, &s, NULL) != SQLITE_OK)
		fleet_fail(f, e);
	return s;
}

int fleet_run_on(struct fleet *f, const char *sql, int64_t day, struct error *e)
{
	sqlite3_stmt *s = fleet_prepare(f, sql, e);
	if (s == NULL)
		return -EIO;
	sqlite3_bind_int64(s, 1, day);
	int rc = sqlite3_step(s) == SQLITE_DONE ? 0 : fleet_fail(f, e);
	sqlite3_finalize(s);
	return rc;
}

int fleet_number(struct fleet *f, const char *sql, double fallback, double *ret_value, struct error *e)
{
	sqlite3_stmt *s = fleet_prepare(f, sql, e);
	if (s == NULL)
		return -EIO;
	int got = sqlite3_step(s), rc = got == SQLITE_ROW || got == SQLITE_DONE ? 0 : fleet_fail(f, e);
	if (rc == 0)
		*ret_value = got == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL ? sqlite3_column_double(s, 0)
											   : fallback;
	sqlite3_finalize(s);
	return rc;
}

static int migrate_to(struct fleet *f, int version, struct error *e)
{
	char done[128];
	int rc = 0;
	for (int i = 0; i < FLEET_MIGRATION_PARTS && rc == 0; i++)
		if (fleet_migrations[version - 1].parts[i] != NULL)
			rc = fleet_run(f, fleet_migrations[version - 1].parts[i], e);
	snprintf(done, sizeof(done), "PRAGMA user_version=%d; PRAGMA application_id=%d", version, APPLICATION_ID);
	return rc < 0 ? rc : fleet_run(f, done, e);
}

/* The version is read again inside of the transaction: two may have begun at once. */
static int migrate(struct fleet *f, struct error *e)
{
	double version = 0;
	int rc = fleet_run(f, "BEGIN IMMEDIATE", e);
	if (rc == 0)
		rc = fleet_number(f, "PRAGMA user_version", 0, &version, e);
	while (rc == 0 && version < fleet_version)
		rc = migrate_to(f, (int)++version, e);
	if (rc == 0)
		return fleet_run(f, "COMMIT", e);
	sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static int check_version(struct fleet *f, enum fleet_mode mode, struct error *e)
{
	double version, id, tables;
	if (fleet_number(f, "PRAGMA user_version", 0, &version, e) < 0 ||
	    fleet_number(f, "PRAGMA application_id", 0, &id, e) < 0 ||
	    fleet_number(f, "SELECT count(*) FROM sqlite_master", 0, &tables, e) < 0)
		return fleet_fail(f, e);
	if (id != APPLICATION_ID && !(tables == 0 && mode == FLEET_CREATE))
		return fail(e, -EBADMSG, "%s: is not a fleet database; `mpitrace fleet ingest` makes one", f->path);
	if (version > fleet_version)
		return fail(e, -EPROTO,
			    "%s: has version %.0f, and this mpitrace knows %d: use the one that made it, or a newer "
			    "one",
			    f->path, version, fleet_version);
	if (version == fleet_version)
		return 0;
	if (mode == FLEET_READ)
		return fail(e, -EPROTO, "%s: has version %.0f; `mpitrace fleet ingest` brings it to %d", f->path,
			    version, fleet_version);
	return migrate(f, e);
}

/* WAL: pages are read while records come in. Its file is written through once a transaction, and stays there, empty,
 * when nobody writes: who may write neither the database nor its directory could not read it else. */
static int set_up(struct fleet *f, enum fleet_mode mode, struct error *e)
{
	int stays = 1;
	sqlite3_db_config(f->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(f->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (mode == FLEET_READ)
		return fleet_run(f, "PRAGMA query_only=1; PRAGMA cache_size=-65536; PRAGMA mmap_size=0", e);
	sqlite3_file_control(f->db, "main", SQLITE_FCNTL_PERSIST_WAL, &stays);
	return fleet_run(f,
			 "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-131072; "
			 "PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864",
			 e);
}

/* SQLite would make it 0644: it holds what users did. */
static void make_private(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (fd >= 0)
		close(fd);
}

int fleet_open(const char *path, enum fleet_mode mode, struct fleet *ret_f, struct error *e)
{
	struct fleet f = {.path = path};
	int flags = mode == FLEET_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	if (mode == FLEET_CREATE)
		make_private(path);
	if (access(path, F_OK) != 0)
		return fail(e, -errno, "%s: %s; `mpitrace fleet ingest PATH --db FILE` makes it", path,
			    strerror(errno));
	int rc = sqlite3_open_v2(path, &f.db, flags, NULL) == SQLITE_OK ? 0 : fleet_fail(&f, e);
	if (rc == 0)
		sqlite3_busy_timeout(f.db, BUSY_MS); /* also for two that make it, or bring it to this version */
	if (rc == 0)
		rc = check_version(&f, mode, e);
	if (rc == 0)
		rc = set_up(&f, mode, e);
	if (rc < 0)
		fleet_close(&f);
	else
		*ret_f = f;
	return rc;
}

int fleet_open_memory(struct fleet *ret_f, struct error *e)
{
	struct fleet f = {.path = "memory"};
	int rc = sqlite3_open(":memory:", &f.db) == SQLITE_OK ? 0 : fleet_fail(&f, e);
	if (rc == 0)
		rc = check_version(&f, FLEET_CREATE, e);
	if (rc == 0)
		rc = set_up(&f, FLEET_WRITE, e);
	if (rc < 0)
		fleet_close(&f);
	else
		*ret_f = f;
	return rc;
}

void fleet_close(struct fleet *f)
{
	sqlite3_close(f->db);
	f->db = NULL;
}

/* What the days add up to, and what else has the number of jobs, and of their core-hours. */
static const struct sum {
	const char *what, *jobs, *hours, *days_jobs, *days_hours;
} sums[] = {
	{"jobs", "SELECT count(*) FROM jobs", "SELECT total(core_hours) FROM jobs",
	 "SELECT total(d.jobs) FROM days d, let_go l WHERE d.day>=l.day",
	 "SELECT total(d.core_hours) FROM days d, let_go l WHERE d.day>=l.day"},
	{"pruned jobs", "SELECT jobs FROM let_go", "SELECT core_hours FROM let_go",
	 "SELECT total(d.jobs) FROM days d, let_go l WHERE d.day<l.day",
	 "SELECT total(d.core_hours) FROM days d, let_go l WHERE d.day<l.day"},
	{"jobs by how they ended", "SELECT total(jobs) FROM outcomes", "SELECT total(core_hours) FROM outcomes",
	 "SELECT total(jobs) FROM days", "SELECT total(core_hours) FROM days"},
	{"jobs by cause", "SELECT total(jobs) FROM causes", "SELECT total(loss) FROM causes",
	 "SELECT total(jobs) FROM days", "SELECT total(loss) FROM days"},
};

static int check_sums(struct fleet *f, struct error *e)
{
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		double jobs, days, hours, summed;
		int rc = fleet_number(f, sums[i].jobs, 0, &jobs, e);
		rc = rc == 0 ? fleet_number(f, sums[i].days_jobs, 0, &days, e) : rc;
		rc = rc == 0 ? fleet_number(f, sums[i].hours, 0, &hours, e) : rc;
		rc = rc == 0 ? fleet_number(f, sums[i].days_hours, 0, &summed, e) : rc;
		if (rc < 0)
			return rc;
		if (jobs != days || fabs(hours - summed) > SUMS_TOLERANCE * (hours + 1))
			return fail(e, -EBADMSG, "%s: %.0f %s of %.3f core-hours, but the days add up to %.0f of %.3f",
				    f->path, jobs, sums[i].what, hours, days, summed);
	}
	return 0;
}

/* Of days that are kept: of others nobody has more than the sum. */
static int check_not_known(struct fleet *f, struct error *e)
{
	double hours, summed;
	int rc = fleet_number(f, "SELECT total(core_hours*(1-wait)) FROM jobs WHERE useful IS NULL", 0, &hours, e);
	if (rc == 0)
		rc = fleet_number(f, "SELECT total(d.not_known) FROM days d, let_go l WHERE d.day>=l.day", 0, &summed,
				  e);
	if (rc < 0)
		return rc;
	if (fabs(hours - summed) > SUMS_TOLERANCE * (hours + 1))
		return fail(e, -EBADMSG,
			    "%s: how %.3f core-hours of jobs were spent is not known, but the days add up to %.3f",
			    f->path, hours, summed);
	return 0;
}

int fleet_check(struct fleet *f, struct error *e)
{
	sqlite3_stmt *s = fleet_prepare(f, "PRAGMA integrity_check(1)", e);
	int rc = s != NULL ? 0 : -EIO;
	if (rc == 0 && sqlite3_step(s) != SQLITE_ROW)
		rc = fleet_fail(f, e);
	else if (rc == 0 && strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0)
		rc = fail(e, -EBADMSG, "%s: %s; take a backup, or ingest all records anew", f->path,
			  (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	if (rc == 0)
		rc = check_sums(f, e);
	return rc == 0 ? check_not_known(f, e) : rc;
}
