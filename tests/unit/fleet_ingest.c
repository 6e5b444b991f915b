/* fleet_ingest.c - a record of which all is known in the database, column by column; which are refused, and as what;
 * and alerts, sums and metrics. */
#include "fleet_number.h"

#include "fleet/alerts.h"
#include "fleet/estimate.h"
#include "fleet/ingest.h"
#include "fleet/job.h"
#include "fleet/metrics.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct fleet f;
static struct ingest *g;
static char said[1000];

static void say(void *context, const char *text)
{
	cr_expect_eq(context, &f);
	snprintf(said, sizeof(said), "%s", text);
}

static void begin(void)
{
	struct error e = {""};
	cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
	g = ingest_begin(&f, say, &f, &e);
	cr_assert_not_null(g, "%s", e.text);
}

static void end(void)
{
	ingest_end(g);
	fleet_close(&f);
}

TestSuite(fleet_ingest, .init = begin, .fini = end);

static void run(const char *sql)
{
	struct error e = {""};
	cr_assert_eq(fleet_run(&f, sql, &e), 0, "%s: %s", sql, e.text);
}

static void take_owned(const char *text, const char *owner)
{
	struct error e = {""};
	cr_assert_eq(ingest_record(g, text, strlen(text), "here", owner, &e), 0, "%s", e.text);
}

static void take(const char *text)
{
	take_owned(text, NULL);
}

static double number(const char *sql)
{
	return number_of(&f, sql, -1);
}

/* The first column of the first row, as text. */
static void expect_text(const char *sql, const char *expected)
{
	struct error e = {""};
	sqlite3_stmt *row = fleet_prepare(&f, sql, &e);
	cr_assert_not_null(row, "%s: %s", sql, e.text);
	cr_assert_eq(sqlite3_step(row), SQLITE_ROW, "%s", sql);
	const char *text = (const char *)sqlite3_column_text(row, 0);
	cr_expect_str_eq(text != NULL ? text : "null", expected, "%s: %s", sql, text);
	sqlite3_finalize(row);
}

#define RECORD(fields) \
	"{\"schema\":\"mpitrace/job/2\",\"id\":\"x\",\"user\":\"ann\",\"start\":\"2025-03-01T10:00:00Z\"" fields "}"

static const char whole[] =
	RECORD(",\"cluster\":\"c\",\"job_id\":\"7\",\"account\":\"phys\",\"partition\":\"long\",\"program\":\"/"
	       "x\",\"build_id\":\"b1\",\"nodes\":2,\"ranks\":8,"
	       "\"elapsed_s\":3600,\"core_hours\":20,\"hung_core_hours\":5,\"hours\":{\"idle\":5},\"state\":"
	       "\"TIMEOUT\",\"share\":{\"useful\":0.5,\"wait\":0.25},"
	       "\"efficiency\":{\"parallel\":0.5,\"load_balance\":0.75},\"coverage\":{\"complete\":true},\"issues\":[{"
	       "\"issue\":\"i0\",\"severity\":\"info\","
	       "\"loss_core_hours\":9},{\"issue\":\"late_sender\",\"severity\":\"low\",\"loss_core_hours\":3},{"
	       "\"issue\":\"i2\",\"severity\":\"high\","
	       "\"loss_core_hours\":4}],\"versions\":{\"mpi\":\"M "
	       "1\"},\"qos\":\"q\",\"name\":\"n\",\"array_job_id\":\"12\",\"array_task_id\":3,\"submit\":"
	       "\"2025-03-01T09:00:00Z\",\"end\":\"2025-03-01T11:00:00Z\",\"exit_code\":3,\"signal\":9,\"tasks\":8,"
	       "\"alloc_cpus\":16,\"gpus\":4,"
	       "\"req_mem_bytes\":1024,\"max_rss_bytes\":512,\"energy_j\":2.5,\"nodelist\":\"n[1-2]\",\"deviation\":[0."
	       "1,-0.1],\"mpi\":{\"implementation\":\"M\","
	       "\"version\":\"1\"},\"transports\":[\"tcp\",\"self\"],\"modules\":[\"gcc/"
	       "12\"],\"io\":{\"read_bytes\":10,\"written_bytes\":20,\"time_s\":1.5}");

static const struct {
	const char *column, *text;
} columns[] = {{"key", "x"},
	       {"cluster", "c"},
	       {"job", "7"},
	       {"user", "ann"},
	       {"account", "phys"},
	       {"partition", "long"},
	       {"program", "/x"},
	       {"build_id", "b1"},
	       {"mpi", "M 1"},
	       {"nodes", "2"},
	       {"ranks", "8"},
	       {"start", "2025-03-01 10:00:00"},
	       {"elapsed_s", "3600.0"},
	       {"core_hours", "20.0"},
	       /* Half of the hours are of a job that went on. */
	       {"useful", "0.25"},
	       {"wait", "0.375"},
	       {"parallel", "0.5"},
	       {"load_balance", "0.75"},
	       {"issue", "late_sender"},
	       {"loss_core_hours", "3.0"},
	       {"complete", "1"},
	       {"hung_core_hours", "5.0"},
	       {"state", "TIMEOUT"},
	       {"idle_core_hours", "5.0"},
	       {"name", "n"},
	       {"qos", "q"},
	       {"array_job_id", "12"},
	       {"array_task_id", "3"},
	       {"het_job_id", ""},
	       {"het_offset", "null"},
	       {"submit", "2025-03-01 09:00:00"},
	       {"\"end\"", "2025-03-01 11:00:00"},
	       {"exit_code", "3"},
	       {"signal", "9"},
	       {"tasks", "8"},
	       {"alloc_cpus", "16"},
	       {"gpus", "4"},
	       {"req_mem_bytes", "1024"},
	       {"max_rss_bytes", "512"},
	       {"energy_j", "2.5"}};

Test(fleet_ingest, each_column_is_what_the_record_says)
{
	take(whole);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		char sql[100];
		snprintf(sql, sizeof(sql), "SELECT %s FROM job_list", columns[i].column);
		expect_text(sql, columns[i].text);
	}
	expect_text("SELECT mpi_implementation||' '||mpi_version||' '||transports||' '||modules||' '||io_read_bytes||' "
		    "'||io_written_bytes||' '||io_s"
		    " FROM job_details",
		    "M 1 tcp,self gcc/12 10 20 1.5");
	cr_expect_eq(number("SELECT bytes FROM records"), sizeof(whole) - 1);
	/* Name 9 with 1,000 ten-thousandths, name 10 with as many less. */
	expect_text("SELECT hex(nodes) FROM runs", "09E8030A18FC");
	expect_text("SELECT group_concat(name) FROM (SELECT name FROM names WHERE kind=7 ORDER BY id)", "n1,n2");
	struct ingest_counts c = ingest_counts(g);
	cr_expect(c.added == 1 && c.replaced == 0 && c.known == 0 && c.refused == 0 && c.late == 0 && c.doubtful == 0);
}

Test(fleet_ingest, a_record_that_is_known_is_told_from_another_one_of_the_step)
{
	take(whole);
	take(whole);
	cr_expect_eq(ingest_counts(g).known, 1);
	char later[sizeof(whole) + 2];
	snprintf(later, sizeof(later), "%s \n", whole);
	take(later);
	cr_expect_eq(ingest_counts(g).known, 2, "blanks behind it say nothing");
	char *other = strdup(whole);
	*strstr(other, "\"gpus\":4") = '\0';
	snprintf(later, sizeof(later), "%s\"gpus\":5%s", other, strstr(whole, "\"gpus\":4") + 8);
	take(later);
	free(other);
	cr_expect_eq(ingest_counts(g).replaced, 1);
	cr_expect_eq(number("SELECT count(*) FROM jobs"), 1);
	cr_expect_eq(number("SELECT gpus FROM jobs"), 5);
	cr_expect_eq(number("SELECT count(*) FROM records"), 1);
	cr_expect_eq(number("SELECT count(*) FROM runs"), 1);
	cr_expect_eq(number("SELECT count(*) FROM details"), 1);
}

Test(fleet_ingest, a_step_of_another_user_is_another_step)
{
	take(RECORD(""));
	take("{\"schema\":\"mpitrace/job/2\",\"id\":\"x\",\"user\":\"bob\",\"start\":\"2025-03-01T10:00:00Z\"}");
	take("{\"schema\":\"mpitrace/job/2\",\"id\":\"x\",\"user\":\"bob\",\"start\":\"2025-03-01T10:00:01Z\"}");
	cr_expect_eq(number("SELECT count(*) FROM jobs"), 2);
	expect_text("SELECT key FROM job_list WHERE user='bob'", "x bob");
	cr_expect_eq(ingest_counts(g).replaced, 1);
}

Test(fleet_ingest, what_is_no_record_is_refused_and_said)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"", "here: is not JSON; ignored"},
		{"{", "here: is not JSON; ignored"},
		{RECORD("") "x", "here: is not JSON; ignored"},
		{RECORD("") "\n{}", "here: is not JSON; ignored"},
		{"[]", "here: is not a record of schema mpitrace/job/2; ignored"},
		{RECORD(",\"user\":\"bob\""), "here: has a field twice; ignored"},
		{"{\"schema\":\"mpitrace/job/2\",\"id\":\"\",\"start\":\"2025-03-01T10:00:00Z\"}",
		 "here: has no id, or a long one; ignored"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		take(rows[i].text);
		cr_expect_str_eq(said, rows[i].why, "%s: %s", rows[i].text, said);
		cr_expect_eq(ingest_counts(g).refused, i + 1);
	}
	take_owned(RECORD(""), "bob");
	cr_expect_str_eq(said, "here: belongs to another user than it says; ignored");
	cr_expect_eq(ingest_counts(g).doubtful, 0);
	cr_expect_eq(number("SELECT count(*) FROM jobs"), 0);
	take_owned(RECORD(""), "ann");
	cr_expect_eq(number("SELECT count(*) FROM jobs"), 1);
}

Test(fleet_ingest, texts_have_a_length)
{
	char text[10000];
	static const struct {
		const char *key;
		int most;
	} rows[] = {{"account", 512}, {"program", 512}, {"job_id", 512}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int n = rows[i].most; n <= rows[i].most + 1; n++) {
			uint64_t refused = ingest_counts(g).refused;
			snprintf(text, sizeof(text), RECORD(",\"%s\":\"%0*d\""), rows[i].key, n, 0);
			take(text);
			cr_expect_eq(ingest_counts(g).refused - refused, (uint64_t)(n - rows[i].most), "%s of %d bytes",
				     rows[i].key, n);
		}
	for (int n = 255; n <= 256; n++) {
		uint64_t refused = ingest_counts(g).refused;
		snprintf(text, sizeof(text),
			 "{\"schema\":\"mpitrace/job/2\",\"id\":\"%0*d\",\"start\":\"2025-03-01T10:00:00Z\"}", n, 0);
		take(text);
		cr_expect_eq(ingest_counts(g).refused - refused, (uint64_t)(n - 255));
	}
	int rest = (int)strlen(RECORD(",\"a\":\"\""));
	snprintf(text, sizeof(text), RECORD(",\"a\":\"%0*d\""), 8191 - rest, 0);
	take(text);
	cr_expect_eq(ingest_counts(g).refused, 4);
	snprintf(text, sizeof(text), RECORD(",\"a\":\"%0*d\""), 8192 - rest, 0);
	take(text);
	cr_expect_str_eq(said, "here: is longer than 8,192 bytes; ignored");
}

static const char *at(int64_t seconds, const char *more)
{
	static char text[300];
	char when[32];
	time_t t = (time_t)seconds;
	struct tm tm;
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	snprintf(text, sizeof(text), "{\"schema\":\"mpitrace/job/2\",\"id\":\"x\",\"user\":\"ann\",\"start\":\"%s\"%s}",
		 when, more);
	return text;
}

#define LONG_START \
	"{\"schema\":\"mpitrace/job/" \
	"2\",\"id\":\"x\",\"user\":\"ann\",\"start\":\"0123456789012345678901234567890123456789" \
	"0123456789012345678901234567890\"}"

Test(fleet_ingest, times_that_cannot_be_are_set_aside_until_a_later_record)
{
	static const struct {
		int64_t start;
		const char *more, *why; /* start: 0 and below: from now on */
	} rows[] = {{1704067199, "", "began before there was an mpitrace"},
		    {-86400 - 100, "", "begins in the future"},
		    {-80000, ",\"elapsed_s\":6500", "ends in the future"},
		    {1704067200, ",\"end\":\"2400-01-01T00:00:00Z\"", "says a time that cannot be: end"},
		    {1704067200, ",\"submit\":\"2026-02-30T00:00:00Z\"", "says a time that cannot be: submit"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		take(at(rows[i].start > 0 ? rows[i].start : time(NULL) - rows[i].start, rows[i].more));
		cr_expect_eq(number("SELECT count(*) FROM set_aside"), 1);
		expect_text("SELECT why FROM set_aside", rows[i].why);
		expect_text("SELECT key FROM set_aside", "x ann");
	}
	take("{\"schema\":\"mpitrace/job/2\",\"id\":\"x\",\"user\":\"ann\",\"start\":\"never\"}");
	expect_text("SELECT why FROM set_aside", "does not say when it began");
	expect_text("SELECT start FROM set_aside", "never");
	cr_expect_eq(number("SELECT length(CAST(start AS BLOB)) FROM set_aside"), 5, "and no byte behind it");
	take(LONG_START);
	cr_expect_eq(number("SELECT length(start) FROM set_aside"), 64);
	cr_expect_eq(ingest_counts(g).doubtful, 7);
	take("{\"schema\":\"mpitrace/job/2\",\"id\":\"x\",\"user\":\"ann\",\"start\":\"never\"}");
	cr_expect_eq(ingest_counts(g).doubtful, 8);
	cr_expect_eq(ingest_counts(g).refused, 8);
	cr_expect_eq(number("SELECT count(*) FROM jobs"), 0);
	take(at(1704067200, ""));
	cr_expect_eq(number("SELECT count(*) FROM jobs"), 1);
	cr_expect_eq(number("SELECT count(*) FROM set_aside"), 0);
	take(at(time(NULL) + 86000, ",\"elapsed_s\":100"));
	cr_expect_eq(ingest_counts(g).doubtful, 8, "clocks differ by a day");
}

Test(fleet_ingest, one_that_began_before_what_is_kept_comes_too_late)
{
	run("UPDATE let_go SET day=20148");
	struct error e = {""};
	cr_assert_eq(ingest_commit(g, &e), 0);
	take(at(20148 * 86400 - 1, ""));
	cr_expect_eq(ingest_counts(g).late, 1);
	cr_expect_eq(number("SELECT count(*) FROM jobs"), 0);
	take(at(20148 * 86400, ""));
	cr_expect_eq(ingest_counts(g).late, 1);
	cr_expect_eq(ingest_counts(g).added, 1);
}

static const struct {
	const char *fields, *sql;
	double value; /* -1: not known */
} bounds[] = {
	{",\"ranks\":-1", "SELECT ranks FROM jobs", 0},
	{",\"ranks\":1e9", "SELECT ranks FROM jobs", 1e9},
	{",\"ranks\":1000000001", "SELECT ranks FROM jobs", 0},
	{",\"nodes\":1e9", "SELECT nodes FROM jobs", 1e9},
	{",\"core_hours\":1e9", "SELECT core_hours FROM jobs", 1e9},
	{",\"core_hours\":1e10", "SELECT core_hours FROM jobs", 0},
	{",\"elapsed_s\":-5", "SELECT elapsed_s FROM jobs", 0},
	{",\"core_hours\":4,\"share\":{\"useful\":1.5}", "SELECT useful FROM jobs", -1},
	{",\"core_hours\":4,\"share\":{\"useful\":1}", "SELECT useful FROM jobs", 1},
	{",\"core_hours\":4,\"share\":{\"useful\":0.5,\"wait\":0.75}", "SELECT wait FROM jobs", 0},
	{",\"core_hours\":4,\"share\":{\"useful\":0.5,\"wait\":0.5}", "SELECT wait FROM jobs", 0.5},
	{",\"core_hours\":4,\"hung_core_hours\":5", "SELECT hung_core_hours FROM jobs", 0},
	{",\"core_hours\":4,\"hung_core_hours\":4", "SELECT wait FROM jobs", 1},
	{",\"core_hours\":4,\"hung_core_hours\":2,\"hours\":{\"idle\":3}", "SELECT idle_core_hours FROM jobs", 0},
	{",\"core_hours\":4,\"hung_core_hours\":2,\"hours\":{\"idle\":2}", "SELECT idle_core_hours FROM jobs", 2},
	{",\"efficiency\":{\"parallel\":1.1}", "SELECT parallel FROM jobs", -1},
	{",\"efficiency\":{\"parallel\":1}", "SELECT parallel FROM jobs", 1},
	{",\"efficiency\":{\"load_balance\":-0.1}", "SELECT load_balance FROM jobs", -1},
	{",\"exit_code\":-1", "SELECT exit_code FROM jobs", -1},
	{",\"exit_code\":1e18", "SELECT exit_code FROM jobs", 1e18},
	{",\"core_hours\":2,\"issues\":[{\"issue\":\"i\",\"severity\":\"high\",\"loss_core_hours\":3}]",
	 "SELECT loss_core_hours FROM jobs", 0},
	{",\"core_hours\":2,\"issues\":[{\"issue\":\"i\",\"severity\":\"high\",\"loss_core_hours\":2}]",
	 "SELECT loss_core_hours FROM jobs", 2},
	{",\"state\":\"REQUEUED\"", "SELECT count(*) FROM jobs WHERE state='REQUEUED'", 1},
	{",\"state\":\"GONE\"", "SELECT count(*) FROM jobs WHERE state='UNKNOWN'", 1},
	{",\"nodelist\":\"n[1-2]\",\"deviation\":[0.1]", "SELECT count(*) FROM runs", 0},
	{",\"nodelist\":\"n[1-2]\",\"deviation\":[0.1,0.2,0.3]", "SELECT count(*) FROM runs", 0},
	{",\"nodelist\":\"n1\",\"deviation\":[0.1]", "SELECT count(*) FROM runs", 0},
	{",\"nodelist\":\"n[1-2]\",\"deviation\":[-1,1000]", "SELECT count(*) FROM runs", 1},
	{",\"nodelist\":\"n[1-2]\",\"deviation\":[-1.1,0]", "SELECT count(*) FROM runs", 0},
	{",\"nodelist\":\"n[1-2]\",\"deviation\":[0,1001]", "SELECT count(*) FROM runs", 0},
	{",\"modules\":[]", "SELECT count(*) FROM details", 1},
	{",\"io\":{\"time_s\":0}", "SELECT count(*) FROM details", 0},
	{",\"io\":{\"time_s\":1,\"read_bytes\":-1}", "SELECT io_read_bytes FROM details", -1},
};

Test(fleet_ingest, numbers_are_held_to_what_they_can_be)
{
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		char text[500];
		run("DELETE FROM jobs");
		snprintf(text, sizeof(text), RECORD("%s"), bounds[i].fields);
		take(text);
		cr_expect_eq(number(bounds[i].sql), bounds[i].value, "%s: %f", bounds[i].fields, number(bounds[i].sql));
	}
}

Test(fleet_ingest, a_deviation_is_stored_to_ten_thousandths_and_three_at_most)
{
	take(RECORD(",\"nodelist\":\"n[1-2]\",\"deviation\":[900,-0.00005]"));
	expect_text("SELECT substr(hex(nodes), 3, 4)||substr(hex(nodes), 9, 4) FROM runs", "3075"
											   "FFFF");
}

/* ---- alerts ---- */

static const char *alert(const char *id, const char *user, int64_t ago)
{
	static char text[400];
	char when[32];
	time_t t = time(NULL) - ago;
	struct tm tm;
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	snprintf(text, sizeof(text),
		 "{\"schema\":\"mpitrace/alert/"
		 "1\",\"id\":\"%s\",\"user\":\"%s\",\"cluster\":\"c\",\"partition\":\"p\",\"since\":\"%s\",\"time\":\"%"
		 "s\"}",
		 id, user, when, when);
	return text;
}

static void take_alert(const char *text, const char *owner)
{
	struct error e = {""};
	cr_assert_eq(ingest_alert(g, text, strlen(text), "here", owner, &e), 0, "%s", e.text);
}

Test(fleet_ingest, an_alert_stands_until_the_record_of_its_step_comes)
{
	take_alert(alert("x", "ann", 60), "ann");
	take_alert(alert("x", "ann", 60), "ann");
	take_alert(alert("y", "ann", 60), NULL);
	cr_expect_eq(ingest_counts(g).alerts, 2);
	expect_text("SELECT claim||'|'||id||'|'||user||'|'||cluster||'|'||partition||'|'||(since=time) FROM alerts "
		    "WHERE id='x'",
		    "x ann|x|ann|c|p|1");
	cr_expect_eq(number("SELECT length(alert) FROM alerts WHERE id='x'"), (double)strlen(alert("x", "ann", 60)));
	take(RECORD(""));
	cr_expect_eq(number("SELECT count(*) FROM alerts"), 1);
	take_alert(alert("x", "ann", 60), "ann");
	cr_expect_eq(number("SELECT count(*) FROM alerts"), 1, "it is over");
	cr_expect_eq(ingest_counts(g).alerts, 2);
}

Test(fleet_ingest, an_alert_of_others_or_of_a_time_to_come_is_refused)
{
	take_alert(alert("x", "ann", 60), "bob");
	cr_expect_str_eq(said, "here: belongs to another user than it says; ignored");
	take_alert(alert("x", "ann", -86400 - 100), NULL);
	cr_expect_str_eq(said, "here: is of a time to come; ignored");
	cr_expect_eq(ingest_counts(g).refused, 2);
	take_alert(alert("x", "ann", -86400 + 100), NULL);
	cr_expect_eq(ingest_counts(g).alerts, 1);
	take_alert("{}", NULL);
	cr_expect_eq(ingest_counts(g).refused, 3);
	char behind[2000];
	snprintf(behind, sizeof(behind), "%s {}", alert("y", "ann", 60));
	take_alert(behind, NULL);
	cr_expect_eq(ingest_counts(g).refused, 4, "something stands behind it");
}

/* ---- sums and metrics ---- */

Test(fleet_ingest, sums_that_are_not_those_of_the_jobs_are_said)
{
	static const char *const wrong[][2] = {{"UPDATE days SET core_hours=core_hours+0.1", "jobs of"},
					       {"UPDATE days SET jobs=jobs+1", "jobs of"},
					       {"UPDATE let_go SET jobs=1", "pruned jobs of"},
					       {"UPDATE outcomes SET jobs=jobs+1", "by how they ended"},
					       {"UPDATE causes SET loss=loss+1", "by cause"},
					       {"UPDATE days SET not_known=5", "is not known"}};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error e = {""};
		take(whole);
		cr_expect_eq(fleet_check(&f, &e), 0, "%s", e.text);
		run("SAVEPOINT s");
		run(wrong[i][0]);
		cr_expect_eq(fleet_check(&f, &e), -EBADMSG, "%s", wrong[i][0]);
		cr_expect_not_null(strstr(e.text, wrong[i][1]), "%s: %s", wrong[i][0], e.text);
		run("ROLLBACK TO s");
	}
}

Test(fleet_ingest, errors_of_the_database_have_their_number)
{
	struct error e = {""};
	cr_expect_eq(fleet_run(&f, "SELECT missing", &e), -EIO);
	cr_expect_not_null(strstr(e.text, "memory: no such column: missing"), "%s", e.text);
	cr_expect_null(fleet_prepare(&f, "SELECT missing", &e));
	double value = 3;
	cr_expect_eq(fleet_number(&f, "SELECT missing", 7, &value, &e), -EIO, "a question that fails is no fallback");
	cr_expect_eq(value, 3);
	cr_expect_eq(number_of(&f, "SELECT NULL", 7), 7);
	cr_expect_eq(number_of(&f, "SELECT 1 WHERE 0", 7), 7);
	cr_expect_eq(fleet_run_on(&f, "DELETE FROM days WHERE missing=?1", 1, &e), -EIO);
}

Test(fleet_ingest, metrics_are_rows_with_labels)
{
	struct error e = {""};
	char *text;
	size_t n;
	take(whole);
	take_alert(alert("y", "ann", 60), NULL);
	cr_assert_eq(ingest_commit(g, &e), 0);
	run("COMMIT; INSERT INTO names VALUES(100, 7, 'a\"b\\c'||char(10)); INSERT INTO node_effects "
	    "VALUES(100,0.2,0,0,0,0,9,1,0,1700000000,0,0,0,0,0,0)");
	FILE *out = open_memstream(&text, &n);
	cr_assert_eq(fleet_metrics(&f, out, &e), 0, "%s", e.text);
	fclose(out);
	run("BEGIN");
	static const char *const lines[] = {
		("# TYPE mpitrace_fleet_jobs gauge\n# HELP mpitrace_fleet_jobs Steps with a record, by how they "
		 "ended.\nmpitrace_fleet_jobs{state=\"TIMEOUT\"} 1\n"),
		"mpitrace_fleet_core_hours{state=\"TIMEOUT\"} 20\n",
		"mpitrace_fleet_hung_core_hours{state=\"TIMEOUT\"} 5\n",
		"mpitrace_fleet_lost_core_hours{issue=\"late_sender\"} 3\n",
		"mpitrace_fleet_week_core_hours 0\n",
		"mpitrace_fleet_slow_node_ratio{node=\"a\\\"b\\\\c?\"} 0.2\n",
		"mpitrace_fleet_slow_node_since_seconds{node=\"a\\\"b\\\\c?\"} 1700000000\n",
		"mpitrace_fleet_hanging_jobs{cluster=\"c\",partition=\"p\"} 1\n",
		"mpitrace_fleet_last_job_start_seconds 1740823200\n# EOF\n"};
	const char *behind = text;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *found = strstr(behind, lines[i]);
		cr_assert_not_null(found, "%s\n%s", lines[i], text);
		behind = found + strlen(lines[i]);
	}
	cr_expect_eq(*behind, '\0');
	free(text);
	run("COMMIT; DROP TABLE set_aside");
	out = open_memstream(&text, &n);
	cr_expect_lt(fleet_metrics(&f, out, &e), 0);
	fclose(out);
	free(text);
	run("BEGIN");
}
