/* replay.h - what the samples of one node say: totals, what is open, what the kernel counted, as of the last two, and
 * what came since somebody took it. The one place that adds samples up: for live, the report, and SAMPLES of .mpix. */
#pragma once

#include "format/mpic_sample.h"
#include "base/budget.h"
#include "postproc/read/step.h"

struct live_total {
	uint64_t calls, ticks;	       /* since the start */
	uint64_t before, before_ticks; /* the same, as of the sample before the last */
	uint64_t taken, taken_ticks;   /* by replay_take() */
	bool came, untaken;	       /* is in the list of that name */
};

struct live_thread {
	VEC(struct live_total) totals;	      /* by signature id of the file */
	VEC(uint32_t) came, untaken;	      /* ids: with the last sample; since they were taken */
	size_t ntaken;			      /* of the latter, from the front */
	bool open, known_before, open_before; /* in a call; there was a sample before; in a call then */
	uint32_t still;			      /* samples behind the first one that saw it in this call */
	uint64_t age_ticks, age_before; /* of that call, now; of the one open at the sample before, then; 0: none */
	uint32_t sig, nwords;
	uint64_t words[MPIC_SAMPLE_WORDS_MAX];
	uint64_t next_serial; /* of requests */
	uint32_t nstarted;    /* the last ones, the newest first: by which signature of the file */
	uint32_t started[MPIC_SAMPLE_STARTED_MAX];
	int64_t active_ns; /* realtime of the last sample in or before which it was inside of MPI */
	bool has_system;
	bool held_up;		   /* as of the last sample that had system: what came it may not have taken yet */
	uint64_t served_tick;	   /* when the last interval began in which it was not held up; 0: none did */
	struct mpic_system system; /* of the last interval */
	uint64_t all_cpu_ns, all_wait_ns; /* since the first sample */
	uint64_t cpu_ns, wait_ns;	  /* since somebody set them to 0 */
	struct mpic_counters counters;	  /* the last that came; user_ns 0: none did */
	uint64_t given_age;		  /* ticks of the call that was open then */
};

struct live_process {
	bool seen;    /* in the last sample */
	uint64_t ran; /* number, from 1, of the last sample that saw it run, or of the first one that saw it; 0: none */
	int64_t first_ns; /* realtime of the first sample that saw it; 0: none did */
	enum mpic_sample_state state;
	uint64_t resident_bytes;
	int64_t other_threads; /* see mpic_sample.h; -1: not known */
	VEC(struct live_thread) threads;
};

struct live_node {
	uint64_t samples; /* that were read */
	bool whole;	  /* the last */
	uint64_t seq;
	int64_t realtime_ns, interval_ns; /* of the last; between the last two, 0: there is one only */
	int64_t gap_ns;			  /* to the next one */
	uint64_t tick, interval_ticks;
	double ns_per_tick;				/* 0: not known yet */
	uint64_t memory_used_bytes, memory_limit_bytes; /* of the job; limit 0: none, or not known */
	uint32_t bad;					/* samples that could not be read */
	struct budget kept;
	VEC(struct live_process) processes; /* by index in the file */
};

/* All samples of n, in order. 0 or -ENOMEM. */
int replay_node(const struct node *n, struct live_node *ret_live);
/* Add one more, b. 0, -ENOMEM, or -EBADMSG: live->bad counts it. */
int replay_add(struct live_node *live, const struct node *n, const struct mpic_block *b);
void replay_done(struct live_node *live);

/* What a thread did by one signature since it was taken last. */
struct live_came {
	uint32_t sig; /* id of the file */
	uint64_t calls, ticks;
	uint64_t ticks_before; /* all that were taken before */
};

/* The next; false: nothing is left. */
bool replay_take(struct live_thread *t, struct live_came *ret);
/* Its message may lie there since long: it takes it when it has a processor again. */
bool replay_holds_up(const struct live_thread *t, const struct live_node *n);

/* ---- open.c ---- */

/* The thread is in that call since then: into p->open, unless it is nothing that is understood. 0 or -ENOMEM. */
int open_sampled(struct process *p, uint32_t thread, const struct live_node *n, const struct live_thread *t);
/* What the last samples know of that call of p. 0 or -ENOMEM. */
int open_note_sample(struct process *p, struct open_sig *o, const struct live_node *n, const struct live_thread *t);
