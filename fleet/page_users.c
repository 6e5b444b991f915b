/* page_users.c - what each user and account could save. A user's own page holds nothing of others. */
#include "fleet/page.h"

static void put_head(struct fleet_page *g, const char *what)
{
	put(&g->p,
	    "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th scope=\"col\">%s</th><th scope=\"col\" "
	    "class=\"n\">jobs</th>"
	    "<th scope=\"col\" class=\"n\">core-hours</th><th scope=\"col\"></th><th scope=\"col\" "
	    "class=\"n\">useful</th>"
	    "<th scope=\"col\" class=\"n\">waiting</th><th scope=\"col\" class=\"n\">could be "
	    "saved</th></tr></thead><tbody>\n",
	    what);
}

static void put_rows(struct fleet_page *g, sqlite3_stmt *row, const char *what, const char *kind)
{
	double most = 0;
	put_head(g, what);
	while (next(g, row)) {
		struct sums s = sums_of(row, 2);
		most = fmax(most, s.hours);
		put(&g->p, "<tr><th scope=\"row\" class=\"name\">");
		put_named(g, kind, *kind != '\0' ? sqlite3_column_int64(row, 0) : 0, text_of(row, 1));
		put(&g->p, "</th>");
		put_cell(g, fmt_count(s.jobs), s.jobs);
		put_cell(g, fmt_hours(s.hours), s.hours);
		put(&g->p, "<td class=\"wide\">");
		put_hours_bar(g, &s, s.hours);
		put(&g->p, "</td>");
		put_cell(g, fmt_share(s.hours > 0 ? s.useful / s.hours : NAN), s.hours > 0 ? s.useful / s.hours : -1);
		put_cell(g, fmt_share(s.hours > 0 ? s.wait / s.hours : NAN), s.hours > 0 ? s.wait / s.hours : -1);
		put_cell(g, fmt_hours(s.loss), s.loss);
		put(&g->p, "</tr>\n");
	}
	put(&g->p, "</tbody></table></div>\n");
	put_time_legend(&g->p);
	sqlite3_finalize(row);
}

void page_users(struct fleet_page *g)
{
	fleet_begin(g, "Users and accounts", PAGE_USERS, true);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet</p>\n<h1>Users and accounts, and what "
		   "could be saved</h1></div>\n");
	section_begin(
		g, "accounts", "Accounts",
		"What could be saved is what the first issue of each job cost: in core-hours that were paid for.");
	put_rows(g,
		 ask(g,
		     "SELECT n.id, n.name, total(w.jobs), total(w.core_hours), total(w.useful), total(w.mpi), "
		     "total(w.wait), total(w.loss)"
		     " AS lost FROM weeks w JOIN names n ON n.id=w.name WHERE n.kind=2 GROUP BY n.id ORDER BY lost "
		     "DESC LIMIT 2000",
		     0),
		 "account", "");
	put_data_links(g, "accounts");
	section_end(g);
	section_begin(g, "users", "Users",
		      "Each has a page of their own, which holds their jobs only. At most 2,000 are shown.");
	put_rows(g,
		 ask(g,
		     "SELECT u.user, n.name, total(u.jobs), total(u.core_hours), total(u.useful), total(u.mpi), "
		     "total(u.wait), total(u.loss)"
		     " AS lost FROM user_programs u JOIN names n ON n.id=u.user GROUP BY u.user ORDER BY lost DESC "
		     "LIMIT 2000",
		     0),
		 "user", "user");
	put_data_links(g, "users");
	section_end(g);
	fleet_end(g, true);
}

/* ---- one user ---- */

static void put_masthead(struct fleet_page *g, sqlite3_int64 id, const char *name)
{
	struct sums s = {0};
	sqlite3_stmt *row = ask(g, "SELECT " SUMS " FROM user_programs WHERE user=?1", id);
	if (next(g, row))
		s = sums_of(row, 0);
	sqlite3_finalize(row);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet \xc2\xb7 user <b>");
	put_text(&g->p, name, NAME_CHARS);
	put(&g->p, "</b></p>\n<h1>Up to %s of %s core-hours could be saved.</h1>\n", fmt_hours(s.loss).s,
	    fmt_hours(s.hours).s);
	put(&g->p, "<p class=\"cause\">%s jobs; MPI took %s of their time, waiting %s.</p></div>\n",
	    fmt_count(s.jobs).s, fmt_share(s.hours > 0 ? 1 - s.useful / s.hours : NAN).s,
	    fmt_share(s.hours > 0 ? s.wait / s.hours : NAN).s);
}

void page_user(struct fleet_page *g, sqlite3_int64 id)
{
	column_list weeks = {0};
	sqlite3_stmt *row = ask(g, "SELECT name FROM names WHERE id=?1", id);
	const char *name = next(g, row) ? text_of(row, 0) : "";
	fleet_begin(g, name, PAGE_USERS, true);
	put_masthead(g, id, name);
	sqlite3_finalize(row);
	section_begin(g, "trend", "Over time", "Core-hours by week.");
	row = ask(g, "SELECT week*7, jobs, core_hours, useful, mpi, wait, loss FROM weeks WHERE name=?1 ORDER BY 1",
		  id);
	while (next(g, row))
		if (vec_push(&weeks, (struct column){sqlite3_column_double(row, 0), sums_of(row, 1)}) < 0)
			break;
	sqlite3_finalize(row);
	put_columns(g, &weeks, "Core-hours by week:");
	vec_done(&weeks);
	section_end(g);
	section_begin(g, "programs", "Programs", "Those that lost most first.");
	put_rows(g,
		 ask(g,
		     "SELECT p.program, n.name, p.jobs, p.core_hours, p.useful, p.mpi, p.wait, p.loss FROM "
		     "user_programs p"
		     " JOIN names n ON n.id=p.program WHERE p.user=?1 ORDER BY p.loss DESC LIMIT 50",
		     id),
		 "program", "program");
	section_end(g);
	section_begin_wide(g, "jobs", "Jobs", "Those that lost most: begin here.");
	put_jobs(g,
		 ask(g,
		     "SELECT " JOB_COLUMNS " FROM " JOB_TABLES
		     " WHERE j.user=?1 ORDER BY j.loss_core_hours DESC LIMIT 10",
		     id),
		 "Ten jobs", true);
	section_end(g);
	fleet_end(g, true);
}
