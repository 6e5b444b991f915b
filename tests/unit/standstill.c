/* standstill.c - what makes an agent say that somebody stands still: MPI_Init that does not end, or a call of any of
 * its threads, here or on another node. */
#include "collect/standstill.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define ALERT_S 10

static char place[64];
static struct layout layouts[2];

static void begin(void)
{
	snprintf(place, sizeof(place), "/tmp/test_standstill.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
}

static void end(void)
{
	for (int i = 0; i < 2; i++)
		layout_done(&layouts[i]);
	cr_expect_eq(rmdir(place), 0, "nothing is left behind");
}

TestSuite(standstill, .init = begin, .fini = end);

static bool has(const char *name)
{
	char path[160];
	snprintf(path, sizeof(path), "%s/%s", place, name);
	return access(path, F_OK) == 0;
}

static struct standstill node(unsigned id)
{
	struct layout *l = &layouts[id];
	struct standstill s = {0};
	layout_set_number(l, LAYOUT_ALERT, ALERT_S);
	layout_set_number(l, LAYOUT_NODEID, id);
	layout_set_number(l, LAYOUT_NNODES, 2);
	layout_set(l, LAYOUT_OUT, place);
	standstill_begin(&s, l, place);
	return s;
}

/* At that second since MPI_Init was called; ticks are nanoseconds. left: it has returned. */
static void look(struct standstill *s, double second, bool left)
{
	static struct segfile file;
	struct tick_sample now = {.tick = (uint64_t)(second * 1e9) + 1000,
				  .monotonic_ns = (int64_t)(second * 1e9) + 1000};
	file = (struct segfile){.init_exit_tick = left ? 1500 : 0, .clock_start = {.tick = 1000, .monotonic_ns = 1000}};
	struct process p = {.file = &file};
	standstill_check(s, &p, 1, &now);
}

Test(standstill, who_is_in_MPI_Init_for_half_of_the_time_does)
{
	struct standstill s = node(0);
	look(&s, ALERT_S / 2.0 - 0.5, false);
	cr_expect(!s.stands && !has(STANDSTILL_MARK));
	look(&s, ALERT_S / 2.0 + 1, false);
	cr_expect(s.stands && has(STANDSTILL_MARK));
	cr_expect_eq(standstill_gap_ns(&s), ALERT_S * SECOND_NS / 4);
	look(&s, ALERT_S / 2.0 + 3, true);
	cr_expect(!s.stands && !has(STANDSTILL_MARK));
	standstill_end(&s);
}

#define THREADS 3

static union {
	struct thread_area area;
	uint64_t words[512];
} areas[THREADS];

/* It has been in one call since then; 0: in none. Ticks are half a nanosecond. */
static void call_since(uint32_t thread, double second)
{
	struct open_call *open = (void *)((char *)&areas[thread] + THREAD_OPEN_OFFSET);
	*open = (struct open_call){.inside = second > 0, .enter_tick = (uint64_t)(second * 2e9)};
}

static bool look_at(struct standstill *s, double second, struct process *p)
{
	struct drained_thread threads[THREADS] = {{.area = &areas[0].area}, {.area = NULL}, {.area = &areas[2].area}};
	struct segfile file = {.init_exit_tick = 1, .clock_start = {.tick = 2000, .monotonic_ns = 1000}};
	struct tick_sample now = {.tick = (uint64_t)(second * 2e9), .monotonic_ns = (int64_t)(second * 1e9)};
	struct process both[2] = {{.gone = true, .file = &file}, *p};
	both[1].file = &file;
	both[1].threads = threads;
	both[1].nthreads = THREADS;
	standstill_check(s, both, 2, &now);
	return s->stands;
}

Test(standstill, so_does_who_is_in_one_call_for_so_long_in_any_of_its_threads)
{
	struct standstill s = node(0);
	struct process p = {.file = NULL}, gone = {.gone = true}, closed = {.closed = true};
	cr_expect(!look_at(&s, 20, &p), "in none");
	call_since(2, 17);
	cr_expect(!look_at(&s, 21, &p), "for 4 s");
	cr_expect(look_at(&s, 22.5, &p), "for 5.5 s");
	cr_expect(!look_at(&s, 24, &gone));
	cr_expect(look_at(&s, 26, &p));
	cr_expect(!look_at(&s, 28, &closed));
	call_since(0, 21);
	call_since(2, 0);
	cr_expect(look_at(&s, 30, &p));
	call_since(0, 31.5); /* behind this look: a clock that another processor's is ahead of */
	cr_expect(!look_at(&s, 31.2, &p));
	standstill_end(&s);
}

Test(standstill, looks_are_a_second_apart_and_none_where_nobody_asks)
{
	struct standstill s = node(0), none = {0};
	struct process p = {.file = NULL};
	call_since(0, 10);
	cr_expect(look_at(&s, 20, &p));
	call_since(0, 0);
	cr_expect(look_at(&s, 20.9, &p), "as it was");
	cr_expect(!look_at(&s, 21, &p));
	call_since(0, 10);
	cr_expect(!look_at(&none, 40, &p));
	standstill_end(&s);
}

Test(standstill, the_first_node_says_so_for_another_one_as_long_as_that_one_does)
{
	struct standstill first = node(0), other = node(1);
	look(&first, 30, true);
	look(&other, 30, true);
	cr_expect(!first.stands && !has(STANDSTILL_ELSEWHERE));
	look(&other, 40, false);
	cr_expect(other.stands && has(STANDSTILL_ELSEWHERE));
	cr_expect(!has(STANDSTILL_MARK), "only the first node's warden has somebody look");
	look(&first, 42, true);
	cr_expect(first.stands && has(STANDSTILL_MARK));
	usleep(20000); /* for a file's time to be another one */
	look(&other, 46, false);
	look(&first, 48, true);
	look(&first, 60, true);
	cr_expect(first.stands, "it was touched again");
	look(&first, 90, true);
	cr_expect(!first.stands && !has(STANDSTILL_MARK), "nobody has said so for long");
	standstill_end(&other);
	cr_expect(!has(STANDSTILL_ELSEWHERE));
	standstill_end(&first);
}

/* Who may write to the step's directory, as its group, may have put one there. */
Test(standstill, a_fifo_where_other_nodes_look_keeps_no_agent_waiting, .timeout = 10)
{
	struct standstill other = node(1);
	char path[160];
	snprintf(path, sizeof(path), "%s/" STANDSTILL_ELSEWHERE, place);
	cr_assert_eq(mkfifo(path, 0600), 0);
	look(&other, 40, false);
	look(&other, 46, false);
	cr_expect(other.stands);
	standstill_end(&other);
	unlink(path);
}
