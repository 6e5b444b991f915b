/* target_topology.c - two texts: a list of CPUs, which is also the switches above a node, and their kinds. */
#include "tests/fuzz/fuzz.h"

#include "tests/fuzz/text.h"
#include "topology/cpulist.h"
#include "topology/topology.h"

#define NODE \
	"{\"pu\":[{\"os\":0,\"core\":0,\"socket\":0,\"numa\":0},{\"os\":1,\"core\":1,\"socket\":1,\"numa\":1}," \
	"{\"os\":65535,\"core\":65535,\"socket\":7,\"numa\":1},{\"os\":-1},{\"os\":1e300,\"core\":1e300}]}"

static void try_cpus(const char *text)
{
	static struct cpulist list;
	cJSON *node = cJSON_Parse(NODE), *binding = topo_binding(node, text);
	fuzz_check((cpulist_parse(text, &list) == 0) == (binding != NULL));
	cJSON_Delete(binding);
	cJSON_Delete(node);
}

static void try_switches(const char *addr, const char *pattern)
{
	cJSON *switches = topo_switches(addr, pattern);
	if (switches != NULL)
		fuzz_check(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(switches, "node")));
	cJSON_Delete(switches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct cursor c = cursor_over(data, len_bytes);
	char *first = text_next(&c), *second = text_next(&c);
	try_cpus(first);
	try_switches(first, second);
	free(first);
	free(second);
	return 0;
}
