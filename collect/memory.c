/* memory.c - see memory.h. Limits are read once: those of a step are set before it starts. */
#include "collect/memory.h"

#include "base/slurp.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define ROOT_V1 "/sys/fs/cgroup/memory"
#define ROOT_V2 "/sys/fs/cgroup"
#define TEXT_MAX 8192

static bool read_fd(int fd, char *ret_text, size_t cap)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, ret_text, cap - 1, 0);
	ret_text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* "key value", a line each. */
static uint64_t value_of(const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *at = text; at != NULL && *at != '\0';) {
		if (strncmp(at, key, n) == 0 && at[n] == ' ')
			return strtoull(at + n + 1, NULL, 10);
		at = strchr(at, '\n');
		at = at != NULL ? at + 1 : NULL;
	}
	return 0;
}

/* Where the process is, below the root of its hierarchy: of the memory controller (version 1), else of version 2. */
static bool find_group(uint32_t pid, char *ret_path, size_t cap, bool *ret_v1)
{
	char name[64], text[TEXT_MAX], *line, *rest = text;
	bool found = false;
	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/cgroup", pid);
	if (slurp(name, text, sizeof(text)) == 0)
		return false;
	while ((line = strsep(&rest, "\n")) != NULL) {
		char *controllers = strchr(line, ':'),
		     *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
		if (path == NULL || strstr(path, "/..") != NULL)
			continue;
		*path++ = '\0';
		bool v1 = strcmp(controllers, ":memory") == 0, v2 = strcmp(line, "0:") == 0;
		if (!v1 && (!v2 || found))
			continue;
		found = (size_t)snprintf(ret_path, cap, "%s%s", v1 ? ROOT_V1 : ROOT_V2, path) < cap;
		*ret_v1 = v1;
		if (v1)
			return found;
	}
	return found;
}

/* The lowest above the group and the group that has it, to which path is cut; 0: none. */
static uint64_t lowest_limit(char *path, bool v1)
{
	size_t root = strlen(v1 ? ROOT_V1 : ROOT_V2), lowest_len = 0;
	char file[PATH_MAX + 32], text[64];
	uint64_t lowest = 0;
	for (size_t len = strlen(path); len > root; len = (size_t)(strrchr(path, '/') - path)) {
		path[len] = '\0';
		snprintf(file, sizeof(file), "%s/%s", path, v1 ? "memory.limit_in_bytes" : "memory.max");
		uint64_t limit = slurp(file, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0;
		if (limit > 0 && (lowest == 0 || limit <= lowest)) { /* "max" is 0 */
			lowest = limit;
			lowest_len = len;
		}
	}
	path[lowest_len] = '\0';
	return lowest;
}

void memory_begin(struct memory *m, uint32_t pid)
{
	char path[PATH_MAX], file[PATH_MAX + 32];
	struct sysinfo node;
	if (m->probed || !find_group(pid, path, sizeof(path), &m->v1))
		return;
	m->probed = true;
	m->limit_bytes = lowest_limit(path, m->v1);
	/* Without a limit it may have all; version 1 then has a number that no machine has. */
	if (m->limit_bytes == 0 || (sysinfo(&node) == 0 && m->limit_bytes >= (uint64_t)node.totalram * node.mem_unit))
		return;
	snprintf(file, sizeof(file), "%s/memory.stat", path);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	m->stat_fd = fd + 1;
}

bool memory_now(const struct memory *m, uint64_t *ret_used_bytes)
{
	char text[TEXT_MAX];
	if (m->stat_fd == 0 || !read_fd(m->stat_fd - 1, text, sizeof(text)))
		return false;
	*ret_used_bytes = m->v1 ? value_of(text, "total_rss") + value_of(text, "total_shmem")
				: value_of(text, "anon") + value_of(text, "shmem");
	return true;
}

void memory_done(struct memory *m)
{
	if (m->stat_fd > 0)
		close(m->stat_fd - 1);
	*m = (struct memory){0};
}
