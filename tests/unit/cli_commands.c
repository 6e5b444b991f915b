/* cli_commands.c - the command itself on a trace of which all is known: what it prints, where it ends, and that whoever
 * mistypes is told what is wanted, on standard error, with exit code 2. Two ranks; 1 waits for 0 three times. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir, said[1 << 20];

/* By a shell, in the directory; its exit code. Standard output and error are in said. */
static int mpitrace(const char *fmt, ...)
{
	char words[1024], command[4096];
	va_list args;
	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	snprintf(command, sizeof(command), "cd %s && exec 2>&1 </dev/null && %s %s", dir, getenv("MPITRACE"), words);
	FILE *from = popen(command, "r");
	size_t n = fread(said, 1, sizeof(said) - 1, from);
	said[n] = '\0';
	int status = pclose(from);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void says(const char *text)
{
	cr_expect_not_null(strstr(said, text), "\"%s\" is not in:\n%s", text, said);
}

static void begin(void)
{
	struct program *p = program_create(2, 1);
	for (int i = 0; i < 3; i++) {
		double at = 1000 * (i + 1);
		program_send(p, 0,
			     (struct call){.op = "MPI_Send",
					   .from_us = at + 500,
					   .to_us = at + 510,
					   .peer = 1,
					   .tag = 7,
					   .bytes = 100,
					   .line = 3});
		program_recv(p, 1,
			     (struct call){.op = "MPI_Recv",
					   .from_us = at,
					   .to_us = at + 520,
					   .peer = 0,
					   .tag = 7,
					   .bytes = 100,
					   .line = 5});
	}
	program_job(p, "77");
	dir = make_directory();
	program_write(p, dir, 5000, -1);
	program_destroy(p);
	cr_assert_eq(mpitrace("analyze n0.mpic -o a.mpix"), 0, "%s", said);
}

static void end(void)
{
	remove_directory(dir);
}

TestSuite(commands, .init = begin, .fini = end);

Test(commands, who_mistypes_is_told_what_is_wanted)
{
	static const struct {
		const char *words, *said;
	} cases[] = {
		{"", "mpitrace: what MPI cost a program"},
		{"nosuch", "no subcommand \"nosuch\""},
		{"analyze", "give .mpic files"},
		{"analyze n0.mpic -o b.mpix --threads 1025", "1025"},
		{"analyze n0.mpic -o b.mpix --threads 0", "--threads"},
		{"analyze n0.mpic -o b.mpix --threads 2x", "2x"},
		{"check a.mpix", "--protocol"},
		{"collect", "needs the step directory"},
		{"diff a.mpix", "give at least two files"},
		{"diff a.mpix --", "no file before or after --"},
		{"diff -- a.mpix a.mpix", "no file before or after --"},
		{"diff a.mpix a.mpix --scaling both", "strong"},
		{"doctor --nonsense", "unknown option \"--nonsense\""},
		{"export a.mpix -o x", "--to is missing"},
		{"export a.mpix --to csv", "-o PATH is missing"},
		{"export --to csv -o x", "give one FILE.mpix"},
		{"export a.mpix --to word -o x", "give one of csv, json"},
		{"export a.mpix --to csv -o x --ranks 3-1", "give ranks such as 0-3,8"},
		{"export a.mpix --to csv -o x --since x", "not a number of seconds"},
		{"export a.mpix --to csv -o x --since 2 --until 2", "--since is not before --until"},
		{"export a.mpix --to csv -o x --tables", "--tables applies to --to json only"},
		{"export a.mpix --to csv -o x --weight wait", "--weight applies to --to folded only"},
		{"finish", "needs the output directory"},
		{"fleet", "give a command"},
		{"import x -o y", "--from is missing"},
		{"live", "give a job's number or directory"},
		{"record", "give one FILE.mpix"},
		{"run", "no program given"},
		{"show", "give one FILE.mpix"},
		{"show a.mpix a.mpix", "give one FILE.mpix"},
		{"sweep x", "takes --spool DIR"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(mpitrace("%s", cases[i].words), 2, "%s", cases[i].words);
		says(cases[i].said);
	}
}

Test(commands, what_is_not_there_is_named)
{
	static const char *const words[] = {
		"analyze nowhere -o x.mpix",

		"collect nowhere",	     "diff nowhere nowhere", "finish nowhere", "live nowhere",
		"report nowhere -o x.html",  "show nowhere",	     "whatif nowhere"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		cr_expect_eq(mpitrace("%s", words[i]), 3, "%s", words[i]);
		says("nowhere: ");
		says("No such file or directory");
	}
}

Test(commands, each_has_its_help)
{
	static const char *const names[] = {"analyze", "check", "collect", "diff",    "doctor", "export",
					    "finish",  "fleet", "import",  "live",    "record", "report",
					    "run",     "show",	"sweep",   "topology"};
	cr_expect_eq(mpitrace("--help"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		says(names[i]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char usage[64];
		snprintf(usage, sizeof(usage), "usage: mpitrace %s", names[i]);
		cr_expect_eq(mpitrace("%s --help", names[i]), 0);
		says(usage);
	}
	cr_expect_eq(mpitrace("--version"), 0);
	says("mpitrace ");
}

/* As a shell says it: 126 for what is no program, 127 for what is not there. */
Test(commands, a_program_is_looked_for_as_a_shell_does)
{
	char text[512];
	cr_assert_eq(mpitrace("--version >/dev/null; mkdir -p bin sub; printf '#!/bin/sh\\necho ran\\n' >bin/prog; "
			      "cp bin/prog bin/closed; chmod 755 bin/prog; chmod 644 bin/closed"),
		     0);
	cr_expect_eq(mpitrace("run --quiet -- ./nothing"), 127);
	says("nothing");
	cr_expect_eq(mpitrace("run --quiet -- nothing-of-that-name"), 127);
	cr_expect_eq(mpitrace("run --quiet -- ./sub"), 126);
	says("is a directory, not a program");
	cr_expect_eq(mpitrace("run --quiet -- bin/closed"), 126);
	says("is not executable");
	snprintf(text, sizeof(text), "--version >/dev/null; PATH=%s/bin:/usr/bin:/bin %s run --quiet -- closed", dir,
		 getenv("MPITRACE"));
	cr_expect_eq(mpitrace("%s", text), 126, "what came closest: %s", said);
	cr_expect_eq(mpitrace("--version >/dev/null; unset PATH; %s run --quiet -- nothing-of-that-name",
			      getenv("MPITRACE")),
		     127);
}

/* By a shell that sets before. */
#define SHELL(before) "--version >/dev/null; " before "; exec $MPITRACE "

/* Exit code, signals and what lies about are as without us. */
Test(commands, a_program_that_is_run_notices_nothing_of_it)
{
	cr_assert_eq(mpitrace("--version >/dev/null; ls -A"), 0);
	char *before = strdup(said);
	cr_expect_eq(mpitrace("run -- sh -c 'exit 5'"), 5);
	says("no MPI call of sh came to the tracer; the program ended with exit code 5");
	cr_expect_eq(mpitrace("run -- sh -c 'kill -TERM $$'"), 128 + 15, "%s", said);
	cr_expect_eq(
		mpitrace(SHELL("trap '' USR2; grep -E 'Sig(Blk|Ign)' /proc/self/status >plain") "run -- sh -c \"grep "
												"-E 'Sig(Blk|Ign)' "
												"/proc/self/status | "
												"cmp - plain\""),
		0, "%s", said);
	cr_assert_eq(mpitrace("--version >/dev/null; rm plain; ls -A"), 0);
	cr_expect_str_eq(said, before, "%s", said);
	free(before);
}

#define LAUNCHER \
	"mkdir -p bin; printf '#!/bin/sh\n%s\n' >bin/mpirun; chmod 755 bin/mpirun; cp /bin/true prog; " \
	"PATH=$PWD/bin:$PATH"

/* A script stands for the launcher. */
Test(commands, what_a_launcher_is_told_and_why_it_started_nothing)
{
	cr_expect_eq(mpitrace(SHELL(LAUNCHER) "run -n 3 --mpirun '--a  b' -- ./prog c 'd e'",
			      "[ \"$1\" != --version ] && printf \"<%%s>\" \"$@\" && exec /bin/true"),
		     0, "%s", said);
	says("<-n><3><--a><b><./prog><c><d e>");
	says("no MPI call of ./prog came to the tracer: it is not an MPI program");
	cr_expect_eq(mpitrace(SHELL(LAUNCHER) "run -n 3 -- ./prog", "exit 7"), 7, "%s", said);
	says("mpirun failed before it started ./prog: exit code 7; its own message is above");
	cr_expect_eq(mpitrace(SHELL(LAUNCHER) "run -n 3 -- ./prog", "echo unknown option; exit 7"), 7, "%s", said);
	says("exit code 7; it rejects an option in --mpirun");
	cr_expect_eq(mpitrace(SHELL(LAUNCHER) "run -n 3 -- ./prog", "kill -TERM $$"), 128 + 15, "%s", said);
	says("mpirun was ended by signal 15 before it started ./prog");
}

Test(commands, show_lists_events_of_a_rank_and_a_span)
{
	cr_expect_eq(mpitrace("show a.mpix --events"), 0);
	says("MPI_Send");
	says("MPI_Recv");
	cr_expect_null(strstr(said, "calls]"), "each event is one: %s", said);
	cr_expect_eq(mpitrace("show a.mpix --events --rank 1"), 0);
	says("MPI_Recv");
	cr_expect_null(strstr(said, "MPI_Send"), "%s", said);
	cr_expect_eq(mpitrace("show a.mpix --events --rank 2"), 2, "%s", said);
	cr_expect_eq(mpitrace("show none.mpix"), 3, "%s", said);
	says("none.mpix");
}

/* Two of 24 ranks compute longer, until all meet. */
Test(commands, show_names_who_computes_unlike_the_others)
{
	struct program *p = program_create(24, 1);
	for (unsigned r = 0; r < 24; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = r == 3 || r == 17 ? 5000 : 1000 + r,
					   .to_us = 5010,
					   .coll = COLL_BARRIER});
	program_write(p, dir, 5100, -1);
	program_destroy(p);
	cr_expect_eq(mpitrace("analyze n0.mpic -o b.mpix"), 0, "%s", said);
	cr_expect_eq(mpitrace("show b.mpix"), 0, "%s", said);
	says("outliers: rank 3, 17\n");
	says("; half of the ranks from ");
}

Test(commands, show_and_record_name_what_was_waited_for)
{
	cr_expect_eq(mpitrace("show a.mpix"), 0);
	says("late sender");
	says("MPI_Recv");
	cr_expect_eq(mpitrace("show a.mpix --json"), 0);
	cJSON *a = cJSON_Parse(said);
	cr_assert_not_null(a);
	cr_expect_eq(at_path(a, "summary.transfers"), 3);
	cJSON_Delete(a);
	cr_expect_eq(mpitrace("record a.mpix"), 0);
	cJSON *r = cJSON_Parse(said);
	cr_assert_not_null(r, "%s", said);
	cr_expect_eq(field(r, "ranks"), 2);
	cr_expect_str_eq(cJSON_GetObjectItem(r, "job_id")->valuestring, "77");
	cJSON_Delete(r);
}

Test(commands, diff_compares_files_or_groups_of_them)
{
	cr_assert_eq(mpitrace("--version >/dev/null; cp a.mpix b.mpix; cp a.mpix c.mpix"), 0);
	cr_expect_eq(mpitrace("diff a.mpix b.mpix --json"), 0, "%s", said);
	cJSON *d = cJSON_Parse(said);
	cr_expect_not_null(d);
	cJSON_Delete(d);
	cr_expect_eq(mpitrace("diff a.mpix b.mpix -- c.mpix a.mpix"), 0, "%s", said);
	cr_expect_eq(mpitrace("diff a.mpix b.mpix --html d.html"), 0, "%s", said);
	cr_expect_eq(mpitrace("--version >/dev/null; grep -c '</html>' d.html"), 0, "%s", said);
	cr_expect_eq(mpitrace("diff a.mpix b.mpix c.mpix"), 2, "%s", said);
	says("3 runs on 2 ranks each: put -- between the runs before and after the change");
	cr_expect_eq(mpitrace("diff a.mpix none.mpix"), 3, "%s", said);
	says("none.mpix");
}

/* What is not known is not said to be good, or to differ. */
Test(commands, what_is_not_known_is_said_to_be_so)
{
	cr_expect_eq(mpitrace("topology a.mpix"), 0, "%s", said);
	says("Whether bindings are as they should be is not known.");
	cr_expect_eq(
		mpitrace("show a.mpix --json > a.json; sed 's/\"mpi\": *\"[^\"]*\"/\"mpi\":\"\"/' a.json > b.json"), 0);
	cr_expect_eq(mpitrace("diff a.json b.json"), 0, "%s", said);
	cr_expect_null(strstr(said, "another MPI library"), "%s", said);
}

Test(commands, a_replay_without_single_calls_is_refused)
{
	struct program *p = program_create(2, 1);
	for (unsigned r = 0; r < 2; r++)
		program_budget_spent(p, r);
	program_write(p, dir, 5000, -1);
	program_destroy(p);
	cr_expect_leq(mpitrace("analyze n0.mpic -o totals.mpix"), 4, "%s", said);
	cr_expect_eq(mpitrace("whatif totals.mpix"), 3, "%s", said);
	says("no single calls in it");
}

/* Of a rank that died all is there; of one that lost events it is not. */
Test(commands, a_step_is_finished_whole_unless_something_of_it_was_lost)
{
	for (int lost = 0; lost < 2; lost++) {
		struct program *p = program_create(2, 1);
		for (unsigned i = 0; i < 4; i++) {
			program_coll(p, i % 2,
				     (struct call){.op = "MPI_Barrier", .from_us = 100 * i, .to_us = 100 * i + 150});
			if (lost)
				program_budget_spent(p, i % 2);
		}
		if (!lost)
			program_killed(p, 1, 9);
		cr_assert_eq(mpitrace("--version >/dev/null; rm -rf step-0; mkdir step-0"), 0);
		program_write(p, dir, 5000, -1);
		program_destroy(p);
		cr_expect_eq(mpitrace("--version >/dev/null; mv n0.mpic step-0; $MPITRACE finish step-0"), lost ? 4 : 0,
			     "lost %d: %s", lost, said);
		cr_expect_eq(mpitrace("--version >/dev/null; grep -c '</html>' step-0/report.html"), 0, "%s", said);
	}
	cr_expect_eq(mpitrace("finish step-0 --nodes x"), 2);
	says("--nodes takes a number from 0 to 1000000, not \"x\"");
	cr_expect_eq(mpitrace("finish step-0 --wait 86401"), 2);
	cr_expect_eq(mpitrace("finish step-0 --budget 1e7"), 2);
	says("--budget takes seconds, not \"1e7\"");
	cr_expect_eq(mpitrace("finish step-0 --processes 33"), 2);
	says("--processes takes a number from 0 to 32, not \"33\"");
}

#define SRUN \
	"mkdir -p bin step-1; cp n0.mpic step-1; printf '#!/bin/sh\n[ $1 != --mpi=list ] || { echo %s; exit; }\n" \
	"echo $1 $2 $3 $4 $6 $7 >asked; [ \"$MPITRACE\" = off ] || exit 9\n" \
	"shift 4; self=$1; shift 3; exec \"$self\" analyze \"$@\"\n' >bin/srun; chmod 755 bin/srun; " \
	"PATH=$PWD/bin:$PATH"

/* A script stands for srun, and for the processes that it starts. */
Test(commands, a_step_is_finished_by_the_processes_of_a_job)
{
	cr_expect_eq(mpitrace(SHELL(SRUN) "finish step-1 --processes 3", "none pmix pmi2"), 0, "%s", said);
	cr_expect_eq(mpitrace("--version >/dev/null; ls step-1/job.mpix asked"), 2, "there is no job: %s", said);
	cr_assert_eq(mpitrace("--version >/dev/null; rm -r step-1; mkdir step-1; cp n0.mpic step-1"), 0);
	cr_expect_eq(mpitrace(SHELL(SRUN "; export SLURM_JOB_ID=1") "finish step-1 --processes 1", "pmix pmi2"), 0);
	cr_expect_eq(mpitrace("--version >/dev/null; ls asked"), 2, "one needs no other: %s", said);
	cr_assert_eq(mpitrace("--version >/dev/null; rm -r step-1"), 0);
	cr_expect_eq(mpitrace(SHELL(SRUN "; export SLURM_JOB_ID=1") "finish step-1 --processes 3", "pmix pmi2"), 0,
		     "%s", said);
	cr_expect_eq(mpitrace("--version >/dev/null; cat asked step-1/log.txt; ls step-1"), 0, "%s", said);
	says("job.mpix");
	if (strstr(said, "analysed by srun") == NULL)
		cr_skip_test("no library for an MPI was built");
	says("--kill-on-bad-exit --ntasks 3 --mpi=pmi");
	says("analyze --mpi\n");
	cr_assert_eq(mpitrace("--version >/dev/null; rm -r step-1 asked"), 0);
	cr_expect_eq(mpitrace(SHELL(SRUN "; export SLURM_JOB_ID=1") "finish step-1 --processes 3", "none cray_shasta"),
		     0);
	cr_expect_eq(mpitrace("--version >/dev/null; ls asked step-1/job.mpix"), 2, "no type that we have: %s", said);
	says("step-1/job.mpix\n");
}

/* Rank 1 waits 510 us three times for 0, which has computed. */
Test(commands, a_replay_says_what_it_would_gain_and_how_far_it_is_off)
{
	cr_expect_eq(mpitrace("whatif a.mpix"), 0, "%s", said);
	says("Recorded 2.52 ms; replayed unchanged 2.52 ms, 0.0 % off.\n");
	says("    1.52 ms   39.7 % shorter  without late_sender\n");
	says("    2.03 ms   19.5 % shorter  computing balanced between the ranks\n");
	says("    2.52 ms    0.0 % shorter (0.0 to 0.8)  0.5 times the latency\n");
}

Test(commands, live_says_what_is_wrong_with_its_options)
{
	static const struct {
		const char *words, *said;
	} cases[] = {
		{"a b", "more than one job: \"b\""},
		{"a --port 65536", "--port 65536: not a port"},
		{"a --port ''", "--port : not a port"},
		{"a --port -1", "--port -1: not a port"},
		{"a --interval 0", "--interval needs seconds, not \"0\""},
		{"a --interval x", "--interval needs seconds, not \"x\""},
		{"a --alert 0", "--alert needs seconds, not \"0\""},
		{"a --alert", "unknown option \"--alert\""},
		{"a --once --port 0", "--once and --json cannot be combined"},
		{"a --json --socket s", "--once and --json cannot be combined"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(mpitrace("live %s", cases[i].words), 2, "%s", cases[i].words);
		says(cases[i].said);
	}
}

Test(commands, a_report_is_a_page_that_appears_whole)
{
	cr_expect_eq(mpitrace("report a.mpix -o page.html"), 0, "%s", said);
	cr_expect_eq(mpitrace("--version >/dev/null; grep -c '</html>' page.html"), 0, "%s", said);
	cr_expect_eq(mpitrace("report a.mpix -o none/page.html") != 0, true);
	says("none/page.html");
	cr_expect_eq(mpitrace("report none.mpix -o x.html"), 3, "%s", said);
}

Test(commands, an_export_says_what_it_wrote)
{
	cr_expect_eq(mpitrace("export a.mpix --to json -o x.json --json"), 0, "%s", said);
	cJSON *c = cJSON_Parse(said);
	cr_assert_not_null(c, "%s", said);
	cJSON_Delete(c);
	cr_expect_eq(mpitrace("export a.mpix --to csv -o tables --json"), 0, "%s", said);
	c = cJSON_Parse(said);
	cr_assert_not_null(c, "%s", said);
	cr_expect_eq(field(c, "messages"), 3);
	cr_expect_eq(field(c, "waits"), 3);
	cJSON_Delete(c);
	cr_expect_neq(mpitrace("export a.mpix --to csv -o tables"), 0, "it is there already");
	cr_expect_eq(mpitrace("export a.mpix --to sqlite -o -"), 2, "%s", said);
}

/* What is printed where, and that it is said once. */
static bool is_said_once(const char *text)
{
	const char *first = strstr(said, text);
	return first != NULL && strstr(first + 1, text) == NULL;
}

Test(commands, who_asks_a_trace_that_lost_events_is_told_how_many)
{
	static const char told[] = "lost in this trace: 2 of 3 single events; mpitrace show says why\n";
	struct program *p = program_create(1, 1);
	for (int i = 0; i < 3; i++) {
		program_coll(p, 0, (struct call){.op = "MPI_Barrier", .from_us = 10 * i + 10, .to_us = 10 * i + 11});
		program_budget_spent(p, 0);
	}
	program_write(p, dir, 100, -1);
	program_destroy(p);
	mpitrace("analyze n0.mpic -o lossy.mpix");
	cr_expect_eq(mpitrace("query lossy.mpix 'SELECT count(*) AS n FROM events'"), 0);
	cr_expect(is_said_once(told), "%s", said);
	cr_expect_eq(mpitrace("query lossy.mpix 'SELECT count(*) AS n FROM events' --json 2>/dev/null"), 0);
	cr_expect_str_eq(said, "{\"n\":1}\n");
	cr_expect_eq(mpitrace("export lossy.mpix --to json -o lossy.json"), 0);
	cr_expect(is_said_once(told), "%s", said);
	cr_expect_eq(mpitrace("query a.mpix 'SELECT count(*) AS n FROM events'"), 0);
	cr_expect_null(strstr(said, "lost"), "%s", said);
}

/* A record of a.mpix, whose clock began long ago, of a day since there is an mpitrace. */
#define RECORD "$MPITRACE record a.mpix | sed -E 's/[0-9]{4}(-[0-9]{2}){2}T/2026-03-14T/g'"

/* What is taken, known and left out is said; what a run is to remove goes when it has settled, what nobody could read
 * after a week. */
Test(commands, records_go_into_a_fleet_once_and_leave_their_outbox)
{
	cr_assert_eq(mpitrace("--version >/dev/null; mkdir box; " RECORD " >box/a.job.json"), 0, "%s", said);
	cr_expect_eq(mpitrace("fleet ingest box --db f.db"), 0);
	cr_expect_str_eq(said, "1 record added, 0 replaced, 0 known already, 0 left out\n", "%s", said);
	cr_expect_eq(mpitrace("fleet ingest box --db f.db --remove; ls box"), 0);
	cr_expect_str_eq(said, "0 records added, 0 replaced, 1 known already, 0 left out\na.job.json\n", "%s", said);
	cr_assert_eq(
		mpitrace(SHELL("echo '{}' >box/b.job.json; touch -d '2 hours ago' box/*") "fleet ingest box --db f.db"),
		4);
	says("box/b.job.json: is not a record of schema mpitrace/job/2; ignored\n");
	says("1 known already, 1 left out\n");
	mpitrace("fleet ingest box --db f.db --remove >/dev/null; ls box");
	cr_expect_null(strstr(said, "a.job.json"), "%s", said);
	says("b.job.json");
	mpitrace("fleet ingest box --db f.db --remove >/dev/null; touch -d '8 days ago' box/*; ls box");
	says("b.job.json");
	mpitrace("fleet ingest box --db f.db --remove >/dev/null 2>&1; ls box");
	cr_expect_str_eq(said, "", "%s", said);
}

Test(commands, a_fleet_is_asked_checked_shown_and_forgets)
{
	cr_assert_eq(mpitrace("--version >/dev/null; " RECORD " | $MPITRACE fleet ingest - --db f.db"), 0, "%s", said);
	cr_expect_eq(mpitrace("fleet query 'SELECT ranks, 7 AS n FROM jobs' --db f.db --csv"), 0);
	cr_expect_str_eq(said, "ranks,n\r\n2,7\r\n", "%s", said);
	cr_expect_eq(mpitrace("fleet query 'SELECT ranks, 7 AS n FROM jobs' --db f.db --json"), 0);
	cr_expect_str_eq(said, "[\n{\"ranks\":2,\"n\":7}\n]\n", "%s", said);
	cr_expect_eq(mpitrace("fleet check --db f.db"), 0);
	cr_expect_str_eq(said, "f.db: whole, 1 job, 0 pruned\n", "%s", said);
	cr_expect_eq(mpitrace("fleet report --db f.db -o pages; grep -c '</html>' pages/index.html"), 0);
	cr_expect_str_eq(said, "1\n", "%s", said);
	cr_expect_eq(mpitrace("fleet forget --user nobody-of-that-name --db f.db"), 3);
	says("no job of a user \"nobody-of-that-name\"");
	cr_expect_eq(mpitrace("fleet forget --user $(id -un) --db f.db; $MPITRACE fleet check --db f.db"), 0);
	says("1 job of ");
	says("f.db: whole, 0 jobs, 0 pruned\n");
}

Test(commands, what_a_fleet_cannot_take_is_said)
{
	static const struct {
		const char *words, *said;
	} cases[] = {
		{"ingest --db f.db", "ingest needs records"},
		{"check", "--db FILE is missing"},
		{"check --db", "unknown option, or its value is missing"},
		{"prune --db f.db", "prune takes --keep DAYS"},
		{"prune --db f.db --keep 30", "--keep takes a number of days, 31 or more"},
		{"prune --db f.db --keep 100001", "--keep takes a number from 0 to 100000, not \"100001\""},
		{"report --db f.db", "report writes pages into the directory of -o"},
		{"report --db f.db -o x --days ''", "--days takes a number"},
		{"report --db f.db -o x --jobs -1", "--jobs takes a number"},
		{"report --db f.db -o x --public 1", "--public takes a number of users, 2 or more"},
		{"report --db f.db -o x --public 100001", "--public takes a number of users, 2 or more"},
		{"report --db f.db -o x --public 2 --user u", "--public takes a number of users, 2 or more"},
		{"monday --db f.db --until 2026-03-2x", "--until takes a day as in 2026-03-02, not \"2026-03-2x\""},
		{"monday --db f.db x", "monday takes no more than its options"},
		{"query --db f.db", "query takes one SQL query"},
		{"forget --db f.db", "forget takes --user NAME"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(mpitrace("fleet %s", cases[i].words), 2, "%s", cases[i].words);
		says(cases[i].said);
	}
	cr_expect_eq(mpitrace("fleet ingest a.mpix --db f.db; $MPITRACE fleet prune --db f.db --keep 31"), 0, "%s",
		     said);
	cr_expect_eq(mpitrace("fleet report --db f.db -o two --public 2"), 0, "%s", said);
	cr_expect_eq(mpitrace("fleet check --db none/f.db"), 3);
	says("none/f.db");
}
