/* take.c - see take.h. */
#include "fleet/publish/take.h"
#include "base/utf8.h"
#include "fleet/outbox_file.h"
#include "fleet/sources.h"
#include "fleet/publish/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SAID_MOST 20 /* messages of one run about records that are left out; the rest is counted */
#define COMMIT_EVERY 10000

struct taking {
	struct state *s;
	const struct destinations *all;
	struct take_counts *counts;
	struct seen *seen;
	const struct take_how *how;
	const char *path;
	unsigned said, pending;
	int rc; /* of what was done while sacct was asked */
	struct error e;
};

static void say(void *context, const char *text)
{
	struct taking *t = context;
	char *clean = t->said++ < SAID_MOST ? utf8_clean(text, strlen(text)) : NULL; /* anybody named the files */
	if (clean != NULL)
		fprintf(stderr, "mpitrace publish: %s\n", clean);
	free(clean);
}

static int taken(struct taking *t, int rc, const char *why, const char *where, struct error *e)
{
	char line[ERROR_TEXT_MAX];
	if (rc == 0 && why != NULL) {
		snprintf(line, sizeof(line), "%.600s: %s; ignored", where, why);
		say(t, line);
	}
	if (rc == 0 && ++t->pending % COMMIT_EVERY == 0)
		rc = fleet_run(&t->s->f, "COMMIT; BEGIN IMMEDIATE", e);
	return rc;
}

static int accept_record(void *context, const char *text, size_t len, const char *where, const char *owner,
			 struct error *e)
{
	struct taking *t = context;
	const char *why = NULL;
	if (t->rc < 0) {
		*e = t->e;
		return t->rc;
	}
	int rc = state_take(t->s, t->all, text, len, owner, t->counts, &why, e);
	return taken(t, rc, why, where, e);
}

static int take_alert(void *context, const char *text, size_t len, const char *where, const char *owner,
		      struct error *e)
{
	struct taking *t = context;
	const char *why = NULL;
	int rc = state_take_alert(t->s, t->all, text, len, owner, t->counts, &why, e);
	return taken(t, rc, why, where, e);
}

static bool is_seen(void *context, const struct stat *st)
{
	struct taking *t = context;
	/* For what Slurm's account says. */
	bool may_wait = t->how->account && st->st_mtime > time(NULL) - 2 * SOURCE_WAIT_S;
	return !may_wait && seen_before(t->seen, st);
}

/* Anybody may have made something of that name, also a directory: as the outbox's owner we can take it away by another
 * name, whatever is in it. */
static void move_aside(int dir, const char *name)
{
	char aside[64];
	snprintf(aside, sizeof(aside), "%s.%016llx", name, (unsigned long long)outbox_random());
	if (renameat(dir, name, dir, aside) == 0)
		unlinkat(dir, aside, AT_REMOVEDIR);
}

/* Under another name first, which nobody can guess. Without a stamp there is less to be removed, and no more. */
static void stamp(const char *path, const struct timespec *began)
{
	const struct timespec times[2] = {*began, *began};
	struct stat st;
	char name[64];
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno == ENOTDIR)
		return;
	snprintf(name, sizeof(name), PUBLISH_STAMP ".%016llx", (unsigned long long)outbox_random());
	if (dir >= 0 && fstatat(dir, PUBLISH_STAMP, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		move_aside(dir, PUBLISH_STAMP);
	int fd = dir < 0 ? -1 : openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0 || futimens(fd, times) != 0 || renameat(dir, name, dir, PUBLISH_STAMP) != 0) {
		fprintf(stderr, "mpitrace publish: %s/%s: cannot be made: %s; run this as the owner of the outbox\n",
			path, PUBLISH_STAMP, strerror(errno));
		if (fd >= 0)
			unlinkat(dir, name, 0);
	}
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
}

static void begin_turn(struct taking *t)
{
	state_turn_begin();
	if (t->rc == 0)
		t->rc = fleet_run(&t->s->f, "BEGIN IMMEDIATE", &t->e);
}

static void end_turn(struct taking *t)
{
	if (t->rc == 0)
		t->rc = fleet_run(&t->s->f, "COMMIT", &t->e);
	state_turn_end();
	if (t->how->taken != NULL)
		t->how->taken(t->how->context);
}

/* Sacct may keep us for a minute: what was taken goes out meanwhile, and alerts do not wait. */
static void asking(void *context, enum source_asking how)
{
	struct taking *t = context;
	struct source_taker alerts = {.alert = take_alert, .skip = is_seen, .context = t};
	uint64_t unread = 0;
	if (how != ASKING_BEGINS)
		begin_turn(t);
	if (how == ASKING_GOES_ON && t->rc == 0)
		t->rc = source_each(t->path, &alerts, &unread, &t->e);
	if (how != ASKING_ENDS)
		end_turn(t);
}

int publish_take(struct state *s, const struct destinations *all, const char *path, const struct take_how *how,
		 struct seen *seen, struct take_counts *counts, struct error *e)
{
	struct taking t = {.s = s, .all = all, .counts = counts, .seen = seen, .how = how, .path = path};
	uint64_t unread = 0, later = 0;
	struct source_taker taker = {.take = accept_record,
				     .alert = take_alert,
				     .skip = is_seen,
				     .say = say,
				     .context = &t,
				     .version = MPITRACE_VERSION,
				     .later = &later,
				     .account = how->account,
				     .asking = how->dry ? NULL : asking};
	struct timespec began;
	clock_gettime(CLOCK_REALTIME, &began);
	began.tv_sec -= how->account ? SOURCE_WAIT_S : 0; /* what is younger may wait */
	int rc = fleet_run(&s->f, "BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	rc = source_each(path, &taker, &unread, e);
	if (rc == 0 && t.rc < 0) {
		rc = t.rc;
		*e = t.e;
	}
	if (rc == 0)
		rc = fleet_run(&s->f, "COMMIT", e);
	if (rc < 0)
		sqlite3_exec(s->f.db, "ROLLBACK", NULL, NULL, NULL);
	for (size_t i = 0; i < all->all.n && rc == 0; i++)
		rc = state_bound(s, &all->all.at[i], e);
	counts->refused += unread;
	if (unread > 0) /* one of them may be readable by then, and is not stamped away */
		seen_done(seen);
	if (rc == 0 && later == 0 && !how->dry)
		stamp(path, &began);
	return rc;
}
