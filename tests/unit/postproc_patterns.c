/* postproc_patterns.c - programs of a known shape are told by it, and by no other. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <string.h>

static double now[PROGRAM_RANKS_MAX];

static void message(struct program *p, unsigned from, unsigned to, uint64_t bytes)
{
	double t = now[from] > now[to] ? now[from] : now[to];
	program_send(p, from,
		     (struct call){.op = "MPI_Send", .from_us = t, .to_us = t + 1, .peer = (int)to, .bytes = bytes});
	program_recv(p, to,
		     (struct call){.op = "MPI_Recv", .from_us = t, .to_us = t + 2, .peer = (int)from, .bytes = bytes});
	now[from] = now[to] = t + 3;
}

static const char *first(const cJSON *root)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetArrayItem(node_at(root, "patterns"), 0), "pattern"));
}

static struct program *fresh(unsigned n)
{
	memset(now, 0, sizeof(now));
	return program_create(n, 1);
}

Test(patterns, recovers_the_grid_of_a_halo_exchange)
{
	struct program *p = fresh(48);
	for (unsigned y = 0; y < 8; y++)
		for (unsigned x = 0; x < 6; x++) {
			unsigned me = 6 * y + x;
			message(p, me, 6 * y + (x + 1) % 6, 1000);
			message(p, 6 * y + (x + 1) % 6, me, 1000);
			if (y + 1 < 8) {
				message(p, me, me + 6, 1000);
				message(p, me + 6, me, 1000);
			}
		}
	cJSON *root = analyse_program(p, 1e6);
	cr_assert_str_eq(first(root), "halo");
	cJSON *halo = find_text(root, "patterns", "pattern", "halo");
	cr_expect_eq(cJSON_GetArrayItem(cJSON_GetObjectItem(halo, "grid"), 0)->valuedouble, 8);
	cr_expect_eq(cJSON_GetArrayItem(cJSON_GetObjectItem(halo, "grid"), 1)->valuedouble, 6);
	cr_expect(cJSON_IsFalse(cJSON_GetArrayItem(cJSON_GetObjectItem(halo, "periodic"), 0)));
	cr_expect(cJSON_IsTrue(cJSON_GetArrayItem(cJSON_GetObjectItem(halo, "periodic"), 1)));
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "patterns")), 1);
	cJSON_Delete(root);
}

Test(patterns, tells_a_ring)
{
	struct program *p = fresh(7);
	for (unsigned r = 0; r < 7; r++)
		message(p, r, (r + 1) % 7, 100);
	cJSON *root = analyse_program(p, 1e6);
	cr_expect_str_eq(first(root), "ring");
	cJSON_Delete(root);
}

Test(patterns, tells_master_and_workers)
{
	struct program *p = fresh(9);
	for (unsigned r = 1; r < 9; r++)
		for (int i = 0; i < 5; i++) {
			message(p, r, 0, 10);
			message(p, 0, r, 1000);
		}
	cJSON *root = analyse_program(p, 1e6);
	cr_expect_str_eq(first(root), "master_worker");
	cr_expect_eq(cJSON_GetArrayItem(
			     cJSON_GetObjectItem(find_text(root, "patterns", "pattern", "master_worker"), "ranks"), 0)
			     ->valuedouble,
		     0);
	cJSON_Delete(root);
}

Test(patterns, tells_all_to_all)
{
	struct program *p = fresh(8);
	for (unsigned a = 0; a < 8; a++)
		for (unsigned b = 0; b < 8; b++)
			if (a != b)
				message(p, a, b, 500);
	cJSON *root = analyse_program(p, 1e6);
	cr_expect_str_eq(first(root), "all_to_all");
	cJSON_Delete(root);
}

Test(patterns, tells_ping_pong)
{
	struct program *p = fresh(4);
	for (int i = 0; i < 50; i++) {
		message(p, 0, 3, 8);
		message(p, 3, 0, 8);
	}
	cJSON *root = analyse_program(p, 1e6);
	cr_expect_str_eq(first(root), "ping_pong");
	cJSON_Delete(root);
}

Test(patterns, tells_a_butterfly)
{
	struct program *p = fresh(16);
	for (unsigned bit = 1; bit < 16; bit *= 2)
		for (unsigned r = 0; r < 16; r++)
			message(p, r, r ^ bit, 64);
	cJSON *root = analyse_program(p, 1e6);
	cr_expect_not_null(find_text(root, "patterns", "pattern", "butterfly"));
	cJSON_Delete(root);
}

Test(patterns, tells_a_sweep_by_its_one_direction)
{
	struct program *p = fresh(12);
	for (unsigned y = 0; y < 3; y++)
		for (unsigned x = 0; x < 4; x++) {
			if (x < 3)
				message(p, 4 * y + x, 4 * y + x + 1, 100);
			if (y < 2)
				message(p, 4 * y + x, 4 * y + x + 4, 100);
		}
	cJSON *root = analyse_program(p, 1e6);
	cr_expect_str_eq(first(root), "sweep");
	cJSON_Delete(root);
}

Test(patterns, names_no_shape_where_none_fits)
{
	struct program *p = fresh(11);
	const unsigned pairs[][2] = {{0, 5}, {5, 2}, {2, 9}, {9, 0}, {1, 7}, {7, 3}, {3, 10}, {10, 1}, {4, 0}};
	for (unsigned i = 0; i < 9; i++)
		message(p, pairs[i][0], pairs[i][1], 100 * i + 1);
	cJSON *root = analyse_program(p, 1e6);
	cr_expect_str_eq(first(root), "irregular");
	cJSON_Delete(root);
}
