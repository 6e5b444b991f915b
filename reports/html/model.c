/* model.c - read the analysis object once: totals over ranks, lists sorted for showing.
 * In: JSON text.  Out: struct model, on which every section only looks. */
#include "reports/html/model.h"
#include "reports/text/waits_bound.h"

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
	const char *state = json_text(row, "state", "");
	if (strcmp(state, "missing") == 0)
		return RANK_MISSING;
	return strcmp(state, "lost") == 0 || strcmp(state, "running") == 0 ? RANK_EARLY : RANK_ENDED;
}

static struct rank_row read_rank(const cJSON *row, size_t index)
{
	double rank = json_number(row, "rank");
	struct rank_row r = {
		.rank = isnan(rank) || fabs(rank) > 1e9 ? (long)index : lround(rank),
		.node = json_text(row, "node", ""),
		.useful_s = at_least_zero(json_number(row, "useful_s")),
		.mpi_s = at_least_zero(json_number(row, "mpi_s")),
		.wait_s = at_least_zero(json_number(row, "wait_s")),
		.tracing_s = json_number(row, "tracing_s"),
		.processor_wait_s = json_number(row, "processor_wait_s"),
		.bytes_out = json_number(row, "bytes_out"),
		.end = read_end(row),
		.exit_status = json_number(row, "exit_status"),
		.cpus = json_text(row, "cpus", ""),
	};
	r.wait_s = fmin(r.wait_s, r.mpi_s);
	return r;
}

static int read_ranks(struct model *m)
{
	size_t n;
	const cJSON **rows = json_objects(m->root, "per_rank", &n);
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
	for (const cJSON *row = json_first(m->root, "per_rank"); row != NULL; row = row->next)
		m->unreturned_s += at_least_zero(json_number(row, "unreturned_s"));
	m->processor_wait = processor_wait_of(m->root);
	m->threads_s = json_number(m->summary, "threads_s");
	m->threaded = m->threads_s > 0;
	if (!m->threaded)
		m->threads_s = m->total_s;
	m->runtime_s = json_number(m->summary, "runtime_s");
	if (isnan(m->runtime_s))
		m->runtime_s = json_number(m->job, "elapsed_s");
}

const char *share_title(const struct model *m)
{
	return m->threaded ? "share of thread time" : "share of ranks\xe2\x80\x99 time";
}

int issue_severity(const cJSON *issue)
{
	const char *word = json_text(issue, "severity", "");
	return strcmp(word, "high") == 0 ? 2 : strcmp(word, "medium") == 0 ? 1 : 0;
}

size_t model_nranks(const struct model *m)
{
	double n = json_number(m->coverage, "ranks_expected");
	if (!(n >= 1))
		n = json_number(m->job, "ranks");
	return n >= 1 && n < 1e9 ? (size_t)n : m->nranks;
}

const cJSON *model_callsite(const struct model *m, const cJSON *id)
{
	double wanted = json_number_of(id);
	for (size_t i = 0; i < m->ncallsites; i++)
		if (json_number(m->callsite[i], "id") == wanted)
			return m->callsite[i];
	return NULL;
}

/* Of what was to be recorded something is missing; that events are not analysed yet is no loss. */
static bool is_partial(const struct model *m)
{
	if (m->totals)
		return !json_bool(m->coverage, "totals_complete", false);
	return !json_bool(m->coverage, "complete", true) || strcmp(json_text(m->job, "state", ""), "partial") == 0;
}

int model_create(const char *json, struct model *ret_model)
{
	struct model m = {.root = cJSON_Parse(json)};
	if (!cJSON_IsObject(m.root)) {
		model_done(&m);
		return -EBADMSG;
	}
	m.job = json_item(m.root, "job");
	m.coverage = json_item(m.root, "coverage");
	m.summary = json_item(m.root, "summary");
	m.efficiency = json_item(m.root, "efficiency");
	if (read_ranks(&m) < 0) {
		model_done(&m);
		return -ENOMEM;
	}
	add_up(&m);
	m.operation = json_objects_by(m.root, "operations", "time_s", &m.noperations);
	m.callsite = json_objects_by(m.root, "callsites", "time_s", &m.ncallsites);
	m.issue = json_objects(m.root, "issues", &m.nissues);
	m.totals = strcmp(json_text(m.coverage, "mode", ""), "totals") == 0;
	m.partial = is_partial(&m);
	m.waits_known = !m.totals && json_number_or(m.coverage, "events", 1) > 0;
	m.waits_at_least = m.waits_known && waits_are_at_least(m.root);
	m.waits_known &= !m.waits_at_least || m.wait_s > 0; /* at least 0 says nothing */
	m.waits_at_least &= m.waits_known;
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
