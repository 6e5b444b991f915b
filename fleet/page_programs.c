/* page_programs.c - what each program costs, when it changed, how it does by ranks and by version. */
#include "base/path.h"
#include "fleet/page.h"

#define CAME_WITH_CHARS 400

/* A sentence that needs no statistics; the exact numbers stand beside it. */
static void put_change(struct fleet_page *g, sqlite3_stmt *row, bool named)
{
	double change = sqlite3_column_double(row, 5), p = sqlite3_column_double(row, 11);
	put(&g->p, "<tr><th scope=\"row\" class=\"keep\">%s", fmt_day(sqlite3_column_double(row, 2)).s);
	if (sqlite3_column_double(row, 13) < sqlite3_column_double(row, 14))
		put(&g->p, "<br><small class=\"soft\">most likely from %s<br>to %s</small>",
		    fmt_day(sqlite3_column_double(row, 13)).s, fmt_day(sqlite3_column_double(row, 14)).s);
	put(&g->p, "</th>");
	if (named) {
		put(&g->p, "<td>");
		put_named(g, sqlite3_column_int(row, 12) == FLEET_USER ? "user" : "program",
			  sqlite3_column_int64(row, 0), text_of(row, 1));
		put(&g->p, "</td>");
	}
	put(&g->p,
	    "<td><span class=\"%s\">%s %s %s</span><br><small class=\"soft\">between %.1f and %.1f %% (95 %%); by "
	    "chance in %s</small></td>",
	    change < 0 ? "worse" : "better", change < 0 ? "\xe2\x96\xbc" : "\xe2\x96\xb2", fmt_share(fabs(change)).s,
	    change < 0 ? "less efficient" : "more efficient",
	    fmin(fabs(sqlite3_column_double(row, 6)), fabs(sqlite3_column_double(row, 7))) * 100,
	    fmax(fabs(sqlite3_column_double(row, 6)), fabs(sqlite3_column_double(row, 7))) * 100,
	    p < 1e-6   ? "fewer than one in a million reports"
	    : p < 1e-3 ? "fewer than one in a thousand reports"
		       : "at most one in a hundred reports");
	put(&g->p, "<td class=\"n keep\">%s \xe2\x86\x92 %s</td>", fmt_ratio(sqlite3_column_double(row, 3)).s,
	    fmt_ratio(sqlite3_column_double(row, 4)).s);
	put_cell(g, fmt_hours(sqlite3_column_double(row, 8)), sqlite3_column_double(row, 8));
	put_cell(g, fmt_count(sqlite3_column_double(row, 9)), sqlite3_column_double(row, 9));
	put(&g->p, "<td>");
	put_text(&g->p, sqlite3_column_type(row, 10) == SQLITE_NULL ? "nothing recorded" : text_of(row, 10),
		 CAME_WITH_CHARS);
	put(&g->p, "</td></tr>\n");
}

static void put_changes_head(struct fleet_page *g, bool named)
{
	put(&g->p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">since</th>%s<th "
	    "scope=\"col\">what "
	    "happened</th><th scope=\"col\" class=\"n\">efficiency</th><th scope=\"col\" class=\"n\">core-hours more "
	    "since</th><th scope=\"col\" class=\"n\">jobs since</th><th scope=\"col\">what came with "
	    "it</th></tr></thead><tbody>\n",
	    named ? "<th scope=\"col\">program or user</th>" : "");
}

void put_changes(struct fleet_page *g, sqlite3_int64 program)
{
	sqlite3_stmt *row =
		ask(g,
		    "SELECT c.program, p.name, c.day, c.before, c.after, c.change, c.low, c.high, c.hours_since, "
		    "c.jobs_after,"
		    " (SELECT group_concat(w.text, ', ') FROM change_with w WHERE w.program=c.program AND w.day=c.day),"
		    " c.p, p.kind, c.day_low, c.day_high FROM changes c JOIN names p ON p.id=c.program WHERE ?1=0 OR"
		    " c.program=?1"
		    " ORDER BY abs(c.hours_since) DESC LIMIT 200",
		    program);
	bool any = false;
	section_begin(g, "changes", "What changed",
		      "Programs and users whose jobs became less or more efficient from one day on. Jobs of the same "
		      "users and programs with as many ranks are compared, so that other users or larger jobs are no "
		      "change, nor is what all programs have in common on a day. By chance, one report in a hundred "
		      "would show such a line. What came with it need not be why.");
	for (; next(g, row); any = true) {
		if (!any)
			put_changes_head(g, program == 0);
		put_change(g, row, program == 0);
	}
	put(&g->p, any ? "</tbody></table></div>\n" : "<p>No change beyond chance.</p>\n");
	sqlite3_finalize(row);
	put_basis(g);
	if (program == 0)
		put_data_links(g, "changes");
	section_end(g);
}

/* How few programs have half of all that was lost. */
static double half_of_it(struct fleet_page *g, double all, double *ret_part)
{
	double n = 0;
	sqlite3_stmt *row =
		ask(g, "SELECT total(loss) AS lost FROM user_programs GROUP BY program ORDER BY lost DESC", 0);
	for (*ret_part = 0; *ret_part < all / 2 && next(g, row); n++)
		*ret_part += sqlite3_column_double(row, 0);
	sqlite3_finalize(row);
	return n;
}

static void put_programs_masthead(struct fleet_page *g)
{
	struct sums s = sums_of_all(g);
	double programs = ask_number(g, "SELECT count(DISTINCT program) FROM user_programs", 0), part;
	double few = half_of_it(g, s.loss, &part);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet</p>\n<h1>");
	if (s.loss > 0 && few == programs)
		put(&g->p, "%s program%s lost %s of %s core-hours.", fmt_count(few).s, few == 1 ? "" : "s",
		    fmt_hours_said(s.loss).s, fmt_hours_said(s.hours).s);
	else if (s.loss > 0)
		put(&g->p, "%s of %s program%s lost %s of all core-hours that were lost.", fmt_count(few).s,
		    fmt_count(programs).s, programs == 1 ? "" : "s", fmt_share(part / s.loss).s);
	else
		put(&g->p, s.jobs > 0 ? "No program lost core-hours." : "No jobs yet.");
	put(&g->p, "</h1>\n");
	put_not_known(g, &s);
	put(&g->p, "</div>\n");
}

void page_programs(struct fleet_page *g)
{
	double most = ask_number(
		g, "SELECT max(h) FROM (SELECT total(core_hours) AS h FROM user_programs GROUP BY program)", 1);
	fleet_begin(g, "Programs", PAGE_PROGRAMS);
	put_programs_masthead(g);
	section_begin(
		g, "programs", "Programs",
		"Those that lost most first; headings sort. A program is a path; its versions are told apart by the "
		"build id. The line is the useful share by week: the grey line is its mean, top and bottom are 20 "
		"points more and less.");
	put_filter(g);
	put_groups(
		g,
		&(struct group_table){.what = "program",
				      .sortable = true,
				      .trend = true,
				      .versions = true,
				      .most = most,
				      .not_known = sums_of_all(g).not_known > 0},
		ask(g,
		    "SELECT u.program, n.name, total(u.jobs), total(u.core_hours), total(u.useful), total(u.mpi), "
		    "total(u.wait),"
		    " total(u.loss) AS lost, total(u.not_known), (SELECT count(DISTINCT build) FROM program_versions v "
		    "WHERE "
		    "v.program=u.program)"
		    " FROM user_programs u JOIN names n ON n.id=u.program GROUP BY u.program ORDER BY lost DESC LIMIT "
		    "2000",
		    0));
	put_data_links(g, "programs");
	section_end(g);
	put_changes(g, 0);
	fleet_end(g);
}

/* ---- one program ---- */

static void put_sizes(struct fleet_page *g, sqlite3_int64 id)
{
	sqlite3_stmt *row = ask(
		g, "SELECT ranks, jobs, core_hours, parallel FROM program_ranks WHERE program=?1 ORDER BY ranks", id);
	section_begin(
		g, "ranks", "By number of ranks",
		"Parallel efficiency, mean over core-hours. Where it falls, more ranks cost more than they bring.");
	put(&g->p, "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">up to ranks</th><th "
		   "scope=\"col\" "
		   "class=\"n\">jobs</th>"
		   "<th scope=\"col\" class=\"n\">core-hours</th><th scope=\"col\" class=\"n\">efficiency</th><th "
		   "scope=\"col\" class=\"pic\">0 to 1</th></tr></thead><tbody>\n");
	while (next(g, row)) {
		double parallel = sqlite3_column_type(row, 3) == SQLITE_NULL ? NAN : sqlite3_column_double(row, 3);
		put(&g->p, "<tr><th scope=\"row\" data-v=\"%.0f\">%s</th>", sqlite3_column_double(row, 0),
		    fmt_count(sqlite3_column_double(row, 0)).s);
		put_cell(g, fmt_count(sqlite3_column_double(row, 1)), sqlite3_column_double(row, 1));
		put_cell(g, fmt_hours(sqlite3_column_double(row, 2)), sqlite3_column_double(row, 2));
		put_cell(g, fmt_ratio(parallel), parallel);
		put(&g->p, "<td class=\"wide\">");
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
	put(&g->p, "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">version</th><th "
		   "scope=\"col\">first</th><th scope=\"col\">last</th>"
		   "<th scope=\"col\" class=\"n\">jobs</th><th scope=\"col\" class=\"n\">core-hours</th><th "
		   "scope=\"col\" class=\"n\">efficiency</th>"
		   "</tr></thead><tbody>\n");
	while (next(g, row)) {
		double parallel = sqlite3_column_type(row, 6) == SQLITE_NULL ? NAN : sqlite3_column_double(row, 6);
		put(&g->p, "<tr><th scope=\"row\">");
		put_version(g, text_of(row, 0), text_of(row, 1));
		put(&g->p, "</th><td class=\"keep\">%s</td><td class=\"keep\">%s</td>",
		    fmt_day(sqlite3_column_double(row, 2) / FLEET_SECONDS_PER_DAY).s,
		    fmt_day(sqlite3_column_double(row, 3) / FLEET_SECONDS_PER_DAY).s);
		put_cell(g, fmt_count(sqlite3_column_double(row, 4)), sqlite3_column_double(row, 4));
		put_cell(g, fmt_hours(sqlite3_column_double(row, 5)), sqlite3_column_double(row, 5));
		put_cell(g, fmt_ratio(parallel), parallel);
		put(&g->p, "</tr>\n");
	}
	put(&g->p, "</tbody></table></div>\n");
	section_end(g);
	sqlite3_finalize(row);
}

static void put_users(struct fleet_page *g, sqlite3_int64 id)
{
	section_begin(g, "users", "Who runs it", "Users whose jobs lost most with it; at most twenty.");
	put_groups(g,
		   &(struct group_table){
			   .what = "user", .sortable = true, .not_known = sums_of_program(g, id).not_known > 0},
		   ask(g,
		       "SELECT p.user, n.name, p.jobs, p.core_hours, p.useful, p.mpi, p.wait, p.loss, p.not_known FROM "
		       "user_programs p"
		       " JOIN names n ON n.id=p.user WHERE p.program=?1 ORDER BY p.loss DESC LIMIT 20",
		       id));
	section_end(g);
}

static void put_masthead(struct fleet_page *g, sqlite3_int64 id, const char *name)
{
	struct sums s = sums_of_program(g, id);
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet \xc2\xb7 program <b>");
	put_text(&g->p, name, TITLE_CHARS);
	put(&g->p, "</b></p>\n<h1>");
	if (known_of(&s) > 0)
		put(&g->p, "MPI took %s of its %s core-hours; waiting was %s.",
		    fmt_share(share_of(s.mpi + s.wait, &s)).s, fmt_hours_said(known_of(&s)).s,
		    fmt_share(share_of(s.wait, &s)).s);
	else
		put(&g->p, "How the %s core-hours were spent is not known.", fmt_hours_said(s.hours).s);
	put(&g->p, "</h1>\n<p class=\"cause\">%s job%s lost %s core-hours to their first issues.</p>\n",
	    fmt_count(s.jobs).s, s.jobs == 1 ? "" : "s", fmt_hours_said(s.loss).s);
	if (known_of(&s) > 0)
		put_not_known(g, &s);
	put(&g->p, "</div>\n");
}

void page_program(struct fleet_page *g, sqlite3_int64 id)
{
	sqlite3_stmt *row = ask(g, "SELECT name FROM names WHERE id=?1", id);
	const char *name = next(g, row) ? text_of(row, 0) : "";
	fleet_begin(g, basename_of(name), PAGE_PROGRAMS);
	put_masthead(g, id, name);
	sqlite3_finalize(row);
	put_weeks(g, id);
	put_changes(g, id);
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
	fleet_end(g);
}
