/* state.c - see state.h. */
#include "fleet/publish/state_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define APPLICATION_ID 0x6d707075 /* "mppu" */
#define BUSY_MS 60000

/* dead: 0 waits, 1 never arrives. batch: 0 in none yet, below 0 set aside (state_aside()). */
static const char first[] =
	"CREATE TABLE file(token TEXT NOT NULL);"
	"INSERT INTO file VALUES(lower(hex(randomblob(16))));"
	"CREATE TABLE records(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, hash INTEGER NOT NULL,"
	" text TEXT NOT NULL);"
	"CREATE INDEX records_by_key ON records(key, hash);"
	"CREATE TABLE destinations(id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,"
	" batches INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0, dropped INTEGER NOT NULL DEFAULT 0,"
	" failures INTEGER NOT NULL DEFAULT 0, next INTEGER NOT NULL DEFAULT 0, said TEXT NOT NULL DEFAULT '',"
	" which TEXT NOT NULL DEFAULT '', bytes INTEGER NOT NULL DEFAULT 0, UNIQUE(name, kind));"
	"CREATE TABLE deliveries(record INTEGER NOT NULL, destination INTEGER NOT NULL, batch INTEGER NOT NULL DEFAULT "
	"0,"
	" dead INTEGER NOT NULL DEFAULT 0, reason TEXT, PRIMARY KEY(record, destination)) WITHOUT ROWID;"
	"CREATE INDEX waiting ON deliveries(destination, dead, batch, record);"
	"PRAGMA application_id=1836085365;";

/* tries, seen: how often a record was refused alone, and what `done` was then. taken: seconds since 1970. */
static const char second[] = "ALTER TABLE deliveries ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;"
			     "ALTER TABLE deliveries ADD COLUMN seen INTEGER NOT NULL DEFAULT -1;"
			     "ALTER TABLE records ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;"
			     "UPDATE records SET taken=strftime('%s','now');"
			     "CREATE TABLE totals(destination INTEGER NOT NULL, metric TEXT NOT NULL, labels TEXT NOT "
			     "NULL, value REAL NOT NULL, PRIMARY KEY(destination, metric, labels)) WITHOUT ROWID;";

/* What makes version 1 of nothing, 2 of 1, and so on. */
static const char *const migrations[] = {first, second};
#define VERSION (int)(sizeof(migrations) / sizeof(migrations[0]))

static int lock(const char *path, int *ret_fd, struct error *e)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail(e, -errno, "%s: %s; --state names another file", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		*ret_fd = fd;
		return 0;
	}
	close(fd);
	return fail(e, -EBUSY, "%s: another `mpitrace publish` is at work with it", path);
}

static int migrate(struct state *s, int version, struct error *e)
{
	char set[64];
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	for (; version < VERSION && rc == 0; version++)
		rc = fleet_run(&s->f, migrations[version], e);
	snprintf(set, sizeof(set), "PRAGMA user_version=%d", VERSION);
	if (rc == 0)
		rc = fleet_run(&s->f, set, e);
	return state_finish(s, rc, e);
}

static int check_version(struct state *s, struct error *e)
{
	double version, id, tables;
	int rc = fleet_number(&s->f, "PRAGMA user_version", 0, &version, e);
	rc = rc == 0 ? fleet_number(&s->f, "SELECT count(*) FROM sqlite_master", 0, &tables, e) : rc;
	rc = rc == 0 ? fleet_number(&s->f, "PRAGMA application_id", 0, &id, e) : rc;
	if (rc < 0)
		return rc;
	if (tables > 0 && id != APPLICATION_ID)
		return fail(e, -EBADMSG, "%s: is not a state file of `mpitrace publish`", s->f.path);
	if (version < 0 || version > VERSION)
		return fail(e, -EPROTO, "%s: has version %.0f, and this mpitrace knows %d", s->f.path, version,
			    VERSION);
	return version < VERSION ? migrate(s, (int)version, e) : 0;
}

static int prepare(struct state *s, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f, "SELECT token FROM file", e);
	if (q == NULL || sqlite3_step(q) != SQLITE_ROW) {
		sqlite3_finalize(q);
		return fleet_fail(&s->f, e);
	}
	snprintf(s->token, sizeof(s->token), "%s", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	s->find = fleet_prepare(&s->f, "SELECT 1 FROM records WHERE key IN (?1,?3) AND hash=?2", e);
	s->add = fleet_prepare(&s->f, "INSERT INTO records(key, hash, text, taken) VALUES(?,?,?,strftime('%s','now'))",
			       e);
	s->owe = fleet_prepare(&s->f, "INSERT INTO deliveries(record, destination) VALUES(?,?)", e);
	return s->find != NULL && s->add != NULL && s->owe != NULL ? 0 : -EIO;
}

/* What is there, in memory: nothing of it comes back. */
static int copy_to_memory(struct state *s, struct error *e)
{
	sqlite3 *from = NULL;
	if (sqlite3_open(":memory:", &s->f.db) != SQLITE_OK)
		return fail(e, -ENOMEM, "out of memory");
	if (access(s->f.path, F_OK) != 0)
		return 0;
	int rc = sqlite3_open_v2(s->f.path, &from, SQLITE_OPEN_READONLY, NULL);
	sqlite3_backup *b = rc == SQLITE_OK ? sqlite3_backup_init(s->f.db, "main", from, "main") : NULL;
	rc = b != NULL && sqlite3_backup_step(b, -1) == SQLITE_DONE ? 0 : -EIO;
	sqlite3_backup_finish(b);
	sqlite3_close(from);
	return rc == 0 ? 0 : fail(e, rc, "%s: cannot be read", s->f.path);
}

/* What is open is handed over, or closed. */
static int make_ready(struct state *s, int rc, struct state *ret_s, struct error *e)
{
	if (rc == 0)
		rc = check_version(s, e);
	if (rc == 0)
		rc = prepare(s, e);
	if (rc < 0)
		state_close(s);
	else
		*ret_s = *s;
	return rc;
}

int state_open_copy(const char *path, struct state *ret_s, struct error *e)
{
	struct state s = {.f = {.path = path}, .lock_fd = -1};
	int rc = copy_to_memory(&s, e);
	return make_ready(&s, rc, ret_s, e);
}

int state_open(const char *path, struct state *ret_s, struct error *e)
{
	struct state s = {.f = {.path = path}, .lock_fd = -1};
	char lock_path[4096];
	if (snprintf(lock_path, sizeof(lock_path), "%s.lock", path) >= (int)sizeof(lock_path))
		return fail(e, -ENAMETOOLONG, "%.64s...: is too long a path", path);
	int rc = lock(lock_path, &s.lock_fd, e);
	int fd = rc == 0 ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	if (rc == 0 && fd < 0)
		rc = fail(e, -errno, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (rc == 0 && sqlite3_open_v2(path, &s.f.db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		rc = fleet_fail(&s.f, e);
	if (rc == 0) {
		sqlite3_busy_timeout(s.f.db, BUSY_MS);
		rc = fleet_run(&s.f, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16384", e);
	}
	return make_ready(&s, rc, ret_s, e);
}

/* There is one state in a program. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

void state_turn_begin(void)
{
	pthread_mutex_lock(&turn);
}

void state_turn_end(void)
{
	pthread_mutex_unlock(&turn);
}

void state_close(struct state *s)
{
	sqlite3_finalize(s->find);
	sqlite3_finalize(s->add);
	sqlite3_finalize(s->owe);
	fleet_close(&s->f);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	*s = (struct state){.lock_fd = -1};
}

int state_destinations(struct state *s, struct destinations *all, struct error *e)
{
	sqlite3_stmt *add = fleet_prepare(&s->f, "INSERT OR IGNORE INTO destinations(name, kind) VALUES(?,?)", e);
	sqlite3_stmt *find = fleet_prepare(&s->f, "SELECT id FROM destinations WHERE name=? AND kind=?", e);
	int rc = add != NULL && find != NULL ? 0 : -EIO;
	for (size_t i = 0; i < all->all.n && rc == 0; i++) {
		sqlite3_stmt *both[] = {add, find};
		for (int k = 0; k < 2; k++) {
			sqlite3_reset(both[k]);
			sqlite3_bind_text(both[k], 1, all->all.at[i].name, -1, SQLITE_STATIC);
			sqlite3_bind_text(both[k], 2, all->all.at[i].kind->name, -1, SQLITE_STATIC);
		}
		if (sqlite3_step(add) != SQLITE_DONE || sqlite3_step(find) != SQLITE_ROW)
			rc = fleet_fail(&s->f, e);
		else
			all->all.at[i].id = sqlite3_column_int64(find, 0);
	}
	sqlite3_finalize(add);
	sqlite3_finalize(find);
	return rc;
}
