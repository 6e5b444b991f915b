/* epilog.c - see epilog.h, warden.h. A job has ended on this node: all its processes are gone. As a rule its steps'
 * wardens have done everything. */
#include "spank/warden/epilog.h"
#include "spank/warden/child.h"
#include "spank/warden/lock.h"
#include "spank/warden/remove.h"
#include "spank/warden/teardown.h"
#include "spank/warden/spool.h"
#include "spank/warden/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct visit {
	const char *spool, *run, *program;
	double busy_seconds;
};

static double age_seconds(int step_fd)
{
	struct stat st;
	return fstatat(step_fd, "layout", &st, AT_SYMLINK_NOFOLLOW) == 0 ? difftime(time(NULL), st.st_mtime) : 0;
}

/* 1 when it has to stay. */
static int end_step(int run_fd, const char *name, void *context)
{
	const struct visit *v = context;
	char dir[PATH_MAX];
	struct step_facts step_facts;
	int step_fd = strncmp(name, "step-", 5) == 0
			      ? openat(run_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
			      : -1;
	if (step_fd < 0 || snprintf(dir, sizeof(dir), "%s/live/%s/%s", v->spool, v->run, name) >= (int)sizeof(dir))
		return 0;
	spool_mark(step_fd, "done");
	int lock_fd = lock_take_over(step_fd, v->busy_seconds);
	struct teardown s = {.spool = v->spool,
			     .program = v->program,
			     .dir = dir,
			     .step_fd = step_fd,
			     .step_facts = &step_facts,
			     .ran_seconds = age_seconds(step_fd),
			     .job_is_over = true};
	if (lock_fd >= 0 && step_facts_read(step_fd, &step_facts) == 0)
		teardown_step(&s);
	if (lock_fd >= 0)
		teardown_remove(step_fd, dir);
	close(step_fd);
	if (lock_fd >= 0)
		close(lock_fd);
	return lock_fd < 0 && lock_fd != -ENOENT; /* it has been removed while we waited */
}

bool epilog_run(const char *spool, int live_fd, const char *run, const char *program, double busy_seconds)
{
	struct visit v = {spool, run, program, busy_seconds};
	int run_fd = openat(live_fd, run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (run_fd < 0)
		return true;
	bool left = spool_each(run_fd, end_step, &v) != 0;
	close(run_fd);
	return !left && remove_tree(live_fd, run) == 0;
}

int warden_epilog(const char *spool, const char *program, char *const runs[], int nruns)
{
	int live_fd = spool_open(spool, "live", false, NULL);
	for (int i = 0; live_fd >= 0 && i < nruns; i++)
		epilog_run(spool, live_fd, runs[i], program, TEARDOWN_SECONDS);
	if (live_fd >= 0)
		close(live_fd);
	return 0;
}
