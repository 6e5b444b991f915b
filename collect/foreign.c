/* foreign.c - see foreign.h. All of it is read as the user who runs the process. */
#include "collect/foreign.h"

#include "base/libmpi.h"
#include "base/path.h"
#include "base/slurp.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FRONT "libmpitrace.so"
#define TRACER "libmpitrace-"
#define READ_BYTES (64u << 10)
#define PROGRAM_BYTES_MAX (256ll << 20) /* that are searched for MPI's names */
#define OPEN_TO_OTHERS (-1)		/* the tracer writes to no directory that others may write */

enum { HAS_MPI = 1, HAS_FRONT = 2, HAS_TRACER = 4 };

static FILE *open_of(pid_t pid, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static unsigned kind_of(const char *library)
{
	static const char *const names[] = LIBMPI_NAMES;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (begins(library, names[i]))
			return HAS_MPI;
	return begins(library, FRONT) ? HAS_FRONT : begins(library, TRACER) ? HAS_TRACER : 0;
}

/* What is mapped of a library's name. -errno: it is hidden. */
static int loaded(pid_t pid)
{
	char line[PATH_MAX + 128];
	unsigned has = 0;
	FILE *f = open_of(pid, "maps");
	if (f == NULL)
		return -errno;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strchr(line, '/') != NULL)
			has |= kind_of(path_name(line));
	fclose(f);
	return (int)has;
}

/* As its program was started with it, and with that in its value. */
static bool has_variable(pid_t pid, const char *name, const char *part)
{
	char *text = NULL;
	size_t cap = 0;
	bool found = false;
	FILE *f = open_of(pid, "environ");
	while (f != NULL && !found && getdelim(&text, &cap, '\0', f) > 0)
		found = begins(text, name) && strstr(text, part) != NULL;
	free(text);
	if (f != NULL)
		fclose(f);
	return found;
}

/* No loader is in it (getauxval(3)). */
static bool is_static(pid_t pid)
{
	Elf64_auxv_t at;
	bool known = false, has_loader = false;
	FILE *f = open_of(pid, "auxv");
	while (f != NULL && fread(&at, sizeof(at), 1, f) == 1) {
		known |= at.a_type == AT_PHDR;
		has_loader |= at.a_type == AT_BASE && at.a_un.a_val != 0;
	}
	if (f != NULL)
		fclose(f);
	return known && !has_loader;
}

/* The names are in its table of symbols, or in MPI's own messages. */
static bool names_mpi(int fd)
{
	static const char c[] = "MPI_Init", fortran[] = "mpi_init_";
	static char part[READ_BYTES + sizeof(fortran)];
	struct stat st;
	size_t kept = 0;
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > PROGRAM_BYTES_MAX)
		return false;
	for (ssize_t n; (n = read(fd, part + kept, READ_BYTES)) > 0;) {
		size_t len = kept + (size_t)n;
		if (memmem(part, len, c, sizeof(c) - 1) != NULL ||
		    memmem(part, len, fortran, sizeof(fortran) - 1) != NULL)
			return true;
		kept = len < sizeof(fortran) ? len : sizeof(fortran);
		memmove(part, part + len - kept, kept);
	}
	return false;
}

static bool file_names_mpi(const char *dir, const char *path)
{
	int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool found = names_mpi(fd);
	if (fd >= 0)
		close(fd);
	if (dir_fd >= 0)
		close(dir_fd);
	return found;
}

/* A process that gained rights by its program's file is hidden from its user, but for how it was called. */
static bool has_rights(const char *dir, const char *called)
{
	char path[PATH_MAX], value[64];
	struct stat st;
	bool whole = called[0] == '/' ? snprintf(path, sizeof(path), "%s", called) < (int)sizeof(path)
				      : snprintf(path, sizeof(path), "%s/%s", dir, called) < (int)sizeof(path);
	return whole && stat(path, &st) == 0 &&
	       ((st.st_mode & (S_ISUID | S_ISGID)) != 0 ||
		getxattr(path, "security.capability", value, sizeof(value)) > 0) &&
	       file_names_mpi(dir, called);
}

static bool same_root(pid_t pid)
{
	char path[64];
	struct stat its, ours;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return stat(path, &its) != 0 || stat("/", &ours) != 0 ||
	       (its.st_dev == ours.st_dev && its.st_ino == ours.st_ino);
}

/* 0, or why this process cannot write to the step's directory: errno(3), OPEN_TO_OTHERS. */
static int blindness(pid_t pid, const char *ranks)
{
	char path[PATH_MAX + 64];
	struct stat st;
	if (ranks == NULL || !has_variable(pid, "MPITRACE_DIR=", ranks))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, ranks);
	int why = access(path, W_OK | X_OK) != 0 || stat(path, &st) != 0 ? errno
		  : (st.st_mode & (S_IWGRP | S_IWOTH)) != 0		 ? OPEN_TO_OTHERS
									 : 0;
	snprintf(path, sizeof(path), "/proc/%d/root/", (int)pid);
	return access(path, F_OK) == 0 ? why : 0;
}

static void name_of(pid_t pid, char ret_name[PATH_MAX])
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, ret_name, PATH_MAX - 1);
	ret_name[n > 0 ? n : 0] = '\0';
	memmove(ret_name, path_name(ret_name), strlen(path_name(ret_name)) + 1);
}

/* Of a program that has an MPI library. */
static const char *why_without(pid_t pid, unsigned has)
{
	if ((has & HAS_FRONT) != 0)
		return "was started without the MPITRACE_DIR of its step (env -i or -u, unset, a TaskProlog): pass it "
		       "on";
	if (!has_variable(pid, "LD_PRELOAD=", FRONT))
		return "was started without the LD_PRELOAD of its step (env -i or -u, unset, a TaskProlog): pass it "
		       "and MPITRACE_DIR on";
	if (!same_root(pid))
		return "has another root directory (chroot, container): make the library of LD_PRELOAD and the "
		       "directory of MPITRACE_DIR visible in it";
	return "has a loader that does not preload the library of LD_PRELOAD";
}

static enum foreign hidden(pid_t pid, const char *dir, char *ret_why, size_t cap_bytes)
{
	char path[64], called[PATH_MAX];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	if (slurp(path, called, sizeof(called)) == 0 || !has_rights(dir, called))
		return FOREIGN_UNKNOWN;
	snprintf(ret_why, cap_bytes,
		 "%s is set-user-id or has file capabilities, nothing can be preloaded into it: run a copy of it",
		 path_name(called));
	return FOREIGN_MISSED;
}

/* It has what is preloaded. The tracer itself comes with the first call of MPI. */
static enum foreign traced(pid_t pid, bool calls, const char *ranks, const char *name, char *ret_why, size_t cap_bytes)
{
	int why = blindness(pid, ranks);
	if (why == 0)
		return FOREIGN_FINE;
	if (!calls)
		return FOREIGN_UNKNOWN;
	if (why == OPEN_TO_OTHERS)
		snprintf(ret_why, cap_bytes,
			 "%s does not write to the directory of MPITRACE_DIR, which chmod let others write: leave its "
			 "mode alone",
			 name);
	else
		snprintf(ret_why, cap_bytes,
			 "%s cannot write to the directory of MPITRACE_DIR (%s, as in a container): make it visible "
			 "there",
			 name, strerror(why));
	return FOREIGN_MISSED;
}

enum foreign foreign_classify(pid_t pid, const char *ranks, const char *dir, char *ret_why, size_t cap_bytes)
{
	char path[64], name[PATH_MAX];
	int has = loaded(pid);
	if (has < 0)
		return has == -EACCES || has == -EPERM ? hidden(pid, dir, ret_why, cap_bytes) : FOREIGN_UNKNOWN;
	name_of(pid, name);
	if (has == 0 && !is_static(pid))
		return FOREIGN_UNKNOWN;
	if (has == 0) {
		snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
		if (!file_names_mpi("/", path))
			return FOREIGN_FINE;
		snprintf(ret_why, cap_bytes,
			 "%s is linked statically, no tracer can be preloaded into it: link it with MPI's shared "
			 "libraries",
			 name);
		return FOREIGN_MISSED;
	}
	if ((has & HAS_TRACER) != 0 || ((has & HAS_FRONT) != 0 && has_variable(pid, "MPITRACE_DIR=", "/")))
		return traced(pid, (has & HAS_TRACER) != 0, ranks, name, ret_why, cap_bytes);
	if ((has & HAS_MPI) == 0)
		return FOREIGN_UNKNOWN;
	snprintf(ret_why, cap_bytes, "%s %s", name, why_without(pid, (unsigned)has));
	return FOREIGN_MISSED;
}
