/* node_changes.c - what is left of each node's jobs when all is fitted, in the order in which they began; and where
 * that changes (fleet/nodes.h). */
#include "fleet/node_changes.h"

#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_traces(const struct node_fit *f, const struct scan_job *job, enum node_of what, struct node_traces *t)
{
	const struct node_group *g = &f->groups.at[f->group[node_job_number(f, job)]];
	double level = node_level_of(f, job, g), most = NODE_HUBER * g->noise;
	for (uint32_t i = 0; i < job->nodes; i++) {
		double freedom = 1 - 1.0 / job->nodes; /* the level takes its part of what the node has of its own */
		double y = node_without_first(f, job, g, i) - level, r = y - node_effect_in(f, job, i);
		double value = what == NODE_WHOLE ? y / freedom : fmax(-most, fmin(most, r));
		t->all[t->first[f->s->nodes.at[job->first_node + i].node]++] =
			(struct node_trace){(float)value, (float)(freedom / (g->noise * g->noise)),
					    (uint32_t)node_job_number(f, job), f->group[node_job_number(f, job)]};
	}
}

int node_traces_collect(const struct node_fit *f, enum node_of what, struct node_traces *ret_t)
{
	size_t n = f->s->names.n;
	struct node_traces t = {calloc(f->s->nodes.n + 1, sizeof(*t.all)), calloc(n + 1, sizeof(*t.first))};
	*ret_t = t;
	if (t.all == NULL || t.first == NULL)
		return -ENOMEM;
	for (size_t j = 0; j < f->s->jobs.n; j++)
		for (uint32_t i = 0; f->s->jobs.at[j].nodes > 1 && i < f->s->jobs.at[j].nodes; i++)
			t.first[f->s->nodes.at[f->s->jobs.at[j].first_node + i].node + 1]++;
	for (size_t i = 0; i < n; i++)
		t.first[i + 1] += t.first[i];
	for (size_t j = 0; j < f->s->jobs.n; j++)
		if (f->s->jobs.at[j].nodes > 1)
			add_traces(f, &f->s->jobs.at[j], what, &t);
	memmove(t.first + 1, t.first, n * sizeof(*t.first)); /* each has come to its end, where the next begins */
	t.first[0] = 0;
	return 0;
}

void node_traces_done(struct node_traces *t)
{
	free(t->all);
	free(t->first);
}

struct two {
	double sum, weight;
};

static double difference_z(const struct two *a, const struct two *b)
{
	return (b->sum / b->weight - a->sum / a->weight) / sqrt(1 / a->weight + 1 / b->weight);
}

/* z of the split before x[k], for each k that leaves NODE_JOBS on either side; 0 elsewhere. The best k, or 0. */
static size_t split(const struct node_trace *x, size_t n, double *z)
{
	struct two left = {0, 0}, right = {0, 0};
	size_t best = 0;
	for (size_t i = 0; i < n; i++) {
		right.sum += (double)x[i].weight * x[i].value;
		right.weight += x[i].weight;
	}
	for (size_t k = 1; k < n; k++) {
		double weight = x[k - 1].weight, sum = weight * x[k - 1].value;
		left = (struct two){left.sum + sum, left.weight + weight};
		right = (struct two){right.sum - sum, right.weight - weight};
		z[k] = k >= NODE_JOBS && n - k >= NODE_JOBS ? difference_z(&left, &right) : 0;
		if (fabs(z[k]) > fabs(z[best]) || (best == 0 && z[k] != 0))
			best = k;
	}
	return best;
}

static bool is_varied(const struct node_trace *x, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (x[i].group != x[0].group)
			return true;
	return false;
}

static double mean_of(const struct node_trace *x, size_t n)
{
	double sum = 0, weight = 0;
	for (size_t i = 0; i < n; i++) {
		sum += (double)x[i].weight * x[i].value;
		weight += x[i].weight;
	}
	return weight > 0 ? sum / weight : 0;
}

/* How much wider z is than it should be: in the middle of their jobs, most nodes do not change. */
static double spread_of_changes(const struct node_fit *f, const struct node_traces *t, double *room)
{
	size_t k = 0;
	for (size_t i = 0; i < f->s->names.n; i++) {
		size_t n = t->first[i + 1] - t->first[i];
		const struct node_trace *x = t->all + t->first[i];
		struct two a = {0, 0}, b = {0, 0};
		for (size_t j = 0; j < n; j++) {
			struct two *to = j < n / 2 ? &a : &b;
			to->sum += (double)x[j].weight * x[j].value;
			to->weight += x[j].weight;
		}
		if (n >= 2 * NODE_JOBS)
			room[k++] = fabs(difference_z(&a, &b));
	}
	return fmax(1, NODE_NORMAL_MEDIAN * sort_median(room, k));
}

/* Where x changes, or 0; z has that of each split then. */
static size_t find_split(const struct node_changing *g, const struct node_trace *x, size_t n, double *ret_p)
{
	size_t k = n >= 2 * NODE_JOBS ? split(x, n, g->z) : 0;
	double p = k > 0 ? erfc(fabs(g->z[k]) / g->spread / M_SQRT2) * g->tests : 1;
	bool varied = is_varied(x + k, n - k) || !is_varied(x, n);
	if (p > NODE_CHANGE_P || !varied || fabs(mean_of(x + k, n - k) - mean_of(x, k)) < NODE_LEAST)
		return 0;
	*ret_p = p;
	return k;
}

/* Splits that are as likely (by the ratio of likelihoods) bound when. */
void node_last_change(struct node_fit *f, const struct node_changing *g, const struct node_trace *x, size_t n,
		      size_t node, struct node_effect *e)
{
	const struct scan_job *jobs = f->s->jobs.at;
	double p = 1;
	for (size_t k; (k = find_split(g, x, n, &p)) > 0; x += k, n -= k) {
		double within = pow(g->z[k] / g->spread, 2) - AS_LIKELY;
		size_t low = k, high = k;
		while (low > 1 && pow(g->z[low - 1] / g->spread, 2) >= within)
			low--;
		while (high + 1 < n && pow(g->z[high + 1] / g->spread, 2) >= within)
			high++;
		f->since[node] = x[k].job;
		e->since = jobs[x[k].job].start;
		e->since_low = jobs[x[low - 1].job].start;
		e->since_high = jobs[x[high].job].start;
		e->change_p = p;
	}
}

void node_changing_done(struct node_changing *g)
{
	free(g->z);
}

int node_changes_find(struct node_fit *f, struct node_effect *e, double *room, struct node_changing *ret_g)
{
	struct node_traces t;
	size_t longest = 0;
	int rc = node_traces_collect(f, NODE_LEFT, &t);
	struct node_changing g = {1, 1, NULL};
	for (size_t i = 0; rc == 0 && i < f->s->names.n; i++) {
		size_t n = t.first[i + 1] - t.first[i];
		longest = n > longest ? n : longest;
		g.tests += n >= 2 * NODE_JOBS ? (double)(n + 1 - 2 * NODE_JOBS) : 0;
	}
	if (rc == 0 && (g.z = calloc(longest + 1, sizeof(*g.z))) == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		g.spread = spread_of_changes(f, &t, room);
	for (size_t i = 0; rc == 0 && i < f->s->names.n; i++)
		node_last_change(f, &g, t.all + t.first[i], t.first[i + 1] - t.first[i], i, &e[i]);
	node_traces_done(&t);
	*ret_g = g;
	return rc;
}
