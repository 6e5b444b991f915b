/* sweep_parts.h - a rank in the sweep, and what it does in collective operations (sweep_collective.c). */
#pragma once

#include "postproc/stream/assembly.h"
#include "postproc/stream/delay.h"
#include "postproc/stream/path.h"
#include "postproc/stream/stream.h"
#include "postproc/stream/sweep.h"

struct swept {
	int64_t start_ns, end_ns;
	uint32_t site;
	bool polls;
};

struct actor {
	const struct lane *lane;
	VEC(struct swept) events;	 /* not swept yet, from `at` on */
	VEC(struct action) actions;	 /* at counts from the front of events */
	size_t at, action, first_action; /* event, its next action, its first */
	size_t names, named;		 /* actions of which memory was asked for: what they name, what that names */
	bool begun;			 /* its start is known */
	double now;	 /* ideal (or repaired) end of what is done, then start of the event, then what it waits for */
	double start;	 /* of the event */
	int64_t before;	 /* end of the event before, or TIME_ABSENT */
	uint64_t number; /* of the event in its lane */
	uint32_t *queue; /* head of the list of those that wait for the same, or NULL */
	uint32_t next_waiter;
	struct path_end path;
	int64_t began; /* the latest start of what the event waited for */
	struct snapshot causer;
	int64_t all_inside_ns; /* when all ranks were in the event, or INT64_MIN */
	uint32_t step;	       /* logical, of the event */
};

/* Of events that are over: what nobody has matched does not come in this window; then what is matched, and the members
 * of an operation, do not come either, since all wait for each other. */
enum giving_up { WAIT_FOR_ALL, GIVE_UP_UNMATCHED, GIVE_UP_ONE };

struct sweep {
	struct stream *st;
	bool repair;
	struct actor *actors; /* by lane */
	struct assemblies assemblies;
	VEC(uint32_t) ready;
	struct paths *paths;
	struct delays *delays;	   /* NULL where times are repaired */
	struct lateness *lateness; /* likewise */
	uint64_t missed, needs;
	enum giving_up giving_up;
	bool ending;
};

static inline double later(double a, double b)
{
	return a > b ? a : b;
}

/* All that wait there go on. */
void sweep_wake(struct sweep *w, uint32_t *waiters);
/* The operation of its number on its communicator. */
struct assembly *sweep_assembly(struct sweep *w, const struct action *x);
void sweep_enter(struct sweep *w, struct actor *a, const struct action *x, struct assembly *m, int64_t start_ns);
/* When may this member leave? False: not known yet. Scans are taken as all-to-all: an upper bound. */
bool sweep_leave(struct sweep *w, struct actor *a, const struct action *x, const struct assembly *m, bool give_up);
/* By one who has met it: it is there. */
void sweep_leave_behind(struct sweep *w, const struct action *x);
/* The event is not over before that moment of another's path. */
void sweep_waited_for(struct sweep *w, struct actor *a, double ideal, uint32_t step, int64_t start_ns,
		      const struct snapshot *path);
