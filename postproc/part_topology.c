/* part_topology.c - "topology": nodes, their sockets and cores, their place among the switches, and
 * who ran where. */
#include "postproc/analysis.h"

#include <stdio.h>

#define PUS_LISTED_MAX 1024

static void copy_number(cJSON *to, const char *name, const cJSON *from)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, name);
	if (cJSON_IsNumber(item))
		json_put(to, name, item->valuedouble);
}

static void put_pus(cJSON *row, const cJSON *pus)
{
	static const char *const keys[] = {"os", "core", "socket", "numa"};
	cJSON *list = json_array(row, "pu");
	const cJSON *item;
	int n = 0;
	cJSON_ArrayForEach(item, pus)
	{
		if (n++ >= PUS_LISTED_MAX)
			break;
		cJSON *pu = json_row(list);
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			copy_number(pu, keys[i], item);
	}
}

static void put_ranks(const struct step *s, cJSON *row, uint32_t node)
{
	cJSON *list = json_array(row, "ranks");
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		if (p == NULL || p->node != node)
			continue;
		cJSON *rank = json_row(list);
		json_put(rank, "rank", r);
		json_put_text(rank, "cpus", p->cpus);
		json_put(rank, "cpu", p->cpu);
	}
}

/* "core.leaf1.n3 switch.switch.node" (Slurm's address, then its pattern): the names before the
 * node's. */
static void put_switches(cJSON *row, const char *text)
{
	char copy[1024], *save = NULL;
	cJSON *switches = json_object(row, "switches"), *path = json_array(switches, "path");
	snprintf(copy, sizeof(copy), "%s", text);
	copy[strcspn(copy, " ")] = '\0';
	char *name = strtok_r(copy, ".", &save);
	for (char *next; name != NULL; name = next) {
		next = strtok_r(NULL, ".", &save);
		if (next != NULL)
			json_push_text(path, name);
		else
			json_put_text(switches, "node", name);
	}
}

int part_topology(struct analysis *a)
{
	static const char *const keys[] = {"sockets", "cores", "pus", "numa"};
	const struct step *s = a->step;
	cJSON *t = json_object(a->root, "topology");
	cJSON *nodes = json_array(t, "nodes");
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		const struct node *n = &s->nodes.at[i];
		const cJSON *hw = cJSON_GetObjectItemCaseSensitive(n->meta, "topology");
		cJSON *row = json_row(nodes);
		json_put_text(row, "name", n->name);
		json_put(row, "nodeid", n->id);
		put_switches(row, meta_text(n->meta, "switches", ""));
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			copy_number(row, keys[k], hw);
		put_pus(row, cJSON_GetObjectItemCaseSensitive(hw, "pu"));
		put_ranks(s, row, i);
	}
	return 0;
}
