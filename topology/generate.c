/* generate.c - see generate.h. */
#include "topology/generate.h"

#include "base/json.h"
#include "base/units.h"
#include "format/limits.h"
#include "topology/fabric_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX (1u << 17)
#define NODE_CORES_MAX 4096u
#define CORES_MAX (1u << 23)

static uint32_t *field(struct topo_shape *s, const char *name, size_t len)
{
	const struct {
		const char *name;
		uint32_t *at;
	} fields[] = {{"racks", &s->racks}, {"nodes", &s->nodes}, {"packages", &s->packages},
		      {"numa", &s->numa},   {"cores", &s->cores}, {"per_node", &s->per_node}};
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strlen(fields[i].name) == len && strncmp(fields[i].name, name, len) == 0)
			return fields[i].at;
	return NULL;
}

static int check(const struct topo_shape *s, struct error *e)
{
	uint64_t nodes = (uint64_t)s->racks * s->nodes, cores = (uint64_t)s->packages * s->cores;
	if (s->numa > s->cores)
		return fail(e, -EINVAL, "numa=%u: a package of %u cores has at most as many", s->numa, s->cores);
	if (nodes > NODES_MAX || cores > NODE_CORES_MAX || nodes * cores > CORES_MAX)
		return fail(e, -EINVAL, "too large: at most %u nodes, %u cores a node, %u cores in all", NODES_MAX,
			    NODE_CORES_MAX, CORES_MAX);
	return 0;
}

int topo_shape_parse(const char *text, struct topo_shape *ret_shape, struct error *e)
{
	struct topo_shape s = {1, 1, 1, 1, 1, 0};
	const char *word = text;
	while (*word != '\0') {
		size_t len = strcspn(word, ",");
		const char *is = memchr(word, '=', len);
		uint32_t *at = is != NULL ? field(&s, word, (size_t)(is - word)) : NULL;
		char *end;
		if (at == NULL || is[1] < '1' || is[1] > '9')
			return fail(
				e, -EINVAL,
				"\"%.*s\": give racks, nodes, packages, numa, cores or per_node, each with a number, "
				"as in racks=4,nodes=16,packages=2,cores=32",
				(int)len, word);
		unsigned long value = strtoul(is + 1, &end, 10);
		if (end != word + len || value > CORES_MAX)
			return fail(e, -EINVAL, "\"%.*s\": not a number from 1 to %u", (int)len, word, CORES_MAX);
		*at = (uint32_t)value;
		word += len + (word[len] == ',');
	}
	int code = check(&s, e);
	if (code == 0)
		*ret_shape = s;
	return code;
}

static void put_cores(cJSON *node, const struct topo_shape *s)
{
	uint32_t cores = s->packages * s->cores;
	json_put(node, "sockets", s->packages);
	json_put(node, "cores", cores);
	json_put(node, "pus", cores);
	json_put(node, "numa", s->packages * s->numa);
	cJSON *all = json_array(node, "pu");
	for (uint32_t i = 0; i < cores; i++) {
		cJSON *pu = json_row(all);
		uint32_t socket = i / s->cores;
		json_put(pu, "os", i);
		json_put(pu, "core", i);
		json_put(pu, "socket", socket);
		json_put(pu, "numa", socket * s->numa + i % s->cores * s->numa / s->cores);
	}
}

/* Ranks from first on, a core each, again from the first core where there are more. */
static void put_ranks(cJSON *node, const struct topo_shape *s, uint32_t first, uint32_t count)
{
	cJSON *all = json_array(node, "ranks");
	for (uint32_t i = 0; i < count; i++) {
		uint32_t core = i % (s->packages * s->cores);
		cJSON *row = json_row(all);
		char cpus[16];
		snprintf(cpus, sizeof(cpus), "%u", core);
		json_put(row, "rank", first + i);
		json_put_text(row, "cpus", cpus);
		json_put(row, "cpu", core);
		json_push(json_array(row, "cores"), core);
	}
}

static cJSON *rack_path(uint32_t rack)
{
	char name[24];
	cJSON *switches = cJSON_CreateObject();
	snprintf(name, sizeof(name), "rack%u", rack);
	json_push_text(json_array(switches, "path"), name);
	json_push_text(json_array(switches, "kinds"), "switch");
	return switches;
}

/* What is known of a node: its own packages and cores, else those of the shape. */
static struct topo_shape shape_of(const struct topo_shape *s, const struct hardware *hw, const char *name)
{
	const struct hardware_node *known = hw != NULL ? hardware_find(hw, name) : NULL;
	struct topo_shape own = *s;
	if (known == NULL)
		return own;
	own.packages = known->packages;
	own.cores = known->cores;
	own.numa = own.numa < own.cores ? own.numa : own.cores;
	return own;
}

static cJSON *no_switches(void)
{
	cJSON *switches = cJSON_CreateObject();
	json_array(switches, "path");
	json_array(switches, "kinds");
	return switches;
}

/* Where the nodes come from, the first of them that is there. */
struct source {
	const struct topo_shape *shape;
	const struct fabric *fabric;
	const struct hardware *hardware;
};

static uint64_t count_nodes(const struct source *s)
{
	return s->fabric != NULL     ? s->fabric->nodes.n
	       : s->hardware != NULL ? s->hardware->nodes.n
				     : (uint64_t)s->shape->racks * s->shape->nodes;
}

static const char *name_node(const struct source *s, uint32_t index, char room[32])
{
	if (s->fabric != NULL)
		return s->fabric->nodes.at[index].name;
	if (s->hardware != NULL)
		return s->hardware->nodes.at[index].name;
	snprintf(room, 32, "r%un%u", index / s->shape->nodes, index % s->shape->nodes);
	return room;
}

static cJSON *put_node(cJSON *nodes, const struct source *s, uint32_t index, struct topo_shape *ret_shape)
{
	char room[32];
	const char *name = name_node(s, index, room);
	cJSON *node = json_row(nodes);
	*ret_shape = shape_of(s->shape, s->hardware, name);
	json_put_text(node, "name", name);
	json_put(node, "nodeid", index);
	cJSON *switches = s->fabric != NULL	? fabric_path(s->fabric, name)
			  : s->hardware != NULL ? no_switches()
						: rack_path(index / s->shape->nodes);
	cJSON_AddItemToObject(node, "switches", switches);
	put_cores(node, ret_shape);
	return node;
}

/* -E2BIG where the cores of all nodes are too many. */
static int check_cores(const struct source *s, uint64_t nodes)
{
	char room[32];
	uint64_t cores = 0;
	for (uint32_t i = 0; i < nodes && cores <= CORES_MAX; i++) {
		struct topo_shape own = shape_of(s->shape, s->hardware, name_node(s, i, room));
		cores += (uint64_t)own.packages * own.cores;
	}
	return cores > CORES_MAX ? -E2BIG : 0;
}

cJSON *topo_generate(const struct topo_shape *shape, const struct fabric *f, const struct hardware *hardware,
		     uint32_t ranks, struct error *e)
{
	const struct source s = {shape, f, hardware};
	uint64_t nodes = count_nodes(&s);
	uint64_t each = shape->per_node > 0 || nodes == 0 ? shape->per_node : (ranks + nodes - 1) / nodes;
	if (nodes == 0 || nodes > NODES_MAX || check_cores(&s, nodes) < 0) {
		fail(e, -EINVAL, "%s",
		     nodes == 0 ? "the file names no node" : "the file names too many nodes or cores");
		return NULL;
	}
	if (each * nodes < ranks) {
		fail(e, -EINVAL, "%u ranks do not fit on %s with %llu each", ranks, fmt_many(nodes, "node").s,
		     (unsigned long long)each);
		return NULL;
	}
	cJSON *topology = cJSON_CreateObject(), *all = json_array(topology, "nodes");
	uint64_t first = 0;
	for (uint32_t i = 0; i < nodes; i++) {
		uint64_t left = ranks - first, here = left < each ? left : each;
		struct topo_shape own;
		cJSON *node = put_node(all, &s, i, &own);
		put_ranks(node, &own, (uint32_t)first, (uint32_t)here);
		first += here;
	}
	json_array(topology, "misbindings");
	return topology;
}
