/* postproc_layout.c - "topology" of the analysis: what agents recorded of nodes and ranks, and what is odd about it. */
#include "base/json.h"
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Two sockets of two cores, the network at the second one, a GPU at the first. */
#define HARDWARE \
	"\"topology\":{\"sockets\":2,\"cores\":4,\"pus\":4,\"numa\":2,\"cpu\":\"Test CPU\",\"memory_bytes\":1e9," \
	"\"pu\":[{\"os\":0,\"core\":0,\"socket\":0,\"numa\":0},{\"os\":1,\"core\":1,\"socket\":0,\"numa\":0}," \
	"{\"os\":2,\"core\":2,\"socket\":1,\"numa\":1},{\"os\":3,\"core\":3,\"socket\":1,\"numa\":1}]," \
	"\"devices\":[{\"kind\":\"nic\",\"name\":\"mlx5_0\",\"names\":[\"mlx5_0\",\"ib0\"],\"pci\":\"0000:81:00.0\"," \
	"\"model\":\"Test adapter\",\"socket\":1,\"numa\":1,\"gbit_s\":200,\"up\":true}," \
	"{\"kind\":\"gpu\",\"name\":\"0000:11:00.0\",\"names\":[],\"socket\":0,\"numa\":0}%s]," \
	"\"versions\":{\"mpitrace\":\"0.0\",\"kernel\":\"6.0\",\"hwloc\":\"2.8.0\"}%s},"

/* Rank r may run on CPU r only (program.c); two ranks on each of two nodes. */
static cJSON *with(const char *members, const char *device, const char *more)
{
	static char text[8192];
	struct program *p = program_create(4, 2);
	size_t len = (size_t)snprintf(text, sizeof(text), "%s", members);
	snprintf(text + len, sizeof(text) - len, HARDWARE, device, more);
	program_node_members(p, 0, text);
	program_node_members(p, 1, text);
	for (unsigned r = 0; r < 4; r++)
		program_coll(p, r, (struct call){"MPI_Barrier", 10, 20, .coll = COLL_BARRIER, .line = 1});
	return analyse_program(p, 100);
}

static const cJSON *node_of(const cJSON *root, int i)
{
	return cJSON_GetArrayItem(node_at(root, "topology.nodes"), i);
}

static const char *switches_of(const cJSON *root)
{
	static char text[512];
	size_t used = 0;
	text[0] = '\0';
	for (const cJSON *v = json_first(json_item(node_of(root, 0), "switches"), "path"); v != NULL; v = v->next)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? "/" : "", v->valuestring);
	return text;
}

Test(layout, nodes_have_the_devices_and_versions_that_were_recorded)
{
	cJSON *root = with("", "", "");
	const cJSON *nic = json_first(node_of(root, 1), "devices");
	cr_assert_eq(json_count(node_of(root, 1), "devices"), 2);
	cr_expect_str_eq(json_text(nic, "name", ""), "mlx5_0");
	cr_expect_str_eq(json_text(nic, "pci", ""), "0000:81:00.0");
	cr_expect_eq(json_number(nic, "gbit_s"), 200);
	cr_expect_eq(json_number(nic, "socket"), 1);
	cr_expect(json_bool(nic, "up", false));
	cr_expect_eq(json_count(nic, "names"), 2);
	cr_expect_str_eq(json_text(json_item(node_of(root, 0), "versions"), "kernel", ""), "6.0");
	cr_expect_str_eq(json_text(node_of(root, 0), "cpu", ""), "Test CPU");
	cJSON_Delete(root);
}

Test(layout, transports_are_counted_by_rank)
{
	cJSON *root = with("", "", "");
	cr_assert_eq(cJSON_GetArraySize(node_at(root, "topology.transports")), 2);
	cr_expect_eq(field(find_text(root, "topology.transports", "transport", "pml test"), "ranks"), 4);
	cr_expect_eq(field(find_text(root, "topology.transports", "transport", "btl self"), "ranks"), 4);
	cJSON_Delete(root);
}

/* Ranks 0 and 1 run on socket 0 of n0, 2 and 3 on socket 1 of n1, where the network is. */
Test(layout, ranks_far_from_the_network_are_found)
{
	cJSON *root = with("", "", ""), *row = find_text(root, "topology.misbindings", "kind", "far_nic");
	cr_assert_not_null(row);
	cr_expect_eq(json_count(row, "ranks"), 2);
	cr_expect_eq(json_first(row, "ranks")->valueint, 0);
	cr_expect_eq(json_count(row, "nodes"), 1);
	cr_expect_not_null(strstr(json_text(row, "what", ""), "mlx5_0"));
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "topology.misbindings")), 1);
	cJSON_Delete(root);
}

Test(layout, switches_come_from_the_address_else_from_the_file)
{
	static const char file[] =
		",\"fabric\":{\"path\":[\"all\",\"b1\"],\"kinds\":[\"block\",\"block\"],\"node\":\"n0\"}";
	cJSON *root = with("\"switches\":\"core.leaf.n0 switch.switch.node\",", "", file);
	cr_expect_str_eq(switches_of(root), "core/leaf");
	cJSON_Delete(root);
	root = with("\"switches\":\"n0 node\",", "", file);
	cr_expect_str_eq(switches_of(root), "all/b1");
	cr_expect_str_eq(json_first(json_item(node_of(root, 0), "switches"), "kinds")->valuestring, "block");
	cJSON_Delete(root);
	root = with("", "", "");
	cr_expect_str_eq(switches_of(root), "");
	cJSON_Delete(root);
}

/* META is a file that a user can write. */
Test(layout, nonsense_is_left_out)
{
	cJSON *root = with("\"switches\":7,",
			   ",3,{},{\"kind\":\"disk\"},{\"kind\":\"nic\",\"name\":[],\"names\":7,\"socket\":\"x\"}",
			   ",\"fabric\":{\"path\":[\"a\",3,\"b\"],\"kinds\":{}}");
	cr_expect_eq(json_count(node_of(root, 0), "devices"), 2);
	cr_expect_str_eq(switches_of(root), "a");
	cJSON_Delete(root);
}
