/* traffic.h - the messages and collectives of an .mpix as events of ranks, in their order and numbered from 0.
 *
 * An event is a send (where its call starts), a receive (where the call that completes it starts) or a part in a
 * collective (where it is entered). Of those that begin in one call, sends come first, then receives in the order in
 * which they were posted. Memory holds two windows, and messages that are in flight between windows. */
#pragma once

#include "format/mpix.h"

#define TRAFFIC_NOT_YET UINT64_MAX

struct traffic_message {
	uint32_t src, dst, comm;
	int32_t tag;
	uint64_t bytes;
	int64_t send_ns, recv_ns;	 /* start of the send, end of the receive */
	uint64_t send_event, recv_event; /* numbers of events of src and dst, or TRAFFIC_NOT_YET */
	uint32_t send_callsite, recv_callsite;
	uint32_t id; /* whoever is called may keep a number here */
	bool known;  /* and that it did */
};

struct traffic_visitor {
	void *context;
	/* The send, or the receive of a message; it is gone after the second of both. */
	int (*end)(void *context, struct traffic_message *m, bool sends, struct error *e);
	int (*part)(void *context, const struct mpix_collective_part *part, struct error *e);
};

/* A non-zero return of a visitor stops, and is returned; else 0, or -errno with text. */
int traffic_read(struct mpix_file *f, const char *path, const struct traffic_visitor *visitor, struct error *e);
