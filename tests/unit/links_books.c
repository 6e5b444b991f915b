/* links_books.c - what is said of switches and of programs beside others, beside Wilcoxon's ranks as a book has them;
 * and the way into the database. */
#include "fleet/links.h"

#include "base/sort.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUARTER_S 21600u
#define BLOCKS 80u
#define FIRST 40u /* the first quarter of a day; there are four */
#define VICTIM 1u
#define OTHER 2u
#define THIRD 3u
#define USER 9u

/* Two nodes, each on a switch of its own. */
static const uint32_t switch_of[] = {1, 2};

static double chance(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 33) / 2147483648.0 - 0.5;
}

static sqlite3_int64 add(struct scan *s, uint32_t program, uint32_t node, uint32_t start, float elapsed_s,
			 double in_mpi, double hours)
{
	struct scan_job job = {.id = 10 * s->jobs.n + 7,
			       .program = program,
			       .user = program == VICTIM ? USER : 5,
			       .ranks = 8,
			       .start = start,
			       .day = start / FLEET_SECONDS_PER_DAY,
			       .first_node = (uint32_t)s->nodes.n,
			       .nodes = 1,
			       .core_hours = (float)hours,
			       .elapsed_s = elapsed_s,
			       .in_mpi = (float)in_mpi};
	cr_assert_eq(vec_push(&s->nodes, (struct scan_node){.node = node}), 0);
	cr_assert_eq(vec_push(&s->jobs, job), 0);
	s->day_end = job.day + 1;
	return job.id;
}

static void begin(struct scan *s)
{
	*s = (struct scan){0};
	for (uint32_t node = 0; node < 2; node++)
		cr_assert_eq(vec_push(&s->names, node + 1), 0);
}

/* What a quarter of a day tells of the first switch. */
struct quarter {
	double value, hours; /* of those with it */
	uint32_t with, without;
	struct link_pair pair;
};

static struct quarter all[BLOCKS];

/* In each quarter one or two jobs on either switch; on the first one they are `more` of their time in MPI since
 * then. */
static struct scan quarters(uint32_t since, double more)
{
	struct scan s;
	uint64_t state = 11;
	begin(&s);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		struct quarter *q = &all[i];
		uint32_t start = (FIRST + i) * QUARTER_S;
		double sums[2] = {0};
		*q = (struct quarter){.with = 1 + i % 2, .without = 1 + i % 3 / 2};
		for (uint32_t k = 0; k < q->with; k++) {
			float in_mpi = (float)(0.4 + 0.3 * chance(&state) + (i >= since ? more : 0));
			sqlite3_int64 id = add(&s, VICTIM, 0, start + 100 * k, 50, (double)in_mpi, 1 + i % 4);
			q->pair.with = k == 0 ? id : q->pair.with;
			q->hours += 1 + i % 4;
			sums[0] += (double)in_mpi;
		}
		for (uint32_t k = 0; k < q->without; k++) {
			float in_mpi = (float)(0.4 + 0.1 * chance(&state));
			sqlite3_int64 id = add(&s, VICTIM, 1, start + 300 + 100 * k, 50, (double)in_mpi, 1);
			q->pair.without = k == 0 ? id : q->pair.without;
			sums[1] += (double)in_mpi;
		}
		q->value = sums[0] / q->with - sums[1] / q->without;
	}
	return s;
}

static link_list found(struct scan *s)
{
	link_list list = {0};
	struct link_omitted omitted;
	cr_assert_eq(links_find(s, switch_of, &list, &omitted), 0);
	cr_expect_eq(omitted.jobs + omitted.programs, 0);
	return list;
}

/* ---- by the book ---- */

/* (W - E W) / sd W of the signed ranks of quarters [from, to). */
static double signed_ranks(uint32_t from, uint32_t to)
{
	double sum = 0, n = to - from;
	for (uint32_t i = from; i < to; i++) {
		double rank = 1;
		for (uint32_t k = from; k < to; k++)
			rank += fabs(all[k].value) < fabs(all[i].value);
		sum += all[i].value > 0 ? rank : 0;
	}
	return (sum - n * (n + 1) / 4) / sqrt(n * (n + 1) * (2 * n + 1) / 24);
}

static double median(uint32_t from, uint32_t to)
{
	double values[BLOCKS];
	for (uint32_t i = from; i < to; i++)
		values[i - from] = all[i].value;
	return sort_median(values, to - from);
}

/* Positive where those behind the split are larger. */
static double rank_sum(uint32_t split)
{
	double sum = 0, a = split, n = BLOCKS;
	for (uint32_t i = 0; i < split; i++) {
		sum++;
		for (uint32_t k = 0; k < BLOCKS; k++)
			sum += all[k].value < all[i].value;
	}
	return (a * (n + 1) / 2 - sum) / sqrt(a * (n - a) * (n + 1) / 12);
}

static double tail(double z)
{
	return erfc(z / M_SQRT2) / 2;
}

/* Quarters [from, BLOCKS) are what is said, of two switches of which the other one is the opposite. */
static void expect_said(const struct link_effect *x, uint32_t from)
{
	uint32_t with = 0, without = 0, at = 0;
	double z = signed_ranks(from, BLOCKS), best = INFINITY;
	for (uint32_t i = from; i < BLOCKS; i++) {
		with += all[i].with;
		without += all[i].without;
	}
	cr_expect_eq(x->at, 1);
	cr_expect_eq(x->program + x->user + x->other, 0);
	cr_expect_float_eq(x->z, z, 1e-9, "%f instead of %f", x->z, z);
	cr_expect_float_eq(x->q, fmin(1, 2 * tail(z)), 1e-6 * tail(z), "%g", x->q);
	cr_expect_float_eq(x->effect, median(from, BLOCKS), 1e-7);
	cr_expect(x->jobs == with && x->without == without && x->blocks == BLOCKS - from, "%u, %u, %u", x->jobs,
		  x->without, x->blocks);
	cr_expect_eq(x->days, (BLOCKS + 3) / 4 - from / 4);
	for (int k = 0; k < LINK_EVIDENCE; k++) { /* the largest differences */
		double next = -INFINITY;
		for (uint32_t i = from; i < BLOCKS; i++)
			if (all[i].value < best && all[i].value > next) {
				next = all[i].value;
				at = i;
			}
		best = next;
		cr_expect(x->evidence[k].with == all[at].pair.with && x->evidence[k].without == all[at].pair.without,
			  "place %d", k);
	}
	double cost = 0, expected = 0;
	for (size_t i = 0; i < x->cost.n; i++)
		cost += x->cost.at[i].hours;
	for (uint32_t i = from / 4 * 4; i < BLOCKS; i++)
		expected += all[i].hours * x->effect;
	cr_expect_float_eq(cost, expected, 1e-6, "%f instead of %f", cost, expected);
}

Test(links_books, a_switch_on_which_all_wait)
{
	struct scan s = quarters(0, 0.15);
	link_list list = found(&s);
	cr_assert_eq(list.n, 1, "%zu", list.n);
	expect_said(&list.at[0], 0);
	cr_expect_eq(list.at[0].since, 0);
	links_done(&list);
	scan_done(&s);
}

Test(links_books, one_on_which_they_do_since_a_day)
{
	struct scan s = quarters(50, 0.5);
	link_list list = found(&s);
	cr_assert_eq(list.n, 1, "%zu", list.n);
	const struct link_effect *x = &list.at[0];
	uint32_t at = LINK_BLOCKS, low = BLOCKS, high = 0;
	for (uint32_t k = LINK_BLOCKS; k + LINK_BLOCKS <= BLOCKS; k++)
		at = fabs(rank_sum(k)) > fabs(rank_sum(at)) ? k : at;
	for (uint32_t k = LINK_BLOCKS; k + LINK_BLOCKS <= BLOCKS; k++)
		if (rank_sum(k) > 0 && pow(rank_sum(k), 2) >= pow(rank_sum(at), 2) - AS_LIKELY) {
			low = k < low ? k : low;
			high = k > high ? k : high;
		}
	cr_expect_eq(at, 50);
	cr_expect_eq(x->since, (FIRST + at) * (double)QUARTER_S);
	cr_expect_eq(x->since_low, (FIRST + low) * (double)QUARTER_S);
	cr_expect_eq(x->since_high, (FIRST + high) * (double)QUARTER_S);
	cr_expect_float_eq(x->before, median(0, at), 1e-7);
	double p = 2 * tail(rank_sum(at)) * (BLOCKS + 1 - 2 * LINK_BLOCKS) * 2; /* of two switches */
	cr_expect_float_eq(x->change_p, p, 1e-6 * p, "%g instead of %g", x->change_p, p);
	expect_said(x, at);
	links_done(&list);
	scan_done(&s);
}

/* ---- beside another one ---- */

/* In each quarter one job of the victim with the other one beside it for so long, and one on the other switch. */
static link_list beside(double share, double more, uint32_t third)
{
	struct scan s;
	uint64_t state = 13;
	begin(&s);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint32_t start = (FIRST + i) * QUARTER_S;
		double noise = 0.01 * chance(&state);
		add(&s, OTHER, 0, start, (float)(1000 + 1000 * share), NAN, 1);
		if (i < third)
			add(&s, THIRD, 0, start + 500, 3000, NAN, 1);
		add(&s, VICTIM, 0, start + 1000, 1000, 0.4 + noise + more, 8);
		add(&s, VICTIM, 1, start + 1000, 1000, 0.4, 8);
	}
	link_list list = found(&s);
	scan_done(&s);
	return list;
}

static const struct link_effect *of_victim(const link_list *list)
{
	const struct link_effect *x = NULL;
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].at == LINK_NONE) {
			cr_expect_null(x, "the surest one only");
			x = &list->at[i];
		}
	return x;
}

Test(links_books, beside_it_is_who_had_half_of_its_time)
{
	static const struct {
		double share, more;
		bool named;
	} rows[] = {{1, 0.2, true},  {0.5, 0.2, true}, {0.49, 0.2, false},
		    {1, 0.06, true}, {1, 0.04, false}, {1, -0.2, false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		link_list list = beside(rows[i].share, rows[i].more, 0);
		const struct link_effect *x = of_victim(&list);
		cr_expect_eq(x != NULL, rows[i].named, "row %zu", i);
		if (x != NULL) {
			cr_expect(x->program == VICTIM && x->user == USER && x->other == OTHER);
			cr_expect(x->blocks == BLOCKS && x->jobs == BLOCKS && x->without == BLOCKS);
			cr_expect_float_eq(x->effect, rows[i].more, 0.003);
		}
		links_done(&list);
	}
}

/* The third one was there less often: who is named is the surest. */
Test(links_books, of_several_the_surest_is_named)
{
	link_list list = beside(1, 0.2, LINK_BLOCKS);
	const struct link_effect *x = of_victim(&list);
	cr_assert_not_null(x);
	cr_expect_eq(x->other, OTHER);
	links_done(&list);
}

/* Seven programs come and go beside it, and it waits for one of them. */
Test(links_books, of_many_that_come_and_go_the_one_it_waits_for_is_named)
{
	struct scan s;
	uint64_t state = 23;
	uint32_t with = 0;
	begin(&s);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint32_t start = (FIRST + i) * QUARTER_S;
		bool there = i % 4 == 1;
		with += there;
		for (uint32_t k = 0; k < 6; k++)
			if (chance(&state) > 0)
				add(&s, 20 + (k * 5 + i) % 6, 0, start, 3000, NAN, 1);
		if (there)
			add(&s, OTHER, 0, start, 3000, NAN, 1);
		add(&s, VICTIM, 0, start + 1000, 1000, 0.4 + 0.01 * chance(&state) + (there ? 0.3 : 0), 8);
		add(&s, VICTIM, 1, start + 1000, 1000, 0.4, 8);
	}
	link_list list = found(&s);
	const struct link_effect *x = of_victim(&list);
	cr_assert_not_null(x);
	cr_expect_eq(x->other, OTHER, "%u", x->other);
	cr_expect_eq(x->blocks, with);
	links_done(&list);
	scan_done(&s);
}

/* Users and sizes are told apart: what differs between them is no difference of a switch. */
Test(links_books, jobs_of_other_users_and_sizes_are_not_compared)
{
	for (int how = 0; how < 4; how++) {
		struct scan s;
		uint64_t state = 17;
		begin(&s);
		for (uint32_t i = 0; i < BLOCKS; i++) {
			uint32_t start = (FIRST + i) * QUARTER_S;
			add(&s, VICTIM, 0, start, 50, 0.7 + 0.01 * chance(&state), 1);
			add(&s, VICTIM, 1, start + (how == 3 ? QUARTER_S / 2 : 100), 50, 0.4, 1);
			struct scan_job *last = &s.jobs.at[s.jobs.n - 1];
			last->user += how == 0;
			last->ranks = how == 1 ? 16 : last->ranks;
			last->program += how == 2;
		}
		link_list list = found(&s);
		cr_expect_eq(list.n, (size_t)(how == 3), "%d: %zu", how, list.n);
		links_done(&list);
		scan_done(&s);
	}
}

Test(links_books, a_job_on_both_switches_is_of_neither)
{
	struct scan s;
	uint64_t state = 19;
	begin(&s);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint32_t start = (FIRST + i) * QUARTER_S;
		add(&s, VICTIM, 0, start, 50, 0.7 + 0.01 * chance(&state), 1);
		add(&s, VICTIM, 1, start + 100, 50, 0.4, 1);
		add(&s, VICTIM, 0, start + 200, 50, 0.1, 1);
		cr_assert_eq(vec_push(&s.nodes, (struct scan_node){.node = 1}), 0);
		s.jobs.at[s.jobs.n - 1].nodes = 2;
	}
	link_list list = found(&s);
	cr_assert_eq(list.n, 1);
	cr_expect_float_eq(list.at[0].effect, 0.3, 0.01);
	cr_expect_eq(list.at[0].jobs, BLOCKS);
	links_done(&list);
	scan_done(&s);
}

Test(links_books, fifteen_quarters_of_five_days_tell_something)
{
	static const struct {
		uint32_t blocks, apart, named; /* apart: of two quarters */
	} rows[] = {{LINK_BLOCKS, 2, 1}, {LINK_BLOCKS - 1, 2, 0}, {17, 1, 1}, {16, 1, 0}};
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct scan s;
		begin(&s);
		for (uint32_t i = 0; i < rows[r].blocks; i++) {
			add(&s, VICTIM, 0, (FIRST + i * rows[r].apart) * QUARTER_S, 50, 0.7 + 0.001 * i, 1);
			add(&s, VICTIM, 1, (FIRST + i * rows[r].apart) * QUARTER_S, 50, 0.4, 1);
		}
		link_list list = found(&s);
		cr_expect_eq(list.n, rows[r].named, "row %zu: %zu", r, list.n);
		links_done(&list);
		scan_done(&s);
	}
}

/* ---- in the database ---- */

static struct fleet opened(void)
{
	struct fleet f;
	struct error e = {""};
	cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
	cr_assert_eq(fleet_run(&f,
			       "INSERT INTO names VALUES(1,7,'n1'),(2,7,'n2'),(3,4,'p'),(4,4,'q'),(5,1,'u');"
			       "INSERT INTO switches VALUES(1,'left'),(2,'right')",
			       &e),
		     0, "%s", e.text);
	return f;
}

static void expect_row(struct fleet *f, const char *sql, const char *expected)
{
	struct error e = {""};
	sqlite3_stmt *row = fleet_prepare(f, sql, &e);
	cr_assert_not_null(row, "%s", e.text);
	cr_assert_eq(sqlite3_step(row), SQLITE_ROW, "%s", sql);
	cr_expect_str_eq((const char *)sqlite3_column_text(row, 0), expected, "%s",
			 (const char *)sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
}

Test(links_books, the_database_has_what_was_found)
{
	struct fleet f = opened();
	struct error e = {""};
	link_list list = {0};
	struct link_effect x = {.at = 2,
				.effect = 0.25,
				.z = 5,
				.q = 0.5,
				.jobs = 6,
				.without = 7,
				.blocks = 8,
				.days = 9,
				.since = 100,
				.since_low = 90,
				.since_high = 110,
				.before = 0.125,
				.change_p = 0.001,
				.evidence = {{11, 12}, {13, 14}}};
	struct link_effect y = {.at = LINK_NONE, .program = 3, .user = 5, .other = 4, .effect = 0.5};
	cr_assert_eq(vec_push(&x.cost, ((struct link_day){20, 1.5})), 0);
	cr_assert_eq(vec_push(&x.cost, ((struct link_day){20, 0.5})), 0);
	cr_assert_eq(vec_push(&x.cost, ((struct link_day){21, 4})), 0);
	cr_assert_eq(vec_push(&list, x), 0);
	cr_assert_eq(vec_push(&list, y), 0);
	for (int again = 0; again < 2; again++) /* in place of what was there */
		cr_assert_eq(links_keep(&f, &list, &e), 0, "%s", e.text);
	expect_row(&f,
		   "SELECT "
		   "switch||'|'||program||'|'||user||'|'||other||'|'||jobs||'|'||jobs_without||'|'||blocks||'|'||days||"
		   "'|'||effect||'|'||z||'|'||q"
		   "||'|'||since||'|'||since_low||'|'||since_high||'|'||before||'|'||change_p FROM links WHERE place=0",
		   "right|0|0|0|6|7|8|9|0.25|5.0|0.5|100|90|110|0.125|0.001");
	expect_row(&f,
		   "SELECT switch||'|'||program||'|'||user||'|'||other||'|'||effect||'|'||ifnull(since, "
		   "'none')||'|'||ifnull(before, 'none') FROM links WHERE place=1",
		   "|3|5|4|0.5|none|none");
	expect_row(&f, "SELECT group_concat(place||' '||day||' '||hours) FROM link_days", "0 20 2.0,0 21 4.0");
	expect_row(&f, "SELECT group_concat(place||' '||at||' '||job||' '||other) FROM link_jobs",
		   "0 0 11 12,0 1 13 14");
	expect_row(&f, "SELECT count(*) FROM links", "2");
	links_done(&list);
	fleet_close(&f);
}

Test(links_books, nodes_are_on_the_switches_that_the_database_has)
{
	struct fleet f = opened();
	struct scan s = quarters(0, 0.15);
	struct error e = {""};
	link_list list = {0};
	s.names.at[0] = 2; /* the first node is n2, which is on the second switch by name */
	s.names.at[1] = 1;
	cr_assert_eq(links_estimate(&f, &s, &list, &e), 0, "%s", e.text);
	cr_assert_eq(list.n, 1);
	cr_expect_eq(list.at[0].at, 2);
	links_done(&list);
	list = (link_list){0};
	s.names.at[0] = 9; /* of which no switch is known */
	cr_assert_eq(links_estimate(&f, &s, &list, &e), 0, "%s", e.text);
	cr_expect_eq(list.n, 0);
	scan_done(&s);
	fleet_close(&f);
}
