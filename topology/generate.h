/* generate.h - a map of a machine of which there is no record: so many racks of nodes of packages of cores, and ranks
 * on them in order. In: numbers, or the nodes of Slurm's files.  Out: the topology of an analysis. */
#pragma once

#include "base/error.h"
#include "topology/fabric.h"
#include "topology/hardware.h"

#include <cjson/cJSON.h>
#include <stdint.h>

#define GENERATE_RANKS_MAX (1u << 20)

struct topo_shape {
	uint32_t racks, nodes; /* nodes of a rack */
	uint32_t packages;     /* of a node */
	uint32_t numa;	       /* NUMA nodes of a package */
	uint32_t cores;	       /* of a package */
	uint32_t per_node;     /* ranks of a node; 0: the same on all */
};

/* "racks=4,nodes=16,packages=2,numa=1,cores=32,per_node=64"; what is left out is 1, per_node 0. 0, or -EINVAL with
 * text. */
int topo_shape_parse(const char *text, struct topo_shape *ret_shape, struct error *e);
/* {"nodes": [...], "misbindings": []}; f: its nodes stand instead of the racks', hardware: those that it lists do, or
 * have what it says of them. Either may be NULL. NULL with text. */
cJSON *topo_generate(const struct topo_shape *shape, const struct fabric *f, const struct hardware *hardware,
		     uint32_t ranks, struct error *e);
