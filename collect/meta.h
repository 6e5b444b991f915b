/* meta.h - what the .mpic says about the node, its processes and the end, as JSON. */
#pragma once

#include "collect/process.h"
#include "collect/stepdir.h"

struct node_meta {
	const struct layout *layout;
	int exits_fd;	   /* -1: nobody tells how tasks ended */
	const char *ranks; /* directory in which MPI's launchers tell how processes ended; NULL: none */
	struct cJSON *topology;
	uint64_t seq;
	int64_t exits_bytes;
	int64_t agent_ns;	 /* time on processors that the agent took while the step ran; 0: not known yet */
	int64_t agent_beside_ns; /* of it, beside ranks (collect/agent_cost.h) */
	bool written;		 /* once whole */
};

/* Append a META block about the node: whole, if asked for or the first time, else what changed since, if anything did.
 * 0 or -errno. */
int meta_node(struct output *o, struct node_meta *n, bool whole);
void meta_node_done(struct node_meta *n);
/* The same of a process. What only a whole one has is written again when it changed. */
int meta_process(struct output *o, struct process *p, bool whole);
/* The END block. 0 or -errno. */
int meta_end(struct output *o, uint32_t processes, uint64_t events, uint64_t lost);
