/* node_programs.c - see node_programs.h. */
#include "fleet/node_programs.h"

#include "base/sort.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SURELY 4.0 /* standard errors by which a program is far below the effect of those that are slow */
#define INTERVAL 1.959964

/* What jobs of a program say of a node. */
struct mean {
	uint32_t jobs;
	bool slow;
	double sum, weight;
};

struct finding {
	struct node_fit *f;
	const struct node_changing *g;
	struct node_traces t;
	struct mean *means; /* of each program; zero but for those seen */
	uint32_t *seen;	    /* programs of the node that is looked at */
	size_t nseen;
	struct node_trace *of_slow; /* room for as many as a node has */
	double *values;		    /* likewise */
	double spread;
};

/* The jobs of a node, from its first one on, or since a change. */
struct jobs {
	const struct node_trace *at;
	size_t n;
};

static struct jobs jobs_of(const struct finding *x, size_t node, uint32_t since)
{
	struct jobs j = {x->t.all + x->t.first[node], x->t.first[node + 1] - x->t.first[node]};
	for (; since != UINT32_MAX && j.n > 0 && j.at->job < since; j.at++)
		j.n--;
	return j;
}

static uint32_t program_of(const struct finding *x, const struct node_trace *t)
{
	return x->f->groups.at[t->group].program;
}

static void sum_by_program(struct finding *x, const struct jobs *j)
{
	while (x->nseen > 0)
		x->means[x->seen[--x->nseen]] = (struct mean){0};
	for (size_t i = 0; i < j->n; i++) {
		const struct node_trace *t = &j->at[i];
		struct mean *m = &x->means[program_of(x, t)];
		double most = NODE_HUBER / sqrt((double)t->weight);
		if (m->jobs++ == 0)
			x->seen[x->nseen++] = program_of(x, t);
		m->sum += (double)t->weight * fmax(-most, fmin(most, (double)t->value));
		m->weight += (double)t->weight;
	}
}

static double z_of(const struct mean *m)
{
	return m->sum / sqrt(m->weight);
}

/* Of n numbers between 0 and 1, that their product is so small: its logarithm is -h. */
static double chance_of_product(double h, size_t n)
{
	double term = exp(-h), sum = 0;
	for (size_t k = 0; k < n; k++) {
		sum += term;
		term *= h / (double)(k + 1);
	}
	return fmin(1, sum);
}

/* That two of its programs find the node slow by chance; marks those that do. NAN where there are not two. */
static double partial_conjunction(struct finding *x)
{
	double least = 1, h = 0;
	size_t m = x->nseen;
	for (size_t i = 0; i < m; i++) {
		struct mean *mean = &x->means[x->seen[i]];
		double p = erfc(z_of(mean) / x->spread / M_SQRT2) / 2;
		mean->slow = mean->jobs >= NODE_JOBS && p * (double)m <= NODE_RATE;
		least = fmin(least, p);
		h -= log(fmax(p, DBL_MIN));
	}
	return m >= 2 ? chance_of_product(h + log(fmax(least, DBL_MIN)), m - 1) : NAN;
}

/* Of all programs of all nodes: most are as they should be. */
static int learn_spread(struct finding *x)
{
	VEC(double) all = {0};
	int rc = 0;
	for (size_t node = 0; node < x->f->s->names.n && rc == 0; node++) {
		struct jobs j = jobs_of(x, node, x->f->since[node]);
		sum_by_program(x, &j);
		for (size_t i = 0; i < x->nseen && rc == 0; i++)
			if (x->means[x->seen[i]].jobs >= NODE_JOBS)
				rc = vec_push(&all, fabs(z_of(&x->means[x->seen[i]])));
	}
	x->spread = fmax(1, NODE_NORMAL_MEDIAN * sort_median(all.at, all.n));
	vec_done(&all);
	return rc;
}

/* In the programs that show it. */
static void find_change(struct finding *x, size_t node, struct node_effect *e)
{
	struct jobs j = jobs_of(x, node, UINT32_MAX);
	size_t n = 0;
	sum_by_program(x, &j);
	partial_conjunction(x);
	for (size_t i = 0; i < j.n; i++)
		if (x->means[program_of(x, &j.at[i])].slow)
			x->of_slow[n++] = j.at[i];
	node_last_change(x->f, x->g, x->of_slow, n, node, e);
}

static double median_of(const struct finding *x, const struct jobs *j, uint32_t program)
{
	size_t n = 0;
	for (size_t i = 0; i < j->n; i++)
		if (program_of(x, &j->at[i]) == program)
			x->values[n++] = (double)j->at[i].value;
	return sort_median(x->values, n);
}

/* Those that are slow, on the mean. */
static double effect_of_slow(const struct finding *x, const struct jobs *j, uint32_t *ret_programs)
{
	double sum = 0, jobs = 0;
	*ret_programs = 0;
	for (size_t i = 0; i < x->nseen; i++) {
		const struct mean *m = &x->means[x->seen[i]];
		if (!m->slow)
			continue;
		sum += m->jobs * median_of(x, j, x->seen[i]);
		jobs += m->jobs;
		++*ret_programs;
	}
	return jobs > 0 ? sum / jobs : 0;
}

static uint32_t count_others(const struct finding *x, double effect)
{
	uint32_t n = 0;
	for (size_t i = 0; i < x->nseen; i++) {
		const struct mean *m = &x->means[x->seen[i]];
		n += !m->slow && m->jobs >= NODE_JOBS &&
		     m->sum / m->weight + SURELY * x->spread / sqrt(m->weight) < effect / 2;
	}
	return n;
}

static void fill(const struct finding *x, const struct jobs *j, struct node_effect *e)
{
	double jobs = 0, sum = 0, squares = 0;
	for (size_t i = 0; i < x->nseen; i++) {
		double n = x->means[x->seen[i]].jobs, median = median_of(x, j, x->seen[i]);
		jobs += n;
		sum += n * median;
	}
	for (size_t i = 0; i < x->nseen; i++)
		squares += pow(x->means[x->seen[i]].jobs * (median_of(x, j, x->seen[i]) - sum / jobs), 2);
	double half = INTERVAL * sqrt(squares) / jobs;
	e->effect = expm1(sum / jobs);
	e->low = fmax(-1, expm1(sum / jobs - half));
	e->high = fmin(1000, expm1(sum / jobs + half));
	e->jobs = (uint32_t)jobs;
}

/* One that is suspected may be slow for some programs only; one that is not, too: p is of that. */
static double fit_node(struct finding *x, size_t node, struct node_effect *e)
{
	struct jobs j = jobs_of(x, node, x->f->since[node]);
	sum_by_program(x, &j);
	double p = partial_conjunction(x);
	if (!e->suspected && !(p <= NODE_RATE))
		return p;
	if (!e->suspected) {
		find_change(x, node, e);
		j = jobs_of(x, node, x->f->since[node]);
		sum_by_program(x, &j);
		p = partial_conjunction(x);
	}
	uint32_t programs, others = count_others(x, effect_of_slow(x, &j, &programs));
	if (!e->suspected || (programs >= 2 && others >= 2)) {
		e->programs = programs;
		e->others = others;
		fill(x, &j, e);
	}
	return e->suspected ? NAN : p;
}

static int fit_nodes(struct finding *x, struct node_effect *e, double *p)
{
	size_t longest = 0;
	for (size_t i = 0; i < x->f->s->names.n; i++)
		longest = x->t.first[i + 1] - x->t.first[i] > longest ? x->t.first[i + 1] - x->t.first[i] : longest;
	x->means = calloc(x->f->programs.n + 1, sizeof(*x->means));
	x->seen = calloc(x->f->programs.n + 1, sizeof(*x->seen));
	x->of_slow = calloc(longest + 1, sizeof(*x->of_slow));
	x->values = calloc(longest + 1, sizeof(*x->values));
	if (x->means == NULL || x->seen == NULL || x->of_slow == NULL || x->values == NULL || learn_spread(x) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < x->f->s->names.n; i++)
		p[i] = fit_node(x, i, &e[i]);
	return 0;
}

int node_programs_find(struct node_fit *f, const struct node_changing *g, struct node_effect *x, double *p)
{
	struct finding l = {.f = f, .g = g};
	int rc = node_traces_collect(f, NODE_WHOLE, &l.t);
	if (rc == 0)
		rc = fit_nodes(&l, x, p);
	node_traces_done(&l.t);
	free(l.means);
	free(l.seen);
	free(l.of_slow);
	free(l.values);
	return rc;
}
