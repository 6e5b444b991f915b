/* fleet_account.c - what sacct says of a step becomes fields of its record, whichever of its lines tell it; and what
 * sacct is asked. A script stands for it that prints what a test has written. */
#include "fleet/account.h"

#include "base/json.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char place[64];
static time_t now;

static const char *path_of(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

static void write_file(const char *name, const char *mode, const char *text)
{
	FILE *out = fopen(path_of(name), mode);
	cr_assert_not_null(out);
	cr_assert_geq(fputs(text, out), 0);
	fclose(out);
}

static void begin(void)
{
	char path[200];
	snprintf(place, sizeof(place), "/tmp/test_account.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
	now = time(NULL);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", place);
	setenv("PATH", path, 1);
	snprintf(path, sizeof(path),
		 "#!/bin/sh\ncd %s\necho \"$SLURM_TIME_FORMAT $*\" >> asked\ncase \"$*\" in *JobName*) cat names;; *) "
		 "cat rows;; esac\n",
		 place);
	write_file("sacct", "w", path);
	cr_assert_eq(chmod(path_of("sacct"), 0755), 0);
	write_file("rows", "w", "");
	write_file("names", "w", "");
	write_file("asked", "w", "");
}

static void end(void)
{
	static const char *const made[] = {"sacct", "rows", "names", "asked"};
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		unlink(path_of(made[i]));
	cr_expect_eq(rmdir(place), 0);
}

TestSuite(fleet_account, .init = begin, .fini = end);

/* What sacct says of a job or a step; times are seconds ago, 0: none. */
struct line {
	const char *id, *cluster, *user, *account, *partition, *state;
	int start;
	const char *nodes, *qos, *job_id;
	int submit, end;
	const char *exit_code, *tasks, *cpus, *tres, *req_mem, *max_rss, *energy;
};

static const char *ago(int seconds, char text[32])
{
	snprintf(text, 32, seconds > 0 ? "%lld" : "Unknown", (long long)now - seconds);
	return text;
}

#define OR_NONE(text) ((text) != NULL ? (text) : "")

static void add(struct line x)
{
	char times[3][32], *text;
	const char *cluster = x.cluster != NULL ? x.cluster : "c", *job = OR_NONE(x.job_id),
		   *code = OR_NONE(x.exit_code);
	const char *const cells[] = {x.id,
				     cluster,
				     x.user != NULL ? x.user : "ann",
				     OR_NONE(x.account),
				     x.partition != NULL ? x.partition : "p",
				     OR_NONE(x.state),
				     ago(x.start, times[0]),
				     OR_NONE(x.nodes),
				     cluster,
				     OR_NONE(x.qos),
				     job,
				     job,
				     job,
				     job,
				     ago(x.submit, times[1]),
				     ago(x.end, times[2]),
				     code,
				     code,
				     OR_NONE(x.tasks),
				     OR_NONE(x.cpus),
				     OR_NONE(x.tres),
				     OR_NONE(x.req_mem),
				     OR_NONE(x.max_rss),
				     OR_NONE(x.energy)};
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		cr_assert_gt(asprintf(&text, "%s%s", i > 0 ? "\x1f" : "", cells[i]), -1);
		write_file("rows", "a", text);
		free(text);
	}
	write_file("rows", "a", "\n");
}

/* A step of job 7 and the job, both long over. */
static void add_step_and_job(struct line step)
{
	step.id = step.id != NULL ? step.id : "7.0";
	step.start = step.start > 0 ? step.start : 4000;
	step.end = step.end > 0 ? step.end : 400; /* 3600 s later */
	add(step);
	add((struct line){.id = "7", .start = step.start + 10, .end = step.end - 5});
}

static struct account *asked(void)
{
	struct account *a = NULL;
	struct error e = {""};
	cr_assert_eq(account_ask((const char *const[]){"7"}, 1, NULL, &a, &e), 0, "%s", e.text);
	return a;
}

static cJSON *record_of(const char *cluster, const char *user, int start_ago)
{
	char text[400], start[32];
	time_t t = now - start_ago;
	struct tm tm;
	strftime(start, sizeof(start), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	snprintf(text, sizeof(text),
		 "{\"cluster\":\"%s\",\"job_id\":\"7\",\"step_id\":\"0\",\"user\":\"%s\",\"start\":\"%s\",\"ranks\":4,"
		 "\"elapsed_s\":3600,\"share\":{\"useful\":0.5,\"mpi\":0.5,\"wait\":0.25}}",
		 cluster, user, start);
	cJSON *record = cJSON_Parse(text);
	cr_assert_not_null(record, "%s", text);
	return record;
}

static enum account_fate fate(const char *cluster, const char *user, int start_ago)
{
	struct account *a = asked();
	cJSON *record = record_of(cluster, user, start_ago);
	enum account_fate what = account_join(a, record);
	cJSON_Delete(record);
	account_free(a);
	return what;
}

static cJSON *joined(const char *user, int start_ago)
{
	struct account *a = asked();
	cJSON *record = record_of("c", user, start_ago);
	cr_expect_eq(account_join(a, record), ACCOUNT_JOINED);
	account_free(a);
	return record;
}

static double joined_number(struct line step, const char *name)
{
	write_file("rows", "w", "");
	add_step_and_job(step);
	cJSON *record = joined("ann", 4000);
	double value = json_number(record, name);
	cJSON_Delete(record);
	return value;
}

/* ---- what it is asked ---- */

Test(fleet_account, numbers_of_jobs_are_asked_for_and_nothing_else)
{
	static const char *const jobs[] = {"12", "", "7a", "-j", "123456789012345678", "1234567890123456789", "13"};
	struct account *a = NULL;
	struct error e = {""};
	char text[2000] = "";
	cr_assert_eq(account_ask(jobs, sizeof(jobs) / sizeof(jobs[0]), NULL, &a, &e), 0, "%s", e.text);
	account_free(a);
	FILE *in = fopen(path_of("asked"), "r");
	text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
	fclose(in);
	cr_expect_str_eq(
		text,
		"%s -a -L -D -n -P --delimiter=\x1f -o "
		"JobIDRaw,Cluster,User,Account,Partition,State,Start,NNodes,Cluster,QOS,"
		"JobID,JobID,JobID,JobID,Submit,End,ExitCode,ExitCode,NTasks,AllocCPUS,AllocTRES,ReqMem,MaxRSS,"
		"ConsumedEnergyRaw -j 12,123456789012345678,13\n"
		"%s -a -L -D -n -P --delimiter=\x1f -o JobIDRaw,JobName -j 12,123456789012345678,13 -X\n",
		"%s", text);
}

Test(fleet_account, of_no_job_it_is_not_asked)
{
	struct account *a = NULL;
	struct error e = {""};
	struct stat st;
	cr_assert_eq(account_ask((const char *const[]){"x"}, 1, NULL, &a, &e), 0, "%s", e.text);
	account_free(a);
	cr_assert_eq(stat(path_of("asked"), &st), 0);
	cr_expect_eq(st.st_size, 0);
}

Test(fleet_account, one_that_fails_and_one_that_is_not_there_say_so)
{
	struct account *a = NULL;
	struct error e = {""};
	write_file("sacct", "w", "#!/bin/sh\nexit 1\n");
	cr_expect_eq(account_ask((const char *const[]){"7"}, 1, NULL, &a, &e), -EIO);
	cr_expect_not_null(strstr(e.text, "sacct -a"), "%s", e.text);
	setenv("PATH", "/nowhere", 1);
	cr_expect_eq(account_ask((const char *const[]){"7"}, 1, NULL, &a, &e), -ENOENT);
	cr_expect_not_null(strstr(e.text, "PATH"), "%s", e.text);
}

/* ---- which lines ---- */

Test(fleet_account, a_step_is_joined_when_it_and_its_job_are_there_and_over)
{
	cr_expect_eq(fate("c", "ann", 4000), ACCOUNT_LATER, "nothing is there");
	add((struct line){.id = "7.0", .start = 4000, .end = 1000});
	cr_expect_eq(fate("c", "ann", 4000), ACCOUNT_LATER, "its job is not");
	add((struct line){.id = "7", .start = 3999});
	cr_expect_eq(fate("c", "ann", 4000), ACCOUNT_LATER, "that job began later");
	add((struct line){.id = "7", .start = 4000});
	cr_expect_eq(fate("c", "ann", 4000), ACCOUNT_JOINED);
	cr_expect_eq(fate("C", "ann", 4000), ACCOUNT_JOINED, "Slurm has names of clusters in small letters");
	cr_expect_eq(fate("", "ann", 4000), ACCOUNT_JOINED);
	cr_expect_eq(fate("d", "ann", 4000), ACCOUNT_LATER, "of another cluster");
	cr_expect_eq(fate("c", "bob", 4000), ACCOUNT_NONE, "of another user");
	cr_expect_eq(fate("c", "", 4000), ACCOUNT_JOINED);
	cr_expect_eq(fate("c", "h:0123", 4000), ACCOUNT_JOINED);
	cr_expect_eq(fate("c", "ann", 4299), ACCOUNT_JOINED, "clocks differ");
	cr_expect_eq(fate("c", "ann", 3701), ACCOUNT_JOINED);
	cr_expect_eq(fate("c", "ann", 4302), ACCOUNT_LATER, "that was another run of it");
	cr_expect_eq(fate("c", "ann", 3698), ACCOUNT_LATER);
}

Test(fleet_account, one_that_runs_is_told_later)
{
	add((struct line){.id = "7.0", .start = 4000});
	add((struct line){.id = "7", .start = 4010});
	cr_expect_eq(fate("c", "ann", 4000), ACCOUNT_LATER);
}

/* What a job is made of comes some seconds after it, or never. */
Test(fleet_account, a_job_is_given_time_to_be_told)
{
	static const struct {
		const char *partition;
		int end;
		enum account_fate fate;
	} rows[] = {
		{"p", 2, ACCOUNT_LATER}, {"p", 17, ACCOUNT_JOINED}, {"", 80, ACCOUNT_LATER}, {"", 122, ACCOUNT_JOINED}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_file("rows", "w", "");
		add((struct line){.id = "7.0", .start = 4000, .end = rows[i].end});
		add((struct line){.id = "7", .start = 4000, .partition = rows[i].partition});
		cr_expect_eq(fate("c", "ann", 4000), rows[i].fate, "row %zu", i);
	}
}

Test(fleet_account, a_record_of_no_job_is_none)
{
	struct account *a = asked();
	static const char *const none[] = {"{\"job_id\":\"0\",\"step_id\":\"0\"}", "{\"step_id\":\"0\"}"};
	for (int i = 0; i < 2; i++) {
		cJSON *record = cJSON_Parse(none[i]);
		cr_expect_eq(account_join(a, record), ACCOUNT_NONE);
		cJSON_Delete(record);
	}
	account_free(a);
}

/* It was requeued: each run has its lines, and the job that was there then. */
Test(fleet_account, of_several_runs_the_nearest_one_counts_and_its_own_job)
{
	add((struct line){.id = "7.0", .start = 8000, .end = 7000, .nodes = "1"});
	add((struct line){.id = "7.0", .start = 4100, .end = 2000, .nodes = "2"});
	add((struct line){.id = "7.0", .start = 3990, .end = 1000, .nodes = "3"});
	add((struct line){.id = "7.0", .start = 3800, .end = 1000, .nodes = "4"});
	add((struct line){.id = "7", .start = 8010, .account = "first"});
	add((struct line){.id = "7", .start = 4005, .account = "third"});
	add((struct line){.id = "7", .start = 4110, .account = "second"});
	add((struct line){.id = "7", .start = 4001, .account = "others", .cluster = "d"});
	add((struct line){.id = "7", .start = 3900, .account = "later"});
	cJSON *record = joined("ann", 4000);
	cr_expect_eq(json_number(record, "nodes"), 3);
	cr_expect_str_eq(json_text(record, "account", ""), "third");
	cJSON_Delete(record);
}

Test(fleet_account, a_line_that_is_none_of_ours_is_passed_over)
{
	write_file("rows", "w",
		   "sacct: warning\n\nx\x1fy\n7.0\x1f"
		   "c\x1f"
		   "ann\n");
	add_step_and_job((struct line){.nodes = "3"});
	add((struct line){.id = "7.0 ", .start = 4000, .nodes = "9"});
	add((struct line){.id = "x7.0", .start = 4000, .nodes = "9"});
	cJSON *record = joined("ann", 4000);
	cr_expect_eq(json_number(record, "nodes"), 3);
	cJSON_Delete(record);
}

/* ---- values ---- */

static const struct {
	const char *name, *text;
} expected_texts[] = {{"account", "phys"}, {"partition", "long"}, {"state", "CANCELLED"},
		      {"name", "my job"},  {"qos", "high"},	  {"array_job_id", "12"}};

static const struct {
	const char *name;
	double value;
} expected_numbers[] = {{"nodes", 2},
			{"array_task_id", 3},
			{"exit_code", 3},
			{"signal", 9},
			{"tasks", 8},
			{"alloc_cpus", 16},
			{"gpus", 4},
			{"req_mem_bytes", 1536.0 * 1024 * 1024},
			{"energy_j", 12.5},
			{"core_hours", 16},
			{"max_rss_bytes", 102400}};

static const struct {
	const char *name;
	int ago;
} expected_times[] = {{"start", 4000}, {"submit", 6000}, {"end", 400}};

static const struct line whole_step = {.id = "7.0",
				       .account = "no",
				       .partition = "no",
				       .state = "CANCELLED by 7",
				       .start = 4000,
				       .nodes = "2",
				       .qos = "no",
				       .job_id = "1_1.0",
				       .submit = 5000,
				       .end = 400,
				       .exit_code = "3:9",
				       .tasks = "8",
				       .cpus = "16",
				       .tres = "cpu=16,gres/gpu=4,node=2",
				       .req_mem = "7G",
				       .max_rss = "100K",
				       .energy = "12.5"};
static const struct line whole_job = {.id = "7",
				      .account = "phys",
				      .partition = "long",
				      .state = "no",
				      .start = 4010,
				      .nodes = "no",
				      .qos = "high",
				      .job_id = "12_3",
				      .submit = 6000,
				      .end = 300,
				      .exit_code = "5:5",
				      .tasks = "5",
				      .cpus = "5",
				      .tres = "gres/gpu=5",
				      .req_mem = "1.5G",
				      .max_rss = "5G",
				      .energy = "5"};

Test(fleet_account, each_field_is_of_the_step_or_of_its_job)
{
	add(whole_step);
	add(whole_job);
	write_file("names", "w",
		   "8\x1f"
		   "other\n7\x1f"
		   "my job\n7.0\x1f"
		   "step\n");
	cJSON *record = joined("ann", 4100);
	for (size_t i = 0; i < sizeof(expected_texts) / sizeof(expected_texts[0]); i++)
		cr_expect_str_eq(json_text(record, expected_texts[i].name, ""), expected_texts[i].text, "%s: %s",
				 expected_texts[i].name, json_text(record, expected_texts[i].name, ""));
	for (size_t i = 0; i < sizeof(expected_numbers) / sizeof(expected_numbers[0]); i++)
		cr_expect_eq(json_number(record, expected_numbers[i].name), expected_numbers[i].value, "%s: %f",
			     expected_numbers[i].name, json_number(record, expected_numbers[i].name));
	for (size_t i = 0; i < sizeof(expected_times) / sizeof(expected_times[0]); i++) {
		char said[32];
		time_t t = now - expected_times[i].ago;
		struct tm tm;
		strftime(said, sizeof(said), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
		cr_expect_str_eq(json_text(record, expected_times[i].name, ""), said, "%s", expected_times[i].name);
	}
	cr_expect_null(json_item(record, "het_job_id"));
	cJSON_Delete(record);
}

Test(fleet_account, a_record_is_no_longer_than_its_step)
{
	struct line step = {.start = 4000, .end = 1000, .tasks = "4", .cpus = "8"};
	cr_expect_eq(joined_number(step, "elapsed_s"), 3001);
	cr_expect_float_eq(joined_number(step, "core_hours"), 8 * 3001 / 3600.0, 1e-4);
	step.end = 300;
	cr_expect_eq(joined_number(step, "elapsed_s"), 3600);
}

Test(fleet_account, a_part_of_a_heterogeneous_job_knows_the_whole)
{
	add((struct line){.id = "7.0", .start = 4000, .end = 1000});
	add((struct line){.id = "7", .start = 4000, .job_id = "12+1"});
	cJSON *record = joined("ann", 4000);
	cr_expect_str_eq(json_text(record, "het_job_id", ""), "12");
	cr_expect_eq(json_number(record, "het_offset"), 1);
	cr_expect_null(json_item(record, "array_job_id"));
	cJSON_Delete(record);
}

Test(fleet_account, bytes_have_units_and_what_was_never_measured_is_none)
{
	static const struct {
		const char *text;
		double bytes; /* -1: none */
	} rows[] = {{"100", 100},
		    {"4000M", 4000.0 * 1048576},
		    {"1.5K", 1536},
		    {"2T", 2199023255552.0},
		    {"1P", 1125899906842624.0},
		    {"1E", 1152921504606846976.0},
		    {"3Gn", 3221225472.0},
		    {"3Gc", 3221225472.0},
		    {"2n", 2},
		    {"16?", -1},
		    {"", -1},
		    {"-1K", -1},
		    {"0", 0},
		    {"1k", 1024},
		    {"K", -1},
		    {"1Gx", -1}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double value = joined_number((struct line){.max_rss = rows[i].text}, "max_rss_bytes");
		cr_expect(rows[i].bytes < 0 ? !(value >= 0) : value == rows[i].bytes, "%s: %f", rows[i].text, value);
	}
}

Test(fleet_account, without_resources_it_is_not_known_how_many_gpus)
{
	cr_expect_eq(joined_number((struct line){.tres = "cpu=4"}, "gpus"), 0);
	cr_expect_eq(joined_number((struct line){.tres = "gres/gpu=12"}, "gpus"), 12);
	cr_expect_eq(joined_number((struct line){.tres = "gres/gpu:a=1,gres/gpu=3"}, "gpus"), 3);
	double value = joined_number((struct line){.tres = ""}, "gpus");
	cr_expect(!(value >= 0), "%f", value);
}

Test(fleet_account, what_is_no_number_is_none)
{
	double value = joined_number((struct line){.tasks = "many"}, "tasks");
	cr_expect(!(value >= 0));
	value = joined_number((struct line){.tasks = "-1"}, "tasks");
	cr_expect(!(value >= 0));
	value = joined_number((struct line){.tasks = "8x"}, "tasks");
	cr_expect(!(value >= 0));
	cr_expect_eq(joined_number((struct line){.tasks = "0"}, "tasks"), 0);
	cr_expect_eq(joined_number((struct line){.exit_code = "0:15"}, "signal"), 15);
}

Test(fleet_account, a_name_is_cut_between_letters_and_hidden_with_its_user)
{
	char names[300], expected[200];
	snprintf(names, sizeof(names), "7\x1f%0119d\xc3\xbc\n", 0);
	snprintf(expected, sizeof(expected), "%0119d", 0);
	write_file("names", "w", names);
	add_step_and_job((struct line){.state = "COMPLETED"});
	cJSON *record = joined("ann", 4000);
	cr_expect_str_eq(json_text(record, "name", ""), expected, "%s", json_text(record, "name", ""));
	cJSON_Delete(record);
	snprintf(names, sizeof(names), "7\x1f%0118d\xc3\xbc\n", 0);
	snprintf(expected, sizeof(expected), "%0118d\xc3\xbc", 0);
	write_file("names", "w", names);
	record = joined("ann", 4000);
	cr_expect_str_eq(json_text(record, "name", ""), expected, "%s", json_text(record, "name", ""));
	cJSON_Delete(record);
	record = joined("", 4000);
	cr_expect_null(json_item(record, "name"));
	cJSON_Delete(record);
	record = joined("h:12", 4000);
	cr_expect_null(json_item(record, "name"));
	cJSON_Delete(record);
}
