/* binding.c - what a set of CPUs covers of a node. In: topo_node()'s object, a CPU list.  Out:
 * topo_binding(). */
#include "topology/cpulist.h"
#include "topology/topology.h"

#include <limits.h>
#include <stdlib.h>

/* What is too large for an unsigned, which nothing of a node is, becomes the largest one. */
static unsigned number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0))
		return 0;
	return item->valuedouble < UINT_MAX ? (unsigned)item->valuedouble : UINT_MAX;
}

/* The distinct values of key over the node's PUs that are in the list, ascending. */
static cJSON *covered(const cJSON *pus, const struct cpulist *list, const char *key)
{
	cJSON *array = cJSON_CreateArray();
	struct cpulist *found = calloc(1, sizeof(*found));
	const cJSON *pu;
	cJSON_ArrayForEach(pu, pus)
	{
		unsigned value = number_of(pu, key);
		if (found != NULL && value <= CPULIST_CPU_MAX && cpulist_has(list, number_of(pu, "os")))
			found->bits[value / 64] |= 1ull << value % 64;
	}
	for (unsigned word = 0; found != NULL && word <= CPULIST_CPU_MAX / 64; word++)
		for (unsigned long long bits = found->bits[word]; bits != 0; bits &= bits - 1)
			cJSON_AddItemToArray(array, cJSON_CreateNumber(64 * word + (unsigned)__builtin_ctzll(bits)));
	free(found);
	return array;
}

cJSON *topo_binding(const cJSON *node, const char *cpulist)
{
	struct cpulist *list = malloc(sizeof(*list));
	cJSON *binding = NULL;
	if (list != NULL && cpulist != NULL && cpulist_parse(cpulist, list) == 0)
		binding = cJSON_CreateObject();
	if (binding != NULL) {
		const cJSON *pus = cJSON_GetObjectItemCaseSensitive(node, "pu");
		cJSON_AddNumberToObject(binding, "cpus", list->count);
		cJSON_AddStringToObject(binding, "list", cpulist);
		cJSON_AddItemToObject(binding, "cores", covered(pus, list, "core"));
		cJSON_AddItemToObject(binding, "sockets", covered(pus, list, "socket"));
		cJSON_AddItemToObject(binding, "numa", covered(pus, list, "numa"));
	}
	free(list);
	return binding;
}
