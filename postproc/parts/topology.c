/* topology.c - "topology": nodes, their sockets, cores and devices, their place among the switches, who ran where, and
 * what is odd about it. In: META of nodes and processes, as the agents wrote it. */
#include "postproc/analysis.h"
#include "topology/topology.h"

#include <stdio.h>

#define PUS_LISTED_MAX 4096
#define DEVICES_LISTED_MAX 256
#define NAMES_LISTED_MAX 8

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

static void copy_text(cJSON *to, const char *name, const cJSON *from)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, name);
	if (cJSON_IsString(item))
		json_put_text(to, name, item->valuestring);
}

static void put_devices(cJSON *row, const cJSON *hardware)
{
	static const char *const texts[] = {"kind", "name", "pci", "model"};
	static const char *const numbers[] = {"socket", "numa", "gbit_s"};
	cJSON *list = json_array(row, "devices");
	int n = 0;
	for (const cJSON *d = json_first(hardware, "devices"); d != NULL && n < DEVICES_LISTED_MAX; d = d->next) {
		const char *kind = json_text(d, "kind", "");
		if (strcmp(kind, "nic") != 0 && strcmp(kind, "gpu") != 0)
			continue;
		cJSON *device = json_row(list);
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
			copy_text(device, texts[i], d);
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			copy_number(device, numbers[i], d);
		if (cJSON_IsBool(json_item(d, "up")))
			cJSON_AddBoolToObject(device, "up", json_bool(d, "up", true));
		cJSON *names = json_array(device, "names");
		int k = 0;
		for (const cJSON *x = json_first(d, "names"); x != NULL && k < NAMES_LISTED_MAX; x = x->next, k++)
			if (cJSON_IsString(x))
				json_push_text(names, x->valuestring);
		n++;
	}
}

static void put_versions(cJSON *row, const cJSON *hardware)
{
	static const char *const keys[] = {"mpitrace", "kernel", "hwloc"};
	cJSON *versions = json_object(row, "versions");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		copy_text(versions, keys[i], json_item(hardware, "versions"));
}

/* Which cores, sockets and NUMA domains of its node a rank may use. */
static void put_binding(cJSON *rank, const cJSON *hardware, const char *cpus)
{
	static const char *const keys[] = {"cores", "sockets", "numa"};
	cJSON *binding = topo_binding(hardware, cpus);
	for (size_t i = 0; binding != NULL && i < sizeof(keys) / sizeof(keys[0]); i++)
		cJSON_AddItemToObject(rank, keys[i], cJSON_DetachItemFromObject(binding, keys[i]));
	cJSON_Delete(binding);
}

static void put_ranks(const struct step *s, cJSON *row, uint32_t node, const cJSON *hardware)
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
		put_binding(rank, hardware, p->cpus);
	}
}

/* text: Slurm's address of the node, and its pattern, as in "core.leaf1.n3 switch.switch.node". */
static void put_switches(cJSON *row, const char *text)
{
	char addr[1024];
	const char *pattern = strchr(text, ' ');
	snprintf(addr, sizeof(addr), "%.*s", (int)strcspn(text, " "), text);
	cJSON *switches = topo_switches(addr, pattern != NULL ? pattern + 1 : NULL);
	if (switches == NULL) { /* not known, or nonsense */
		switches = cJSON_CreateObject();
		json_array(switches, "path");
		json_array(switches, "kinds");
	}
	cJSON_AddItemToObject(row, "switches", switches);
}

int part_topology(struct analysis *a)
{
	static const char *const keys[] = {"sockets", "cores", "pus", "numa", "memory_bytes"};
	const struct step *s = a->step;
	cJSON *t = json_object(a->root, "topology");
	cJSON *nodes = json_array(t, "nodes"), *misbindings = json_array(t, "misbindings");
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		const struct node *n = &s->nodes.at[i];
		const cJSON *hw = cJSON_GetObjectItemCaseSensitive(n->meta, "topology");
		cJSON *row = json_row(nodes);
		json_put_text(row, "name", n->name);
		json_put(row, "nodeid", n->id);
		put_switches(row, json_text(n->meta, "switches", ""));
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			copy_number(row, keys[k], hw);
		copy_text(row, "cpu", hw);
		put_versions(row, hw);
		put_devices(row, hw);
		put_pus(row, cJSON_GetObjectItemCaseSensitive(hw, "pu"));
		put_ranks(s, row, i, hw);
		topo_misbound(row, s->nodes.n > 1 || s->nnodes > 1, misbindings);
	}
	return 0;
}
