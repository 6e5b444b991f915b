/* page_groups.c - groups of jobs: one table for programs, users and accounts, and the frame of a group's own page. */
#include "fleet/page.h"

static struct sums total_of(struct fleet_page *g, const char *sql, sqlite3_int64 id)
{
	struct sums s = {0};
	sqlite3_stmt *row = ask(g, sql, id);
	if (next(g, row))
		s = sums_of(row, 0);
	sqlite3_finalize(row);
	return s;
}

struct sums sums_of_all(struct fleet_page *g)
{
	return total_of(g, "SELECT " SUMS " FROM day_sums", 0);
}

struct sums sums_of_program(struct fleet_page *g, sqlite3_int64 id)
{
	return total_of(g, "SELECT " SUMS " FROM user_programs WHERE program=?1", id);
}

struct sums sums_of_user(struct fleet_page *g, sqlite3_int64 id)
{
	return total_of(g, "SELECT " SUMS " FROM user_programs WHERE user=?1", id);
}

struct sums sums_of_account(struct fleet_page *g, sqlite3_int64 id)
{
	return total_of(g, "SELECT " SUMS " FROM weeks WHERE name=?1", id);
}

void put_not_known(struct fleet_page *g, const struct sums *s)
{
	if (s->not_known > 0 && known_of(s) > 0)
		put(&g->p,
		    "<p class=\"cause\">How %s of %s core-hours were spent is not known; shares are of the other "
		    "%s.</p>\n",
		    fmt_hours_said(s->not_known).s, fmt_hours_said(s->hours).s, fmt_hours_said(known_of(s)).s);
	else if (s->not_known > 0)
		put(&g->p, "<p class=\"cause\">How the %s core-hours were spent is not known.</p>\n",
		    fmt_hours_said(s->hours).s);
}

void put_spent(struct fleet_page *g, const struct sums *s)
{
	put(&g->p, "<p class=\"cause\">%s job%s", fmt_count(s->jobs).s, s->jobs == 1 ? "" : "s");
	if (known_of(s) > 0)
		put(&g->p, "; MPI took %s of the time, waiting %s", fmt_share(share_of(s->mpi + s->wait, s)).s,
		    fmt_share(share_of(s->wait, s)).s);
	put(&g->p, ".</p>\n");
	put_not_known(g, s);
}

/* ---- weeks ---- */

static void take_weeks(struct fleet_page *g, sqlite3_int64 id, column_list *c)
{
	sqlite3_stmt *row = ask(g,
				"SELECT week*7, jobs, core_hours, useful, mpi, wait, loss, not_known FROM weeks WHERE "
				"name=?1 ORDER BY 1",
				id);
	while (next(g, row))
		if (vec_push(c, (struct column){sqlite3_column_double(row, 0), sums_of(row, 1)}) < 0)
			break;
	sqlite3_finalize(row);
}

void put_weeks(struct fleet_page *g, sqlite3_int64 id)
{
	column_list weeks = {0};
	take_weeks(g, id, &weeks);
	section_begin(g, "trend", "Over time",
		      "Core-hours of each week, by the day on which a job began. What is orange and hatched was paid "
		      "for and spent waiting.");
	put_columns(g, &weeks, "Core-hours by week:", 7);
	section_end(g);
	vec_done(&weeks);
}

/* ---- the table ---- */

static void put_head(struct fleet_page *g, const struct group_table *t)
{
	put(&g->p,
	    "<div class=\"scroll\" tabindex=\"0\"><table%s><thead><tr><th scope=\"col\">%s</th><th scope=\"col\" "
	    "class=\"n\">jobs</th><th scope=\"col\" class=\"n\">core-hours</th><th scope=\"col\" class=\"pic\">how "
	    "they were spent</th><th scope=\"col\" class=\"n\">useful</th><th scope=\"col\" class=\"n\">waiting</th>%s",
	    t->sortable ? " class=\"sortable\"" : "", t->what,
	    t->not_known ? "<th scope=\"col\" class=\"n\">core-hours not known</th>" : "");
	if (t->trend)
		put(&g->p, "<th scope=\"col\" class=\"pic\">useful by week</th>");
	put(&g->p, "<th scope=\"col\" class=\"n\">core-hours lost</th>");
	if (t->versions)
		put(&g->p, "<th scope=\"col\" class=\"n\">versions</th>");
	put(&g->p, "</tr></thead><tbody>\n");
}

static void put_trend(struct fleet_page *g, sqlite3_int64 id)
{
	column_list weeks = {0};
	take_weeks(g, id, &weeks);
	put(&g->p, "<td>");
	put_spark(g, &weeks, g->site->first_day, g->site->last_day);
	put(&g->p, "</td>");
	vec_done(&weeks);
}

static void put_group(struct fleet_page *g, const struct group_table *t, sqlite3_stmt *row)
{
	struct sums s = sums_of(row, 2);
	sqlite3_int64 id = sqlite3_column_int64(row, 0);
	put(&g->p, "<tr><th scope=\"row\" class=\"name\">");
	put_named(g, t->what, t->unlinked ? 0 : id, text_of(row, 1));
	put(&g->p, "</th>");
	put_cell(g, fmt_count(s.jobs), s.jobs);
	put_cell(g, fmt_hours(s.hours), s.hours);
	put(&g->p, "<td class=\"wide\">");
	put_hours_bar(g, &s, t->most > 0 ? t->most : s.hours);
	put(&g->p, "</td>");
	put_cell(g, fmt_share(share_of(s.useful, &s)), share_of(s.useful, &s));
	put_cell(g, fmt_share(share_of(s.wait, &s)), share_of(s.wait, &s));
	if (t->not_known)
		put_cell(g, fmt_hours(s.not_known), s.not_known);
	if (t->trend)
		put_trend(g, id);
	put_cell(g, fmt_hours(s.loss), s.loss);
	if (t->versions)
		put_cell(g, fmt_count(sqlite3_column_double(row, 9)), sqlite3_column_double(row, 9));
	put(&g->p, "</tr>\n");
}

void put_groups(struct fleet_page *g, const struct group_table *t, sqlite3_stmt *rows)
{
	bool any = false;
	for (; next(g, rows); any = true) {
		if (!any)
			put_head(g, t);
		put_group(g, t, rows);
	}
	if (any) {
		put(&g->p, "</tbody></table></div>\n");
		put_hours_legend(g, t->not_known);
	} else {
		put(&g->p, "<p>None yet.</p>\n");
	}
	sqlite3_finalize(rows);
}
