/* forget.c - see forget.h. A server is asked how many records of the user it has, told to remove them, and asked again:
 * what it says then is what is said. */
#include "fleet/publish/forget.h"
#include "base/units.h"
#include "fleet/publish/dead.h"
#include "fleet/publish/send.h"
#include "fleet/publish/state_sql.h"

#include "base/command.h"
#include "base/json.h"
#include "fleet/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_AGAIN_NS 200000000 /* at a server that removes by and by */

static bool is_of(const char *record, size_t len_bytes, const char *user)
{
	cJSON *r = cJSON_ParseWithLength(record, len_bytes);
	bool is = strcmp(json_text(r, "user", ""), user) == 0;
	cJSON_Delete(r);
	return is;
}

/* ---- the state ---- */

/* What has arrived is known by its key, which ends with the user. */
static int find_here(struct state *s, const char *user, struct buf *ret_ids, struct error *e)
{
	sqlite3_stmt *q = fleet_prepare(
		&s->f, "SELECT id, text FROM records WHERE text<>'' OR substr(key, -length(?1)-1)=' '||?1", e);
	int rc = q != NULL ? 0 : -EIO, got = SQLITE_DONE;
	sqlite3_bind_text(q, 1, user, -1, SQLITE_STATIC);
	while (rc == 0 && (got = sqlite3_step(q)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(q, 1);
		int64_t id = sqlite3_column_int64(q, 0);
		if (text == NULL || *text == '\0' || is_of(text, strlen(text), user))
			buf_bytes(ret_ids, &id, sizeof(id));
	}
	if (rc == 0 && (got != SQLITE_DONE || buf_failed(ret_ids)))
		rc = got != SQLITE_DONE ? fleet_fail(&s->f, e) : fail(e, -ENOMEM, "out of memory");
	sqlite3_finalize(q);
	return rc;
}

int publish_forget_here(struct state *s, const char *user, struct error *e)
{
	_cleanup_buf_ struct buf ids = {0};
	int rc = find_here(s, user, &ids, e);
	if (rc == 0)
		rc = fleet_run(&s->f, "PRAGMA secure_delete=ON; BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	for (size_t at = 0; at < ids.len_bytes && rc == 0; at += sizeof(int64_t)) {
		int64_t id;
		memcpy(&id, ids.data + at, sizeof(id));
		rc = state_run(s, e, "DELETE FROM deliveries WHERE record=?", 1, id);
		if (rc == 0)
			rc = state_run(s, e, "DELETE FROM records WHERE id=?", 1, id);
	}
	rc = state_finish(s, rc, e);
	return rc == 0 ? fleet_run(&s->f, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", e) : rc;
}

/* ---- a file ---- */

/* All lines but the user's. *ret_n: how many were. */
static int copy_lines(FILE *in, FILE *out, const char *user, uint64_t *ret_n)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	bool whole = true;
	*ret_n = 0;
	while (whole && (len = getline(&line, &cap, in)) > 0) {
		bool theirs = is_of(line, (size_t)len, user);
		*ret_n += theirs;
		whole = theirs || fwrite(line, 1, (size_t)len, out) == (size_t)len;
	}
	free(line);
	return whole && !ferror(in) && fflush(out) == 0 && fsync(fileno(out)) == 0 ? 0 : errno != 0 ? -errno : -EIO;
}

/* The new one has the rights of the old one, and is the one that the state knows. */
static int put_in_place(struct state *s, const struct destination *d, const char *made, FILE *in, FILE *out,
			struct error *e)
{
	char which[64];
	struct stat old, new;
	if (fstat(fileno(in), &old) != 0 || fstat(fileno(out), &new) != 0 ||
	    (fchown(fileno(out), old.st_uid, old.st_gid) != 0 && geteuid() == 0) ||
	    fchmod(fileno(out), old.st_mode & 07777) != 0 || rename(made, d->path) != 0)
		return fail(e, -errno, "%s: %s", d->path, strerror(errno));
	snprintf(which, sizeof(which), "%llu:%llu", (unsigned long long)new.st_dev, (unsigned long long)new.st_ino);
	return state_set_file(s, d, which, new.st_size, e);
}

static int rewrite(struct state *s, const struct destination *d, const char *user, uint64_t *ret_n, struct error *e)
{
	char made[4096];
	int64_t at;
	int fd = -1, rc = publish_open_file(s, d, &fd, &at, e); /* without what a killed run left half */
	if (rc < 0)
		return rc;
	close(fd);
	if (snprintf(made, sizeof(made), "%s.new", d->path) >= (int)sizeof(made))
		return fail(e, -ENAMETOOLONG, "%.64s...: is too long a path", d->path);
	unlink(made);
	fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL, *in = out != NULL ? fopen(d->path, "re") : NULL;
	errno = in != NULL ? 0 : errno;
	rc = in == NULL ? -errno : copy_lines(in, out, user, ret_n);
	if (rc < 0)
		fail(e, rc, "%s: %s", made, strerror(-rc));
	else if (*ret_n > 0)
		rc = put_in_place(s, d, made, in, out, e);
	if (rc < 0 || *ret_n == 0)
		unlink(made);
	if (in != NULL)
		fclose(in);
	if (out != NULL)
		fclose(out);
	return rc;
}

/* ---- a server ---- */

static int send_request(const struct destination *d, struct link *l, struct publish_request *r,
			struct http_answer *ret_a, struct error *e)
{
	_cleanup_buf_ struct buf lines = {0};
	buf_u8(&r->url, 0);
	buf_printf(&lines, "Content-Type: %s\n", r->content_type);
	int rc = d->kind->headers != NULL ? d->kind->headers(d, NULL, &r->body, &lines, e) : 0;
	buf_u8(&lines, 0);
	if (rc == 0 && (buf_failed(&r->url) || buf_failed(&r->body) || buf_failed(&lines)))
		rc = fail(e, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = http_send(l->http, (const char *)r->url.data, (const char *)lines.data, &r->body, ret_a, e);
	if (rc == 0 && (ret_a->status < 200 || ret_a->status > 299))
		rc = fail(e, -EIO, "%s", ret_a->text);
	if (lines.data != NULL)
		explicit_bzero(lines.data, lines.cap_bytes);
	return rc;
}

/* 1: there is no such request. */
static int request(const struct destination *d, struct link *l, const char *user, enum publish_step step,
		   struct http_answer *ret_a, struct error *e)
{
	struct publish_request r = {0};
	if (d->kind->store != NULL) {
		d->kind->store->forget(l->store, user, step, ret_a);
		return ret_a->status == 200 ? 0 : fail(e, -EIO, "%s", ret_a->text);
	}
	int rc = d->kind->forget(d, user, step, &r) ? send_request(d, l, &r, ret_a, e) : 1;
	buf_done(&r.url);
	buf_done(&r.body);
	return rc;
}

#define UNKNOWN (-1)

/* How many it has; UNKNOWN of one that cannot be asked. */
static int count_there(const struct destination *d, struct link *l, const char *user, int64_t *ret_n, struct error *e)
{
	struct http_answer a;
	*ret_n = UNKNOWN;
	int rc = request(d, l, user, FORGET_COUNT, &a, e);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	*ret_n = d->kind->left(a.body);
	return *ret_n >= 0 ? 0 : fail(e, -EBADMSG, "its answer is not understood: %s", a.text);
}

static int remove_there(const struct destination *d, struct link *l, const char *user, int64_t *ret_had,
			int64_t *ret_left, struct error *e)
{
	const struct timespec pause = {0, LOOK_AGAIN_NS};
	struct http_answer a;
	time_t until = time(NULL) + (time_t)d->timeout_s;
	int rc = count_there(d, l, user, ret_had, e);
	*ret_left = *ret_had;
	if (rc < 0 || *ret_had == 0)
		return rc;
	rc = request(d, l, user, FORGET_REMOVE, &a, e);
	while (rc == 0 && (rc = count_there(d, l, user, ret_left, e)) == 0 && *ret_left > 0 && time(NULL) <= until)
		nanosleep(&pause, NULL);
	return rc;
}

/* ---- one destination ---- */

static int say_failure(const struct destination *d, const char *why, FILE *to)
{
	fprintf(to, "%s: %s; run this again when it can be reached\n", d->name, why);
	return EXIT_LATER;
}

static int forget_file(struct state *s, const struct destination *d, const char *user, FILE *to)
{
	struct error why = {""};
	uint64_t n = 0;
	if (rewrite(s, d, user, &n, &why) < 0)
		return say_failure(d, why.text, to);
	fprintf(to, "%s: %s removed\n", d->name, fmt_plain(fmt_many((double)n, "record")).s);
	return EXIT_DONE;
}

static int forget_server(const struct destination *d, struct link *l, const char *user, FILE *to)
{
	struct error why = {""};
	int64_t had, left;
	if (remove_there(d, l, user, &had, &left, &why) < 0)
		return say_failure(d, why.text, to);
	if (left > 0) {
		fprintf(to, "%s: still there: %s; run this again\n", d->name,
			fmt_plain(fmt_many((double)left, "record")).s);
		return EXIT_LATER;
	}
	if (had == UNKNOWN)
		fprintf(to, "%s: was told to remove them, and agreed\n", d->name);
	else
		fprintf(to, "%s: %s removed\n", d->name, fmt_plain(fmt_many((double)had, "record")).s);
	return EXIT_DONE;
}

int publish_forget_there(struct state *s, const struct destination *d, struct link *l, const char *user, FILE *to)
{
	struct error why = {""};
	if (d->dead_letters != NULL && dead_forget(d->dead_letters, user, &why) < 0)
		return say_failure(d, why.text, to);
	if (d->kind->append != NULL)
		return forget_file(s, d, user, to);
	if (d->kind->forget != NULL || d->kind->store != NULL)
		return forget_server(d, l, user, to);
	if (d->kind->add != NULL) {
		fprintf(to, "%s: has sums, and no user's name\n", d->name);
		return EXIT_DONE;
	}
	fprintf(to, "%s: who runs it must remove them: a %s cannot be told\n", d->name, d->kind->name);
	return EXIT_PARTIAL;
}
