/* misbound.c - what is said of bindings: each oddity where it is, and nothing where all is well. */
#include "base/json.h"
#include "topology/topology.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two sockets of 4 cores with 2 hardware threads, numbered as Linux does: CPUs 0-3 and 8-11 are socket 0; each socket
 * has `numas` NUMA nodes. */
static cJSON *machine(const char *name, unsigned numas)
{
	cJSON *node = cJSON_CreateObject(), *pus = json_array(node, "pu");
	json_put_text(node, "name", name);
	for (unsigned os = 0; os < 16; os++) {
		cJSON *pu = json_row(pus);
		unsigned core = os % 8;
		json_put(pu, "os", os);
		json_put(pu, "core", core);
		json_put(pu, "socket", core / 4);
		json_put(pu, "numa", core * numas / 4);
	}
	json_array(node, "ranks");
	json_array(node, "devices");
	return node;
}

static void bind(cJSON *node, unsigned rank, const char *cpus)
{
	cJSON *row = json_row(cJSON_GetObjectItemCaseSensitive(node, "ranks"));
	json_put(row, "rank", rank);
	json_put_text(row, "cpus", cpus);
}

static void adapter(cJSON *node, const char *name, int socket, double gbit_s, bool up)
{
	cJSON *row = json_row(cJSON_GetObjectItemCaseSensitive(node, "devices"));
	json_put_text(row, "kind", "nic");
	json_put_text(row, "name", name);
	json_put(row, "socket", socket);
	json_put(row, "gbit_s", gbit_s);
	cJSON_AddBoolToObject(row, "up", up);
}

/* "kind: ranks" of each row, joined by "; ". */
static const char *found(cJSON *node, bool many_nodes)
{
	static char text[1024];
	cJSON *rows = cJSON_CreateArray();
	const cJSON *row;
	size_t used = 0;
	topo_misbound(node, many_nodes, rows);
	text[0] = '\0';
	cJSON_ArrayForEach(row, rows)
	{
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s:", used > 0 ? "; " : "",
					 json_text(row, "kind", "?"), json_bool(row, "avoidable", false) ? "!" : "");
		for (const cJSON *r = json_first(row, "ranks"); r != NULL; r = r->next)
			used += (size_t)snprintf(text + used, sizeof(text) - used, " %.0f", r->valuedouble);
		cr_assert_gt(strlen(json_text(row, "what", "")), 20);
		cr_assert_gt(strlen(json_text(row, "next", "")), 20);
	}
	cJSON_Delete(rows);
	cJSON_Delete(node);
	return text;
}

static cJSON *bound(unsigned ranks, const char *const *cpus, unsigned numas)
{
	cJSON *node = machine("n1", numas);
	for (unsigned i = 0; i < ranks; i++)
		bind(node, i, cpus[i]);
	return node;
}

#define BOUND(numas, ...) \
	bound(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__}, numas)

Test(misbound, nothing_is_said_of_good_bindings)
{
	cr_expect_str_eq(found(BOUND(1, "0", "1", "4", "5"), false), "");
	cr_expect_str_eq(found(BOUND(1, "0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"), false), "");
	cr_expect_str_eq(found(BOUND(1, "0-3,8-11", "0-3,8-11", "4-7,12-15", "4-7,12-15"), false), "", "by socket");
	cr_expect_str_eq(found(BOUND(2, "0-1,8-9", "2-3,10-11"), false), "", "by NUMA node, with threads");
	cr_expect_str_eq(found(BOUND(1, "0-15"), false), "", "one rank with all of the node");
	cr_expect_str_eq(found(machine("n1", 1), false), "", "no ranks");
}

Test(misbound, ranks_that_share_a_hardware_thread_are_named)
{
	cr_expect_str_eq(found(BOUND(1, "0", "0", "1"), false), "shared_pu!: 0 1");
	cr_expect_str_eq(found(BOUND(1, "0,8", "0,8", "0,8"), false), "shared_pu!: 0 1 2",
			 "three on two hardware threads of one core");
	cr_expect_str_eq(found(BOUND(1, "0-1", "0-1", "0-1", "0-1", "0-1", "4"), false), "shared_pu!: 0 1 2 3 4");
}

Test(misbound, a_small_set_is_to_blame_not_the_large_one_around_it)
{
	cr_expect_str_eq(found(BOUND(1, "0", "0", "0-1", "5"), false), "shared_pu!: 0 1");
	cr_expect_str_eq(found(BOUND(1, "0-1", "0-1", "1", "1-2", "1-2", "7"), false), "shared_pu!: 0 1 2 3 4",
			 "sets that overlap: each rank once");
}

Test(misbound, hardware_threads_of_a_core_are_told_from_cores)
{
	cr_expect_str_eq(found(BOUND(1, "0", "8", "1"), false), "", "bound one by one: sets are of one thread each");
	cr_expect_str_eq(found(BOUND(1, "0,8", "0,8", "1"), false), "shared_core!: 0 1");
}

Test(misbound, a_full_node_cannot_do_better)
{
	cJSON *node = machine("n1", 1);
	for (unsigned i = 0; i < 16; i++) {
		char cpus[16];
		snprintf(cpus, sizeof(cpus), "%u,%u", i % 8, i % 8 + 8);
		bind(node, i, cpus);
	}
	cJSON *rows = cJSON_CreateArray();
	topo_misbound(node, false, rows);
	const cJSON *row = cJSON_GetArrayItem(rows, 0);
	cr_expect_str_eq(json_text(row, "kind", ""), "shared_core");
	cr_expect_not(json_bool(row, "avoidable", true));
	cr_expect_eq(json_number(row, "ranks_total"), 16);
	cr_expect_eq(json_number(row, "nodes_total"), 1);
	cJSON_Delete(rows);
	cJSON_Delete(node);
}

Test(misbound, ranks_that_are_not_bound_are_named)
{
	cr_expect_str_eq(found(BOUND(1, "0-15", "0-15"), false), "unbound!: 0 1");
	cr_expect_str_eq(found(BOUND(1, "2-3", "2-3"), false), "unbound!: 0 1", "within what the job has of the node");
	cr_expect_str_eq(found(BOUND(1, "5", "5,13"), false), "shared_core!: 0 1",
			 "one core is nothing to be bound in");
}

Test(misbound, ranks_across_sockets_are_named_if_one_were_enough)
{
	cr_expect_str_eq(found(BOUND(1, "3-4", "5-6"), false), "across_sockets!: 0");
	cr_expect_str_eq(found(BOUND(1, "0-5", "6-7"), false), "", "six cores do not fit into a socket of four");
	cr_expect_str_eq(found(BOUND(2, "1-2", "4-5"), false), "across_numa!: 0");
}

Test(misbound, ranks_far_from_the_network_are_named)
{
	cJSON *node = BOUND(1, "0", "1", "4");
	adapter(node, "mlx5_0", 1, 200, true);
	cr_expect_str_eq(found(node, true), "far_nic!: 0 1");
	node = BOUND(1, "0", "4");
	adapter(node, "mlx5_0", 1, 200, true);
	cr_expect_str_eq(found(node, false), "", "on one node there is no network");
	node = BOUND(1, "0", "4");
	adapter(node, "mlx5_0", 1, 200, true);
	adapter(node, "mlx5_1", 0, 200, true);
	cr_expect_str_eq(found(node, true), "", "each socket has one");
	node = BOUND(1, "0", "1");
	adapter(node, "eth0", 0, 1, true);
	adapter(node, "mlx5_0", 1, 200, true);
	cr_expect_str_eq(found(node, true), "far_nic!: 0 1", "the slow one is for logins");
	node = BOUND(1, "0", "1");
	adapter(node, "mlx5_0", 0, 200, true);
	adapter(node, "mlx5_1", 1, 400, false);
	cr_expect_str_eq(found(node, true), "", "the other one is down");
	node = BOUND(1, "0", "1");
	adapter(node, "eth0", -1, 10, true);
	cr_expect_str_eq(found(node, true), "", "nobody knows where it hangs");
	node = BOUND(1, "0", "1");
	adapter(node, "mlx5_0", 1, 1, true);
	adapter(node, "eth0", 0, 0, true);
	cJSON_DeleteItemFromObject(cJSON_GetArrayItem(cJSON_GetObjectItem(node, "devices"), 1), "gbit_s");
	cr_expect_str_eq(found(node, true), "far_nic!: 0 1", "one of which no speed is known");
}

/* What is said of the first row. */
static void says(cJSON *node, const char *words)
{
	cJSON *rows = cJSON_CreateArray();
	topo_misbound(node, false, rows);
	const char *what = json_text(cJSON_GetArrayItem(rows, 0), "what", "");
	cr_expect_eq(strncmp(what, words, strlen(words)), 0, "%s", what);
	cJSON_Delete(rows);
	cJSON_Delete(node);
}

Test(misbound, ranks_and_cores_are_named_in_words)
{
	says(BOUND(1, "0", "0", "1"), "Ranks 0-1 of n1 take turns on 1 core, while 6 of its cores have no rank.");
	says(BOUND(1, "0-1,8-9", "0-1,8-9", "0-1,8-9", "5"),
	     "Ranks 0-2 of n1 share 2 cores, on different hardware threads");
	says(BOUND(1, "0", "1", "0", "2", "0", "0"), "Ranks 0, 2, 4-5 of n1 take turns on 1 core,");
	says(BOUND(1, "2-3", "2-3"), "Ranks 0-1 of n1 may run on any of 2 cores;");
}

/* Core 0 is not the job's. */
Test(misbound, the_larger_one_of_two_sockets_may_be_enough)
{
	cJSON *node = BOUND(1, "3-6", "7"), *pus = cJSON_GetObjectItem(node, "pu");
	cJSON_DeleteItemFromArray(pus, 8);
	cJSON_DeleteItemFromArray(pus, 0);
	cr_expect_str_eq(found(node, false), "across_sockets!: 0");
}

Test(misbound, one_row_for_all_nodes)
{
	cJSON *rows = cJSON_CreateArray();
	for (unsigned i = 0; i < 100; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%u", i);
		cJSON *node = machine(name, 1);
		bind(node, 2 * i, "0");
		bind(node, 2 * i + 1, "0");
		topo_misbound(node, true, rows);
		cJSON_Delete(node);
	}
	cr_assert_eq(cJSON_GetArraySize(rows), 1);
	const cJSON *row = cJSON_GetArrayItem(rows, 0);
	cr_expect_eq(json_number(row, "nodes_total"), 100);
	cr_expect_eq(json_number(row, "ranks_total"), 200);
	cr_expect_eq(json_count(row, "nodes"), 64);
	cr_expect_eq(json_count(row, "ranks"), 64);
	cJSON_Delete(rows);
}

/* All of it comes from a file that anybody may have written. */
Test(misbound, nonsense_is_passed_over)
{
	static const char *const bad[] = {
		"{}",
		"{\"pu\":3,\"ranks\":4}",
		"{\"pu\":[{\"os\":-1},{\"os\":1e300,\"core\":1e300},{}],\"ranks\":[{\"rank\":-5,\"cpus\":\"0-65535\"}]"
		"}",
		"{\"pu\":[{\"os\":0,\"core\":4095,\"socket\":4095,\"numa\":-1},{\"os\":1,\"core\":4096}],"
		"\"ranks\":[{\"cpus\":\"0\"},{\"cpus\":\"0,1\"},{\"cpus\":\"x\"},{\"cpus\":7},3]}",
		"{\"name\":7,\"pu\":[{\"os\":0}],\"devices\":[3,{\"kind\":\"nic\",\"socket\":1e9}],\"ranks\":[{"
		"\"cpus\":\"0\"}]}",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cJSON *node = cJSON_Parse(bad[i]), *rows = cJSON_CreateArray();
		cr_assert_not_null(node);
		topo_misbound(node, true, rows);
		cJSON_Delete(rows);
		cJSON_Delete(node);
	}
}
