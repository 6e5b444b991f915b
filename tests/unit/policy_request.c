/* policy_request.c - what a user asks for, and what the site makes of it; and what is left out of a step's record. */
#include "format/layout.h"
#include "spank/policy_request.h"
#include "spank/redact.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct policy *p;
static struct request r;
static struct layout l;

static void clean(void)
{
	policy_free(p);
	layout_done(&l);
}

TestSuite(policy_request, .fini = clean);

/* What a job gets under [defaults] `text`; option NULL: --mpitrace was not given. */
static const char *get(const char *text, const char *option, bool opted_out, bool default_on)
{
	struct policy_errors errors = {.count = 0};
	struct policy_facts none = {0};
	struct policy_wish wish = {.asked = option != NULL, .opted_out = opted_out};
	char whole[512];
	snprintf(whole, sizeof(whole), "[defaults]\n%s\n", text);
	policy_free(p);
	p = NULL;
	cr_assert_eq(policy_parse("c", whole, strlen(whole), &p, &errors), 0, "%s", errors.first.text);
	cr_assert_eq(request_parse(option, &r, NULL), 0);
	struct policy_decision d = policy_decide(p, &none);
	bool on = policy_combine(&d, default_on, &wish, &r);
	cr_assert_eq(on, r.on);
	return !on ? "off" : r.profile ? "profile" : "events";
}

Test(policy_request, the_level_is_the_sites_and_the_user_may_change_it_as_far_as_override_says)
{
	static const struct {
		const char *policy, *option;
		bool opted_out;
		const char *level, *why;
	} cases[] = {
		{"", NULL, false, "off", "[defaults]"},
		{"", "", false, "events", "asked by the user"},
		{"level=profile", NULL, false, "profile", ""},
		{"level=profile", "on", false, "events", "asked by the user"},
		{"level=events", "off", false, "off", "opted out"},
		{"level=events", NULL, true, "off", "opted out"},
		{"level=events", "on", true, "events", "asked by the user"},
		{"level=events\noverride=off", "profile", false, "events", "does not count"},
		{"level=events\noverride=off", "off", false, "off", "opted out"},
		{"level=events\noverride=off", NULL, true, "off", "opted out"},
		{"level=off\noverride=off", "on", false, "off", "does not count"},
		{"level=events\noverride=none", "off", false, "events", "may not opt out"},
		{"level=events\noverride=none", NULL, true, "events", "may not opt out"},
		{"max_level=profile", "on", false, "profile", "lowered to max_level"},
		{"max_level=off", "on", false, "off", "lowered to max_level"},
		{"level=events\nsample=0%", NULL, false, "off", "not this job"},
		{"level=events\nsample=0%", "on", false, "events", "asked by the user"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *level = get(cases[i].policy, cases[i].option, cases[i].opted_out, false);
		cr_assert_str_eq(level, cases[i].level, "case %zu: %s", i, r.site.why);
		cr_assert_eq(strncmp(r.site.why, level, strlen(level)), 0, "%s", r.site.why);
		cr_assert_not_null(strstr(r.site.why, cases[i].why), "case %zu: %s", i, r.site.why);
	}
}

Test(policy_request, default_on_of_plugstack_counts_where_the_files_say_no_level)
{
	cr_assert_str_eq(get("stack=1", NULL, false, true), "events");
	cr_assert_str_eq(get("level=off", NULL, false, true), "off");
	cr_assert_str_eq(get("max_level=profile", NULL, false, true), "profile");
}

Test(policy_request, values_are_the_sites_unless_given_and_never_over_the_cap)
{
	get("budget=1M\nstack=3", "on", false, false);
	cr_assert(r.budget_bytes == 1 << 20 && r.stack == 3);
	get("budget=1M\nstack=3", "budget=0,stack=0", false, false);
	cr_assert(r.budget_bytes == 0 && r.stack == 0);
	get("max_budget=2M\nmax_stack=4", "budget=3M,stack=5", false, false);
	cr_assert(r.budget_bytes == 2 << 20 && r.stack == 4);
	cr_assert_not_null(strstr(r.site.why, "budget=3145728 lowered to max_budget=2097152 (c:2)"), "%s", r.site.why);
	cr_assert_not_null(strstr(r.site.why, "stack=5 lowered to max_stack=4 (c:3)"), "%s", r.site.why);
	get("max_budget=2M", "on", false, false);
	cr_assert(r.budget_bytes == 0 && r.site.max_budget_bytes == 2 << 20, "the plugin's share, up to the cap");
	cr_assert_null(strstr(r.site.why, "lowered"), "nobody asked for more");
	get("level=events\noverride=off\nbudget=1M", "budget=5,stack=7,report=none", false, false);
	cr_assert(r.budget_bytes == 1 << 20 && r.stack == 0);
}

Test(policy_request, samples_are_the_users_where_the_user_may_decide)
{
	get("", "on", false, false);
	cr_assert_str_eq(r.sample, "", "the agent's own");
	get("sample_seconds=10m", "on", false, false);
	cr_assert_str_eq(r.sample, "600");
	get("sample_seconds=10m", "sample=0.5", false, false);
	cr_assert_str_eq(r.sample, "0.5");
	get("level=events\noverride=off\nsample_seconds=0", "sample=0.1", false, false);
	cr_assert_str_eq(r.sample, "0");
	get("level=events\noverride=off", "sample=0.1", false, false);
	cr_assert_str_eq(r.sample, "", "the site did not say, and the user may not");
	get("sample_seconds=30d", "on", false, false);
	cr_assert_str_eq(r.sample, "86400", "no rarer than once a day");
}

Test(policy_request, who_makes_the_report_is_the_sites_if_it_says_so)
{
	get("report=none", "on", false, false);
	cr_assert_eq(r.report, REPORT_NONE);
	get("report=none", "report=epilog", false, false);
	cr_assert_eq(r.report, REPORT_EPILOG);
	get("report=none\noverride=off\nlevel=events", "report=epilog", false, false);
	cr_assert_eq(r.report, REPORT_NONE);
	get("", "report=epilog", false, false);
	cr_assert_eq(r.report, REPORT_EPILOG);
}

Test(policy_request, what_the_agent_needs_is_handed_on)
{
	get("redact=paths\nfile_mode=0600\nfinish=queue\nfinish_processes=4\npage_bytes=1M", "on", false, false);
	cr_assert_eq(r.site.redact, POLICY_REDACT_PATHS);
	cr_assert_eq(r.site.umask, REQUEST_UMASK_GIVEN | 0077);
	cr_assert_str_eq(r.site.finish, "queue");
	cr_assert_eq(r.site.finish_processes, 4);
	cr_assert_str_eq(r.site.page, "1048576");
	get("", "on", false, false);
	cr_assert(r.site.redact == 0 && r.site.umask == 0 && r.site.finish[0] == '\0' && r.site.page[0] == '\0');
}

/* ---- what is left out ---- */

static void describe(unsigned what)
{
	char *argv[] = {(char[]){"/home/alice/bin/app"}, (char[]){"--password=s3cret"}};
	layout_done(&l);
	layout_set(&l, LAYOUT_NODE, "n17");
	layout_set(&l, LAYOUT_NODELIST, "n[16-17]");
	layout_set(&l, LAYOUT_SWITCHES, "spine.leaf1.n17 switch.switch.node");
	layout_set(&l, LAYOUT_SUBMIT, "/home/alice/study");
	layout_set_argv(&l, argv, 2);
	redact_layout(&l, what, 42);
}

static bool holds(const char *text)
{
	for (int i = 0; i < LAYOUT_KEYS; i++)
		if (strstr(layout_text(&l, (enum layout_key)i), text) != NULL)
			return true;
	return false;
}

Test(policy_request, what_is_not_wanted_is_not_in_the_record)
{
	char first[32];
	describe(0);
	cr_assert(holds("s3cret") && holds("alice") && holds("n17") && holds("n[16-17]"));
	describe(POLICY_REDACT_ARGUMENTS);
	cr_assert(!holds("s3cret") && holds("/home/alice/bin/app") && holds("n17"));
	describe(POLICY_REDACT_PATHS);
	cr_assert(!holds("s3cret") && !holds("alice") && holds("app") && holds("n17"));
	describe(POLICY_REDACT_HOSTS);
	cr_assert(!holds("n17") && !holds("n[16-17]") && holds("/home/alice/bin/app"));
	snprintf(first, sizeof(first), "%s", layout_text(&l, LAYOUT_NODE));
	char wanted[80];
	snprintf(wanted, sizeof(wanted), "spine.leaf1.%s switch.switch.node", first);
	cr_assert_str_eq(layout_text(&l, LAYOUT_SWITCHES), wanted, "the switches stay");
	describe(POLICY_REDACT_HOSTS);
	cr_assert_str_eq(layout_text(&l, LAYOUT_NODE), first, "a node keeps its stand-in in a job");
	layout_set(&l, LAYOUT_NODE, "n17");
	redact_layout(&l, POLICY_REDACT_HOSTS, 43);
	cr_assert_str_neq(layout_text(&l, LAYOUT_NODE), first, "and has another in the next");
	layout_set(&l, LAYOUT_NODE, "n18");
	redact_layout(&l, POLICY_REDACT_HOSTS, 42);
	cr_assert_str_neq(layout_text(&l, LAYOUT_NODE), first);
}

/* Names of one node in neighbouring jobs are as alike as those of any two: half of their bits differ. */
Test(policy_request, a_stand_in_tells_nothing_of_that_in_the_next_job)
{
	unsigned differ[32] = {0};
	unsigned long before = 0;
	for (uint32_t job = 1000; job <= 1400; job++) {
		struct layout node = {0};
		layout_set(&node, LAYOUT_NODE, "n17");
		layout_set(&node, LAYOUT_SWITCHES, "");
		redact_layout(&node, POLICY_REDACT_HOSTS, job);
		unsigned long now = strtoul(layout_text(&node, LAYOUT_NODE) + 1, NULL, 16);
		for (unsigned bit = 0; bit < 32 && job > 1000; bit++)
			differ[bit] += (before ^ now) >> bit & 1;
		before = now;
		layout_done(&node);
	}
	for (unsigned bit = 0; bit < 32; bit++)
		cr_expect(differ[bit] > 120 && differ[bit] < 280, "bit %u: %u of 400", bit, differ[bit]);
}

Test(policy_request, in_doubt_about_a_budget_a_job_gets_the_plugins_share_and_no_more_than_it)
{
	static const char text[] = "[rule r]\npartition = x\nbudget = 8G\n";
	struct policy_errors errors = {.count = 0};
	struct policy_facts none = {0};
	struct policy_wish wish = {.asked = true};
	cr_assert_eq(policy_parse("c", text, strlen(text), &p, &errors), 0);
	request_parse("", &r, NULL);
	struct policy_decision d = policy_decide(p, &none);
	policy_combine(&d, false, &wish, &r);
	cr_assert(r.budget_bytes == 0 && r.site.max_budget_bytes == 8ull << 30);
}

Test(policy_request, default_on_gives_nothing_where_a_rule_may_say_less)
{
	static const char text[] = "[rule r]\npartition = x\nlevel = profile\n";
	struct policy_errors errors = {.count = 0};
	struct policy_facts none = {0};
	struct policy_wish wish = {.asked = false};
	cr_assert_eq(policy_parse("c", text, strlen(text), &p, &errors), 0);
	request_parse("", &r, NULL);
	struct policy_decision d = policy_decide(p, &none);
	cr_assert_not(policy_combine(&d, true, &wish, &r));
}
