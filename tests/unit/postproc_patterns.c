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

/* Both send before either has received. */
static void exchange(struct program *p, unsigned a, unsigned b, uint64_t bytes)
{
	double t = now[a] > now[b] ? now[a] : now[b];
	for (unsigned i = 0; i < 2; i++)
		program_sendrecv(p, i == 0 ? a : b,
				 (struct call){.op = "MPI_Sendrecv",
					       .from_us = t + i,
					       .to_us = t + 5,
					       .peer = (int)(i == 0 ? b : a),
					       .bytes = bytes,
					       .recv_peer = (int)(i == 0 ? b : a),
					       .recv_bytes = bytes});
	now[a] = now[b] = t + 6;
}

static void collective(struct program *p, unsigned ranks, const char *op, enum sig_coll kind, int root, uint64_t bytes)
{
	for (unsigned r = 0; r < ranks; r++)
		program_coll(p, r,
			     (struct call){.op = op,
					   .from_us = now[r],
					   .to_us = now[r] + 5,
					   .peer = root,
					   .bytes = bytes,
					   .from_each = bytes,
					   .coll = kind});
	for (unsigned r = 0; r < ranks; r++)
		now[r] += 6;
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
			message(p, me, 6 * y + (x + 1) % 6, 100000);
			message(p, 6 * y + (x + 1) % 6, me, 100000);
			if (y + 1 < 8) {
				message(p, me, me + 6, 100000);
				message(p, me + 6, me, 100000);
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
		message(p, r, (r + 1) % 7, 100000);
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
				message(p, a, b, 50000);
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
			message(p, r, r ^ bit, 64000);
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
				message(p, 4 * y + x, 4 * y + x + 1, 100000);
			if (y < 2)
				message(p, 4 * y + x, 4 * y + x + 4, 100000);
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
		message(p, pairs[i][0], pairs[i][1], 100000 * i + 1);
	cJSON *root = analyse_program(p, 1e6);
	cr_expect_str_eq(first(root), "irregular");
	cJSON_Delete(root);
}

Test(patterns, calls_no_exchange_a_ping_pong)
{
	struct program *p = fresh(4);
	for (int i = 0; i < 200; i++) {
		exchange(p, 0, 1, 8);
		exchange(p, 2, 3, 8);
	}
	cJSON *root = analyse_program(p, 1e6);
	cr_expect_eq(at_path(root, "summary.transfers"), 800);
	cr_expect_null(find_text(root, "patterns", "pattern", "ping_pong"));
	cJSON_Delete(root);
}

/* Who begins may change; and pairs do not disturb each other. */
Test(patterns, tells_ping_pong_whoever_begins)
{
	struct program *p = fresh(4);
	for (unsigned i = 0; i < 200; i++)
		for (unsigned k = 0; k < 2; k++) {
			message(p, 0, 1, 8);
			message(p, 1, 0, 8);
			message(p, 2 + i / 100, 3 - i / 100, 8);
			message(p, 3 - i / 100, 2 + i / 100, 8);
		}
	cJSON *root = analyse_program(p, 1e6);
	cr_assert_str_eq(first(root), "ping_pong");
	cr_expect_gt(field(find_text(root, "patterns", "pattern", "ping_pong"), "score"), 0.99);
	cJSON_Delete(root);
}

Test(patterns, says_nothing_of_ping_pong_without_single_calls)
{
	struct program *p = fresh(2);
	program_budget_spent(p, 0);
	for (int i = 0; i < 50; i++) {
		message(p, 0, 1, 8);
		message(p, 1, 0, 8);
	}
	cJSON *root = analyse_program(p, 1e6);
	cr_expect_null(find_text(root, "patterns", "pattern", "ping_pong"));
	cJSON_Delete(root);
}

Test(patterns, says_nothing_of_a_few_stray_bytes)
{
	for (unsigned rounds = 1; rounds < 10; rounds += 4) { /* 3 to 15 messages each way a rank */
		struct program *p = fresh(4);
		for (unsigned i = 0; i < rounds; i++)
			for (unsigned a = 0; a < 4; a++)
				for (unsigned b = 0; b < 4; b++)
					if (a != b)
						message(p, a, b, 4);
		cJSON *root = analyse_program(p, 1e6);
		cr_expect_eq(cJSON_GetArraySize(node_at(root, "patterns")) > 0, rounds >= 5, "%u rounds", rounds);
		cJSON_Delete(root);
	}
}

Test(patterns, weighs_messages_against_collectives)
{
	const uint64_t bytes[] = {8, 100000};
	for (unsigned heavy = 0; heavy < 2; heavy++) {
		struct program *p = fresh(8);
		for (unsigned i = 0; i < 10; i++) {
			for (unsigned r = 0; r < 8; r++)
				message(p, r, (r + 1) % 8, 1000);
			for (unsigned r = 1; r < 8; r++)
				now[r] = now[0];
			collective(p, 8, "MPI_Alltoall", COLL_ALLTOALL, SIG_NO_ROOT, bytes[heavy]);
		}
		cJSON *root = analyse_program(p, 1e6);
		const cJSON *ring = find_text(root, "patterns", "pattern", "ring");
		const cJSON *all = find_text(root, "patterns", "pattern", "all_to_all");
		cr_expect_eq(ring != NULL, heavy == 0);
		cr_expect_eq(all != NULL, heavy == 1);
		cr_expect_null(find_text(root, "patterns", "pattern", "irregular"));
		cr_expect_str_eq(
			cJSON_GetObjectItem(cJSON_GetArrayItem(node_at(root, "patterns"), 0), "traffic")->valuestring,
			heavy == 1 ? "collectives" : "messages");
		cJSON_Delete(root);
	}
}

Test(patterns, has_a_root_where_more_than_half_of_all_collectives_have_one)
{
	for (unsigned calls = 10; calls <= 11; calls++) {
		struct program *p = fresh(16);
		for (unsigned i = 0; i < calls; i++)
			collective(p, 16, "MPI_Bcast", COLL_BCAST, 5, 4);
		for (unsigned i = 0; i < 10; i++)
			collective(p, 16, "MPI_Alltoall", COLL_ALLTOALL, SIG_NO_ROOT, 4);
		cJSON *root = analyse_program(p, 1e6),
		      *row = find_text(root, "patterns", "pattern", "rooted_collective");
		cr_expect_eq(row != NULL, calls == 11, "%u calls", calls);
		if (row != NULL)
			cr_expect_eq(element(row, "ranks", 0), 5);
		cJSON_Delete(root);
	}
}

/* One Alltoall of a few bytes among many is one call a rank, not a message to each. */
Test(patterns, counts_collectives_by_their_calls)
{
	for (unsigned calls = 9; calls <= 10; calls++) {
		struct program *p = fresh(16);
		for (unsigned i = 0; i < calls; i++)
			collective(p, 16, "MPI_Alltoall", COLL_ALLTOALL, SIG_NO_ROOT, 4);
		cJSON *root = analyse_program(p, 1e6);
		cr_expect_eq(cJSON_GetArraySize(node_at(root, "patterns")) > 0, calls == 10, "%u calls", calls);
		cJSON_Delete(root);
	}
}
