/* page_overview.c - what MPI costs the whole machine. */
#include "fleet/page.h"

#include "reports/html/html.h"

#define COLUMNS_MOST 130
#define CAUSES_SHOWN 12
#define IDLE_SAID 0.001 /* of the core-hours: less is not worth words */

static void put_figure(struct fleet_page *g, struct fmt value, const char *what)
{
	put(&g->p, "<div><dt>%s</dt><dd>%s</dd></div>\n", what, value.s);
}

static void put_cause_of_most(struct fleet_page *g, const struct sums *s)
{
	sqlite3_stmt *row =
		ask(g,
		    "SELECT n.name, total(c.loss) AS loss, total(c.jobs) FROM causes c JOIN names n ON n.id=c.issue"
		    " WHERE c.issue>0 GROUP BY c.issue ORDER BY loss DESC LIMIT 1",
		    0);
	if (next(g, row) && sqlite3_column_double(row, 1) > 0) {
		put(&g->p, "<p class=\"cause\">Main cause: ");
		put_cause(g, text_of(row, 0));
		put(&g->p, ". It cost %s core-hours in %s job%s, %s of all there were.</p>\n",
		    fmt_hours_said(sqlite3_column_double(row, 1)).s, fmt_count(sqlite3_column_double(row, 2)).s,
		    sqlite3_column_double(row, 2) == 1 ? "" : "s",
		    fmt_share(sqlite3_column_double(row, 1) / fmax(s->hours, 1e-9)).s);
	}
	sqlite3_finalize(row);
}

/* What needs somebody: slow nodes, programs that became slower. */
static void put_alarms(struct fleet_page *g)
{
	double slow = ask_number(g, "SELECT count(*) FROM node_effects WHERE suspected", 0);
	double worse = ask_number(g,
				  "SELECT count(DISTINCT c.program) FROM changes c JOIN names n ON n.id=c.program "
				  "WHERE c.change<0 AND n.kind=4",
				  0);
	double since = ask_number(g,
				  "SELECT total(c.hours_since) FROM changes c JOIN names n ON n.id=c.program WHERE "
				  "c.change<0 AND n.kind=4",
				  0);
	if (slow > 0)
		put(&g->p, "<p class=\"cause\"><a href=\"nodes.html\">%s node%s</a> %s suspected of being slow.</p>\n",
		    fmt_count(slow).s, slow == 1 ? "" : "s", slow == 1 ? "is" : "are");
	if (worse > 0)
		put(&g->p,
		    "<p class=\"cause\"><a href=\"#changes\">%s program%s</a> became less efficient; since then that "
		    "cost %s "
		    "core-hours.</p>\n",
		    fmt_count(worse).s, worse == 1 ? "" : "s", fmt_hours_said(since).s);
	put_least_useful(g);
}

/* What is in no number here, because its times cannot be. */
static void put_set_aside(struct fleet_page *g)
{
	double n = ask_number(g, "SELECT count(*) FROM set_aside", 0);
	if (n > 0)
		put(&g->p,
		    "<p class=\"cause\">%s record%s set aside: %s times cannot be (<a href=\"set-aside.csv\">CSV</a>, "
		    "<a href=\"set-aside.json\">JSON</a>).</p>\n",
		    fmt_count(n).s, n == 1 ? " is" : "s are", n == 1 ? "its" : "their");
}

static double hung_hours(struct fleet_page *g)
{
	return ask_number(g, "SELECT total(hung) FROM outcomes", 0);
}

/* How the jobs ended, and what of their time passed when nobody advanced any more. */
static void put_outcomes(struct fleet_page *g)
{
	sqlite3_stmt *row =
		ask(g,
		    "SELECT outcome, total(jobs) AS n, total(core_hours) AS hours, total(hung) FROM outcomes"
		    " GROUP BY outcome HAVING n>0 ORDER BY hours DESC",
		    0);
	section_begin(
		g, "outcomes", "How they ended",
		"As Slurm or who ran the launcher said, else as the ranks ended. Hung are the core-hours behind the "
		"last moment in "
		"which any rank advanced.");
	put(&g->p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">outcome</th><th scope=\"col\" "
	    "class=\"n\">core-hours</th><th scope=\"col\" class=\"n\">hung</th><th scope=\"col\" "
	    "class=\"n\">jobs</th></tr></thead><tbody>\n");
	while (next(g, row)) {
		put(&g->p, "<tr><th scope=\"row\">");
		put_words(&g->p, text_of(row, 0));
		put(&g->p, "</th>");
		put_cell(g, fmt_hours(sqlite3_column_double(row, 2)), sqlite3_column_double(row, 2));
		put_cell(g, fmt_hours(sqlite3_column_double(row, 3)), sqlite3_column_double(row, 3));
		put_cell(g, fmt_count(sqlite3_column_double(row, 1)), sqlite3_column_double(row, 1));
		put(&g->p, "</tr>\n");
	}
	put(&g->p, "</tbody></table></div>\n");
	section_end(g);
	sqlite3_finalize(row);
}

/* All shares are of the hours whose use is known. */
static void put_headline(struct fleet_page *g, const struct sums *s)
{
	double known = known_of(s), idle = known - s->useful - s->mpi - s->wait, hung = hung_hours(g);
	if (known <= 0) {
		if (s->hours > 0)
			put(&g->p, "How the %s core-hours were spent is not known.", fmt_hours_said(s->hours).s);
		else
			put(&g->p, "No jobs yet.");
		return;
	}
	put(&g->p, "MPI took %s of %s core-hours; %s were spent waiting for others",
	    fmt_share(share_of(s->mpi + s->wait, s)).s, fmt_hours_said(known).s, fmt_share(share_of(s->wait, s)).s);
	if (hung > 0)
		put(&g->p, ", %s of them hung", fmt_share(share_of(hung, s)).s);
	if (idle > IDLE_SAID * known)
		put(&g->p, "; %s were allocated without a rank", fmt_share(share_of(idle, s)).s);
	put(&g->p, ".");
}

static void put_masthead(struct fleet_page *g)
{
	struct sums s = sums_of_all(g);
	put(&g->p, "<div class=\"masthead\">\n<p class=\"kicker\">mpitrace fleet");
	if (s.jobs > 0)
		put(&g->p, " \xc2\xb7 <b>%s</b> to <b>%s</b>", fmt_day(g->site->first_day).s,
		    fmt_day(g->site->last_day).s);
	put(&g->p, "</p>\n<h1>");
	put_headline(g, &s);
	put(&g->p, "</h1>\n");
	if (known_of(&s) > 0)
		put_not_known(g, &s);
	put_cause_of_most(g, &s);
	put_alarms(g);
	put_set_aside(g);
	put(&g->p, "<dl class=\"figures\">\n");
	put_figure(g, fmt_count(s.jobs), "steps of jobs");
	put_figure(g, fmt_hours_said(s.hours), "core-hours");
	if (s.not_known > 0)
		put_figure(g, fmt_hours_said(s.not_known), "core-hours whose use is not known");
	put_figure(g, fmt_share(share_of(s.useful, &s)),
		   s.not_known > 0 ? "of the others useful: outside MPI" : "of them useful: outside MPI");
	put_figure(g, fmt_hours_said(s.loss), "core-hours lost to the first issue of each job");
	put(&g->p, "</dl>\n</div>\n");
}

static void put_trend(struct fleet_page *g)
{
	column_list c = {0};
	double days = g->site->last_day - g->site->first_day + 1;
	int each = days > COLUMNS_MOST ? 7 : 1;
	sqlite3_stmt *row = ask(g,
				"SELECT min(day), " SUMS " FROM day_sums GROUP BY"
				" (day-(SELECT min(day) FROM day_sums))/?1 ORDER BY 1",
				each);
	while (next(g, row))
		if (vec_push(&c, (struct column){sqlite3_column_double(row, 0), sums_of(row, 1)}) < 0)
			break;
	sqlite3_finalize(row);
	section_begin(g, "trend", "Over time",
		      "All core-hours of traced jobs, on the day on which a job began. What is orange and hatched was "
		      "paid for and spent "
		      "waiting.");
	put_columns(g, &c, each == 7 ? "Core-hours by week:" : "Core-hours by day:", each);
	section_end(g);
	vec_done(&c);
}

static void put_causes(struct fleet_page *g)
{
	double most = 0;
	sqlite3_stmt *row =
		ask(g,
		    "SELECT n.name, total(c.loss) AS loss, total(c.jobs) FROM causes c JOIN names n ON n.id=c.issue"
		    " WHERE c.issue>0 GROUP BY c.issue HAVING loss>0 ORDER BY loss DESC",
		    0);
	section_begin(g, "causes", "Lost to what",
		      "The first issue of each job, as its own report has it, and what that cost: of several issues of "
		      "a job only one is "
		      "counted, because they overlap.");
	put(&g->p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">cause</th><th scope=\"col\" "
	    "class=\"pic\">share</th><th "
	    "scope=\"col\" "
	    "class=\"n\">core-hours lost</th><th scope=\"col\" class=\"n\">jobs</th></tr></thead><tbody>\n");
	for (int n = 0; n < CAUSES_SHOWN && next(g, row); n++) {
		double loss = sqlite3_column_double(row, 1);
		most = n == 0 ? loss : most;
		put(&g->p, "<tr><th scope=\"row\">");
		put_cause(g, text_of(row, 0));
		put(&g->p, "</th><td class=\"wide\">");
		put_bar(&g->p, &(struct part){"wait", loss}, 1, most);
		put(&g->p, "</td>");
		put_cell(g, fmt_hours(loss), loss);
		put_cell(g, fmt_count(sqlite3_column_double(row, 2)), sqlite3_column_double(row, 2));
		put(&g->p, "</tr>\n");
	}
	put(&g->p, "</tbody></table></div>\n");
	put_data_links(g, "causes");
	section_end(g);
	sqlite3_finalize(row);
}

static void put_top_programs(struct fleet_page *g)
{
	section_begin(g, "top", "Where to begin",
		      "Programs whose jobs lost most. <a href=\"programs.html\">All programs</a>");
	put_groups(
		g,
		&(struct group_table){.what = "program", .sortable = true, .not_known = sums_of_all(g).not_known > 0},
		ask(g,
		    "SELECT u.program, n.name, " SUMS " FROM user_programs u JOIN names n ON n.id=u.program GROUP BY"
		    " u.program ORDER BY total(loss) DESC LIMIT 10",
		    0));
	section_end(g);
}

void page_overview(struct fleet_page *g)
{
	fleet_begin(g, "Overview", PAGE_OVERVIEW);
	put_masthead(g);
	put_trend(g);
	if (sums_of_all(g).jobs > 0)
		put_outcomes(g);
	if (sums_of_all(g).loss > 0)
		put_causes(g);
	put_top_programs(g);
	put_changes(g, 0);
	fleet_end(g);
}
