/* page_jobs.c - jobs: those that lost most, and all of a day. */
#include "fleet/page.h"

static void put_tools(struct fleet_page *g)
{
	put(&g->p, "<div class=\"tools\" id=\"tools\" hidden><label>Filter: words that a row must have<input "
		   "id=\"filter\" type=\"search\" "
		   "autocomplete=\"off\"></label><span id=\"told\" role=\"status\"></span></div>\n");
}

static void put_calendar(struct fleet_page *g)
{
	sqlite3_stmt *row = ask(g, "SELECT day, jobs FROM day_sums ORDER BY day DESC LIMIT ?1", g->site->r->days);
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

void page_jobs(struct fleet_page *g)
{
	fleet_begin(g, "Jobs", PAGE_JOBS, true);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet</p>\n<h1>Jobs, those that lost most "
		   "first</h1></div>\n");
	section_begin_wide(g, "jobs", "Jobs", "Each has a page of its own, with a link to its report. Headings sort.");
	put_tools(g);
	put_jobs(g,
		 ask(g, "SELECT " JOB_COLUMNS " FROM " JOB_TABLES " ORDER BY j.loss_core_hours DESC LIMIT ?1",
		     g->site->r->jobs),
		 "Jobs that lost most", true);
	put_data_links(g, "jobs");
	section_end(g);
	put_calendar(g);
	fleet_end(g, true);
}

void page_day(struct fleet_page *g, sqlite3_int64 day)
{
	char title[64];
	snprintf(title, sizeof(title), "Jobs of %s", fmt_day((double)day).s);
	fleet_begin(g, title, PAGE_JOBS, true);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet</p>\n<h1>%s</h1></div>\n", title);
	section_begin_wide(
		g, "jobs", "Jobs",
		"All that began on this day, in order. Those that other pages name have a page of their own.");
	put_tools(g);
	put_jobs(g,
		 ask(g,
		     "SELECT " JOB_COLUMNS " FROM " JOB_TABLES
		     " WHERE j.start>=?1*86400 AND j.start<(?1+1)*86400 ORDER BY j.start",
		     day),
		 title, false);
	section_end(g);
	fleet_end(g, true);
}
