/* fleet.c - the fleet's database and what is made of it: versions, questions that may only read, records, and estimates
 * on data of which the answer is known. */
#include "fleet_number.h"

#include "base/json.h"
#include "fleet/alert.h"
#include "fleet/changes.h"
#include "fleet/estimate.h"
#include "fleet/ingest.h"
#include "fleet/migrations.h"
#include "fleet/nodes.h"
#include "fleet/outbox.h"
#include "fleet/query.h"
#include "fleet/record.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[64], db[96];

static void begin(void)
{
	snprintf(place, sizeof(place), "/tmp/test_fleet.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
	snprintf(db, sizeof(db), "%s/fleet.db", place);
}

static void end(void)
{
	static const char *const made[] = {"fleet.db", "fleet.db-wal", "fleet.db-shm", "other.db"};
	char path[128];
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", place, made[i]);
		unlink(path);
	}
	cr_expect_eq(rmdir(place), 0, "nothing else was made");
}

TestSuite(fleet_db, .init = begin, .fini = end);

static struct fleet opened(enum fleet_mode mode)
{
	struct fleet f = {0};
	struct error e = {""};
	cr_assert_eq(fleet_open(db, mode, &f, &e), 0, "%s", e.text);
	return f;
}

static void add_jobs(struct fleet *f, int n)
{
	struct error e = {""};
	char text[1024];
	struct ingest *g = ingest_begin(f, NULL, NULL, &e);
	for (int i = 0; i < n; i++) {
		int len = snprintf(
			text, sizeof(text),
			"{\"schema\":\"mpitrace/job/"
			"1\",\"id\":\"j%d\",\"cluster\":\"c\",\"job_id\":\"%d\",\"user\":\"u%d\","
			"\"program\":\"/bin/p\",\"nodes\":2,\"ranks\":8,\"start\":\"2025-03-01T10:00:00Z\","
			"\"elapsed_s\":3600,\"core_hours\":8,\"share\":{\"useful\":0.75,\"mpi\":0.25,\"wait\":0.125},"
			"\"efficiency\":{\"parallel\":0.75},\"nodelist\":\"n[1-2]\",\"deviation\":[0.1,-0.1]}",
			i, i, i % 3);
		cr_assert_eq(ingest_record(g, text, (size_t)len, "test", NULL, &e), 0, "%s", e.text);
	}
	cr_assert_eq(ingest_commit(g, &e), 0, "%s", e.text);
	cr_assert_eq(ingest_counts(g).refused, 0);
	ingest_end(g);
}

/* ---- versions ---- */

/* A database as that version made it, with what was in it. */
static void make_version(int version, const char *content)
{
	sqlite3 *old;
	char about[80];
	snprintf(about, sizeof(about), "PRAGMA user_version=%d; PRAGMA application_id=0x6d70666c;", version);
	cr_assert_eq(sqlite3_open(db, &old), SQLITE_OK);
	for (int i = 0; i < version * FLEET_MIGRATION_PARTS; i++) {
		const char *part = fleet_migrations[i / FLEET_MIGRATION_PARTS].parts[i % FLEET_MIGRATION_PARTS];
		if (part != NULL)
			cr_assert_eq(sqlite3_exec(old, part, NULL, NULL, NULL), SQLITE_OK);
	}
	cr_assert_eq(sqlite3_exec(old, about, NULL, NULL, NULL), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(old, content, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(old));
	sqlite3_close(old);
}

static void make_version_1(void)
{
	make_version(1, "INSERT INTO names VALUES(1, 7, 'n1');"
			"INSERT INTO node_effects VALUES(1, 0.5, 0.4, 0.6, 9, 0, 20, 1);"
			"INSERT INTO estimated VALUES(0, 0);");
}

Test(fleet_db, an_older_version_is_upgraded_with_what_is_in_it)
{
	struct error e = {""};
	make_version_1();
	struct fleet f = opened(FLEET_WRITE);
	cr_expect_eq(number_of(&f, "PRAGMA user_version", 0), fleet_version);
	cr_expect_eq(number_of(&f, "SELECT effect FROM node_list WHERE node='n1' AND lost_at_most=0", 0), 0.5);
	add_jobs(&f, 5);
	cr_expect_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM node_list WHERE lost_at_most>=0", 0), 2);
	cr_expect_eq(fleet_check(&f, &e), 0, "%s", e.text);
	fleet_close(&f);
}

#define OLD_JOB(key, start, useful, wait) \
	"INSERT INTO jobs(key, cluster, job, user, account, partition, program, build, mpi, nodes, ranks, start," \
	" elapsed_s, core_hours, useful, wait, issue, loss_core_hours, complete) VALUES('" key \
	"', 0, '', 1, 0, 0, 2, 0," \
	" 0, 1, 1, " start ", 1, 10, " useful ", " wait ", 0, 0, 1);"

/* Version 17 did not sum it. Of jobs that it let go it cannot be known any more; sums of them stay. */
Test(fleet_db, hours_of_before_whose_use_is_not_known_are_in_the_sums)
{
	struct error e = {""};
	make_version(17, "INSERT INTO names VALUES(1, 1, 'u'), (2, 4, '/p');" OLD_JOB("a", "86400", "NULL", "0")
				 OLD_JOB("b", "864000", "NULL", "0.25") OLD_JOB("c", "864001", "0.5", "0.25")
					 OLD_JOB("d", "950400", "0.5",
						 "0.25") "UPDATE let_go SET day=9, jobs=1, core_hours=10; DELETE FROM "
							 "jobs WHERE key='a';"
							 "INSERT INTO estimated(jobs, last) VALUES(3, 4);");
	struct fleet f = opened(FLEET_WRITE);
	cr_expect_eq(number_of(&f, "SELECT not_known FROM days WHERE day=10", 0), 7.5);
	cr_expect_eq(number_of(&f, "SELECT total(not_known) FROM days", 0), 7.5);
	cr_expect_eq(number_of(&f, "SELECT total(core_hours) FROM days", 0), 40);
	cr_expect_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
	cr_expect_eq(number_of(&f, "SELECT total(not_known) FROM weeks WHERE name=2", 0), 7.5);
	cr_expect_eq(number_of(&f, "SELECT total(not_known) FROM user_programs", 0), 7.5);
	cr_expect_eq(number_of(&f, "SELECT total(not_known) FROM day_sums", 0), 7.5);
	cr_expect_eq(fleet_check(&f, &e), 0, "%s", e.text);
	cr_expect_eq(fleet_run(&f, "DELETE FROM jobs", &e), 0, "%s", e.text);
	cr_expect_eq(number_of(&f, "SELECT total(not_known) FROM days", 0), 0);
	fleet_close(&f);
}

Test(fleet_db, an_older_version_is_not_upgraded_by_who_only_reads)
{
	struct fleet f = {0};
	struct error e = {""};
	make_version_1();
	cr_expect_eq(fleet_open(db, FLEET_READ, &f, &e), -EPROTO);
	cr_expect_not_null(strstr(e.text, "fleet ingest"), "%s", e.text);
}

Test(fleet_db, a_newer_version_is_refused_and_left_as_it_is)
{
	struct error e = {""};
	struct fleet f = opened(FLEET_CREATE);
	cr_assert_eq(fleet_run(&f, "PRAGMA user_version=99", &e), 0);
	fleet_close(&f);
	for (enum fleet_mode mode = FLEET_READ; mode <= FLEET_CREATE; mode++)
		cr_expect_eq(fleet_open(db, mode, &f, &e), -EPROTO, "mode %d", mode);
	cr_expect_not_null(strstr(e.text, "99"), "%s", e.text);
}

Test(fleet_db, is_readable_by_its_owner_and_group_only)
{
	struct stat st;
	umask(0);
	struct fleet f = opened(FLEET_CREATE);
	cr_expect_eq(stat(db, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	fleet_close(&f);
}

/* ---- questions ---- */

static int asked(struct fleet *f, const char *sql, char **ret_text)
{
	size_t len;
	struct error e = {""};
	FILE *out = open_memstream(ret_text, &len);
	int rc = fleet_query(f, sql, QUERY_CSV, out, &e);
	fclose(out);
	return rc;
}

/* Also on a connection that could write: what forbids it is not only that the file is opened for reading. */
Test(fleet_db, a_question_writes_attaches_and_loads_nothing)
{
	struct fleet f = opened(FLEET_CREATE);
	char *text, other[256];
	add_jobs(&f, 3);
	snprintf(other, sizeof(other), "ATTACH '%s/other.db' AS o", place);
	const char *const wrong[] = {"DELETE FROM jobs",
				     "UPDATE jobs SET user=0",
				     "INSERT INTO names VALUES(999, 1, 'x')",
				     "REPLACE INTO names VALUES(0, 1, 'x')",
				     "CREATE TABLE t(a)",
				     "CREATE TEMP TABLE t(a)",
				     "CREATE VIEW v AS SELECT 1",
				     "DROP TABLE jobs",
				     "ALTER TABLE jobs ADD COLUMN a",
				     "PRAGMA user_version=7",
				     "PRAGMA writable_schema=1",
				     "PRAGMA journal_mode=DELETE",
				     "VACUUM",
				     "VACUUM INTO '/tmp/test_fleet_vacuum.db'",
				     "REINDEX",
				     "ANALYZE",
				     "BEGIN",
				     "SAVEPOINT s",
				     "SELECT load_extension('/tmp/x.so')",
				     "SELECT writefile('/tmp/test_fleet_written', 'x')",
				     "WITH x AS (SELECT 1) DELETE FROM jobs",
				     "SELECT 1; DELETE FROM jobs",
				     "EXPLAIN DELETE FROM jobs",
				     other,
				     ""};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_expect_lt(asked(&f, wrong[i], &text), 0, "%s", wrong[i]);
		free(text);
	}
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM jobs", 0), 3);
	cr_expect_eq(access("/tmp/test_fleet_vacuum.db", F_OK), -1);
	cr_expect_eq(asked(&f,
			   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<3) SELECT sum(i) AS s "
			   "FROM n",
			   &text),
		     0);
	cr_expect_str_eq(text, "s\r\n6\r\n");
	free(text);
	fleet_close(&f);
}

Test(fleet_db, sums_follow_whatever_is_done_to_jobs)
{
	struct error e = {""};
	struct fleet f = opened(FLEET_CREATE);
	add_jobs(&f, 9);
	cr_expect_eq(fleet_run(&f, "DELETE FROM jobs WHERE id%2=0", &e), 0);
	cr_expect_eq(fleet_check(&f, &e), 0, "%s", e.text);
	cr_expect_eq(number_of(&f, "SELECT total(useful) FROM days", 0), 5 * 8 * 0.75);
	cr_expect_eq(fleet_run(&f, "UPDATE days SET jobs=jobs+1", &e), 0);
	cr_expect_eq(fleet_check(&f, &e), -EBADMSG);
	fleet_close(&f);
}

/* As of a job that was killed before its tracer wrote anything but totals. */
Test(fleet_db, what_is_not_known_to_be_useful_is_in_no_sum_of_it)
{
	static const char text[] =
		"{\"schema\":\"mpitrace/job/2\",\"id\":\"x\",\"user\":\"u9\",\"ranks\":8,\"core_hours\":100,"
		"\"start\":\"2025-03-01T11:00:00Z\",\"elapsed_s\":3600,\"hung_core_hours\":50,"
		"\"share\":{\"useful\":null,\"mpi\":null,\"wait\":null}}";
	struct error e = {""};
	struct fleet f = opened(FLEET_CREATE);
	add_jobs(&f, 4);
	struct ingest *g = ingest_begin(&f, NULL, NULL, &e);
	cr_assert_eq(ingest_record(g, text, sizeof(text) - 1, "test", NULL, &e), 0, "%s", e.text);
	cr_assert_eq(ingest_commit(g, &e), 0, "%s", e.text);
	ingest_end(g);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM job_list WHERE useful IS NULL", 0), 1);
	cr_expect_eq(number_of(&f, "SELECT total(core_hours) FROM days", 0), 4 * 8 + 100);
	cr_expect_eq(number_of(&f, "SELECT total(useful) FROM days", 0), 4 * 8 * 0.75);
	cr_expect_eq(number_of(&f, "SELECT total(mpi) FROM days", 0), 4 * 8 * 0.125);
	cr_expect_eq(number_of(&f, "SELECT total(wait) FROM days", 0), 4 * 8 * 0.125 + 50);
	cr_expect_eq(number_of(&f, "SELECT total(not_known) FROM days", 0), 50);
	cr_expect_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
	cr_expect_eq(fleet_check(&f, &e), 0, "%s", e.text);
	cr_expect_eq(fleet_run(&f, "DELETE FROM jobs WHERE useful IS NULL", &e), 0);
	cr_expect_eq(fleet_check(&f, &e), 0, "%s", e.text);
	cr_expect_eq(number_of(&f, "SELECT total(wait) FROM days", 0), 4 * 8 * 0.125);
	cr_expect_eq(number_of(&f, "SELECT total(not_known) FROM days", 0), 0);
	fleet_close(&f);
}

/* As of a run of which only totals were recorded. */
Test(fleet_db, where_waiting_is_not_known_what_was_useful_is)
{
	static const char text[] =
		"{\"schema\":\"mpitrace/job/2\",\"id\":\"x\",\"user\":\"u9\",\"ranks\":8,\"core_hours\":100,"
		"\"start\":\"2025-03-01T11:00:00Z\",\"elapsed_s\":3600,"
		"\"share\":{\"useful\":0.5,\"mpi\":0.5,\"wait\":null}}";
	struct error e = {""};
	struct fleet f = opened(FLEET_CREATE);
	struct ingest *g = ingest_begin(&f, NULL, NULL, &e);
	cr_assert_eq(ingest_record(g, text, sizeof(text) - 1, "test", NULL, &e), 0, "%s", e.text);
	cr_assert_eq(ingest_commit(g, &e), 0, "%s", e.text);
	ingest_end(g);
	cr_expect_eq(number_of(&f, "SELECT total(useful) FROM days", 0), 50);
	cr_expect_eq(number_of(&f, "SELECT total(mpi) FROM days", 0), 50);
	cr_expect_eq(number_of(&f, "SELECT total(wait)+total(not_known) FROM days", 1), 0);
	cr_expect_eq(fleet_check(&f, &e), 0, "%s", e.text);
	fleet_close(&f);
}

/* ---- records ---- */

Test(record, waiting_that_no_single_call_tells_is_not_0)
{
	static const struct {
		const char *ranks;
		bool known;
		double wait;
	} rows[] = {
		{"{\"useful_s\":6,\"mpi_s\":2,\"wait_s\":1},{\"useful_s\":8,\"mpi_s\":0,\"wait_s\":0}", true, 0.0625},
		{"{\"useful_s\":6,\"mpi_s\":2,\"wait_s\":1},{\"useful_s\":8,\"mpi_s\":0,\"wait_s\":null}", true,
		 0.0625},
		{"{\"useful_s\":6,\"mpi_s\":2,\"wait_s\":null},{\"useful_s\":8,\"mpi_s\":0,\"wait_s\":null}", false, 0},
		{"{\"useful_s\":6,\"mpi_s\":2},{\"useful_s\":8,\"mpi_s\":0}", false, 0}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct record_source source = {.user = "u"};
		struct error e = {""};
		char analysis[400], *text = NULL;
		snprintf(analysis, sizeof(analysis), "{\"job\":{\"ranks\":2,\"elapsed_s\":8},\"per_rank\":[%s]}",
			 rows[i].ranks);
		cr_assert_eq(record_build(analysis, &source, &text, &e), 0, "%s", e.text);
		cJSON *record = cJSON_Parse(text);
		const cJSON *share = json_item(record, "share"), *hours = json_item(record, "hours");
		cr_expect_float_eq(json_number(share, "useful"), 0.875, 1e-6);
		cr_expect(cJSON_IsNull(json_item(share, "wait")) != rows[i].known, "row %zu: %s", i, text);
		cr_expect(cJSON_IsNull(json_item(hours, "transfer")) != rows[i].known, "row %zu: %s", i, text);
		if (rows[i].known)
			cr_expect_float_eq(json_number(share, "wait"), rows[i].wait, 1e-6);
		cJSON_Delete(record);
		free(text);
	}
}

Test(record, what_is_no_analysis_makes_none)
{
	struct record_source source = {.user = "u"};
	struct error e = {""};
	char *text = NULL;
	static const char *const wrong[] = {"", "{", "[]", "null", "7", "\"x\""};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect_lt(record_build(wrong[i], &source, &text, &e), 0, "%s", wrong[i]);
	cr_expect_null(text);
}

Test(record, names_of_nodes_are_folded_in_slurms_form)
{
	static const char *const names[] = {"n01", "n02", "n03", "n7", "login", "x9", "x10", "x11"};
	char *text = record_nodelist(names, sizeof(names) / sizeof(names[0]));
	cr_expect_str_eq(text, "n[01-03,7],login,x[9,10-11]", "%s", text);
	free(text);
}

/* ---- estimates ---- */

#define NODES 40
#define SLOW 17

static double noise(uint64_t *state)
{
	double sum = 0;
	for (int i = 0; i < 12; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*state >> 33) / 2147483648.0 - 0.5;
	}
	return sum;
}

/* 600 jobs on four nodes each; on SLOW ranks compute a tenth longer; rank 0 of program 2 is a master. */
static struct scan site(double slow)
{
	struct scan s = {0};
	uint64_t state = 7;
	for (uint32_t i = 0; i < NODES; i++)
		vec_push(&s.names, 100 + i);
	for (uint32_t j = 0; j < 600; j++) {
		struct scan_job job = {.id = j + 1,
				       .program = 1 + j % 3,
				       .user = 5 + j % 2,
				       .ranks = 16,
				       .day = 100 + j / 10,
				       .first_node = (uint32_t)s.nodes.n,
				       .nodes = 4,
				       .core_hours = 2,
				       .parallel = 0.8f};
		double value[4], mean = 0;
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t node = (j * 7 + i * 11) % NODES;
			value[i] = (1 + 0.01 * noise(&state)) * (node == SLOW ? 1 + slow : 1) *
				   (i == 0 && job.program == 2 ? 1.3 : 1);
			mean += value[i] / 4;
			vec_push(&s.nodes, (struct scan_node){.node = node});
		}
		for (uint32_t i = 0; i < 4; i++)
			s.nodes.at[job.first_node + i].deviation = (float)(value[i] / mean - 1);
		vec_push(&s.jobs, job);
	}
	s.day_end = 200;
	return s;
}

Test(nodes, the_slow_one_is_found_by_how_much_and_at_what_cost)
{
	struct scan s = site(0.1);
	struct node_effect *x = NULL;
	cr_assert_eq(nodes_estimate(&s, &x), 0);
	for (uint32_t i = 0; i < NODES; i++)
		cr_expect_eq(x[i].suspected, i == SLOW, "node %u: %.3f", i, x[i].effect);
	cr_expect_float_eq(x[SLOW].effect, 0.1, 0.01);
	cr_expect(x[SLOW].low < 0.1 && x[SLOW].high > 0.1);
	cr_expect_float_eq(x[SLOW].lost, x[SLOW].jobs * 2 * 0.8 * x[SLOW].effect, 0.01 * x[SLOW].lost);
	cr_expect_neq(x[SLOW].evidence[0].job, UINT32_MAX);
	free(x);
	scan_done(&s);
}

/* Each stands for another one that is not here (fleet/samples.h). */
Test(nodes, cost_is_of_those_for_which_jobs_stand_too)
{
	struct scan s = site(0.1);
	struct node_effect *x = NULL, *y = NULL;
	cr_assert_eq(nodes_estimate(&s, &x), 0);
	for (size_t i = 0; i < s.jobs.n; i++)
		s.jobs.at[i].others = 1;
	cr_assert_eq(nodes_estimate(&s, &y), 0);
	cr_expect_float_eq(y[SLOW].lost, 2 * x[SLOW].lost, 1e-6 * x[SLOW].lost);
	cr_expect_eq(y[SLOW].effect, x[SLOW].effect);
	free(x);
	free(y);
	scan_done(&s);
}

/* The same, but that it is slow only since job `from`. */
static struct scan site_since(double slow, uint32_t from)
{
	struct scan s = site(slow), even = site(0);
	for (uint32_t j = 0; j < s.jobs.n; j++)
		for (uint32_t i = 0; i < s.jobs.at[j].nodes && j < from; i++)
			s.nodes.at[s.jobs.at[j].first_node + i].deviation =
				even.nodes.at[even.jobs.at[j].first_node + i].deviation;
	for (uint32_t j = 0; j < s.jobs.n; j++)
		s.jobs.at[j].start = 1000000 + 100 * j;
	scan_done(&even);
	return s;
}

Test(nodes, one_that_became_slow_is_found_with_its_time_and_judged_since)
{
	static const uint32_t from = 500; /* of 600 jobs: the last 14 of 83 days */
	struct scan s = site_since(0.2, from);
	struct node_effect *x = NULL;
	cr_assert_eq(nodes_estimate(&s, &x), 0);
	for (uint32_t i = 0; i < NODES; i++)
		cr_expect_eq(x[i].suspected, i == SLOW, "node %u: %.3f since %.0f", i, x[i].effect, x[i].since);
	double when = 1000000 + 100 * from;
	cr_expect_float_eq(x[SLOW].effect, 0.2, 0.02);
	cr_expect_float_eq(x[SLOW].before, 0, 0.02);
	cr_expect(x[SLOW].since_low <= when && when <= x[SLOW].since_high, "%.0f to %.0f", x[SLOW].since_low,
		  x[SLOW].since_high);
	cr_expect_leq(x[SLOW].since_high - x[SLOW].since_low, 100 * 100, "it runs in each hundredth job at least");
	free(x);
	scan_done(&s);
}

Test(nodes, one_that_was_repaired_is_not_suspected_any_more)
{
	struct scan slow = site(0.2), s = site_since(0, 0);
	struct node_effect *x = NULL;
	for (uint32_t j = 0; j < 300; j++)
		for (uint32_t i = 0; i < s.jobs.at[j].nodes; i++)
			s.nodes.at[s.jobs.at[j].first_node + i].deviation =
				slow.nodes.at[slow.jobs.at[j].first_node + i].deviation;
	cr_assert_eq(nodes_estimate(&s, &x), 0);
	for (uint32_t i = 0; i < NODES; i++)
		cr_expect(!x[i].suspected, "node %u: %.3f", i, x[i].effect);
	cr_expect_float_eq(x[SLOW].before, 0.2, 0.02);
	cr_expect_gt(x[SLOW].since, 0);
	free(x);
	scan_done(&s);
	scan_done(&slow);
}

Test(nodes, of_equal_ones_none_is_suspected)
{
	struct scan s = site(0);
	struct node_effect *x = NULL;
	cr_assert_eq(nodes_estimate(&s, &x), 0);
	for (uint32_t i = 0; i < NODES; i++)
		cr_expect(!x[i].suspected, "node %u: %.3f", i, x[i].effect);
	free(x);
	scan_done(&s);
}

Test(nodes, without_jobs_nothing_is_known)
{
	struct scan s = {0};
	struct node_effect *x = NULL;
	cr_assert_eq(nodes_estimate(&s, &x), 0);
	free(x);
}

/* A program that has jobs of other sizes from one day on, and of which one becomes worse on day 130. */
static struct scan year(double to)
{
	struct scan s = {0};
	uint64_t state = 11;
	for (uint32_t day = 100; day < 160; day++)
		for (uint32_t i = 0; i < 10; i++) {
			uint32_t ranks = i < (day > 120 ? 8 : 2) ? 1024 : 16;
			double level = (ranks == 16 ? 0.9 : 0.7) * (day >= 130 ? to : 1);
			uint64_t id = s.jobs.n + 1;
			vec_push(&s.jobs, (struct scan_job){.id = id,
							    .program = 1,
							    .user = 2,
							    .ranks = ranks,
							    .day = day,
							    .core_hours = 10,
							    .parallel = (float)(level * (1 + 0.02 * noise(&state)))});
		}
	s.day_end = 160;
	return s;
}

Test(changes, a_program_that_became_worse_is_found_with_its_day)
{
	struct scan s = year(0.9);
	change_list list = {0};
	cr_assert_eq(changes_find(&s, &list), 0);
	cr_assert_eq(list.n, 1);
	cr_expect_eq(list.at[0].day, 130);
	cr_expect_float_eq(list.at[0].change, -0.1, 0.02);
	cr_expect(list.at[0].p < 1e-6 && list.at[0].hours_since > 0);
	vec_done(&list);
	scan_done(&s);
}

Test(changes, larger_jobs_are_no_change)
{
	struct scan s = year(1);
	change_list list = {0};
	cr_assert_eq(changes_find(&s, &list), 0);
	cr_expect_eq(list.n, 0);
	vec_done(&list);
	scan_done(&s);
}

/* ---- alerts in an outbox ---- */

#define NOON 1795694400 /* 2026-11-26 */

Test(outbox, an_alert_has_one_of_few_names_which_is_its_owners)
{
	static const struct {
		const char *name;
		uid_t owner;
		bool is;
	} rows[] = {
		{"alert-20261126-u1000-0.alert.json", 1000, true},
		{"alert-20261126-u1000-7.alert.json", 1000, true},
		{"alert-20261126-u1000-8.alert.json", 1000, false},
		{"alert-20261126-u1000-07.alert.json", 1000, false},
		{"alert-20261126-u01000-0.alert.json", 1000, false},
		{"alert-20261126-u1000-0.alert.json", 1001, false},
		{"alert-20261126-u1000-0.alert.json", 0, true},
		{"alert-20261127-u1000-0.alert.json", 1000, true},
		{"alert-20261128-u1000-0.alert.json", 1000, false},
		{"alert-20261124-u1000-0.alert.json", 1000, true},
		{"alert-20261123-u1000-0.alert.json", 1000, false},
		{"alert-2026112-u1000-0.alert.json", 1000, false},
		{"alert-20261126-u1000-0.alert.jsonx", 1000, false},
		{"alert-20261126-u1000--1.alert.json", 1000, false},
		{"x.alert.json", 1000, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stat st = {.st_uid = rows[i].owner};
		cr_expect_eq(outbox_is_alert(rows[i].name, &st, NOON), rows[i].is, "%s of %u", rows[i].name,
			     rows[i].owner);
	}
}

Test(alert, of_MPI_Init_says_how_many_and_for_how_long)
{
	static const char live[] = "{\"schema\":\"mpitrace/live/1\",\"time\":1735787045,\"job\":{\"cluster\":\"c\","
				   "\"job_id\":\"7\",\"step_id\":\"0\",\"restart\":0,\"ranks\":4,\"nodes\":2}}";
	struct record_source source = {.user = "u", .version = "0"};
	struct alert_start start = {1, 4, 25};
	struct error e = {""};
	struct alert a;
	char *text = NULL;
	cr_assert_eq(alert_build(live, &source, 1735787020, &start, &text, &e), 0, "%s", e.text);
	cJSON *json = cJSON_Parse(text);
	cr_assert_null(alert_of(json, &a));
	cr_expect_str_eq(a.id, "c:7.0:0");
	cr_expect_eq(a.time - a.since, 25);
	cr_expect(
		strstr(text,
		       "\"what\":\"in MPI_Init\",\"core_ranks\":1,\"core\":[],\"why\":\"1 of 4 processes has not come "
		       "out of MPI_Init for 25 s, and all have called it\"") != NULL,
		"%s", text);
	cJSON_Delete(json);
	free(text);
}
