/* page_jobs.c - jobs: those that lost most, and all of a day. */
#include "fleet/page.h"

#define DAY_JOBS 2000 /* rows that a page has of a day: more would be read by nobody, and take a browser long */
#define STR_OF(x) #x
#define STR(x) STR_OF(x)

static void put_calendar(struct fleet_page *g)
{
	sqlite3_stmt *row = ask(g,
				"SELECT s.day, s.jobs FROM day_sums s WHERE s.day>=(SELECT day FROM let_go)"
				" ORDER BY s.day DESC LIMIT ?1",
				g->site->r->days);
	section_begin(g, "days", "All jobs of a day",
		      "The last days have a page each; <code>mpitrace fleet query</code> knows all, and <code>mpitrace "
		      "fleet report --days</code> "
		      "makes more of these.");
	put(&g->p, "<ul class=\"calendar\">\n");
	while (next(g, row)) {
		struct fmt day = fmt_day(sqlite3_column_double(row, 0));
		put(&g->p, "<li><a href=\"jobs-%s.html\">%s</a> <span class=\"soft\">%s</span></li>\n", day.s, day.s,
		    fmt_count(sqlite3_column_double(row, 1)).s);
	}
	put(&g->p, "</ul>\n");
	section_end(g);
	sqlite3_finalize(row);
}

static void put_masthead(struct fleet_page *g)
{
	struct sums s = sums_of_all(g);
	double shown = fmin(s.jobs, g->site->r->jobs), lost = 0;
	sqlite3_stmt *row =
		ask(g, "SELECT total(l) FROM (SELECT loss_core_hours AS l FROM jobs ORDER BY l DESC LIMIT ?1)",
		    g->site->r->jobs);
	if (next(g, row))
		lost = sqlite3_column_double(row, 0);
	sqlite3_finalize(row);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet</p>\n<h1>");
	if (s.loss > 0 && shown == s.jobs)
		put(&g->p, "%s job%s lost %s of %s core-hours.", fmt_count(s.jobs).s, s.jobs == 1 ? "" : "s",
		    fmt_hours_said(s.loss).s, fmt_hours_said(s.hours).s);
	else if (s.loss > 0)
		put(&g->p, "%s of %s job%s lost %s of all core-hours that were lost.", fmt_count(shown).s,
		    fmt_count(s.jobs).s, s.jobs == 1 ? "" : "s", fmt_share(lost / s.loss).s);
	else
		put(&g->p, s.jobs > 0 ? "No job lost core-hours." : "No jobs yet.");
	put(&g->p, "</h1></div>\n");
}

void page_jobs(struct fleet_page *g)
{
	fleet_begin(g, "Jobs", PAGE_JOBS);
	put_masthead(g);
	section_begin_wide(g, "jobs", "Jobs",
			   "Those that lost most first. Each has a page of its own, with a link to its report. "
			   "Headings sort.");
	put_filter(g);
	put_jobs(g,
		 ask(g, "SELECT " JOB_COLUMNS " FROM " JOB_TABLES " ORDER BY j.loss_core_hours DESC LIMIT ?1",
		     g->site->r->jobs),
		 "Jobs that lost most", true);
	put_data_links(g, "jobs");
	section_end(g);
	put_calendar(g);
	fleet_end(g);
}

/* All of them, in order; of a day with very many those that lost most. */
static void put_jobs_of(struct fleet_page *g, sqlite3_int64 day, const char *title)
{
	char how[240] = "All that began on this day, in order. Those that other pages name have a page of their own.";
	sqlite3_stmt *row = ask(g, "SELECT jobs FROM day_sums WHERE day=?1", day);
	double jobs = next(g, row) ? sqlite3_column_double(row, 0) : 0;
	sqlite3_finalize(row);
	if (jobs > DAY_JOBS)
		snprintf(how, sizeof(how),
			 "The %s that lost most of %s that began on this day, in order; <code>mpitrace fleet "
			 "query</code> "
			 "knows all. Those that other pages name have a page of their own.",
			 fmt_count(DAY_JOBS).s, fmt_count(jobs).s);
	section_begin_wide(g, "jobs", "Jobs", how);
	put_filter(g);
	put_jobs(g,
		 ask(g,
		     "SELECT " JOB_COLUMNS " FROM " JOB_TABLES " WHERE j.id IN (SELECT id FROM jobs WHERE"
		     " start>=?1*86400 AND start<(?1+1)*86400 ORDER BY loss_core_hours DESC LIMIT " STR(
			     DAY_JOBS) ") ORDER BY j.start",
		     day),
		 title, false);
	section_end(g);
}

void page_day(struct fleet_page *g, sqlite3_int64 day)
{
	char title[64];
	snprintf(title, sizeof(title), "Jobs of %s", fmt_day((double)day).s);
	fleet_begin(g, title, PAGE_JOBS);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet</p>\n<h1>%s</h1></div>\n", title);
	put_jobs_of(g, day, title);
	fleet_end(g);
}
