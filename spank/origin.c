/* origin.c - see origin.h. In: stat(2), statfs(2) and the kernel's boot id, at srun and at the node.
 * Under one kernel a directory is known by its device and its number. Two kernels number devices each in its own way,
 * and numbers of files differ between the clients of some file systems; but a file system on a disk or in memory is one
 * kernel's alone: where both see such a one, it is not the same. One that a network is behind is taken for the same. */
#include "spank/origin.h"
#include "base/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SUBMIT_VARIABLE "SLURM_MPITRACE_SRUN_DIR"
#define PLACE_VARIABLE "SLURM_MPITRACE_SRUN_PLACE"
#define ASK_MS 1000u
#define BOOT_CAP 40 /* with its '\0' */
#define ZFS_MAGIC 0x2fc12fc1

struct seen {
	char boot[BOOT_CAP];
	uint64_t device, number;
	unsigned is_local;
};

/* Of one kernel only. */
static bool is_local(const char *path)
{
	static const unsigned long types[] = {TMPFS_MAGIC,	RAMFS_MAGIC,	   EXT4_SUPER_MAGIC,
					      XFS_SUPER_MAGIC,	BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
					      F2FS_SUPER_MAGIC, ZFS_MAGIC};
	struct statfs fs;
	if (statfs(path, &fs) != 0)
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (((unsigned long)fs.f_type & 0xffffffffu) == types[i])
			return true;
	return false;
}

static bool read_boot(char ret_boot[BOOT_CAP])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, ret_boot, BOOT_CAP - 1) : -1;
	if (fd >= 0)
		close(fd);
	ret_boot[n > 0 ? n : 0] = '\0';
	ret_boot[strcspn(ret_boot, " \n")] = '\0';
	return ret_boot[0] != '\0';
}

/* 0 or -errno. */
static int read_origin(const char *path, struct seen *ret_seen)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return -errno;
	if (!read_boot(ret_seen->boot))
		return -ENODATA;
	ret_seen->device = st.st_dev;
	ret_seen->number = st.st_ino;
	ret_seen->is_local = is_local(path);
	return 0;
}

/* Of the first directory above that is there. One that may be written but has no room srun speaks of (submit.c). */
static void answer_place(const void *question, int fd)
{
	char path[PATH_MAX];
	struct statfs fs;
	struct seen s;
	int rc;
	snprintf(path, sizeof(path), "%s", (const char *)question);
	while ((rc = read_origin(path, &s)) == -ENOENT) {
		char *slash = strrchr(path, '/');
		if (slash == NULL || slash[1] == '\0')
			return;
		slash[slash == path] = '\0';
	}
	if (rc == 0 && (access(path, W_OK) != 0 || (statfs(path, &fs) == 0 && fs.f_bavail > 0)))
		dprintf(fd, "%s %" PRIu64 " %" PRIu64 " %u %s", s.boot, s.device, s.number, s.is_local, path);
}

static void ask_place(const char *results)
{
	_cleanup_buf_ struct buf text = {0};
	bool whole = ask_in_child(answer_place, results, ASK_MS, PATH_MAX + 100, &text);
	buf_u8(&text, '\0');
	if (whole && !buf_failed(&text) && text.len_bytes > 1)
		setenv(PLACE_VARIABLE, (const char *)text.data, 1);
}

void origin_tell(const char *submit, const char *results)
{
	unsetenv(PLACE_VARIABLE);
	unsetenv(SUBMIT_VARIABLE);
	if (submit[0] == '/')
		setenv(SUBMIT_VARIABLE, submit, 1);
	if (results != NULL)
		ask_place(results);
}

static void copy_env(spank_t sp, const char *name, char *ret_text, size_t cap_bytes)
{
	const char *text = sl_env(sp, name);
	size_t len = text != NULL ? strlen(text) : 0;
	ret_text[0] = '\0';
	if (len > 0 && len < cap_bytes)
		memcpy(ret_text, text, len + 1);
	if (text != NULL)
		sl_unsetenv(sp, name);
}

void origin_take(spank_t sp, struct origin *ret_origin)
{
	copy_env(sp, SUBMIT_VARIABLE, ret_origin->submit, sizeof(ret_origin->submit));
	copy_env(sp, PLACE_VARIABLE, ret_origin->place, sizeof(ret_origin->place));
}

struct question {
	const struct identity *who;
	const char *path;
	struct seen by_srun;
};

static bool differs(const struct seen *a, const struct seen *b)
{
	if (strcmp(a->boot, b->boot) == 0)
		return a->device != b->device || a->number != b->number;
	return a->is_local && b->is_local;
}

static void answer_elsewhere(const void *question, int fd)
{
	const struct question *q = question;
	struct seen here;
	if (!become(q->who))
		_exit(1);
	int rc = read_origin(q->path, &here);
	if (rc == -ENOENT || (rc == 0 && differs(&q->by_srun, &here)))
		dprintf(fd, "elsewhere");
}

bool origin_is_elsewhere(const struct origin *o, const struct identity *who, const char *results)
{
	_cleanup_buf_ struct buf text = {0};
	struct question q = {.who = who};
	struct seen *s = &q.by_srun;
	int at = 0;
	if (sscanf(o->place, "%39s %" SCNu64 " %" SCNu64 " %u %n", s->boot, &s->device, &s->number, &s->is_local,
		   &at) != 4 ||
	    at == 0)
		return false;
	q.path = o->place + at;
	if (q.path[0] != '/' || strncmp(results, q.path, strlen(q.path)) != 0) /* srun thinks of another one */
		return false;
	return ask_in_child(answer_elsewhere, &q, ASK_MS, 16, &text) && text.len_bytes > 0;
}
