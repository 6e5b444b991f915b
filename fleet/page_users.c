/* page_users.c - what each user and account could save. A user's own page holds nothing of others. */
#include "fleet/page.h"

#define STANDS_OUT 0.2 /* of the time: so much less useful than everybody's */

void put_least_useful(struct fleet_page *g)
{
	sqlite3_stmt *row = ask(
		g,
		"WITH u AS (SELECT user, total(useful+mpi+wait) AS hours, total(useful) AS useful FROM user_programs"
		" WHERE user>0 GROUP BY user), a AS (SELECT total(hours) AS hours, total(useful) AS useful FROM u)"
		" SELECT u.user, n.name, u.hours, u.useful/u.hours, (a.useful-u.useful)/(a.hours-u.hours) AS others"
		" FROM u, a JOIN names n ON n.id=u.user WHERE u.hours>0 AND a.hours>u.hours"
		" ORDER BY u.hours*others-u.useful DESC LIMIT 1",
		0);
	if (next(g, row) && sqlite3_column_double(row, 3) < sqlite3_column_double(row, 4) - STANDS_OUT) {
		put(&g->p, "<p class=\"cause\">Of %s core-hours that were spent by ranks of ",
		    fmt_hours_said(sqlite3_column_double(row, 2)).s);
		put_named(g, "user", sqlite3_column_int64(row, 0), text_of(row, 1));
		put(&g->p, " %s were useful; of everybody else's, %s.</p>\n",
		    fmt_share(sqlite3_column_double(row, 3)).s, fmt_share(sqlite3_column_double(row, 4)).s);
	}
	sqlite3_finalize(row);
}

static void put_masthead(struct fleet_page *g)
{
	double users = ask_number(g, "SELECT count(DISTINCT user) FROM user_programs WHERE user>0", 0);
	struct sums s = sums_of_all(g);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet</p>\n<h1>");
	if (s.jobs > 0)
		put(&g->p, "%s user%s lost %s of %s core-hours.", fmt_count(users).s, users == 1 ? "" : "s",
		    fmt_hours_said(s.loss).s, fmt_hours_said(s.hours).s);
	else
		put(&g->p, "No jobs yet.");
	put(&g->p,
	    "</h1>\n<p class=\"cause\">What is lost is what the first issue of each job cost: core-hours that were "
	    "paid for, and could be saved.</p>\n");
	put_not_known(g, &s);
	put_least_useful(g);
	put(&g->p, "</div>\n");
}

void page_users(struct fleet_page *g)
{
	bool not_known = sums_of_all(g).not_known > 0;
	fleet_begin(g, "Users and accounts", PAGE_USERS);
	put_masthead(g);
	section_begin(g, "accounts", "Accounts", "Those that lost most first. Headings sort.");
	put_filter(g);
	put_groups(g, &(struct group_table){.what = "account", .sortable = true, .not_known = not_known},
		   ask(g,
		       "SELECT n.id, n.name, total(w.jobs), total(w.core_hours), total(w.useful), total(w.mpi), "
		       "total(w.wait), total(w.loss)"
		       " AS lost, total(w.not_known) FROM weeks w JOIN names n ON n.id=w.name WHERE n.kind=2 GROUP BY "
		       "n.id ORDER BY lost "
		       "DESC LIMIT 2000",
		       0));
	put_data_links(g, "accounts");
	section_end(g);
	section_begin(g, "users", "Users",
		      "Each has a page of their own, which holds their jobs only. At most 2,000 are shown.");
	put_groups(g, &(struct group_table){.what = "user", .sortable = true, .not_known = not_known},
		   ask(g,
		       "SELECT u.user, n.name, total(u.jobs), total(u.core_hours), total(u.useful), total(u.mpi), "
		       "total(u.wait), total(u.loss)"
		       " AS lost, total(u.not_known) FROM user_programs u JOIN names n ON n.id=u.user GROUP BY u.user "
		       "ORDER BY lost DESC "
		       "LIMIT 2000",
		       0));
	put_data_links(g, "users");
	section_end(g);
	fleet_end(g);
}

/* ---- one user ---- */

static void put_user_masthead(struct fleet_page *g, sqlite3_int64 id, const char *name)
{
	struct sums s = sums_of_user(g, id);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet \xc2\xb7 user <b>");
	put_text(&g->p, name, NAME_CHARS);
	if (s.jobs > 0)
		put(&g->p, "</b></p>\n<h1>Up to %s of %s core-hours could be saved.</h1>\n", fmt_hours_said(s.loss).s,
		    fmt_hours_said(s.hours).s);
	else
		put(&g->p, "</b></p>\n<h1>No jobs yet.</h1>\n");
	put_spent(g, &s);
	put(&g->p, "</div>\n");
}

void page_user(struct fleet_page *g, sqlite3_int64 id)
{
	sqlite3_stmt *row = ask(g, "SELECT name FROM names WHERE id=?1", id);
	const char *name = next(g, row) ? text_of(row, 0) : id == NO_JOBS ? g->site->r->user : "";
	fleet_begin(g, name, PAGE_USERS);
	put_user_masthead(g, id, name);
	sqlite3_finalize(row);
	put_led(g);
	put_weeks(g, id);
	put_changes(g, id);
	section_begin(g, "programs", "Programs", "Those that lost most first.");
	put_groups(
		g,
		&(struct group_table){
			.what = "program", .sortable = true, .not_known = sums_of_user(g, id).not_known > 0},
		ask(g,
		    "SELECT p.program, n.name, p.jobs, p.core_hours, p.useful, p.mpi, p.wait, p.loss, p.not_known FROM "
		    "user_programs p"
		    " JOIN names n ON n.id=p.program WHERE p.user=?1 ORDER BY p.loss DESC LIMIT 50",
		    id));
	section_end(g);
	section_begin_wide(g, "jobs", "Jobs", "Those that lost most: begin here.");
	put_jobs(g,
		 ask(g,
		     "SELECT " JOB_COLUMNS " FROM " JOB_TABLES
		     " WHERE j.user=?1 ORDER BY j.loss_core_hours DESC LIMIT ?2",
		     id),
		 "Jobs that lost most", true);
	if (g->site->user != 0)
		put_data_links(g, "jobs");
	section_end(g);
	fleet_end(g);
}
