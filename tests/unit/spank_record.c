/* spank_record.c - what the plugin writes of a step: who it is, what it may record, and of a policy only what it said.
 */
#include "format/layout.h"
#include "spank/loaded.h"
#include "spank/policy/policy.h"
#include "spank/record.h"
#include "spank/request.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/mpitrace-record-XXXXXX";
static int dir_fd;
static struct config config;
static struct request request;
static struct layout l;
static struct record r;

static void begin(void)
{
	cr_assert_not_null(mkdtemp(dir));
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(dir_fd, 0);
	r = (struct record){
		.job_id = 7, .called = 7, .uid = geteuid(), .request = &request, .config = &config, .out = "/o"};
}

static void end(void)
{
	layout_done(&l);
	unlinkat(dir_fd, "layout", 0);
	close(dir_fd);
	rmdir(dir);
}

TestSuite(spank_record, .init = begin, .fini = end);

static void write_and_read(void)
{
	struct error e = {""};
	unlinkat(dir_fd, "layout", 0);
	layout_done(&l);
	cr_assert_eq(record_write(dir_fd, &r, &e), 0, "%s", e.text);
	cr_assert_eq(layout_read(dir_fd, true, &l, &e), 0, "%s", e.text);
}

Test(spank_record, without_a_policy_nothing_is_said_of_one)
{
	static const enum layout_key of_policy[] = {LAYOUT_POLICY,    LAYOUT_REDACT,  LAYOUT_READERS,
						    LAYOUT_PAGE,      LAYOUT_FINISH,  LAYOUT_ACCOUNT,
						    LAYOUT_PARTITION, LAYOUT_MODULES, LAYOUT_ALERT};
	r.loaded = "gcc/12.2";
	write_and_read();
	for (size_t i = 0; i < sizeof(of_policy) / sizeof(of_policy[0]); i++)
		cr_expect_not(layout_has(&l, of_policy[i]), "%s", layout_rows[of_policy[i]].name);
	cr_expect_not(layout_has(&l, LAYOUT_SAMPLE));
}

Test(spank_record, what_a_policy_said_stands_there)
{
	snprintf(request.site.why, sizeof(request.site.why), "rule 3");
	snprintf(request.site.finish, sizeof(request.site.finish), "sweep");
	snprintf(request.site.page, sizeof(request.site.page), "0");
	snprintf(request.site.account, sizeof(request.site.account), "phys");
	snprintf(request.site.partition, sizeof(request.site.partition), "long");
	snprintf(request.site.readers, sizeof(request.site.readers), "77");
	request.site.umask = REQUEST_UMASK_GIVEN | 027;
	r.umask = "022";
	write_and_read();
	cr_expect_str_eq(layout_text(&l, LAYOUT_POLICY), "rule 3");
	cr_expect_str_eq(layout_text(&l, LAYOUT_FINISH), "sweep");
	cr_expect_str_eq(layout_text(&l, LAYOUT_PAGE), "0");
	cr_expect_str_eq(layout_text(&l, LAYOUT_ACCOUNT), "phys");
	cr_expect_str_eq(layout_text(&l, LAYOUT_PARTITION), "long");
	cr_expect_str_eq(layout_text(&l, LAYOUT_READERS), "77");
	cr_expect_str_eq(layout_text(&l, LAYOUT_UMASK), "027", "in place of the user's");
	request.site.umask = 027;
	write_and_read();
	cr_expect_str_eq(layout_text(&l, LAYOUT_UMASK), "022", "it was not given");
}

Test(spank_record, groups_are_as_many_as_there_are_up_to_a_bound)
{
	static gid_t gids[LAYOUT_GIDS_MAX + 1];
	static uint32_t read[LAYOUT_GIDS_MAX];
	for (uint32_t i = 0; i <= LAYOUT_GIDS_MAX; i++)
		gids[i] = 1000 + i;
	r.gids = gids;
	for (int n = -1; n <= 2; n++) {
		r.ngids = n;
		write_and_read();
		cr_expect_eq(layout_list(&l, LAYOUT_GIDS, read, LAYOUT_GIDS_MAX), n > 0 ? n : 0, "%d", n);
		cr_expect(layout_has(&l, LAYOUT_GIDS));
	}
	r.ngids = LAYOUT_GIDS_MAX + 1;
	write_and_read();
	cr_assert_eq(layout_list(&l, LAYOUT_GIDS, read, LAYOUT_GIDS_MAX), LAYOUT_GIDS_MAX);
	cr_expect_eq(read[LAYOUT_GIDS_MAX - 1], 1000 + LAYOUT_GIDS_MAX - 1);
}

/* Shared by the node's tasks, 64 where nobody knows how many; no less than a mebibyte, no more than the site lets. */
Test(spank_record, each_task_has_its_share_of_what_a_node_may_record)
{
	static const struct {
		uint64_t node, asked, cap;
		uint32_t tasks;
		uint64_t each;
	} cases[] = {
		{0, 0, 0, 4, 0},
		{64 << 20, 0, 0, 4, 16 << 20},
		{64 << 20, 0, 0, 0, 1 << 20},
		{64 << 20, 0, 0, 64, 1 << 20},
		{64 << 20, 0, 0, 65, 1 << 20},
		{64 << 20, 5, 0, 4, 5},
		{64 << 20, 0, 8 << 20, 4, 8 << 20},
		{64 << 20, 0, 32 << 20, 4, 16 << 20},
		{0, 0, 8 << 20, 4, 8 << 20},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const uint32_t tasks[65];
		config.budget_bytes = cases[i].node;
		request.budget_bytes = cases[i].asked;
		request.site.max_budget_bytes = cases[i].cap;
		r.tasks = tasks;
		r.ntasks_here = cases[i].tasks;
		write_and_read();
		cr_expect_eq(layout_number(&l, LAYOUT_BUDGET, 99), cases[i].each, "case %zu: %s", i,
			     layout_text(&l, LAYOUT_BUDGET));
	}
}

Test(spank_record, the_report_is_sruns_only_where_that_can_make_it)
{
	static const struct {
		enum request_report asked;
		bool srun;
		const char *said;
	} cases[] = {{REPORT_SRUN, true, "srun"},
		     {REPORT_SRUN, false, "node"},
		     {REPORT_EPILOG, true, "node"},
		     {REPORT_EPILOG, false, "node"},
		     {REPORT_NONE, true, "none"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		request.report = cases[i].asked;
		r.srun_reports = cases[i].srun;
		write_and_read();
		cr_expect_str_eq(layout_text(&l, LAYOUT_REPORT), cases[i].said, "case %zu", i);
	}
}

Test(spank_record, where_it_ran_and_what_must_not_be_told)
{
	r.cluster = "c", r.node = "n1", r.nodelist = "n[1-2]";
	r.switches = "s0.n1 switch.node", r.slurm = "22.05", r.submit = "/home";
	write_and_read();
	cr_expect_str_eq(layout_text(&l, LAYOUT_CLUSTER), "c");
	cr_expect_str_eq(layout_text(&l, LAYOUT_NODE), "n1");
	cr_expect_str_eq(layout_text(&l, LAYOUT_NODELIST), "n[1-2]");
	cr_expect_str_eq(layout_text(&l, LAYOUT_SWITCHES), "s0.n1 switch.node");
	cr_expect_str_eq(layout_text(&l, LAYOUT_SLURM), "22.05");
	cr_expect_str_eq(layout_text(&l, LAYOUT_SUBMIT), "/home");
	cr_expect_str_eq(layout_text(&l, LAYOUT_OUT), "/o");
	request.site.redact = POLICY_REDACT_ARGUMENTS | POLICY_REDACT_HOSTS;
	write_and_read();
	cr_expect_str_eq(layout_text(&l, LAYOUT_REDACT), "arguments,hosts");
	cr_expect_null(strstr(layout_text(&l, LAYOUT_NODE), "n1"));
	cr_expect_null(strstr(layout_text(&l, LAYOUT_NODELIST), "n["));
	cr_expect_null(strstr(layout_text(&l, LAYOUT_SWITCHES), "n1"), "%s", layout_text(&l, LAYOUT_SWITCHES));
}

/* ---- what the prolog left of a job ---- */

static int facts_of(const char *bytes, size_t n, mode_t mode)
{
	struct policy_facts f = {0};
	int fd = openat(dir_fd, "facts", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
	cr_assert_eq(fchmod(fd, mode), 0);
	close(fd);
	int rc = policy_facts_read(&f, dir_fd, "facts");
	if (rc == 0)
		policy_facts_done(&f);
	cr_assert_eq(unlinkat(dir_fd, "facts", 0), 0);
	return rc;
}

Test(spank_record, facts_are_whole_lines_of_our_own)
{
	struct policy_facts f;
	cr_expect_eq(facts_of("account=phys\n", 13, 0600), 0);
	cr_expect_eq(facts_of("", 0, 0600), 0);
	cr_expect_eq(facts_of("account=phys", 12, 0600), -EBADMSG, "cut");
	cr_expect_eq(facts_of("account=phys\n\0x\n", 16, 0600), -EBADMSG, "a zero byte hides what is behind it");
	cr_expect_eq(facts_of("account=phys\n", 13, 0640), -EPERM);
	cr_expect_eq(facts_of("account=phys\n", 13, 0602), -EPERM);
	cr_expect_eq(policy_facts_read(&f, dir_fd, "none"), -ENOENT);
}

/* ---- what was asked for ---- */

Test(spank_record, the_largest_values_are_taken_and_one_more_is_refused)
{
	static const struct {
		const char *text;
		bool good;
	} cases[] = {
		{"budget=18446744073709551615", true}, {"budget=18446744073709551616", false},
		{"budget=17179869183G", true},	       {"budget=17179869184G", false},
		{"budget=17592186044415M", true},      {"budget=17592186044416M", false},
		{"budget=18014398509481983k", true},   {"budget=18014398509481984k", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request q = {0};
		cr_expect_eq(request_parse(cases[i].text, &q, NULL) == 0, cases[i].good, "%s", cases[i].text);
	}
	struct request q = {0};
	char text[64];
	snprintf(text, sizeof(text), "stack=%d", REQUEST_STACK_MAX);
	cr_expect_eq(request_parse(text, &q, NULL), 0);
	cr_expect_eq(q.stack, REQUEST_STACK_MAX);
	snprintf(text, sizeof(text), "stack=%d", REQUEST_STACK_MAX + 1);
	cr_expect_lt(request_parse(text, &q, NULL), 0);
	snprintf(text, sizeof(text), "sample=%d", REQUEST_SAMPLE_MAX);
	cr_expect_eq(request_parse(text, &q, NULL), 0);
	snprintf(text, sizeof(text), "sample=%d.1", REQUEST_SAMPLE_MAX);
	cr_expect_lt(request_parse(text, &q, NULL), 0);
}

Test(spank_record, environment_modules_are_names_and_no_paths)
{
	static const struct {
		const char *loaded, *names;
	} rows[] = {
		{NULL, ""},
		{"", ""},
		{"gcc/12.2:openmpi/4.1.4", "gcc/12.2,openmpi/4.1.4"},
		{"gcc/12.2::intel/2021.4.0+x:", "gcc/12.2,intel/2021.4.0+x"},
		{"/home/alice/modules/own:gcc/12.2", "gcc/12.2,+1"},
		{"~/own:./own:../own:a/../b:a//b:a/:a/.b", "+7"},
		{"a b:a,b:a\nb:a=b:$(x)", "+5"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r.loaded = rows[i].loaded;
		request.site.modules = true;
		write_and_read();
		cr_expect_str_eq(layout_text(&l, LAYOUT_MODULES), rows[i].names, "%zu", i);
	}
}

Test(spank_record, as_many_environment_modules_as_there_is_room_for_and_the_rest_is_counted)
{
	char loaded[70 * 50] = "", names[LOADED_TEXT_MAX];
	for (int i = 0; i < 40; i++)
		snprintf(loaded + strlen(loaded), 80, "%s%064d", i > 0 ? ":" : "", i);
	loaded_names(loaded, names);
	cr_expect_eq(strlen(names), LOADED_NAMES_MAX * 65 - 1 + strlen(",+8"));
	cr_expect_str_eq(names + strlen(names) - 3, ",+8");
	snprintf(loaded, sizeof(loaded), "%065d", 1);
	loaded_names(loaded, names);
	cr_expect_str_eq(names, "+1");
}
