/* page_public.c - figures of a machine for anybody: no user, account, node or job is named, and each number is of at
 * least r->public_least users in one week (k-anonymity; Sweeney, IJUFKS 10, 2002). A program that fewer ran in a week
 * is among that week's others; if these were fewer, programs with least core-hours join them; a week that fewer had in
 * all is not there. A week stays as it was first written: what a record changed that came later would be the difference
 * between two pages, and one user's alone. So it waits for the end of the week behind it, when jobs that ran on have
 * left theirs. Where more users are wanted, weeks that were written for fewer are not there. */
#include "fleet/page.h"

#include <errno.h>
#include <stdio.h>

/* Programs are known without their directories, which may be somebody's home. In what follows %u is the least number of
 * users. */
#define CODE "replace(n.name, rtrim(n.name, replace(n.name, '/', '')), '')"
#define SUMS_OF_DAYS \
	"total(d.jobs) AS jobs, total(d.core_hours) AS core_hours, total(d.useful) AS useful, total(d.mpi) AS mpi," \
	" total(d.wait) AS wait, total(d.loss) AS loss, total(d.not_known) AS not_known"
#define OTHERS \
	" FROM public_days p LEFT JOIN public_cells c ON c.week=p.week AND c.code=p.code WHERE c.code IS NULL" \
	" GROUP BY p.week HAVING count(DISTINCT p.user)"

/* What is written is kept before it is shown, by one at a time. */
static const char make_cells[] =
	"COMMIT; BEGIN IMMEDIATE;"
	"DROP TABLE IF EXISTS temp.public_days; DROP TABLE IF EXISTS temp.public_cells;"
	"DROP VIEW IF EXISTS temp.public_sums;"
	"CREATE TEMP TABLE public_days AS SELECT d.day/7 AS week, " CODE " AS code, d.user AS user, " SUMS_OF_DAYS
	" FROM days d JOIN names n ON n.id=d.program WHERE d.jobs>0 AND d.day/7+1<(SELECT max(day)/7 FROM day_sums)"
	" AND d.day/7 NOT IN (SELECT week FROM public_weeks) GROUP BY 1, 2, 3;"
	"CREATE TEMP TABLE public_cells AS SELECT week, code, total(core_hours) AS hours FROM public_days"
	" WHERE code<>'' GROUP BY 1, 2 HAVING count(*)>=%u;";

/* One a week joins the others, where these are too few. */
static const char join_others[] =
	"DELETE FROM public_cells WHERE rowid IN (SELECT rowid FROM (SELECT c.rowid AS rowid, min(c.hours) FROM"
	" public_cells c WHERE c.week IN (SELECT p.week" OTHERS "<%u) GROUP BY c.week));";

static const char keep_sums[] =
	"INSERT INTO public_weeks SELECT d.week, ifnull(c.code, ''), %u, " SUMS_OF_DAYS
	" FROM public_days d LEFT JOIN public_cells c ON c.week=d.week AND c.code=d.code WHERE c.code IS NOT NULL"
	" OR d.week IN (SELECT p.week" OTHERS ">=%u) GROUP BY 1, 2";

static const char show_sums[] =
	"CREATE TEMP VIEW public_sums AS SELECT * FROM public_weeks WHERE least>=%u; COMMIT; BEGIN";

static int run(struct site *s, const char *sql)
{
	unsigned k = s->r->public_least;
	char text[1600];
	if (snprintf(text, sizeof(text), sql, k, k) >= (int)sizeof(text))
		return fail(s->e, -E2BIG, "too long a question");
	return fleet_run(s->f, text, s->e);
}

int public_begin(struct site *s)
{
	int rc = run(s, make_cells);
	do
		rc = rc == 0 ? run(s, join_others) : rc;
	while (rc == 0 && sqlite3_changes(s->f->db) > 0);
	rc = rc == 0 ? run(s, keep_sums) : rc;
	return rc == 0 ? run(s, show_sums) : rc;
}

const char public_figures[] =
	"SELECT date(week*7*86400, 'unixepoch') AS week, code AS program, CAST(jobs AS INTEGER) AS jobs, core_hours, "
	"useful, mpi, wait AS waiting,"
	" loss AS lost, not_known FROM public_sums ORDER BY week, program";

/* ---- the page ---- */

static struct sums all_of_it(struct fleet_page *g)
{
	struct sums s = {0};
	sqlite3_stmt *row = ask(g, "SELECT " SUMS ", min(week)*7, max(week)*7+6 FROM public_sums", 0);
	if (next(g, row)) {
		s = sums_of(row, 0);
		g->site->first_day = sqlite3_column_double(row, 7);
		g->site->last_day = sqlite3_column_double(row, 8);
	}
	sqlite3_finalize(row);
	return s;
}

static void put_masthead(struct fleet_page *g, const struct sums *s)
{
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet</p>\n<h1>");
	if (known_of(s) > 0)
		put(&g->p, "Of %s core-hours %s were useful; MPI took %s, waiting was %s.</h1>\n",
		    fmt_hours_said(known_of(s)).s, fmt_share(share_of(s->useful, s)).s,
		    fmt_share(share_of(s->mpi + s->wait, s)).s, fmt_share(share_of(s->wait, s)).s);
	else if (s->jobs > 0)
		put(&g->p, "How the %s core-hours were spent is not known.</h1>\n", fmt_hours_said(s->hours).s);
	else
		put(&g->p, "There are too few users for figures that name nobody.</h1>\n");
	put(&g->p,
	    "<p class=\"cause\">Each number is of at least %u users in one week. Programs that fewer ran are among the "
	    "others of their week; weeks that fewer had are left out. A week is there "
	    "when the next one has ended, and stays as it was written.</p>\n",
	    g->site->r->public_least);
	if (known_of(s) > 0)
		put_not_known(g, s);
	put(&g->p, "</div>\n");
}

static void put_by_week(struct fleet_page *g)
{
	column_list weeks = {0};
	sqlite3_stmt *row = ask(g, "SELECT week*7, " SUMS " FROM public_sums GROUP BY week ORDER BY week", 0);
	while (next(g, row))
		if (vec_push(&weeks, (struct column){sqlite3_column_double(row, 0), sums_of(row, 1)}) < 0)
			break;
	sqlite3_finalize(row);
	section_begin(g, "trend", "Over time", "Core-hours of each week, by the day on which a job began.");
	put_columns(g, &weeks, "Core-hours by week:", 7);
	section_end(g);
	vec_done(&weeks);
}

void page_public(struct fleet_page *g)
{
	fleet_begin(g, "Figures", PAGE_OTHER);
	struct sums s = all_of_it(g);
	put_masthead(g, &s);
	if (s.jobs > 0) {
		put_by_week(g);
		section_begin(g, "programs", "Programs", "Those that had most core-hours first.");
		put_groups(g,
			   &(struct group_table){
				   .what = "program", .unlinked = true, .sortable = true, .not_known = s.not_known > 0},
			   ask(g,
			       "SELECT 0, CASE code WHEN '' THEN 'all others' ELSE code END, total(jobs), "
			       "total(core_hours) AS hours, total(useful), total(mpi), total(wait), total(loss), "
			       "total(not_known)"
			       " FROM public_sums GROUP BY code ORDER BY hours DESC",
			       0));
		put_data_links(g, "figures");
		section_end(g);
	}
	fleet_end(g);
}
