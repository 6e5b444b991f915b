/* requests.h - the requests of one rank, by thread and serial number (see format/sig.h). */
#pragma once

#include "postproc/step.h"

struct request {
	uint32_t send, recv, coll; /* the operation it stands for now, index into struct ops, or NONE */
	uint32_t sig;		   /* that started (or initialised) it */
	uint32_t channel, starts;  /* persistent collectives */
	bool persistent, active, cancelling;
};

struct requests {
	VEC(struct { VEC(struct request) list; }) threads;
};

/* The next serial number's request of a thread, fresh; NULL when out of memory. */
struct request *requests_start(struct requests *r, uint32_t thread);
/* Call visit(context, i, request) for the i-th request that the runs of call name; requests never
 * started come as NULL. thread is the calling thread. */
int requests_visit(struct requests *r, uint32_t thread, const struct sig_call *call,
		   int (*visit)(void *context, uint32_t i, struct request *request), void *context);
void requests_done(struct requests *r);
