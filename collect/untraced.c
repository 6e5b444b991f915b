/* untraced.c - see untraced.h. In: "<pid> <failed|silent> <why>" lines in ranks/untraced, ranks/unsaid and names beside
 * it. */
#include "collect/untraced.h"

#include "format/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
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
