/* late.c - see late.h. In: <spool>/late/<job>.<run>.step-<step>, the records of their steps.  Out: reports, each made
 * as its step's user. How long one takes its user decides, so nobody's may cost the others theirs: a user has so much
 * of a sweep, all have no more than leaves room in the timer's, and what failed is tried again after all others. */
#include "spank/warden/late.h"
#include "spank/warden/brief.h"
#include "spank/warden/child.h"
#include "spank/warden/quota.h"
#include "spank/warden/settle.h"
#include "spank/warden/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REPORT_SECONDS 600.0 /* one may take */
#define USER_SECONDS 600.0   /* then no other of this user's is begun */
#define SWEEP_SECONDS 900.0  /* then no other is begun: contrib/systemd/mpitrace-sweep.service has 1800 */
#define AGAIN_SECONDS 600    /* before the next try */
#define USERS_MAX 64	     /* in one sweep */
#define TRIED "tried-"

struct late {
	const char *program;
	struct late_count *count;
	double seconds; /* used up */
	struct {
		uid_t uid;
		double seconds;
	} users[USERS_MAX];
	unsigned nusers;
};

static double *used_by(struct late *l, uid_t uid)
{
	unsigned i = 0;
	while (i < l->nusers && l->users[i].uid != uid)
		i++;
	if (i == USERS_MAX)
		return NULL;
	if (i == l->nusers) {
		l->users[i].uid = uid;
		l->users[l->nusers++].seconds = 0;
	}
	return &l->users[i].seconds;
}

/* The record has its own directory for as long as it is read: brief_read() takes one named `layout`. */
static int read_record(int late_fd, const char *name, struct brief *ret_brief)
{
	char dir[] = ".now";
	mkdirat(late_fd, dir, 0700);
	int fd = openat(late_fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlinkat(fd, "layout", 0);
	int rc = linkat(late_fd, name, fd, "layout", 0) == 0 ? brief_read(fd, ret_brief) : -errno;
	unlinkat(fd, "layout", 0);
	close(fd);
	unlinkat(late_fd, dir, AT_REMOVEDIR);
	return rc;
}

/* An exit code, or negative: there is no report. */
static int make_report(struct late *l, const struct brief *b, double *used)
{
	double begin = seconds_now();
	int code = settle_report(l->program, b, REPORT_SECONDS, 0, false, true);
	*used += seconds_now() - begin;
	l->seconds += seconds_now() - begin;
	return code;
}

static void note_try(int late_fd, const char *name, const char *title)
{
	char tried[SPOOL_NAME_MAX * 2 + sizeof(TRIED)];
	if (snprintf(tried, sizeof(tried), TRIED "%s", title) >= (int)sizeof(tried))
		return;
	if (strcmp(tried, name) != 0)
		renameat(late_fd, name, late_fd, tried);
	fchmodat(late_fd, tried, 0600, 0); /* its time of status says when */
}

static void try_one(struct late *l, int late_fd, const char *name, const char *title, double age_seconds)
{
	struct brief brief;
	int code = read_record(late_fd, name, &brief);
	double *used = code == 0 ? used_by(l, brief.who.uid) : NULL;
	if (code == 0 && (used == NULL || *used >= USER_SECONDS || l->seconds >= SWEEP_SECONDS))
		return;
	if (code == 0)
		code = make_report(l, &brief, used);
	bool made = code == 0 || code == 4; /* cli/cli.h: EXIT_PARTIAL */
	if (made || age_seconds > quotas[QUOTA_LATE].age_seconds) {
		printf("%s: %s\n", title, made ? "report made" : "no report was made within a day: given up");
		l->count->made += made;
		unlinkat(late_fd, name, 0);
		return;
	}
	printf("%s: no report yet (%d)\n", title, code);
	note_try(late_fd, name, title);
}

static int sweep_untried(int late_fd, const char *name, void *context)
{
	struct stat st;
	if (strncmp(name, TRIED, strlen(TRIED)) != 0 && fstatat(late_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		try_one(context, late_fd, name, name, difftime(time(NULL), st.st_mtime));
	return 0;
}

static int sweep_tried(int late_fd, const char *name, void *context)
{
	struct stat st;
	if (strncmp(name, TRIED, strlen(TRIED)) != 0 || fstatat(late_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	if (difftime(time(NULL), st.st_ctime) >= AGAIN_SECONDS)
		try_one(context, late_fd, name, name + strlen(TRIED), difftime(time(NULL), st.st_mtime));
	return 0;
}

static int count_one(int late_fd, const char *name, void *context)
{
	struct late_count *count = context;
	(void)late_fd, (void)name;
	count->left++;
	return 0;
}

void late_sweep(int late_fd, const char *program, struct late_count *count)
{
	struct late l = {.program = program, .count = count};
	spool_each(late_fd, sweep_untried, &l);
	spool_each(late_fd, sweep_tried, &l);
	spool_each(late_fd, count_one, count);
}
