/* show_ranks.c - ranks in `mpitrace show`: who waited when, who computes longest, the same by node. */
#include "cli/print.h"
#include "cli/show_text.h"
#include "reports/text/profile.h"

#include <math.h>
#include <string.h>

/* ---- ranks x time ---- */

#define STRIP_ROWS 16
#define STRIP_COLUMNS 50
#define WINDOWS_MAX 100
#define GROUPS_MAX 32

static const char shades[] = " .:-=+*#%@";

struct strip {
	double part_s[STRIP_ROWS][STRIP_COLUMNS], all_s[STRIP_ROWS][STRIP_COLUMNS];
	double first[STRIP_ROWS], last[STRIP_ROWS];
	size_t rows;
};

static void add_list(const cJSON *row, const char *key, double into[STRIP_COLUMNS])
{
	size_t at = 0;
	for (const cJSON *v = json_first(row, key); v != NULL && at < WINDOWS_MAX; v = v->next, at++)
		into[at * STRIP_COLUMNS / WINDOWS_MAX] += fmax(json_number_of(v), 0);
}

static void read_strip(const cJSON *a, const char *key, struct strip *s)
{
	size_t n = json_count(a, "rank_time"), at = 0, each;
	n = n < GROUPS_MAX ? n : GROUPS_MAX;
	each = n > STRIP_ROWS ? 2 : 1;
	for (const cJSON *row = json_first(a, "rank_time"); row != NULL && at < n; row = row->next, at++) {
		size_t into = at / each;
		add_list(row, key, s->part_s[into]);
		add_list(row, "useful_s", s->all_s[into]);
		add_list(row, "mpi_s", s->all_s[into]);
		if (at % each == 0)
			s->first[into] = json_number_or(row, "first_rank", 0);
		s->last[into] = json_number_or(row, "last_rank", 0);
		s->rows = into + 1;
	}
}

static double share_at(const struct strip *s, size_t row, size_t i)
{
	return s->all_s[row][i] > 0 ? fmin(s->part_s[row][i] / s->all_s[row][i], 1) : NAN;
}

static void put_strip_row(const struct strip *s, size_t row, double most)
{
	char line[STRIP_COLUMNS + 1] = "";
	for (size_t i = 0; i < STRIP_COLUMNS; i++) {
		double share = share_at(s, row, i);
		line[i] = isnan(share) ? ' ' : shades[(size_t)(share / most * (sizeof(shades) - 2) + 0.5)];
	}
	printf("  %7.0f - %-7.0f |%s|\n", s->first[row], s->last[row], line);
}

void show_strip(const cJSON *a)
{
	bool waits = show_knows_waits(a);
	struct strip s = {.rows = 0};
	double most = 0;
	read_strip(a, waits ? "wait_s" : "mpi_s", &s);
	for (size_t row = 0; row < s.rows; row++)
		for (size_t i = 0; i < STRIP_COLUMNS; i++)
			most = fmax(most, share_at(&s, row, i)); /* NAN is none */
	if (s.rows < 2 || !(most > 0))
		return;
	printf("\nRanks over time: %s, from none (blank) to %s of the time (@)\n", waits ? "waiting" : "in MPI",
	       share_text(most).s);
	for (size_t row = 0; row < s.rows; row++)
		put_strip_row(&s, row, most);
}

/* ---- who computes longest ---- */

static void put_outliers(const struct profile *p)
{
	printf("\nUseful time: median %s", seconds_text(p->median_s).s);
	if (p->nranks >= QUARTILE_RANKS)
		printf("; half of the ranks from %s to %s", seconds_text(p->lower_s).s, seconds_text(p->upper_s).s);
	putchar('\n');
	printf("  most %s, rank %ld; least %s, rank %ld\n", seconds_text(p->most_s).s, p->most_rank,
	       seconds_text(p->least_s).s, p->least_rank);
	if (p->noutliers == 0)
		return;
	fputs("  outliers: rank", stdout);
	for (size_t i = 0; i < p->noutliers && i < SHOW_TOP; i++)
		printf("%s %ld", i > 0 ? "," : "", p->outlier[i]);
	if (p->noutliers > SHOW_TOP)
		printf(" and %s more", count_text((double)(p->noutliers - SHOW_TOP)).s);
	putchar('\n');
}

static void put_nodes(const cJSON *a, const struct profile *p)
{
	printf("\nNodes, most useful time first; means of their ranks; !: slower\n  %-20s %7s %11s %11s %11s %11s\n",
	       "", "ranks", "useful", "busiest", "MPI", "waiting");
	for (size_t i = 0; i < p->nnodes && i < SHOW_TOP; i++) {
		const struct node_row *x = &p->node[i];
		printf("  %-20s %7s %11s %11s %11s %11s%s\n",
		       x->name[0] != 0 ? show_name(x->name, 20, false).s : "not known", count_text((double)x->ranks).s,
		       seconds_text(x->useful_s).s, seconds_text(x->longest_s).s, seconds_text(x->mpi_s).s,
		       show_knows_waits(a) ? seconds_text(x->wait_s).s : "not known", x->slow ? " !" : "");
	}
	show_more(p->nnodes);
}

void show_ranks(const cJSON *a)
{
	struct profile p;
	if (profile_create(a, &p) < 0)
		return;
	if (p.nranks > 1 && show_ranks_s(a) > 0) {
		put_outliers(&p);
		put_nodes(a, &p);
	}
	profile_done(&p);
}
