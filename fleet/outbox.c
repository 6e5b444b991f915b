/* outbox.c - see outbox.h. */
#include "fleet/outbox.h"
#include "fleet/outbox_file.h"

#include "base/fnv.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define ID_SHOWN 100

uint64_t outbox_random(void)
{
	uint64_t number = 0;
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
		number = (uint64_t)getpid();
	return number;
}

static void make_name(const char *id, uint64_t number, const char *suffix, char *ret_name, size_t cap)
{
	char plain[ID_SHOWN + 1];
	size_t n = 0;
	for (; id[n] != '\0' && n < ID_SHOWN; n++)
		plain[n] = (char)(isalnum((unsigned char)id[n]) || strchr("._-", id[n]) != NULL ? id[n] : '_');
	plain[n] = '\0';
	snprintf(ret_name, cap, "j%s.%016llx%s", plain, (unsigned long long)number, suffix);
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

int outbox_write(int dir_fd, const char *name, const char *text)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), rc;
	if (fd < 0)
		return -errno;
	rc = write_all(fd, text, strlen(text));
	if (rc == 0)
		rc = write_all(fd, "\n", 1);
	if (rc == 0 && (fchmod(fd, 0640) != 0 || fsync(fd) != 0))
		rc = -errno;
	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

/* Under a name that the text has: who leaves the same again, as a finisher does that found the report made, leaves
 * nothing more. Where somebody else has that name it gets another one. */
static int give_name(int dir_fd, const char *temporary, const char *id, const char *text)
{
	char name[ID_SHOWN + 64];
	make_name(id, fnv_text(FNV_SEED, text), OUTBOX_SUFFIX, name, sizeof(name));
	if (renameat(dir_fd, temporary, dir_fd, name) == 0)
		return 0;
	make_name(id, outbox_random(), OUTBOX_SUFFIX, name, sizeof(name));
	return renameat(dir_fd, temporary, dir_fd, name) != 0 ? -errno : 0;
}

int outbox_put(int dir_fd, const char *id, const char *text, struct error *e)
{
	char name[ID_SHOWN + 64], temporary[ID_SHOWN + 72];
	if (geteuid() == 0)
		return fail(e, -EPERM, "root's own steps leave no record: root writes nothing where others may");
	make_name(id, outbox_random(), OUTBOX_SUFFIX, name, sizeof(name));
	snprintf(temporary, sizeof(temporary), ".%s.tmp", name);
	int rc = outbox_write(dir_fd, temporary, text);
	if (rc == 0)
		rc = give_name(dir_fd, temporary, id, text);
	if (rc == -EEXIST) /* somebody else's, under our name */
		return fail(e, rc, "outbox: a file %s is there already", temporary);
	if (rc < 0) {
		unlinkat(dir_fd, temporary, 0);
		return fail(e, rc, "outbox: cannot write the record: %s", strerror(-rc));
	}
	(void)fsync(dir_fd); /* the name, too; a directory that may not be read has no such call on some systems */
	return 0;
}

bool outbox_is_full(int dir_fd)
{
	struct statvfs v;
	if (fstatvfs(dir_fd, &v) != 0)
		return false;
	uint64_t part = (uint64_t)v.f_blocks / OUTBOX_FREE_PART,
		 most = OUTBOX_FREE_BYTES / (v.f_frsize > 0 ? v.f_frsize : 1);
	return v.f_bavail < (part < most ? part : most) || (v.f_files > 0 && v.f_favail < v.f_files / 1000);
}

int outbox_put_full(int dir_fd, const char *what, struct error *e)
{
	char name[ID_SHOWN + 64];
	if (geteuid() == 0)
		return fail(e, -EPERM, "root's own steps leave no record: root writes nothing where others may");
	make_name("", fnv_text(FNV_SEED, what), OUTBOX_FULL_SUFFIX, name, sizeof(name));
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640), rc = -errno;
	if (fd >= 0)
		close(fd);
	bool counted = fd >= 0 || rc == -EEXIST;
	return fail(e, counted ? -ENOSPC : rc, "outbox: its file system is nearly full: no record was written%s",
		    counted ? ", which is counted when records are collected" : "");
}
