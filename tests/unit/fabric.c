/* fabric.c - Slurm's topology.conf, topology.yaml and what scontrol prints: the switches above a node, and files that
 * are broken. */
#include "base/json.h"
#include "format/limits.h"
#include "topology/fabric.h"
#include "topology/generate.h"
#include "topology/hardware.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int parse(const char *text, bool yaml, struct fabric **f, struct error *e)
{
	return fabric_parse(yaml ? "t.yaml" : "t.conf", text, strlen(text), yaml, f, e);
}

/* The path to a node as "core/leaf1 (switch/switch)", "?" if it has none. */
static const char *path_text(const struct fabric *f, const char *node)
{
	static char text[1024];
	cJSON *path = fabric_path(f, node);
	size_t used = 0;
	text[0] = '\0';
	for (const cJSON *v = json_first(path, "path"), *k = json_first(path, "kinds"); v != NULL && k != NULL;
	     v = v->next, k = k->next)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s", used > 0 ? "/" : "",
					 k->valuestring, v->valuestring);
	if (path != NULL)
		cr_assert_str_eq(json_text(path, "node", ""), node);
	cJSON_Delete(path);
	return path != NULL ? text : "?";
}

static void expect_path(const char *text, bool yaml, const char *node, const char *path)
{
	struct fabric *f;
	struct error e = {""};
	cr_assert_eq(parse(text, yaml, &f, &e), 0, "%s", e.text);
	cr_expect_str_eq(path_text(f, node), path, "%s: %s", node, path_text(f, node));
	fabric_free(f);
}

static void expect_error(const char *text, bool yaml, const char *what)
{
	struct fabric *f = NULL;
	struct error e = {""};
	cr_expect_lt(parse(text, yaml, &f, &e), 0, "%s", text);
	cr_expect_not_null(strstr(e.text, what), "\"%s\" does not say \"%s\"", e.text, what);
	cr_expect_null(f);
}

static const char tree[] = "# two racks\n"
			   "SwitchName=leaf1 Nodes=n[1-3] LinkSpeed=100\n"
			   "switchname=leaf2 nodes=n[4-6],login\n"
			   "\n"
			   "SwitchName=core Switches=leaf[1-2] # the top\n";

Test(fabric, a_tree_gives_the_way_to_each_node)
{
	expect_path(tree, false, "n2", "switch core/switch leaf1");
	expect_path(tree, false, "n6", "switch core/switch leaf2");
	expect_path(tree, false, "login", "switch core/switch leaf2");
	expect_path(tree, false, "n7", "?");
}

Test(fabric, lines_may_be_continued_and_quoted_and_spaced)
{
	expect_path("SwitchName=\"leaf 1\" \\\n  Nodes = n1\\\n", false, "n1", "switch leaf 1");
	expect_path("SwitchName=a Nodes=n1\r\nSwitchName=b Switches=a\r\n", false, "n1", "switch b/switch a");
	expect_path("SwitchName=a \\ \t\n Nodes=n1\n", false, "n1", "switch a");
	expect_path("SwitchName=a \\  \r\n Nodes=n1\n", false, "n1", "switch a");
}

Test(fabric, a_node_at_two_switches_stays_at_the_first)
{
	expect_path("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", false, "n1", "switch a");
}

/* As slurmctld puts blocks together: of five blocks and sizes 1, 2 and 4, the fifth is alone. */
Test(fabric, blocks_are_put_together_by_their_sizes)
{
	static const char blocks[] = "BlockName=b1 Nodes=n[01-04]\nBlockName=b2 Nodes=n[05-08]\n"
				     "BlockName=b3 Nodes=n[09-12]\nBlockName=b4 Nodes=n[13-16]\n"
				     "BlockName=b5 Nodes=n[17-20]\nBlockSizes=4,8,16\n";
	expect_path(blocks, false, "n01", "block b1..b4/block b1..b2/block b1");
	expect_path(blocks, false, "n10", "block b1..b4/block b3..b4/block b3");
	expect_path(blocks, false, "n20", "block b5");
	static const char seven[] = "BlockName=b1 Nodes=n1\nBlockName=b2 Nodes=n2\nBlockName=b3 Nodes=n3\n"
				    "BlockName=b4 Nodes=n4\nBlockName=b5 Nodes=n5\nBlockName=b6 Nodes=n6\n"
				    "BlockName=b7 Nodes=n7\nBlockSizes=1,2,4\n";
	expect_path(seven, false, "n4", "block b1..b4/block b3..b4/block b4");
	expect_path(seven, false, "n5", "block b5..b7/block b5..b6/block b5");
	expect_path(seven, false, "n7", "block b5..b7/block b7");
	expect_path("BlockName=b1 Nodes=n1\nBlockName=b2 Nodes=n2\n", false, "n2", "block b2");
	expect_path("RingName=r0 Nodes=n[1-8]\n", false, "n3", "ring r0");
}

/* As Slurm's plugin for trees prints it, the switch above first, with all nodes below it. */
static const char printed_tree[] = "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-6],login Switches=leaf[1-2]\n"
				   "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-3]\n"
				   "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=login,n[4-6] \n";
/* As its plugin for blocks prints it. */
static const char printed_blocks[] = "BlockName=b0 BlockIndex=0 Nodes=n[0-1] BlockSize=2\n"
				     "BlockName=b1 BlockIndex=1 Nodes=n[2-3] BlockSize=2\n"
				     "AggregatedBlock=b[0-1] BlockIndex=2 Nodes=n[0-3] BlockSize=4\n";

Test(fabric, what_scontrol_prints_is_as_good_as_the_file)
{
	expect_path(printed_tree, false, "n2", "switch core/switch leaf1");
	expect_path(printed_tree, false, "login", "switch core/switch leaf2");
	expect_path(printed_tree, false, "n7", "?");
	expect_path(printed_blocks, false, "n3", "block b0..b1/block b1");
	expect_error("No topology information available\n", false, "t.conf:1: \"No\" is not Key=Value");
	expect_error("BlockName=b0 BlockIndex=0 Nodes=n0 BlockSize=x\n", false, "t.conf:1");
}

Test(fabric, broken_lines_are_named_by_their_number)
{
	expect_error("SwitchName=a Nodes=n1\n\nSwitchName=a Nodes=n2\n", false,
		     "t.conf:3: \"a\" is there already, in line 1");
	expect_error("SwitchName=a Nodes=n[1-\n", false, "t.conf:1: \"n[1-\" is not a list of nodes");
	expect_error("\nSwitchName=a Switches=b\n", false, "t.conf:2: \"b\" below \"a\" is not another switch");
	expect_error("SwitchName=a Switches=a\n", false, "t.conf:1: \"a\" below \"a\"");
	expect_error("SwitchName=a Nodes=n1 Switches=b\n", false, "t.conf:1: \"a\" has nodes and switches");
	expect_error("SwitchName=a Nodse=n1\n", false, "t.conf:1: \"Nodse=\" is not expected here");
	expect_error("SwitchName=a Nodes\n", false, "t.conf:1: \"Nodes\" is not Key=Value");
	expect_error("SwitchName=\"a Nodes=n1\n", false, "t.conf:1: a quotation mark is not closed");
	expect_error("SwitchName= Nodes=n1\n", false, "t.conf:1: \"Nodes=n1\" is not a name");
	expect_error("BlockName=b\n", false, "t.conf:1: \"b\" has no Nodes=");
	expect_error("BlockName=b Nodes=n1\nBlockSizes=4,6\n", false,
		     "t.conf:2: size 6 is not the first one (4) times");
	expect_error("BlockName=b Nodes=n1\nBlockSizes=4,\n", false, "t.conf:2: \"\" is not the size");
	expect_error("BlockName=b Nodes=n1\nBlockSizes=-4\n", false, "t.conf:2: \"-4\" is not the size");
	expect_error("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", false, "t.conf:2: a block, where lines before");
	expect_error("# nothing\n", false, "t.conf: no switch or block in it");
	expect_error("include other.conf\n", false, "t.conf:1: \"include\" is not Key=Value");
}

Test(fabric, circles_of_switches_are_found)
{
	expect_error("SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a\n", false,
		     "t.conf:1: \"a\" is below itself");
}

/* 10^9 names in 20 bytes, and as many by nesting. */
Test(fabric, lists_that_unfold_without_end_are_refused)
{
	expect_error("SwitchName=a Nodes=n[0-999999999]\n", false, "t.conf:1: more than 262144 names");
	expect_error("SwitchName=a Nodes=n[0-999]x[0-999]y[0-999]\n", false, "t.conf:1: more than");
	expect_error("SwitchName=b Nodes=n1\nSwitchName=a Switches=b[0-999999999]\n", false, "t.conf:2: \"b0\" below");
	expect_error("SwitchName=a Nodes=[[[[[[1]]]]]]\n", false, "t.conf:1: ");
}

Test(fabric, deep_trees_end)
{
	char text[8192], node[64];
	size_t used = (size_t)snprintf(text, sizeof(text), "SwitchName=s0 Nodes=n\n");
	for (unsigned i = 1; i < FABRIC_DEPTH_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "SwitchName=s%u Switches=s%u\n", i, i - 1);
	struct fabric *f;
	struct error e = {""};
	cr_assert_eq(parse(text, false, &f, &e), 0, "%s", e.text);
	cr_assert_str_eq(strrchr(path_text(f, "n"), '/'), "/switch s0");
	fabric_free(f);
	snprintf(node, sizeof(node), "SwitchName=s%u Switches=s%u\n", FABRIC_DEPTH_MAX, FABRIC_DEPTH_MAX - 1);
	snprintf(text + used, sizeof(text) - used, "%s", node);
	expect_error(text, false, "\"s0\" is below itself, or below 32 others");
}

/* Nothing may crash, whatever byte is changed or missing (run with sanitizers, this is the proof). */
static void damage(const char *text, bool yaml)
{
	size_t len = strlen(text);
	char *copy = malloc(len + 1);
	static const char bytes[] = "\0\n\"\\=[]#,:- \t\xff{}&*!|>";
	for (size_t i = 0; i <= len; i++)
		for (size_t k = 0; k < sizeof(bytes); k++) {
			struct fabric *f = NULL;
			struct error e = {""};
			memcpy(copy, text, len + 1);
			if (k < sizeof(bytes) - 1 && i < len)
				copy[i] = bytes[k];
			int code = fabric_parse("x", copy, k < sizeof(bytes) - 1 ? len : i, yaml, &f, &e);
			cr_assert(code == 0 || (e.text[0] != '\0' && f == NULL));
			fabric_free(code == 0 ? f : NULL);
		}
	free(copy);
}

Test(fabric, a_damaged_file_is_read_or_refused)
{
	damage(tree, false);
	damage("BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockSizes=4,8\n", false);
}

Test(fabric, files_that_are_none_are_refused)
{
	struct fabric *f;
	struct error e = {""};
	cr_assert_eq(fabric_read("/nonexistent/topology.conf", &f, &e), -ENOENT);
	cr_assert_not_null(strstr(e.text, "/nonexistent/topology.conf"));
	cr_assert_lt(fabric_read("/dev/null", &f, &e), 0);
	char dir[] = "/tmp/mpitrace-test-XXXXXX", path[64];
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_lt(fabric_read(dir, &f, &e), 0);
	snprintf(path, sizeof(path), "%s/topology.conf", dir);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_lt(fabric_read(path, &f, &e), 0); /* and does not wait */
	unlink(path);
	rmdir(dir);
}

#ifdef HAVE_YAML

static const char several[] = "- topology: old\n"
			      "  cluster_default: false\n"
			      "  flat: true\n"
			      "- topology: racks\n"
			      "  cluster_default: true\n"
			      "  tree:\n"
			      "    switches:\n"
			      "      - switch: core\n"
			      "        children: leaf[1-2]\n"
			      "      - switch: leaf1\n"
			      "        nodes: n[1-3]\n"
			      "      - switch: leaf2\n"
			      "        nodes: n[4-6]\n"
			      "- topology: torus\n"
			      "  torus3d:\n"
			      "    x: 4\n";

Test(fabric, of_several_topologies_the_clusters_counts)
{
	expect_path(several, true, "n5", "switch core/switch leaf2");
	expect_path("- topology: a\n  tree: {switches: [{switch: s, nodes: \"n[1-2]\"}]}\n"
		    "- topology: b\n  tree: {switches: [{switch: t, nodes: \"n[1-2]\"}]}\n",
		    true, "n2", "switch s");
	struct fabric *f;
	struct error e = {""};
	cr_assert_eq(parse("- topology: a\n  flat: true\n", true, &f, &e), 0, "%s", e.text);
	cr_assert_str_eq(path_text(f, "n1"), "?");
	fabric_free(f);
}

Test(fabric, yaml_has_blocks_and_rings)
{
	static const char blocks[] = "- topology: b\n  block:\n    block_sizes:\n      - 2\n      - 4\n    blocks:\n"
				     "    - block: b1\n      nodes: n[1-2]\n    - block: b2\n      nodes: n[3-4]\n";
	expect_path(blocks, true, "n3", "block b1..b2/block b2");
	expect_path("- topology: r\n  ring:\n    rings:\n    - ring: r0\n      nodes: n[1-4]\n", true, "n4", "ring r0");
}

Test(fabric, broken_yaml_is_named_by_its_line)
{
	expect_error("- topology: a\n\ttree:\n", true, "t.yaml:2: not YAML");
	expect_error("topology: a\n", true, "t.yaml:1: not a list of topologies");
	expect_error("", true, "t.yaml:1: not a list of topologies");
	expect_error("[]\n", true, "t.yaml:1: not a list of topologies");
	expect_error("- a\n", true, "t.yaml:1: not a topology");
	expect_error("- flat: true\n", true, "t.yaml:1: `topology`, its name, is missing");
	expect_error("- topology: a\n  cluster_default: [1]\n", true, "t.yaml:2: `cluster_default` must be a text");
	expect_error("- topology: a\n  torus3d: {}\n", true, "t.yaml:1: none of the types");
	expect_error("- topology: a\n  tree: {switches: []}\n  block: {blocks: []}\n", true,
		     "t.yaml:3: a topology has one");
	expect_error("- topology: a\n  tree: x\n", true, "t.yaml:2: a topology's type must be a mapping");
	expect_error("- topology: a\n  tree:\n    switches: x\n", true, "t.yaml:3: `tree` must have a list `switches`");
	expect_error("- topology: a\n  tree:\n    swiches: []\n", true, "t.yaml:3: `swiches` is not expected here");
	expect_error("- topology: a\n  tree:\n    switches:\n    - switch: s\n      node: n1\n", true,
		     "t.yaml:5: `node` is not expected here");
	expect_error("- topology: a\n  tree:\n    switches:\n    - switch: s\n    - switch: s\n", true,
		     "t.yaml:5: \"s\" is there already, in line 4");
	expect_error("- topology: a\n  block:\n    block_sizes: [3, 5]\n    blocks:\n    - block: b\n      nodes: n1\n",
		     true, "t.yaml:3: size 5 is not");
	expect_error("- topology: a\n  block:\n    blocks:\n    - block: b\n", true, "t.yaml:4: `block` or `nodes`");
	expect_error("- topology: a\n  tree: {switches: [{switch: s, nodes: [n1]}]}\n", true,
		     "t.yaml:2: `nodes` must be");
}

Test(fabric, damaged_yaml_is_read_or_refused)
{
	damage(several, true);
}

/* A document in which every alias names five of the one before would unfold to 10^27 numbers; one that contains itself
 * never ends. */
Test(fabric, yaml_that_grows_or_repeats_itself_ends)
{
	char text[200000];
	expect_error("- &a\n  topology: x\n  tree: *a\n", true, "t.yaml:");
	expect_error("&a [*a]\n", true, "t.yaml:1: not a topology");
	size_t used =
		(size_t)snprintf(text, sizeof(text), "- topology: x\n  flat: true\n  a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
	for (int i = 1; i < 40; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "  a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d]\n",
					 i, i, i - 1, i - 1, i - 1, i - 1, i - 1);
	expect_path(text, true, "n1", "?");
	memset(text, '[', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[20000] = '\0';
	expect_error(text, true, "t.yaml:");
}

#endif

Test(generate, ranks_fill_nodes_in_order_a_core_each)
{
	struct topo_shape shape;
	struct error e = {""};
	cr_assert_eq(topo_shape_parse("racks=2,nodes=3,packages=2,numa=2,cores=4", &shape, &e), 0, "%s", e.text);
	cJSON *t = topo_generate(&shape, NULL, NULL, 40, &e), *node;
	int next = 0, nodes = 0;
	cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(t, "nodes"))
	{
		cr_assert_eq(json_count(node, "pu"), 8);
		cr_assert_eq(json_count(node, "ranks"), nodes < 5 ? 7 : 5);
		for (const cJSON *r = json_first(node, "ranks"); r != NULL; r = r->next)
			cr_assert_eq(json_int(r, "rank", -1), next++);
		nodes++;
	}
	cr_assert_eq(nodes, 6);
	cr_assert_eq(next, 40);
	cJSON_Delete(t);
}

/* As scontrol show node prints it; values of OS and Reason have blanks, the latter a word like a key. */
static const char printed_nodes[] =
	"NodeName=n1 Arch=x86_64 CoresPerSocket=4 \n"
	"   CPUAlloc=0 CPUEfctv=16 CPUTot=16 CPULoad=0.01\n"
	"   AvailableFeatures=(null)\n"
	"   NodeAddr=n1 NodeHostName=n1 Version=24.05.4\n"
	"   OS=Linux 5.14.0-427.el9.x86_64 #1 SMP PREEMPT_DYNAMIC Fri May 10 14:00:00 UTC 2024 \n"
	"   RealMemory=64000 AllocMem=0 FreeMem=61000 Sockets=2 Boards=1\n"
	"   State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
	"   Reason=one of Sockets=9 is hot [root@2024-05-10T14:00:00]\n"
	"\n"
	"NodeName=login Arch=x86_64 CoresPerSocket=6 CPUTot=6 Sockets=1 State=IDLE ThreadsPerCore=1\n";

static int nodes(const char *text, struct hardware **hw, struct error *e)
{
	return hardware_parse("nodes.txt", text, strlen(text), hw, e);
}

Test(generate, nodes_have_what_scontrol_says_of_them)
{
	struct topo_shape shape;
	struct error e = {""};
	struct hardware *hw;
	struct fabric *f;
	cr_assert_eq(topo_shape_parse("packages=3,cores=2,numa=5,per_node=2", &shape, &e), -EINVAL);
	cr_assert_eq(topo_shape_parse("packages=3,cores=2,numa=2,per_node=2", &shape, &e), 0);
	cr_assert_eq(nodes(printed_nodes, &hw, &e), 0, "%s", e.text);
	cr_assert_eq(hw->nodes.n, 2);
	cr_assert_null(hardware_find(hw, "n2"));
	cJSON *t = topo_generate(&shape, NULL, hw, 4, &e);
	const cJSON *n1 = json_first(t, "nodes");
	cr_expect_str_eq(json_text(n1, "name", ""), "n1");
	cr_expect_eq(json_count(n1, "pu"), 8);
	cr_expect_eq(json_int(n1, "sockets", 0), 2);
	cr_expect_eq(json_count(n1->next, "pu"), 6);
	cJSON_Delete(t);
	cr_assert_eq(parse(printed_tree, false, &f, &e), 0, "%s", e.text);
	t = topo_generate(&shape, f, hw, 14, &e);
	cr_assert_eq(json_count(t, "nodes"), 7);
	unsigned cores = 0;
	for (const cJSON *n = json_first(t, "nodes"); n != NULL; n = n->next)
		cores += (unsigned)json_count(n, "pu");
	cr_expect_eq(cores, 8 + 6 + 5 * 6, "%u", cores); /* of five nothing is said: the shape's 3 * 2 */
	cJSON_Delete(t);
	fabric_free(f);
	hardware_free(hw);
}

Test(generate, nodes_that_are_none_are_refused_in_words)
{
	static const char *const bad[][2] = {
		{"", "no node in it"},
		{"Nodes that do not exist", "no node in it"},
		{"NodeName= Sockets=1", "nodes.txt:1: a node without a name"},
		{"NodeName=n1 CoresPerSocket=4\n", "node \"n1\" has no Sockets="},
		{"NodeName=n1\n CoresPerSocket=0 Sockets=1", "nodes.txt:2: \"CoresPerSocket=0\""},
		{"NodeName=n1 CoresPerSocket=99999999999 Sockets=1", "not a number from 1 to 4096"},
		{"NodeName=n1 CoresPerSocket=4096 Sockets=2", "more than 4096 cores"},
		{"NodeName=n1 CoresPerSocket=4 Sockets=2\nNodeName=n1", "nodes.txt:2: node \"n1\" stands twice"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hardware *hw = NULL;
		struct error e = {""};
		cr_expect_lt(nodes(bad[i][0], &hw, &e), 0, "%s", bad[i][0]);
		cr_expect_not_null(strstr(e.text, bad[i][1]), "\"%s\" does not say \"%s\"", e.text, bad[i][1]);
		cr_expect_null(hw);
	}
}

Test(generate, what_is_no_shape_or_has_no_room_is_refused_with_the_word)
{
	static const char *const bad[] = {"racks",
					  "racks=",
					  "racks=0",
					  "racks=-1",
					  "colour=3",
					  "nodes=131073",
					  "cores=4097",
					  "cores=2,numa=3",
					  "nodes=131072,cores=65",
					  "racks=99999999999999999999"};
	struct topo_shape shape;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error e = {""};
		cr_assert_lt(topo_shape_parse(bad[i], &shape, &e), 0, "%s", bad[i]);
		cr_assert_neq(e.text[0], '\0');
	}
	struct error e = {""};
	cr_assert_eq(topo_shape_parse("nodes=2,per_node=3", &shape, &e), 0);
	cr_assert_null(topo_generate(&shape, NULL, NULL, 7, &e));
	cr_assert_neq(e.text[0], '\0');
}
