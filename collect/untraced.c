/* untraced.c - see untraced.h. In: "<pid> <failed|silent> <why>" lines in ranks/untraced, ranks/unsaid and names beside
 * it. */
#include "collect/untraced.h"

#include "format/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* False: there are too many reasons. */
static bool add(struct untraced *u, bool failed, const char *why)
{
	uint32_t i = 0;
	while (i < u->n && (u->whys[i].failed != failed || strcmp(u->whys[i].why, why) != 0))
		i++;
	if (i == UNTRACED_WHYS_MAX)
		return false;
	if (i == u->n) {
		for (i = failed ? 0 : u->n; i < u->n && u->whys[i].failed; i++)
			;
		memmove(&u->whys[i + 1], &u->whys[i], (u->n - i) * sizeof(u->whys[0]));
		u->n++;
		u->whys[i].processes = 0;
		u->whys[i].failed = failed;
		snprintf(u->whys[i].why, sizeof(u->whys[i].why), "%s", why);
	}
	u->whys[i].processes++;
	return true;
}

/* The number is the file's length (pmpi/notes.c); no process makes it longer than the limit. */
uint64_t untraced_unsaid(const char *ranks)
{
	char path[PATH_MAX];
	struct stat st;
	bool there = snprintf(path, sizeof(path), "%s/" UNTRACED_UNSAID, ranks) < (int)sizeof(path) &&
		     lstat(path, &st) == 0 && S_ISREG(st.st_mode);
	uint64_t n = there ? (uint64_t)st.st_size : 0;
	return n < UNTRACED_UNSAID_MAX ? n : UNTRACED_UNSAID_MAX;
}

uint64_t untraced_names(const char *ranks)
{
	uint64_t n = 0;
	const struct dirent *entry;
	DIR *d = opendir(ranks);
	while (d != NULL && (entry = readdir(d)) != NULL)
		n += strncmp(entry->d_name, UNTRACED_NAME, strlen(UNTRACED_NAME)) == 0;
	if (d != NULL)
		closedir(d);
	return n;
}

static void add_unsaid(struct untraced *u, uint64_t processes, const char *why)
{
	if (processes == 0)
		return;
	u->whys[u->n].processes = processes < UINT32_MAX ? (uint32_t)processes : UINT32_MAX;
	u->whys[u->n].failed = true;
	snprintf(u->whys[u->n].why, sizeof(u->whys[u->n].why), "%s", why);
	u->n++;
}

void untraced_forget(const char *ranks)
{
	char path[PATH_MAX];
	if (untraced_unsaid(ranks) == 0 &&
	    snprintf(path, sizeof(path), "%s/" UNTRACED_UNSAID, ranks) < (int)sizeof(path))
		unlink(path);
}

/* NULL where there is none, or no regular file. */
static FILE *open_lines(const char *ranks)
{
	char path[PATH_MAX];
	struct stat st;
	int fd = snprintf(path, sizeof(path), "%s/untraced", ranks) < (int)sizeof(path)
			 ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			 : -1;
	FILE *f = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
	if (f == NULL && fd >= 0)
		close(fd);
	return f;
}

static bool is_known(const char *ranks, pid_t pid)
{
	char line[UNTRACED_WHY_MAX + 64];
	bool known = false;
	FILE *f = open_lines(ranks);
	while (f != NULL && !known && ftello(f) < UNTRACED_BYTES_MAX && fgets(line, sizeof(line), f) != NULL)
		known = strtol(line, NULL, 10) == pid;
	if (f != NULL)
		fclose(f);
	return known;
}

static int open_to_write(const char *ranks, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	int fd = snprintf(path, sizeof(path), "%s/%s", ranks, name) < (int)sizeof(path)
			 ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)
			 : -1;
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool append(const char *ranks, const char *line, size_t len_bytes)
{
	struct stat st;
	int fd = open_to_write(ranks, "untraced");
	bool whole = fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size + len_bytes <= UNTRACED_BYTES_MAX &&
		     write(fd, line, len_bytes) == (ssize_t)len_bytes;
	if (fd >= 0)
		close(fd);
	return whole;
}

/* As pmpi/notes.c does. */
static void count_unsaid(const char *ranks)
{
	struct stat st;
	int fd = open_to_write(ranks, UNTRACED_UNSAID);
	if (fd >= 0 && flock(fd, LOCK_EX) == 0 && fstat(fd, &st) == 0 && st.st_size < UNTRACED_UNSAID_MAX)
		(void)!ftruncate(fd, st.st_size + 1);
	if (fd >= 0)
		close(fd);
}

void untraced_add(const char *ranks, pid_t pid, const char *why)
{
	char line[UNTRACED_WHY_MAX + 64];
	if (is_known(ranks, pid))
		return;
	int len = snprintf(line, sizeof(line), "%d failed %s\n", (int)pid, why);
	for (int i = 0; i < len - 1; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 127)
			line[i] = '?';
	if (!append(ranks, line, (size_t)len))
		count_unsaid(ranks);
}

void untraced_read(const char *ranks, struct untraced *ret_untraced)
{
	char line[UNTRACED_WHY_MAX + 64], kind[8];
	uint64_t more = untraced_unsaid(ranks);
	int at = 0;
	*ret_untraced = (struct untraced){0};
	FILE *f = open_lines(ranks);
	/* By the place in the file: a hole is lines without a character. */
	while (f != NULL && ftello(f) < UNTRACED_BYTES_MAX && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%*d %7s %n", kind, &at) == 1 && (kind[0] == 'f' || kind[0] == 's'))
			more += !add(ret_untraced, kind[0] == 'f', line + at) && kind[0] == 'f';
	}
	if (f != NULL)
		fclose(f);
	add_unsaid(ret_untraced, more, "there was no room to say why");
	add_unsaid(ret_untraced, untraced_names(ranks),
		   "their limit of the size of files (ulimit -f) is too small to record anything, or to say why");
}
