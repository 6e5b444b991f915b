/* policy.c - the site's policy: what it may say, what is refused and where, and what a job gets. */
#include "base/buf.h"
#include "spank/policy/policy.h"
#include "spank/policy/rules.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct policy *p;
static struct policy_errors errors;
static struct policy_facts facts;
static struct policy_decision d;

static void clean(void)
{
	policy_free(p);
	policy_facts_done(&facts);
}

TestSuite(policy, .fini = clean);

static int parse(const char *text)
{
	policy_free(p);
	p = NULL;
	errors = (struct policy_errors){.count = 0};
	return policy_parse("a.conf", text, strlen(text), &p, &errors);
}

/* NULL ends the list. */
static const char *decide(const char *first, ...)
{
	va_list ap;
	policy_facts_done(&facts);
	va_start(ap, first);
	for (const char *fact = first; fact != NULL; fact = va_arg(ap, const char *))
		cr_assert_eq(policy_facts_take(&facts, fact, NULL), 0, "%s", fact);
	va_end(ap);
	d = policy_decide(p, &facts);
	return d.rule != NULL ? d.rule : "";
}

/* ---- the text ---- */

Test(policy, nothing_is_the_built_in_values)
{
	char where[512];
	cr_assert_eq(parse(""), 0);
	cr_assert_str_eq(decide(NULL), "");
	cr_assert_eq(policy_level(&d), POLICY_LEVEL_OFF);
	cr_assert_eq(policy_number(&d, POLICY_OVERRIDE), POLICY_OVERRIDE_ALL);
	cr_assert_eq(policy_number(&d, POLICY_SAMPLE), 1000000);
	cr_assert_eq(policy_umask(&d), -1);
	cr_assert_str_eq(policy_where(&d, POLICY_LEVEL, where), "built in");
}

Test(policy, comments_blanks_and_line_ends_are_as_in_other_files)
{
	cr_assert_eq(parse("# a\n; b\n\n\t[defaults] \r\n  budget=512M\t\nstack = 4"), 0, "%s", errors.first.text);
	decide(NULL);
	cr_assert_eq(policy_number(&d, POLICY_BUDGET), 512ull << 20);
	cr_assert_eq(policy_number(&d, POLICY_STACK), 4);
}

Test(policy, every_error_is_told_with_file_and_line)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{"level = off\n", "a.conf:1: stands before the first section"},
		{"[defaults]\nlevl = off\n", "a.conf:2: unknown key \"levl\"; did you mean \"level\"?"},
		{"[rule a]\npartitoin = x\n", "a.conf:2: unknown key \"partitoin\"; did you mean \"partition\"?"},
		{"[defaults]\nxyzzy = 1\n", "unknown key \"xyzzy\"; mpitrace.conf(5) lists all"},
		{"[default]\n",
		 "a.conf:1: unknown section \"default\"; known: [defaults], [rule NAME] and [destination NAME]"},
		{"[rule]\n", "a rule needs a name"},
		{"[rule a\n", "a section ends with ']'"},
		{"[rule a]\n[rule a]\n", "a.conf:2: rule \"a\" is there already, at a.conf:1"},
		{"[defaults]\nlevel = off\nlevel = off\n", "a.conf:3: \"level\" is set already, at a.conf:2"},
		{"[rule a]\nuser = x\n\nuser = y\n", "a.conf:4: \"user\" is set already, at a.conf:2"},
		{"[defaults]\nlevel\n", "a.conf:2: expects KEY = VALUE"},
		{"[defaults]\nlevel =\n", "a.conf:2: \"level\" has no value"},
		{"[defaults]\nlevel = loud\n", "level = loud: must be one of off|profile|events"},
		{"[defaults]\nlevel = off # quiet\n", "comments stand on lines of their own"},
		{"[defaults]\nuser = x\n", "\"user\" is a condition and stands in a [rule NAME]"},
		{"[rule a]\nretention = 3d\n", "\"retention\" counts for all jobs and stands in [defaults]"},
		{"[defaults]\nbudget = 1X\n", "must be a size"},
		{"[defaults]\nbudget = 99999999999T\n", "must be a size"},
		{"[defaults]\nreport_seconds = 1y\n", "must be a time"},
		{"[defaults]\nstack = 33\n", "must be a number from 0 to 32"},
		{"[defaults]\nsample = 5\n", "must be a share"},
		{"[defaults]\nsample = 101%\n", "must be a share"},
		{"[defaults]\nredact = none, paths\n", "must be a list of"},
		{"[defaults]\noutput = %u\n", "needs %j"},
		{"[defaults]\noutput = %j/%n\n", "differs between the nodes"},
		{"[defaults]\noutput = %j/%z\n", "unknown %z"},
		{"[defaults]\noutput = ../%j\n", "must not contain"},
		{"[defaults]\ndirectory = x\n", "absolute path"},
		{"[defaults]\ndirectory = /x/\n", "'/' at its end"},
		{"[defaults]\ndirectory = /x/%u\n", "is not a pattern"},
		{"[rule a]\nnodes = 4-2\n", "takes numbers and ranges"},
		{"[rule a]\nnodes = -\n", "takes numbers and ranges"},
		{"[rule a]\nuid = alice\n", "takes numbers and ranges"},
		{"[rule a]\nuser = a,,b\n", "empty item"},
		{"[rule a]\nuser = !\n", "empty item"},
		{"[rule a]\nuser = *, ! \n", "empty item"},
		{"[rule a]\nuser = *, !!root\n", "two !"},
		{"[rule a]\nprogram = *, !!vasp\n", "two !"},
		{"[rule a]\nuser = \"alice\"\n", "names stand without quotes"},
		{"[rule a]\njob_name = \"fluid\"\n", "names stand without quotes"},
		{"[rule a]\nprogram = 'vasp'\n", "names stand without quotes"},
		{"[rule a]\nuser = 'alice'\n", "names stand without quotes"},
		{"[rule a]\npartition = !secret !export\n", "separated by commas"},
		{"[rule a]\ngroup = a b\n", "separated by commas"},
		{"[rule a]\naccount = a|b\n", "separated by commas"},
		{"[rule a]\npartition = gpu[1-4]\n", "? stands for any one byte"},
		{"[rule a]\nqos = normal\u00a0\n", "has byte 0xc2 in \"normal"},
		{"[rule a]\nbudget = 2G\nmax_budget = 1G\n", "a.conf:2: budget = 2G is over max_budget = 1G"},
		{"[defaults]\nmax_level = profile\n[rule a]\nlevel = events\n",
		 "a.conf:4: level = events is over max_level = profile"},
		{"[defaults]\nlevel = off\001\n", "control character"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_lt(parse(cases[i].text), 0, "%s", cases[i].text);
		cr_assert_null(p);
		cr_assert_eq(errors.count, 1, "%s", cases[i].text);
		cr_assert_not_null(strstr(errors.first.text, "a.conf:"), "%s", errors.first.text);
		cr_assert_not_null(strstr(errors.first.text, cases[i].wanted), "%s: %s", cases[i].text,
				   errors.first.text);
	}
}

/* Each would fit nobody, and a rule that takes away would take from nobody. */
Test(policy, what_no_name_looks_like_is_a_slip)
{
	static const struct {
		const char *condition, *wanted;
	} cases[] = {
		{"user = \u201calice\u201d", "has byte 0xe2 in \""},
		{"user = \u2018alice\u2019", "has byte 0xe2"},
		{"user = \u00abalice\u00bb", "has byte 0xc2"},
		{"user = alice,\u2009bob", "has byte 0xe2"},
		{"user = alice\u202f", "has byte 0xe2"},
		{"user = alice,\u3000bob", "has byte 0xe3"},
		{"user = alice\xc2\x85", "has byte 0xc2"},
		{"user = alice,\xa0"
		 "bob",
		 "has byte 0xa0"},
		{"user = !\xa0root", "has byte 0xa0"},
		{"user = \u200balice", "has byte 0xe2"},
		{"user = alice\ufeff", "has byte 0xef"},
		{"user = ali\u00adce", "has byte 0xc2"},
		{"user = \u200ealice", "has byte 0xe2"},
		{"user = alice\uff0cbob", "has byte 0xef"},
		{"user = alice\u060c bob", "has byte 0xd8"},
		{"user = \u0430lice", "has byte 0xd0"},
		{"user = bob:alice", "has ':' in \"bob:alice\""},
		{"user = alice+bob", "has '+' in"},
		{"user = alice/bob", "has '/' in"},
		{"user = alice&bob", "has '&' in"},
		{"user = ~alice", "has '~' in"},
		{"user = ^alice", "has '^' in"},
		{"user = <alice>", "has '<' in"},
		{"user = alice bob", "has ' ' in"},
		{"user = alice\tbob", "has byte 0x09 in"},
		{"user = -alice", "only ! excludes"},
		{"user = @phys", "@ and one \\ stand inside"},
		{"group = @phys", "@ and one \\ stand inside"},
		{"user = alice@", "@ and one \\ stand inside"},
		{"user = alice\\", "@ and one \\ stand inside"},
		{"user = alice\\, bob", "@ and one \\ stand inside"},
		{"user = \\alice", "@ and one \\ stand inside"},
		{"user = DOMAIN\\\\alice", "nothing is escaped"},
		{"user = $USER", "$ at the end"},
		{"account = proj-$USER", "$ at the end"},
		{"user = 1000", "numbers of users stand behind uid ="},
		{"user = alice, !1000", "numbers of users stand behind uid ="},
		{"user = 1000-1999", "numbers of users stand behind uid ="},
		{"user = 1000-", "numbers of users stand behind uid ="},
		{"group = 400-600", "single numbers, not \"400-600\""},
		{"group = 400-", "single numbers, not"},
		{"group = -600", "single numbers, not"},
		{"group = +500", "has '+' in"},
		{"group = 4294967296", "no group has so large a number"},
		{"group = 99999999999999999999999", "no group has so large a number"},
		{"account = \u200bproj", "has byte 0xe2"},
		{"partition = gpu/long", "has '/' in"},
		{"qos = high+", "has '+' in"},
	};
	char text[256];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "[rule r]\n%s\nmax_level = off\n", cases[i].condition);
		cr_assert_lt(parse(text), 0, "%s", text);
		cr_assert_eq(errors.count, 1, "%s", text);
		cr_assert_eq(strncmp(errors.first.text, "a.conf:2: ", 10), 0, "%s", errors.first.text);
		cr_assert_not_null(strstr(errors.first.text, cases[i].wanted), "%s: %s", text, errors.first.text);
	}
}

Test(policy, all_errors_are_counted_and_a_bad_section_is_one)
{
	cr_assert_lt(parse("[defaults]\na = 1\nb = 2\n[what]\nc = 3\nd = 4\n[rule x]\ne = 5\n"), 0);
	cr_assert_eq(errors.count, 4);
}

/* One more than each limit. */
Test(policy, limits_hold)
{
	_cleanup_buf_ struct buf b = {0};
	for (unsigned i = 0; i <= POLICY_RULES_MAX; i++)
		buf_printf(&b, "[rule r%u]\n", i);
	cr_assert_eq(policy_parse("a", (char *)b.data, b.len_bytes - strlen("[rule r1024]\n"), &p, &errors), 0);
	clean();
	p = NULL;
	cr_assert_eq(policy_parse("a", (char *)b.data, b.len_bytes, &p, &errors), -E2BIG);
	b.len_bytes = 0;
	buf_str(&b, "[rule a]\nuser = u");
	for (unsigned i = 1; i < POLICY_ITEMS_MAX; i++)
		buf_str(&b, ",u");
	cr_assert_eq(policy_parse("a", (char *)b.data, b.len_bytes, &p, &errors), 0);
	clean();
	p = NULL;
	buf_str(&b, ",u");
	cr_assert_eq(policy_parse("a", (char *)b.data, b.len_bytes, &p, &errors), -E2BIG);
	b.len_bytes = 0;
	buf_str(&b, "[rule a]\nuser = ");
	while (b.len_bytes < 9 + POLICY_LINE_MAX)
		buf_u8(&b, 'u');
	cr_assert_eq(policy_parse("a", (char *)b.data, b.len_bytes, &p, &errors), 0);
	clean();
	p = NULL;
	buf_u8(&b, 'u');
	cr_assert_eq(policy_parse("a", (char *)b.data, b.len_bytes, &p, &errors), -E2BIG);
	b.len_bytes = 0;
	while (b.len_bytes < POLICY_FILE_BYTES_MAX)
		buf_u8(&b, '\n');
	cr_assert_eq(policy_parse("a", (char *)b.data, b.len_bytes, &p, &errors), 0);
	clean();
	p = NULL;
	buf_u8(&b, '\n');
	cr_assert_eq(policy_parse("a", (char *)b.data, b.len_bytes, &p, &errors), -E2BIG);
}

/* ---- conditions ---- */

Test(policy, each_condition_decides_alone)
{
	static const struct {
		const char *condition, *fits, *fits_not;
	} cases[] = {
		{"user = alice, bob", "user=bob", "user=eve"},
		{"user = !bob", "user=eve", "user=bob"},
		{"user = a*, !alice", "user=adam", "user=alice"},
		{"user = *, ! root", "user=eve", "user=root"},
		{"program = *, !\tvasp", "program=/bin/x", "program=/bin/vasp"},
		{"group = domain?users", "group=100,domain users", "group=100,users"},
		{"uid = 1000-1999", "uid=1999", "uid=2000"},
		{"group = physics", "group=100,users,physics", "group=100,users"},
		{"group = 2000", "group=100,2000", "group=100,20000"},
		{"group = 0500", "group=100,500", "group=100,5"},
		{"group = 000", "group=0,root", "group=100,500"},
		{"group = 4??", "group=100,401", "group=100,4000"},
		{"group = 2024-a", "group=1,2024-a", "group=1,2024"},
		{"user = alice@REALM.ORG, *@b", "user=eve@b", "user=alice"},
		{"user = DOMAIN\\*", "user=DOMAIN\\alice", "user=alice"},
		{"user = *$", "user=node1$", "user=node1"},
		{"user = ?2345", "user=12345", "user=1234"},
		{"user = Bob_2.x-y", "user=Bob_2.x-y", "user=Bob_2.x"},
		{"user = j??rg", "user=j\u00f6rg", "user=jorg"},
		{"account = 4711", "account=4711", "account=471"},
		{"partition = 2024-1", "partition=2024-1", "partition=2024"},
		{"job_name = \u201ctest\u201d", "job_name=\u201ctest\u201d", "job_name=test"},
		{"account = proj-?", "account=proj-1", "account=proj-12"},
		{"partition = debug, gpu*", "partition=gpu-long", "partition=main"},
		{"qos = high", "qos=high", "qos=low"},
		{"nodes = 2-4, 16-", "nodes=16", "nodes=5"},
		{"nodes = -8", "nodes=8", "nodes=9"},
		{"tasks = 64", "tasks=64", "tasks=63"},
		{"program = lammps*", "program=/opt/bin/lammps-2", "program=/lammps/bin/x"},
		{"program = /opt/*", "program=/opt/bin/x", "program=./opt/x"},
		{"job_name = test*", "job_name=test 7", "job_name=7 test"},
		{"job_name = test [7]", "job_name=test [7]", "job_name=test 7"},
	};
	char text[256];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "[rule r]\n%s\n", cases[i].condition);
		cr_assert_eq(parse(text), 0, "%s", errors.first.text);
		cr_assert_str_eq(decide(cases[i].fits, NULL), "r", "%s %s", text, cases[i].fits);
		cr_assert_str_eq(decide(cases[i].fits_not, NULL), "", "%s %s", text, cases[i].fits_not);
		cr_assert_eq(d.unknown, 0);
		cr_assert_str_eq(decide(NULL), "", "%s must not fit a job of which nothing is known", text);
		cr_assert_neq(d.unknown, 0);
	}
}

Test(policy, all_conditions_of_a_rule_must_fit)
{
	cr_assert_eq(parse("[rule r]\nuser = a\nnodes = 2-\n"), 0);
	cr_assert_str_eq(decide("user=a", "nodes=2", NULL), "r");
	cr_assert_str_eq(decide("user=b", "nodes=2", NULL), "");
	cr_assert_str_eq(decide("user=a", "nodes=1", NULL), "");
}

Test(policy, the_first_rule_that_fits_decides_and_defaults_fill_in)
{
	char where[512], why[POLICY_WHY_MAX];
	cr_assert_eq(parse("[defaults]\nlevel = profile\nstack = 2\n"
			   "[rule first]\nuser = a\nlevel = events\n"
			   "[rule second]\nlevel = off\nstack = 7\n"),
		     0);
	cr_assert_str_eq(decide("user=a", NULL), "first");
	cr_assert_eq(policy_level(&d), POLICY_LEVEL_EVENTS);
	cr_assert_eq(policy_number(&d, POLICY_STACK), 2);
	cr_assert_str_eq(policy_where(&d, POLICY_STACK, where), "a.conf:3");
	cr_assert_str_eq(policy_where(&d, POLICY_LEVEL, where), "a.conf:6");
	cr_assert_str_eq(policy_why(&d, why), "rule \"first\" (a.conf:4)");
	cr_assert_str_eq(decide("user=b", NULL), "second");
	cr_assert_eq(policy_number(&d, POLICY_STACK), 7);
}

Test(policy, a_rule_that_needs_what_is_not_known_is_named)
{
	char why[POLICY_WHY_MAX];
	cr_assert_eq(parse("[rule r]\npartition = x\nqos = y\nlevel = events\n"), 0);
	decide("user=a", NULL);
	cr_assert_str_eq(policy_why(&d, why), "no rule matches, [defaults]; not known here: partition, qos");
	decide("partition=other", NULL);
	cr_assert_str_eq(policy_why(&d, why), "no rule matches, [defaults]", "qos does not matter then");
}

static bool count(void *context, const struct policy_decision *one)
{
	char *names = context;
	size_t used = strlen(names);
	snprintf(names + used, 64 - used, "%s ", one->rule != NULL ? one->rule : "-");
	return true;
}

Test(policy, what_may_apply_is_all_up_to_the_first_that_does)
{
	char names[64] = "";
	cr_assert_eq(parse("[rule no]\nuser = b\n[rule maybe]\npartition = x\n[rule yes]\nuser = a\n[rule never]\n"),
		     0);
	decide("user=a", NULL);
	policy_consider(p, &facts, count, names);
	cr_assert_str_eq(names, "maybe yes ");
	names[0] = '\0';
	decide("user=c", NULL);
	cr_assert_eq(parse("[rule maybe]\npartition = x\n"), 0);
	policy_consider(p, &facts, count, names);
	cr_assert_str_eq(names, "maybe - ");
}

Test(policy, a_rule_behind_one_for_all_is_named_unreachable)
{
	cr_assert_eq(parse("[rule a]\nuser = x\n[rule b]\nlevel = off\n"), 0);
	cr_assert_null(policy_unreachable(p));
	cr_assert_eq(parse("[rule b]\nlevel = off\n[rule a]\nuser = x\n"), 0);
	cr_assert_str_eq(policy_unreachable(p), "a");
}

Test(policy, globs_are_linear_also_where_backtracking_would_explode)
{
	char text[4001], pattern[] = "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_assert_not(policy_glob(pattern, text));
	cr_assert(policy_glob("*", "") && policy_glob("a*c", "abbc") && policy_glob("a?c*", "abc"));
	cr_assert_not(policy_glob("a?c", "ac") || policy_glob("", "a") || policy_glob("?", ""));
	cr_assert(policy_glob("*ab", "aab"), "the star takes more when the rest does not fit");
}

/* ---- in doubt ---- */

/* A rule that needs the partition, which nobody knows; the rest is [defaults]. */
static struct policy_decision doubt(const char *defaults, const char *rule)
{
	char text[512];
	snprintf(text, sizeof(text), "[defaults]\n%s\n[rule r]\npartition = x\n%s\n", defaults, rule);
	cr_assert_eq(parse(text), 0, "%s", errors.first.text);
	decide("user=a", NULL);
	return d;
}

Test(policy, what_is_not_known_fits_each_rule_that_takes_away_and_none_that_gives)
{
	static const struct {
		enum policy_setting key;
		const char *defaults, *rule, *gets;
	} cases[] = {
		{POLICY_LEVEL, "level=events", "level=off", "off"},
		{POLICY_LEVEL, "level=off", "level=events", "off"},
		{POLICY_LEVEL, "", "level=profile", "off"},
		{POLICY_MAX_LEVEL, "", "max_level=off", "off"},
		{POLICY_MAX_LEVEL, "max_level=profile", "max_level=events", "profile"},
		{POLICY_OVERRIDE, "", "override=off", "off"},
		{POLICY_SAMPLE, "", "sample=5%", "5%"},
		{POLICY_SAMPLE, "sample=1%", "sample=5%", "1%"},
		{POLICY_STACK, "stack=4", "stack=0", "0"},
		{POLICY_MAX_STACK, "max_stack=4", "max_stack=8", "4"},
		{POLICY_MAX_BUDGET, "", "max_budget=1M", "1M"},
		{POLICY_MAX_BUDGET, "max_budget=1M", "max_budget=2M", "1M"},
		{POLICY_TRACE_BYTES, "trace_bytes=1M", "trace_bytes=0", "1M"},
		{POLICY_READERS, "readers=adm", "readers=staff", ""},
		{POLICY_READERS, "", "readers=staff", ""},
		{POLICY_FILE_MODE, "", "file_mode=0644", "0600"},
		{POLICY_FILE_MODE, "file_mode=0640", "file_mode=0644", "0600"},
		{POLICY_REDACT, "", "redact=arguments", "arguments"},
		{POLICY_REDACT, "redact=hosts", "redact=none", "hosts"},
		{POLICY_REDACT, "redact=hosts", "redact=paths", "paths, hosts"},
		{POLICY_FINISH, "finish=leave", "finish=queue", "leave"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy_decision got = doubt(cases[i].defaults, cases[i].rule);
		cr_assert_str_eq(policy_text(&got, cases[i].key), cases[i].gets, "%s | %s", cases[i].defaults,
				 cases[i].rule);
		cr_assert_null(got.rule);
	}
	doubt("redact=hosts", "redact=paths");
	cr_assert_eq(policy_number(&d, POLICY_REDACT), POLICY_REDACT_PATHS | POLICY_REDACT_HOSTS);
	doubt("", "file_mode=0644");
	cr_assert_eq(policy_umask(&d), 0077);
}

Test(policy, a_rule_that_took_something_away_in_doubt_is_named)
{
	char why[POLICY_WHY_MAX], where[512];
	doubt("level=events", "level=off\nredact=paths");
	cr_assert_str_eq(policy_why(&d, why), "no rule matches, [defaults]; not known here: partition: so rule \"r\" "
					      "(a.conf:3) counts where it takes away");
	cr_assert_str_eq(policy_where(&d, POLICY_LEVEL, where), "a.conf:5");
	cr_assert_not_null(strstr(policy_where(&d, POLICY_REDACT, where), "in doubt"));
	doubt("level=off", "level=events");
	cr_assert_str_eq(policy_why(&d, why), "no rule matches, [defaults]; not known here: partition");
	d = policy_guess(p, &facts);
	cr_assert_eq(d.doubted, 0);
}

Test(policy, every_rule_that_may_fit_counts_up_to_the_first_that_does)
{
	cr_assert_eq(parse("[rule a]\npartition=x\nmax_stack=8\n[rule b]\nqos=y\nmax_level=profile\n"
			   "[rule c]\nuser=a\nlevel=profile\n[rule d]\npartition=z\nmax_level=off\n"),
		     0);
	cr_assert_str_eq(decide("user=a", NULL), "c");
	cr_assert(policy_number(&d, POLICY_MAX_STACK) == 8 &&
		  policy_number(&d, POLICY_MAX_LEVEL) == POLICY_LEVEL_PROFILE);
	cr_assert_eq(policy_level(&d), POLICY_LEVEL_OFF, "a and b would have the built-in one");
}

Test(policy, a_group_without_a_name_may_be_any_but_not_another_number)
{
	static const struct {
		const char *condition;
		bool may;
	} cases[] = {{"staff", true}, {"!staff", true}, {"300", false},	     {"!300", true},
		     {"st*", true},   {"100", true},	{"!100", false},     {"!users", false},
		     {"users", true}, {"3?0", true},	{"!users, x", false}};
	char text[256];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "[rule r]\ngroup = %s\nmax_level = off\n", cases[i].condition);
		cr_assert_eq(parse(text), 0);
		decide("group=100,200,users,?", NULL);
		cr_assert_eq(policy_number(&d, POLICY_MAX_LEVEL) == POLICY_LEVEL_OFF, cases[i].may, "%s", text);
		snprintf(text, sizeof(text), "[rule r]\ngroup = %s\nlevel = events\n", cases[i].condition);
		cr_assert_eq(parse(text), 0);
		decide("group=100,200,?", NULL);
		cr_assert_eq(policy_level(&d) == POLICY_LEVEL_EVENTS,
			     strcmp(cases[i].condition, "100") == 0 || strcmp(cases[i].condition, "!300") == 0, "%s",
			     text);
	}
}

/* ---- sampling ---- */

Test(policy, a_job_that_the_sample_passes_over_is_off_and_its_reason_says_so)
{
	char why[POLICY_WHY_MAX];
	unsigned in = 0;
	char job[32];
	cr_assert_eq(parse("[rule r]\nlevel = events\nsample = 20%\n"), 0);
	for (unsigned i = 1; i <= 1000; i++) {
		snprintf(job, sizeof(job), "job=%u", i);
		decide(job, NULL);
		bool taken = policy_level(&d) == POLICY_LEVEL_EVENTS;
		in += taken;
		cr_assert_not_null(
			strstr(policy_why(&d, why), taken ? "sample 20%: this job" : "sample 20%: not this job"));
	}
	cr_assert(in > 150 && in < 250, "%u", in);
	decide(NULL);
	cr_assert_eq(policy_level(&d), POLICY_LEVEL_OFF, "without a number");
	for (unsigned i = 1; i <= 100; i++) { /* the components of one job */
		char whole[32];
		snprintf(whole, sizeof(whole), "het_job=%u", i);
		snprintf(job, sizeof(job), "job=%u", i + 1);
		decide(job, whole, NULL);
		cr_assert_eq(!d.sampled_out, policy_sampled(i, 200000));
	}
}

/* ---- values ---- */

Test(policy, values_have_units)
{
	cr_assert_eq(parse("[defaults]\nbudget=3\nmax_budget=2T\nspool_bytes=64k\nreport_seconds=10m\nretention=30d\n"
			   "sample=0.25%\nredact = paths , hosts\nfile_mode=0640\nfinish=Sweep\nquota=1G\n"),
		     0, "%s", errors.first.text);
	decide(NULL);
	cr_assert_eq(policy_number(&d, POLICY_BUDGET), 3);
	cr_assert_eq(policy_number(&d, POLICY_MAX_BUDGET), 2ull << 40);
	cr_assert_eq(policy_number(&d, POLICY_SPOOL_BYTES), 64u << 10);
	cr_assert_eq(policy_number(&d, POLICY_REPORT_SECONDS), 600);
	cr_assert_eq(policy_number(&d, POLICY_RETENTION), 30 * 86400);
	cr_assert_eq(policy_number(&d, POLICY_SAMPLE), 2500);
	cr_assert_eq(policy_number(&d, POLICY_REDACT), POLICY_REDACT_PATHS | POLICY_REDACT_HOSTS);
	cr_assert_eq(policy_umask(&d), 0027);
	char name[16];
	cr_assert_str_eq(policy_choice(&d, POLICY_FINISH, name), "sweep");
}

static const char *expand(const char *pattern)
{
	static char path[512];
	struct error e = {""};
	cr_assert_eq(policy_expand(pattern, &facts, path, sizeof(path), &e), 0, "%s", e.text);
	return path;
}

Test(policy, output_patterns_are_filled_in)
{
	cr_assert_eq(parse(""), 0);
	decide("user=alice", "uid=7", "job=42", "array=40", "array_task=2", "step=3", "job_name=a/../.b", "partition=p",
	       NULL);
	cr_assert_str_eq(expand("/t/%u/%U/%j"), "/t/alice/7/42/step-3");
	cr_assert_str_eq(expand("%A_%a.%s"), "40_2.3");
	cr_assert_str_eq(expand("%x-%j%%s"), "a_.._.b-42%s/step-3");
	decide("job=42", "restart=2", "job_name=..", "step=0", NULL);
	cr_assert_str_eq(expand("%x/%j"), "_./42.2/step-0", "requeued, it has a directory of its own");
	cr_assert_str_eq(expand("%j/%r"), "42/2/step-0");
	cr_assert_str_eq(expand("%A/%a"), "42/0.2/step-0");
	decide("job=42", NULL);
	cr_assert_str_eq(expand("%j"), "42/step-\1", "for a step that is not known");
	struct error e;
	char path[16];
	cr_assert_eq(policy_expand("%u/%j", &facts, path, sizeof(path), &e), -ENOENT);
	cr_assert_not_null(strstr(e.text, "%u"));
	cr_assert_eq(policy_expand("0123456789/%j", &facts, path, sizeof(path), &e), -ENAMETOOLONG);
}

Test(policy, the_central_directory_is_a_pattern_too)
{
	char pattern[POLICY_OUTPUT_MAX + 32];
	cr_assert_eq(parse("[defaults]\ndirectory = /c\n[rule r]\nuser = a\noutput = /o/%j\n"), 0);
	decide("user=b", NULL);
	cr_assert_str_eq(policy_output(&d, pattern), "/c/%u/mpitrace-%j");
	decide("user=a", NULL);
	cr_assert_str_eq(policy_output(&d, pattern), "/o/%j");
}

Test(policy, the_documented_settings_are_those_of_the_tables)
{
	static const char *const pages[] = {"MPITRACE_POLICY_MD", "MPITRACE_CONF_5"};
	for (size_t k = 0; k < 2; k++) {
		_cleanup_buf_ struct buf text = {0};
		char wanted[512], *room;
		int fd = open(getenv(pages[k]), O_RDONLY);
		cr_assert_geq(fd, 0, "%s", pages[k]);
		cr_assert_not_null(room = (char *)buf_reserve(&text, 1 << 18));
		ssize_t n = read(fd, room, (1 << 18) - 1);
		room[n > 0 ? n : 0] = '\0';
		close(fd);
		for (int i = 0; i < POLICY_SETTINGS; i++) {
			const struct policy_setting_row *row = &policy_settings[i];
			if (k == 0)
				snprintf(wanted, sizeof(wanted), "| `%s` | %s | %s |\n", row->name,
					 row->fallback[0] != '\0' ? row->fallback : "-", row->meaning);
			else
				snprintf(wanted, sizeof(wanted), ".It Cm %s\n", row->name);
			cr_assert_not_null(strstr(room, wanted), "%s lacks: %s", getenv(pages[k]), wanted);
		}
		for (int i = 0; i < POLICY_FACTS; i++) {
			snprintf(wanted, sizeof(wanted), k == 0 ? "| `%s` | %s |\n" : ".It Cm %s\n",
				 policy_facts[i].name, policy_facts[i].meaning);
			if (policy_facts[i].match != POLICY_MATCH_NONE)
				cr_assert_not_null(strstr(room, wanted), "%s lacks: %s", getenv(pages[k]), wanted);
		}
	}
}
