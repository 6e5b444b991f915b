/* fleet_broken.c - a database that fails at one moment, whichever that is: it is said, or all is as if it had not. */
#include "fleet_number.h"
#include "fleet_rows.h"

#include "fleet/estimate.h"
#include "fleet/forget.h"
#include "fleet/ingest.h"
#include "fleet/metrics.h"
#include "fleet/retention.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW 8L
#define MANY 40L

static struct fleet good, f;
static int steps = 10; /* of SQLite's machine between two moments */
static long left;      /* moments until it fails */
static bool failed;

static int fail_once(void *context)
{
	(void)context;
	failed |= left == 0;
	return left-- == 0;
}

/* A database like the good one. */
static void copy_good(void)
{
	struct error e = {""};
	cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
	sqlite3_backup *b = sqlite3_backup_init(f.db, "main", good.db, "main");
	cr_assert_eq(sqlite3_backup_step(b, -1), SQLITE_DONE);
	sqlite3_backup_finish(b);
	number_of(&f, "SELECT count(*) FROM days", 0); /* it knows its tables then */
}

/* All that is in its tables. */
static char *dump(void)
{
	struct error e = {""};
	char *text, *sql;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	sqlite3_stmt *tables = fleet_prepare(
		&f, "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%' ORDER BY 1", &e);
	while (sqlite3_step(tables) == SQLITE_ROW) {
		sql = sqlite3_mprintf("SELECT * FROM \"%w\"", sqlite3_column_text(tables, 0));
		sqlite3_stmt *row = fleet_prepare(&f, sql, &e);
		while (sqlite3_step(row) == SQLITE_ROW)
			for (int i = 0; i < sqlite3_column_count(row); i++) {
				const char *cell = (const char *)sqlite3_column_text(row, i);
				fprintf(out, "%s|", cell != NULL ? cell : "null");
			}
		sqlite3_finalize(row);
		sqlite3_free(sql);
		fputc('\n', out);
	}
	sqlite3_finalize(tables);
	fclose(out);
	return text;
}

/* What is done, with what it writes into out. */
typedef int (*deed)(FILE *out, struct error *e);

/* Fails it at each moment; from that one on, the later the further apart. Returns how many there were. */
static long fail_at_each(deed what, const char *name, long from)
{
	char *text[2], *tables[2];
	size_t n;
	long tries = 0;
	copy_good();
	for (long at = -1; at < 100000; at += 1 + (at > from) * at / 4, tries++) { /* the first time it does not */
		int side = at >= 0;
		struct error e = {""};
		FILE *out = open_memstream(&text[side], &n);
		left = at;
		failed = false;
		sqlite3_progress_handler(f.db, steps, fail_once, NULL);
		int rc = what(out, &e);
		sqlite3_progress_handler(f.db, 0, NULL, NULL);
		fclose(out);
		tables[side] = dump();
		if (rc == 0) {
			cr_expect_str_eq(text[side], text[0], "%s, moment %ld: it says something else", name, at);
			cr_expect_str_eq(tables[side], tables[0], "%s, moment %ld: it did something else", name, at);
		} else {
			cr_expect(side == 1 && failed, "%s: %s", name, e.text);
			cr_expect_str_neq(e.text, "", "%s, moment %ld", name, at);
			cr_expect_eq(fleet_run(&f, "BEGIN; COMMIT", &e), 0, "%s, moment %ld: a transaction is open",
				     name, at);
		}
		fleet_close(&f);
		if (side == 1) {
			free(text[1]);
			free(tables[1]);
		}
		copy_good();
		if (side == 1 && !failed)
			break;
	}
	fleet_close(&f);
	free(text[0]);
	free(tables[0]);
	return tries;
}

static struct {
	const char *user, *name;
} asked;

static int page(FILE *out, struct error *e)
{
	struct fleet_report r = {.days = 366, .jobs = 50, .user = asked.user};
	return fleet_page(&f, &r, asked.name, out, e);
}

static int figures(FILE *out, struct error *e)
{
	struct fleet_report r = {.public_least = 1};
	return fleet_page(&f, &r, "figures.csv", out, e);
}

static int metrics(FILE *out, struct error *e)
{
	return fleet_metrics(&f, out, e);
}

static int check(FILE *out, struct error *e)
{
	(void)out;
	return fleet_check(&f, e);
}

/* A record that comes twice. */
static int ingest(FILE *out, struct error *e)
{
	static const char record[] = "{\"schema\":\"mpitrace/job/2\",\"id\":\"x\",\"user\":\"ann\","
				     "\"start\":\"2025-03-01T10:00:00Z\"}";
	struct ingest *g = ingest_begin(&f, NULL, NULL, e);
	int rc = g != NULL ? 0 : -EIO;
	for (int i = 0; i < 2 && rc == 0; i++)
		rc = ingest_record(g, record, strlen(record), "here", NULL, e);
	if (rc == 0)
		rc = ingest_commit(g, e);
	if (rc == 0)
		fprintf(out, "%ju added, %ju known\n", (uintmax_t)ingest_counts(g).added,
			(uintmax_t)ingest_counts(g).known);
	ingest_end(g);
	return rc;
}

static int keep(FILE *out, struct error *e)
{
	uint64_t n;
	(void)out;
	return fleet_keep(&f, 20200LL * 86400, 31, &n, e);
}

static int forget(FILE *out, struct error *e)
{
	struct fleet_forgotten n;
	(void)out;
	return fleet_forget(&f, "ann", &n, e);
}

static int estimate(FILE *out, struct error *e)
{
	(void)out;
	return fleet_estimate(&f, e);
}

static void begin(void)
{
	good = rows_fleet();
	rows_run(&good, "DELETE FROM estimated");
}

static void end(void)
{
	fleet_close(&good);
}

TestSuite(fleet_broken, .init = begin, .fini = end, .timeout = 300);

Test(fleet_broken, what_is_judged)
{
	cr_expect_gt(fail_at_each(estimate, "estimate", FEW), 10);
}

Test(fleet_broken, what_comes_in)
{
	steps = 3; /* these are short */
	cr_expect_gt(fail_at_each(ingest, "ingest", 1000), 30);
}

Test(fleet_broken, who_is_forgotten)
{
	cr_expect_gt(fail_at_each(forget, "forget", FEW), 10);
}

Test(fleet_broken, jobs_that_go)
{
	cr_expect_gt(fail_at_each(keep, "keep", FEW), 10);
}

/* A page in which a question failed would have 0 in its place, or nothing. */
Test(fleet_broken, pages)
{
	static const char *const names[] = {"index.html", "monday.html", "programs.html", "users.html", "nodes.html"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		asked.name = names[i];
		cr_expect_gt(fail_at_each(page, names[i], MANY), 10, "%s", names[i]);
	}
	asked.user = "ann";
	asked.name = "index.html";
	cr_expect_gt(fail_at_each(page, "ann's", MANY), 10);
	asked.user = NULL;
}

Test(fleet_broken, tables_and_metrics)
{
	cr_expect_gt(fail_at_each(figures, "figures", FEW), 10);
	cr_expect_gt(fail_at_each(metrics, "metrics", FEW), 10);
}

Test(fleet_broken, sums_that_are_checked)
{
	cr_expect_gt(fail_at_each(check, "check", FEW), 10);
}
