/* usage.c - what the agent asks kernel and processor of a process: here of this one. */
#include "collect/counters.h"
#include "collect/memory.h"
#include "collect/usage.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What every kernel can count, also where the processor shows no counters. */
static const struct counters_kind by_kernel = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_TASK_CLOCK};

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void compute(double seconds)
{
	for (double end = cpu_s() + seconds; cpu_s() < end;)
		;
}

#define STEPS 50000000ul

/* Who shares the counters of a processor gets estimates, so no more than this is certain: it is much, and then next to
 * nothing. */
static void count_to(unsigned long steps)
{
	for (volatile unsigned long i = 0; i < steps; i++)
		;
}

Test(usage, counters_say_what_came_since_the_last_reading)
{
	struct counters c = {0};
	struct mpic_counters since;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	if (!counters_begin(&c, tid, &by_kernel)) {
		cr_assert_not_null(counters_absent()); /* where the kernel does not let us, that is said */
		return;
	}
	cr_assert(counters_begin(&c, tid, &by_kernel)); /* once */
	cr_expect(!counters_read(&c, 0, &since));	/* the start */
	count_to(STEPS);
	cr_assert(counters_read(&c, 7, &since));
	cr_expect(since.cycles > 0 && since.instructions > 0, "%lu", (unsigned long)since.instructions);
	cr_expect_eq(since.user_ns, 7);
	uint64_t before = since.instructions;
	cr_assert(counters_read(&c, 9, &since));
	cr_expect_lt(since.instructions, before); /* not since the start */
	cr_expect_eq(since.user_ns, 2);
	counters_done(&c);
	cr_expect(!counters_read(&c, 9, &since));
}

/* A thread that is gone says nothing of the next one; a processor without counters does, and why. */
Test(usage, without_counters_it_is_said_why)
{
	struct counters c = {0};
	cr_expect(!counters_begin(&c, 0x7ffffff0, &by_kernel));
	cr_expect(counters_absent() == NULL || strstr(counters_absent(), "allow") != NULL ||
		  strstr(counters_absent(), "has no perf_event_open") != NULL); /* qemu-user has none */
	if (!counters_begin(&c, (uint32_t)syscall(SYS_gettid), NULL))
		cr_expect_not_null(counters_absent());
	counters_done(&c);
}

Test(usage, time_in_user_mode_grows_with_what_a_thread_computes)
{
	struct usage u = {0};
	struct mpic_system system;
	uint64_t resident = 0;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	cr_assert(usage_of_thread(&u, (uint32_t)getpid(), tid, true, &system, &resident));
	uint64_t before = u.user_ns;
	compute(0.3);
	cr_assert(usage_of_thread(&u, (uint32_t)getpid(), tid, true, &system, &resident));
	cr_expect_gt(u.user_ns, before);
	cr_expect(resident > 1 << 16);
	usage_done(&u);
}

/* What is dear to read is as it was in between, never less; the last look has all. */
Test(usage, memory_is_looked_at_every_other_time_and_at_the_end)
{
	struct usage u = {0};
	struct mpic_system system = {0}, before;
	uint64_t resident = 0, was = 0, grown = 0;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	char *more[12]; /* kept until the last look: it only grows */
	for (int look = 0; look < 12; look++) {
		more[look] = malloc(1 << 21);
		cr_assert_not_null(more[look]);
		memset(more[look], look + 1, 1 << 21);
		before = system;
		cr_assert(usage_of_thread(&u, (uint32_t)getpid(), tid, look == 11, &system, &resident));
		grown += look > 0 && resident > was;
		cr_expect(look == 0 || (system.cpu_ns >= before.cpu_ns && system.minor_faults >= before.minor_faults));
		was = resident;
	}
	cr_expect_eq(u.samples, 12u);
	cr_expect_eq(grown, 6u, "%u", (unsigned)grown); /* looks 1, 3, 5, 7, 9, 11 */
	for (int look = 0; look < 12; look++)
		free(more[look]);
	usage_done(&u);
}

/* Whether there is a limit is this machine's; where there is, less is used than it. */
Test(usage, memory_is_that_of_the_group_with_the_limit)
{
	struct memory m = {0};
	uint64_t used = 0;
	memory_begin(&m, (uint32_t)getpid());
	bool limited = memory_now(&m, &used);
	cr_expect(!limited || (used > 0 && used <= m.limit_bytes));
	memory_done(&m);
	cr_expect(!memory_now(&m, &used));
}

Test(usage, a_process_of_another_namespace_of_pids_is_not_ours)
{
	struct stat st;
	cr_assert_eq(stat("/proc/self/ns/pid", &st), 0);
	cr_expect_not(usage_same_namespace(0), "it did not say");
	cr_expect(usage_same_namespace(st.st_ino));
	cr_expect_not(usage_same_namespace(st.st_ino + 1));
	cr_expect(usage_same_namespace(st.st_ino));
}
