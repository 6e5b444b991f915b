/* node_programs.c - a node that is slow for some programs only is suspected, since when it was, and is told from one
 * whose largest part of one program's input is always there. */
#include "fleet/nodes.h"

#include "tests/unit/chance.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define NODES 30
#define JOBS 2400
#define PROGRAMS 8
#define SLOW 7	   /* for programs of even numbers, */
#define SINCE 1000 /* from this job on */
#define UNEVEN 13  /* where program 3 always has more to do */
#define DAY 20000u

static double longer_by(uint32_t node, uint32_t program, uint32_t job)
{
	if (node == SLOW && program % 2 == 0 && job >= SINCE)
		return 0.2;
	return node == UNEVEN && program == 3 ? 0.2 : 0;
}

static void put_nodes(struct scan *s, struct scan_job *job, uint64_t *state)
{
	double value[3], mean = 0, noise = job->program == 1 ? 0.002 : 0.03;
	uint32_t j = (uint32_t)s->jobs.n;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t node = (j * 7 + i * (1 + j / NODES % 14)) % NODES;
		value[i] = (1 + noise * chance(state)) * (1 + longer_by(node, job->program, j));
		mean += value[i] / 3;
		cr_assert_eq(vec_push(&s->nodes, (struct scan_node){.node = node}), 0);
	}
	for (uint32_t i = 0; i < 3; i++)
		s->nodes.at[job->first_node + i].deviation = (float)(value[i] / mean - 1);
}

/* Of half of the jobs the program is the first one, which is very even. */
static struct scan site(void)
{
	struct scan s = {.day_end = DAY + JOBS / 24 + 1};
	uint64_t state = 5;
	for (uint32_t i = 0; i < NODES; i++)
		cr_assert_eq(vec_push(&s.names, 100 + i), 0);
	for (uint32_t j = 0; j < JOBS; j++) {
		uint32_t other = (uint32_t)lround(2 + (chance(&state) + 6) / 12 * 1e6) % (PROGRAMS - 1) + 2;
		struct scan_job job = {.id = j + 1,
				       .program = chance(&state) < 0 ? 1 : other,
				       .user = 5,
				       .ranks = 16,
				       .start = DAY * 86400 + 3600 * j,
				       .day = DAY + j / 24,
				       .first_node = (uint32_t)s.nodes.n,
				       .nodes = 3,
				       .core_hours = 2,
				       .parallel = 0.8F};
		put_nodes(&s, &job, &state);
		cr_assert_eq(vec_push(&s.jobs, job), 0);
	}
	return s;
}

/* Shares of the jobs of the node since then that are of those programs. */
static double share_of_slow(const struct scan *s)
{
	double slow = 0, all = 0;
	for (size_t j = SINCE; j < s->jobs.n; j++)
		for (uint32_t i = 0; i < 3; i++)
			if (s->nodes.at[s->jobs.at[j].first_node + i].node == SLOW) {
				slow += s->jobs.at[j].program % 2 == 0;
				all++;
			}
	return slow / all;
}

Test(node_programs, slow_for_some_is_suspected_and_uneven_for_one_is_not)
{
	struct scan s = site();
	struct node_effect *x = NULL;
	cr_assert_eq(nodes_estimate(&s, &x), 0);
	for (uint32_t i = 0; i < NODES; i++) {
		cr_expect_eq(x[i].suspected, i == SLOW, "node %u: %.4f, q %g", i, x[i].effect, x[i].q);
		cr_expect(i == SLOW || x[i].programs == 0, "node %u", i);
	}
	const struct node_effect *n = &x[SLOW];
	cr_expect(n->programs >= 3 && n->programs <= PROGRAMS / 2, "one may have too few jobs: %u", n->programs);
	cr_expect(n->others >= 3 && n->others <= PROGRAMS / 2, "%u", n->others);
	cr_expect_float_eq(n->effect, 0.2 * share_of_slow(&s), 0.02, "%.4f instead of %.4f", n->effect,
			   0.2 * share_of_slow(&s));
	cr_expect(n->low < n->effect && n->effect < n->high);
	double when = DAY * 86400.0 + 3600.0 * SINCE;
	cr_expect(fabs(n->since - when) < 5 * 86400, "%.1f days off", (n->since - when) / 86400);
	cr_expect(n->since_low <= when && when <= n->since_high);
	cr_expect_gt(n->lost, 0);
	cr_expect_neq(n->evidence[0].job, UINT32_MAX);
	free(x);
	scan_done(&s);
}
