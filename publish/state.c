/* state.c - see state.h. */
#include "publish/state.h"

#include "base/index.h"
#include "base/json.h"
#include "base/utf8.h"
#include "fleet/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define APPLICATION_ID 0x6d707075 /* "mppu" */
#define VERSION 1
#define BUSY_MS 60000

/* dead: 0 waits, 1 never arrives. batch 0: in none yet. */
static const char schema[] =
	"BEGIN IMMEDIATE;"
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
	"PRAGMA user_version=1; PRAGMA application_id=1836085365;"
	"COMMIT";

/* ---- statements with numbers ---- */

/* Run sql with n numbers bound. Rows, if any, are not wanted. */
static int run(struct state *s, struct error *e, const char *sql, int n, ...)
{
	sqlite3_stmt *q = fleet_prepare(&s->f, sql, e);
	va_list ap;
	if (q == NULL)
		return -EIO;
	va_start(ap, n);
	for (int i = 1; i <= n; i++)
		sqlite3_bind_int64(q, i, va_arg(ap, int64_t));
	va_end(ap);
	int rc = sqlite3_step(q);
	rc = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : fleet_fail(&s->f, e);
	sqlite3_finalize(q);
	return rc;
}

/* All of it or nothing: rc is what the steps since BEGIN said. */
static int finish(struct state *s, int rc, struct error *e)
{
	if (rc == 0 && (rc = fleet_run(&s->f, "COMMIT", e)) == 0)
		return 0;
	sqlite3_exec(s->f.db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* ---- the file ---- */

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

static int check_version(struct state *s, struct error *e)
{
	int version = (int)fleet_number(&s->f, "PRAGMA user_version", -1);
	int id = (int)fleet_number(&s->f, "PRAGMA application_id", 0);
	if (fleet_number(&s->f, "SELECT count(*) FROM sqlite_master", -1) == 0)
		return fleet_run(&s->f, schema, e);
	if (id != APPLICATION_ID)
		return fail(e, -EBADMSG, "%s: is no state of `mpitrace publish`", s->f.path);
	return version == VERSION ? 0
				  : fail(e, -EPROTO, "%s: has version %d, and this mpitrace knows %d", s->f.path,
					 version, VERSION);
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
	s->find = fleet_prepare(&s->f, "SELECT 1 FROM records WHERE key=? AND hash=?", e);
	s->add = fleet_prepare(&s->f, "INSERT INTO records(key, hash, text) VALUES(?,?,?)", e);
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

int state_open_copy(const char *path, struct state *ret_s, struct error *e)
{
	struct state s = {.f = {.path = path}, .lock_fd = -1};
	int rc = copy_to_memory(&s, e);
	if (rc == 0)
		rc = check_version(&s, e);
	if (rc == 0)
		rc = prepare(&s, e);
	if (rc < 0)
		state_close(&s);
	else
		*ret_s = s;
	return rc;
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
	if (rc == 0)
		rc = check_version(&s, e);
	if (rc == 0)
		rc = prepare(&s, e);
	if (rc < 0)
		state_close(&s);
	else
		*ret_s = s;
	return rc;
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

/* ---- taking ---- */

static const char *wrong_with(const cJSON *record, const char *owner)
{
	struct tm tm = {0};
	const char *id = json_text(record, "id", "");
	const char *end = strptime(json_text(record, "start", ""), "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (strcmp(json_text(record, "schema", ""), RECORD_SCHEMA) != 0)
		return "is no record of schema " RECORD_SCHEMA;
	if (*id == '\0' || strlen(id) >= RECORD_ID_MAX)
		return "has no id, or a long one";
	if (end == NULL || *end != '\0')
		return "does not say when it began";
	return record_is_owners(json_text(record, "user", ""), owner) ? NULL : "is another user's file than it says";
}

static int owe_all(struct state *s, const struct destinations *all, int64_t record, struct error *e)
{
	int rc = 0;
	for (size_t i = 0; i < all->all.n && rc == 0; i++) {
		sqlite3_bind_int64(s->owe, 1, record);
		sqlite3_bind_int64(s->owe, 2, all->all.at[i].id);
		if (sqlite3_step(s->owe) != SQLITE_DONE)
			rc = fleet_fail(&s->f, e);
		sqlite3_reset(s->owe);
	}
	return rc;
}

static int add(struct state *s, const struct destinations *all, const char *key, const char *text,
	       struct take_counts *counts, struct error *e)
{
	int64_t hash = (int64_t)index_hash(INDEX_SEED, text, strlen(text));
	sqlite3_bind_text(s->find, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s->find, 2, hash);
	int found = sqlite3_step(s->find);
	bool known = found == SQLITE_ROW;
	sqlite3_reset(s->find);
	if (found != SQLITE_ROW && found != SQLITE_DONE)
		return fleet_fail(&s->f, e);
	counts->known += known;
	if (known)
		return 0;
	sqlite3_bind_text(s->add, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s->add, 2, hash);
	sqlite3_bind_text(s->add, 3, text, -1, SQLITE_STATIC);
	int rc = sqlite3_step(s->add) == SQLITE_DONE ? 0 : fleet_fail(&s->f, e);
	sqlite3_reset(s->add);
	counts->added += rc == 0;
	return rc == 0 ? owe_all(s, all, sqlite3_last_insert_rowid(s->f.db), e) : rc;
}

/* The text goes out as it was printed here: one line of UTF-8, whatever bytes the file had. */
int state_take(struct state *s, const struct destinations *all, const char *text, size_t len_bytes, const char *owner,
	       struct take_counts *counts, const char **ret_why, struct error *e)
{
	char *clean = utf8_clean(text, len_bytes);
	cJSON *record = clean != NULL ? cJSON_Parse(clean) : NULL;
	char *line = record != NULL ? cJSON_PrintUnformatted(record) : NULL;
	*ret_why = len_bytes > RECORD_BYTES_MAX ? "is longer than 8,192 bytes"
		   : line == NULL		? "is not JSON"
						: wrong_with(record, owner);
	int rc = 0;
	if (*ret_why != NULL)
		counts->refused++;
	else
		rc = add(s, all, json_text(record, "id", ""), line, counts, e);
	cJSON_free(line);
	cJSON_Delete(record);
	free(clean);
	return rc;
}

int state_bound(struct state *s, const struct destination *d, struct error *e)
{
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc == 0)
		rc = run(s, e,
			 "DELETE FROM deliveries WHERE destination=?1 AND dead=0 AND batch=0 AND record <= (SELECT "
			 "record"
			 " FROM deliveries WHERE destination=?1 AND dead=0 AND batch=0 ORDER BY record DESC"
			 " LIMIT 1 OFFSET ?2)",
			 2, d->id, (int64_t)d->queue);
	int64_t dropped = rc == 0 ? sqlite3_changes64(s->f.db) : 0;
	if (rc == 0 && dropped > 0)
		rc = run(s, e, "UPDATE destinations SET dropped=dropped+?1 WHERE id=?2", 2, dropped, d->id);
	return finish(s, rc, e);
}

/* ---- batches ---- */

static int number_of(struct state *s, const char *sql, int64_t value, int64_t *ret_number, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f, sql, e);
	if (q == NULL)
		return -EIO;
	sqlite3_bind_int64(q, 1, value);
	int got = sqlite3_step(q);
	*ret_number = got == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
	sqlite3_finalize(q);
	return got == SQLITE_ROW || got == SQLITE_DONE ? 0 : fleet_fail(&s->f, e);
}

/* Give up to n records of the batch `from` (0: those in none) a number of their own. */
static int number_batch(struct state *s, const struct destination *d, int64_t from, int64_t n, struct error *e)
{
	int rc = run(s, e, "UPDATE destinations SET batches=batches+1 WHERE id=?", 1, d->id);
	if (rc == 0)
		rc = run(s, e,
			 "UPDATE deliveries SET batch=(SELECT batches FROM destinations WHERE id=?1) WHERE"
			 " destination=?1 AND record IN (SELECT record FROM deliveries WHERE destination=?1 AND dead=0"
			 " AND batch=?2 ORDER BY record LIMIT ?3)",
			 3, d->id, from, n);
	return rc;
}

static int read_records(struct state *s, const struct destination *d, struct batch *b, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f,
					"SELECT r.id, r.text FROM deliveries x JOIN records r ON r.id=x.record WHERE"
					" x.destination=? AND x.dead=0 AND x.batch=? ORDER BY x.record",
					e);
	int rc = q != NULL ? 0 : -EIO, got = SQLITE_DONE;
	sqlite3_bind_int64(q, 1, d->id);
	sqlite3_bind_int64(q, 2, b->number);
	while (rc == 0 && (got = sqlite3_step(q)) == SQLITE_ROW) {
		struct publish_record r = {.id = sqlite3_column_int64(q, 0)};
		r.text = strdup((const char *)sqlite3_column_text(q, 1));
		r.json = r.text != NULL ? cJSON_Parse(r.text) : NULL;
		if (r.json == NULL || vec_push(&b->records, r) < 0) {
			free((char *)r.text);
			rc = fail(e, -ENOMEM, "out of memory, or %s is damaged", s->f.path);
		}
	}
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(&s->f, e);
	sqlite3_finalize(q);
	return rc;
}

int state_batch(struct state *s, const struct destination *d, struct batch *ret_b, struct error *e)
{
	static const char open_one[] =
		"SELECT batch FROM deliveries WHERE destination=? AND dead=0 AND batch>0 ORDER BY batch LIMIT 1";
	struct batch b = {0};
	int rc = number_of(s, open_one, d->id, &b.number, e);
	if (rc == 0 && b.number == 0) {
		rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
		if (rc == 0)
			rc = finish(s, number_batch(s, d, 0, (int64_t)d->batch, e), e);
		if (rc == 0)
			rc = number_of(s, open_one, d->id, &b.number, e);
	}
	if (rc == 0 && b.number != 0)
		rc = read_records(s, d, &b, e);
	snprintf(b.name, sizeof(b.name), "%s-%lld-%lld", s->token, (long long)d->id, (long long)b.number);
	if (rc < 0)
		batch_done(&b);
	else
		*ret_b = b;
	return rc;
}

void batch_done(struct batch *b)
{
	for (size_t i = 0; i < b->records.n; i++) {
		cJSON_Delete((cJSON *)b->records.at[i].json);
		free((char *)b->records.at[i].text);
	}
	vec_done(&b->records);
}

int state_arrived(struct state *s, const struct destination *d, const struct batch *b, int64_t file_bytes,
		  struct error *e)
{
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	rc = run(s, e, "DELETE FROM deliveries WHERE destination=? AND dead=0 AND batch=?", 2, d->id, b->number);
	if (rc == 0)
		rc = run(s, e, "UPDATE destinations SET done=done+?2, failures=0, next=0, said='' WHERE id=?1", 2,
			 d->id, (int64_t)b->records.n);
	if (rc == 0 && file_bytes >= 0)
		rc = run(s, e, "UPDATE destinations SET bytes=?2 WHERE id=?1", 2, d->id, file_bytes);
	/* Whom nobody waits for any more is only known by its hash. */
	for (size_t i = 0; i < b->records.n && rc == 0; i++)
		rc = run(s, e,
			 "UPDATE records SET text='' WHERE id=?1 AND NOT EXISTS (SELECT 1 FROM deliveries WHERE "
			 "record=?1)",
			 1, b->records.at[i].id);
	return finish(s, rc, e);
}

int state_split(struct state *s, const struct destination *d, const struct batch *b, struct error *e)
{
	int64_t half = (int64_t)(b->records.n / 2);
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	rc = number_batch(s, d, b->number, half, e);
	if (rc == 0)
		rc = number_batch(s, d, b->number, (int64_t)b->records.n, e);
	return finish(s, rc, e);
}

static int run_with_text(struct state *s, const char *sql, const char *text, int64_t a, int64_t b, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f, sql, e);
	if (q == NULL)
		return -EIO;
	sqlite3_bind_text(q, 1, text, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 2, a);
	sqlite3_bind_int64(q, 3, b);
	int rc = sqlite3_step(q) == SQLITE_DONE ? 0 : fleet_fail(&s->f, e);
	sqlite3_finalize(q);
	return rc;
}

int state_bury(struct state *s, const struct destination *d, const struct batch *b, const char *why, struct error *e)
{
	return run_with_text(s, "UPDATE deliveries SET dead=1, reason=? WHERE destination=? AND dead=0 AND batch=?",
			     why, d->id, b->number, e);
}

int state_postpone(struct state *s, const struct destination *d, int64_t until, const char *why, struct error *e)
{
	return run_with_text(s, "UPDATE destinations SET failures=failures+1, said=?1, next=?3 WHERE id=?2", why, d->id,
			     until, e);
}

/* ---- what there is ---- */

int state_counts(struct state *s, const struct destination *d, struct state_counts *ret_c, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(
		&s->f,
		"SELECT (SELECT count(*) FROM deliveries WHERE destination=?1 AND dead=0), done,"
		" (SELECT count(*) FROM deliveries WHERE destination=?1 AND dead=1), dropped, failures, next, said"
		" FROM destinations WHERE id=?1",
		e);
	int64_t *numbers[] = {&ret_c->waiting, &ret_c->done,	 &ret_c->dead,
			      &ret_c->dropped, &ret_c->failures, &ret_c->next};
	if (q == NULL)
		return -EIO;
	sqlite3_bind_int64(q, 1, d->id);
	int rc = sqlite3_step(q) == SQLITE_ROW ? 0 : fleet_fail(&s->f, e);
	for (int i = 0; i < 6 && rc == 0; i++)
		*numbers[i] = sqlite3_column_int64(q, i);
	if (rc == 0)
		snprintf(ret_c->said, sizeof(ret_c->said), "%s", (const char *)sqlite3_column_text(q, 6));
	sqlite3_finalize(q);
	return rc;
}

int state_file(struct state *s, const struct destination *d, char ret_which[64], int64_t *ret_bytes, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f, "SELECT which, bytes FROM destinations WHERE id=?", e);
	if (q == NULL)
		return -EIO;
	sqlite3_bind_int64(q, 1, d->id);
	int rc = sqlite3_step(q) == SQLITE_ROW ? 0 : fleet_fail(&s->f, e);
	if (rc == 0) {
		snprintf(ret_which, 64, "%s", (const char *)sqlite3_column_text(q, 0));
		*ret_bytes = sqlite3_column_int64(q, 1);
	}
	sqlite3_finalize(q);
	return rc;
}

int state_set_file(struct state *s, const struct destination *d, const char *which, int64_t bytes, struct error *e)
{
	return run_with_text(s, "UPDATE destinations SET which=?, bytes=?3 WHERE id=?2", which, d->id, bytes, e);
}

static int print_one(const char *name, const char *reason, const char *text, FILE *to)
{
	cJSON *o = cJSON_CreateObject();
	json_put_text(o, "destination", name);
	json_put_text(o, "reason", reason);
	cJSON_AddItemToObject(o, "record", cJSON_Parse(text));
	char *line = cJSON_PrintUnformatted(o);
	int rc = line != NULL && fprintf(to, "%s\n", line) > 0 ? 0 : -EIO;
	cJSON_free(line);
	cJSON_Delete(o);
	return rc;
}

int state_print_dead(struct state *s, FILE *to, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(&s->f,
					"SELECT d.name, x.reason, r.text FROM deliveries x JOIN destinations d ON"
					" d.id=x.destination JOIN records r ON r.id=x.record WHERE x.dead=1 ORDER BY "
					"d.id, r.id",
					e);
	int rc = q != NULL ? 0 : -EIO;
	while (rc == 0 && sqlite3_step(q) == SQLITE_ROW)
		if (print_one((const char *)sqlite3_column_text(q, 0), (const char *)sqlite3_column_text(q, 1),
			      (const char *)sqlite3_column_text(q, 2), to) < 0)
			rc = fail(e, -EIO, "cannot write: %s", strerror(errno));
	sqlite3_finalize(q);
	return rc;
}
