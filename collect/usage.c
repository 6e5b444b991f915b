/* usage.c - see usage.h. */
#include "collect/usage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fields of /proc/PID/stat. */
enum { STAT_STATE = 3, STAT_MINOR = 10, STAT_MAJOR = 12, STAT_USER = 14, STAT_RSS = 24, STAT_CPU = 39 };

static uint32_t kept; /* descriptors, of all threads; the agent has one thread */

static void close_one(int *fd)
{
	if (*fd == 0)
		return;
	close(*fd - 1);
	*fd = 0;
	kept--;
}

void usage_done(struct usage *u)
{
	for (int i = 0; i < USAGE_FILES; i++)
		close_one(&u->fds[i]);
}

/* From a file that stays open if there is room. False when the thread has ended. */
static bool read_text(struct usage *u, uint32_t pid, enum usage_file which, char *ret_text, size_t cap)
{
	static const char *const names[] = {"schedstat", "stat", "status"};
	char path[96];
	int *own = &u->fds[which], fd = *own - 1;
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", pid, u->tid, names[which]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return false;
	ssize_t n = pread(fd, ret_text, cap - 1, 0);
	if (*own == 0 && n > 0 && kept < USAGE_KEPT_MAX) {
		*own = fd + 1;
		kept++;
	} else if (*own == 0) {
		close(fd);
	} else if (n <= 0) {
		close_one(own);
	}
	ret_text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool read_stat(const char *text, struct mpic_system *s, uint64_t *ret_user_ns, uint64_t *ret_resident_bytes)
{
	const char *at = strrchr(text, ')'); /* a name may have any character */
	if (at == NULL)
		return false;
	for (int field = 2; at != NULL && field <= STAT_CPU; field++) {
		uint64_t value = field > 2 ? strtoull(at, NULL, 10) : 0;
		if (field == STAT_STATE)
			s->run_state = (uint64_t)(unsigned char)*at;
		else if (field == STAT_MINOR)
			s->minor_faults = value;
		else if (field == STAT_MAJOR)
			s->major_faults = value;
		else if (field == STAT_USER)
			*ret_user_ns = value * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
		else if (field == STAT_RSS)
			*ret_resident_bytes = value * (uint64_t)sysconf(_SC_PAGESIZE);
		else if (field == STAT_CPU)
			s->cpu = value;
		at = strchr(at, ' ');
		at = at != NULL ? at + 1 : NULL;
	}
	return true;
}

static void read_involuntary(struct usage *u, uint32_t pid)
{
	static const char key[] = "nonvoluntary_ctxt_switches:";
	char text[4096];
	if (!read_text(u, pid, USAGE_STATUS, text, sizeof(text)))
		return;
	const char *at = strstr(text, key);
	u->system.involuntary = at != NULL ? strtoull(at + sizeof(key) - 1, NULL, 10) : u->system.involuntary;
}

bool usage_of_thread(struct usage *u, uint32_t pid, uint32_t tid, bool all, struct mpic_system *ret_system,
		     uint64_t *ret_resident_bytes)
{
	char text[1024];
	if (u->tid != tid) {
		usage_done(u);
		*u = (struct usage){.tid = tid};
	}
	struct mpic_system *s = &u->system;
	if (!read_text(u, pid, USAGE_SCHEDSTAT, text, sizeof(text)) ||
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &s->cpu_ns, &s->wait_ns, &s->slices) != 3)
		return false;
	bool stat_now = all || u->samples == 0 ||
			u->samples % USAGE_STAT_EVERY == 1; /* whenever counters are, too (sample.c) */
	if (stat_now && (!read_text(u, pid, USAGE_STAT, text, sizeof(text)) ||
			 !read_stat(text, s, &u->user_ns, &u->resident_bytes)))
		return false;
	if (all || u->samples % USAGE_STATUS_EVERY == 0)
		read_involuntary(u, pid);
	u->samples++;
	*ret_system = *s;
	*ret_resident_bytes = u->resident_bytes;
	return true;
}

bool usage_same_namespace(uint64_t inode)
{
	static uint64_t own; /* that of a process never changes; 0: not asked yet */
	struct stat st;
	if (own == 0 && stat("/proc/self/ns/pid", &st) == 0)
		own = st.st_ino;
	return own != 0 && own == inode;
}
