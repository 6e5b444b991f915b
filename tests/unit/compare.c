/* compare.c - differences that are there are found, chance is not taken for one, and call sites are found again when
 * lines move. */
#include "postproc/compare/compare.h"
#include "postproc/compare/noise.h"
#include "base/json.h"
#include "base/units.h"
#include "reports/html/html.h"
#include "tests/unit/html_probe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- statistics ---- */

static void expect_near(double got, double want, double part)
{
	cr_expect(fabs(got - want) <= part * fabs(want), "got %.12g, want %.12g", got, want);
}

Test(noise, students_distribution_is_that_of_the_tables)
{
	expect_near(noise_student(12.7062047, 1), 0.05, 1e-6);
	expect_near(noise_student(2.77644511, 4), 0.05, 1e-6);
	expect_near(noise_student(-4.60409487, 4), 0.01, 1e-6);
	expect_near(noise_student(1.95996398, 1e7), 0.05, 1e-5);
	expect_near(noise_student(0, 3), 1, 1e-12);
	expect_near(noise_student(1, 1), 0.5, 1e-12);
}

Test(noise, welch_on_published_samples)
{
	const double a[] = {3, 4, 1, 2.1}, b[] = {490.2, 340, 433.9};
	const double c[] = {17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8};
	const double d[] = {21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8,
			    20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8};
	expect_near(noise_p(a, 4, b, 3), 0.010751561149785, 1e-9);
	expect_near(noise_p(c, 10, d, 20), 0.148841696605327, 1e-9);
}

Test(noise, without_a_second_run_nothing_is_known)
{
	const double a[] = {1, 1.1, 0.9}, b[] = {2}, same[] = {1, 1, 1}, other[] = {1.5, 1.5}, unknown[] = {1, NAN};
	cr_expect(isnan(noise_p(a, 1, b, 1)));
	cr_expect(isnan(noise_p(a, 3, unknown, 2)));
	cr_expect(isnan(noise_spread(b, 1)));
	expect_near(noise_p(a, 3, b, 1), noise_student(1 / (0.1 * sqrt(1 + 1 / 3.0)), 2), 1e-9);
	cr_expect_eq(noise_p(same, 3, same, 3), 1, "no difference and no noise");
	cr_expect_eq(noise_p(same, 3, other, 2), 0, "a difference and no noise");
}

Test(noise, the_more_is_asked_the_more_it_takes)
{
	const double p[] = {0.01 / NOISE_TABLES, 0.04 / NOISE_TABLES, NAN, 0.03 / NOISE_TABLES, 0.005 / NOISE_TABLES};
	const bool want[] = {true, false, false, false, true};
	bool beyond[5];
	noise_test(p, 5, beyond);
	cr_expect_arr_eq(beyond, want, sizeof(want));
	noise_test(p, 0, beyond);
}

static uint64_t seed_state;

static double uniform(void) /* splitmix64 */
{
	uint64_t z = seed_state += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* How many of `tables` tables of 15 rows, three runs against three, name a row; the first row of each is `shift`
 * deviations off. */
static unsigned tables_that_name(double shift, unsigned tables, unsigned *ret_first)
{
	unsigned any = 0;
	*ret_first = 0;
	for (unsigned k = 0; k < tables; k++) {
		double p[15];
		bool beyond[15], named = false;
		for (unsigned i = 0; i < 15; i++) {
			double a[3], b[3];
			for (unsigned r = 0; r < 3; r++) {
				a[r] = 100 + normal();
				b[r] = 100 + normal() + (i == 0 ? shift : 0);
			}
			p[i] = noise_p(a, 3, b, 3);
		}
		noise_test(p, 15, beyond);
		for (unsigned i = 0; i < 15; i++)
			named = named || beyond[i];
		any += named;
		*ret_first += beyond[0];
	}
	return any;
}

Test(noise, of_tables_without_a_difference_few_name_any)
{
	unsigned first;
	seed_state = 20240611;
	unsigned any = tables_that_name(0, 4000, &first);
	cr_expect_leq(any, 4000 * (NOISE_ALPHA / NOISE_TABLES + 3 * sqrt(0.01 / 4000)), "%u of 4000", any);
	cr_expect_gt(any, 0, "chance does happen");
	cr_expect_gt(tables_that_name(60, 500, &first), 480);
	cr_expect_gt(first, 480, "%u of 500", first);
}

Test(noise, what_is_called_the_smallest_is_seen_four_times_of_five)
{
	const double a[] = {99, 101, 99, 101, 100}, b[] = {99, 101, 99, 101, 100}; /* deviation 1 */
	double alpha = 0.01, smallest = noise_smallest(a, 5, b, 5, alpha);
	unsigned seen = 0;
	seed_state = 7;
	for (unsigned k = 0; k < 4000; k++) {
		double x[5], y[5];
		for (unsigned r = 0; r < 5; r++) {
			x[r] = 100 + normal();
			y[r] = 100 + smallest + normal();
		}
		seen += noise_p(x, 5, y, 5) <= alpha;
	}
	cr_expect(seen > 4000 * 0.74 && seen < 4000 * 0.86, "%u of 4000", seen);
	smallest *= 1.0001; /* rounding */
	const double c[] = {99 + smallest, 101 + smallest, 99 + smallest, 101 + smallest, 100 + smallest};
	cr_expect_eq(noise_runs(a, 5, c, 5, alpha), 5);
	cr_expect_gt(noise_runs(a, 5, (const double[]){100.5, 100.6, 100.4, 100.5, 100.5}, 5, alpha), 20);
	cr_expect_eq(noise_runs(a, 5, a, 5, alpha), 0, "no number of runs shows no difference");
	cr_expect(isnan(noise_smallest(a, 1, b, 1, alpha)));
}

/* ---- whole comparisons ---- */

#define NOISY_RANKS 8

#define NOISY_PIECES 20

/* A loop, of which the last pieces take so much of what the others do. */
static void add_loop(cJSON *root, double slow, double last_pieces)
{
	cJSON *phases = json_object(root, "phases"), *list = json_array(phases, "pieces");
	double sum_s = 0;
	for (int i = 0; i < NOISY_PIECES; i++) {
		cJSON *o = json_row(list);
		double s = slow * (i >= NOISY_PIECES - 3 ? last_pieces : 1) * (0.1 + 0.003 * normal());
		json_put(o, "from", 4 * i);
		json_put(o, "iterations", 4);
		json_put(o, "iteration_s", s);
		sum_s += s;
	}
	json_put(phases, "iteration_s", sum_s / NOISY_PIECES);
}

/* Of a run on a busy machine: one run in ten is slower as a whole, calls and ranks vary by a few percent each. */
static cJSON *noisy_run(double rank_4, double last_pieces)
{
	static const char *const ops[] = {"MPI_Send", "MPI_Recv", "MPI_Waitall", "MPI_Allreduce", "MPI_Barrier"};
	cJSON *root = cJSON_CreateObject(), *job = json_object(root, "job");
	cJSON *coverage = json_object(root, "coverage"), *efficiency = json_object(root, "efficiency");
	cJSON *ranks = json_array(root, "per_rank"), *list = json_array(root, "operations");
	cJSON *waits = json_array(root, "wait_totals");
	double slow = 1 + 0.03 * normal() + (uniform() < 0.1 ? 0.3 : 0);
	json_put(job, "ranks", NOISY_RANKS);
	cJSON_AddBoolToObject(coverage, "complete", true);
	json_put(coverage, "events", 100);
	json_put(coverage, "ranks_seen", NOISY_RANKS);
	json_put(efficiency, "region_s", 10 * slow);
	json_put(efficiency, "load_balance", 0.95 + 0.01 * normal());
	json_put(efficiency, "parallel", 0.8 + 0.01 * normal());
	json_put(efficiency, "communication", 0.84 + 0.01 * normal());
	for (int r = 0; r < NOISY_RANKS; r++) {
		cJSON *o = json_row(ranks);
		json_put(o, "rank", r);
		json_put(o, "useful_s", slow * (r == 4 ? rank_4 : 1) * (7 + 0.1 * normal()));
		json_put(o, "mpi_s", slow * (3 + 0.1 * normal()));
		json_put(o, "wait_s", slow * (1 + 0.1 * normal()));
	}
	for (int i = 0; i < 5; i++) {
		cJSON *o = json_row(list), *w = json_row(waits);
		json_put_text(o, "op", ops[i]);
		json_put(o, "time_s", slow * (4 + 0.4 * normal()));
		json_put_text(w, "state", ops[i]);
		json_put(w, "seconds", slow * (2 + 0.4 * normal()));
	}
	add_loop(root, slow, last_pieces);
	return root;
}

static cJSON *noisy_difference(unsigned nruns, double rank_4, double last_pieces)
{
	struct compare_run runs[12];
	struct compare_input in = {runs, 2 * (size_t)nruns, 2, COMPARE_BOTH};
	struct error e;
	cJSON *diff;
	for (unsigned i = 0; i < 2 * nruns; i++)
		runs[i] = (struct compare_run){"run", noisy_run(i < nruns ? 1 : rank_4, i < nruns ? 1 : last_pieces),
					       i >= nruns, NOISY_RANKS};
	cr_assert_eq(compare_runs(&in, &diff, &e), 0, "%s", e.text);
	for (unsigned i = 0; i < 2 * nruns; i++)
		cJSON_Delete(runs[i].analysis);
	return diff;
}

static unsigned named_in(const cJSON *diff)
{
	static const char *const members[] = {"time", "efficiency", "ranks", "iterations", "operations", "wait_states"};
	unsigned n = 0;
	for (size_t i = 0; i < 6; i++)
		for (const cJSON *v = json_first(diff, members[i]); v != NULL; v = v->next)
			n += json_bool(v, "significant", false);
	return n;
}

Test(compare, of_200_splits_of_equal_runs_ten_at_most_name_anything)
{
	for (unsigned nruns = 3; nruns <= 5; nruns += 2) {
		unsigned alarms = 0;
		seed_state = nruns;
		for (unsigned k = 0; k < 200; k++) {
			cJSON *diff = noisy_difference(nruns, 1, 1);
			alarms += named_in(diff) > 0;
			cJSON_Delete(diff);
		}
		cr_expect_leq(alarms, 10, "%u of 200, %u runs against as many", alarms, nruns);
	}
}

Test(compare, a_rank_that_computes_more_is_named_after_three_runs)
{
	unsigned found = 0;
	seed_state = 5;
	for (unsigned k = 0; k < 50; k++) {
		cJSON *diff = noisy_difference(3, 1.5, 1);
		const cJSON *first = json_first(diff, "ranks");
		found += json_number(first, "rank") == 4 && json_bool(first, "significant", false);
		cJSON_Delete(diff);
	}
	cr_expect_geq(found, 40, "%u of 50", found);
	cJSON *diff = noisy_difference(3, 1, 1);
	const cJSON *region = json_first(diff, "time");
	cr_expect_gt(json_number(region, "smallest_s"), fabs(json_number(region, "change_s")));
	cr_expect(json_number_or(region, "runs_needed", 1001) > 3);
	cJSON_Delete(diff);
}

/* Its last iterations, though the run as a whole is within its noise. */
Test(compare, iterations_that_take_longer_are_named_after_five_runs)
{
	unsigned found = 0;
	seed_state = 9;
	for (unsigned k = 0; k < 50; k++) {
		cJSON *diff = noisy_difference(5, 1, 1.3);
		unsigned right = 0, wrong = 0, i = 0;
		for (const cJSON *v = json_first(diff, "iterations"); v != NULL; v = v->next, i++) {
			cr_assert_eq(json_number(v, "from"), 4 * i);
			cr_assert_eq(json_number(v, "iterations"), 4);
			*(i >= NOISY_PIECES - 3 && json_number(v, "change") > 0.1 ? &right : &wrong) +=
				json_bool(v, "significant", false) && json_number(v, "change") > 0;
		}
		cr_assert_eq(i, NOISY_PIECES);
		found += right == 3 && wrong == 0;
		cJSON_Delete(diff);
	}
	cr_expect_geq(found, 45, "%u of 50", found);
}

/* Loops that go around as often are compared, others not. */
Test(compare, iterations_of_loops_of_other_lengths_are_not_compared)
{
	struct compare_run runs[2] = {{"a", noisy_run(1, 1), 0, NOISY_RANKS}, {"b", noisy_run(1, 1), 1, NOISY_RANKS}};
	struct compare_input in = {runs, 2, 2, COMPARE_BOTH};
	struct error e;
	cJSON *diff, *pieces = cJSON_GetObjectItem(cJSON_GetObjectItem(runs[1].analysis, "phases"), "pieces");
	cr_assert_eq(compare_runs(&in, &diff, &e), 0, "%s", e.text);
	cr_expect_eq(json_count(diff, "iterations"), NOISY_PIECES);
	cJSON_Delete(diff);
	cJSON_ReplaceItemInObject(cJSON_GetArrayItem(pieces, 3), "iterations", cJSON_CreateNumber(5));
	cr_assert_eq(compare_runs(&in, &diff, &e), 0, "%s", e.text);
	cr_expect_eq(json_count(diff, "iterations"), 0);
	cJSON_Delete(diff);
	cJSON_DeleteItemFromArray(pieces, 3);
	cr_assert_eq(compare_runs(&in, &diff, &e), 0, "%s", e.text);
	cr_expect_eq(json_count(diff, "iterations"), 0);
	cJSON_Delete(diff);
	for (int i = 0; i < 2; i++)
		cJSON_Delete(runs[i].analysis);
}

/* What is said of a run of which n ranks end in that state, so many more are missing and so many events lost. */
static cJSON *notes_of(const char *state, unsigned n, unsigned missing, unsigned lost)
{
	struct compare_run runs[2];
	struct compare_input in = {runs, 2, 2, COMPARE_BOTH};
	struct error e;
	cJSON *diff;
	for (unsigned i = 0; i < 2; i++)
		runs[i] = (struct compare_run){"run", noisy_run(1, 1), i, NOISY_RANKS};
	cJSON *coverage = cJSON_GetObjectItem(runs[1].analysis, "coverage");
	cJSON_ReplaceItemInObject(coverage, "complete", cJSON_CreateFalse());
	cJSON_ReplaceItemInObject(coverage, "ranks_seen", cJSON_CreateNumber(NOISY_RANKS - (double)missing));
	json_put(coverage, "events_lost", lost);
	cJSON *row = cJSON_GetObjectItem(runs[1].analysis, "per_rank")->child;
	for (unsigned i = 0; i < NOISY_RANKS; i++, row = row->next)
		json_put_text(row, "state", i < n ? state : i < n + missing ? "missing" : "finalized");
	cr_assert_eq(compare_runs(&in, &diff, &e), 0, "%s", e.text);
	for (unsigned i = 0; i < 2; i++)
		cJSON_Delete(runs[i].analysis);
	cJSON *notes = cJSON_DetachItemFromObject(diff, "notes");
	cJSON_Delete(diff);
	return notes;
}

Test(compare, of_a_run_that_ended_early_is_said_that_it_did_and_of_others_what_is_missing)
{
	static const char *const early = "run: the run ended before 3 of 8 ranks had come out of MPI_Finalize, so its "
					 "sums are those until then; nothing is called beyond noise.";
	static const char *const states[] = {"lost", "aborted", "running"};
	for (size_t i = 0; i < 3; i++) {
		cJSON *notes = notes_of(states[i], 3, 0, 0);
		cr_assert_eq(cJSON_GetArraySize(notes), 1);
		cr_expect_str_eq(notes->child->valuestring, early);
		cJSON_Delete(notes);
	}
	cJSON *notes = notes_of("lost", 3, 2, 0);
	cr_assert_eq(cJSON_GetArraySize(notes), 2);
	cr_expect_str_eq(notes->child->valuestring, early);
	cr_expect_not_null(strstr(notes->child->next->valuestring, "(2 of 8 ranks are missing, 0 events lost)"));
	cJSON_Delete(notes);
	notes = notes_of("", 0, 0, 7);
	cr_assert_eq(cJSON_GetArraySize(notes), 1);
	cr_expect_not_null(strstr(notes->child->valuestring, "(0 of 8 ranks are missing, 7 events lost)"));
	cJSON_Delete(notes);
}

static void add_open(cJSON *analysis, int at, const char *op, double from_s, double to_s, double hung_s)
{
	cJSON *rank = cJSON_GetArrayItem(cJSON_GetObjectItem(analysis, "per_rank"), at);
	cJSON *call = json_row(json_array(rank, "open"));
	json_put(rank, "hung_s", hung_s);
	json_put_text(call, "op", op);
	json_put(call, "from_s", from_s);
	json_put_null_or(call, "to_s", to_s);
}

static double change_of(const cJSON *diff, const char *op)
{
	for (const cJSON *v = json_first(diff, "operations"); v != NULL; v = v->next)
		if (strcmp(json_text(v, "op", ""), op) == 0)
			return json_number(v, "b_s") - json_number(v, "a_s");
	return NAN;
}

Test(compare, a_call_that_never_ended_is_a_change_of_its_function)
{
	struct compare_run runs[2];
	struct compare_input in = {runs, 2, 2, COMPARE_BOTH};
	struct error e;
	cJSON *diff;
	for (unsigned i = 0; i < 2; i++) {
		seed_state = 7;
		runs[i] = (struct compare_run){"run", noisy_run(1, 1), i > 0, NOISY_RANKS};
	}
	add_open(runs[1].analysis, 0, "MPI_Recv", 2, 9.5, 3);
	cr_assert_eq(compare_runs(&in, &diff, &e), 0, "%s", e.text);
	expect_near(change_of(diff, "MPI_Recv"), 4.5, 1e-9);
	expect_near(1 + change_of(diff, "MPI_Send"), 1, 1e-9);
	cJSON_Delete(diff);
	add_open(runs[0].analysis, 0, "MPI_Ssend", 1, 4, 0);
	add_open(runs[0].analysis, 1, "MPI_Wait", 1, NAN, 0);
	cr_assert_eq(compare_runs(&in, &diff, &e), 0, "%s", e.text);
	expect_near(change_of(diff, "MPI_Ssend"), -3, 1e-9);
	cr_expect(isnan(change_of(diff, "MPI_Wait")), "nobody knows how long");
	cJSON_Delete(diff);
	for (unsigned i = 0; i < 2; i++)
		cJSON_Delete(runs[i].analysis);
}

/* ---- call sites ---- */

struct call_site {
	const char *function, *file;
	int line;
	double time_s;
};

/* An analysis of 2 ranks and 10 s with these calls of MPI_Send; ends with a function of NULL. */
static cJSON *analysis_of(const struct call_site *at)
{
	cJSON *root = cJSON_CreateObject(), *job = json_object(root, "job"), *sites = json_array(root, "callsites");
	cJSON *coverage = json_object(root, "coverage"), *efficiency = json_object(root, "efficiency");
	json_put_text(root, "schema", "mpitrace/analysis/1");
	json_put(job, "ranks", 2);
	json_put_text(job, "program", "/home/x/app");
	cJSON_AddBoolToObject(coverage, "complete", true);
	json_put(coverage, "events", 100);
	json_put(coverage, "ranks_seen", 2);
	json_put(efficiency, "region_s", 10);
	for (int i = 0; at[i].function != NULL; i++) {
		cJSON *o = json_row(sites);
		char address[24];
		snprintf(address, sizeof(address), "0x%x", 0x1000 + 16 * i);
		json_put(o, "id", i);
		json_put_text(o, "op", "MPI_Send");
		json_put_text(o, "function", *at[i].function != '\0' ? at[i].function : NULL);
		json_put_text(o, "file", at[i].file);
		json_put_null_or(o, "line", at[i].line > 0 ? at[i].line : NAN);
		json_put_text(o, "module", "/home/x/app");
		json_put_text(o, "address", address);
		json_put(o, "calls", 1);
		json_put(o, "time_s", at[i].time_s);
		json_put(o, "wait_s", 0);
	}
	return root;
}

static cJSON *difference(cJSON *a, cJSON *b)
{
	struct compare_run runs[] = {{"a", a, 0, 2}, {"b", b, 1, 2}};
	struct compare_input in = {runs, 2, 2, COMPARE_BOTH};
	struct error e;
	cJSON *diff;
	cr_assert_eq(compare_runs(&in, &diff, &e), 0, "%s", e.text);
	cJSON_Delete(a);
	cJSON_Delete(b);
	return diff;
}

/* "function a_line>b_line change matched" of each row, the largest change first. */
static void expect_rows(const struct call_site *a, const struct call_site *b, const char *want)
{
	cJSON *diff = difference(analysis_of(a), analysis_of(b));
	char got[1024] = "";
	for (const cJSON *v = json_first(diff, "callsites"); v != NULL; v = v->next) {
		size_t used = strlen(got);
		snprintf(got + used, sizeof(got) - used, "%s %.0f>%.0f %+.0f %s; ", json_text(v, "function", "-"),
			 json_number_or(v, "a_line", 0), json_number_or(v, "b_line", 0), json_number(v, "change_s"),
			 json_text(v, "matched", "?"));
	}
	cr_expect_str_eq(got, want);
	cJSON_Delete(diff);
}

#define SITES(...) ((const struct call_site[]){__VA_ARGS__, {NULL, NULL, 0, 0}})

Test(sites, moved_lines_are_the_same_call)
{
	expect_rows(SITES({"f", "x.c", 10, 1}, {"f", "x.c", 20, 2}, {"g", "x.c", 30, 1}),
		    SITES({"f", "x.c", 17, 2}, {"f", "x.c", 29, 6}, {"g", "x.c", 30, 1}),
		    "f 20>29 +4 order; f 10>17 +1 order; g 30>30 +0 line; ");
}

Test(sites, a_call_put_in_is_new_and_no_other)
{
	expect_rows(SITES({"f", "x.c", 10, 1}, {"f", "x.c", 20, 2}, {"f", "x.c", 30, 3}),
		    SITES({"f", "x.c", 10, 1}, {"f", "x.c", 15, 9}, {"f", "x.c", 22, 2}, {"f", "x.c", 32, 3}),
		    "f 0>15 +9 only_b; f 10>10 +0 line; f 20>22 +0 order; f 30>32 +0 order; ");
	expect_rows(SITES({"f", "x.c", 10, 1}, {"f", "x.c", 20, 2}), SITES({"f", "x.c", 10, 1}),
		    "f 20>0 -2 only_a; f 10>10 +0 line; ");
}

Test(sites, what_moved_as_its_neighbours_did_is_known)
{
	expect_rows(SITES({"e", "x.c", 5, 1}, {"f", "x.c", 10, 1}),
		    SITES({"e", "x.c", 9, 1}, {"f", "x.c", 14, 1}, {"f", "x.c", 16, 5}),
		    "f 0>16 +5 only_b; e 5>9 +0 order; f 10>14 +0 order; ");
}

Test(sites, what_nobody_can_tell_apart_is_compared_as_one)
{
	expect_rows(SITES({"f", "x.c", 10, 1}), SITES({"f", "x.c", 13, 2}, {"f", "x.c", 40, 3}),
		    "f 10>13 +4 together; ");
	expect_rows(SITES({"f", NULL, 0, 1}), SITES({"f", NULL, 0, 2}, {"f", NULL, 0, 3}), "f 0>0 +4 together; ");
}

Test(sites, functions_of_one_name_in_two_files_are_two)
{
	expect_rows(SITES({"f", "x.c", 10, 1}, {"f", "y.c", 10, 2}), SITES({"f", "y.c", 10, 5}, {"f", "x.c", 10, 1}),
		    "f 10>10 +3 line; f 10>10 +0 line; ");
}

Test(sites, a_file_may_have_a_new_name_and_a_program_no_names)
{
	expect_rows(SITES({"f", "/a/x.c", 10, 1}), SITES({"f", "/b/x2.c", 10, 4}), "f 10>10 +3 order; ");
	expect_rows(SITES({"", NULL, 0, 1}, {"", NULL, 0, 2}), SITES({"", NULL, 0, 1}, {"", NULL, 0, 5}),
		    "- 0>0 +3 order; - 0>0 +0 order; ");
}

/* ---- odd input ---- */

static char *page_with_diff(const cJSON *diff, const char *analysis)
{
	char *page = NULL;
	size_t len_bytes;
	struct error e;
	FILE *out = open_memstream(&page, &len_bytes);
	cr_assert_eq(html_report_compared(analysis, diff, out, &e), 0);
	fclose(out);
	return page;
}

Test(compare, a_page_has_the_whole_runs_time_in_both)
{
	static const struct call_site sites[] = {{"f", "x.c", 10, 1}, {NULL, NULL, 0, 0}};
	cJSON *a = analysis_of(sites), *b = analysis_of(sites);
	cJSON_SetNumberValue(cJSON_GetObjectItem(json_item(b, "efficiency"), "region_s"), 12);
	char *text = cJSON_PrintUnformatted(b), *page, wanted[256];
	cJSON *diff = difference(a, b);
	page = page_with_diff(diff, text);
	snprintf(wanted, sizeof(wanted), "traced region, once</th><td class=\"n\">%s</td><td class=\"n\">%s</td>",
		 fmt_time(10).s, fmt_time(12).s);
	cr_expect_not_null(strstr(page, wanted), "%s", wanted);
	free(page);
	free(text);
	cJSON_Delete(diff);
}

Test(compare, pages_of_hostile_runs_are_sound)
{
	static const char *const names[] = {"hostile.json", "partial.json", "halo_issues.json"};
	for (size_t i = 0; i < 3; i++) {
		char *one = corpus(names[i]), *two = corpus("hostile.json");
		cJSON *diff = difference(cJSON_Parse(one), cJSON_Parse(two));
		char *page = page_with_diff(diff, two);
		cr_expect_not_null(strstr(page, "id=\"diff\""));
		cr_expect(page_is_sound(page), "%s", names[i]);
		free(page);
		free(one);
		free(two);
		cJSON_Delete(diff);
	}
}

/* Every member of a real analysis away, or of another type: it is compared all the same. */
static void bend(cJSON *root, cJSON *at, const char *analysis)
{
	for (cJSON *child = at->child; child != NULL; child = child->next) {
		int type = child->type, other = (type & 0xff) == cJSON_NULL ? cJSON_True : cJSON_NULL;
		cJSON *below = child->child;
		child->type = other | (type & ~0xff);
		child->child = NULL;
		cJSON *diff = difference(cJSON_Duplicate(root, true), cJSON_Parse(analysis));
		cr_expect_not_null(json_item(diff, "scaling"));
		cJSON_Delete(diff);
		child->type = type;
		child->child = below;
		if (below != NULL && (at == root || (type & 0xff) == cJSON_Object))
			bend(root, child, analysis);
	}
}

Test(compare, any_analysis_is_compared_whatever_it_lacks)
{
	static const struct call_site sites[] = {{"f", "x.c", 10, 1}, {"g", "x.c", 20, 1}, {NULL, NULL, 0, 0}};
	cJSON *root = analysis_of(sites);
	char *text = cJSON_PrintUnformatted(root);
	bend(root, root, text);
	cJSON_Delete(root);
	cJSON *empty = difference(cJSON_CreateObject(), cJSON_CreateObject());
	cr_expect_eq(json_count(empty, "callsites"), 0);
	cJSON_Delete(empty);
	free(text);
}
