/* policy_directory.c - see policy_directory.h. The directory is made under a name of its own and renamed when it is the
 * user's: another node that finds it there finds it whole. */
#include "spank/policy_directory.h"
#include "spank/slurm.h"
#include "warden/central.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PATIENCE_MS 1000
#define NAME_BYTES 300

/* Those who may read may search; what is made in it has its group. */
static mode_t mode_of(gid_t readers, unsigned mask)
{
	return (0777 & ~mask) | (readers != (gid_t)-1 ? S_ISGID : 0);
}

static bool give(int dir_fd, const char *name, const struct policy_place *p)
{
	bool to_readers = p->readers != (gid_t)-1;
	int fd = openat(dir_fd, name, OPEN_DIRECTORY);
	bool given = fd >= 0 && fchown(fd, p->uid, to_readers ? p->readers : p->gid) == 0 &&
		     fchmod(fd, mode_of(p->readers, p->mask)) == 0;
	if (fd >= 0)
		close(fd);
	return given;
}

/* 0, or an errno. */
static int make(int dir_fd, const struct policy_place *p)
{
	char temporary[NAME_BYTES];
	uint64_t unique = (uint64_t)getpid();
	struct stat st;
	if (fstatat(dir_fd, p->user, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (fstat(dir_fd, &st) != 0 || st.st_uid != 0 || (st.st_mode & 022) != 0)
		return EPERM;
	if (getrandom(&unique, sizeof(unique), GRND_NONBLOCK) < 0)
		unique ^= (uint64_t)time(NULL) << 32;
	snprintf(temporary, sizeof(temporary), ".new-%.200s-%llx", p->user, (unsigned long long)unique);
	if (mkdirat(dir_fd, temporary, 0700) != 0)
		return errno;
	if (give(dir_fd, temporary, p) && renameat2(dir_fd, temporary, dir_fd, p->user, RENAME_NOREPLACE) == 0)
		return 0;
	int rc = errno;
	unlinkat(dir_fd, temporary, AT_REMOVEDIR);
	return rc == EEXIST ? 0 : rc; /* another node was first */
}

/* The child. */
static void make_and_tell(const struct policy_place *p, int answer_fd)
{
	int dir_fd = open(p->directory, OPEN_DIRECTORY);
	int rc = dir_fd < 0 ? errno : make(dir_fd, p);
	struct policy_usage usage = {0};
	if (dir_fd >= 0) {
		usage.user_bytes = central_usage(dir_fd, p->user);
		usage.all_bytes = central_usage(dir_fd, CENTRAL_ALL);
	}
	if (write(answer_fd, &usage, sizeof(usage)) != (ssize_t)sizeof(usage))
		rc = rc != 0 ? rc : EIO;
	_exit(rc & 0xff);
}

/* The child's exit code, ETIMEDOUT when it was given up. */
static int wait_for(pid_t pid)
{
	struct timespec nap = {.tv_nsec = 1000000};
	int status = 0;
	for (int i = 0; i < PATIENCE_MS; i++) {
		pid_t got = waitpid(pid, &status, WNOHANG);
		if (got == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
		if (got < 0 && errno != EINTR)
			return 0; /* somebody else has waited for it */
		nanosleep(&nap, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, WNOHANG);
	return ETIMEDOUT;
}

void policy_directory(const struct policy_place *p, struct policy_usage *ret_usage)
{
	int ends[2];
	memset(ret_usage, 0, sizeof(*ret_usage));
	if (strchr(p->user, '/') != NULL || p->user[0] == '.' || p->user[0] == '\0' ||
	    pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return;
	pid_t pid = fork();
	if (pid == 0)
		make_and_tell(p, ends[1]);
	close(ends[1]);
	int rc = pid > 0 ? wait_for(pid) : errno;
	struct policy_usage usage;
	if (read(ends[0], &usage, sizeof(usage)) == (ssize_t)sizeof(usage))
		*ret_usage = usage;
	close(ends[0]);
	if (rc != 0)
		sl_error("policy: cannot make %s/%s: %s; it must be root's alone, or hold a directory for each user",
			 p->directory, p->user, strerror(rc));
}
