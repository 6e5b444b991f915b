/* topology.c - "topology": nodes, their sockets, cores and devices, their place among the switches, who ran where, and
 * what is odd about it. In: META of nodes and processes, as the agents wrote it. */
#include "postproc/analysis.h"
#include "postproc/sections/switches.h"
#include "topology/topology.h"

#include <stdio.h>

#define PUS_LISTED_MAX 4096
#define DEVICES_LISTED_MAX 256
#define NAMES_LISTED_MAX 8
#define PATH_MAX_SHOWN 32
#define TRANSPORTS_MAX 32
#define TRANSPORT_BYTES 48

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

/* A number of a socket or NUMA node, or -1. */
static bool is_place(const cJSON *device, const char *key)
{
	double at = json_number_or(device, key, -2);
	return at >= -1 && at < PUS_LISTED_MAX && at == (int)at;
}

static void put_devices(cJSON *row, const cJSON *hardware)
{
	static const char *const texts[] = {"kind", "name", "pci", "model"};
	static const char *const numbers[] = {"socket", "numa", "gbit_s"};
	cJSON *list = json_array(row, "devices");
	int n = 0;
	for (const cJSON *d = json_first(hardware, "devices"); d != NULL && n < DEVICES_LISTED_MAX; d = d->next) {
		const char *kind = json_text(d, "kind", "");
		if ((strcmp(kind, "nic") != 0 && strcmp(kind, "gpu") != 0) || !cJSON_IsString(json_item(d, "name")) ||
		    !is_place(d, "socket") || !is_place(d, "numa"))
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

/* A path that the agent found in Slurm's file: at most so long, and texts only. */
static void copy_path(cJSON *switches, const cJSON *fabric)
{
	cJSON *path = cJSON_GetObjectItemCaseSensitive(switches, "path");
	cJSON *kinds = cJSON_GetObjectItemCaseSensitive(switches, "kinds");
	const cJSON *kind = json_first(fabric, "kinds");
	int n = 0;
	for (const cJSON *v = json_first(fabric, "path"); cJSON_IsString(v) && n < PATH_MAX_SHOWN; v = v->next, n++) {
		json_push_text(path, v->valuestring);
		json_push_text(kinds, cJSON_IsString(kind) ? kind->valuestring : "switch");
		kind = kind != NULL ? kind->next : NULL;
	}
	if (n > 0 && json_item(switches, "node") == NULL)
		copy_text(switches, "node", fabric);
}

/* Slurm's address of a node and its pattern are one text, as in "core.leaf1.n3 switch.switch.node". */
static cJSON *read_address(const char *text)
{
	char addr[1024];
	const char *pattern = strchr(text, ' ');
	snprintf(addr, sizeof(addr), "%.*s", (int)strcspn(text, " "), text);
	return topo_switches(addr, pattern != NULL ? pattern + 1 : NULL);
}

/* What the first rank there had in its environment: slurmstepd tells tasks what its plugins may not see yet. */
static const char *address_of_rank(const struct step *s, uint32_t node)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && s->ranks[r]->node == node)
			return json_text(s->ranks[r]->meta, "switches", "");
	return "";
}

cJSON *switches_of(const struct step *s, uint32_t node)
{
	const struct node *n = &s->nodes.at[node];
	cJSON *switches = read_address(json_text(n->meta, "switches", ""));
	if (switches == NULL)
		switches = read_address(address_of_rank(s, node));
	if (switches == NULL) { /* not known, or nonsense */
		switches = cJSON_CreateObject();
		json_array(switches, "path");
		json_array(switches, "kinds");
	}
	if (json_first(switches, "path") == NULL)
		copy_path(switches, json_item(json_item(n->meta, "topology"), "fabric"));
	return switches;
}

/* ---- transports ---- */

struct transports {
	char name[TRANSPORTS_MAX][TRANSPORT_BYTES];
	uint32_t ranks[TRANSPORTS_MAX];
	unsigned n;
};

static void count_transport(struct transports *t, const char *text, size_t len)
{
	char name[TRANSPORT_BYTES];
	unsigned i = 0;
	if (len == 0 || len >= sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	while (i < t->n && strcmp(t->name[i], name) != 0)
		i++;
	if (i == TRANSPORTS_MAX)
		return;
	if (i == t->n)
		memcpy(t->name[t->n++], name, sizeof(name));
	t->ranks[i]++;
}

static void put_transports(const struct step *s, cJSON *topology)
{
	struct transports t = {.n = 0};
	for (uint32_t r = 0; r < s->nranks; r++) {
		const char *text = s->ranks[r] != NULL ? json_text(s->ranks[r]->meta, "transports", "") : "";
		while (*text != '\0') {
			size_t len = strcspn(text, ",");
			count_transport(&t, text, len);
			text += len;
			text += strspn(text, ", ");
		}
	}
	cJSON *list = json_array(topology, "transports");
	for (unsigned i = 0; i < t.n; i++) {
		cJSON *row = json_row(list);
		json_put_text(row, "transport", t.name[i]);
		json_put(row, "ranks", t.ranks[i]);
	}
}

int analysis_topology(struct analysis *a)
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
		cJSON_AddItemToObject(row, "switches", switches_of(s, i));
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			copy_number(row, keys[k], hw);
		copy_text(row, "cpu", hw);
		put_versions(row, hw);
		put_devices(row, hw);
		put_pus(row, cJSON_GetObjectItemCaseSensitive(hw, "pu"));
		put_ranks(s, row, i, hw);
		topo_misbound(row, s->nodes.n > 1 || s->nnodes > 1, misbindings);
	}
	put_transports(s, t);
	return 0;
}
