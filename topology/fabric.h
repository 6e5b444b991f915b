/* fabric.h - which switches, blocks or rings lead to which node. In: Slurm's topology.conf(5) or topology.yaml(5).
 * Out: the path to a node, as topo_switches() gives it. What is wrong with a file is said as "FILE:LINE: what". */
#pragma once

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum fabric_kind {
	FABRIC_FLAT, /* nothing is known of the network */
	FABRIC_TREE,
	FABRIC_BLOCK,
	FABRIC_RING,
};

struct fabric;

/* Read a file: YAML if its name ends with ".yaml" or ".yml". 0, or -errno with text; fabric_free() frees. */
int fabric_read(const char *path, struct fabric **ret_fabric, struct error *e);
/* The same of a text; name is what errors call it. Of topology.yaml, the topology that is the cluster's default (else
 * the first). */
int fabric_parse(const char *name, const char *text, size_t len_bytes, bool yaml, struct fabric **ret_fabric,
		 struct error *e);
void fabric_free(struct fabric *f);

/* "tree", "block", "ring", "flat". */
const char *fabric_kind_name(enum fabric_kind kind);
/* {"path": [outermost first], "kinds": ["switch"|"block"|"ring", ...], "node": name}; NULL: the file does not name
 * it. */
cJSON *fabric_path(const struct fabric *f, const char *node);
/* The file that Slurm on this machine reads: beside $SLURM_CONF, or where Slurm looks itself. False: there is none. */
bool fabric_find(char *ret_path, size_t cap_bytes);
