/* page_links.c - the section of the page of nodes about switches: on which all jobs wait, and whose jobs wait beside
 * which program (fleet/links.h). */
#include "fleet/links.h"
#include "fleet/page.h"

#include "base/path.h"

static void put_since(struct fleet_page *g, sqlite3_stmt *row)
{
	double low = sqlite3_column_double(row, 13), high = sqlite3_column_double(row, 14);
	if (sqlite3_column_type(row, 12) == SQLITE_NULL) {
		put(&g->p, "<td data-v=\"0\"></td>");
		return;
	}
	put(&g->p, "<td data-v=\"%.0f\">%s", sqlite3_column_double(row, 12),
	    fmt_moment(sqlite3_column_double(row, 12)).s);
	if (low < high)
		put(&g->p, "<br><small class=\"soft\">%s to %s</small>", fmt_moment(low).s, fmt_moment(high).s);
	put(&g->p, "<br><small class=\"soft\">before: %.1f %%</small></td>", sqlite3_column_double(row, 15) * 100);
}

static void put_row(struct fleet_page *g, sqlite3_stmt *row)
{
	const char *at = text_of(row, 0);
	double effect = sqlite3_column_double(row, 5), hours = sqlite3_column_double(row, 9);
	put(&g->p, "<tr><th scope=\"row\">");
	if (*at != '\0') {
		put_text(&g->p, at, 60);
		put(&g->p, "</th><td>all</td><td></td><td>");
	} else {
		put(&g->p, "<span class=\"soft\">any</span></th><td>");
		put_named(g, "program", sqlite3_column_int64(row, 1), text_of(row, 2));
		put(&g->p, "</td><td>");
		put_named(g, "user", sqlite3_column_int64(row, 3), text_of(row, 4));
		put(&g->p, "</td><td>");
		put_named(g, "program", sqlite3_column_int64(row, 10), text_of(row, 11));
	}
	put(&g->p, "</td><td class=\"n\" data-v=\"%.6g\">%.1f %%</td>", effect, effect * 100);
	put_since(g, row);
	put(&g->p, "<td class=\"n\" data-v=\"%.0f\">%s / %s</td>", sqlite3_column_double(row, 6),
	    fmt_count(sqlite3_column_double(row, 6)).s, fmt_count(sqlite3_column_double(row, 7)).s);
	put_cell(g, fmt_count(sqlite3_column_double(row, 8)), sqlite3_column_double(row, 8));
	put_cell(g, fmt_hours(hours), hours);
	put(&g->p, "</tr>\n");
}

static void put_pair_of(struct fleet_page *g, sqlite3_stmt *row, int at)
{
	double in_mpi = sqlite3_column_double(row, at + 3);
	put(&g->p, "<td>");
	put_job_named(g, sqlite3_column_int64(row, at), text_of(row, at + 1), text_of(row, at + 2));
	put(&g->p, "</td><td class=\"n\" data-v=\"%.6g\">%.1f %%</td>", in_mpi, in_mpi * 100);
}

static void put_pair(struct fleet_page *g, sqlite3_stmt *row)
{
	put(&g->p, "<tr><th scope=\"row\">");
	put_text(&g->p, *text_of(row, 0) != '\0' ? text_of(row, 0) : basename_of(text_of(row, 2)), 60);
	put(&g->p, "</th><td class=\"keep\">%s</td><td>", fmt_moment(sqlite3_column_double(row, 5)).s);
	put_text(&g->p, text_of(row, 3), 60);
	put(&g->p, "</td><td>");
	put_text(&g->p, basename_of(text_of(row, 4)), 60);
	put(&g->p, "</td>");
	put_pair_of(g, row, 6);
	put_pair_of(g, row, 10);
	put(&g->p, "</tr>\n");
}

static void put_pairs(struct fleet_page *g)
{
	sqlite3_stmt *row =
		ask(g,
		    "WITH x AS (SELECT id, key, job, user, program, start,"
		    " 1-useful*core_hours/(core_hours-idle_core_hours) AS in_mpi FROM jobs)"
		    "SELECT l.switch, l.place, o.name, u.name, p.name, j.start, j.id, j.key, j.job, j.in_mpi,"
		    " k.id, k.key, k.job, k.in_mpi FROM link_jobs y JOIN links l ON l.place=y.place"
		    " JOIN x j ON j.id=y.job JOIN x k ON k.id=y.other JOIN names o ON o.id=l.other JOIN names"
		    " u ON u.id=j.user JOIN names p ON p.id=j.program ORDER BY l.place, y.at LIMIT 200",
		    0);
	put(&g->p,
	    "<details class=\"shows\"><summary>Jobs that show it</summary><div class=\"scroll\"><table><thead><tr><th "
	    "scope=\"col\">there, or beside</th><th scope=\"col\">began</th><th scope=\"col\">user</th><th "
	    "scope=\"col\">program</th><th scope=\"col\">job with it</th><th scope=\"col\" class=\"n\">in MPI</th><th "
	    "scope=\"col\">job without</th><th scope=\"col\" class=\"n\">in MPI</th></tr></thead><tbody>\n");
	while (next(g, row))
		put_pair(g, row);
	put(&g->p, "</tbody></table></div></details>\n");
	sqlite3_finalize(row);
}

void put_links(struct fleet_page *g)
{
	if (ask_number(g, "SELECT count(*) FROM links", 0) == 0)
		return;
	sqlite3_stmt *row =
		ask(g,
		    "SELECT l.switch, l.program, p.name, l.user, u.name, l.effect, l.jobs, l.jobs_without,"
		    " l.days, (SELECT total(hours) FROM link_days d WHERE d.place=l.place), l.other, o.name,"
		    " l.since, l.since_low, l.since_high, l.before"
		    " FROM links l JOIN names p ON p.id=l.program JOIN names u ON u.id=l.user JOIN names o"
		    " ON o.id=l.other ORDER BY l.place LIMIT 200",
		    0);
	section_begin_wide(
		g, "links", "Switches",
		"Jobs that spend more of their time in MPI there, or while another program has half of their time on a "
		"switch of theirs, than jobs of the same program, user and size in the same quarter of a day: of the "
		"last 56 days, or since it became so, the median difference. One row in a thousand is there by "
		"chance.");
	put(&g->p,
	    "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th scope=\"col\">switch</th><th "
	    "scope=\"col\">program</th><th scope=\"col\">user</th><th scope=\"col\">beside</th><th scope=\"col\" "
	    "class=\"n\">more of their time in MPI</th><th scope=\"col\">since</th><th scope=\"col\" class=\"n\">jobs "
	    "with / without</th><th "
	    "scope=\"col\" class=\"n\">days</th><th scope=\"col\" class=\"n\">core-hours, at "
	    "most</th></tr></thead><tbody>\n");
	while (next(g, row))
		put_row(g, row);
	put(&g->p, "</tbody></table></div>\n");
	put_pairs(g);
	section_end(g);
	sqlite3_finalize(row);
}
