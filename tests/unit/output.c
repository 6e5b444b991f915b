/* output.c - the file of a node: it is never another's, holds whole blocks whatever there is room for, and tells what
 * did not reach it; and how a finisher counts such files, and those who left none. */
#include "base/clock.h"
#include "collect/finish.h"
#include "collect/meta.h"
#include "collect/output.h"
#include "collect/traces.h"
#include "collect/untraced.h"
#include "tests/unit/step_files.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(traces, .init = make_dir, .fini = remove_dir);
TestSuite(output, .init = make_dir, .fini = remove_dir);

static void put_noise(struct output *o, size_t len_bytes, uint64_t seq)
{
	static uint8_t noise[65536];
	struct mpic_block b = {.kind = MPIC_DEFS, .process = 0, .seq = seq};
	for (size_t i = 0; i < len_bytes; i++)
		noise[i] = (uint8_t)rand();
	cr_assert_gt(output_block(o, &b, noise, len_bytes), 0);
}

Test(output, never_overwrites_a_trace)
{
	struct output first = output_to(dir), second = output_to(dir);
	cr_assert_eq(output_open(&first, NULL), 0);
	cr_assert_eq(output_open(&second, NULL), 0);
	cr_assert_str_neq(first.path, second.path);
	cr_assert_not_null(strstr(second.path, "/n1.2.mpic"));
	output_close(&first);
	output_close(&second);
	free(first.path);
	free(second.path);
}

Test(output, stays_on_the_node_when_the_directory_cannot_be_written)
{
	char file[PATH_MAX], wanted[PATH_MAX + 8];
	struct error e;
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(wanted, sizeof(wanted), "%s/below", file);
	write_file(file, "", 0);
	struct output o = output_to(wanted);
	cr_assert_lt(output_open(&o, &e), 0);
	cr_assert_not_null(strstr(e.text, wanted));
	cr_assert_eq(strncmp(o.path, dir, strlen(dir)), 0);
	put_noise(&o, 10, 0);
	cr_assert_eq(output_close(&o), 0);
	free(o.path);
}

static uint64_t lost_events;

static void count_lost(void *context, const struct queued_events *what)
{
	(void)context;
	lost_events += what->events;
}

static void put_events(struct output *o, size_t len_bytes, uint64_t seq, uint64_t events)
{
	_cleanup_buf_ struct buf noise = {0};
	struct mpic_block b = {.kind = MPIC_EVENTS, .process = 0, .seq = seq};
	for (size_t i = 0; i < len_bytes; i++)
		buf_u8(&noise, (uint8_t)rand());
	cr_assert_gt(output_events(o, &b, &noise, events, 1), 0);
}

Test(output, events_that_do_not_reach_the_file_are_told_and_definitions_wait)
{
	struct output o = output_to(dir);
	o.lost = count_lost;
	cr_assert_eq(output_open(&o, NULL), 0);
	put_events(&o, 10000, 0, 100);
	cr_assert_eq(output_flush(&o), 0);
	put_events(&o, 10000, 1, 10);
	put_noise(&o, 5000, 0);
	put_events(&o, 10000, 2, 1);
	limit_file(15000);
	cr_assert_eq(output_flush(&o), -EFBIG);
	cr_assert_eq(lost_events, 11);
	cr_assert_eq(o.failed_blocks, 2);
	cr_assert_lt(output_flush(&o), 0);
	cr_assert_eq(lost_events, 11, "each is told once");
	limit_file(40000);
	put_events(&o, 10000, 3, 1000);
	cr_assert_eq(output_close(&o), 0);
	cr_assert_eq(lost_events, 11);
	cr_assert_eq(blocks_of(o.path, MPIC_EVENTS), 2);
	cr_assert_eq(blocks_of(o.path, MPIC_DEFS), 1);
	free(o.path);
}

Test(output, keeps_room_for_the_end)
{
	struct output o = output_to(dir);
	struct mpic_block end = {.kind = MPIC_END, .process = MPIC_NODE, .seq = o.id};
	o.lost = count_lost;
	o.reserve_bytes = 5000;
	cr_assert_eq(output_open(&o, NULL), 0);
	limit_file(20000);
	put_events(&o, 12000, 0, 1);
	cr_assert_eq(output_flush(&o), 0);
	put_events(&o, 4000, 1, 2); /* would fit, but then the end would not */
	output_ending(&o);
	cr_assert_eq(lost_events, 2);
	cr_assert_gt(output_block(&o, &end, "{}", 2), 0);
	cr_assert_eq(output_close(&o), 0);
	cr_assert_eq(blocks_of(o.path, MPIC_END), 1);
	free(o.path);
}

Test(output, is_still_a_trace_when_its_very_first_write_failed)
{
	struct output o = output_to(dir);
	o.lost = count_lost;
	cr_assert_eq(output_open(&o, NULL), 0);
	put_events(&o, 10000, 0, 7);
	limit_file(100);
	cr_assert_lt(output_flush(&o), 0);
	cr_assert_eq(lost_events, 7);
	limit_file(20000);
	put_noise(&o, 5000, 1);
	cr_assert_eq(output_close(&o), 0);
	cr_assert_eq(blocks_of(o.path, MPIC_DEFS), 1);
	free(o.path);
}

Test(output, leaves_no_file_that_never_had_its_first_bytes)
{
	struct output o = output_to(dir);
	cr_assert_eq(output_open(&o, NULL), 0);
	cr_assert_eq(access(o.path, F_OK), 0);
	put_noise(&o, 5000, 0);
	limit_file(10);
	int rc = output_close(&o);
	limit_file(1 << 20); /* others write, too */
	cr_assert_lt(rc, 0);
	cr_assert_neq(access(o.path, F_OK), 0);
	free(o.path);
}

/* ---- what the finisher learns ---- */

static struct output ended(const char *name, uint32_t processes)
{
	struct output o = output_to(dir);
	o.name = name;
	cr_assert_eq(output_open(&o, NULL), 0);
	put_noise(&o, 10000, 0);
	if (processes > 0)
		cr_assert_eq(meta_end(&o, processes, 0, 0), 0);
	cr_assert_eq(output_close(&o), 0);
	return o;
}

Test(traces, are_counted_by_their_ends_and_read_whole_once_nobody_waits)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct traces t = {0};
	struct output a = ended("a", 3), b = ended("b", 0);
	traces_scan(dir_fd, dir, &t);
	cr_assert(t.n == 2 && t.finished == 1 && t.processes == 3, "%u %u %u", t.n, t.finished, t.processes);
	traces_read_unfinished(dir, &t);
	cr_assert(t.n == 2 && t.finished == 1 && t.processes == 4, "%u %u %u", t.n, t.finished, t.processes);
	cr_assert_eq(truncate(a.path, (off_t)a.len_bytes - 1), 0);
	traces_scan(dir_fd, dir, &t);
	cr_assert_eq(t.finished, 0);
	traces_done(&t);
	close(dir_fd);
	free(a.path);
	free(b.path);
}

Test(traces, of_nobody_are_removed_once_they_have_ended)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct traces t = {0};
	struct output some = ended("some", 1), running = ended("running", 0), none = output_to(dir);
	none.name = "none";
	cr_assert_eq(output_open(&none, NULL), 0);
	cr_assert_eq(meta_end(&none, 0, 0, 0), 0);
	cr_assert_eq(output_close(&none), 0);
	traces_scan(dir_fd, dir, &t);
	cr_assert_eq(t.n, 3);
	traces_remove_empty(dir_fd, &t);
	cr_expect_eq(access(some.path, F_OK), 0);
	cr_expect_eq(access(running.path, F_OK), 0);
	cr_expect_neq(access(none.path, F_OK), 0);
	traces_done(&t);
	close(dir_fd);
	free(some.path);
	free(running.path);
	free(none.path);
}

Test(output, a_successor_ends_the_file_of_the_one_that_died)
{
	_cleanup_buf_ struct buf json = {0};
	struct output o = ended("a", 0), on = output_to(dir);
	cr_assert_eq(output_resume(&on, o.path, o.len_bytes), 0);
	cr_assert_eq(meta_end(&on, 1, 0, 0), 0);
	cr_assert_eq(output_close(&on), 0);
	int fd = open(o.path, O_RDONLY | O_CLOEXEC);
	cr_assert_eq(mpic_read_end(fd, &json, NULL), 1);
	close(fd);
	free(o.path);
	free(on.path);
}

/* ---- processes that ran untraced ---- */

Test(traces, each_process_that_ran_untraced_is_in_a_number)
{
	char path[PATH_MAX], lines[4096];
	struct untraced u;
	uint32_t processes = 0;
	int n = 0;
	for (unsigned i = 0; i < 3 * UNTRACED_WHYS_MAX; i++)
		n += snprintf(lines + n, sizeof(lines) - (size_t)n, "%u failed reason %u\n", i, i);
	snprintf(path, sizeof(path), "%s/untraced", dir);
	write_file(path, lines, (size_t)n);
	snprintf(path, sizeof(path), "%s/" UNTRACED_UNSAID, dir);
	write_file(path, "", 0);
	cr_assert_eq(truncate(path, 1000), 0);
	snprintf(path, sizeof(path), "%s/" UNTRACED_NAME "4711", dir);
	write_file(path, "", 0);
	untraced_read(dir, &u);
	for (uint32_t i = 0; i < u.n; i++)
		processes += u.whys[i].processes;
	cr_assert_eq(processes, 3 * UNTRACED_WHYS_MAX + 1000 + 1);
	cr_assert_eq(u.n, UNTRACED_WHYS_MAX + 2);
	cr_assert(u.whys[u.n - 2].failed && u.whys[u.n - 1].failed);
	cr_assert_str_eq(u.whys[u.n - 2].why, "there was no room to say why");
	cr_assert_not_null(strstr(u.whys[u.n - 1].why, "ulimit -f"));
}

Test(traces, one_that_the_agent_found_is_named_once_and_counted_where_there_is_no_room)
{
	struct untraced u;
	char path[PATH_MAX];
	untraced_add(dir, 4711, "first\nof two");
	untraced_add(dir, 4711, "second");
	untraced_add(dir, 4712, "first\nof two");
	untraced_read(dir, &u);
	cr_assert_eq(u.n, 1);
	cr_expect_eq(u.whys[0].processes, 2);
	cr_expect(u.whys[0].failed);
	cr_expect_str_eq(u.whys[0].why, "first?of two");
	snprintf(path, sizeof(path), "%s/untraced", dir);
	cr_assert_eq(truncate(path, UNTRACED_BYTES_MAX), 0);
	untraced_add(dir, 4713, "third");
	cr_expect_eq(untraced_unsaid(dir), 1);
}

/* A file of the length of a TiB, in which nothing was ever written. */
static void make_hole(const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	write_file(path, "", 0);
	cr_assert_eq(truncate(path, (off_t)1 << 40), 0);
}

Test(traces, holes_in_place_of_what_ran_untraced_come_to_an_end, .timeout = 60)
{
	struct untraced u;
	make_hole("untraced");
	untraced_read(dir, &u);
	cr_assert_eq(u.n, 0);
	untraced_add(dir, 4711, "no room for it");
	cr_assert_eq(untraced_unsaid(dir), 1);
	make_hole(UNTRACED_UNSAID);
	untraced_read(dir, &u);
	cr_assert_eq(u.n, 1);
	cr_assert_eq(u.whys[0].processes, UNTRACED_UNSAID_MAX);
}

/* ---- an analysis that the kernel does not let go ---- */

static int end_at_once(const struct finish *f)
{
	(void)f;
	return 0;
}

static int hang(const struct finish *f)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/hangs", f->out);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	for (;;)
		pause();
	return 0;
}

Test(traces, of_nodes_that_have_said_why_there_is_none_none_is_waited_for, .timeout = 60)
{
	struct finish f = {
		.out = dir, .analyze = end_at_once, .totals = end_at_once, .nodes = 1, .wait_s = 30, .budget_s = 1};
	struct error e = {""};
	char path[PATH_MAX];
	static const char said[] = "n1: 1 process ran untraced: its own reason\n";
	snprintf(path, sizeof(path), "%s/log.txt", dir);
	write_file(path, said, sizeof(said) - 1);
	double began = now_s();
	finish_run(&f, &e);
	cr_expect_lt(now_s() - began, 20);
	cr_expect_eq(access(path, F_OK), 0);
}

Test(traces, the_log_of_a_finisher_is_written_through_no_second_name)
{
	char path[PATH_MAX], other[PATH_MAX];
	struct stat st;
	snprintf(path, sizeof(path), "%s/log.txt", dir);
	snprintf(other, sizeof(other), "%s/mine", dir);
	write_file(other, "", 0);
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	cr_assert(dir_fd >= 0 && link(other, path) == 0);
	finish_log(dir_fd, "to another file");
	cr_expect(stat(other, &st) == 0 && st.st_size == 0);
	unlink(path);
	finish_log(dir_fd, "to its own");
	cr_expect(stat(path, &st) == 0 && st.st_size > 0);
	close(dir_fd);
}

/* Who is traced is waited for by the tracer before its parent: as if it hung in a file system that does not answer. */
static void hold_child_of(pid_t parent)
{
	char path[PATH_MAX];
	int pid = 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/hangs", dir);
	while (access(path, F_OK) != 0)
		usleep(1000);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	FILE *f = fopen(path, "r");
	while (f != NULL && fscanf(f, "%d", &pid) == 1 && pid == getpid())
		;
	snprintf(path, sizeof(path), "%s/held", dir);
	if (pid != getpid() && ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0)
		close(open(path, O_WRONLY | O_CREAT, 0600));
	for (;;)
		pause();
}

Test(traces, an_analysis_that_does_not_end_when_it_is_killed_is_left_alone, .timeout = 60)
{
	struct finish f = {.out = dir, .analyze = hang, .totals = end_at_once, .nodes = 1, .budget_s = 1};
	struct output a = ended("a", 3);
	struct error e = {""};
	char held[PATH_MAX];
	pid_t us = getpid(), pid = fork();
	if (pid == 0)
		hold_child_of(us);
	cr_expect_eq(finish_run(&f, &e), FINISH_LATER, "%s", e.text);
	snprintf(held, sizeof(held), "%s/held", dir);
	bool tried = access(held, F_OK) == 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(a.path);
	if (!tried)
		cr_skip_test("nobody may trace here");
}
