/* page_account.c - one account, for who leads it and for who sees all: what it had, who ran what, and what was lost. */
#include "fleet/page.h"

#define ACCOUNT_JOBS "100"
#define OF_ACCOUNT \
	"total(d.jobs), total(d.core_hours), total(d.useful), total(d.mpi), total(d.wait), total(d.loss) AS lost," \
	" total(d.not_known)" \
	" FROM account_sums d JOIN names n"

void put_led(struct fleet_page *g)
{
	for (size_t i = 0; i < g->site->led.n; i++) {
		sqlite3_stmt *row = ask(g, "SELECT name FROM names WHERE id=?1", g->site->led.at[i]);
		if (i == 0)
			section_begin(g, "leads", "Accounts that you lead", "All of their jobs, whoever ran them.");
		put(&g->p, "<p><a href=\"account-%lld.html\">", (long long)g->site->led.at[i]);
		put_text(&g->p, next(g, row) ? text_of(row, 0) : "", NAME_CHARS);
		put(&g->p, "</a></p>\n");
		sqlite3_finalize(row);
	}
	if (g->site->led.n > 0)
		section_end(g);
}

static void put_masthead(struct fleet_page *g, sqlite3_int64 id, const char *name)
{
	struct sums s = sums_of_account(g, id);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet \xc2\xb7 account <b>");
	put_text(&g->p, name, NAME_CHARS);
	put(&g->p, "</b></p>\n<h1>Up to %s of %s core-hours could be saved.</h1>\n", fmt_hours_said(s.loss).s,
	    fmt_hours_said(s.hours).s);
	put_spent(g, &s);
	put(&g->p, "</div>\n");
}

static void put_groups_of(struct fleet_page *g, sqlite3_int64 id)
{
	bool not_known = sums_of_account(g, id).not_known > 0;
	section_begin(g, "users", "Users", "Those whose jobs lost most first.");
	put_groups(g, &(struct group_table){.what = "user", .sortable = true, .not_known = not_known},
		   ask(g,
		       "SELECT n.id, n.name, " OF_ACCOUNT " ON n.id=d.user WHERE d.account=?1 GROUP BY d.user"
		       " HAVING total(d.jobs)>0 ORDER BY lost DESC LIMIT 2000",
		       id));
	section_end(g);
	section_begin(g, "programs", "Programs", "Those that lost most first.");
	put_groups(g, &(struct group_table){.what = "program", .sortable = true, .not_known = not_known},
		   ask(g,
		       "SELECT n.id, n.name, " OF_ACCOUNT " ON n.id=d.program WHERE d.account=?1 GROUP BY d.program"
		       " HAVING total(d.jobs)>0 ORDER BY lost DESC LIMIT 200",
		       id));
	section_end(g);
}

/* The days that a page spans, which are otherwise those of the user who asks. */
static void span(struct fleet_page *g, sqlite3_int64 id)
{
	sqlite3_stmt *row = ask(g, "SELECT min(week)*7, max(week)*7+6 FROM weeks WHERE name=?1", id);
	if (next(g, row)) {
		g->site->first_day = sqlite3_column_double(row, 0);
		g->site->last_day = sqlite3_column_double(row, 1);
	}
	sqlite3_finalize(row);
}

void page_account(struct fleet_page *g, sqlite3_int64 id)
{
	double first = g->site->first_day, last = g->site->last_day;
	sqlite3_stmt *row = ask(g, "SELECT name FROM names WHERE id=?1", id);
	const char *name = next(g, row) ? text_of(row, 0) : "";
	fleet_begin(g, name, PAGE_OTHER);
	put_masthead(g, id, name);
	sqlite3_finalize(row);
	if (g->site->user != 0)
		span(g, id);
	put_weeks(g, id);
	put_groups_of(g, id);
	section_begin_wide(g, "jobs", "Jobs", "Those that lost most: begin here.");
	put_jobs(g,
		 ask(g,
		     "SELECT " JOB_COLUMNS " FROM " JOB_TABLES
		     " WHERE j.account=?1 ORDER BY j.loss_core_hours DESC LIMIT " ACCOUNT_JOBS,
		     id),
		 "Jobs that lost most", true);
	section_end(g);
	g->site->first_day = first;
	g->site->last_day = last;
	fleet_end(g);
}
