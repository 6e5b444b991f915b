/* page.c - see page.h. */
#include "base/path.h"
#include "base/sort.h"
#include "fleet/assets.h"
#include "fleet/page.h"
#include "fleet/retention.h"
#include "fleet/samples.h"
#include "format/issues.h"

#include "reports/html/html.h"
#include "reports/html/style.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *file, *title;
} tabs[] = {{"index.html", "Overview"},		  {"monday.html", "Monday"}, {"programs.html", "Programs"},
	    {"users.html", "Users and accounts"}, {"nodes.html", "Nodes"},   {"jobs.html", "Jobs"}};

void fleet_begin(struct fleet_page *g, const char *title, enum page_of current)
{
	struct page *p = &g->p;
	put(p,
	    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s' "
	    "'sha256-%s'; "
	    "script-src 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	    "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" "
	    "content=\"no-referrer\">\n<title>",
	    html_style_sha256, fleet_style_sha256, fleet_script_sha256);
	put_text(p, title, NAME_CHARS);
	put(p, " \xc2\xb7 mpitrace fleet</title>\n<style>%s</style>\n<style>%s</style>\n</head>\n<body>\n", html_style,
	    fleet_style);
	put(p, "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>"
	       "<pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
	       "patternTransform=\"rotate(45)\"><rect class=\"hatch-back\" width=\"5\" height=\"5\"/>"
	       "<rect class=\"hatch-line\" width=\"1.6\" height=\"5\"/></pattern></defs></svg>\n"
	       "<nav class=\"pages\" aria-label=\"Pages\"><ul>\n");
	bool all = g->site->user == 0 && g->site->r->public_least == 0;
	for (size_t i = 0; i < sizeof(tabs) / sizeof(tabs[0]) && all; i++)
		put(p, "<li><a href=\"%s\"%s>%s</a></li>\n", tabs[i].file,
		    i == (size_t)current ? " aria-current=\"page\"" : "", tabs[i].title);
	if (g->site->user != 0)
		put(p, "<li><a href=\"index.html\"%s>Your jobs</a></li>\n",
		    current == PAGE_USERS ? " aria-current=\"page\"" : "");
	put(p, "</ul></nav>\n<main>\n");
}

void fleet_end(struct fleet_page *g)
{
	put(&g->p,
	    "</main>\n<footer>Made by mpitrace. A core-hour is an allocated processor for an hour, or, where they are "
	    "not known, a rank. Times are "
	    "UTC.</footer>\n<script>%s</script>\n</body>\n</html>\n",
	    fleet_script);
}

static void begin_section(struct fleet_page *g, const char *class, const char *id, const char *title, const char *how)
{
	put(&g->p,
	    "\n<section id=\"%s\"%s aria-labelledby=\"%s-h\">\n<header><h2 id=\"%s-h\">%s</h2>\n<p>%s</p></header>\n"
	    "<div class=\"body\">\n",
	    id, class, id, id, title, how);
}

void section_begin(struct fleet_page *g, const char *id, const char *title, const char *how)
{
	begin_section(g, "", id, title, how);
}

void section_begin_wide(struct fleet_page *g, const char *id, const char *title, const char *how)
{
	begin_section(g, " class=\"all-wide\"", id, title, how);
}

void section_end(struct fleet_page *g)
{
	put(&g->p, "</div>\n</section>\n");
}

void put_data_links(struct fleet_page *g, const char *name)
{
	put(&g->p,
	    "<p class=\"data\">All of it as data: <a href=\"%s.csv\">CSV</a>, <a href=\"%s.json\">JSON</a></p>\n", name,
	    name);
}

/* ---- questions ---- */

sqlite3_stmt *ask(struct fleet_page *g, const char *sql, sqlite3_int64 id)
{
	sqlite3_stmt *row = g->rc == 0 ? fleet_prepare(g->site->f, sql, g->site->e) : NULL;
	if (row == NULL && g->rc == 0)
		g->rc = -EIO;
	if (row != NULL && sqlite3_bind_parameter_count(row) > 0)
		sqlite3_bind_int64(row, 1, id);
	if (row != NULL && sqlite3_bind_parameter_count(row) > 1)
		sqlite3_bind_int(row, 2, g->site->r->user != NULL ? (int)g->site->r->jobs : USER_JOBS);
	return row;
}

bool next(struct fleet_page *g, sqlite3_stmt *row)
{
	int got = row != NULL ? sqlite3_step(row) : SQLITE_DONE;
	if (got != SQLITE_ROW && got != SQLITE_DONE)
		g->rc = fleet_fail(g->site->f, g->site->e);
	return got == SQLITE_ROW;
}

double ask_number(struct fleet_page *g, const char *sql, double fallback)
{
	double value = fallback;
	if (g->rc == 0)
		g->rc = fleet_number(g->site->f, sql, fallback, &value, g->site->e);
	return value;
}

struct sums sums_of(sqlite3_stmt *row, int first)
{
	struct sums s = {sqlite3_column_double(row, first),	sqlite3_column_double(row, first + 1),
			 sqlite3_column_double(row, first + 2), sqlite3_column_double(row, first + 3),
			 sqlite3_column_double(row, first + 4), sqlite3_column_double(row, first + 5),
			 sqlite3_column_double(row, first + 6)};
	if (s.not_known < FLEET_ROUNDED * s.hours)
		s.not_known = 0;
	return s;
}

const char *text_of(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	return text != NULL ? text : "";
}

/* ---- numbers ---- */

struct fmt fmt_hours(double hours)
{
	struct fmt f;
	if (isnan(hours) || fabs(hours) >= 99.5)
		return fmt_count(round(hours));
	snprintf(f.s, sizeof(f.s), fabs(hours) >= 9.95 ? "%.0f" : fabs(hours) >= 0.095 ? "%.1f" : "%.2g", hours);
	return f;
}

struct fmt fmt_hours_said(double hours)
{
	struct fmt f;
	if (isnan(hours) || hours < 999950)
		return fmt_hours(hours);
	snprintf(f.s, sizeof(f.s), "%.3g million", hours / 1e6);
	return f;
}

static struct fmt moment(double seconds, const char *form)
{
	struct fmt f = {"\xe2\x80\x93"};
	time_t t = (time_t)seconds;
	struct tm tm;
	if (gmtime_r(&t, &tm) != NULL)
		strftime(f.s, sizeof(f.s), form, &tm);
	return f;
}

struct fmt fmt_day(double day)
{
	return moment(day * FLEET_SECONDS_PER_DAY, "%Y-%m-%d");
}

struct fmt fmt_moment(double start)
{
	return moment(start, "%Y-%m-%d %H:%M");
}

void put_cell(struct fleet_page *g, struct fmt shown, double value)
{
	if (isfinite(value))
		put(&g->p, "<td class=\"n\" data-v=\"%.9g\">%s</td>", value, shown.s);
	else
		put(&g->p, "<td class=\"n\" data-v=\"\">%s</td>", shown.s);
}

void put_hours_bar(struct fleet_page *g, const struct sums *s, double full)
{
	const struct part parts[] = {
		{"useful", s->useful}, {"mpi", s->mpi}, {"wait", s->wait}, {"not-known", s->not_known}};
	put_bar(&g->p, parts, sizeof(parts) / sizeof(parts[0]), full);
}

void put_hours_legend(struct fleet_page *g, bool not_known)
{
	put_time_legend(&g->p);
	if (not_known)
		put(&g->p, "<p class=\"legend\"><span><svg width=\"14\" height=\"12\" aria-hidden=\"true\"><rect "
			   "class=\"not-known\" width=\"14\" height=\"12\"/></svg> not known</span></p>\n");
}

/* ---- names ---- */

void put_cause(struct fleet_page *g, const char *issue)
{
	const char *phrase = issue_phrase(issue);
	if (*issue == '\0')
		put(&g->p, "nothing to fix");
	else if (phrase != NULL)
		put(&g->p, "%s", phrase);
	else
		put_words(&g->p, issue);
}

void put_program(struct fleet_page *g, const char *program)
{
	if (*program == '\0') {
		put(&g->p, "not named");
		return;
	}
	put(&g->p, "<span title=\"");
	put_text(&g->p, program, TITLE_CHARS);
	put(&g->p, "\">");
	put_text(&g->p, basename_of(program), NAME_CHARS);
	put(&g->p, "</span>");
}

void put_named(struct fleet_page *g, const char *kind, sqlite3_int64 id, const char *name)
{
	bool program = strcmp(kind, "program") == 0;
	if (g->site->user != 0) /* other pages have what is not theirs */
		id = 0;
	if (id > 0)
		put(&g->p, "<a href=\"%s-%lld.html\">", kind, (long long)id);
	if (program)
		put_program(g, name);
	else
		put_text(&g->p, *name != '\0' ? name : "not named", NAME_CHARS);
	put(&g->p, id > 0 ? "</a>" : "");
}

void put_filter(struct fleet_page *g)
{
	put(&g->p, "<div class=\"tools\" id=\"tools\" hidden><label>Filter: words that a row must have<input "
		   "id=\"filter\" type=\"search\" autocomplete=\"off\"></label><span id=\"told\" "
		   "role=\"status\"></span></div>\n");
}

void put_version(struct fleet_page *g, const char *build, const char *mpi)
{
	put_text(&g->p, *mpi != '\0' ? mpi : "MPI not known", 40);
	if (*build != '\0') {
		put(&g->p, ", build <code title=\"");
		put_text(&g->p, build, TITLE_CHARS);
		put(&g->p, "\">");
		put_text_part(&g->p, build, strnlen(build, 8));
		put(&g->p, "</code>");
	}
}

/* ---- jobs ---- */

static bool is_linked(struct site *s, sqlite3_int64 id, bool link_it)
{
	if (s->live)
		return true;
	if (s->sealed)
		return s->linked.n > 0 && bsearch(&id, s->linked.at, s->linked.n, sizeof(id), sort_by_i64) != NULL;
	return link_it && vec_push(&s->linked, id) == 0;
}

static void put_job_name(struct fleet_page *g, sqlite3_int64 id, const char *key, const char *job, bool link_it)
{
	bool linked = is_linked(g->site, id, link_it);
	if (linked)
		put(&g->p, "<a href=\"job-%lld.html\">", (long long)id);
	put_text(&g->p, *job != '\0' ? job : key, 40);
	put(&g->p, linked ? "</a>" : "");
}

void put_job_named(struct fleet_page *g, sqlite3_int64 id, const char *key, const char *job)
{
	put_job_name(g, id, key, job, true);
}

/* Is it known how its time was spent? */
static bool put_job(struct fleet_page *g, sqlite3_stmt *r, bool link_it)
{
	sqlite3_int64 id = sqlite3_column_int64(r, 0);
	double hours = sqlite3_column_double(r, 9), useful = sqlite3_column_double(r, 10),
	       wait = sqlite3_column_double(r, 11);
	double parallel = sqlite3_column_type(r, 12) == SQLITE_NULL ? NAN : sqlite3_column_double(r, 12);
	put(&g->p, "<tr><th scope=\"row\">");
	put_job_name(g, id, text_of(r, 1), text_of(r, 2), link_it);
	put(&g->p, "</th><td class=\"keep\">%s</td><td class=\"who\">", fmt_moment(sqlite3_column_double(r, 7)).s);
	put_named(g, "user", sqlite3_column_int64(r, 16), text_of(r, 3));
	put(&g->p, "</td><td class=\"who\">");
	put_named(g, "program", sqlite3_column_int64(r, 17), text_of(r, 4));
	put(&g->p, "%s</td>", sqlite3_column_int(r, 15) != 0 ? "" : " <small class=\"soft\">partial</small>");
	put_cell(g, fmt_count(sqlite3_column_double(r, 5)), sqlite3_column_double(r, 5));
	put_cell(g, fmt_count(sqlite3_column_double(r, 6)), sqlite3_column_double(r, 6));
	put_cell(g, fmt_hours(hours), hours);
	put(&g->p, "<td class=\"wide\">");
	bool known = sqlite3_column_type(r, 10) != SQLITE_NULL;
	double ran = hours > 0 ? sqlite3_column_double(r, 18) / hours : 1;
	put_hours_bar(g,
		      &(struct sums){.useful = useful,
				     .mpi = known ? ran - useful - wait : 0,
				     .wait = wait,
				     .not_known = known ? 0 : 1 - wait},
		      1);
	put(&g->p, "</td>");
	put_cell(g, fmt_ratio(parallel), parallel);
	put_cell(g, fmt_hours(sqlite3_column_double(r, 14)), sqlite3_column_double(r, 14));
	put(&g->p, "<td>");
	put_cause(g, text_of(r, 13));
	put(&g->p, "</td></tr>\n");
	return known;
}

void put_kept_from(struct fleet_page *g)
{
	int64_t from = 0;
	if (g->rc == 0)
		g->rc = fleet_kept_from(g->site->f, &from, g->site->e);
	struct fmt day = fmt_day((double)from / FLEET_SECONDS_PER_DAY);
	if (from == 0)
		return;
	put(&g->p, "<p class=\"soft\">Single jobs are kept from %s on; all sums are of the time before, too.", day.s);
	if (g->site->user == 0)
		put(&g->p,
		    " A PostgreSQL to which records are published has them all: <code>mpitrace fleet query \"select * "
		    "from "
		    "job_list where start &lt; '%s'\"</code>.",
		    day.s);
	put(&g->p, "</p>\n");
}

void put_basis(struct fleet_page *g)
{
	sqlite3_stmt *row =
		ask(g,
		    "SELECT total(jobs), total(CASE WHEN day>(SELECT max(day) FROM samples)-?1 THEN taken END) FROM "
		    "samples",
		    SAMPLE_DAYS);
	bool some = next(g, row);
	double all = some ? sqlite3_column_double(row, 0) : 0, taken = some ? sqlite3_column_double(row, 1) : 0;
	sqlite3_finalize(row);
	put(&g->p, "<p class=\"soft\">Judged by %s of %s jobs: those of the last %u days", fmt_count(taken).s,
	    fmt_count(all).s, SAMPLE_DAYS);
	if (taken < all)
		put(&g->p,
		    ", and of a day with more than %s, or with more than %s nodes in all, so many, in turn from each "
		    "user of each "
		    "program",
		    fmt_count(SAMPLE_JOBS).s, fmt_count(SAMPLE_NODES).s);
	put(&g->p, ".</p>\n");
}

void put_jobs(struct fleet_page *g, sqlite3_stmt *rows, const char *caption, bool link_all)
{
	bool all_known = true;
	put_kept_from(g);
	put(&g->p,
	    "<div class=\"scroll\" tabindex=\"0\"><table class=\"jobs-table "
	    "sortable\"><caption>%s</caption>\n<thead><tr>"
	    "<th scope=\"col\">job</th><th scope=\"col\">began</th><th scope=\"col\">user</th><th "
	    "scope=\"col\">program</th>"
	    "<th scope=\"col\" class=\"n\">nodes</th><th scope=\"col\" class=\"n\">ranks</th>"
	    "<th scope=\"col\" class=\"n\">core-hours</th><th scope=\"col\" class=\"pic\">how they were spent</th>"
	    "<th scope=\"col\" class=\"n\">efficiency</th><th scope=\"col\" class=\"n\">core-hours lost</th>"
	    "<th scope=\"col\">lost to</th></tr></thead>\n<tbody>\n",
	    caption);
	while (next(g, rows))
		all_known &= put_job(g, rows, link_all);
	put(&g->p, "</tbody></table></div>\n");
	put_hours_legend(g, !all_known);
	sqlite3_finalize(rows);
}

double known_of(const struct sums *s)
{
	return s->hours > s->not_known * (1 + FLEET_ROUNDED) ? s->hours - s->not_known : 0;
}

double share_of(double part, const struct sums *s)
{
	return known_of(s) > 0 ? part / known_of(s) : NAN;
}
