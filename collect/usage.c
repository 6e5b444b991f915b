/* usage.c - see usage.h. Two small files a thread, opened each time: descriptors held for each would be those that the
 * program's own files need. */
#include "collect/usage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STAT_MINOR = 10, STAT_MAJOR = 12, STAT_RSS = 24, STAT_CPU = 39 }; /* fields of /proc/PID/stat */

static bool read_text(uint32_t pid, uint32_t tid, const char *name, char *ret_text, size_t cap)
{
	char path[96];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", pid, tid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, ret_text, cap - 1);
	close(fd);
	ret_text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool read_stat(const char *text, struct mpic_system *s, uint64_t *ret_resident_bytes)
{
	const char *at = strrchr(text, ')'); /* a name may have any character */
	if (at == NULL)
		return false;
	for (int field = 2; at != NULL && field <= STAT_CPU; field++) {
		uint64_t value = field > 2 ? strtoull(at, NULL, 10) : 0;
		if (field == STAT_MINOR)
			s->minor_faults = value;
		else if (field == STAT_MAJOR)
			s->major_faults = value;
		else if (field == STAT_RSS)
			*ret_resident_bytes = value * (uint64_t)sysconf(_SC_PAGESIZE);
		else if (field == STAT_CPU)
			s->cpu = value;
		at = strchr(at, ' ');
		at = at != NULL ? at + 1 : NULL;
	}
	return true;
}

bool usage_of_thread(uint32_t pid, uint32_t tid, struct mpic_system *ret_system, uint64_t *ret_resident_bytes)
{
	char text[1024];
	struct mpic_system s = {0};
	uint64_t resident;
	if (!read_text(pid, tid, "schedstat", text, sizeof(text)) ||
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &s.cpu_ns, &s.wait_ns, &s.slices) != 3)
		return false;
	if (!read_text(pid, tid, "stat", text, sizeof(text)) || !read_stat(text, &s, &resident))
		return false;
	*ret_system = s;
	*ret_resident_bytes = resident;
	return true;
}

bool usage_same_namespace(uint64_t inode)
{
	struct stat st;
	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == inode;
}
