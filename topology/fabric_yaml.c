/* fabric_yaml.c - topology.yaml(5), of Slurm 25.05 and later: a list of topologies, one of which is the cluster's. */
#include "topology/fabric_build.h"

#include <errno.h>

#ifndef HAVE_YAML

int fabric_from_yaml(struct fabric *f, const char *text, size_t len_bytes, struct error *e)
{
	(void)text;
	(void)len_bytes;
	return fail(e, -ENOTSUP, "%s: this mpitrace was built without libyaml; give a topology.conf", f->file);
}

#else

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

struct reader {
	struct fabric *f;
	yaml_document_t document;
	struct error *e;
};

static unsigned line_of(const yaml_node_t *n)
{
	return (unsigned)n->start_mark.line + 1;
}

static int wrong(struct reader *r, const yaml_node_t *at, const char *what)
{
	return fail(r->e, -EBADMSG, "%s:%u: %s", r->f->file, line_of(at), what);
}

/* A scalar's text, else NULL. */
static const char *text_of(const yaml_node_t *n)
{
	return n != NULL && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

static size_t length_of(const yaml_node_t *list)
{
	return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

static yaml_node_t *item(struct reader *r, const yaml_node_t *list, size_t i)
{
	return yaml_document_get_node(&r->document, list->data.sequence.items.start[i]);
}

/* The value of a mapping's key, NULL if it has none. */
static yaml_node_t *member(struct reader *r, const yaml_node_t *mapping, const char *key)
{
	for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < mapping->data.mapping.pairs.top; p++) {
		const char *name = text_of(yaml_document_get_node(&r->document, p->key));
		if (name != NULL && strcmp(name, key) == 0)
			return yaml_document_get_node(&r->document, p->value);
	}
	return NULL;
}

/* A text that may be absent: *ret_text is NULL then. */
static int member_text(struct reader *r, const yaml_node_t *mapping, const char *key, const char **ret_text)
{
	char what[80];
	const yaml_node_t *value = member(r, mapping, key);
	*ret_text = text_of(value);
	if (value == NULL || *ret_text != NULL)
		return 0;
	snprintf(what, sizeof(what), "`%s` must be a text, such as n[1-4]", key);
	return wrong(r, value, what);
}

/* Every key must be one of these (ended by NULL): a slip of the pen would silently drop switches. */
static int only_keys(struct reader *r, const yaml_node_t *mapping, const char *const *keys)
{
	for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < mapping->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = yaml_document_get_node(&r->document, p->key);
		const char *name = text_of(key);
		size_t i = 0;
		while (name != NULL && keys[i] != NULL && strcmp(keys[i], name) != 0)
			i++;
		if (name == NULL || keys[i] == NULL)
			return fail(r->e, -EBADMSG, "%s:%u: `%.80s` is not expected here", r->f->file, line_of(key),
				    name != NULL ? name : "?");
	}
	return 0;
}

/* What differs between trees, blocks and rings. */
struct form {
	const char *type, *list, *name, *children; /* keys; children: NULL if there are none */
	enum fabric_kind kind;
};

static int read_unit(struct reader *r, const yaml_node_t *unit, const struct form *form)
{
	const char *keys[] = {form->name, "nodes", form->children, NULL};
	const char *name, *nodes, *children = NULL;
	char what[80];
	if (unit->type != YAML_MAPPING_NODE)
		return wrong(r, unit, "not a mapping with a name and nodes");
	int code = only_keys(r, unit, keys);
	code = code < 0 ? code : member_text(r, unit, form->name, &name);
	code = code < 0 ? code : member_text(r, unit, "nodes", &nodes);
	if (code == 0 && form->children != NULL)
		code = member_text(r, unit, form->children, &children);
	if (code < 0)
		return code;
	snprintf(what, sizeof(what), "`%s` or `nodes` is missing", form->name);
	if (name == NULL || (nodes == NULL && form->children == NULL))
		return wrong(r, unit, what);
	return fabric_add(r->f, name, line_of(unit), nodes, children, r->e);
}

static int read_units(struct reader *r, const yaml_node_t *type, const struct form *form)
{
	char what[80];
	const yaml_node_t *list = type->type == YAML_MAPPING_NODE ? member(r, type, form->list) : NULL;
	snprintf(what, sizeof(what), "`%s` must have a list `%s`", form->type, form->list);
	if (list == NULL || list->type != YAML_SEQUENCE_NODE)
		return wrong(r, list != NULL ? list : type, what);
	int code = 0;
	for (size_t i = 0; i < length_of(list) && code == 0; i++)
		code = read_unit(r, item(r, list, i), form);
	return code;
}

static int read_sizes(struct reader *r, const yaml_node_t *block)
{
	const yaml_node_t *list = member(r, block, "block_sizes");
	if (list == NULL)
		return 0;
	if (list->type != YAML_SEQUENCE_NODE)
		return wrong(r, list, "`block_sizes` must be a list of numbers");
	int code = 0;
	for (size_t i = 0; i < length_of(list) && code == 0; i++) {
		const yaml_node_t *size = item(r, list, i);
		const char *text = text_of(size);
		code = fabric_add_size(r->f, text != NULL ? text : "", line_of(size), r->e);
	}
	return code;
}

static int read_type(struct reader *r, const yaml_node_t *type, const struct form *form)
{
	static const char *const block_keys[] = {"block_sizes", "blocks", NULL};
	const char *keys[] = {form->list, NULL};
	if (type->type != YAML_MAPPING_NODE)
		return wrong(r, type, "a topology's type must be a mapping");
	bool blocks = form->kind == FABRIC_BLOCK;
	int code = only_keys(r, type, blocks ? block_keys : keys);
	if (code == 0 && blocks)
		code = read_sizes(r, type);
	r->f->kind = form->kind;
	return code < 0 ? code : read_units(r, type, form);
}

static int read_topology(struct reader *r, const yaml_node_t *topology)
{
	static const struct form forms[] = {
		{"tree", "switches", "switch", "children", FABRIC_TREE},
		{"block", "blocks", "block", NULL, FABRIC_BLOCK},
		{"ring", "rings", "ring", NULL, FABRIC_RING},
	};
	const struct form *form = NULL;
	const yaml_node_t *type = NULL;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const yaml_node_t *found = member(r, topology, forms[i].type);
		if (found == NULL)
			continue;
		if (type != NULL)
			return wrong(r, found, "a topology has one type: tree, block, ring or flat");
		type = found;
		form = &forms[i];
	}
	if (type != NULL)
		return read_type(r, type, form);
	if (member(r, topology, "flat") == NULL)
		return wrong(r, topology, "none of the types that are known here: tree, block, ring, flat");
	r->f->kind = FABRIC_FLAT;
	return 0;
}

static bool is_true(const char *text)
{
	static const char *const yes[] = {"true", "yes", "on", "1"};
	for (size_t i = 0; text != NULL && i < sizeof(yes) / sizeof(yes[0]); i++)
		if (strcasecmp(text, yes[i]) == 0)
			return true;
	return false;
}

/* The first one that is the cluster's default; if none is, the first. */
static int choose(struct reader *r, const yaml_node_t *root)
{
	const yaml_node_t *chosen = NULL;
	if (root == NULL || root->type != YAML_SEQUENCE_NODE || length_of(root) == 0)
		return fail(r->e, -EBADMSG, "%s:1: not a list of topologies (\"- topology: NAME\")", r->f->file);
	for (size_t i = 0; i < length_of(root); i++) {
		const yaml_node_t *t = item(r, root, i);
		const char *name, *chosen_by = NULL;
		if (t->type != YAML_MAPPING_NODE)
			return wrong(r, t, "not a topology (\"- topology: NAME\")");
		int code = member_text(r, t, "topology", &name);
		code = code < 0 ? code : member_text(r, t, "cluster_default", &chosen_by);
		if (code < 0)
			return code;
		if (name == NULL)
			return wrong(r, t, "`topology`, its name, is missing");
		if (chosen == NULL && is_true(chosen_by))
			chosen = t;
	}
	return read_topology(r, chosen != NULL ? chosen : item(r, root, 0));
}

int fabric_from_yaml(struct fabric *f, const char *text, size_t len_bytes, struct error *e)
{
	struct reader r = {.f = f, .e = e};
	yaml_parser_t parser;
	int code;
	if (!yaml_parser_initialize(&parser))
		return fail(e, -ENOMEM, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len_bytes);
	if (!yaml_parser_load(&parser, &r.document)) {
		code = fail(e, -EBADMSG, "%s:%zu: not YAML: %s", f->file, parser.problem_mark.line + 1,
			    parser.problem != NULL ? parser.problem : "it cannot be read");
	} else {
		code = choose(&r, yaml_document_get_root_node(&r.document));
		yaml_document_delete(&r.document);
	}
	yaml_parser_delete(&parser);
	return code;
}

#endif
