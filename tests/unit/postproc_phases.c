/* postproc_phases.c - programs with a loop of known length: where it begins and ends, how often it goes around, whether
 * it slows down; and programs without one. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define RANKS 4

static double now; /* of all ranks: they keep step */

static void everywhere(struct program *p, const char *op, enum sig_coll kind, double us, unsigned line)
{
	for (unsigned r = 0; r < RANKS; r++)
		program_coll(p, r,
			     (struct call){.op = op,
					   .from_us = now,
					   .to_us = now + us,
					   .peer = kind == COLL_BCAST ? 0 : SIG_NO_ROOT,
					   .bytes = 8,
					   .from_each = 8,
					   .coll = kind,
					   .line = line});
	now += us;
}

static void around(struct program *p, double us, unsigned line)
{
	for (unsigned r = 0; r < RANKS; r++)
		program_sendrecv(p, r,
				 (struct call){.op = "MPI_Sendrecv",
					       .from_us = now,
					       .to_us = now + us,
					       .peer = (int)((r + 1) % RANKS),
					       .bytes = 100,
					       .recv_peer = (int)((r + RANKS - 1) % RANKS),
					       .recv_bytes = 100,
					       .line = line});
	now += us;
}

static void write_out(struct program *p, double us, unsigned line)
{
	for (unsigned r = 0; r < RANKS; r++)
		program_words(
			p, r,
			(struct call){.op = "MPI_File_write_all", .from_us = now, .to_us = now + us, .line = line},
			SIG_TIME, 0, NULL, 0);
	now += us;
}

static const cJSON *part(const cJSON *root, const char *name)
{
	return find_text(node_at(root, "phases"), "parts", "phase", name);
}

static double edge(const cJSON *row, int i)
{
	return row == NULL ? NAN : cJSON_GetArrayItem(cJSON_GetObjectItem(row, "window_s"), i)->valuedouble;
}

/* 5 s of init with a broadcast in it; 100 iterations: compute, exchange, reduce, from 10 to 20 ms; 0.5 s of output. */
static cJSON *growing(bool computes_last)
{
	struct program *p = program_create(RANKS, 1);
	now = 2e6;
	everywhere(p, "MPI_Bcast", COLL_BCAST, 100, 1);
	now = 5e6;
	for (int i = 0; i < 100; i++) {
		double us = 10000 + 10000.0 / 99 * i;
		now += computes_last ? 0 : us - 200;
		around(p, 100, 2);
		everywhere(p, "MPI_Allreduce", COLL_ALLREDUCE, 100, 3);
		now += computes_last ? us - 200 : 0;
	}
	write_out(p, 500000, 4);
	return analyse_program(p, now);
}

Test(phases, are_init_iterations_and_output)
{
	for (int last = 0; last < 2; last++) {
		cJSON *root = growing(last == 1);
		cr_assert_eq(at_path(root, "phases.iterations"), 100);
		cr_expect_float_eq(at_path(root, "phases.iteration_s"), 15e-3, 0.1e-3);
		cr_expect_float_eq(at_path(root, "phases.shortest_s"), 10e-3, 0.2e-3);
		cr_expect_float_eq(at_path(root, "phases.longest_s"), 20e-3, 0.2e-3);
		cr_expect_float_eq(at_path(root, "phases.drift"), 10.0 / 15, 0.02);
		cr_expect_lt(at_path(root, "phases.deviation"), 1e-3);
		cr_expect_float_eq(edge(part(root, "init"), 1), 5, 0.001);
		cr_expect_float_eq(edge(part(root, "iterations"), 1), 6.5, 0.001);
		cr_expect_float_eq(edge(part(root, "output"), 0), 6.5, 0.001);
		cr_expect_float_eq(field(part(root, "output"), "io_s"), RANKS * 0.5, 0.1);
		cr_expect_null(part(root, "end"));
		cJSON_Delete(root);
	}
}

static double sum_of(const cJSON *list, const char *key)
{
	double sum = 0;
	for (const cJSON *v = list->child; v != NULL; v = v->next)
		sum += field(v, key);
	return sum;
}

/* 99 distances: of four each, and the rest. */
Test(phases, are_told_in_at_most_32_pieces)
{
	cJSON *root = growing(false);
	const cJSON *list = node_at(root, "phases.pieces");
	cr_assert_eq(cJSON_GetArraySize(list), 25);
	cr_expect_eq(sum_of(list, "iterations"), 99);
	for (int i = 0; i < 25; i++) {
		const cJSON *row = cJSON_GetArrayItem(list, i);
		double n = i < 24 ? 4 : 3, middle = 4 * i + (n - 1) / 2;
		cr_expect_eq(field(row, "from"), 4 * i);
		cr_expect_eq(field(row, "iterations"), n);
		cr_expect_float_eq(field(row, "iteration_s"), 10e-3 + 10e-3 / 99 * (middle + 1), 0.15e-3);
	}
	cJSON_Delete(root);
}

/* What comes four times each time around, and every tenth time, is no iteration. */
Test(phases, go_around_once_each_time)
{
	struct program *p = program_create(RANKS, 1);
	now = 1000;
	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < 4; k++)
			around(p, 50, 2);
		now += 800;
		everywhere(p, "MPI_Allreduce", COLL_ALLREDUCE, 50, 3);
		if (i % 10 == 9)
			everywhere(p, "MPI_Barrier", COLL_BARRIER, 50, 4);
	}
	cJSON *root = analyse_program(p, now + 1000);
	cr_expect_eq(at_path(root, "phases.iterations"), 200);
	cr_expect_float_eq(at_path(root, "phases.drift"), 0, 0.05);
	cr_expect_not_null(part(root, "end"));
	cr_expect_null(part(root, "output"));
	cJSON_Delete(root);
}

/* Every fortieth time around takes ten times as long, as where others take the processor: a loop all the same. */
Test(phases, are_told_of_a_loop_that_is_held_up_now_and_then)
{
	struct program *p = program_create(RANKS, 1);
	now = 1000;
	for (int i = 0; i < 400; i++) {
		now += i % 40 == 7 ? 9000 : 900;
		around(p, 50, 2);
		everywhere(p, "MPI_Allreduce", COLL_ALLREDUCE, 50, 3);
	}
	cJSON *root = analyse_program(p, now);
	cr_expect_eq(at_path(root, "phases.iterations"), 400);
	cr_expect_gt(at_path(root, "phases.deviation"), 0.5);
	cJSON_Delete(root);
}

Test(phases, are_not_told_of_calls_without_a_rhythm)
{
	struct program *p = program_create(RANKS, 1);
	uint32_t x = 1;
	now = 0;
	for (int i = 0; i < 200; i++) {
		x = x * 1664525 + 1013904223;
		now += (x >> 16) % 10 == 0 ? 50000 : 100;
		around(p, 50, 2);
	}
	cJSON *root = analyse_program(p, now);
	cr_expect(cJSON_IsNull(node_at(root, "phases.iterations")));
	cr_expect_gt(strlen(cJSON_GetStringValue(node_at(root, "phases.note"))), 0);
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "phases.parts")), 0);
	cJSON_Delete(root);
}

Test(phases, are_not_told_of_few_calls_or_a_short_loop)
{
	for (int few = 0; few < 2; few++) {
		struct program *p = program_create(RANKS, 1);
		now = 0;
		for (int i = 0; i < (few ? 9 : 50); i++) {
			around(p, 50, 2);
			now += 50;
		}
		cJSON *root = analyse_program(p, few ? now : 20 * now);
		cr_expect(cJSON_IsNull(node_at(root, "phases.iterations")), "few: %d", few);
		cJSON_Delete(root);
	}
}

Test(phases, are_not_known_without_single_calls)
{
	struct program *p = program_create(RANKS, 1);
	for (unsigned r = 0; r < RANKS; r++)
		program_budget_spent(p, r);
	now = 0;
	for (int i = 0; i < 50; i++)
		around(p, 50, 2);
	cJSON *root = analyse_program(p, now);
	cr_expect_not_null(strstr(cJSON_GetStringValue(node_at(root, "phases.note")), "none are recorded"));
	cJSON_Delete(root);
}
