/* metrics.c - see metrics.h. A metric is a row: a question whose last column is the value, and whose other columns are
 * labels by their names. All are gauges: a record that comes again changes sums, also downwards. */
#include "fleet/metrics.h"
#include "fleet/alerts.h"

#include "base/utf8.h"
#include "format/issues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_MOST "200" /* of slow nodes and changed programs: more are no alert but a day off */
#define CHANGED_DAYS "56" /* a program that changed longer ago is as it is */

/* clang-format off */
static const struct metric {
	const char *name, *help, *sql;
} metrics[] = {
	{"mpitrace_fleet_jobs", "Steps with a record, by how they ended.",
	 "SELECT outcome AS state, total(jobs) FROM outcomes GROUP BY outcome HAVING total(jobs)>0"},
	{"mpitrace_fleet_core_hours", "Core-hours of steps with a record, by how they ended.",
	 "SELECT outcome AS state, total(core_hours) FROM outcomes GROUP BY outcome HAVING total(jobs)>0"},
	{"mpitrace_fleet_hung_core_hours", "Core-hours after the last progress of any rank, by how the steps ended.",
	 "SELECT outcome AS state, total(hung) FROM outcomes GROUP BY outcome HAVING total(jobs)>0"},
	{"mpitrace_fleet_lost_core_hours", "Core-hours that the first issue of each step cost.",
	 "SELECT known_issue(n.name) AS issue, total(c.loss) FROM causes c JOIN names n ON n.id=c.issue WHERE c.issue>0 GROUP BY 1"},
	{"mpitrace_fleet_week_core_hours", "Core-hours of steps that began in the last seven days.",
	 "SELECT total(core_hours) FROM jobs WHERE start>=strftime('%s','now')-7*86400"},
	{"mpitrace_fleet_week_not_known_core_hours", "Of them, those of which it is not known how they were spent: in neither of the next two.",
	 "SELECT total(core_hours*(1-wait)) FROM jobs WHERE start>=strftime('%s','now')-7*86400 AND useful IS NULL"},
	{"mpitrace_fleet_week_useful_core_hours", "Of them, outside of MPI.",
	 "SELECT total(core_hours*useful) FROM jobs WHERE start>=strftime('%s','now')-7*86400"},
	{"mpitrace_fleet_week_waiting_core_hours", "Of them, in wait states of MPI, hung or not.",
	 "SELECT total(core_hours*wait) FROM jobs WHERE start>=strftime('%s','now')-7*86400"},
	{"mpitrace_fleet_week_hung_core_hours", "Of them, hung.",
	 "SELECT total(hung_core_hours) FROM jobs WHERE start>=strftime('%s','now')-7*86400"},
	{"mpitrace_fleet_week_hung_jobs", "Steps that hung, of those that began in the last seven days.",
	 "SELECT count(*) FROM jobs WHERE start>=strftime('%s','now')-7*86400 AND hung_core_hours>0"},
	{"mpitrace_fleet_slow_node_ratio", "By how much longer ranks compute on a node that is suspected of being slow.",
	 "SELECT n.name AS node, e.effect FROM node_effects e JOIN names n ON n.id=e.node WHERE e.suspected"
	 " ORDER BY e.effect DESC LIMIT " SERIES_MOST},
	{"mpitrace_fleet_slow_node_since_seconds", "Since when, if it was not always so.",
	 "SELECT n.name AS node, e.since FROM node_effects e JOIN names n ON n.id=e.node WHERE e.suspected AND e.since>0"
	 " ORDER BY e.effect DESC LIMIT " SERIES_MOST},
	/* Without directories, which may be somebody's home. */
	{"mpitrace_fleet_program_change_ratio", "Change of the efficiency of a program that became worse within " CHANGED_DAYS " days.",
	 "SELECT replace(n.name, rtrim(n.name, replace(n.name, '/', '')), '') AS program, min(c.change) FROM changes c"
	 " JOIN names n ON n.id=c.program WHERE n.kind=4 AND c.change<0 AND"
	 " c.day>=strftime('%s','now')/86400-" CHANGED_DAYS " AND c.day=(SELECT max(day) FROM changes x WHERE x.program=c.program)"
	 " GROUP BY 1 ORDER BY 2 LIMIT " SERIES_MOST},
	{"mpitrace_fleet_hanging_jobs", "Steps that hang now: an alert has come, and no record yet.",
	 "SELECT cluster, partition, count(*) FROM alerts WHERE time>=strftime('%s','now')-" ALERTS_SHOWN_DAYS "*86400 GROUP BY 1, 2"
	 " ORDER BY 3 DESC LIMIT " SERIES_MOST},
	{"mpitrace_fleet_hanging_since_seconds", "Since when the first of them hangs.",
	 "SELECT cluster, partition, min(since) FROM alerts WHERE time>=strftime('%s','now')-" ALERTS_SHOWN_DAYS "*86400 GROUP BY 1, 2"
	 " ORDER BY count(*) DESC LIMIT " SERIES_MOST},
	{"mpitrace_fleet_set_aside", "Records with invalid times.", "SELECT count(*) FROM set_aside"},
	{"mpitrace_fleet_last_job_start_seconds", "When the last step with a record began.", "SELECT max(start) FROM jobs HAVING max(start)>0"},
};
/* clang-format on */

/* known_issue(NAME): anybody may have made one up, and each was a series. */
static void known_issue(sqlite3_context *c, int n, sqlite3_value **values)
{
	(void)n;
	const char *name = (const char *)sqlite3_value_text(values[0]);
	sqlite3_result_text(c, name != NULL && issue_row(name) != NULL ? name : "(others)", -1, SQLITE_TRANSIENT);
}

/* As OpenMetrics escapes it. */
static void put_label(FILE *out, const char *text)
{
	char *clean = utf8_clean(text, strlen(text));
	for (const char *c = clean != NULL ? clean : "?"; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		fputc(*c, out);
	}
	free(clean);
}

static void put_sample(FILE *out, const char *name, sqlite3_stmt *row)
{
	int last = sqlite3_column_count(row) - 1;
	fputs(name, out);
	for (int i = 0; i < last; i++) {
		const char *text = (const char *)sqlite3_column_text(row, i);
		fprintf(out, "%s%s=\"", i == 0 ? "{" : ",", sqlite3_column_name(row, i));
		put_label(out, text != NULL ? text : "");
		fputc('"', out);
	}
	fprintf(out, "%s %.15g\n", last > 0 ? "}" : "", sqlite3_column_double(row, last));
}

static int put_metric(struct fleet *f, const struct metric *m, FILE *out, struct error *e)
{
	int got;
	sqlite3_stmt *row = fleet_prepare(f, m->sql, e);
	if (row == NULL)
		return -EIO;
	fprintf(out, "# TYPE %s gauge\n# HELP %s %s\n", m->name, m->name, m->help);
	while ((got = sqlite3_step(row)) == SQLITE_ROW)
		put_sample(out, m->name, row);
	int rc = got == SQLITE_DONE ? 0 : fleet_fail(f, e);
	sqlite3_finalize(row);
	return rc;
}

int fleet_metrics(struct fleet *f, FILE *out, struct error *e)
{
	int how = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	if (sqlite3_create_function(f->db, "known_issue", 1, how, NULL, known_issue, NULL, NULL) != SQLITE_OK)
		return fleet_fail(f, e);
	int rc = fleet_run(f, "BEGIN", e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]) && rc == 0; i++)
		rc = put_metric(f, &metrics[i], out, e);
	sqlite3_exec(f->db, "COMMIT", NULL, NULL, NULL);
	fputs("# EOF\n", out);
	return rc;
}
