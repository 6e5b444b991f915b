/* query.c - a question in SQL has the rows that it would have if all were looked at: what conditions on rank, time and
 * id leave out beforehand is nothing that they ask for. */
#include "mpix_trace.h"
#include "reports/query/query.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct query *q;

static void begin(void)
{
	struct trace_shape shape = {.ranks = 70,
				    .events = 60,
				    .links = 900,
				    .waits = 300,
				    .windows = 3,
				    .threads = true,
				    .runtime_ns = 1000000};
	struct error e = {{0}};
	make_directory();
	struct plain_trace *t = trace_make(&shape);
	cr_assert_eq(plain_write(path_of("t.mpix"), t, "{}", &e), 0, "%s", e.text);
	trace_done(t);
	cr_assert_eq(query_open(path_of("t.mpix"), &q, &e), 0, "%s", e.text);
}

static void end(void)
{
	query_close(q);
	remove_directory();
}

TestSuite(query, .init = begin, .fini = end);

struct answer {
	long long rows, sum;
};

static int no_columns(void *context, sqlite3_stmt *row)
{
	(void)context, (void)row;
	return 0;
}

static int take_row(void *context, sqlite3_stmt *row)
{
	struct answer *a = context;
	*a = (struct answer){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)};
	return 0;
}

static struct answer ask(const char *table, const char *condition)
{
	char sql[256];
	struct answer a = {-1, -1};
	struct error e = {{0}};
	snprintf(sql, sizeof(sql), "SELECT count(*), coalesce(sum(id), 0) FROM %s WHERE %s", table, condition);
	cr_assert_eq(query_run(q, sql, 0, no_columns, take_row, &a, &e), 0, "%s: %s", sql, e.text);
	return a;
}

/* A column with a sign narrows nothing. */
static void expect_same(const char *table, const char *narrowed, const char *judged)
{
	struct answer some = ask(table, narrowed), all = ask(table, judged);
	cr_expect_gt(all.rows, 0, "%s", narrowed);
	cr_expect_eq(some.rows, all.rows, "%s: %lld rows of %lld", narrowed, some.rows, all.rows);
	cr_expect_eq(some.sum, all.sum, "%s", narrowed);
}

Test(query, of_conditions_on_id_rank_and_time_no_row_is_left_out)
{
	static const char *const conditions[] = {"= 33", "< 33", "<= 33", "> 33", ">= 33"};
	char narrowed[64], judged[64];
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
		for (int of_rank = 0; of_rank < 2; of_rank++) {
			const char *column = of_rank ? "rank" : "id";
			snprintf(narrowed, sizeof(narrowed), "%s %s", column, conditions[i]);
			snprintf(judged, sizeof(judged), "+%s %s", column, conditions[i]);
			expect_same("events", narrowed, judged);
		}
	expect_same("events", "rank = 33 AND start_ns >= 300000 AND start_ns < 600000",
		    "+rank = 33 AND +start_ns >= 300000 AND +start_ns < 600000");
	expect_same("messages", "id = 33", "+id = 33");
	expect_same("messages", "dst = 33", "+dst = 33");
}

Test(query, numbers_of_functions_classes_and_states_have_their_names)
{
	static const char *const names[][2] = {
		{"ops", "name = 'MPI_Recv'"}, {"classes", "name = 'p2p'"}, {"states", "name = 'late_sender'"}};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct answer a = ask(names[i][0], names[i][1]);
		cr_expect(a.rows == 1 && a.sum == 1, "%s: %lld rows, number %lld", names[i][1], a.rows, a.sum);
	}
}
