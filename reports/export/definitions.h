/* definitions.h - what events name by number: call sites, communicators, nodes, windows, files; from the analysis. All
 * that an .mpix says may be wrong: every look-up has an answer. */
#pragma once

#include "base/json.h"
#include "format/mpix.h"

#define DEFINITION_NONE 0xffffffffu

struct comm_members {
	uint32_t *ranks; /* world ranks by rank; n of them */
	uint32_t n;
	uint32_t *rank_of; /* of a world rank, or DEFINITION_NONE; NULL when members are 0 .. n - 1 */
	bool inter;	   /* there is another group, whose ranks these are not */
};

struct definitions {
	cJSON *analysis;
	struct definition_list {
		const cJSON **at; /* by id; NULL: no such */
		uint32_t n;
	} callsites, comms, windows, files, ranks, frames, stacks;
	char **labels; /* of call sites by id: function (file:line) */
	struct comm_members *members;
	char **nodes; /* names of places */
	uint32_t nplaces, nranks;
};

int definitions_read(struct definitions *d, const struct mpix_file *f, struct error *e);
void definitions_done(struct definitions *d);

/* Elements by id, NULL where there is none. */
const cJSON *definition(const struct definition_list *list, uint32_t id);
/* "function (file:line)"; "" for none. */
const char *definitions_label(const struct definitions *d, uint32_t callsite);
const char *definitions_node(const struct definitions *d, uint32_t place);
uint32_t definitions_place(const struct mpix_info *info, uint32_t rank);
/* The rank that a world rank has in a communicator, DEFINITION_NONE if it is no member or that is not known. */
uint32_t definitions_comm_rank(const struct definitions *d, uint32_t comm, uint32_t world_rank);
/* Members of a communicator; 0: not known. */
uint32_t definitions_comm_size(const struct definitions *d, uint32_t comm);
