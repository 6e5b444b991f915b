/* meta.h - what the .mpic says about the node, its processes and the end, as JSON. */
#pragma once

#include "collect/process.h"
#include "collect/stepdir.h"

/* Append a META block about the node. stepdir: for exits. */
void meta_node(struct output *o, const struct layout *l, const char *stepdir, uint64_t seq);
int meta_process(struct output *o, struct process *p);
/* The END block. 0 or -errno. */
int meta_end(struct output *o, uint32_t processes, uint64_t events, uint64_t lost);
