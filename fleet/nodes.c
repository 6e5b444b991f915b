/* nodes.c - see nodes.h. */
#include "fleet/node_fit.h"
#include "fleet/node_programs.h"

#include "base/index.h"
#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 16
#define FIRST_ROUNDS 4	   /* of them with all nodes alike */
#define ROUNDS_AGAIN 8	   /* with changes */
#define NOISE_LEAST 0.002  /* no program is more even than clocks and kernels are */
#define FIRST_PRIOR 4.0	   /* so many jobs' worth of doubt that a program has a master */
#define NORMAL_MEAN 1.2533 /* standard deviation over mean absolute deviation of a normal one */
#define INTERVAL 1.959964  /* 95 % */

struct sought {
	const struct node_fit *f;
	uint64_t key;
};

static bool is_key(const void *context, uint32_t at)
{
	const struct sought *x = context;
	return x->f->groups.at[at].key == x->key;
}

static bool is_program(const void *context, uint32_t at)
{
	const struct sought *x = context;
	return x->f->programs.at[at].key == x->key;
}

/* INDEX_NONE without memory. */
static uint32_t program_of(struct node_fit *f, uint32_t program)
{
	struct sought x = {f, program};
	uint64_t hash = index_mix(program, 2);
	uint32_t at = index_find(&f->by_program, hash, is_program, &x);
	if (at != INDEX_NONE)
		return at;
	at = (uint32_t)f->programs.n;
	bool added = vec_push(&f->programs, (struct node_offset){.key = program}) == 0 &&
		     index_add(&f->by_program, hash, at) == 0;
	return added ? at : INDEX_NONE;
}

static int group_jobs(struct node_fit *f)
{
	for (size_t j = 0; j < f->s->jobs.n; j++) {
		const struct scan_job *job = &f->s->jobs.at[j];
		struct sought x = {f, (uint64_t)job->program << 32 | job->user};
		uint64_t hash = index_mix(x.key, 1);
		uint32_t at = index_find(&f->by_key, hash, is_key, &x);
		if (at == INDEX_NONE) {
			at = (uint32_t)f->groups.n;
			struct node_group g = {.key = x.key, .noise = 0.02, .program = program_of(f, job->program)};
			if (g.program == INDEX_NONE || vec_push(&f->groups, g) < 0 ||
			    index_add(&f->by_key, hash, at) < 0)
				return -ENOMEM;
		}
		f->group[j] = at;
	}
	return 0;
}

/* What is left of node i of a job when its group's offset is taken away. */
double node_without_first(const struct node_fit *f, const struct scan_job *job, const struct node_group *g, uint32_t i)
{
	return f->value[job->first_node + i] - (i == 0 ? f->programs.at[g->program].first : 0);
}

size_t node_job_number(const struct node_fit *f, const struct scan_job *job)
{
	return (size_t)(job - f->s->jobs.at);
}

/* Where the effect of a job's node stands. */
static size_t slot_of(const struct node_fit *f, const struct scan_job *job, uint32_t i)
{
	uint32_t node = f->s->nodes.at[job->first_node + i].node;
	return node_job_number(f, job) >= f->since[node] ? f->s->names.n + node : node;
}

double node_effect_in(const struct node_fit *f, const struct scan_job *job, uint32_t i)
{
	return f->effect[slot_of(f, job, i)];
}

static double huber(double residual, double noise)
{
	double r = fabs(residual) / noise;
	return r > NODE_HUBER ? NODE_HUBER / r : 1;
}

/* The job's own level, of which it says nothing: weighted as its residuals are. */
double node_level_of(const struct node_fit *f, const struct scan_job *job, const struct node_group *g)
{
	double level = 0;
	for (int pass = 0; pass < 2; pass++) {
		double sum = 0, weight = 0;
		for (uint32_t i = 0; i < job->nodes; i++) {
			double r = node_without_first(f, job, g, i) - node_effect_in(f, job, i);
			double w = pass == 0 ? 1 : huber(r - level, g->noise);
			sum += w * r;
			weight += w;
		}
		level = sum / weight;
	}
	return level;
}

static void add_job(struct node_fit *f, const struct scan_job *job, struct node_group *g)
{
	double level = node_level_of(f, job, g);
	double freedom = 1 - 1.0 / job->nodes; /* the level takes its part of the variance */
	for (uint32_t i = 0; i < job->nodes; i++) {
		size_t slot = slot_of(f, job, i);
		double y = node_without_first(f, job, g, i) - level, r = y - f->effect[slot];
		double w = huber(r, g->noise) * freedom / (g->noise * g->noise);
		f->sum[slot] += w * y;
		f->weight[slot] += w;
		f->jobs[slot]++;
		g->sum_abs += fmin(fabs(r), 2 * NODE_HUBER * g->noise) / sqrt(freedom);
		g->n++;
		if (i == 0) {
			struct node_offset *o = &f->programs.at[g->program];
			o->sum += fmax(-3 * NODE_HUBER * g->noise, fmin(3 * NODE_HUBER * g->noise, r)) / freedom +
				  o->first;
			o->n++;
		}
	}
}

static void end_round(struct node_fit *f, bool with_nodes)
{
	for (size_t i = 0; i < f->groups.n; i++) {
		struct node_group *g = &f->groups.at[i];
		if (g->n > 0)
			g->noise = fmax(NOISE_LEAST, NORMAL_MEAN * g->sum_abs / g->n);
		g->sum_abs = g->n = 0;
	}
	for (size_t i = 0; i < f->programs.n; i++) {
		struct node_offset *o = &f->programs.at[i];
		if (o->n > 0)
			o->first = o->sum / (o->n + FIRST_PRIOR);
		o->sum = o->n = 0;
	}
	for (size_t i = 0; with_nodes && i < 2 * f->s->names.n; i++)
		f->effect[i] = f->weight[i] > 0 ? f->sum[i] / f->weight[i] : 0;
}

/* Only differences are known: the ordinary node is the measure. */
static void centre(struct node_fit *f, double *room)
{
	size_t n = 0;
	for (size_t i = 0; i < f->s->names.n; i++)
		if (f->jobs[i] >= NODE_JOBS)
			room[n++] = f->effect[i];
	double middle = sort_median(room, n);
	for (size_t i = 0; i < 2 * f->s->names.n; i++)
		f->effect[i] -= middle;
}

static void iterate(struct node_fit *f, int rounds, int first_rounds, double *room)
{
	size_t n = 2 * f->s->names.n;
	for (int round = 0; round < rounds; round++) {
		memset(f->sum, 0, n * sizeof(*f->sum));
		memset(f->weight, 0, n * sizeof(*f->weight));
		memset(f->jobs, 0, n * sizeof(*f->jobs));
		for (size_t j = 0; j < f->s->jobs.n; j++)
			if (f->s->jobs.at[j].nodes > 1)
				add_job(f, &f->s->jobs.at[j], &f->groups.at[f->group[j]]);
		end_round(f, round >= first_rounds);
		centre(f, room);
	}
}

/* ---- what follows ---- */

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

static void store_effects(const struct node_fit *f, struct node_effect *x, double *room)
{
	size_t n = f->s->names.n;
	for (size_t i = 0; i < n; i++) {
		size_t now = f->since[i] != UINT32_MAX ? n + i : i;
		x[i].jobs = f->jobs[now];
		x[i].q = 1;
		x[i].z = f->weight[now] > 0 ? f->effect[now] * sqrt(f->weight[now]) : 0;
		for (int k = 0; k < NODE_EVIDENCE; k++)
			x[i].evidence[k].job = UINT32_MAX;
	}
	double spread = spread_of(x, n, room);
	for (size_t i = 0; i < n; i++) {
		size_t now = f->since[i] != UINT32_MAX ? n + i : i;
		double half = f->weight[now] > 0 ? INTERVAL * spread / sqrt(f->weight[now]) : INFINITY;
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

static void fit_done(struct node_fit *f)
{
	vec_done(&f->groups);
	index_done(&f->by_key);
	vec_done(&f->programs);
	index_done(&f->by_program);
	free(f->group);
	free(f->value);
	free(f->effect);
	free(f->sum);
	free(f->weight);
	free(f->jobs);
	free(f->since);
}

int nodes_estimate(const struct scan *s, struct node_effect **ret_effects)
{
	size_t n = s->names.n + 1;
	struct node_fit f = {.s = s};
	struct node_changing g = {0};
	f.group = calloc(s->jobs.n + 1, sizeof(*f.group));
	f.value = calloc(s->nodes.n + 1, sizeof(*f.value));
	f.effect = calloc(2 * n, sizeof(*f.effect));
	f.sum = calloc(2 * n, sizeof(*f.sum));
	f.weight = calloc(2 * n, sizeof(*f.weight));
	f.jobs = calloc(2 * n, sizeof(*f.jobs));
	f.since = malloc(n * sizeof(*f.since));
	struct node_effect *x = calloc(n, sizeof(*x));
	double *room = calloc(n * NODE_EVIDENCE, sizeof(*room));
	int rc = f.group == NULL || f.value == NULL || f.effect == NULL || f.sum == NULL || f.weight == NULL ||
				 f.jobs == NULL || f.since == NULL || x == NULL || room == NULL
			 ? -ENOMEM
			 : group_jobs(&f);
	if (rc == 0) {
		for (size_t i = 0; i < s->nodes.n; i++)
			f.value[i] = (float)log1p(fmax(-0.99, s->nodes.at[i].deviation));
		memset(f.since, 0xff, n * sizeof(*f.since));
		iterate(&f, ROUNDS, FIRST_ROUNDS, room);
		rc = node_changes_find(&f, x, room, &g);
	}
	if (rc == 0) {
		iterate(&f, ROUNDS_AGAIN, 0, room);
		store_effects(&f, x, room);
		rc = find_slow(&f, &g, x, room);
	}
	if (rc == 0) {
		add_evidence(&f, x, room);
		add_costs(&f, x);
	}
	fit_done(&f);
	node_changing_done(&g);
	free(room);
	if (rc < 0)
		free(x);
	else
		*ret_effects = x;
	return rc;
}
