/* model.c - read the analysis object once: totals over ranks, lists sorted for showing.
 * In: JSON text.  Out: struct model, on which every section only looks. */
#include "reports/html/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double at_least_zero(double v)
{
	return v > 0 ? v : 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct rank_row *x = a, *y = b;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static enum rank_end read_end(const cJSON *row)
{
	const char *state = field_text(row, "state", "");
	if (strcmp(state, "missing") == 0)
		return RANK_MISSING;
	return strcmp(state, "lost") == 0 || strcmp(state, "running") == 0 ? RANK_EARLY : RANK_ENDED;
}

static struct rank_row read_rank(const cJSON *row, size_t index)
{
	double rank = field_number(row, "rank");
	struct rank_row r = {
		.rank = isnan(rank) || fabs(rank) > 1e9 ? (long)index : lround(rank),
		.node = field_text(row, "node", ""),
		.useful_s = at_least_zero(field_number(row, "useful_s")),
		.mpi_s = at_least_zero(field_number(row, "mpi_s")),
		.wait_s = at_least_zero(field_number(row, "wait_s")),
		.bytes_out = field_number(row, "bytes_out"),
		.end = read_end(row),
		.exit_status = field_number(row, "exit_status"),
		.cpus = field_text(row, "cpus", ""),
	};
	r.wait_s = fmin(r.wait_s, r.mpi_s);
	return r;
}

static int read_ranks(struct model *m)
{
	size_t n;
	const cJSON **rows = field_objects(m->root, "per_rank", &n);
	if (n == 0) {
		free(rows);
		return 0;
	}
	m->rank = calloc(n, sizeof(*m->rank));
	for (size_t i = 0; m->rank != NULL && i < n; i++)
		m->rank[m->nranks++] = read_rank(rows[i], i);
	free(rows);
	if (m->rank == NULL)
		return -ENOMEM;
	qsort(m->rank, m->nranks, sizeof(*m->rank), by_rank);
	return 0;
}

static void add_up(struct model *m)
{
	for (size_t i = 0; i < m->nranks; i++) {
		m->useful_s += m->rank[i].useful_s;
		m->mpi_s += m->rank[i].mpi_s;
		m->wait_s += m->rank[i].wait_s;
		m->max_useful_s = fmax(m->max_useful_s, m->rank[i].useful_s);
	}
	m->total_s = m->useful_s + m->mpi_s;
	m->runtime_s = field_number(m->summary, "runtime_s");
	if (isnan(m->runtime_s))
		m->runtime_s = field_number(m->job, "elapsed_s");
}

static int compare_numbers(const cJSON *a, const cJSON *b, const char *key)
{
	double x = field_number(a, key), y = field_number(b, key);
	x = isnan(x) ? -INFINITY : x;
	y = isnan(y) ? -INFINITY : y;
	return (x < y) - (x > y);
}

static int by_time(const void *a, const void *b)
{
	return compare_numbers(*(const cJSON *const *)a, *(const cJSON *const *)b, "time_s");
}

/* Worst first; among equals the analysis' own order stays, which puts causes before their effects.
 */
static void sort_issues(const cJSON **issue, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const cJSON *moved = issue[i];
		size_t at = i;
		for (; at > 0 && issue_severity(issue[at - 1]) < issue_severity(moved); at--)
			issue[at] = issue[at - 1];
		issue[at] = moved;
	}
}

static const cJSON **sorted(const cJSON *root, const char *key, size_t *ret_count,
			    int (*order)(const void *, const void *))
{
	const cJSON **list = field_objects(root, key, ret_count);
	if (*ret_count > 1)
		qsort(list, *ret_count, sizeof(*list), order);
	return list;
}

int issue_severity(const cJSON *issue)
{
	const char *word = field_text(issue, "severity", "");
	return strcmp(word, "high") == 0 ? 2 : strcmp(word, "medium") == 0 ? 1 : 0;
}

size_t model_nranks(const struct model *m)
{
	double n = field_number(m->coverage, "ranks_expected");
	if (!(n >= 1))
		n = field_number(m->job, "ranks");
	return n >= 1 && n < 1e9 ? (size_t)n : m->nranks;
}

const cJSON *model_callsite(const struct model *m, const cJSON *id)
{
	double wanted = number_of(id);
	for (size_t i = 0; i < m->ncallsites; i++)
		if (field_number(m->callsite[i], "id") == wanted)
			return m->callsite[i];
	return NULL;
}

static bool is_partial(const struct model *m)
{
	return !field_bool(m->coverage, "complete", true) || strcmp(field_text(m->job, "state", ""), "partial") == 0;
}

int model_create(const char *json, struct model *ret_model)
{
	struct model m = {.root = cJSON_Parse(json)};
	if (!cJSON_IsObject(m.root)) {
		model_done(&m);
		return -EBADMSG;
	}
	m.job = field(m.root, "job");
	m.coverage = field(m.root, "coverage");
	m.summary = field(m.root, "summary");
	m.efficiency = field(m.root, "efficiency");
	if (read_ranks(&m) < 0) {
		model_done(&m);
		return -ENOMEM;
	}
	add_up(&m);
	m.operation = sorted(m.root, "operations", &m.noperations, by_time);
	m.callsite = sorted(m.root, "callsites", &m.ncallsites, by_time);
	m.issue = field_objects(m.root, "issues", &m.nissues);
	sort_issues(m.issue, m.nissues);
	m.partial = is_partial(&m);
	*ret_model = m;
	return 0;
}

void model_done(struct model *m)
{
	cJSON_Delete((cJSON *)m->root);
	free(m->rank);
	free(m->operation);
	free(m->callsite);
	free(m->issue);
	*m = (struct model){.root = NULL};
}
