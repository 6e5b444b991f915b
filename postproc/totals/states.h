/* states.h - what the ranks of a step are in, by its open calls and its exact totals: what a step that runs
 * (live/waits.c) and the end of a trace (stream/deadlock.c) have in common. */
#pragma once

#include "postproc/read/step.h"
#include "postproc/replay/moves.h"
#include "postproc/state/state.h"

enum request_needs { REQUEST_UNKNOWN, REQUEST_NOBODY, REQUEST_WANTS };

/* How threads are known, and what their requests wait for. */
struct states_from {
	enum state_how how;
	void *context;
	/* The serial number that the thread's next request has. */
	uint64_t (*next_serial)(void *context, uint32_t rank, uint32_t thread);
	/* alone: the call waits for this one only. */
	enum request_needs (*request)(void *context, uint32_t rank, uint32_t thread, uint64_t serial, bool alone,
				      struct want *ret_want);
	bool exact; /* it is known which requests are complete: else one of those named is not */
};

struct states_locks; /* states_rma.c */

struct states_of {
	const struct step *step;
	const struct states_from *from;
	struct states out;
	VEC(uint32_t) use_of;	    /* by comm, then by window: its place in uses and 1, of the rank counted last */
	struct states_locks *locks; /* who claims which, when somebody waits for one; NULL: not looked at yet */
};

/* No threads yet. 0 or -ENOMEM; states_of_done() in any case. */
int states_of_step(const struct step *s, const struct states_from *from, struct states_of *ret_x);
void states_of_done(struct states_of *x);
/* What the rank has begun together with others, by its totals. 0 or -ENOMEM; 1: they do not say all. */
int states_count(struct states_of *x, uint32_t rank);
/* The same, of collectives, where the number of all is known. */
int states_set(struct states_of *x, uint32_t rank, uint32_t comm, uint64_t n);
/* A thread of which nothing more is known than that. 0 or -ENOMEM. */
int states_thread(struct states_of *x, uint32_t rank, uint32_t thread, enum state_kind kind);
/* A thread in a call: what it waits for, if that is known. 0 or -ENOMEM. */
int states_call(struct states_of *x, uint32_t rank, const struct open_sig *open, double since_s);
/* The message that a receive waits for, or the receiver of a send. False: that is not known, or nobody's. */
bool states_message(const struct step *s, const struct sig *sig, struct want *ret_want);
bool states_receiver(const struct step *s, const struct sig *sig, struct want *ret_want);
/* A rank by what samples know of its open calls: each of its threads that `is_there` says there is (NULL: all). 0 or
 * -ENOMEM. */
int states_standing(struct states_of *x, uint32_t rank, uint32_t nthreads,
		    bool (*is_there)(void *context, uint32_t rank, uint32_t thread), void *context);
/* One that is in MPI_Finalize or behind it; surely: all that it sent has come. 0 or -ENOMEM. */
int states_ended(struct states_of *x, uint32_t rank, bool surely);
/* Of ranks that are in calls: who may have threads that have not called MPI yet. 0 or -ENOMEM. */
int states_note_more(struct states_of *x);
/* With their requests, as far as the tracer keeps of them what was started last. */
struct states_from states_sampled(enum state_how how, struct step *s);
/* Waitany or Waitsome, of which no requests are recorded. */
bool states_waits_for_any(const struct step *s, const struct sig *sig);
/* Of its calls it is not known on which communicator or window they were. */
bool states_is_hidden(const struct step *s, const struct sig *sig);
