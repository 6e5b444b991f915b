/* nodes.c - see nodes.h. */
#include "fleet/nodes.h"

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
#define HUBER 2.5	   /* standard deviations beyond which a deviation counts less */
#define NOISE_LEAST 0.002  /* no program is more even than clocks and kernels are */
#define FIRST_PRIOR 4.0	   /* so many jobs' worth of doubt that a program has a master */
#define NORMAL_MEAN 1.2533 /* standard deviation over mean absolute deviation of a normal one */
#define NORMAL_MEDIAN 1.4826
#define INTERVAL 1.959964 /* 95 % */

/* A program: offset of rank 0's node. */
struct offset {
	uint64_t key;
	double first, sum, n;
};

/* A program of a user. */
struct group {
	uint64_t key;
	uint32_t program;  /* index into fit.programs */
	double noise;	   /* standard deviation of one deviation */
	double sum_abs, n; /* of residuals */
};

struct fit {
	const struct scan *s;
	VEC(struct group) groups;
	struct index by_key;
	VEC(struct offset) programs;
	struct index by_program;
	uint32_t *group;	       /* of each job */
	float *value;		       /* logarithm of each deviation */
	double *effect, *sum, *weight; /* of each node before, then of each since */
	uint32_t *jobs;
	uint32_t *since; /* of each node: its first job after its last change; UINT32_MAX: none */
};

struct sought {
	const struct fit *f;
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
static uint32_t program_of(struct fit *f, uint32_t program)
{
	struct sought x = {f, program};
	uint64_t hash = index_mix(program, 2);
	uint32_t at = index_find(&f->by_program, hash, is_program, &x);
	if (at != INDEX_NONE)
		return at;
	at = (uint32_t)f->programs.n;
	bool added = vec_push(&f->programs, (struct offset){.key = program}) == 0 &&
		     index_add(&f->by_program, hash, at) == 0;
	return added ? at : INDEX_NONE;
}

static int group_jobs(struct fit *f)
{
	for (size_t j = 0; j < f->s->jobs.n; j++) {
		const struct scan_job *job = &f->s->jobs.at[j];
		struct sought x = {f, (uint64_t)job->program << 32 | job->user};
		uint64_t hash = index_mix(x.key, 1);
		uint32_t at = index_find(&f->by_key, hash, is_key, &x);
		if (at == INDEX_NONE) {
			at = (uint32_t)f->groups.n;
			struct group g = {.key = x.key, .noise = 0.02, .program = program_of(f, job->program)};
			if (g.program == INDEX_NONE || vec_push(&f->groups, g) < 0 ||
			    index_add(&f->by_key, hash, at) < 0)
				return -ENOMEM;
		}
		f->group[j] = at;
	}
	return 0;
}

/* What is left of node i of a job when its group's offset is taken away. */
static double without_first(const struct fit *f, const struct scan_job *job, const struct group *g, uint32_t i)
{
	return f->value[job->first_node + i] - (i == 0 ? f->programs.at[g->program].first : 0);
}

static size_t number_of(const struct fit *f, const struct scan_job *job)
{
	return (size_t)(job - f->s->jobs.at);
}

/* Where the effect of a job's node stands. */
static size_t slot_of(const struct fit *f, const struct scan_job *job, uint32_t i)
{
	uint32_t node = f->s->nodes.at[job->first_node + i].node;
	return number_of(f, job) >= f->since[node] ? f->s->names.n + node : node;
}

static double node_of(const struct fit *f, const struct scan_job *job, uint32_t i)
{
	return f->effect[slot_of(f, job, i)];
}

static double huber(double residual, double noise)
{
	double r = fabs(residual) / noise;
	return r > HUBER ? HUBER / r : 1;
}

/* The job's own level, of which it says nothing: weighted as its residuals are. */
static double level_of(const struct fit *f, const struct scan_job *job, const struct group *g)
{
	double level = 0;
	for (int pass = 0; pass < 2; pass++) {
		double sum = 0, weight = 0;
		for (uint32_t i = 0; i < job->nodes; i++) {
			double r = without_first(f, job, g, i) - node_of(f, job, i);
			double w = pass == 0 ? 1 : huber(r - level, g->noise);
			sum += w * r;
			weight += w;
		}
		level = sum / weight;
	}
	return level;
}

static void add_job(struct fit *f, const struct scan_job *job, struct group *g)
{
	double level = level_of(f, job, g);
	double freedom = 1 - 1.0 / job->nodes; /* the level takes its part of the variance */
	for (uint32_t i = 0; i < job->nodes; i++) {
		size_t slot = slot_of(f, job, i);
		double y = without_first(f, job, g, i) - level, r = y - f->effect[slot];
		double w = huber(r, g->noise) * freedom / (g->noise * g->noise);
		f->sum[slot] += w * y;
		f->weight[slot] += w;
		f->jobs[slot]++;
		g->sum_abs += fmin(fabs(r), 2 * HUBER * g->noise) / sqrt(freedom);
		g->n++;
		if (i == 0) {
			struct offset *o = &f->programs.at[g->program];
			o->sum += fmax(-3 * HUBER * g->noise, fmin(3 * HUBER * g->noise, r)) / freedom + o->first;
			o->n++;
		}
	}
}

static void end_round(struct fit *f, bool with_nodes)
{
	for (size_t i = 0; i < f->groups.n; i++) {
		struct group *g = &f->groups.at[i];
		if (g->n > 0)
			g->noise = fmax(NOISE_LEAST, NORMAL_MEAN * g->sum_abs / g->n);
		g->sum_abs = g->n = 0;
	}
	for (size_t i = 0; i < f->programs.n; i++) {
		struct offset *o = &f->programs.at[i];
		if (o->n > 0)
			o->first = o->sum / (o->n + FIRST_PRIOR);
		o->sum = o->n = 0;
	}
	for (size_t i = 0; with_nodes && i < 2 * f->s->names.n; i++)
		f->effect[i] = f->weight[i] > 0 ? f->sum[i] / f->weight[i] : 0;
}

/* Only differences are known: the ordinary node is the measure. */
static void centre(struct fit *f, double *room)
{
	size_t n = 0;
	for (size_t i = 0; i < f->s->names.n; i++)
		if (f->jobs[i] >= NODE_JOBS)
			room[n++] = f->effect[i];
	double middle = sort_median(room, n);
	for (size_t i = 0; i < 2 * f->s->names.n; i++)
		f->effect[i] -= middle;
}

static void iterate(struct fit *f, int rounds, int first_rounds, double *room)
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

/* ---- changes ---- */

/* What one job says of a node. */
struct trace {
	float value, weight; /* what is left, held to HUBER standard deviations of its kind */
	uint32_t job, group;
};

struct traces {
	struct trace *all; /* by node, in the order of jobs */
	size_t *first;	   /* of each node, and the end */
};

static void add_traces(const struct fit *f, const struct scan_job *job, struct traces *t)
{
	const struct group *g = &f->groups.at[f->group[number_of(f, job)]];
	double level = level_of(f, job, g), most = HUBER * g->noise;
	for (uint32_t i = 0; i < job->nodes; i++) {
		double r = without_first(f, job, g, i) - level - node_of(f, job, i);
		double freedom = 1 - 1.0 / job->nodes;
		t->all[t->first[f->s->nodes.at[job->first_node + i].node]++] =
			(struct trace){(float)fmax(-most, fmin(most, r)), (float)(freedom / (g->noise * g->noise)),
				       (uint32_t)number_of(f, job), f->group[number_of(f, job)]};
	}
}

static int collect(const struct fit *f, struct traces *ret_t)
{
	size_t n = f->s->names.n;
	struct traces t = {calloc(f->s->nodes.n + 1, sizeof(*t.all)), calloc(n + 1, sizeof(*t.first))};
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
			add_traces(f, &f->s->jobs.at[j], &t);
	memmove(t.first + 1, t.first, n * sizeof(*t.first)); /* each has come to its end, where the next begins */
	t.first[0] = 0;
	return 0;
}

struct two {
	double sum, weight;
};

static double difference_z(const struct two *a, const struct two *b)
{
	return (b->sum / b->weight - a->sum / a->weight) / sqrt(1 / a->weight + 1 / b->weight);
}

/* z of the split before x[k], for each k that leaves NODE_JOBS on either side; 0 elsewhere. The best k, or 0. */
static size_t split(const struct trace *x, size_t n, double *z)
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

static bool is_varied(const struct trace *x, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (x[i].group != x[0].group)
			return true;
	return false;
}

static double mean_of(const struct trace *x, size_t n)
{
	double sum = 0, weight = 0;
	for (size_t i = 0; i < n; i++) {
		sum += (double)x[i].weight * x[i].value;
		weight += x[i].weight;
	}
	return weight > 0 ? sum / weight : 0;
}

/* How much wider z is than it should be: in the middle of their jobs, most nodes do not change. */
static double spread_of_changes(const struct fit *f, const struct traces *t, double *room)
{
	size_t k = 0;
	for (size_t i = 0; i < f->s->names.n; i++) {
		size_t n = t->first[i + 1] - t->first[i];
		const struct trace *x = t->all + t->first[i];
		struct two a = {0, 0}, b = {0, 0};
		for (size_t j = 0; j < n; j++) {
			struct two *to = j < n / 2 ? &a : &b;
			to->sum += (double)x[j].weight * x[j].value;
			to->weight += x[j].weight;
		}
		if (n >= 2 * NODE_JOBS)
			room[k++] = fabs(difference_z(&a, &b));
	}
	return fmax(1, NORMAL_MEDIAN * sort_median(room, k));
}

struct judging {
	double spread, tests; /* tests: how many splits there are of all nodes */
	double *z;
};

/* Where x changes, or 0; z has that of each split then. */
static size_t find_split(const struct judging *g, const struct trace *x, size_t n, double *ret_p)
{
	size_t k = n >= 2 * NODE_JOBS ? split(x, n, g->z) : 0;
	double p = k > 0 ? erfc(fabs(g->z[k]) / g->spread / M_SQRT2) * g->tests : 1;
	bool varied = is_varied(x + k, n - k) || !is_varied(x, n);
	if (p > NODE_CHANGE_P || !varied || fabs(mean_of(x + k, n - k) - mean_of(x, k)) < NODE_LEAST)
		return 0;
	*ret_p = p;
	return k;
}

/* The last change of a node, and how sure it is: splits that are as likely (by the ratio of likelihoods) bound when. */
static void last_change(struct fit *f, const struct judging *g, const struct trace *x, size_t n, size_t node,
			struct node_effect *e)
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

static int find_changes(struct fit *f, struct node_effect *e, double *room)
{
	struct traces t;
	size_t longest = 0;
	int rc = collect(f, &t);
	struct judging g = {1, 1, NULL};
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
		last_change(f, &g, t.all + t.first[i], t.first[i + 1] - t.first[i], i, &e[i]);
	free(g.z);
	free(t.all);
	free(t.first);
	return rc;
}

/* ---- what follows ---- */

/* How much wider than a standard normal the z of ordinary nodes are. */
static double spread_of(const struct node_effect *x, size_t n, double *room)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++)
		if (x[i].jobs >= NODE_JOBS)
			room[k++] = fabs(x[i].z);
	return fmax(1, NORMAL_MEDIAN * sort_median(room, k));
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

/* q of the i-th smallest p is the least p n/i from there on. */
static int judge(struct node_effect *x, size_t n)
{
	struct place *order = calloc(n, sizeof(*order));
	size_t k = 0;
	double q = 1;
	if (order == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (x[i].jobs >= NODE_JOBS)
			order[k++] = (struct place){erfc(x[i].z / M_SQRT2) / 2, i};
	qsort(order, k, sizeof(*order), by_p);
	for (size_t i = k; i > 0; i--) {
		struct node_effect *e = &x[order[i - 1].at];
		q = fmin(q, order[i - 1].p * (double)k / (double)i);
		e->q = q;
		e->suspected = q <= NODE_RATE && e->effect >= NODE_LEAST;
	}
	free(order);
	return 0;
}

static void give(const struct fit *f, struct node_effect *x, double *room)
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

/* Those first in which the node stands out most, measured in the noise of their kind. */
static void add_evidence(const struct fit *f, struct node_effect *x, double *score)
{
	for (size_t j = 0; j < f->s->jobs.n; j++) {
		const struct scan_job *job = &f->s->jobs.at[j];
		const struct group *g = &f->groups.at[f->group[j]];
		double level = job->nodes > 1 ? level_of(f, job, g) : 0;
		for (uint32_t i = 0; job->nodes > 1 && i < job->nodes; i++) {
			uint32_t node = f->s->nodes.at[job->first_node + i].node;
			struct node_effect *n = &x[node];
			double y = without_first(f, job, g, i) - level, z = y / g->noise;
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

static void add_costs(const struct fit *f, struct node_effect *x)
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

static void fit_done(struct fit *f)
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
	struct fit f = {.s = s};
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
		rc = find_changes(&f, x, room);
	}
	if (rc == 0) {
		iterate(&f, ROUNDS_AGAIN, 0, room);
		give(&f, x, room);
		rc = judge(x, s->names.n);
		add_evidence(&f, x, room);
		add_costs(&f, x);
	}
	fit_done(&f);
	free(room);
	if (rc < 0)
		free(x);
	else
		*ret_effects = x;
	return rc;
}
