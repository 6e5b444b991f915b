/* fabric.c - see fabric.h. In: units and nodes from one of the readers.  Out: paths. */
#include "topology/fabric_build.h"

#include "base/hostlist.h"
#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_unit(const void *context, uint32_t at)
{
	const void *const *two = context;
	const struct fabric *f = two[0];
	return strcmp(f->units.at[at].name, two[1]) == 0;
}

static bool is_node(const void *context, uint32_t at)
{
	const void *const *two = context;
	const struct fabric *f = two[0];
	return strcmp(f->nodes.at[at].name, two[1]) == 0;
}

static uint32_t find_unit(const struct fabric *f, const char *name)
{
	const void *two[] = {f, name};
	return index_find(&f->unit_index, index_hash(INDEX_SEED, name, strlen(name)), is_unit, two);
}

static uint32_t find_node(const struct fabric *f, const char *name)
{
	const void *two[] = {f, name};
	return index_find(&f->node_index, index_hash(INDEX_SEED, name, strlen(name)), is_node, two);
}

/* ---- building ---- */

/* A node at several switches (two rails, say) stays at the one that names it first. */
static int add_node(void *context, const char *name)
{
	struct fabric *f = context;
	if (++f->names > FABRIC_NODES_MAX)
		return -E2BIG;
	if (find_node(f, name) != INDEX_NONE)
		return 0;
	struct fabric_node node = {strdup(name), (uint32_t)f->units.n - 1};
	if (node.name == NULL || vec_push(&f->nodes, node) < 0) {
		free(node.name);
		return -ENOMEM;
	}
	return index_add(&f->node_index, index_hash(INDEX_SEED, name, strlen(name)), (uint32_t)f->nodes.n - 1);
}

static int push_unit(struct fabric *f, const char *name, unsigned line, const char *children)
{
	struct fabric_unit unit = {.name = strdup(name), .parent = FABRIC_NO_UNIT, .line = line};
	unit.children = children != NULL ? strdup(children) : NULL;
	if (unit.name == NULL || (children != NULL && unit.children == NULL) || vec_push(&f->units, unit) < 0) {
		free(unit.name);
		free(unit.children);
		return -ENOMEM;
	}
	return 0;
}

static int list_error(const struct fabric *f, unsigned line, const char *what, const char *list, int code,
		      struct error *e)
{
	if (code == -ENOMEM)
		return fail(e, code, "out of memory");
	if (code == -E2BIG)
		return fail(e, code, "%s:%u: more than %u names; give a part of the machine", f->file, line,
			    FABRIC_NODES_MAX);
	return fail(e, -EBADMSG, "%s:%u: \"%.80s\" is not a list of %s, such as n[1-3,7]", f->file, line, list, what);
}

int fabric_add(struct fabric *f, const char *name, unsigned line, const char *nodes, const char *children,
	       struct error *e)
{
	uint32_t same = find_unit(f, name);
	if (name[0] == '\0' || strlen(name) >= HOSTLIST_NAME_MAX || strchr(name, '=') != NULL)
		return fail(e, -EBADMSG, "%s:%u: \"%.80s\" is not a name: 1 to %d bytes, without \"=\"", f->file, line,
			    name, HOSTLIST_NAME_MAX - 1);
	if (same != INDEX_NONE)
		return fail(e, -EBADMSG, "%s:%u: \"%.80s\" is there already, in line %u", f->file, line, name,
			    f->units.at[same].line);
	if (nodes != NULL && children != NULL)
		return fail(e, -EBADMSG, "%s:%u: \"%.80s\" has nodes and switches below it; give one of them", f->file,
			    line, name);
	if (f->units.n >= FABRIC_UNITS_MAX)
		return fail(e, -E2BIG, "%s:%u: more than %u switches or blocks", f->file, line, FABRIC_UNITS_MAX);
	int code = push_unit(f, name, line, children);
	if (code == 0)
		code = index_add(&f->unit_index, index_hash(INDEX_SEED, name, strlen(name)), (uint32_t)f->units.n - 1);
	if (code == 0 && nodes != NULL)
		code = hostlist_each(nodes, add_node, f);
	return code == 0 ? 0 : list_error(f, line, "nodes", nodes != NULL ? nodes : "", code, e);
}

/* Each is the first one times a power of two (topology.conf(5)). */
int fabric_add_size(struct fabric *f, const char *text, unsigned line, struct error *e)
{
	char *end;
	unsigned long size = strtoul(text, &end, 10), base = f->nsizes > 0 ? f->sizes[0] : size;
	unsigned long last = f->nsizes > 0 ? f->sizes[f->nsizes - 1] : 0;
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || size == 0 || size > FABRIC_NODES_MAX)
		return fail(e, -EBADMSG, "%s:%u: \"%.40s\" is not the size of a block", f->file, line, text);
	if (size % base != 0 || (size / base & (size / base - 1)) != 0 || size <= last)
		return fail(e, -EBADMSG, "%s:%u: size %lu is not the first one (%lu) times a greater power of two",
			    f->file, line, size, base);
	if (f->nsizes == FABRIC_SIZES_MAX)
		return fail(e, -EBADMSG, "%s:%u: more than %u sizes", f->file, line, FABRIC_SIZES_MAX);
	f->sizes[f->nsizes++] = (uint32_t)size;
	return 0;
}

struct tie {
	struct fabric *f;
	uint32_t parent;
	struct error *e;
};

static int tie_child(void *context, const char *name)
{
	struct tie *t = context;
	const struct fabric_unit *parent = &t->f->units.at[t->parent];
	uint32_t child = find_unit(t->f, name);
	if (++t->f->names > FABRIC_NODES_MAX || child == INDEX_NONE || child == t->parent)
		return fail(t->e, -EBADMSG, "%s:%u: \"%.80s\" below \"%.80s\" is not another switch of this file",
			    t->f->file, parent->line, name, parent->name);
	if (t->f->units.at[child].parent == FABRIC_NO_UNIT)
		t->f->units.at[child].parent = t->parent;
	return 0;
}

static int tie_switches(struct fabric *f, struct error *e)
{
	f->names = 0;
	for (uint32_t i = 0; i < f->units.n; i++) {
		struct error why = {""};
		struct tie t = {f, i, &why};
		if (f->units.at[i].children == NULL)
			continue;
		int code = hostlist_each(f->units.at[i].children, tie_child, &t);
		if (code < 0 && why.text[0] != '\0')
			return fail(e, code, "%s", why.text);
		if (code < 0)
			return list_error(f, f->units.at[i].line, "switches", f->units.at[i].children, code, e);
	}
	for (uint32_t i = 0; i < f->units.n; i++) {
		unsigned depth = 0;
		for (uint32_t at = i; at != FABRIC_NO_UNIT; at = f->units.at[at].parent)
			if (++depth > FABRIC_DEPTH_MAX)
				return fail(e, -EBADMSG, "%s:%u: \"%.80s\" is below itself, or below %u others",
					    f->file, f->units.at[i].line, f->units.at[i].name, FABRIC_DEPTH_MAX);
	}
	return 0;
}

/* So many neighbouring blocks are one of the next size, as Slurm puts them together: the rest too, if it is more than
 * one of the size below. */
static int aggregate(struct fabric *f, uint32_t blocks, uint32_t many, uint32_t fewer)
{
	char name[2 * HOSTLIST_NAME_MAX + 8];
	for (uint32_t from = 0; from < blocks; from += many) {
		uint32_t n = blocks - from < many ? blocks - from : many;
		if (n < many && n <= fewer)
			break;
		snprintf(name, sizeof(name), "%s..%s", f->units.at[from].name, f->units.at[from + n - 1].name);
		if (push_unit(f, name, f->units.at[from].line, NULL) < 0)
			return -ENOMEM;
		for (uint32_t i = from; i < from + n; i++) {
			uint32_t top = i;
			while (f->units.at[top].parent != FABRIC_NO_UNIT)
				top = f->units.at[top].parent;
			if (top != f->units.n - 1)
				f->units.at[top].parent = (uint32_t)f->units.n - 1;
		}
	}
	return 0;
}

int fabric_finish(struct fabric *f, struct error *e)
{
	uint32_t blocks = (uint32_t)f->units.n;
	if (f->kind != FABRIC_FLAT && f->units.n == 0)
		return fail(e, -EBADMSG, "%s: no switch or block in it", f->file);
	if (f->kind == FABRIC_TREE)
		return tie_switches(f, e);
	for (unsigned i = 1; f->kind == FABRIC_BLOCK && i < f->nsizes; i++) {
		uint32_t many = f->sizes[i] / f->sizes[0], fewer = f->sizes[i - 1] / f->sizes[0];
		if (aggregate(f, blocks, many, fewer) < 0)
			return fail(e, -ENOMEM, "out of memory");
		if (many >= blocks)
			break;
	}
	return 0;
}

void fabric_free(struct fabric *f)
{
	if (f == NULL)
		return;
	for (size_t i = 0; i < f->units.n; i++) {
		free(f->units.at[i].name);
		free(f->units.at[i].children);
	}
	for (size_t i = 0; i < f->nodes.n; i++)
		free(f->nodes.at[i].name);
	vec_done(&f->units);
	vec_done(&f->nodes);
	index_done(&f->unit_index);
	index_done(&f->node_index);
	free(f);
}

const char *fabric_kind_name(enum fabric_kind kind)
{
	static const char *const names[] = {"flat", "tree", "block", "ring"};
	return names[kind];
}

cJSON *fabric_path(const struct fabric *f, const char *node)
{
	uint32_t at = find_node(f, node), up[FABRIC_DEPTH_MAX];
	unsigned n = 0;
	if (at == INDEX_NONE)
		return NULL;
	for (uint32_t u = f->nodes.at[at].unit; u != FABRIC_NO_UNIT && n < FABRIC_DEPTH_MAX; u = f->units.at[u].parent)
		up[n++] = u;
	cJSON *result = cJSON_CreateObject();
	cJSON *path = json_array(result, "path"), *kinds = json_array(result, "kinds");
	while (n-- > 0) {
		json_push_text(path, f->units.at[up[n]].name);
		json_push_text(kinds, f->kind == FABRIC_TREE ? "switch" : fabric_kind_name(f->kind));
	}
	json_put_text(result, "node", node);
	return result;
}
