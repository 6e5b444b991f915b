/* graph.h - who waits for whom, built from states alone: which processes can never go on whatever the others do
 * (AND-OR model; Knapp, Deadlock detection in distributed databases, ACM Computing Surveys 19, 1987), and because of
 * whom. A process goes on as long as one of its threads can. Time and memory grow with the number of threads, of their
 * wants, and of the members of the communicators on which somebody waits. */
#pragma once

#include "postproc/state/state.h"

struct graph_edge {
	uint32_t from, to;
};

enum node_kind { NODE_FREE, NODE_OVER, NODE_ALL, NODE_ONE };

struct graph_node {
	enum node_kind kind;
	bool alive;
};

/* Nodes are the ranks, then what stands between: threads of ranks that have several, and groups of ranks that calls
 * need together. */
struct graph {
	const struct states *states;
	uint32_t nranks, first_group; /* of nodes: groups are from there on, each behind those that it needs */
	VEC(struct graph_node) nodes;
	VEC(struct graph_edge) edges; /* sorted by from */
	uint32_t *out, *in;	      /* by node: its first edge, and its first place in `back`; one more at the end */
	uint32_t *back;		      /* who needs a node */
	uint32_t *thread_of;	      /* by rank: its first thread in states; one more at the end */
	uint32_t *thread_node;	      /* by thread of states */
	VEC(uint32_t) want_node;      /* by want: the node that it needs; STATE_NONE: none */
	uint64_t work;		      /* nodes and edges that were looked at so far */
	int code;
};

/* Those who can go on are alive. 0 or -ENOMEM; graph_done() in any case. */
int graph_make(const struct states *states, struct graph *ret_graph);
/* The same, where those of states.more can go on. */
int graph_make_certain(const struct states *states, struct graph *ret_graph);
void graph_done(struct graph *g);
/* graph_alive.c: the last step of graph_make(). */
void graph_solve(struct graph *g);

static inline bool graph_is_dead(const struct graph *g, uint32_t node)
{
	return !g->nodes.at[node].alive && g->nodes.at[node].kind != NODE_OVER;
}

/* Who waits for that rank, directly or by others, ascending, into ret_ranks (freed by the caller). `seen` has a byte a
 * node, and is all zero before and after. 0 or -ENOMEM. */
struct graph_ranks {
	uint32_t *at;
	size_t n, cap;
};
int graph_waiters(struct graph *g, uint32_t rank, uint8_t *seen, struct graph_ranks *ret_ranks);

/* ---- core.c ---- */

/* One thread of those at the core. */
struct core_member {
	uint32_t rank, thread; /* thread: in states */
	uint32_t want;	       /* in states: what would let it go on; STATE_NONE: any of several */
	uint32_t needs; /* the rank that it needs of the core, or that has ended; STATE_NONE: anybody of several */
};

/* Others that can only go on when those of the core do, by call and site. */
struct core_waiters {
	const char *op;
	uint32_t site, count;
	uint32_t first; /* the lowest rank */
};

#define CORE_WAITERS_MAX 32u /* rows; what else there is stands in the last, with no call */

/* Ranks that can never go on whatever all others do. */
struct core {
	VEC(struct core_member) members;  /* of a cycle: each needs the next, the first is the lowest; else ascending */
	VEC(uint32_t) waiting;		  /* who waits for them, ascending */
	VEC(struct core_waiters) waiters; /* most first */
	uint32_t nranks;		  /* of members */
	uint32_t over;			  /* they need that rank, which has ended; STATE_NONE: each other */
	bool cycle;
};

struct cores {
	VEC(struct core) at; /* the fewest members first */
};

/* The rank that a thread of states waits for, of those that cannot go on; STATE_NONE: anybody of several. */
uint32_t graph_needs(const struct graph *g, uint32_t thread);
/* 0 or -ENOMEM; cores_done() in any case. */
int cores_find(struct graph *g, struct cores *ret_cores);
/* Of cores stay those that are certain; where none is, all are moved to ret_possible: they hold unless ranks of
 * states.more go on by threads that have not called MPI yet. 0 or -ENOMEM; cores_done() of both in any case. */
int cores_part(const struct states *states, struct cores *cores, struct cores *ret_possible);
void cores_done(struct cores *c);
