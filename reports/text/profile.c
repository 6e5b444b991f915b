/* profile.c - see profile.h. */
#include "reports/text/profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FENCE 1.5	  /* of the distance between the quartiles: Tukey's outliers */
#define DISTANCE_MIN 0.05 /* of the median: what is nearer is not out of line */

struct rank_time {
	long rank;
	const char *node;
	double useful_s, mpi_s, wait_s;
};

static double at_least_zero(double v)
{
	return v > 0 ? v : 0;
}

static size_t read_ranks(const cJSON *analysis, struct rank_time *rows)
{
	size_t n = 0;
	for (const cJSON *v = json_first(analysis, "per_rank"); v != NULL; v = v->next) {
		double rank = json_number(v, "rank");
		if (isnan(json_number(v, "useful_s")) || !(rank >= 0 && rank < 1e9) ||
		    strcmp(json_text(v, "state", ""), "missing") == 0)
			continue;
		rows[n++] = (struct rank_time){.rank = (long)rank,
					       .node = json_text(v, "node", ""),
					       .useful_s = at_least_zero(json_number(v, "useful_s")),
					       .mpi_s = at_least_zero(json_number(v, "mpi_s")),
					       .wait_s = at_least_zero(json_number(v, "wait_s"))};
	}
	return n;
}

static int by_useful(const void *a, const void *b)
{
	const struct rank_time *x = a, *y = b;
	return x->useful_s != y->useful_s ? (x->useful_s > y->useful_s) - (x->useful_s < y->useful_s)
					  : (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_node(const void *a, const void *b)
{
	const struct rank_time *x = a, *y = b;
	int order = strcmp(x->node, y->node);
	return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static int ascending(const void *a, const void *b)
{
	const long *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static int slowest_first(const void *a, const void *b)
{
	const struct node_row *x = a, *y = b;
	return x->useful_s != y->useful_s ? (x->useful_s < y->useful_s) - (x->useful_s > y->useful_s)
					  : strcmp(x->name, y->name);
}

static void note_outlier(struct profile *p, long rank)
{
	if (p->noutliers++ < OUTLIERS_MAX)
		p->outlier[p->noutliers - 1] = rank;
}

/* rows: ascending useful time. The busiest are noted first. */
static void find_outliers(struct profile *p, const struct rank_time *rows)
{
	double fence_s = fmax(FENCE * (p->upper_s - p->lower_s), DISTANCE_MIN * p->median_s);
	for (size_t i = p->nranks; i-- > 0 && rows[i].useful_s > p->upper_s + fence_s;)
		note_outlier(p, rows[i].rank);
	for (size_t i = 0; i < p->nranks && rows[i].useful_s < p->lower_s - fence_s; i++)
		note_outlier(p, rows[i].rank);
	qsort(p->outlier, p->noutliers < OUTLIERS_MAX ? p->noutliers : OUTLIERS_MAX, sizeof(long), ascending);
}

static void find_quartiles(struct profile *p, struct rank_time *rows)
{
	size_t last = p->nranks - 1;
	qsort(rows, p->nranks, sizeof(*rows), by_useful);
	p->least_s = rows[0].useful_s;
	p->lower_s = rows[last / 4].useful_s;
	p->median_s = rows[last / 2].useful_s;
	p->upper_s = rows[last - last / 4].useful_s;
	p->most_s = rows[last].useful_s;
	p->least_rank = rows[0].rank;
	p->most_rank = rows[last].rank;
	find_outliers(p, rows);
}

static void mark_slow_nodes(struct profile *p)
{
	double median_s = p->node[p->nnodes / 2].useful_s;
	for (size_t i = 0; i < p->nnodes && p->nnodes > 2; i++) {
		p->node[i].slow = p->node[i].useful_s > NODE_SLOW * median_s;
		p->nslow += p->node[i].slow;
	}
}

static void add_up_nodes(struct profile *p, struct rank_time *rows)
{
	qsort(rows, p->nranks, sizeof(*rows), by_node);
	for (size_t i = 0; i < p->nranks; i++) {
		if (i == 0 || strcmp(rows[i].node, rows[i - 1].node) != 0)
			p->node[p->nnodes++] = (struct node_row){.name = rows[i].node};
		struct node_row *node = &p->node[p->nnodes - 1];
		node->ranks++;
		node->useful_s += rows[i].useful_s;
		node->mpi_s += rows[i].mpi_s;
		node->wait_s += rows[i].wait_s;
		node->longest_s = fmax(node->longest_s, rows[i].useful_s);
	}
	for (size_t i = 0; i < p->nnodes; i++) {
		p->node[i].useful_s /= (double)p->node[i].ranks;
		p->node[i].mpi_s /= (double)p->node[i].ranks;
		p->node[i].wait_s /= (double)p->node[i].ranks;
	}
	qsort(p->node, p->nnodes, sizeof(*p->node), slowest_first);
	mark_slow_nodes(p);
}

int profile_create(const cJSON *analysis, struct profile *ret_profile)
{
	size_t n = json_count(analysis, "per_rank");
	struct rank_time *rows = calloc(n + 1, sizeof(*rows));
	struct profile p = {.node = calloc(n + 1, sizeof(*p.node))};
	if (rows == NULL || p.node == NULL) {
		free(rows);
		profile_done(&p);
		return -ENOMEM;
	}
	p.nranks = read_ranks(analysis, rows);
	if (p.nranks > 0) {
		find_quartiles(&p, rows);
		add_up_nodes(&p, rows);
	}
	free(rows);
	*ret_profile = p;
	return 0;
}

void profile_done(struct profile *p)
{
	free(p->node);
	*p = (struct profile){.node = NULL};
}
