/* policy_directory.c - see policy_directory.h. The directory is made under a name of its own and renamed when it is the
 * user's: another node that finds it there finds it whole. */
#include "spank/policy_directory.h"
#include "base/ask.h"
#include "spank/slurm.h"
#include "spank/warden/central.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
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

static bool hand_over(int dir_fd, const char *name, const struct policy_place *p)
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
	if (hand_over(dir_fd, temporary, p) && renameat2(dir_fd, temporary, dir_fd, p->user, RENAME_NOREPLACE) == 0)
		return 0;
	int rc = errno;
	unlinkat(dir_fd, temporary, AT_REMOVEDIR);
	return rc == EEXIST ? 0 : rc; /* another node was first */
}

static void make_and_report(const void *question, int fd)
{
	const struct policy_place *p = question;
	int dir_fd = open(p->directory, OPEN_DIRECTORY);
	int rc = dir_fd < 0 ? errno : make(dir_fd, p);
	uint64_t mine = 0, all = 0;
	if (dir_fd >= 0) {
		mine = central_usage(dir_fd, p->user);
		all = central_usage(dir_fd, CENTRAL_ALL);
	}
	dprintf(fd, "%d %" PRIu64 " %" PRIu64, rc, mine, all);
}

bool policy_directory(const struct policy_place *p, struct policy_usage *ret_usage)
{
	_cleanup_buf_ struct buf text = {0};
	int rc = ETIMEDOUT;
	memset(ret_usage, 0, sizeof(*ret_usage));
	if (strchr(p->user, '/') != NULL || p->user[0] == '.' || p->user[0] == '\0')
		return true;
	bool whole = ask_in_child(make_and_report, p, PATIENCE_MS, 128, &text);
	buf_u8(&text, '\0');
	whole = whole && !buf_failed(&text) &&
		sscanf((const char *)text.data, "%d %" SCNu64 " %" SCNu64, &rc, &ret_usage->user_bytes,
		       &ret_usage->all_bytes) == 3;
	if (rc != 0)
		sl_error("policy: cannot make %s/%s: %s; it must be root's alone, or hold a directory for each user",
			 p->directory, p->user, strerror(rc));
	return whole;
}
