/* page_programs.c - what each program costs, when it changed, how it does by ranks and by version. */
#include "fleet/page.h"

static void put_change(struct fleet_page *g, sqlite3_stmt *row, bool named)
{
	double change = sqlite3_column_double(row, 5);
	put(&g->p, "<tr><th scope=\"row\" class=\"keep\">%s</th><td>", fmt_day(sqlite3_column_double(row, 2)).s);
	if (named)
		put_named(g, "program", sqlite3_column_int64(row, 0), text_of(row, 1));
	put(&g->p,
	    "</td><td class=\"n\"><span class=\"%s\">%s %s</span><br><small class=\"soft\">%+.1f to %+.1f "
	    "%%</small></td>",
	    change < 0 ? "worse" : "better", change < 0 ? "\xe2\x96\xbc" : "\xe2\x96\xb2", fmt_share(fabs(change)).s,
	    sqlite3_column_double(row, 6) * 100, sqlite3_column_double(row, 7) * 100);
	put(&g->p, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>",
	    fmt_ratio(sqlite3_column_double(row, 3)).s, fmt_ratio(sqlite3_column_double(row, 4)).s,
	    fmt_hours(sqlite3_column_double(row, 8)).s, fmt_count(sqlite3_column_double(row, 9)).s);
	put_version(g, text_of(row, 10), text_of(row, 11));
	put(&g->p, "</td></tr>\n");
}

void put_changes(struct fleet_page *g, sqlite3_int64 program)
{
	/* Beside it the version whose first job came nearest to that day. */
	sqlite3_stmt *row =
		ask(g,
		    "SELECT c.program, p.name, c.day, c.before, c.after, c.change, c.low, c.high, c.hours_since, "
		    "c.jobs_after,"
		    " b.name, m.name FROM changes c JOIN names p ON p.id=c.program LEFT JOIN program_versions v ON"
		    "  v.program=c.program AND abs(v.first-c.day*86400)=(SELECT min(abs(x.first-c.day*86400))"
		    "  FROM program_versions x WHERE x.program=c.program) LEFT JOIN names b ON b.id=v.build"
		    " LEFT JOIN names m ON m.id=v.mpi WHERE ?1=0 OR c.program=?1 GROUP BY c.program, c.day"
		    " ORDER BY abs(c.hours_since) DESC LIMIT 200",
		    program);
	bool any = false;
	for (; next(g, row); any = true) {
		if (!any)
			put(&g->p,
			    "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">since</th><th "
			    "scope=\"col\">%s</th>"
			    "<th scope=\"col\" class=\"n\">efficiency, and where it may lie</th><th scope=\"col\" "
			    "class=\"n\">before</th>"
			    "<th scope=\"col\" class=\"n\">after</th><th scope=\"col\" class=\"n\">core-hours more "
			    "since</th>"
			    "<th scope=\"col\" class=\"n\">jobs since</th><th scope=\"col\">version that came nearest "
			    "to then</th></tr>"
			    "</thead><tbody>\n",
			    program == 0 ? "program" : "");
		put_change(g, row, program == 0);
	}
	put(&g->p, any ? "</tbody></table></div>\n" : "<p>Nothing changed that cannot be chance.</p>\n");
	sqlite3_finalize(row);
}

static void take_weeks(struct fleet_page *g, sqlite3_int64 id, column_list *c)
{
	sqlite3_stmt *row = ask(
		g, "SELECT week*7, jobs, core_hours, useful, mpi, wait, loss FROM weeks WHERE name=?1 ORDER BY 1", id);
	while (next(g, row))
		if (vec_push(c, (struct column){sqlite3_column_double(row, 0), sums_of(row, 1)}) < 0)
			break;
	sqlite3_finalize(row);
}

static void put_row(struct fleet_page *g, sqlite3_stmt *row, double most)
{
	column_list weeks = {0};
	struct sums s = sums_of(row, 2);
	sqlite3_int64 id = sqlite3_column_int64(row, 0);
	take_weeks(g, id, &weeks);
	put(&g->p, "<tr><th scope=\"row\" class=\"name\">");
	put_named(g, "program", id, text_of(row, 1));
	put(&g->p, "</th>");
	put_cell(g, fmt_count(s.jobs), s.jobs);
	put_cell(g, fmt_hours(s.hours), s.hours);
	put(&g->p, "<td class=\"wide\">");
	put_hours_bar(g, &s, most);
	put(&g->p, "</td>");
	put_cell(g, fmt_share(s.hours > 0 ? s.useful / s.hours : NAN), s.hours > 0 ? s.useful / s.hours : -1);
	put(&g->p, "<td>");
	put_spark(g, &weeks, g->site->first_day, g->site->last_day);
	put(&g->p, "</td>");
	put_cell(g, fmt_hours(s.loss), s.loss);
	put_cell(g, fmt_count(sqlite3_column_double(row, 8)), sqlite3_column_double(row, 8));
	put(&g->p, "</tr>\n");
	vec_done(&weeks);
}

void page_programs(struct fleet_page *g)
{
	double most = fleet_number(
		g->site->f, "SELECT max(h) FROM (SELECT total(core_hours) AS h FROM user_programs GROUP BY program)",
		1);
	sqlite3_stmt *row = ask(
		g,
		"SELECT u.program, n.name, total(u.jobs), total(u.core_hours), total(u.useful), total(u.mpi), "
		"total(u.wait),"
		" total(u.loss) AS lost, (SELECT count(DISTINCT build) FROM program_versions v WHERE "
		"v.program=u.program)"
		" FROM user_programs u JOIN names n ON n.id=u.program GROUP BY u.program ORDER BY lost DESC LIMIT 2000",
		0);
	fleet_begin(g, "Programs", PAGE_PROGRAMS, true);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet</p>\n<h1>Programs, those that lost most "
		   "first</h1></div>\n");
	section_begin(g, "programs", "Programs",
		      "A program is a path; its versions are told apart by the build id. The line is the useful share "
		      "by week, between none "
		      "and all, with half of it in grey. Headings sort.");
	put(&g->p, "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th scope=\"col\">program</th><th "
		   "scope=\"col\" class=\"n\">jobs</th>"
		   "<th scope=\"col\" class=\"n\">core-hours</th><th scope=\"col\"></th><th scope=\"col\" "
		   "class=\"n\">useful</th><th scope=\"col\">"
		   "</th><th scope=\"col\" class=\"n\">core-hours lost</th><th scope=\"col\" "
		   "class=\"n\">versions</th></tr></thead><tbody>\n");
	while (next(g, row))
		put_row(g, row, most);
	put(&g->p, "</tbody></table></div>\n");
	put_time_legend(&g->p);
	put_data_links(g, "programs");
	section_end(g);
	sqlite3_finalize(row);
	section_begin(g, "changes", "What changed",
		      "Parallel efficiency from one day on, for the same users and numbers of ranks.");
	put_changes(g, 0);
	section_end(g);
	fleet_end(g, true);
}

/* ---- one program ---- */

static void put_sizes(struct fleet_page *g, sqlite3_int64 id)
{
	sqlite3_stmt *row = ask(
		g, "SELECT ranks, jobs, core_hours, parallel FROM program_ranks WHERE program=?1 ORDER BY ranks", id);
	section_begin(
		g, "ranks", "By number of ranks",
		"Parallel efficiency, mean over core-hours. Where it falls, more ranks cost more than they bring.");
	put(&g->p, "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">up to ranks</th><th scope=\"col\" "
		   "class=\"n\">jobs</th>"
		   "<th scope=\"col\" class=\"n\">core-hours</th><th scope=\"col\" class=\"n\">efficiency</th><th "
		   "scope=\"col\"></th></tr></thead><tbody>\n");
	while (next(g, row)) {
		double parallel = sqlite3_column_type(row, 3) == SQLITE_NULL ? NAN : sqlite3_column_double(row, 3);
		put(&g->p,
		    "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
		    "class=\"n\">%s</td><td class=\"wide\">",
		    fmt_count(sqlite3_column_double(row, 0)).s, fmt_count(sqlite3_column_double(row, 1)).s,
		    fmt_hours(sqlite3_column_double(row, 2)).s, fmt_ratio(parallel).s);
		put_bar(&g->p, &(struct part){"named", isnan(parallel) ? 0 : parallel}, 1, 1);
		put(&g->p, "</td></tr>\n");
	}
	put(&g->p, "</tbody></table></div>\n");
	section_end(g);
	sqlite3_finalize(row);
}

static void put_versions(struct fleet_page *g, sqlite3_int64 id)
{
	sqlite3_stmt *row =
		ask(g,
		    "SELECT b.name, m.name, v.first, v.last, v.jobs, v.core_hours, v.parallel FROM program_versions v"
		    " JOIN names b ON b.id=v.build JOIN names m ON m.id=v.mpi WHERE v.program=?1 ORDER BY v.first "
		    "LIMIT 100",
		    id);
	section_begin(g, "versions", "Versions", "By build id of the file, and MPI library, the first used first.");
	put(&g->p, "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">version</th><th "
		   "scope=\"col\">first</th><th scope=\"col\">last</th>"
		   "<th scope=\"col\" class=\"n\">jobs</th><th scope=\"col\" class=\"n\">core-hours</th><th "
		   "scope=\"col\" class=\"n\">efficiency</th>"
		   "</tr></thead><tbody>\n");
	while (next(g, row)) {
		double parallel = sqlite3_column_type(row, 6) == SQLITE_NULL ? NAN : sqlite3_column_double(row, 6);
		put(&g->p, "<tr><th scope=\"row\">");
		put_version(g, text_of(row, 0), text_of(row, 1));
		put(&g->p,
		    "</th><td class=\"keep\">%s</td><td class=\"keep\">%s</td><td class=\"n\">%s</td><td "
		    "class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
		    fmt_day(sqlite3_column_double(row, 2) / FLEET_SECONDS_PER_DAY).s,
		    fmt_day(sqlite3_column_double(row, 3) / FLEET_SECONDS_PER_DAY).s,
		    fmt_count(sqlite3_column_double(row, 4)).s, fmt_hours(sqlite3_column_double(row, 5)).s,
		    fmt_ratio(parallel).s);
	}
	put(&g->p, "</tbody></table></div>\n");
	section_end(g);
	sqlite3_finalize(row);
}

static void put_users(struct fleet_page *g, sqlite3_int64 id)
{
	sqlite3_stmt *row =
		ask(g,
		    "SELECT p.user, n.name, p.jobs, p.core_hours, p.useful, p.mpi, p.wait, p.loss FROM user_programs p"
		    " JOIN names n ON n.id=p.user WHERE p.program=?1 ORDER BY p.loss DESC LIMIT 20",
		    id);
	section_begin(g, "users", "Who runs it", "Users whose jobs lost most with it; at most twenty.");
	put(&g->p,
	    "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">user</th><th scope=\"col\" class=\"n\">jobs</th>"
	    "<th scope=\"col\" class=\"n\">core-hours</th><th scope=\"col\"></th><th scope=\"col\" "
	    "class=\"n\">core-hours lost</th></tr></thead><tbody>\n");
	while (next(g, row)) {
		struct sums s = sums_of(row, 2);
		put(&g->p, "<tr><th scope=\"row\">");
		put_named(g, "user", sqlite3_column_int64(row, 0), text_of(row, 1));
		put(&g->p, "</th><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"wide\">",
		    fmt_count(s.jobs).s, fmt_hours(s.hours).s);
		put_hours_bar(g, &s, s.hours);
		put(&g->p, "</td><td class=\"n\">%s</td></tr>\n", fmt_hours(s.loss).s);
	}
	put(&g->p, "</tbody></table></div>\n");
	put_time_legend(&g->p);
	section_end(g);
	sqlite3_finalize(row);
}

static void put_masthead(struct fleet_page *g, sqlite3_int64 id, const char *name)
{
	struct sums s = {0};
	sqlite3_stmt *row = ask(g, "SELECT " SUMS " FROM user_programs WHERE program=?1", id);
	if (next(g, row))
		s = sums_of(row, 0);
	sqlite3_finalize(row);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet \xc2\xb7 program <b>");
	put_text(&g->p, name, TITLE_CHARS);
	put(&g->p, "</b></p>\n<h1>MPI took %s of its %s core-hours; waiting was %s.</h1>\n",
	    fmt_share(s.hours > 0 ? 1 - s.useful / s.hours : NAN).s, fmt_hours(s.hours).s,
	    fmt_share(s.hours > 0 ? s.wait / s.hours : NAN).s);
	put(&g->p, "<p class=\"cause\">%s jobs lost %s core-hours to their first issues.</p></div>\n",
	    fmt_count(s.jobs).s, fmt_hours(s.loss).s);
}

void page_program(struct fleet_page *g, sqlite3_int64 id)
{
	column_list weeks = {0};
	sqlite3_stmt *row = ask(g, "SELECT name FROM names WHERE id=?1", id);
	const char *name = next(g, row) ? text_of(row, 0) : "";
	fleet_begin(g, basename_of(name), PAGE_PROGRAMS, true);
	put_masthead(g, id, name);
	sqlite3_finalize(row);
	section_begin(g, "trend", "Over time", "Its core-hours by week.");
	take_weeks(g, id, &weeks);
	put_columns(g, &weeks, "Core-hours by week:");
	section_end(g);
	section_begin(g, "changes", "What changed",
		      "Parallel efficiency from one day on, for the same users and numbers of ranks.");
	put_changes(g, id);
	section_end(g);
	put_sizes(g, id);
	put_versions(g, id);
	put_users(g, id);
	section_begin_wide(g, "jobs", "Its jobs", "Those that lost most.");
	put_jobs(g,
		 ask(g,
		     "SELECT " JOB_COLUMNS " FROM " JOB_TABLES
		     " WHERE j.program=?1 ORDER BY j.loss_core_hours DESC LIMIT 10",
		     id),
		 "Ten jobs", true);
	section_end(g);
	fleet_end(g, true);
	vec_done(&weeks);
}
