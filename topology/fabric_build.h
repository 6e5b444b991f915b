/* fabric_build.h - how the readers of both files make a fabric. Private to topology/. */
#pragma once

#include "base/index.h"
#include "base/vec.h"
#include "format/limits.h"
#include "topology/fabric.h"

#define FABRIC_NO_UNIT 0xffffffffu

/* A switch, a block or a ring; or several blocks together. */
struct fabric_unit {
	char *name;
	char *children; /* list of switches below it, or NULL */
	uint32_t parent;
	unsigned line;
};

struct fabric_node {
	char *name;
	uint32_t unit;
};

struct fabric {
	enum fabric_kind kind;
	const char *file; /* for errors, while it is read */
	VEC(struct fabric_unit) units;
	VEC(struct fabric_node) nodes;
	struct index unit_index, node_index;
	uint32_t sizes[FABRIC_SIZES_MAX]; /* of blocks, in nodes */
	unsigned nsizes;
	size_t names; /* in lists, read so far */
};

/* One unit as a line of the file says it: lists of nodes and of switches, or NULL. 0, or -errno with text. */
int fabric_add(struct fabric *f, const char *name, unsigned line, const char *nodes, const char *children,
	       struct error *e);
/* One size of a block. 0, or -EBADMSG with text. */
int fabric_add_size(struct fabric *f, const char *text, unsigned line, struct error *e);

/* All is read: tie switches together, find circles, put blocks together. 0, or -errno with text. */
int fabric_finish(struct fabric *f, struct error *e);

/* The two readers, f being empty. 0, or -errno with text. */
int fabric_from_conf(struct fabric *f, const char *text, size_t len_bytes, struct error *e);
int fabric_from_yaml(struct fabric *f, const char *text, size_t len_bytes, struct error *e);
