/* warden_alert.c - who looks at a step that may hang: started while the agent says that somebody stands still,
 * until it has left an alert. What it cannot read at one look it may read at the next. And what is asked of who makes
 * its report. Needs root. */
#include "base/command.h"
#include "spank/warden/alert.h"
#include "spank/warden/spool.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[64], program[96];
static const gid_t gids[] = {4343};
static struct step_facts facts = {.who = {.uid = 4242, .gid = 4343, .gids = gids, .ngids = 1}, .alert_seconds = 30};
static struct teardown step;
static struct alert a;

static void begin(void)
{
	char ranks[96];
	if (geteuid() != 0)
		cr_skip_test("needs root");
	snprintf(base, sizeof(base), "/tmp/mpitrace-alert-XXXXXX");
	cr_assert_not_null(mkdtemp(base));
	cr_assert_eq(chmod(base, 0755), 0);
	snprintf(program, sizeof(program), "%s/program", base);
	snprintf(ranks, sizeof(ranks), "%s/ranks", base);
	cr_assert_eq(mkdir(ranks, 0755), 0);
	step = (struct teardown){
		.program = program, .dir = base, .step_facts = &facts, .step_fd = open(base, O_RDONLY | O_DIRECTORY)};
	cr_assert_geq(step.step_fd, 0);
	spool_mark(step.step_fd, "ranks/waits");
}

static void end(void)
{
	char command[96];
	if (geteuid() != 0)
		return;
	close(step.step_fd);
	snprintf(command, sizeof(command), "rm -rf %s", base);
	cr_assert_eq(system(command), 0);
}

TestSuite(warden_alert, .init = begin, .fini = end);

/* Is this program started once more? Until it has ended. */
static bool runs(const char *text)
{
	siginfo_t info;
	FILE *f = fopen(program, "w");
	cr_assert_not_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", text);
	fclose(f);
	cr_assert_eq(chmod(program, 0755), 0);
	alert_check(&a, &step);
	if (a.pid == 0)
		return false;
	cr_assert_eq(waitid(P_PID, (id_t)a.pid, &info, WEXITED | WNOWAIT), 0);
	alert_reap(&a);
	return true;
}

/* Is it started once more, to end so? */
static bool looks(int code)
{
	char text[32];
	snprintf(text, sizeof(text), "exit %d", code);
	return runs(text);
}

Test(warden_alert, what_could_not_be_read_once_is_looked_at_again)
{
	cr_expect(looks(EXIT_BAD_INPUT), "a file whose record is not whole yet");
	cr_expect(looks(EXIT_DONE), "nothing that hangs");
	cr_expect(looks(EXIT_ISSUES), "an alert");
	cr_expect_not(looks(EXIT_DONE), "a step leaves one");
}

Test(warden_alert, what_cannot_be_read_is_looked_at_ever_more_rarely)
{
	int wait_ms = ALERT_LOOK_MS;
	for (unsigned i = 0; i < ALERT_DOUBLED_MAX + 3; i++) {
		cr_expect_eq(alert_wait_ms(&a, &step), wait_ms);
		cr_expect(looks(EXIT_BAD_INPUT));
		wait_ms *= i < ALERT_DOUBLED_MAX ? 2 : 1;
	}
	cr_expect_eq(wait_ms, ALERT_LOOK_MS << ALERT_DOUBLED_MAX);
	cr_expect(looks(EXIT_DONE));
	cr_expect_eq(alert_wait_ms(&a, &step), ALERT_LOOK_MS);
}

/* proc(5), stat: field 19 is nice, 41 the policy; 0 is SCHED_OTHER. */
Test(warden_alert, who_looks_gives_way_but_gets_some_of_a_processor_on_which_ranks_spin)
{
	cr_assert(runs("set -- $(sed 's/.*) //' /proc/$$/stat); [ \"${17} ${39}\" = '19 0' ] && exit 1; exit 0"));
	cr_expect(a.over);
}

Test(warden_alert, nobody_is_started_where_nobody_stands_still)
{
	unlinkat(step.step_fd, "ranks/waits", 0);
	cr_expect_not(looks(EXIT_DONE));
}

Test(warden_alert, a_report_waits_for_as_many_nodes_as_are_known)
{
	char said[128], text[1024];
	snprintf(facts.out, sizeof(facts.out), "/o");
	snprintf(said, sizeof(said), "%s/said", base);
	for (uint32_t nnodes = 0; nnodes < 12; nnodes += 11) {
		FILE *f = fopen(program, "we");
		fprintf(f, "#!/bin/sh\necho \"$*\" > %s\n", said);
		fclose(f);
		cr_assert_eq(chmod(program, 0755), 0);
		f = fopen(said, "we");
		fclose(f);
		cr_assert_eq(chmod(said, 0666), 0);
		facts.nnodes = nnodes;
		cr_assert_eq(teardown_report(program, &facts, 60, 0, false, false), 0);
		f = fopen(said, "re");
		cr_assert_not_null(fgets(text, sizeof(text), f));
		fclose(f);
		cr_expect_not_null(strstr(text, "finish /o --wait 0 --budget 60.0 --give-way 0.0"), "%s", text);
		cr_expect_eq(strstr(text, "--nodes 11") != NULL, nnodes == 11, "%s", text);
		cr_expect_eq(strstr(text, "--nodes") != NULL, nnodes > 0, "%s", text);
	}
}
