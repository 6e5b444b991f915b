/* sources.c - see sources.h. Files may be anybody's: opened without waiting or following, regular, bounded. */
#include "fleet/sources.h"
#include "fleet/outbox.h"
#include "fleet/account.h"
#include "fleet/alert.h"
#include "fleet/record.h"
#include "fleet/record_read.h"

#include "base/buf_file.h"
#include "base/json.h"
#include "base/vec.h"
#include "format/mpix.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FUTURE_S 3600			 /* clocks differ by less */
#define LINE_ROOM (RECORD_BYTES_MAX * 2) /* a longer line is passed over, however long */

/* A record that was read, until sacct is asked of several. */
struct pending {
	char *text, *where, *owner; /* owner: NULL as source_take has it */
	cJSON *record;
	bool may_wait;
};

struct walk {
	const struct source_taker *t;
	uint64_t unread;
	VEC(struct pending) pending;
	bool said_account, no_answer; /* of sacct */
	bool flat;		      /* all may write in the directory, and whatever is below it is anybody's */
	const struct source_removal *removal; /* NULL: nothing is removed */
	struct error *e;
};

static void say(struct walk *w, const char *path, const char *why)
{
	char text[PATH_MAX + 200];
	w->unread++;
	snprintf(text, sizeof(text), "%s: %s", path, why);
	if (w->t->say != NULL)
		w->t->say(w->t->context, text);
	if (w->t->unread != NULL)
		w->t->unread(w->t->context, path);
}

/* Who made a file can make it so; what else there is may pass. */
static bool is_its_fault(int why)
{
	return why == EACCES || why == EPERM || why == ELOOP || why == EINVAL || why == E2BIG || why == ENXIO;
}

static void say_errno(struct walk *w, const char *path, int why, bool its_fault)
{
	say(w, path, strerror(why));
	if (!its_fault && w->t->later != NULL)
		(*w->t->later)++;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);
	return n >= k && strcmp(text + n - k, end) == 0;
}

/* ---- with what Slurm's account says ---- */

static void pending_done(struct walk *w)
{
	for (size_t i = 0; i < w->pending.n; i++) {
		free(w->pending.at[i].text);
		free(w->pending.at[i].where);
		free(w->pending.at[i].owner);
		cJSON_Delete(w->pending.at[i].record);
	}
	vec_done(&w->pending);
}

static void notify(struct walk *w, enum source_asking how)
{
	if (w->t->asking != NULL)
		w->t->asking(w->t->context, how);
}

static void go_on(void *context)
{
	notify(context, ASKING_GOES_ON);
}

/* NULL: it cannot be asked, which is said once. Who did not answer at all is not waited for again. */
static struct account *ask_account(struct walk *w)
{
	const char *jobs[ACCOUNT_JOBS_MAX];
	struct account *a = NULL;
	struct error e = {""};
	size_t n = 0;
	for (size_t i = 0; i < w->pending.n; i++)
		jobs[n++] = json_text(w->pending.at[i].record, "job_id", "");
	if (w->no_answer)
		return NULL;
	notify(w, ASKING_BEGINS);
	int rc = account_ask(jobs, n, &(struct account_wait){go_on, w}, &a, &e);
	notify(w, ASKING_ENDS);
	w->no_answer = rc == -ETIMEDOUT;
	if (rc < 0 && !w->said_account && w->t->say != NULL) {
		w->said_account = true;
		w->t->say(w->t->context, e.text);
	}
	return a;
}

static int take_joined(struct walk *w, const struct account *a, struct pending *p)
{
	enum account_fate fate = a != NULL ? account_join(a, p->record) : ACCOUNT_LATER;
	if (fate == ACCOUNT_LATER && p->may_wait) {
		if (w->t->waiting != NULL)
			(*w->t->waiting)++;
		if (w->t->waits != NULL)
			w->t->waits(w->t->context, p->where);
		return 0;
	}
	char *joined = fate == ACCOUNT_JOINED ? json_print(p->record) : NULL;
	const char *text = joined != NULL ? joined : p->text;
	int rc = w->t->take(w->t->context, text, strlen(text), p->where, p->owner, w->e);
	cJSON_free(joined);
	return rc;
}

static int take_pending(struct walk *w)
{
	struct account *a = w->pending.n > 0 ? ask_account(w) : NULL;
	int rc = 0;
	for (size_t i = 0; i < w->pending.n && rc == 0; i++)
		rc = take_joined(w, a, &w->pending.at[i]);
	account_free(a);
	pending_done(w);
	return rc;
}

static int offer(struct walk *w, const char *text, size_t len, const char *where, const char *owner, bool may_wait)
{
	cJSON *record = w->t->account ? record_read(text, len) : NULL;
	if (*json_text(record, "job_id", "") == '\0') { /* no record, or none of Slurm */
		cJSON_Delete(record);
		return w->t->take(w->t->context, text, len, where, owner, w->e);
	}
	struct pending p = {strndup(text, len), strdup(where), owner != NULL ? strdup(owner) : NULL, record, may_wait};
	bool whole = p.text != NULL && p.where != NULL && (owner == NULL || p.owner != NULL);
	if (vec_push(&w->pending, p) < 0 || !whole)
		return fail(w->e, -ENOMEM, "out of memory");
	return w->pending.n < ACCOUNT_JOBS_MAX ? 0 : take_pending(w);
}

/* ---- one file ---- */

/* Its name, unless it is ours: whoever collects may have copied it. */
static const char *owner_of(uid_t uid, char ret_name[64])
{
	static __thread uid_t last = (uid_t)-1;
	static __thread char name[64];
	if (uid == geteuid() || uid == 0)
		return NULL;
	if (uid != last) {
		const struct passwd *p = getpwuid(uid);
		snprintf(name, sizeof(name), "%s", p != NULL ? p->pw_name : "");
		if (p == NULL)
			snprintf(name, sizeof(name), "%u", (unsigned)uid);
		last = uid;
	}
	snprintf(ret_name, 64, "%s", name);
	return ret_name;
}

static int take_file(struct walk *w, const char *path)
{
	struct stat st;
	char name[64];
	_cleanup_buf_ struct buf text = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) /* taken by another one meanwhile */
		return 0;
	if (fd < 0) {
		say_errno(w, path, errno, is_its_fault(errno));
		return 0;
	}
	int rc = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? buf_read(&text, fd, RECORD_BYTES_MAX) : -EINVAL;
	close(fd);
	if (rc == 0)
		return offer(w, (const char *)text.data, text.len_bytes, path, owner_of(st.st_uid, name),
			     st.st_mtime > time(NULL) - SOURCE_WAIT_S);
	if (rc == -E2BIG || rc == -EINVAL)
		say(w, path, rc == -E2BIG ? "is longer than 8,192 bytes" : "is not a regular file");
	else
		say_errno(w, path, -rc, is_its_fault(-rc));
	return 0;
}

static int take_trace(struct walk *w, const char *path)
{
	struct mpix_file *f = NULL;
	struct stat st;
	struct error e;
	char report[PATH_MAX], *text = NULL;
	const struct passwd *p = lstat(path, &st) == 0 ? getpwuid(st.st_uid) : NULL;
	snprintf(report, sizeof(report), "%.*s/report.html",
		 (int)(strrchr(path, '/') != NULL ? strrchr(path, '/') - path : 1),
		 strrchr(path, '/') != NULL ? path : ".");
	struct record_source source = {.user = p != NULL ? p->pw_name : "",
				       .report = access(report, R_OK) == 0 ? report : NULL,
				       .version = w->t->version};
	int rc = mpix_open(path, &f, &e);
	if (rc == 0)
		rc = record_build(mpix_analysis(f), &source, &text, &e);
	if (rc < 0)
		say(w, path, e.text);
	else
		rc = offer(w, text, strlen(text), path, NULL, false);
	bool refused = text == NULL;
	free(text);
	if (f != NULL)
		mpix_close(f);
	return refused ? 0 : rc;
}

/* A name that no alert has now is no more than any other file's. */
static int take_alert(struct walk *w, const FTSENT *x)
{
	struct stat st;
	char name[64];
	_cleanup_buf_ struct buf text = {0};
	int fd = open(x->fts_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	bool good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && outbox_is_alert(x->fts_name, &st, time(NULL)) &&
		    !(w->t->skip != NULL && w->t->skip(w->t->context, &st));
	int rc = good ? buf_read(&text, fd, ALERT_BYTES_MAX) : 0;
	close(fd);
	if (rc == -E2BIG)
		say(w, x->fts_path, "is longer than 4,096 bytes");
	else if (rc < 0)
		say_errno(w, x->fts_path, -rc, is_its_fault(-rc));
	return good && rc == 0 ? w->t->alert(w->t->context, (const char *)text.data, text.len_bytes, x->fts_path,
					     owner_of(st.st_uid, name), w->e)
			       : 0;
}

/* ---- a line each ---- */

static int take_line(struct walk *w, const char *path, uint64_t line, const char *text, size_t len)
{
	char where[PATH_MAX + 32];
	snprintf(where, sizeof(where), "%s:%llu", path, (unsigned long long)line);
	return len == 0 ? 0 : offer(w, text, len, where, NULL, false);
}

static int take_lines(struct walk *w, FILE *in, const char *path)
{
	char *text = malloc(LINE_ROOM);
	uint64_t line = 0;
	int rc = text != NULL ? 0 : fail(w->e, -ENOMEM, "out of memory");
	while (rc == 0 && fgets(text, LINE_ROOM, in) != NULL) {
		size_t len = strlen(text);
		int c = len > 0 && text[len - 1] == '\n' ? '\n' : EOF;
		line++;
		for (int next = c; len + 1 == LINE_ROOM && next != '\n' && (next = getc(in)) != EOF;)
			;
		rc = take_line(w, path, line, text, len - (c == '\n'));
	}
	if (rc == 0 && ferror(in))
		rc = fail(w->e, -EIO, "%s: cannot be read to its end: %s", path, strerror(errno));
	free(text);
	return rc;
}

static int take_many(struct walk *w, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0)
		return fail(w->e, -errno, "%s: %s", path, strerror(errno));
	FILE *in = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
	if (in == NULL) {
		close(fd);
		return fail(w->e, -EINVAL, "%s: is not a file of records, a trace or a directory", path);
	}
	int rc = take_lines(w, in, path);
	fclose(in);
	return rc;
}

/* ---- a directory ---- */

/* Its owner can set a time to come: such a one would stay for ever. */
static bool is_stable(const struct stat *st, int64_t until)
{
	return st->st_mtime < until || (until > 0 && st->st_mtime > time(NULL) + FUTURE_S);
}

/* The directory that we saw, not what somebody has put in its place. */
static int open_above(const FTSENT *x)
{
	char path[PATH_MAX];
	struct stat st;
	const struct stat *seen = x->fts_parent->fts_statp;
	snprintf(path, sizeof(path), "%.*s", (int)x->fts_parent->fts_pathlen, x->fts_path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (fstat(fd, &st) == 0 && st.st_dev == seen->st_dev && st.st_ino == seen->st_ino))
		return fd;
	close(fd);
	errno = ENOENT;
	return -1;
}

/* What is below the directory that was named may be somebody's who lets nobody remove it. */
static int unlink_seen(struct walk *w, const FTSENT *x)
{
	int fd = open_above(x), rc = fd >= 0 && unlinkat(fd, x->fts_name, 0) == 0 ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	return rc == 0 || rc == -ENOENT || x->fts_level > 1
		       ? 0
		       : fail(w->e, rc, "%s: cannot remove it: %s", x->fts_path, strerror(-rc));
}

static int remove_file(struct walk *w, const FTSENT *x)
{
	const struct source_removal *r = w->removal;
	bool full = ends_with(x->fts_name, OUTBOX_FULL_SUFFIX);
	if (ends_with(x->fts_name, OUTBOX_ALERT_SUFFIX) || ends_with(x->fts_name, OUTBOX_SLOT_SUFFIX))
		return is_stable(x->fts_statp, time(NULL) - OUTBOX_ALERT_DAYS * 86400) ? unlink_seen(w, x) : 0;
	if ((!full && !ends_with(x->fts_name, OUTBOX_SUFFIX)) || !is_stable(x->fts_statp, r->until))
		return 0;
	if (!full && r->keep != NULL && r->keep(r->context, x->fts_path, x->fts_statp))
		return 0;
	return unlink_seen(w, x);
}

static int visit(struct walk *w, const FTSENT *x)
{
	if (w->removal != NULL)
		return remove_file(w, x);
	if (ends_with(x->fts_name, OUTBOX_FULL_SUFFIX) && w->t->had_no_room != NULL)
		(*w->t->had_no_room)++;
	if (ends_with(x->fts_name, OUTBOX_ALERT_SUFFIX))
		return w->t->alert != NULL ? take_alert(w, x) : 0;
	if (w->t->take == NULL)
		return 0;
	if (ends_with(x->fts_name, OUTBOX_SUFFIX))
		return w->t->skip != NULL && w->t->skip(w->t->context, x->fts_statp) ? 0 : take_file(w, x->fts_path);
	return strcmp(x->fts_name, "job.mpix") == 0 ? take_trace(w, x->fts_path) : 0;
}

static void pass_over(struct walk *w, FTS *all, FTSENT *x)
{
	fts_set(all, x, FTS_SKIP);
	say(w, x->fts_path, "is a directory where all may write: what lies in it is not taken");
}

static int walk_below(struct walk *w, const char *path)
{
	char *roots[] = {(char *)path, NULL};
	FTS *all = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int rc = all != NULL ? 0 : fail(w->e, -errno, "%s: %s", path, strerror(errno));
	FTSENT *x;
	while (rc == 0 && (x = fts_read(all)) != NULL) {
		bool lost = x->fts_info == FTS_DNR || x->fts_info == FTS_ERR || x->fts_info == FTS_NS;
		if (x->fts_info == FTS_F)
			rc = visit(w, x);
		else if (x->fts_info == FTS_D && x->fts_level == 0)
			w->flat = (x->fts_statp->st_mode & S_IWOTH) != 0;
		else if (x->fts_info == FTS_D && w->flat)
			pass_over(w, all, x);
		else if (lost && x->fts_errno != ENOENT)
			say_errno(w, x->fts_path, x->fts_errno, false);
	}
	if (all != NULL)
		fts_close(all);
	return rc;
}

int source_each(const char *path, const struct source_taker *t, uint64_t *ret_unread, struct error *e)
{
	struct walk w = {.t = t, .e = e};
	struct stat st;
	int rc;
	if (strcmp(path, "-") == 0)
		rc = take_lines(&w, stdin, "standard input");
	else if (stat(path, &st) != 0)
		rc = fail(e, -errno, "%s: %s", path, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		rc = walk_below(&w, path);
	else if (ends_with(path, ".mpix"))
		rc = take_trace(&w, path);
	else if (ends_with(path, OUTBOX_SUFFIX))
		rc = take_file(&w, path);
	else
		rc = take_many(&w, path);
	if (rc == 0)
		rc = take_pending(&w);
	pending_done(&w);
	*ret_unread += w.unread;
	return rc;
}

int source_remove(const char *path, const struct source_removal *r, struct error *e)
{
	struct source_taker nothing = {0};
	struct walk w = {.t = &nothing, .removal = r, .e = e};
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? walk_below(&w, path) : 0;
}
