/* comms.h - the step's communicators: one entry for each group that sees one. */
#pragma once

#include "postproc/read/step.h"

/* Find or enter the communicator of a COMM definition: 0, -ENOMEM, or -EBADMSG for an impossible
 * one. */
int comms_add(struct step *s, const struct mpic_def *d, uint32_t *ret_comm);
void comms_name(struct step *s, uint32_t comm, struct span name);
/* The name that was set, or the standard's for those that MPI_Init makes; NULL for the others. */
const char *comms_shown_name(const struct step *s, const struct comm *c);
void comms_done(struct step *s);
/* World rank of a peer as a call on comm names it (remote group if inter). Special peers (SIG_ANY,
 * SIG_PROC_NULL, SIG_ROOT) stay; a peer outside of the step or of the communicator is COMM_OUTSIDE.
 * comm may be NULL. */
int32_t comms_peer(const struct comm *comm, int32_t peer);
/* Communicator rank of a world rank in the view's own group, or -1. */
int32_t comms_rank_of(const struct comm *comm, uint32_t world_rank);

#define COMM_OUTSIDE (-9)
