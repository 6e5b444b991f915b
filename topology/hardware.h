/* hardware.h - what nodes are made of, as Slurm knows it. In: what `scontrol show node` prints, in lines or (-o) a
 * line a node.  Out: packages and cores of each node, in its order. */
#pragma once

#include "base/error.h"
#include "base/index.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct hardware_node {
	char *name;
	uint32_t packages;
	uint32_t cores; /* of a package */
};

struct hardware {
	VEC(struct hardware_node) nodes;
	struct index index;
};

/* Read a file, or a text that errors call name. 0, or -errno with text; hardware_free() frees. */
int hardware_read(const char *path, struct hardware **ret_hardware, struct error *e);
int hardware_parse(const char *name, const char *text, size_t len_bytes, struct hardware **ret_hardware,
		   struct error *e);
void hardware_free(struct hardware *hw);
/* NULL: it does not name the node. */
const struct hardware_node *hardware_find(const struct hardware *hw, const char *name);
