/* fleet_concurrent.c - who ran beside whom on a switch, and for how long: of jobs by chance as one asks pair by pair,
 * and of so many that nobody can know. */
#include "fleet/concurrent.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define NODES 100u
#define PROGRAMS 6u
#define DAY_S 86400u

struct place {
	struct scan s;
	uint32_t switch_of[NODES]; /* of each node */
};

/* Of so many nodes, each on a switch of its own. */
static void begin(struct place *p, uint32_t nodes)
{
	*p = (struct place){0};
	for (uint32_t i = 0; i < nodes; i++) {
		cr_assert_eq(vec_push(&p->s.names, i + 1), 0);
		p->switch_of[i] = i + 1;
	}
}

/* On nodes [first, first + n), modulo their number. */
static void add(struct place *p, uint32_t program, uint32_t start, float elapsed_s, uint32_t first, uint32_t n)
{
	struct scan_job job = {.program = program,
			       .ranks = 8,
			       .start = start,
			       .day = start / DAY_S,
			       .elapsed_s = elapsed_s,
			       .first_node = (uint32_t)p->s.nodes.n,
			       .nodes = n};
	for (uint32_t i = 0; i < n; i++) {
		struct scan_node node = {.node = (first + i) % (uint32_t)p->s.names.n};
		cr_assert_eq(vec_push(&p->s.nodes, node), 0);
	}
	cr_assert_eq(vec_push(&p->s.jobs, job), 0);
}

static struct concurrent found(const struct place *p, uint32_t from_day)
{
	struct concurrent b;
	cr_assert_eq(concurrent_find(&p->s, p->switch_of, from_day, &b), 0);
	return b;
}

static size_t count_crowded(const struct concurrent *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->jobs.n; i++)
		n += b->jobs.at[i].crowded;
	return n;
}

static void done(struct place *p, struct concurrent *b)
{
	concurrent_done(b);
	scan_done(&p->s);
}

/* ---- as one asks pair by pair ---- */

static bool share_a_switch(const struct place *p, const struct scan_job *x, const struct scan_job *y)
{
	for (uint32_t i = 0; i < x->nodes; i++)
		for (uint32_t k = 0; k < y->nodes; k++)
			if (p->switch_of[p->s.nodes.at[x->first_node + i].node] ==
			    p->switch_of[p->s.nodes.at[y->first_node + k].node])
				return true;
	return false;
}

static double seconds_beside(const struct place *p, const struct scan_job *x, uint32_t program)
{
	double seconds = 0;
	for (size_t i = 0; i < p->s.jobs.n; i++) {
		const struct scan_job *y = &p->s.jobs.at[i];
		if (y->program != program || x->program == program || !share_a_switch(p, x, y))
			continue;
		double from = fmax(x->start, y->start),
		       to = fmin(x->start + (double)x->elapsed_s, y->start + (double)y->elapsed_s);
		seconds += fmax(0, to - from);
	}
	return seconds;
}

static void expect_as_asked(const struct place *p, const struct concurrent *b)
{
	for (size_t i = 0; i < b->jobs.n; i++) {
		const struct concurrent_job *m = &b->jobs.at[i];
		size_t programs = 0;
		for (uint32_t program = 1; program <= PROGRAMS + 1; program++) {
			double seconds = seconds_beside(p, &p->s.jobs.at[m->job], program);
			cr_expect_eq(concurrent_seconds(b, m, program), seconds,
				     "job %zu, program %u: %f instead of %f", i, program,
				     concurrent_seconds(b, m, program), seconds);
			programs += seconds > 0;
		}
		cr_expect_eq(m->overlaps, programs, "job %zu: %zu", i, m->overlaps);
		cr_expect(!m->crowded);
	}
}

Test(fleet_concurrent, each_program_counts_for_as_long_as_it_was_on_a_switch_of_the_job)
{
	struct place p;
	uint64_t chance = 5;
	begin(&p, 10);
	for (uint32_t i = 0; i < 10; i++)
		p.switch_of[i] = 1 + i / 2;
	for (uint32_t i = 0; i < 400; i++) {
		chance = chance * 6364136223846793005u + 1442695040888963407u;
		uint32_t x = (uint32_t)(chance >> 33);
		add(&p, 1 + x % PROGRAMS, DAY_S + 60 * (i / 2), (float)(60 * (1 + x / 8 % 20)), x / 256 % 10,
		    1 + x / 4096 % 4);
	}
	struct concurrent b = found(&p, 0);
	cr_expect_eq(b.jobs.n, 400);
	cr_expect_eq(b.switches, 5);
	expect_as_asked(&p, &b);
	done(&p, &b);
}

/* ---- of which jobs it is known ---- */

Test(fleet_concurrent, jobs_are_known_from_that_day_on_if_they_took_time)
{
	struct place p;
	begin(&p, 2);
	add(&p, 1, 10 * DAY_S - 1, 100, 0, 1);
	add(&p, 2, 10 * DAY_S, 100, 0, 1);
	add(&p, 3, 10 * DAY_S + 1, 0, 0, 1);
	add(&p, 4, 10 * DAY_S + 2, 0.5F, 0, 1);
	add(&p, 5, 10 * DAY_S + 3, 1, 0, 0);
	struct concurrent b = found(&p, 10);
	cr_assert_eq(b.jobs.n, 2, "%zu", b.jobs.n);
	cr_expect_eq(b.jobs.at[0].job, 1);
	cr_expect_eq(b.jobs.at[1].job, 3);
	cr_expect_eq(concurrent_seconds(&b, &b.jobs.at[0], 1), 0, "nobody looks at what was before");
	cr_expect_eq(concurrent_seconds(&b, &b.jobs.at[0], 4), 0.5);
	done(&p, &b);
}

Test(fleet_concurrent, all_switches_of_a_job_are_known_and_not_too_many)
{
	struct place p;
	begin(&p, 40);
	p.switch_of[39] = 0;
	add(&p, 1, DAY_S, 60, 0, BESIDE_SWITCHES);
	add(&p, 1, DAY_S, 60, 0, BESIDE_SWITCHES + 1);
	add(&p, 1, DAY_S, 60, 38, 2);
	struct concurrent b = found(&p, 0);
	cr_assert_eq(b.jobs.n, 1, "%zu", b.jobs.n);
	cr_expect_eq(b.jobs.at[0].job, 0);
	cr_expect_eq(b.jobs.at[0].nswitches, BESIDE_SWITCHES);
	for (uint32_t i = 0; i < BESIDE_SWITCHES; i++)
		cr_expect_eq(b.jobs.at[0].switches[i], i + 1);
	done(&p, &b);
}

Test(fleet_concurrent, size_is_the_power_of_two_that_holds_the_ranks)
{
	static const uint32_t rows[][2] = {{1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {1u << 30, 30}, {UINT32_MAX, 31}};
	struct place p;
	begin(&p, 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		add(&p, 1, DAY_S, 60, 0, 1);
		p.s.jobs.at[i].ranks = rows[i][0];
	}
	struct concurrent b = found(&p, 0);
	for (size_t i = 0; i < b.jobs.n; i++)
		cr_expect_eq(b.jobs.at[i].size, rows[i][1], "%u ranks: %u", rows[i][0], b.jobs.at[i].size);
	done(&p, &b);
}

Test(fleet_concurrent, with_one_switch_there_is_nothing_to_tell)
{
	for (uint32_t switches = 1; switches <= 2; switches++) {
		struct place p;
		begin(&p, switches);
		add(&p, 1, DAY_S, 60, 0, 1);
		struct concurrent b = found(&p, 0);
		cr_expect_eq(b.jobs.n, switches - 1);
		done(&p, &b);
	}
}

/* ---- of so many that nobody can know ---- */

#define MOST 1024u /* on a switch at a time, and beside a job */

/* So many at once for a minute on switch 1, and one on each switch half a minute later and one at its end. */
static struct concurrent crowd(struct place *p, uint32_t n)
{
	begin(p, 2);
	for (uint32_t i = 0; i < n; i++)
		add(p, 10 + i, DAY_S, 60, 0, 1);
	add(p, 1, DAY_S + 30, 10, 0, 1);
	add(p, 1, DAY_S + 30, 10, 1, 1);
	add(p, 1, DAY_S + 60, 10, 0, 1);
	return found(p, 0);
}

Test(fleet_concurrent, with_more_than_are_kept_on_a_switch_at_a_time_nobody_knows_who_was_beside_whom)
{
	struct place p;
	struct concurrent b = crowd(&p, MOST - 1);
	cr_expect_eq(count_crowded(&b), 0, "%zu", count_crowded(&b));
	cr_expect_eq(concurrent_seconds(&b, &b.jobs.at[0], 1), 10);
	cr_expect_eq(b.jobs.at[MOST - 1].overlaps, MOST - 1);
	done(&p, &b);
	b = crowd(&p, MOST);
	cr_expect_eq(count_crowded(&b), MOST + 1, "all that are there: %zu", count_crowded(&b));
	cr_expect(b.jobs.at[0].crowded && b.jobs.at[MOST].crowded);
	cr_expect(!b.jobs.at[MOST + 1].crowded, "it is on the other one");
	cr_expect(!b.jobs.at[MOST + 2].crowded, "it began when all had ended");
	cr_expect_eq(b.jobs.at[0].overlaps, 0);
	cr_expect_eq(b.overlaps.n, 0);
	done(&p, &b);
}

/* One is passed over and lasts: who begins while it is there does not know it, however few are left. */
Test(fleet_concurrent, who_is_beside_one_that_is_not_kept_does_not_know_it)
{
	struct place p;
	begin(&p, 2);
	for (uint32_t i = 0; i < MOST; i++)
		add(&p, 10 + i, DAY_S, 60, 0, 1);
	add(&p, 1, DAY_S, 1000, 0, 1); /* passed over */
	add(&p, 1, DAY_S + 1, 10, 0, 1);
	add(&p, 2, DAY_S + 999, 10, 0, 1);
	add(&p, 3, DAY_S + 1000, 10, 0, 1);
	struct concurrent b = found(&p, 0);
	cr_expect(b.jobs.at[MOST].crowded);
	cr_expect(b.jobs.at[MOST + 2].crowded);
	cr_expect(!b.jobs.at[MOST + 3].crowded);
	cr_expect_eq(concurrent_seconds(&b, &b.jobs.at[MOST + 3], 2), 9);
	done(&p, &b);
}

/* One that lasts, and others on the same switch one after the other. */
Test(fleet_concurrent, a_job_with_more_beside_it_than_are_kept_tells_nothing)
{
	for (uint32_t n = MOST; n <= MOST + 1; n++) {
		struct place p;
		begin(&p, 2);
		add(&p, 1, DAY_S, 1e6F, 0, 1);
		for (uint32_t i = 0; i < n; i++)
			add(&p, 2, DAY_S + 60 * (i + 1), 60, 0, 1);
		struct concurrent b = found(&p, 0);
		cr_expect_eq(b.jobs.at[0].crowded, n > MOST, "%u", n);
		cr_expect_eq(concurrent_seconds(&b, &b.jobs.at[0], 2), n > MOST ? 0 : 60.0 * MOST);
		cr_expect_eq(concurrent_seconds(&b, &b.jobs.at[1], 1), 60);
		done(&p, &b);
	}
}
