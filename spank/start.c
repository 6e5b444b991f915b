/* start.c - see start.h. The process is forked twice: slurmd kills the process group of an epilog as soon as that ends,
 * and nobody shall have to wait for it. */
#include "spank/start.h"
#include "spank/warden/environment.h"
#include "spank/policy/policy.h"
#include "spank/warden/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WARDEN "mpitrace-warden"
#define ARGS_MAX 72
#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_BYTES "1073741824" /* of all agents and reports of a node */

static void write_to(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX + 64];
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
		return; /* cut it would be another's */
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		errno = 0; /* not a controller of this machine's */
	close(fd);
}

/* The group of version 2: beside the jobs we have one of our own. `path` is the job's, cut. */
static void enter_own_group(const char *path)
{
	char dir[2 * PATH_MAX];
	snprintf(dir, sizeof(dir), CGROUP_ROOT "%s/mpitrace", path);
	mkdir(dir, 0755);
	write_to(dir, "memory.max", CGROUP_BYTES);
	write_to(dir, "cgroup.procs", "0");
}

/* "9:freezer:/slurm/uid_1/job_2": to the root of that hierarchy, as slurmstepd itself goes there when it ends. What we
 * take is bounded by limits of each process (spank/warden/child.h). */
static void enter_root_group(const char *controllers)
{
	char dir[PATH_MAX];
	if ((size_t)snprintf(dir, sizeof(dir), CGROUP_ROOT "/%s", controllers) < sizeof(dir))
		write_to(dir, "cgroup.procs", "0");
}

/* slurmstepd is in groups of its job: of version 2 in .../job_<id>/step_<id>/slurm, of version 1 in .../job_<id> of the
 * freezer, in others by the time and version. None of them can be removed while we are there. */
static void leave_job_groups(void)
{
	char line[PATH_MAX];
	FILE *f = fopen("/proc/self/cgroup", "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(++controllers, ':') : NULL,
		     *job = path != NULL ? strstr(path, "/job_") : NULL;
		if (job == NULL)
			continue;
		*path++ = *job = '\0';
		if (*controllers == '\0')
			enter_own_group(path);
		else
			enter_root_group(controllers);
	}
	if (f != NULL)
		fclose(f);
}

static void run(const char *program, char *const argv[], int pipe_fd)
{
	setsid();
	leave_job_groups(); /* while somebody waits for us: a step may end at once, and its groups with it */
	if (fork() != 0)
		_exit(0);
	if (detach_self(&pipe_fd, pipe_fd >= 0 ? 1 : 0))
		execve(program, argv, environment_clean());
	_exit(127);
}

int start_warden(const struct config *c, const char *const *args, int pipe_fd, struct error *e)
{
	char program[PATH_MAX + 32], mpitrace[PATH_MAX + 16];
	const char *argv[ARGS_MAX] = {WARDEN, args[0], c->spool, mpitrace};
	snprintf(program, sizeof(program), "%s/" WARDEN, c->libexecdir);
	snprintf(mpitrace, sizeof(mpitrace), "%s/mpitrace", c->bindir);
	if (!program_is_trusted(program))
		return fail(e, -EACCES,
			    "%s: missing, not root's, or not root's alone to write; set libexecdir= in plugstack.conf",
			    program);
	if (!program_is_trusted(mpitrace))
		return fail(e, -EACCES,
			    "%s: missing, not root's, or not root's alone to write; set bindir= in plugstack.conf",
			    mpitrace);
	int n = 4;
	for (int i = 1; args[i] != NULL && n + 3 < ARGS_MAX; i++)
		argv[n++] = args[i];
	if (c->policy[0] != '\0') { /* who makes the report has no SLURM_CONF by which to find it */
		argv[n++] = "--policy";
		argv[n++] = c->policy;
	}
	pid_t child = fork();
	if (child < 0)
		return fail(e, -errno, "cannot start %s: %s", program, strerror(errno));
	if (child == 0)
		run(program, (char *const *)argv, pipe_fd);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}
