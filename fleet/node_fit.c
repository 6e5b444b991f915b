/* node_fit.c - see node_fit.h. */
#include "fleet/node_fit.h"

#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NOISE_LEAST 0.002  /* no program is more even than clocks and kernels are */
#define FIRST_PRIOR 4.0	   /* so many jobs' worth of doubt that a program has a master */
#define NOISE_PRIOR 4.0	   /* so many deviations' worth of doubt that a user runs a program as evenly as others */
#define NORMAL_MEAN 1.2533 /* standard deviation over mean absolute deviation of a normal one */

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
		f->square[slot] += w * w * r * r / (freedom * freedom);
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

/* Two nodes of which a program has its only jobs take all that is left of these: without a prior that would count as a
 * program that is always even, and decide what is said of both. */
static void learn_noise(struct node_fit *f)
{
	double sum = 0, n = 0;
	for (size_t i = 0; i < f->groups.n; i++) {
		struct node_offset *o = &f->programs.at[f->groups.at[i].program];
		o->sum_abs += f->groups.at[i].sum_abs;
		o->deviations += f->groups.at[i].n;
		sum += f->groups.at[i].sum_abs;
		n += f->groups.at[i].n;
	}
	for (size_t i = 0; i < f->groups.n; i++) {
		struct node_group *g = &f->groups.at[i];
		const struct node_offset *o = &f->programs.at[g->program];
		double of_program = n > 0 ? (o->sum_abs + NOISE_PRIOR * sum / n) / (o->deviations + NOISE_PRIOR) : 0;
		if (g->n > 0)
			g->noise = fmax(NOISE_LEAST,
					NORMAL_MEAN * (g->sum_abs + NOISE_PRIOR * of_program) / (g->n + NOISE_PRIOR));
		g->sum_abs = g->n = 0;
	}
	for (size_t i = 0; i < f->programs.n; i++)
		f->programs.at[i].sum_abs = f->programs.at[i].deviations = 0;
}

static void end_round(struct node_fit *f, bool with_nodes)
{
	learn_noise(f);
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

void node_fit_iterate(struct node_fit *f, int rounds, int first_rounds, double *room)
{
	size_t n = 2 * f->s->names.n;
	for (int round = 0; round < rounds; round++) {
		memset(f->sum, 0, n * sizeof(*f->sum));
		memset(f->weight, 0, n * sizeof(*f->weight));
		memset(f->square, 0, n * sizeof(*f->square));
		memset(f->jobs, 0, n * sizeof(*f->jobs));
		for (size_t j = 0; j < f->s->jobs.n; j++)
			if (f->s->jobs.at[j].nodes > 1)
				add_job(f, &f->s->jobs.at[j], &f->groups.at[f->group[j]]);
		end_round(f, round >= first_rounds);
		centre(f, room);
	}
}

int node_fit_begin(struct node_fit *f, const struct scan *s)
{
	size_t n = s->names.n + 1;
	*f = (struct node_fit){.s = s};
	f->group = calloc(s->jobs.n + 1, sizeof(*f->group));
	f->value = calloc(s->nodes.n + 1, sizeof(*f->value));
	f->effect = calloc(2 * n, sizeof(*f->effect));
	f->sum = calloc(2 * n, sizeof(*f->sum));
	f->weight = calloc(2 * n, sizeof(*f->weight));
	f->square = calloc(2 * n, sizeof(*f->square));
	f->jobs = calloc(2 * n, sizeof(*f->jobs));
	f->since = malloc(n * sizeof(*f->since));
	if (f->group == NULL || f->value == NULL || f->effect == NULL || f->sum == NULL || f->weight == NULL ||
	    f->square == NULL || f->jobs == NULL || f->since == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->nodes.n; i++)
		f->value[i] = (float)log1p(fmax(-0.99, s->nodes.at[i].deviation));
	memset(f->since, 0xff, n * sizeof(*f->since));
	return group_jobs(f);
}

void node_fit_done(struct node_fit *f)
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
	free(f->square);
	free(f->jobs);
	free(f->since);
}
