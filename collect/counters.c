/* counters.c - see counters.h. Two events in a group are on the processor together or not at all. */
#include "collect/counters.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OTHER_DESCRIPTORS 640u /* of the agent: traces, segment files, files of /proc */

static const struct counters_kind of_processor = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
						  PERF_COUNT_HW_INSTRUCTIONS};
static uint32_t counted; /* threads; the agent has one thread */
static const char *absent;

const char *counters_absent(void)
{
	return absent;
}

/* Threads for which there are descriptors. The soft limit is for select(2), which nobody here calls. */
static uint32_t room(void)
{
	static uint32_t most = UINT32_MAX;
	struct rlimit l;
	if (most != UINT32_MAX)
		return most;
	most = 0;
	if (getrlimit(RLIMIT_NOFILE, &l) != 0)
		return most;
	rlim_t want = OTHER_DESCRIPTORS + 2 * COUNTERS_THREADS_MAX;
	if (l.rlim_cur < want) {
		l.rlim_cur = l.rlim_max < want ? l.rlim_max : want;
		if (setrlimit(RLIMIT_NOFILE, &l) != 0 && getrlimit(RLIMIT_NOFILE, &l) != 0)
			return most;
	}
	if (l.rlim_cur > OTHER_DESCRIPTORS)
		most = (uint32_t)((l.rlim_cur < want ? l.rlim_cur : want) - OTHER_DESCRIPTORS) / 2;
	return most;
}

static int open_event(uint32_t tid, uint32_t type, uint64_t config, int group_fd)
{
	struct perf_event_attr a = {.size = sizeof(a),
				    .type = type,
				    .config = config,
				    .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
						   PERF_FORMAT_TOTAL_TIME_RUNNING,
				    .exclude_kernel = 1,
				    .exclude_hv = 1};
	return (int)syscall(SYS_perf_event_open, &a, (pid_t)tid, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
}

/* A thread that has ended says nothing of the next one. */
static void note_absent(int error)
{
	if (error == ENOENT || error == ENODEV || error == EOPNOTSUPP)
		absent = "the processor shows no counters";
	else if (error == EACCES || error == EPERM)
		absent = "the kernel does not allow it";
	else if (error == ENOSYS)
		absent = "the kernel has no perf_event_open";
}

bool counters_begin(struct counters *c, uint32_t tid, const struct counters_kind *kind)
{
	if (c->cycles_fd != 0 && c->tid == tid)
		return true;
	counters_done(c);
	if (absent != NULL || counted >= room())
		return false;
	kind = kind != NULL ? kind : &of_processor;
	int cycles = open_event(tid, kind->type, kind->cycles, -1);
	int instructions = cycles < 0 ? -1 : open_event(tid, kind->type, kind->instructions, cycles);
	if (instructions < 0) {
		note_absent(errno);
		if (cycles >= 0)
			close(cycles);
		return false;
	}
	counted++;
	*c = (struct counters){.cycles_fd = cycles + 1, .instructions_fd = instructions + 1, .tid = tid};
	return true;
}

/* Where more events are counted than the processor has counters, they take turns. */
static uint64_t whole(uint64_t count, uint64_t enabled_ns, uint64_t running_ns)
{
	return running_ns == enabled_ns ? count : (uint64_t)((double)count / (double)running_ns * (double)enabled_ns);
}

static uint64_t above(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

bool counters_read(struct counters *c, uint64_t user_ns, struct mpic_counters *ret_since)
{
	struct {
		uint64_t n, enabled_ns, running_ns, values[2];
	} r;
	if (c->cycles_fd == 0 || read(c->cycles_fd - 1, &r, sizeof(r)) != sizeof(r) || r.n != 2 ||
	    (r.running_ns == 0 && r.enabled_ns > 0))
		return false;
	struct mpic_counters now = {.cycles = whole(r.values[0], r.enabled_ns, r.running_ns),
				    .instructions = whole(r.values[1], r.enabled_ns, r.running_ns),
				    .user_ns = user_ns};
	bool known = c->counts;
	*ret_since =
		(struct mpic_counters){above(now.cycles, c->last.cycles), above(now.instructions, c->last.instructions),
				       above(now.user_ns, c->last.user_ns)};
	c->last = now;
	c->counts = true;
	return known;
}

void counters_done(struct counters *c)
{
	if (c->cycles_fd == 0)
		return;
	close(c->instructions_fd - 1);
	close(c->cycles_fd - 1);
	counted--;
	*c = (struct counters){0};
}
