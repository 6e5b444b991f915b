/* lane.h - one thread of one rank: decodes its blocks, an event at a time, a window at a time (lane.c). */
#pragma once

#include "postproc/clock/clock.h"
#include "postproc/read/step.h"
#include "postproc/stream/moment.h"
#include "postproc/stream/requests.h"
#include "postproc/stream/sweep.h"

/* An event that is moved, in ns. */
struct shift {
	uint64_t number; /* of its lane */
	int64_t start_ns, end_ns;
};

/* More of a long call, recorded as an event of its own. */
struct lane_more {
	uint32_t before; /* which event of the window */
	uint32_t sig;
	int64_t start_ns, end_ns;
};

/* One thread of one rank. */
struct lane {
	struct process *process;
	uint32_t rank, thread, number;
	const struct clock_rule *rule;
	const struct mpic_file *file;
	const struct mpic_block *block, *last_block;
	uint64_t seq;
	struct mpic_events events;
	struct buf payload;
	struct mpic_event next; /* if more */
	int64_t next_start_ns, next_end_ns;
	uint32_t next_sig;
	bool begun, more;
	size_t knot;
	struct clock_knot at_knot;
	uint64_t knot_from, knot_ticks; /* where that counts; none yet: 0 ticks */
	unsigned time_window;		/* of the last event */
	size_t literal;			/* of thread.literals */
	struct seen {
		uint64_t calls, ticks, parts;
	} * seen;			/* by signature */
	uint64_t calls, read, left_out; /* as in struct thread */
	uint32_t bad_blocks;
	bool gap;
	struct requests_of requests;
	struct moment head; /* the last event that began a call */
	uint32_t head_sig;
	struct wait *held; /* of that event, of which more comes, or NULL */
	/* The last event before the window; window NONE: there is none. */
	struct lane_open {
		uint32_t window, at, sig;
		uint64_t enter, leave, calls;
		int64_t start_ns, end_ns;
	} open;
	/* the window */
	uint32_t window;
	uint32_t n, cap;
	uint32_t from; /* the first of the slice */
	size_t extras_from;
	uint32_t at; /* the next to walk, of several lanes */
	size_t more_at;
	uint64_t *enter, *leave; /* ticks */
	int64_t *start_ns, *end_ns;
	uint32_t *sig;
	uint64_t begin_tick; /* end of the event before */
	VEC(struct lane_extra {
		uint32_t at;
		uint64_t calls;
		uint64_t inside_ticks;
	})
	extras; /* calls that stand for many */
	VEC(struct lane_bytes {
		uint32_t at;
		uint64_t bytes;
	})
	moved;				 /* by MPI_Start and such */
	VEC(struct lane_more) more_of;	 /* of events that go on, in order; not counted among them */
	VEC(struct mpix_number) numbers; /* of collectives, see format/mpix.h */
	VEC(struct action) actions;	 /* ascending at */
	VEC(struct poll *) polls;	 /* of which the end has not come */
	/* repaired times */
	VEC(struct shift) shifts; /* ascending number */
	size_t shift;
	uint64_t ordinal; /* of the next event */
};

/* lane.c: decode the events that start before end_ns; p's totals grow. 0 or -ENOMEM. */
int lane_begin(struct lane *l);
int lane_window(struct lane *l, uint32_t window, int64_t end_ns);
/* Memory of what it will decode next. */
void lane_ask(const struct lane *l);
/* Nothing of the window any more; its last event is l->open. */
void lane_clear(struct lane *l);
void lane_end(struct lane *l, bool file_is_whole); /* tells the process what was seen */
void lane_done(struct lane *l);
int64_t lane_ns(struct lane *l, uint64_t tick);
