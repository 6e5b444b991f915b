/* topology.c - the node, its bindings and its switches, from this machine and from a made one. */
#include "topology/cpulist.h"
#include "topology/pus.h"
#include "topology/topology.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct cpulist list;

Test(cpulist, reads_single_numbers_and_ranges)
{
	cr_assert_eq(cpulist_parse("0-3,8\n", &list), 0);
	cr_assert_eq(list.count, 5);
	cr_assert(cpulist_has(&list, 3) && cpulist_has(&list, 8));
	cr_assert_not(cpulist_has(&list, 4));
}

Test(cpulist, counts_a_cpu_named_twice_once)
{
	cr_assert_eq(cpulist_parse("1,1,0-1", &list), 0);
	cr_assert_eq(list.count, 2);
}

Test(cpulist, refuses_what_is_not_a_list)
{
	static const char *const bad[] = {"a", "1-", "3-1", "1;2", "-1", "1,,2", "0-65536", "99999999999999"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(cpulist_parse(bad[i], &list), -EINVAL, "%s", bad[i]);
}

static double number(const cJSON *object, const char *key)
{
	return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

Test(node, has_as_many_pu_entries_as_it_says)
{
	struct error e = {""};
	cJSON *node = topo_node(&e);
	cr_assert_not_null(node, "%s", e.text);
	cJSON *pus = cJSON_GetObjectItemCaseSensitive(node, "pu");
	cr_assert_eq(cJSON_GetArraySize(pus), (int)number(node, "pus"));
	cr_assert_geq(number(node, "pus"), number(node, "cores"));
	cr_assert_geq(number(node, "cores"), number(node, "sockets"));
	cr_assert_geq(number(node, "memory_bytes"), 1e6);
	cJSON_Delete(node);
}

/* A machine of two sockets with two cores of two threads each, numbered as Linux does it. */
static void write_file(const char *root, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static void make_machine(char root[])
{
	cr_assert_not_null(mkdtemp(root));
	write_file(root, "devices/system/cpu/online", "0-7\n");
	write_file(root, "devices/system/node/node0/cpulist", "0-1,4-5\n");
	write_file(root, "devices/system/node/node1/cpulist", "2-3,6-7\n");
	for (unsigned cpu = 0; cpu < 8; cpu++) {
		char name[96], text[16];
		snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/topology/core_id", cpu);
		snprintf(text, sizeof(text), "%u\n", cpu % 2);
		write_file(root, name, text);
		snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
		snprintf(text, sizeof(text), "%u\n", cpu / 2 % 2);
		write_file(root, name, text);
	}
}

static void remove_machine(const char *root)
{
	char command[600];
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	cr_assert_eq(system(command), 0);
}

Test(sysfs, numbers_cores_over_the_whole_node)
{
	char root[] = "/tmp/mpitrace-test-XXXXXX";
	struct topo_pus pus;
	make_machine(root);
	cr_assert_eq(topo_pus_sysfs(root, &pus, NULL), 0);
	cr_assert_eq(pus.count, 8);
	static const unsigned core[8] = {0, 1, 2, 3, 0, 1, 2, 3};
	for (unsigned i = 0; i < 8; i++) {
		cr_assert_eq(pus.pu[i].core, core[i], "cpu %u", i);
		cr_assert_eq(pus.pu[i].socket, i / 2 % 2);
		cr_assert_eq(pus.pu[i].numa, i / 2 % 2);
	}
	topo_pus_done(&pus);
	remove_machine(root);
}

static void make_device(const char *root, const char *pci, const char *const what[4], const char *below)
{
	static const char *const files[] = {"class", "vendor", "device", "local_cpulist"};
	char name[160];
	for (unsigned i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "bus/pci/devices/%s/%s", pci, files[i]);
		write_file(root, name, what[i]);
	}
	for (const char *at = below; *at != '\0'; at += strlen(at) + 1) {
		snprintf(name, sizeof(name), "bus/pci/devices/%s/%s/x", pci, at);
		write_file(root, name, "");
	}
}

Test(sysfs, finds_adapters_and_gpus_where_they_hang)
{
	char root[] = "/tmp/mpitrace-test-XXXXXX";
	struct topo_pus pus;
	make_machine(root);
	make_device(root, "0000:3b:00.0", (const char *const[]){"0x020700", "0x15b3", "0x101b", "0-1,4-5"},
		    "net/ib0\0infiniband/mlx5_0\0");
	make_device(root, "0000:af:00.0", (const char *const[]){"0x030200", "0x10de", "0x20b0", "2-3,6-7"}, "");
	make_device(root, "0000:04:00.0", (const char *const[]){"0x030000", "0x1a03", "0x2000", "0-1"}, "drm/card0\0");
	make_device(root, "0000:d8:00.0", (const char *const[]){"0x020000", "0x8086", "0x1521", "0-7"}, "net/eth0\0");
	make_device(root, "0000:d8:00.1", (const char *const[]){"0x020000", "0x8086", "0x1521", "0-7"}, "");
	make_device(root, "0000:00:03.0", (const char *const[]){"0x020000", "0x1af4", "0x1000", "0-7"},
		    "virtio0/net/eth9\0");
	cr_assert_eq(topo_pus_sysfs(root, &pus, NULL), 0);
	cr_assert_eq(pus.ndevices, 4, "%zu", pus.ndevices);
	static const struct {
		const char *pci, *name;
		bool gpu;
		int socket;
	} want[] = {{"0000:00:03.0", "eth9", false, -1},
		    {"0000:3b:00.0", "mlx5_0", false, 0},
		    {"0000:af:00.0", "", true, 1},
		    {"0000:d8:00.0", "eth0", false, -1}};
	for (unsigned i = 0; i < 4; i++) {
		cr_expect_str_eq(pus.device[i].pci, want[i].pci);
		cr_expect_str_eq(pus.device[i].names[0], want[i].name);
		cr_expect_eq(pus.device[i].gpu, want[i].gpu);
		cr_expect_eq(pus.device[i].socket, want[i].socket);
		cr_expect_eq(pus.device[i].numa, want[i].socket);
	}
	cr_expect_str_eq(pus.device[1].names[1], "ib0");
	topo_pus_done(&pus);
	remove_machine(root);
}

Test(sysfs, an_adapter_is_up_when_it_says_so)
{
	static const struct {
		const char *state;
		int up;
	} cases[] = {{"up", 1}, {"down", 0}, {"lowerlayerdown", 0}, {"unknown", -1}};
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char root[] = "/tmp/mpitrace-test-XXXXXX";
		struct topo_pus pus;
		make_machine(root);
		make_device(root, "0000:d8:00.0", (const char *const[]){"0x020000", "0x8086", "0x1521", "0-7"},
			    "net/eth0\0");
		write_file(root, "class/net/eth0/operstate", cases[i].state);
		write_file(root, "class/net/eth0/speed", "25000");
		cr_assert_eq(topo_pus_sysfs(root, &pus, NULL), 0);
		struct topo_link link = {.up = -1};
		topo_link_read(root, &pus.device[0], &link);
		cr_expect_eq(link.up, cases[i].up, "%s: %d", cases[i].state, link.up);
		cr_expect_eq(link.gbit_s, 25);
		topo_pus_done(&pus);
		remove_machine(root);
	}
}

Test(sysfs, says_which_file_it_could_not_read)
{
	struct error e = {""};
	struct topo_pus pus;
	cr_assert_eq(topo_pus_sysfs("/nonexistent", &pus, &e), -ENOENT);
	cr_assert_not_null(strstr(e.text, "/nonexistent/devices/system/cpu/online"));
}

#ifdef HAVE_HWLOC

static cJSON *device(cJSON *node, int i)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(node, "devices"), i);
}

static const char *text_of(cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

Test(capture, has_what_lstopo_shows_of_it)
{
	char path[512];
	struct error e = {""};
	snprintf(path, sizeof(path), "%s/machines/two_sockets.xml", getenv("MPITRACE_CORPUS"));
	cJSON *node = topo_capture(path, &e);
	cr_assert_not_null(node, "%s", e.text);
	cr_expect_eq(number(node, "sockets"), 2);
	cr_expect_eq(number(node, "cores"), 8);
	cr_expect_eq(number(node, "pus"), 16);
	cr_expect_eq(number(node, "numa"), 2);
	cJSON *gpu = device(node, 0), *nic = device(node, 1);
	cr_assert_null(device(node, 2), "neither the console nor the adapter without a driver");
	cr_expect_str_eq(text_of(gpu, "kind"), "gpu");
	cr_expect_str_eq(text_of(gpu, "name"), "0000:11:00.0");
	cr_expect_str_eq(text_of(gpu, "model"), "NVIDIA Corporation GA100 [A100 SXM4 40GB]");
	cr_expect_eq(number(gpu, "socket"), 0);
	cr_expect_str_eq(text_of(nic, "kind"), "nic");
	cr_expect_str_eq(text_of(nic, "name"), "mlx5_0");
	cr_expect_eq(number(nic, "socket"), 1);
	cr_expect_eq(number(nic, "numa"), 1);
	cJSON_Delete(node);
}

Test(capture, what_is_none_is_refused)
{
	struct error e = {""};
	cr_expect_null(topo_capture("/nonexistent.xml", &e));
	cr_expect_not_null(strstr(e.text, "/nonexistent.xml"));
	cr_expect_null(topo_capture("/proc/self/status", &e));
}

#endif

static char *print(cJSON *object)
{
	char *text = object != NULL ? cJSON_PrintUnformatted(object) : NULL;
	cJSON_Delete(object);
	return text;
}

Test(binding, names_each_core_and_socket_once)
{
	cJSON *node = cJSON_Parse("{\"pu\":[{\"os\":0,\"core\":0,\"socket\":0,\"numa\":0},"
				  "{\"os\":1,\"core\":1,\"socket\":1,\"numa\":1},"
				  "{\"os\":2,\"core\":0,\"socket\":0,\"numa\":0}]}");
	char *text = print(topo_binding(node, "0,2,9"));
	cr_assert_str_eq(text, "{\"cpus\":3,\"list\":\"0,2,9\",\"cores\":[0],\"sockets\":[0],\"numa\":[0]}");
	cr_assert_null(topo_binding(node, "x"));
	cr_assert_null(topo_binding(node, NULL));
	free(text);
	cJSON_Delete(node);
}

Test(switches, splits_the_path_to_a_node)
{
	char *text = print(topo_switches("spine.leaf1.n1", "switch.switch.node"));
	cr_assert_str_eq(text, "{\"path\":[\"spine\",\"leaf1\"],\"kinds\":[\"switch\",\"switch\"],\"node\":\"n1\"}");
	free(text);
}

Test(switches, keeps_the_dots_of_a_node_name)
{
	char *text = print(topo_switches("s1.n1.site.org", "switch.node"));
	cr_assert_str_eq(text, "{\"path\":[\"s1\"],\"kinds\":[\"switch\"],\"node\":\"n1.site.org\"}");
	free(text);
}

Test(switches, levels_that_a_branch_does_not_have_are_left_out)
{
	char *text = print(topo_switches("spine..n1", "switch.switch.node"));
	cr_assert_str_eq(text, "{\"path\":[\"spine\"],\"kinds\":[\"switch\"],\"node\":\"n1\"}");
	free(text);
}

Test(switches, refuses_parts_that_do_not_agree)
{
	cr_assert_null(topo_switches("n1", "switch.node"));
	cr_assert_null(topo_switches("s1.", "switch.node"));
	cr_assert_null(topo_switches("s1.n1", "switch.switch"));
	cr_assert_null(topo_switches("", ""));
	cr_assert_null(topo_switches(NULL, "node"));
}
