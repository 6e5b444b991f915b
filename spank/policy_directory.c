/* policy_directory.c - see policy_directory.h. The directory is made under a name of its own and renamed when it is the
 * user's: another node that finds it there finds it whole. */
#include "spank/policy_directory.h"
#include "spank/slurm.h"

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

static bool give(int dir_fd, const char *name, uid_t uid, gid_t gid, gid_t readers, unsigned mask)
{
	int fd = openat(dir_fd, name, OPEN_DIRECTORY);
	bool given = fd >= 0 && fchown(fd, uid, readers != (gid_t)-1 ? readers : gid) == 0 &&
		     fchmod(fd, mode_of(readers, mask)) == 0;
	if (fd >= 0)
		close(fd);
	return given;
}

/* In the child. 0, or an errno. */
static int make(const char *directory, const char *user, uid_t uid, gid_t gid, gid_t readers, unsigned mask)
{
	char temporary[NAME_BYTES];
	uint64_t unique = (uint64_t)getpid();
	struct stat st;
	int dir_fd = open(directory, OPEN_DIRECTORY);
	if (dir_fd < 0)
		return errno;
	if (fstatat(dir_fd, user, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (fstat(dir_fd, &st) != 0 || st.st_uid != 0 || (st.st_mode & 022) != 0)
		return EPERM;
	if (getrandom(&unique, sizeof(unique), GRND_NONBLOCK) < 0)
		unique ^= (uint64_t)time(NULL) << 32;
	snprintf(temporary, sizeof(temporary), ".new-%.200s-%llx", user, (unsigned long long)unique);
	if (mkdirat(dir_fd, temporary, 0700) != 0)
		return errno;
	if (give(dir_fd, temporary, uid, gid, readers, mask) &&
	    renameat2(dir_fd, temporary, dir_fd, user, RENAME_NOREPLACE) == 0)
		return 0;
	int rc = errno;
	unlinkat(dir_fd, temporary, AT_REMOVEDIR);
	return rc == EEXIST ? 0 : rc; /* another node was first */
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

void policy_directory(const char *directory, const char *user, uid_t uid, gid_t gid, gid_t readers, unsigned mask)
{
	if (strchr(user, '/') != NULL || user[0] == '.' || user[0] == '\0')
		return;
	pid_t pid = fork();
	if (pid == 0)
		_exit(make(directory, user, uid, gid, readers, mask) & 0xff);
	int rc = pid > 0 ? wait_for(pid) : errno;
	if (rc != 0)
		sl_complain("policy: cannot make %s/%s: %s; it must be root's alone, or hold a directory for each user",
			    directory, user, strerror(rc));
}
