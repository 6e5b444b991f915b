/* epochs_parts.h - what epochs.c (feeding and contracting), epochs_components.c (which events belong together) and
 * epochs_need.c (messages in flight) share. */
#pragma once

#include "base/sort.h"
#include "base/vec.h"
#include "postproc/protocol/epochs.h"

#define EPOCHS_NONE 0xffffffffu

/* A message or a collective; once it is contracted with others one of them stands for all. */
struct epoch_node {
	uint32_t parent; /* itself: stands for its component */
	uint32_t next;	 /* in the component's list, EPOCHS_NONE at the end; or in the list of free nodes */
	uint32_t tail, members;
	uint32_t open;	   /* ends and parts that did not come yet, of the whole component */
	uint32_t src, dst; /* src EPOCHS_NONE: a collective, then dst is how many parts are still to come */
	uint32_t drop;	   /* number of its struct epoch_drop plus 1; 0: nothing was dropped */
	uint64_t bytes;
	int64_t from_ns, to_ns;
};

/* Sums over nodes that are not kept singly. */
struct epoch_drop {
	uint64_t messages, bytes, collectives;
	int64_t from_ns, to_ns;
};

/* Consecutive events of one process that belong to one component. */
struct epoch_slot {
	uint32_t rank, node;
	uint64_t first, last;
};

/* Components of the pending events. Nodes are numbered densely here, in the order in which they were fed. */
struct epoch_components {
	VEC(uint32_t) nodes;   /* dense -> node */
	VEC(uint32_t) of_node; /* node -> dense */
	VEC(uint32_t) slot_of; /* slots by dense, from first_slot */
	VEC(uint32_t) first_slot;
	VEC(uint32_t) number;  /* dense -> component; they are numbered so that each comes after all before it */
	VEC(uint32_t) members; /* dense, component after component */
	VEC(uint32_t) first;   /* component -> of members; and one more */
	VEC(bool) open;	       /* component: something to come may belong to it */
	VEC(uint32_t) visited, low, stack, path, next; /* of the search */
	size_t n;				       /* components */
};

/* What is on the way to somebody. */
struct epoch_flight {
	uint64_t messages, bytes;
	struct epoch_need most;
};

struct epoch_gathered {
	VEC(struct epoch_span) spans;
	VEC(struct epoch_message) messages;
	VEC(struct epoch_need) needs;
	VEC(struct sort_key) ends; /* begins and ends of the messages; twice as many as there are */
	VEC(struct epoch_flight) flights;
	VEC(uint32_t) flight_of; /* by rank: number in flights, from 1 */
	VEC(uint32_t) slots;
};

/* Begin with no nodes, with room for as many as there are slots; of_node is EPOCHS_NONE for all. 0 or -ENOMEM. */
int epoch_components_begin(struct epoch_components *c, size_t nslots, size_t nnodes);
/* The next node; nothing happens when it is there. */
void epoch_components_add(struct epoch_components *c, uint32_t node);
/* slots stand by rank, and in order; the nodes of all were added. 0 or -ENOMEM. */
int epoch_components_find(struct epoch_components *c, const struct epoch_slot *slots, size_t nslots,
			  const struct epoch_node *nodes);
void epoch_components_done(struct epoch_components *c);
/* Messages in flight at once, from g->messages into epoch->total and epoch->receiver. 0 or -ENOMEM. */
int epoch_need_find(struct epoch_gathered *g, struct epoch *epoch);
