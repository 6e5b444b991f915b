/* deferred.c - see deferred.h. In: <spool>/late/<job>.<run>.step-<step>, the records of their steps.  Out: reports,
 * each made as its step's user. How long one takes its user decides, so nobody's may cost the others theirs: a user has
 * so much of a sweep, all have no more than leaves room in the timer's, and what failed is tried again after all
 * others. */
#include "spank/warden/deferred.h"
#include "base/clock.h"
#include "base/command.h"
#include "spank/warden/step_facts.h"
#include "spank/warden/child.h"
#include "spank/warden/quota.h"
#include "spank/warden/teardown.h"
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
	struct deferred_count *count;
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

/* The record has its own directory for as long as it is read: step_facts_read() takes one named `layout`. */
static int read_record(int deferred_fd, const char *name, struct step_facts *ret_step_facts)
{
	char dir[] = ".now";
	mkdirat(deferred_fd, dir, 0700);
	int fd = openat(deferred_fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlinkat(fd, "layout", 0);
	int rc = linkat(deferred_fd, name, fd, "layout", 0) == 0 ? step_facts_read(fd, ret_step_facts) : -errno;
	unlinkat(fd, "layout", 0);
	close(fd);
	unlinkat(deferred_fd, dir, AT_REMOVEDIR);
	return rc;
}

/* An exit code, or negative: there is no report. */
static int make_report(struct late *l, const struct step_facts *b, double *used)
{
	double begin = now_s();
	int code = teardown_report(l->program, b, REPORT_SECONDS, 0, false, true);
	*used += now_s() - begin;
	l->seconds += now_s() - begin;
	return code;
}

static void note_try(int deferred_fd, const char *name, const char *title)
{
	char tried[SPOOL_NAME_MAX * 2 + sizeof(TRIED)];
	if (snprintf(tried, sizeof(tried), TRIED "%s", title) >= (int)sizeof(tried))
		return;
	if (strcmp(tried, name) != 0)
		renameat(deferred_fd, name, deferred_fd, tried);
	fchmodat(deferred_fd, tried, 0600, 0); /* its time of status says when */
}

static void try_one(struct late *l, int deferred_fd, const char *name, const char *title, double age_seconds)
{
	struct step_facts step_facts;
	int code = read_record(deferred_fd, name, &step_facts);
	double *used = code == 0 ? used_by(l, step_facts.who.uid) : NULL;
	if (code == 0 && (used == NULL || *used >= USER_SECONDS || l->seconds >= SWEEP_SECONDS))
		return;
	if (code == 0)
		code = make_report(l, &step_facts, used);
	bool made = code == EXIT_DONE || code == EXIT_PARTIAL;
	if (made || age_seconds > quotas[QUOTA_DEFERRED].age_seconds) {
		printf("%s: %s\n", title, made ? "report made" : "no report was made within a day: given up");
		l->count->made += made;
		unlinkat(deferred_fd, name, 0);
		return;
	}
	printf("%s: no report yet (%d)\n", title, code);
	note_try(deferred_fd, name, title);
}

static int sweep_untried(int deferred_fd, const char *name, void *context)
{
	struct stat st;
	if (strncmp(name, TRIED, strlen(TRIED)) != 0 && fstatat(deferred_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		try_one(context, deferred_fd, name, name, difftime(time(NULL), st.st_mtime));
	return 0;
}

static int sweep_tried(int deferred_fd, const char *name, void *context)
{
	struct stat st;
	if (strncmp(name, TRIED, strlen(TRIED)) != 0 || fstatat(deferred_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	if (difftime(time(NULL), st.st_ctime) >= AGAIN_SECONDS)
		try_one(context, deferred_fd, name, name + strlen(TRIED), difftime(time(NULL), st.st_mtime));
	return 0;
}

static int count_one(int deferred_fd, const char *name, void *context)
{
	struct deferred_count *count = context;
	(void)deferred_fd, (void)name;
	count->left++;
	return 0;
}

void deferred_sweep(int deferred_fd, const char *program, struct deferred_count *count)
{
	struct late l = {.program = program, .count = count};
	spool_each(deferred_fd, sweep_untried, &l);
	spool_each(deferred_fd, sweep_tried, &l);
	spool_each(deferred_fd, count_one, count);
}
