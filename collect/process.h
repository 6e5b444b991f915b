/* process.h - one traced process as the agent sees it: its segment file, mapped region by region. */
#pragma once

#include "base/error.h"
#include "collect/backoff.h"
#include "collect/counters.h"
#include "collect/output.h"
#include "collect/usage.h"
#include "format/segment.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What the agent knows of one thread. */
struct drained_thread {
	struct thread_area *area;
	uint8_t *ring;
	size_t ring_bytes;
	uint64_t defs_seq, profile_seq;
	uint64_t events;	/* written as blocks */
	uint64_t calls;		/* sum of the totals, set with the last profile */
	uint64_t spilled_seq;	/* one above the last segment that came from the spill file */
	uint64_t drained_slots; /* bits: of the ring, in the output but not yet given back */
	/* As of the last sample: totals by signature, when the call began that it was in (0: in none), the kernel's
	 * counters. */
	struct segment_total *sampled;
	size_t nsampled;
	bool sampled_started; /* what the open call may wait for is in a sample */
	uint64_t sampled_enter;
	struct mpic_system system, before; /* before: of threads that had its area, and have ended */
	struct usage usage;
	struct counters counters;
};

struct process {
	char *path; /* of the .mpit file */
	int fd;	    /* of it, until all of it is mapped for good: its name may be removed */
	uint32_t index;
	struct segfile *file;
	struct mapped_region {
		void *at;
		struct region row;   /* as it was when mapped: the file's own may change under us */
		uint32_t done_bytes; /* DEFS: recorded so far */
	} * maps;
	uint32_t nmaps;
	struct drained_thread *threads;
	uint32_t nthreads;
	int spill_fd;
	uint64_t spill_done, spill_given_back; /* segments */
	uint64_t sampled_others; /* threads that have not called MPI, as the last sample has them, and 1; 0: none has */
	uint64_t meta_seq;
	struct backoff snapshots;
	uint32_t description_crc;	       /* of what was written of it that hardly changes; 0: nothing */
	bool described;			       /* written since it has a rank */
	bool last_described;		       /* written since it is gone */
	const struct predecessor *predecessor; /* what an agent that died wrote of it, or NULL */
	bool seen_by_other;		       /* seen_tick is that agent's */
	uint64_t packed_event_bytes;
	uint32_t ring_fill_percent; /* of the fullest ring, when last drained */
	uint64_t seen_tick;	    /* when it was last seen alive; 0: never */
	uint64_t gone_tick; /* when it was found to be over, by who had seen it alive; 0: not yet, or not known */
	bool gone;	    /* died or finalised: everything in it is final */
	bool lost;	    /* gone without MPI_Finalize */
	bool refused;	    /* the system refused something: there is more in its files than was drained */
	bool closed;
};

/* A regular file of our own that has no other name, for reading and writing. -EBADMSG: what is there is none, and never
 * becomes one; or -errno. */
int process_open_own(const char *path);
/* Map the head of the file; -EAGAIN while its process still writes it, -EBADMSG when it is none. */
int process_open(struct process *ret_p, const char *path, uint32_t index, struct error *e);
void process_close(struct process *p);
/* It is over, and nothing more of it is to be mapped. */
void process_seal(struct process *p);
/* Map what was added since. */
void process_refresh(struct process *p);
/* When a process of this system began, as its kernel counts; 0: there is none, or it cannot be seen. */
uint64_t process_begun(pid_t pid);
/* A number that differs when it executes another program, or another process has its number; 0: there is none. */
uint64_t process_image(pid_t pid);
/* It was forked and has executed no program since (PF_FORKNOEXEC in proc(5)'s flags): what it has in
 * memory is its parent's. */
bool process_is_copy(pid_t pid);
/* The one that had begun then: is it over, also where nobody has waited for it yet, or another has its pid? */
bool process_has_gone(pid_t pid, uint64_t begun);
/* Finalised, or its pid is gone? */
bool process_is_over(const struct process *p);
/* Move everything final into blocks; with `all` the open segments too. Returns how many segments were drained. */
int process_drain(struct process *p, struct output *o, bool all);
/* What was drained is in the file: the program may have its segments back. */
void process_give_back(struct process *p);
/* A block of events of this process did not reach the output. */
void process_lost(struct process *p, const struct queued_events *what);
/* Definitions that are new since the last time. */
void process_defs(struct process *p, struct output *o);
/* The totals of all threads as profile blocks. 0 or -errno. */
int process_profile(struct process *p, struct output *o);
