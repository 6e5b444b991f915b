/* postproc_placement.c - poor_placement: what messages between nodes cost beyond those within, and switches. */
#include "base/json.h"
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define BYTES 100000
#define NEAR 1e-6

static void message(struct program *p, unsigned from, unsigned to, double us, uint64_t bytes, double takes)
{
	program_send(p, from,
		     (struct call){.op = "MPI_Send",
				   .from_us = us,
				   .to_us = us + takes,
				   .peer = (int)to,
				   .bytes = bytes,
				   .line = 3});
	program_recv(p, to,
		     (struct call){.op = "MPI_Recv",
				   .from_us = us,
				   .to_us = us + takes,
				   .peer = (int)from,
				   .bytes = bytes,
				   .line = 4});
}

/* Eight ranks on two nodes, in blocks. In turn, each sends to the next one on its node and to its like on the other,
 * ten times: messages within a node take `within` of 100 us, those between nodes 90. */
static cJSON *mixed(double within, uint64_t bytes_within)
{
	struct program *p = program_create(8, 2);
	double t = 0;
	for (unsigned i = 0; i < 20; i++)
		for (unsigned distance = 1; distance <= 4; distance += 3, t += 100)
			for (unsigned r = 0; r < 8; r++)
				if ((i % 2 == 0) == (r < (r ^ distance)))
					message(p, r, r ^ distance, t, distance == 1 ? bytes_within : BYTES,
						distance == 1 ? within : 90);
	return analyse_program(p, t);
}

static cJSON *poor(const cJSON *root)
{
	return find_text(root, "issues", "issue", "poor_placement");
}

/* 20 rounds of 4 messages between nodes, each 90 us in a send and in a receive; 30 of them would stay. */
Test(placement, costs_what_it_takes_beyond_messages_within_a_node)
{
	cJSON *root = mixed(30, BYTES), *row = poor(root);
	cr_assert_not_null(row);
	cr_expect_float_eq(at_path(row, "metric.value"), 0.5, NEAR);
	cr_expect_float_eq(field(row, "loss_s"), 20 * 4 * 2 * 60e-6, 20e-6, "%f", field(row, "loss_s"));
	cr_expect_not_null(strstr(json_text(row, "why", ""), "what sends to other nodes took more"));
	cJSON_Delete(root);
}

Test(placement, costs_nothing_where_the_network_is_as_fast)
{
	cJSON *root = mixed(90, BYTES);
	cr_expect_null(poor(root));
	cJSON_Delete(root);
}

Test(placement, is_a_bound_where_sizes_do_not_compare)
{
	cJSON *root = mixed(30, 100), *row = poor(root);
	cr_assert_not_null(row);
	cr_expect_float_eq(field(row, "loss_s"), 20 * 4 * 2 * 90e-6, 20e-6, "%f", field(row, "loss_s"));
	cr_expect_not_null(strstr(json_text(row, "why", ""), "is a bound"));
	cJSON_Delete(root);
}

/* Two ranks on each of four nodes, in blocks; 0, 1, 4, 5 exchange with each other, and 2, 3, 6, 7. */
static cJSON *groups(bool switches)
{
	static const unsigned pairs[][2] = {{0, 1}, {4, 5}, {0, 4}, {1, 5}, {0, 5}, {1, 4},
					    {2, 3}, {6, 7}, {2, 6}, {3, 7}, {2, 7}, {3, 6}};
	static char members[4][128];
	struct program *p = program_create(8, 4);
	double t = 0;
	for (unsigned n = 0; n < 4 && switches; n++) {
		snprintf(members[n], sizeof(members[n]), "\"switches\":\"core.leaf%u.n%u switch.switch.node\",", n / 2,
			 n);
		program_node_members(p, n, members[n]);
	}
	for (unsigned i = 0; i < 10; i++)
		for (unsigned k = 0; k < 6; k += 2, t += 100)
			for (unsigned half = 0; half < 12; half += 6)
				for (unsigned j = half + k; j < half + k + 2; j++)
					message(p, pairs[j][i % 2], pairs[j][1 - i % 2], t, BYTES, k == 0 ? 20 : 90);
	return analyse_program(p, t);
}

/* Four ranks do not fit on one node, but their two nodes can be below one switch: two thirds of the messages pass one
 * level less of two. */
Test(placement, counts_levels_of_switches)
{
	cJSON *root = groups(true), *row = poor(root);
	cr_assert_not_null(row);
	cr_expect_float_eq(at_path(row, "metric.value"), 1.0 / 3, NEAR);
	cr_expect_not_null(strstr(json_text(row, "what", ""), "of different switches"), "%s",
			   json_text(row, "what", ""));
	cr_expect_not_null(strstr(json_text(row, "what", ""), "it would be 0 B"), "%s", json_text(row, "what", ""));
	cJSON_Delete(root);
}

/* Node 0 sends to node 2, below the other switch; rank 1 sends to rank 0. */
Test(placement, says_of_each_level_which_group_sends_how_much_to_which)
{
	static const struct {
		const char *level;
		int src, dst, count, bytes;
	} cells[] = {{"ranks", 1, 0, 2, 10}, {"ranks", 1, 4, 1, 7},	{"nodes", 0, 0, 2, 10},
		     {"nodes", 0, 2, 1, 7},  {"switches", 0, 0, 2, 10}, {"switches", 0, 1, 1, 7}};
	static char members[4][128];
	struct program *p = program_create(8, 4);
	for (unsigned n = 0; n < 4; n++) {
		snprintf(members[n], sizeof(members[n]), "\"switches\":\"core.leaf%u.n%u switch.switch.node\",", n / 2,
			 n);
		program_node_members(p, n, members[n]);
	}
	message(p, 1, 0, 0, 5, 20);
	message(p, 1, 0, 100, 5, 20);
	message(p, 1, 4, 200, 7, 20);
	cJSON *root = analyse_program(p, 300);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		const cJSON *level = find_text(root, "traffic_levels", "level", cells[i].level);
		cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(level, "p2p")), 2, "%s", cells[i].level);
		const cJSON *cell = find(level, "p2p", "src", cells[i].src, "dst", cells[i].dst, NULL);
		cr_expect_eq(field(cell, "count"), cells[i].count, "%s", cells[i].level);
		cr_expect_eq(field(cell, "bytes"), cells[i].bytes, "%s", cells[i].level);
	}
	cJSON_Delete(root);
}

Test(placement, knows_no_distances_without_switches)
{
	cJSON *root = groups(false);
	cr_expect_null(poor(root));
	cJSON_Delete(root);
}
