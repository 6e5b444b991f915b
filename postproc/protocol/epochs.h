/* epochs.h - the finest decomposition of what processes send and receive into epochs.
 *
 * Events of a process (a send, a receive, a part in a collective) stand in program order. An epoch is a set of events
 * that holds both ends of each of its messages and all parts of each of its collectives, that is consecutive on every
 * process, and before or after (in the causal order) any other. With an arc from each event to the next of its process
 * and arcs in both directions between the ends of a message, epochs are the strongly connected components.
 *
 * In: events, those of each process in its order, in any interleaving; in order of time memory is least.
 * Out: epochs through a callback, each after all that it depends on, numbered from 1, as soon as nothing that is still
 * to come can belong to them: no message in flight leads to them. Time is linear in events; memory holds what is
 * pending. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define EPOCHS_PENDING_MAX (1u << 25) /* messages and collectives that wait for one in flight */
#define EPOCH_MESSAGES_MAX (1u << 20) /* of one epoch, of which single messages are kept */

/* Events first .. last of a process; numbers count from 0. */
struct epoch_span {
	uint32_t rank;
	uint64_t first, last;
};

struct epoch_message {
	uint32_t src, dst;
	uint64_t bytes;
	int64_t from_ns, to_ns; /* in flight; from_ns < to_ns */
};

/* The largest number of messages in flight to a rank at once, and the largest number of their bytes. */
struct epoch_need {
	uint32_t rank;
	uint64_t messages, bytes;
};

/* Lists belong to the caller of the callback. */
struct epoch {
	uint64_t number;
	int64_t from_ns, to_ns;
	uint64_t events, messages, bytes, collectives;
	const struct epoch_span *spans; /* ascending rank: one for each process of it */
	uint32_t nspans;
	bool single; /* messages and needs are known; false beyond EPOCH_MESSAGES_MAX */
	const struct epoch_message *message;
	uint32_t nmessage;
	struct epoch_need total;	   /* rank 0, of all receivers together */
	const struct epoch_need *receiver; /* ascending rank */
	uint32_t nreceivers;
};

struct epochs;

/* A non-zero return of visit stops, and is returned. batch: how many events to gather at least before looking for
 * components, 0: what is usual. NULL without memory. */
struct epochs *epochs_create(uint32_t ranks, uint32_t batch, int (*visit)(void *context, const struct epoch *epoch),
			     void *context);
void epochs_destroy(struct epochs *x);
/* 0 or -errno with text; ranks must be below those of epochs_create(), ids those returned and not over. */
int epochs_send(struct epochs *x, uint32_t src, uint32_t dst, uint64_t bytes, int64_t ns, uint32_t *ret_message,
		struct error *e);
int epochs_receive(struct epochs *x, uint32_t message, int64_t ns, struct error *e);
/* The same where clocks let the receive come first: a message of which neither end came yet, and its send. */
int epochs_message(struct epochs *x, uint32_t src, uint32_t dst, uint64_t bytes, uint32_t *ret_message,
		   struct error *e);
int epochs_sent(struct epochs *x, uint32_t message, int64_t ns, struct error *e);
int epochs_collective(struct epochs *x, uint32_t members, uint32_t *ret_collective, struct error *e);
int epochs_enter(struct epochs *x, uint32_t collective, uint32_t rank, int64_t ns, struct error *e);
/* Nothing more comes: what never arrived is taken for complete. */
int epochs_finish(struct epochs *x, struct error *e);
