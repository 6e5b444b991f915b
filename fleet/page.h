/* page.h - what pages of a fleet are written with. Names come from records, which anybody may have written: put_text()
 * only, as everywhere in reports/html/. */
#pragma once

#include "fleet/db.h"
#include "fleet/report.h"

#include "base/vec.h"
#include "reports/html/page.h"

#include <math.h>

#define NO_JOBS (-1) /* a lead who has none */

/* Everything of one report, or of one page that is asked for. */
struct site {
	struct fleet *f;
	const struct fleet_report *r;
	VEC(sqlite3_int64) linked; /* jobs that have a page of their own, ascending once `sealed` */
	bool sealed;
	bool live;		    /* each job has a page */
	sqlite3_int64 user;	    /* whose pages these are, which name nobody else; 0: all; NO_JOBS: theirs */
	VEC(sqlite3_int64) led;	    /* accounts whose pages and jobs this user may see too */
	double first_day, last_day; /* of all jobs, or theirs */
	struct error *e;
};

/* pages.c. site_begin: after f, r, e are set. -ESRCH: no such user. */
int site_begin(struct site *s);
void site_done(struct site *s);
/* As fleet_page(). */
int site_put(struct site *s, const char *name, FILE *out);
/* Pages and tables of which there is one each. */
int site_each_plain(struct site *s, int (*take)(struct site *s, const char *name));

#define USER_JOBS 10 /* on a user's page among others */

struct fleet_page {
	struct page p; /* first: put() and its kin take it */
	struct site *site;
	int rc; /* of the first question that failed */
};

/* ---- the frame ---- */

enum page_of { PAGE_OVERVIEW, PAGE_MONDAY, PAGE_PROGRAMS, PAGE_USERS, PAGE_NODES, PAGE_JOBS, PAGE_OTHER };

void fleet_begin(struct fleet_page *g, const char *title, enum page_of current);
void fleet_end(struct fleet_page *g);
void section_begin(struct fleet_page *g, const char *id, const char *title, const char *how);
/* The same without a margin: for tables that want all of the width. */
void section_begin_wide(struct fleet_page *g, const char *id, const char *title, const char *how);
void section_end(struct fleet_page *g);
/* The table's own data, beside the page. */
void put_data_links(struct fleet_page *g, const char *name);

/* ---- questions ---- */

/* Rows of sql, whose ?1 is id, and ?2 how many jobs a user's page has; g->rc tells. NULL: failed, or an earlier one
 * has. Finalize it. */
sqlite3_stmt *ask(struct fleet_page *g, const char *sql, sqlite3_int64 id);
/* True while there is a row. */
bool next(struct fleet_page *g, sqlite3_stmt *row);
/* The first column of the first row; fallback without one, or of NULL. */
double ask_number(struct fleet_page *g, const char *sql, double fallback);

/* Core-hours of a group of jobs. */
struct sums {
	double jobs, hours, useful, mpi, wait, loss; /* mpi: without waiting */
	double not_known;			     /* of hours: nobody knows how they were spent */
};
#define SUMS "total(jobs), total(core_hours), total(useful), total(mpi), total(wait), total(loss), total(not_known)"
/* Columns from the first one on, as SUMS has them. */
struct sums sums_of(sqlite3_stmt *row, int first);

/* Hours of which it is known how they were spent. */
double known_of(const struct sums *s);
/* Of these; NAN when there are none. Every share of useful, MPI or waiting time is one of them. */
double share_of(double part, const struct sums *s);
/* page_groups.c: of all jobs, of a program's, of a user's. */
struct sums sums_of_all(struct fleet_page *g);
struct sums sums_of_program(struct fleet_page *g, sqlite3_int64 id);
struct sums sums_of_user(struct fleet_page *g, sqlite3_int64 id);
struct sums sums_of_account(struct fleet_page *g, sqlite3_int64 id);
/* How many hours are not known, a paragraph; nothing where all are. */
void put_not_known(struct fleet_page *g, const struct sums *s);
/* How many jobs there were, and what of their time MPI and waiting took. */
void put_spent(struct fleet_page *g, const struct sums *s);

/* ---- pieces ---- */

const char *text_of(sqlite3_stmt *row, int column); /* "" for NULL */
struct fmt fmt_hours(double core_hours);
struct fmt fmt_hours_said(double core_hours); /* in a sentence: 42.1 million */
struct fmt fmt_day(double day);		      /* 2025-07-30 */
struct fmt fmt_moment(double start);	      /* 2025-07-30 14:05, UTC */
/* A number by which rows can be sorted. */
void put_cell(struct fleet_page *g, struct fmt shown, double value);
void put_hours_bar(struct fleet_page *g, const struct sums *s, double full);
/* What its patterns mean; not_known: there is a bar with such hours. */
void put_hours_legend(struct fleet_page *g, bool not_known);
/* An issue in words. */
void put_cause(struct fleet_page *g, const char *issue);
/* A program without its directories, which stand under the pointer; "not named" for none. */
void put_program(struct fleet_page *g, const char *program);
void put_named(struct fleet_page *g, const char *kind, sqlite3_int64 id, const char *name);
/* A field above tables: rows are hidden that have not all of its words. */
void put_filter(struct fleet_page *g);
/* "v4.1.4, build 5f0c12ab" */
void put_version(struct fleet_page *g, const char *build, const char *mpi);

/* Rows of jobs, columns as JOB_COLUMNS; their pages are linked, and made. */
#define JOB_COLUMNS \
	"j.id, j.key, j.job, u.name, p.name, j.nodes, j.ranks, j.start, j.elapsed_s, j.core_hours, j.useful, j.wait," \
	" j.parallel, i.name, j.loss_core_hours, j.complete, j.user, j.program, j.core_hours-j.idle_core_hours"
#define JOB_TABLES "jobs j JOIN names u ON u.id=j.user JOIN names p ON p.id=j.program JOIN names i ON i.id=j.issue"
void put_jobs(struct fleet_page *g, sqlite3_stmt *rows, const char *caption, bool link_all);
/* A job's number, or its key where it has none, and the way to its page, which is made. */
void put_job_named(struct fleet_page *g, sqlite3_int64 id, const char *key, const char *job);
/* From when on single jobs are there, while sums are of all; nothing where no job was pruned. */
void put_kept_from(struct fleet_page *g);
/* How many jobs nodes and programs were judged by (fleet/samples.h). */
void put_basis(struct fleet_page *g);

/* ---- chart.c ---- */

struct column {
	double at; /* day */
	struct sums s;
};
typedef VEC(struct column) column_list;
/* Columns of core-hours over time, one for each `step` days from the first to the last of all jobs: useful, MPI,
 * waiting, with an axis, a legend, and the numbers as a table. */
void put_columns(struct fleet_page *g, const column_list *c, const char *what, int step);
/* The share that is useful, over time, as a line within SPARK_RANGE of its own mean. */
#define SPARK_RANGE 0.2
void put_spark(struct fleet_page *g, const column_list *c, double first, double last);

/* ---- page_groups.c ---- */

struct group_table {
	const char *what; /* "program", "user", "account": heading of the names, and whose pages they lead to */
	double most;	  /* core-hours of the widest bar; 0: each is as wide as the column */
	bool unlinked;	  /* no page of their own */
	bool sortable;	  /* by its headings */
	bool trend;	  /* with the weeks of each */
	bool versions;	  /* with a tenth column of rows */
	bool not_known;	  /* some hours of them are not known */
};
/* Rows: id, name, SUMS. Finalizes them. */
void put_groups(struct fleet_page *g, const struct group_table *t, sqlite3_stmt *rows);
/* The section of a name's weeks. */
void put_weeks(struct fleet_page *g, sqlite3_int64 id);

/* ---- pages ---- */

void page_overview(struct fleet_page *g);
void page_monday(struct fleet_page *g);
void page_programs(struct fleet_page *g);
void page_program(struct fleet_page *g, sqlite3_int64 id);
void page_users(struct fleet_page *g);
void page_user(struct fleet_page *g, sqlite3_int64 id);
void page_account(struct fleet_page *g, sqlite3_int64 id);
void page_nodes(struct fleet_page *g);
/* page_public.c: makes what page_public() and the question public_figures are of. */
int public_begin(struct site *s);
extern const char public_figures[];
void page_public(struct fleet_page *g);
void page_jobs(struct fleet_page *g);
void page_day(struct fleet_page *g, sqlite3_int64 day);
void page_job(struct fleet_page *g, sqlite3_int64 id);
/* In place of the page of one that was pruned. */
void page_job_gone(struct fleet_page *g);
/* page_users.c: who has least useful time for their hours, a sentence; nothing where nobody stands out. */
void put_least_useful(struct fleet_page *g);
/* page_account.c: links to the accounts that this user leads. */
void put_led(struct fleet_page *g);
/* page_links.c: the section of switches; nothing where nothing was found. */
void put_links(struct fleet_page *g);
/* page_programs.c: the section of changes; of one program, or (0) of all. */
void put_changes(struct fleet_page *g, sqlite3_int64 program);
