/* format.h - what a format is, and what it is given. A format's functions are called in this order, one at a time:
 * begin; message for every message; event for every event, with what messages and wait states have to do with it; end.
 * message and event run in a thread of their own (writing.h): of x they change state, out and counts.left_out only.
 * All of them return 0 or a negative errno with text in x->e; those that a format has no use for are NULL. */
#pragma once

#include "base/atomic_file.h"
#include "reports/export/definitions.h"
#include "reports/export/export.h"
#include "reports/export/opens.h"
#include "reports/export/out.h"

#include <errno.h>

/* What a note says of its event. */
enum export_role {
	EXPORT_SENDS, /* a send that the same call completes */
	EXPORT_SEND_STARTS,
	EXPORT_SEND_ENDS, /* completes one that was started before */
	EXPORT_RECEIVES,  /* the same of receives */
	EXPORT_RECEIVE_STARTS,
	EXPORT_RECEIVE_ENDS,
	EXPORT_BEGINS,	  /* a nonblocking operation other than a message, which another call completes */
	EXPORT_COMPLETES, /* the same number at that call */
	EXPORT_WAITS,	  /* a wait state */
	EXPORT_CAME,	  /* bytes of a wait state that is none: added to the event's, not given to formats */
	EXPORT_ROLES
};

#define EXPORT_ROLE(role) (1u << (role))
#define EXPORT_SENDERS (EXPORT_ROLE(EXPORT_SENDS) | EXPORT_ROLE(EXPORT_SEND_STARTS))
#define EXPORT_RECEIVERS (EXPORT_ROLE(EXPORT_RECEIVES) | EXPORT_ROLE(EXPORT_RECEIVE_ENDS))
#define EXPORT_OPERATIONS (EXPORT_ROLE(EXPORT_BEGINS) | EXPORT_ROLE(EXPORT_COMPLETES))
#define EXPORT_ENDS \
	(EXPORT_SENDERS | EXPORT_RECEIVERS | EXPORT_ROLE(EXPORT_SEND_ENDS) | EXPORT_ROLE(EXPORT_RECEIVE_STARTS))

/* One side of a message, or a wait state, as its event has it. */
struct export_note {
	uint32_t lane, index; /* of the event in its window */
	uint64_t message;     /* number of the message, or of the operation, from 1; of a wait state nanoseconds */
	uint64_t bytes;
	int64_t other_start_ns, other_end_ns; /* of a sender's note: begin and end of the receive, and the reverse */
	uint32_t other_lane;		      /* the partner's, or the causer's; EXPORT_NOBODY: not known */
	int32_t tag;
	uint32_t comm;
	uint8_t role, state; /* enum wait_state + 1 */
};
#define EXPORT_NOBODY 0xffffffffu

struct export_event {
	const struct mpix_event *call; /* of the file, or opens_has() it: then there are no notes on it */
	uint64_t number;	       /* in the trace, from 1, whatever is chosen; of events group by group only */
	uint32_t rank, lane;
	const struct export_note *notes; /* of the roles that the format asked for */
	uint32_t nnotes;
};

struct exporting;

struct export_format {
	const char *name;
	bool directory;	    /* writes files in a directory of its own */
	bool in_time_order; /* events come in order of start; else rank group by rank group, window by window, lane by
			     * lane: of each lane in order */
	bool bare;	    /* without events */
	unsigned roles;	    /* bits EXPORT_ROLE(): notes that it wants */
	bool tables;	    /* knows choice.tables: events only then */
	int (*begin)(struct exporting *x);
	int (*event)(struct exporting *x, const struct export_event *ev);
	int (*message)(struct exporting *x, const struct mpix_link *link,
		       uint64_t number); /* from 1. NULL: notes suffice */
	int (*end)(struct exporting *x);
	void (*done)(struct exporting *x); /* frees x->state, also after a failure */
};

struct exporting {
	struct mpix_file *f;
	const struct mpix_info *info; /* the file's, with all names of functions */
	const char *source;	      /* path of f */
	struct definitions defs;
	struct opens opens;
	int64_t first_ns; /* no event begins before */
	const struct export_choice *choice;
	struct export_counts counts;
	uint64_t expected;     /* events, about */
	const char *temporary; /* the file's name for the time being; NULL: a device, or a directory */
	char *directory;       /* a format's own, under a temporary name */
	struct out out;	       /* of formats that write one file */
	void *state;	       /* the format's own */
	struct error *e;
};

/* Is anything of the rank asked for? */
bool export_has_rank(const struct exporting *x, uint32_t rank);
/* Is it to be given up? What takes long in a format's end asks it. */
static inline bool export_stopped(const struct exporting *x)
{
	return x->choice->stop != NULL && *x->choice->stop != 0;
}
/* A file of the directory. */
int export_open(struct exporting *x, struct out *ret_out, const char *name);
/* Name of a wait state by its number in .mpix. */
const char *export_state_name(uint8_t state);
const char *export_class_name(uint8_t class);
