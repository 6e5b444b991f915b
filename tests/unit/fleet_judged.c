/* fleet_judged.c - what is said of nodes, beside what their numbers say by the books: intervals, rates of false
 * discoveries, costs; and that the database has what was found. */
#include "fleet_number.h"

#include "fleet/estimate.h"
#include "fleet/nodes.h"
#include "fleet/samples.h"

#include "base/sort.h"

#include "tests/unit/chance.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 30
#define JOBS 900
#define SLOW 7
#define BECAME_SLOW 11
#define CHANGED 600 /* the job since which it is */
#define DAY 20000u

/* Jobs on three nodes each, two programs of two users. Rank 0 of program 2 is a master, and its ranks are less even. */
static struct scan site(void)
{
	struct scan s = {0};
	uint64_t state = 3;
	for (uint32_t i = 0; i < NODES; i++)
		cr_assert_eq(vec_push(&s.names, 100 + i), 0);
	for (uint32_t j = 0; j < JOBS; j++) {
		struct scan_job job = {.id = j + 1,
				       .program = 1 + j % 2,
				       .user = 5 + j / 2 % 2,
				       .ranks = 16,
				       .start = DAY * 86400 + 3600 * j,
				       .day = DAY + j / 24,
				       .first_node = (uint32_t)s.nodes.n,
				       .nodes = 3,
				       .core_hours = 2,
				       .parallel = 0.8F};
		double value[3], mean = 0;
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t node = (j * 7 + i * (1 + j / NODES % 14)) % NODES;
			double slow = node == SLOW ? 0.1 : node == BECAME_SLOW && j >= CHANGED ? 0.2 : 0;
			value[i] = (1 + 0.01 * job.program * chance(&state)) * (1 + slow) *
				   (i == 0 && job.program == 2 ? 1.3 : 1);
			mean += value[i] / 3;
			cr_assert_eq(vec_push(&s.nodes, (struct scan_node){.node = node}), 0);
		}
		for (uint32_t i = 0; i < 3; i++)
			s.nodes.at[job.first_node + i].deviation = (float)(value[i] / mean - 1);
		cr_assert_eq(vec_push(&s.jobs, job), 0);
	}
	s.day_end = DAY + JOBS / 24 + 1;
	return s;
}

static struct node_effect *judged(const struct scan *s)
{
	struct node_effect *x = NULL;
	cr_assert_eq(nodes_estimate(s, &x), 0);
	return x;
}

/* ---- by the books ---- */

Test(fleet_judged, slow_nodes_are_told_from_masters_with_their_times)
{
	struct scan s = site();
	struct node_effect *x = judged(&s);
	for (uint32_t i = 0; i < NODES; i++) {
		bool slow = i == SLOW || i == BECAME_SLOW;
		cr_expect_eq(x[i].suspected, slow, "node %u: %.3f", i, x[i].effect);
		cr_expect_float_eq(x[i].effect,
				   i == SLOW ? 0.1
				   : slow    ? 0.2
					     : 0,
				   0.01, "node %u: %.4f", i, x[i].effect);
		cr_expect_eq(x[i].since > 0, i == BECAME_SLOW, "node %u", i);
		cr_expect_eq(x[i].jobs, i == BECAME_SLOW ? (JOBS - CHANGED) / 10 : JOBS / 10, "node %u: %u", i,
			     x[i].jobs);
	}
	double when = DAY * 86400.0 + 3600.0 * CHANGED;
	cr_expect(x[BECAME_SLOW].since >= when && x[BECAME_SLOW].since < when + NODES * 3600,
		  "its first job since then");
	cr_expect(x[BECAME_SLOW].since_low < x[BECAME_SLOW].since && x[BECAME_SLOW].since_high >= x[BECAME_SLOW].since);
	cr_expect_float_eq(x[BECAME_SLOW].before, 0, 0.01);
	free(x);
	scan_done(&s);
}

Test(fleet_judged, an_interval_is_as_wide_as_z_says)
{
	struct scan s = site();
	struct node_effect *x = judged(&s);
	double z[NODES];
	for (uint32_t i = 0; i < NODES; i++) {
		double error = log1p(x[i].effect) / x[i].z;
		cr_expect_float_eq(log1p(x[i].high) - log1p(x[i].effect), 1.959964 * error, 1e-6, "node %u", i);
		cr_expect_float_eq(log1p(x[i].effect) - log1p(x[i].low), 1.959964 * error, 1e-6, "node %u", i);
		z[i] = fabs(x[i].z);
	}
	/* Half of the nodes, which are as they should be, are within what a normal one is half of the times. */
	cr_expect_leq(sort_median(z, NODES), 0.6745 + 1e-3);
	free(x);
	scan_done(&s);
}

/* Benjamini and Hochberg: the least p n/i from the i-th smallest p on. */
Test(fleet_judged, q_is_the_rate_of_false_discoveries)
{
	struct scan s = site();
	struct node_effect *x = judged(&s);
	for (uint32_t i = 0; i < NODES; i++) {
		double q = 1;
		for (uint32_t k = 0; k < NODES; k++) {
			double p = erfc(x[k].z / M_SQRT2) / 2, place = 0;
			for (uint32_t m = 0; m < NODES; m++)
				place += erfc(x[m].z / M_SQRT2) / 2 <= p;
			if (x[k].z <= x[i].z)
				q = fmin(q, p * NODES / place);
		}
		cr_expect_float_eq(x[i].q, q, 1e-9 + 1e-6 * q, "node %u: %g instead of %g", i, x[i].q, q);
		cr_expect_eq(x[i].suspected, q <= NODE_RATE && x[i].effect >= NODE_LEAST);
	}
	free(x);
	scan_done(&s);
}

Test(fleet_judged, evidence_is_of_its_jobs_since_then_the_most_striking_first)
{
	struct scan s = site();
	struct node_effect *x = judged(&s);
	for (int k = 0; k < NODE_EVIDENCE; k++) {
		uint32_t j = x[BECAME_SLOW].evidence[k].job;
		cr_assert(j >= CHANGED && j < JOBS);
		bool there = false;
		for (uint32_t i = 0; i < 3; i++)
			there |= s.nodes.at[s.jobs.at[j].first_node + i].node == BECAME_SLOW;
		cr_expect(there, "it ran there");
		cr_expect(x[BECAME_SLOW].evidence[k].deviation > 0.1F);
		for (int m = 0; m < k; m++) {
			const struct scan_job *a = &s.jobs.at[x[BECAME_SLOW].evidence[m].job], *b = &s.jobs.at[j];
			if (a->program == b->program && a->user == b->user)
				cr_expect_geq(x[BECAME_SLOW].evidence[m].deviation,
					      x[BECAME_SLOW].evidence[k].deviation);
		}
	}
	cr_expect_eq(x[0].evidence[0].job, UINT32_MAX, "of others there is none");
	free(x);
	scan_done(&s);
}

Test(fleet_judged, costs_are_of_all_its_jobs_since_then)
{
	struct scan s = site();
	struct node_effect *x = judged(&s);
	cr_expect_float_eq(x[SLOW].lost,
			   JOBS / 10 * 2 * fmin(0.8 * x[SLOW].effect, x[SLOW].effect / (1 + x[SLOW].effect)), 1e-4);
	cr_expect_float_eq(
		x[BECAME_SLOW].lost,
		x[BECAME_SLOW].jobs * 2 *
			fmin(0.8 * x[BECAME_SLOW].effect, x[BECAME_SLOW].effect / (1 + x[BECAME_SLOW].effect)),
		1e-4);
	free(x);
	scan_done(&s);
}

/* Twenty jobs of each of 30 nodes by two at a time, and a program of which those two have the only one. */
Test(fleet_judged, a_job_of_two_nodes_fits_them_and_says_little)
{
	struct scan s = {0};
	uint64_t state = 13;
	for (uint32_t i = 0; i < NODES; i++)
		cr_assert_eq(vec_push(&s.names, 100 + i), 0);
	for (uint32_t j = 0; j <= 10 * NODES; j++) {
		bool last = j == 10 * NODES;
		uint32_t two[2] = {last ? 2 : j % NODES, last ? 3 : (j + 1 + j / NODES) % NODES};
		float apart = (float)(last ? 0.015 : 0.02 * chance(&state));
		struct scan_job job = {.id = j + 1,
				       .program = last ? 2 : 1,
				       .user = 5,
				       .ranks = 16,
				       .start = DAY * 86400 + 3600 * j,
				       .day = DAY + j / 24,
				       .first_node = (uint32_t)s.nodes.n,
				       .nodes = 2,
				       .core_hours = 2,
				       .parallel = 0.8F};
		cr_assert_eq(vec_push(&s.nodes, ((struct scan_node){two[0], apart})), 0);
		cr_assert_eq(vec_push(&s.nodes, ((struct scan_node){two[1], -apart})), 0);
		cr_assert_eq(vec_push(&s.jobs, job), 0);
	}
	struct node_effect *x = judged(&s);
	for (uint32_t i = 0; i < NODES; i++)
		cr_expect(!x[i].suspected, "node %u: %.3f, z %.1f", i, x[i].effect, x[i].z);
	free(x);
	scan_done(&s);
}

/* Four nodes a job, each fourth of an even program, in which a node is far off: always, or in two of three jobs. */
static struct scan with_far_off(bool always)
{
	struct scan s = {0};
	uint64_t state = 17;
	uint32_t seen = 0;
	for (uint32_t i = 0; i < NODES; i++)
		cr_assert_eq(vec_push(&s.names, 100 + i), 0);
	for (uint32_t j = 0; j < 3 * NODES; j++) {
		bool even = j % 4 == 0;
		struct scan_job job = {.id = j + 1,
				       .program = even ? 1 : 2,
				       .user = 5,
				       .ranks = 16,
				       .start = DAY * 86400 + 3600 * j,
				       .day = DAY + j / 24,
				       .first_node = (uint32_t)s.nodes.n,
				       .nodes = 4,
				       .core_hours = 2,
				       .parallel = 0.8F};
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t node = (j + i * (1 + j / NODES)) % NODES;
			bool far = even && node == SLOW && (seen++ % 3 != 2 || always);
			double noise = (even ? 0.01 : 0.08) * chance(&state);
			struct scan_node n = {node, (float)(noise + (far ? 0.09 : 0))};
			cr_assert_eq(vec_push(&s.nodes, n), 0);
		}
		cr_assert_eq(vec_push(&s.jobs, job), 0);
	}
	return s;
}

Test(fleet_judged, two_jobs_that_are_far_off_make_no_slow_node)
{
	for (int always = 0; always < 2; always++) {
		struct scan s = with_far_off(always);
		struct node_effect *x = judged(&s);
		cr_expect_eq(x[SLOW].jobs, 12);
		cr_expect_eq(x[SLOW].suspected, always, "%d: %.3f, z %.1f, q %g", always, x[SLOW].effect, x[SLOW].z,
			     x[SLOW].q);
		free(x);
		scan_done(&s);
	}
}

Test(fleet_judged, four_jobs_tell_nothing_and_five_do)
{
	for (uint32_t n = NODE_JOBS - 1; n <= NODE_JOBS; n++) {
		struct scan s = {0};
		for (uint32_t i = 0; i < 40; i++)
			cr_assert_eq(vec_push(&s.names, i + 1), 0);
		for (uint32_t j = 0; j < 20 * n; j++) {
			struct scan_job job = {.id = j + 1,
					       .program = 1,
					       .user = 2,
					       .start = DAY * 86400 + j,
					       .day = DAY,
					       .first_node = (uint32_t)s.nodes.n,
					       .nodes = 2,
					       .core_hours = 1,
					       .parallel = 0.8F};
			double slow = j % 20 == 3 ? 0.3 : 0;
			cr_assert_eq(vec_push(&s.nodes, ((struct scan_node){2 * (j % 20), (float)(slow / 2)})), 0);
			cr_assert_eq(vec_push(&s.nodes, ((struct scan_node){2 * (j % 20) + 1, (float)(-slow / 2)})), 0);
			cr_assert_eq(vec_push(&s.jobs, job), 0);
		}
		struct node_effect *x = judged(&s);
		cr_expect_eq(x[6].jobs, n);
		cr_expect_eq(x[6].suspected, n == NODE_JOBS);
		cr_expect(n == NODE_JOBS || x[6].q == 1);
		free(x);
		scan_done(&s);
	}
}

/* ---- one job ---- */

Test(fleet_judged, a_job_would_have_saved_what_the_others_waited_at_most)
{
	static const struct {
		double effect, since;
		uint32_t nodes, start;
		double parallel, others, cost;
	} rows[] = {
		{0.25, 0, 2, 100, 0.5, 0, 12.5},   {0.25, 0, 2, 100, 1, 0, 20},	  {0.25, 0, 2, 100, NAN, 0, 20},
		{0.25, 0, 2, 100, 0.5, 1, 25},	   {0.25, 0, 1, 100, 0.5, 0, 0},  {0.25, 101, 2, 100, 0.5, 0, 0},
		{0.25, 100, 2, 100, 0.5, 0, 12.5}, {-0.25, 0, 2, 100, 0.5, 0, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct node_effect n = {.effect = rows[i].effect, .since = rows[i].since};
		struct scan_job job = {.nodes = rows[i].nodes,
				       .start = rows[i].start,
				       .parallel = (float)rows[i].parallel,
				       .core_hours = 100,
				       .others = (float)rows[i].others};
		cr_expect_float_eq(node_cost(&n, &job), rows[i].cost, 1e-9, "row %zu: %f", i, node_cost(&n, &job));
	}
}

Test(fleet_judged, who_waited_for_a_slow_node_is_charged_until_the_next_one_would_have_come)
{
	static const struct {
		float deviation[3];
		uint32_t start;
		double slowed; /* nodes 0 and 1 are slow, by 0.1, and by 0.3 since 50; node 2 is not */
	} rows[] = {
		{{0.2F, -0.5F, 0}, 100, 0.0953},  /* by no more than it is slow */
		{{0.05F, -0.5F, 0}, 100, 0.0488}, /* until the other one came */
		{{0.05F, -0.5F, 0.2F}, 100, 0},	  /* another one was slower */
		{{0.1F, 0.2F, 0}, 100, 0.1823},	  /* the slower one of two counts */
		{{0.1F, 0.2F, 0}, 49, 0},	  /* before it was */
		{{-0.1F, 0.15F, 0}, 50, 0.1398},
	};
	const struct node_effect effects[3] = {
		{.suspected = true, .effect = 0.1}, {.suspected = true, .effect = 0.3, .since = 50}, {.effect = 0.5}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scan s = {0};
		cr_assert_eq(vec_push(&s.jobs, ((struct scan_job){.nodes = 3, .start = rows[i].start})), 0);
		for (uint32_t k = 0; k < 3; k++)
			cr_assert_eq(vec_push(&s.nodes, ((struct scan_node){k, rows[i].deviation[k]})), 0);
		nodes_charge(&s, effects);
		cr_expect_float_eq((double)s.jobs.at[0].slowed, rows[i].slowed, 1e-4, "row %zu: %f", i,
				   (double)s.jobs.at[0].slowed);
		scan_done(&s);
	}
}

Test(fleet_judged, where_all_nodes_are_slow_nobody_waited)
{
	const struct node_effect effects[1] = {{.suspected = true, .effect = 0.1}};
	struct scan s = {0};
	cr_assert_eq(vec_push(&s.jobs, ((struct scan_job){.nodes = 1})), 0);
	cr_assert_eq(vec_push(&s.nodes, ((struct scan_node){0, 0.2F})), 0);
	nodes_charge(&s, effects);
	cr_expect_eq(s.jobs.at[0].slowed, 0);
	scan_done(&s);
}

/* ---- in the database ---- */

static void name_nodes(struct fleet *f)
{
	struct error e = {""};
	for (uint32_t i = 0; i < NODES; i++) {
		char *sql = sqlite3_mprintf("INSERT INTO names VALUES(%u, 7, 'n%u')", 100 + i, i);
		cr_assert_eq(fleet_run(f, sql, &e), 0, "%s", e.text);
		sqlite3_free(sql);
	}
}

/* The jobs of site(), and a program that became worse on day 25. */
static struct fleet kept(void)
{
	struct fleet f;
	struct error e = {""};
	struct scan s = site();
	char *sql;
	cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
	cr_assert_eq(
		fleet_run(
			&f,
			"BEGIN; INSERT INTO names VALUES(1,4,'p'),(2,4,'q'),(5,1,'u'),(6,1,'v'),(7,5,'b1'),(8,5,'b2')",
			&e),
		0, "%s", e.text);
	name_nodes(&f);
	for (size_t j = 0; j < s.jobs.n; j++) {
		const struct scan_job *x = &s.jobs.at[j];
		char hex[40] = "";
		for (uint32_t i = 0; i < 3; i++) {
			const struct scan_node *n = &s.nodes.at[x->first_node + i];
			unsigned raw = (unsigned)(uint16_t)(int16_t)lround((double)n->deviation * 1e4),
				 name = 100 + n->node;
			snprintf(hex + strlen(hex), sizeof(hex) - strlen(hex), name < 128 ? "%02x" : "%02x01",
				 name < 128 ? name : name - 128 + 128);
			snprintf(hex + strlen(hex), sizeof(hex) - strlen(hex), "%02x%02x", raw & 255, raw >> 8);
		}
		bool worse = x->program == 1 && x->day >= DAY + 25;
		sql = sqlite3_mprintf(
			"INSERT INTO jobs(key, cluster, job, user, account, partition, program, build, mpi, nodes, "
			"ranks, start,"
			" elapsed_s, core_hours, useful, wait, parallel, issue, loss_core_hours, complete) "
			"VALUES('%d',0,'j',%u,0,0,%u,"
			"%d,0,3,16,%u,60,2,0.5,0.1,%f,0,0,1); INSERT INTO runs VALUES(last_insert_rowid(), x'%s')",
			(int)j, x->user, x->program, worse ? 8 : 7, x->start,
			(worse ? 0.6 : 0.8) * (1 + 0.001 * (double)(j % 5)), hex);
		cr_assert_eq(fleet_run(&f, sql, &e), 0, "%s", e.text);
		sqlite3_free(sql);
	}
	scan_done(&s);
	cr_assert_eq(fleet_run(&f, "COMMIT", &e), 0, "%s", e.text);
	cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
	return f;
}

static void expect_near(struct fleet *f, const char *what, uint32_t node, double value)
{
	char sql[200];
	snprintf(sql, sizeof(sql), "SELECT %s FROM node_effects WHERE node=%u", what, node);
	double is = number_of(f, sql, -99);
	cr_expect_float_eq(is, value, 1e-9 * (1 + fabs(value)), "%s of %u: %.12g instead of %.12g", what, node, is,
			   value);
}

static double days_with(const struct scan *s, uint32_t name)
{
	double n = 0;
	uint32_t last = 0;
	for (size_t j = 0; j < s->jobs.n; j++)
		for (uint32_t i = 0; i < s->jobs.at[j].nodes; i++)
			if (s->names.at[s->nodes.at[s->jobs.at[j].first_node + i].node] == name) {
				n += s->jobs.at[j].day != last;
				last = s->jobs.at[j].day;
			}
	return n;
}

Test(fleet_judged, the_database_has_what_was_found)
{
	struct fleet f = kept();
	struct scan s;
	struct error e = {""};
	cr_assert_eq(scan_load(&f, &s, &e), 0, "%s", e.text);
	struct node_effect *x = judged(&s);
	double lost = 0;
	for (size_t i = 0; i < s.names.n; i++) {
		const struct node_effect *n = &x[i];
		uint32_t node = s.names.at[i];
		expect_near(&f, "effect", node, n->effect);
		expect_near(&f, "low", node, n->low);
		expect_near(&f, "high", node, n->high);
		expect_near(&f, "z", node, n->z);
		expect_near(&f, "q", node, n->q);
		expect_near(&f, "jobs", node, n->jobs);
		expect_near(&f, "suspected", node, n->suspected);
		expect_near(&f, "lost", node, n->lost);
		expect_near(&f, "before", node, n->before);
		expect_near(&f, "change_p", node, n->since > 0 ? n->change_p : 1);
		expect_near(&f, "ifnull(since, 0)", node, n->since);
		expect_near(&f, "ifnull(since_low, 0)", node, n->since_low);
		expect_near(&f, "ifnull(since_high, 0)", node, n->since_high);
		lost += n->suspected ? n->lost : 0;
		for (int k = 0; k < NODE_EVIDENCE && n->suspected; k++) {
			char sql[200];
			snprintf(sql, sizeof(sql), "SELECT job FROM node_jobs WHERE node=%u AND place=%d", node, k);
			cr_expect_eq(number_of(&f, sql, -1), (double)s.jobs.at[n->evidence[k].job].id);
			snprintf(sql, sizeof(sql), "SELECT deviation FROM node_jobs WHERE node=%u AND place=%d", node,
				 k);
			cr_expect_float_eq(number_of(&f, sql, -1), (double)n->evidence[k].deviation, 1e-6);
		}
	}
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM node_effects", 0), NODES);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM node_effects WHERE suspected", 0), 2);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM node_jobs", 0), 2 * NODE_EVIDENCE);
	cr_expect_float_eq(number_of(&f, "SELECT total(lost) FROM node_days", 0), lost, 1e-6);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM node_days WHERE node=107", 0), days_with(&s, 107));
	cr_expect_eq(number_of(&f, "SELECT min(day) FROM node_days WHERE node=111", 0), DAY + CHANGED / 24);
	free(x);
	scan_done(&s);
	fleet_close(&f);
}

/* Its new build came that day. */
Test(fleet_judged, changes_versions_and_sums_are_there)
{
	struct fleet f = kept();
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM changes", 0), 1);
	cr_expect_eq(number_of(&f, "SELECT day FROM changes WHERE program=1", 0), DAY + 25);
	cr_expect_float_eq(number_of(&f, "SELECT before FROM changes", 0), 0.8, 0.01);
	cr_expect_float_eq(number_of(&f, "SELECT after FROM changes", 0), 0.6, 0.01);
	cr_expect_float_eq(number_of(&f, "SELECT change FROM changes", 0), -0.25, 0.03);
	cr_expect_eq(
		number_of(
			&f,
			"SELECT low<change AND change<high AND p<0.01 AND day_low<=day AND day<=day_high FROM changes",
			0),
		1);
	cr_expect_eq(number_of(&f, "SELECT jobs_before FROM changes", 0), 300);
	cr_expect_eq(number_of(&f, "SELECT jobs_after FROM changes", 0), 150);
	cr_expect_float_eq(number_of(&f, "SELECT hours_since FROM changes", 0), 150 * 2 * 0.25, 8);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM change_with WHERE text='build b2 in place of b1'", 0), 1);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM program_versions WHERE program=1", 0), 2);
	cr_expect_eq(number_of(&f, "SELECT first/86400 FROM program_versions WHERE program=1 AND build=8", 0),
		     DAY + 25);
	cr_expect_eq(number_of(&f, "SELECT jobs FROM user_programs WHERE user=5 AND program=2", 0), JOBS / 4);
	cr_expect_eq(number_of(&f, "SELECT total(jobs) FROM day_sums", 0), JOBS);
	cr_expect_eq(number_of(&f, "SELECT total(core_hours) FROM weeks WHERE name=1", 0), JOBS);
	cr_expect_eq(
		number_of(&f,
			  "SELECT jobs=(SELECT count(*) FROM jobs) AND last=(SELECT max(id) FROM jobs) FROM estimated",
			  0),
		1);
	fleet_close(&f);
}

/* Few jobs, far from alike, as tests/unit/changes.c has them: of so many programs one would look so by chance, and
 * not on the day on which a build came that seven jobs have. */
Test(fleet_judged, a_build_of_seven_jobs_makes_a_change_surer)
{
	for (int newer = 0; newer < 3; newer++) {
		struct fleet f;
		struct error e = {""};
		cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
		char *sql = sqlite3_mprintf(
			"BEGIN; CREATE TEMP TABLE i(n); WITH RECURSIVE k(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM k "
			"WHERE n<5999) INSERT INTO i"
			" SELECT n FROM k; INSERT INTO jobs(key, cluster, job, user, account, partition, program, "
			"build, mpi, nodes, ranks, start,"
			" elapsed_s, core_hours, useful, wait, parallel, issue, loss_core_hours, complete) SELECT "
			"'a'||n,0,'j',3000,0,0,1000,"
			" CASE WHEN n<12 THEN 0 WHEN n<12+%d THEN 2001 ELSE 2000+n "
			"END,0,1,16,(20000+n)*86400,60,10,0.5,0.1,"
			" CASE WHEN n<12 THEN 0.8 ELSE 0.66 END*(1+0.1*((n*7)%%5-2.0)/2),0,0,1 FROM i WHERE n<24;"
			"INSERT INTO jobs(key, cluster, job, user, account, partition, program, build, mpi, nodes, "
			"ranks, start, elapsed_s, core_hours,"
			" useful, wait, parallel, issue, loss_core_hours, complete) SELECT "
			"'b'||n,0,'j',3001,0,0,1+n/15,0,0,1,16,(20000+n%%15)*86400,"
			"60,10,0.5,0.1,0.8*(1+0.01*((n%%15*7)%%5-2.0)/2),0,0,1 FROM i; COMMIT",
			newer == 0 ? 0 : 5 + newer);
		cr_assert_eq(fleet_run(&f, sql, &e), 0, "%s", e.text);
		sqlite3_free(sql);
		cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
		cr_expect_eq(number_of(&f, "SELECT count(*) FROM changes", 0), newer == 2, "%d: %f", newer,
			     number_of(&f, "SELECT p FROM changes", 0));
		fleet_close(&f);
	}
}

Test(fleet_judged, nothing_is_judged_again_while_no_job_comes)
{
	struct fleet f = kept();
	struct error e = {""};
	cr_assert_eq(fleet_run(&f, "DELETE FROM changes", &e), 0);
	cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM changes", -1), 0);
	cr_assert_eq(fleet_run(&f, "DELETE FROM jobs WHERE id=1", &e), 0);
	cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM changes", -1), 1);
	fleet_close(&f);
}

Test(fleet_judged, what_cannot_be_judged_leaves_what_was_there)
{
	struct fleet f = kept();
	struct error e = {""};
	cr_assert_eq(fleet_run(&f, "DELETE FROM jobs WHERE id=1; DROP TABLE link_jobs", &e), 0);
	cr_expect_lt(fleet_estimate(&f, &e), 0);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM changes", -1), 1);
	cr_assert_eq(fleet_run(&f, "BEGIN; COMMIT", &e), 0, "%s", e.text);
	fleet_close(&f);
}
