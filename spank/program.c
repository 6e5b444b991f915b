/* program.c - see program.h. In: the command as Slurm has it, the file that it names.  Out: a notice. */
#include "spank/program.h"
#include "base/multi_prog.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* A program without an interpreter is one that the loader, and what is preloaded, never comes to. */
static bool is_static(int fd)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;
	struct stat st;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(part))
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++)
		if (pread(fd, &part, sizeof(part), (off_t)(head.e_phoff + i * sizeof(part))) != sizeof(part) ||
		    part.p_type == PT_INTERP)
			return false;
	return head.e_phnum > 0;
}

/* Of a script the kernel heeds no rights. One that cannot be read is none: its shell could not. */
static bool is_script(int fd)
{
	char head[2];
	return fd >= 0 && pread(fd, head, sizeof(head), 0) == sizeof(head) && memcmp(head, "#!", sizeof(head)) == 0;
}

/* That an ordinary user gets by running it: some of them, or one at once (cap_bprm_creds_from_file() of the kernel). */
static bool has_capabilities(const char *path)
{
	struct vfs_cap_data caps;
	memset(&caps, 0, sizeof(caps)); /* version 1 has the first half; of version 3 is what a container's root gave */
	ssize_t n = getxattr(path, "security.capability", &caps, sizeof(caps));
	return n >= (ssize_t)XATTR_CAPS_SZ_1 && ((le32toh(caps.magic_etc) & VFS_CAP_FLAGS_EFFECTIVE) != 0 ||
						 caps.data[0].permitted != 0 || caps.data[1].permitted != 0);
}

/* Why the kernel tells the loader AT_SECURE of it, which then preloads nothing by a path (ld.so(8)); NULL: it does
 * not. */
static const char *rights(const char *path)
{
	struct stat st;
	struct statvfs fs;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || statvfs(path, &fs) != 0 || (fs.f_flag & ST_NOSUID) != 0)
		return NULL;
	bool changes = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
	if (changes && (st.st_mode & S_ISUID) != 0 && st.st_uid != getuid())
		return "is set-user-id";
	if (changes && (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		return "is set-group-id";
	return has_capabilities(path) ? "has file capabilities" : NULL;
}

/* As execvp(3) finds it. */
static bool find(spank_t sp, const char *name, char ret_path[PATH_MAX])
{
	const char *dirs = sl_env(sp, "PATH");
	if (strchr(name, '/') != NULL)
		return snprintf(ret_path, PATH_MAX, "%s", name) < PATH_MAX && access(ret_path, F_OK) == 0;
	while (dirs != NULL && *dirs != '\0') {
		size_t len = strcspn(dirs, ":");
		if (snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)len, dirs, name) < PATH_MAX &&
		    access(ret_path, X_OK) == 0)
			return true;
		dirs += len + (dirs[len] != '\0');
	}
	return false;
}

static bool holds(int fd, const char *text)
{
	char part[4096];
	size_t left = strlen(text);
	struct stat st;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	for (ssize_t n; left > 0; text += n, left -= (size_t)n) {
		n = read(fd, part, left < sizeof(part) ? left : sizeof(part));
		if (n <= 0 || memcmp(part, text, (size_t)n) != 0)
			return false;
	}
	return true;
}

/* Is the command the file of `srun --multi-prog`, behind which srun puts its text? It may be on the login node only. */
static bool is_multi_prog(spank_t sp, char *const *argv)
{
	char path[PATH_MAX];
	int fd = open_file(argv[0]);
	bool is = fd >= 0 ? holds(fd, argv[1]) : errno == ENOENT && !find(sp, argv[0], path);
	if (fd >= 0)
		close(fd);
	return is;
}

void program_check(spank_t sp, struct notice *n)
{
	char **argv, path[PATH_MAX], of_task[PATH_MAX];
	uint32_t task;
	int argc = sl_argv(sp, &argv);
	const char *name = argc > 0 ? argv[0] : "";
	if (argc > 1 && sl_number(sp, S_TASK_GLOBAL_ID, &task) &&
	    multi_prog_program(argv[1], task, of_task, sizeof(of_task)) && is_multi_prog(sp, argv))
		name = of_task;
	if (!find(sp, name, path))
		return;
	int fd = open_file(path);
	const char *why = is_script(fd) ? NULL : rights(path);
	if (fd >= 0 && is_static(fd))
		notice_set(n, NOTICE_STATIC, "%s is linked statically: no tracer can be preloaded into it", name);
	else if (why != NULL)
		notice_set(n, NOTICE_RIGHTS, "%s %s: nothing can be preloaded into it", name, why);
	if (fd >= 0)
		close(fd);
}
