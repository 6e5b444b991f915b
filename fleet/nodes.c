/* nodes.c - see nodes.h. */
#include "fleet/node_changes.h"
#include "fleet/node_programs.h"

#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 16
#define FIRST_ROUNDS 4	  /* of them with all nodes alike */
#define ROUNDS_AGAIN 8	  /* with changes */
#define INTERVAL 1.959964 /* 95 % */

/* How much wider than a standard normal the z of ordinary nodes are. */
static double spread_of(const struct node_effect *x, size_t n, double *room)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++)
		if (x[i].jobs >= NODE_JOBS)
			room[k++] = fabs(x[i].z);
	return fmax(1, NODE_NORMAL_MEDIAN * sort_median(room, k));
}

struct place {
	double p;
	size_t at;
};

static int by_p(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return x->p < y->p ? -1 : x->p > y->p ? 1 : x->at < y->at ? -1 : x->at > y->at;
}

/* q of the i-th smallest p is the least p n/i from there on. NAN: not judged. */
static int adjust_p_values(struct node_effect *x, size_t n, const double *p)
{
	struct place *order = calloc(n, sizeof(*order));
	size_t k = 0;
	double q = 1;
	if (order == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!isnan(p[i]))
			order[k++] = (struct place){p[i], i};
	qsort(order, k, sizeof(*order), by_p);
	for (size_t i = k; i > 0; i--) {
		struct node_effect *e = &x[order[i - 1].at];
		q = fmin(q, order[i - 1].p * (double)k / (double)i);
		e->q = fmin(e->q, q);
		e->suspected |= q <= NODE_RATE && e->effect >= NODE_LEAST;
	}
	free(order);
	return 0;
}

/* What its jobs tell of a node: less where they do not agree. */
static double weight_of(const struct node_fit *f, size_t at)
{
	double jobs = f->jobs[at], excess = jobs > 1 ? f->square[at] / f->weight[at] * jobs / (jobs - 1) : 1;
	return f->weight[at] / fmax(1, excess);
}

static void store_effects(const struct node_fit *f, struct node_effect *x, double *room)
{
	size_t n = f->s->names.n;
	for (size_t i = 0; i < n; i++) {
		size_t now = f->since[i] != UINT32_MAX ? n + i : i;
		x[i].jobs = f->jobs[now];
		x[i].q = 1;
		x[i].z = f->weight[now] > 0 ? f->effect[now] * sqrt(weight_of(f, now)) : 0;
		for (int k = 0; k < NODE_EVIDENCE; k++)
			x[i].evidence[k].job = UINT32_MAX;
	}
	double spread = spread_of(x, n, room);
	for (size_t i = 0; i < n; i++) {
		size_t now = f->since[i] != UINT32_MAX ? n + i : i;
		double half = f->weight[now] > 0 ? INTERVAL * spread / sqrt(weight_of(f, now)) : INFINITY;
		x[i].z /= spread;
		x[i].effect = expm1(f->effect[now]);
		x[i].before = expm1(f->effect[i]);
		x[i].low = fmax(-1, expm1(f->effect[now] - half));
		x[i].high = fmin(1000, expm1(f->effect[now] + half));
	}
}

/* By all of their jobs, then those that are left by each program (node_programs.h). */
static int find_slow(struct node_fit *f, const struct node_changing *g, struct node_effect *x, double *p)
{
	size_t n = f->s->names.n;
	for (size_t i = 0; i < n; i++)
		p[i] = x[i].jobs >= NODE_JOBS ? erfc(x[i].z / M_SQRT2) / 2 : NAN;
	int rc = adjust_p_values(x, n, p);
	if (rc == 0)
		rc = node_programs_find(f, g, x, p);
	return rc == 0 ? adjust_p_values(x, n, p) : rc;
}

/* Those first in which the node stands out most, measured in the noise of their kind. */
static void add_evidence(const struct node_fit *f, struct node_effect *x, double *score)
{
	for (size_t j = 0; j < f->s->jobs.n; j++) {
		const struct scan_job *job = &f->s->jobs.at[j];
		const struct node_group *g = &f->groups.at[f->group[j]];
		double level = job->nodes > 1 ? node_level_of(f, job, g) : 0;
		for (uint32_t i = 0; job->nodes > 1 && i < job->nodes; i++) {
			uint32_t node = f->s->nodes.at[job->first_node + i].node;
			struct node_effect *n = &x[node];
			double y = node_without_first(f, job, g, i) - level, z = y / g->noise;
			double *scores = score + (size_t)node * NODE_EVIDENCE;
			int at = NODE_EVIDENCE;
			if (!n->suspected || (f->since[node] != UINT32_MAX && j < f->since[node]))
				continue;
			while (at > 0 && (n->evidence[at - 1].job == UINT32_MAX || scores[at - 1] < z))
				at--;
			if (at == NODE_EVIDENCE)
				continue;
			size_t moved = (size_t)(NODE_EVIDENCE - 1 - at);
			memmove(&n->evidence[at + 1], &n->evidence[at], moved * sizeof(n->evidence[0]));
			memmove(&scores[at + 1], &scores[at], moved * sizeof(*scores));
			n->evidence[at].job = (uint32_t)j;
			n->evidence[at].deviation = (float)expm1(y);
			scores[at] = z;
		}
	}
}

/* The other ranks compute a share `parallel` of the time and its own effect times longer: at most so much of the run
 * was for want of an ordinary node. */
double node_cost(const struct node_effect *n, const struct scan_job *job)
{
	double slower = fmax(0, n->effect), most = slower / (1 + slower);
	if (job->nodes < 2 || job->start < n->since)
		return 0;
	double hours = (double)job->core_hours * (1 + (double)job->others);
	return hours * (isnan(job->parallel) ? most : fmin(most, slower * job->parallel));
}

/* If all others waited for the slowest node, and that is suspected, they waited for the next one without it; as long as
 * it is worse by, at most. */
static double slowed_by(const struct scan *s, const struct node_effect *effects, const struct scan_job *job)
{
	double most = -1, others = -1, effect = 0;
	for (uint32_t i = 0; i < job->nodes; i++) {
		const struct scan_node *n = &s->nodes.at[job->first_node + i];
		const struct node_effect *x = &effects[n->node];
		double deviation = (double)n->deviation;
		if (!x->suspected || job->start < x->since)
			others = fmax(others, deviation);
		else if (deviation > most) {
			most = deviation;
			effect = fmax(0, x->effect);
		}
	}
	return most > others && others > -1 ? fmin(log1p(most) - log1p(others), log1p(effect)) : 0;
}

void nodes_charge(struct scan *s, const struct node_effect *effects)
{
	for (size_t i = 0; i < s->jobs.n; i++)
		s->jobs.at[i].slowed = (float)slowed_by(s, effects, &s->jobs.at[i]);
}

static void add_costs(const struct node_fit *f, struct node_effect *x)
{
	const struct scan *s = f->s;
	for (size_t j = 0; j < s->jobs.n; j++) {
		const struct scan_job *job = &s->jobs.at[j];
		for (uint32_t i = 0; i < job->nodes; i++) {
			struct node_effect *n = &x[s->nodes.at[job->first_node + i].node];
			n->lost += node_cost(n, job);
		}
	}
}

int nodes_estimate(const struct scan *s, struct node_effect **ret_effects)
{
	size_t n = s->names.n + 1;
	struct node_fit f;
	struct node_changing g = {0};
	struct node_effect *x = calloc(n, sizeof(*x));
	double *room = calloc(n * NODE_EVIDENCE, sizeof(*room));
	int rc = node_fit_begin(&f, s);
	if (rc == 0 && (x == NULL || room == NULL))
		rc = -ENOMEM;
	if (rc == 0) {
		node_fit_iterate(&f, ROUNDS, FIRST_ROUNDS, room);
		rc = node_changes_find(&f, x, room, &g);
	}
	if (rc == 0) {
		node_fit_iterate(&f, ROUNDS_AGAIN, 0, room);
		store_effects(&f, x, room);
		rc = find_slow(&f, &g, x, room);
	}
	if (rc == 0) {
		add_evidence(&f, x, room);
		add_costs(&f, x);
	}
	node_fit_done(&f);
	node_changing_done(&g);
	free(room);
	if (rc < 0)
		free(x);
	else
		*ret_effects = x;
	return rc;
}
