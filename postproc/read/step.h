/* step.h - one job step in memory: what all its .mpic files said but the events, decoded and joined.
 * Built by step_load() (load.c, process.c, thread.c, join.c); read by every analysis of this folder. Events pass in
 * stream/, and are never all there.
 *
 * Memory: about 350 bytes a different signature. Totals (sig.calls, sig.ticks) are exact whatever happened to single
 * events. */
#pragma once

#include "base/budget.h"
#include "base/error.h"
#include "format/mpic.h"
#include "format/mpix.h"
#include "format/sig.h"
#include "format/uncounted.h"
#include "base/index.h"
#include "base/vec.h"
#include "postproc/read/outcome.h"
#include "postproc/read/verdict.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define NONE 0xffffffffu
#define TIME_ABSENT INT64_MIN

/* What a call was, with every process-local name replaced by the step's. */
struct sig {
	/* What the stream asks of each event stands together, up to the first members of call. */
	uint8_t class; /* enum mpix_class */
	bool defined;
	bool literal; /* events carry it */
	bool crowded; /* of events that carry different ones, for which there was no room: operation and caller only */
	bool open;    /* of a call that never returned */
	uint32_t thread;
	uint32_t op;			 /* index into step.ops */
	uint32_t comm;			 /* index into step.comms, or NONE */
	uint32_t site;			 /* index into step.sites, or NONE */
	int32_t peer, recv_peer;	 /* world ranks, or SIG_PROC_NULL, SIG_ANY, SIG_NO_ROOT, SIG_ROOT */
	uint32_t type, recv_type;	 /* kind of the datatype of a message sent, and of one received, see types.h */
	uint64_t bytes, recv_bytes;	 /* of both (or room for it) */
	struct sig_call call;		 /* list, runs and frames point into process.payloads */
	uint32_t stack;			 /* index into step.stacks, or NONE */
	uint32_t object;		 /* index into step.windows or step.files, or NONE */
	uint64_t agreed;		 /* COLL: what must be equal on all members, see agreed.h */
	uint64_t calls, ticks;		 /* exact totals */
	uint64_t call_bytes;		 /* of one call, as far as its own record says; see bytes.h */
	uint64_t moved_bytes;		 /* of all of them, as every table counts them */
	uint64_t parts;			 /* events that only continue the one before (call.continues) */
	uint64_t starts;		 /* of a persistent request: how often it was started */
	uint64_t started_bytes;		 /* of MPI_Start and such: what the requests started moved */
	uint64_t came_bytes, came_calls; /* collectives: what only partners record, and of how many calls */
};

struct module_at {
	uint64_t begin, end, bias;
	uint32_t module; /* index into step.modules */
};

/* One communicator as one of its groups sees it. Both sides of an inter-communicator share `same`.
 */
struct comm {
	uint64_t global_id;
	uint64_t group_hash, remote_hash;
	int32_t *group, *remote; /* world ranks in order of communicator ranks */
	uint32_t size, remote_size;
	uint32_t here; /* members of both groups that are of the analysed world */
	bool inter;
	uint32_t parent;     /* index, or NONE */
	uint32_t created_by; /* op, or NONE */
	uint32_t same;	     /* index of the first view of the same communicator */
	char *name;	     /* or NULL */
};

/* A window, or one opening of a file. */
struct object {
	uint64_t global_id;
	uint32_t comm;	     /* index of the view of its first member */
	uint32_t created_by; /* op */
	uint32_t mode;	     /* FILE: bits of enum mpic_file_mode */
	uint64_t bytes;	     /* WINDOW: exposed by all members seen */
	char *name;	     /* or NULL */
};

/* How one thread of a process was recorded. */
struct thread {
	uint64_t events, calls, lost;
	const char *why_lost;	     /* words for people, or NULL */
	bool totals_wanted;	     /* single events are not there because nobody wanted them */
	int64_t lost_from_ns;	     /* as event times; TIME_ABSENT: nothing was lost */
	uint64_t apart;		     /* events recorded after such: whom they were with is not known */
	bool gap;		     /* a block in the middle is missing: events after it were dropped */
	uint64_t left_out;	     /* events after the gap */
	uint64_t written;	     /* events in the file, as its writer says; 0 = it does not say */
	uint64_t read;		     /* of them, those that could be decoded */
	uint64_t behind;	     /* calls that only the totals have */
	uint64_t not_written;	     /* of them, those of which nobody told that they are lost, or damaged */
	bool not_taken;		     /* there are such, and the file is whole: its writer did not take them */
	uint64_t defs_missing;	     /* definitions that the tracer had no room for */
	uint64_t slow_calls;	     /* recorded on a slow path: a new signature, datatype or communicator */
	uint64_t slow_ticks;	     /* spent there, after the calls */
	uint64_t recording_calls;    /* of the others, those of which the recording was timed: a sample */
	uint64_t recording_ticks;    /* spent on that, after the calls */
	double call_tracing_ns;	     /* what of the tracer each call has cost, but for slow paths */
	uint64_t unused_ticks;	     /* between threads that had the same number, one after the other */
	double running_ns, ready_ns; /* of all that had it: on a processor, and ready without one; NaN: not known */
	uint32_t last_sig;	     /* of its last event, an index in process.sigs plus 1; 0: it has none */
	VEC(uint32_t) sig_of;	     /* signature id of the file -> index in process.sigs plus 1 */
	VEC(uint32_t) literals;	   /* indices in process.sigs of the events that carry their own signature, in order */
	uint32_t undefined;	   /* the same of all events of which the definition is missing */
	bool progress;		   /* polls for others: see stream/threads.h */
	int64_t first_ns, last_ns; /* of its events, where several threads have some; TIME_ABSENT: none */
	int64_t wait_ns;	   /* in wait states, where several threads have events */
	const struct mpic_block *blocks; /* of the thread in its file */
	size_t nblocks;
};

/* Whom a process hears from and sends to in the neighbourhood collectives of one communicator. */
struct neighbors {
	uint32_t comm;	     /* index into step.comms */
	struct span in, out; /* i32 each: ranks of it, negative for none */
};

/* Time in which at least one thread of a process was inside MPI: grows with the events, which come in order. */
struct mpi_union {
	int64_t until_ns, ns;		    /* the end so far, and how much */
	int64_t traced_until_ns, traced_ns; /* the same, each call with what recording it cost */
	int64_t open_ns;		    /* only before this: then one is in a call that it never comes back from */
};

/* Where a rank waited for others in a barrier, the last time. */
struct last_barrier {
	int64_t start_ns, end_ns, ns; /* of the call; of it waiting */
	uint32_t site, causer;
};

/* A call that never returned, or has not yet: which thread, an index of sigs, and since when (TIME_ABSENT: not known).
 * Samples say of it whether it stood then, and what the thread's requests are. */
struct open_sig {
	uint32_t thread, sig;
	int64_t enter_ns;
	bool sampled;			  /* only the last sample tells of it: it may have returned since */
	bool stands;			  /* the last two samples saw it: whatever was under way had come */
	bool held_up;			  /* but the thread had no processor to take it */
	double served_s;		  /* from when it was so old on it had a processor once more; NAN: not known */
	double since_s;			  /* as of the last sample; NAN: not known */
	uint64_t next_serial;		  /* of the thread's requests */
	uint32_t first_started, nstarted; /* in process.started: by which signature of the file, the newest first */
	bool waits;			  /* for somebody who can never go on either: so the wait-for graph says */
	uint32_t needs;			  /* for that rank; NONE: any of several, or nobody knows */
};

/* What a datatype of one process is made of. */
struct datatype {
	uint64_t bytes;
	struct typesig sig;
	uint32_t kind; /* see types.h */
	struct span name;
};

struct known_type {
	struct typesig sig;
	uint32_t kind;
};

/* How it is known when a process ended: nothing tells, it said so itself, its launcher was told, or the agent saw it
 * alive until then. */
enum end_known { END_UNKNOWN, END_SAID, END_TOLD, END_SEEN };

struct process {
	uint32_t node, index; /* index in the node's file */
	uint32_t rank, world_size;
	bool launched; /* its rank is what its launcher says: MPI has said none, or nobody has read it */
	bool lost, finalized, aborted;
	int64_t start_ns, end_ns, init_exit_ns, finalize_enter_ns; /* as event times; see meta.c */
	double ns_per_tick;
	double overhead_ns;		  /* estimated, per call; NaN: not known */
	double recording_ticks;		  /* of it, the part that threads have timed later; NaN: not known */
	double inside_ticks;		  /* of it, the part that calls have in their own time; NaN: not known */
	double processor_wait_ns;	  /* ready without a processor, of the thread of MPI_Init; NaN: not known */
	double running_ns, ready_ns;	  /* of all threads that call MPI, where they are several: on a processor, and
					   * ready without one; NaN: not known */
	int64_t first_ns, last_ns;	  /* of its events; TIME_ABSENT: it has none */
	uint64_t *calls_in;		  /* calls of thread 0 by time window */
	struct last_barrier last_barrier; /* start_ns INT64_MIN: none */
	struct mpi_union in_mpi;	  /* where several threads have events */
	bool have_exit;
	bool gave_up;	     /* it exited in a call that it could never have come back from (stream/deadlock.c) */
	int exit_status;     /* wait status as of waitpid() */
	uint32_t exit_order; /* in which it was told of processes */
	int64_t exit_tick;   /* when it was told; 0: not known */
	enum end_known end_known;
	int64_t hung_ns;       /* at its end, in which no rank of the step advanced: see ends.h */
	int thread_level;      /* as its MPI library says; 0 also: not known */
	int64_t other_threads; /* that had not called MPI and are not the library's, when it last stood in a call; -1:
				* not known */
	int64_t pid;
	char *library, *cpus;
	int cpu;
	cJSON *meta;
	VEC(struct thread) threads;
	VEC(struct sig) sigs;
	VEC(struct open_sig) open; /* the calls in which it died, or is */
	VEC(uint32_t) started;	   /* of all of them */
	VEC(struct buf) payloads;  /* definition blocks; names and signatures point into them */
	VEC(struct mpic_def) defs; /* all but signatures, in file order */
	VEC(uint32_t) ops;	   /* local id -> index into step.ops plus 1; 0: not defined */
	VEC(uint32_t) comms;	   /* local id -> index into step.comms plus 1 */
	VEC(uint32_t) windows;	   /* local id -> index into step.windows plus 1 */
	VEC(uint32_t) files;	   /* local id -> index into step.files plus 1 */
	VEC(struct neighbors) neighbors;
	VEC(struct datatype) types; /* by local id */
	VEC(struct module_at) modules;
	uint32_t bad_blocks;		    /* that did not inflate or decode */
	uint32_t bad_totals;		    /* that are impossible, and left out */
	uint64_t uncounted[UNCOUNTED_ROWS]; /* as its tracer says, of all threads */
	uint64_t own_sigs;		    /* that stand in events, of all threads */
	uint64_t unknown_sigs;		    /* of which only operation and time are understood */
	uint64_t unknown_defs;		    /* definitions of a type not known here, left out */
};

struct node {
	char *name;
	uint32_t id; /* number within the step */
	cJSON *meta;
	struct mpic_file file;
	VEC(struct mpic_clock) clock;
	double hz;	/* of its ticks; 0: not told */
	bool monotonic; /* ticks are nanoseconds */
};

/* Whether the rate of its ticks is told, or readings of its clock are far enough apart to tell it. */
bool node_rate_is_known(const struct node *n);

/* Where in the program a call was made. */
struct site {
	uint32_t op;
	uint32_t module;       /* index into step.modules, or NONE */
	uint64_t offset;       /* address in the module's file */
	char *file, *function; /* after lines_resolve(), or NULL */
	int line;
};

/* Who called at a site: indices into step.frames, from the caller of its function outwards. */
struct stack {
	uint32_t first, n; /* of step.stack_frames */
};

struct module {
	char *path;
	char build_id[2 * 64 + 1]; /* hexadecimal */
};

/* The call that a thread died in, or is in; NULL: none. */
static inline const struct open_sig *step_open(const struct process *p, uint32_t thread)
{
	for (size_t i = 0; p != NULL && i < p->open.n; i++)
		if (p->open.at[i].thread == thread)
			return &p->open.at[i];
	return NULL;
}

/* One MPI_COMM_WORLD of the step. */
struct world {
	uint32_t size, seen;
	uint32_t parents;			      /* how many spawned it; 0: nobody did */
	struct process *first;			      /* of those seen, the one with the lowest rank */
	const char *job_namespace, *parent_namespace; /* of META, or NULL */
	bool analysed;
};

/* How long it was ready to run without a processor: all its threads that call MPI, where that is known of several. */
static inline double process_ready_ns(const struct process *p)
{
	return isnan(p->running_ns) ? p->processor_wait_ns : p->ready_ns;
}

struct peers;

struct step {
	struct peers *peers; /* the processes that analyse it, base/peers.h; NULL: this one alone */
	VEC(struct node) nodes;
	VEC(struct process *) processes; /* all that were read */
	struct process **ranks;		 /* by world rank; NULL: not seen */
	uint32_t nranks;		 /* expected: size of MPI_COMM_WORLD */
	uint32_t nnodes;		 /* expected */
	VEC(struct world) worlds;
	uint32_t other_worlds; /* processes that belong to another MPI_COMM_WORLD */
	VEC(char *) ops;       /* names */
	VEC(struct comm) comms;
	VEC(struct object) windows, files;
	VEC(struct known_type) types; /* sequences of basic types, all different */
	VEC(struct site) sites;
	VEC(struct site) frames; /* of stacks; op is NONE */
	VEC(struct stack) stacks;
	VEC(uint32_t) stack_frames;
	uint64_t stacks_left_out; /* signatures whose callers were too many */
	VEC(struct module) modules;
	struct index op_index, comm_index, object_index, site_index, frame_index, stack_index, module_index, type_index;
	struct budget kept; /* of all files, while they are read */
	bool totals;	    /* events and samples were passed over: what follows from them alone is not known */
	uint64_t damaged_bytes;
	uint32_t unfinished_files, bad_blocks, bad_totals;
	uint32_t files_left_out;      /* whose node has another, or that cannot be read */
	VEC(char *) reasons;	      /* why the record is not complete, for people */
	int64_t start_ns, runtime_ns; /* of the traced region */
	/* When a rank advanced for the last time: runtime_ns, or the run stood still from then on (ends.h). */
	int64_t advanced_ns;
	double realtime_start_s; /* seconds since 1970 */
	struct outcome outcome;
	struct live_verdict verdict; /* of `mpitrace live`, while it ran */
};

/* Of several processes that analyse it one has the sums, and writes. */
bool step_is_written_here(const struct step *s);

/* Whether it is a rank of the MPI_COMM_WORLD that is analysed. */
static inline bool step_has_rank(const struct step *s, const struct process *p)
{
	return p->rank < s->nranks && s->ranks[p->rank] == p;
}

/* Read all files (and the .mpic files of directories) of one step. 0, or -errno with text:
 * -ENOENT no .mpic at all, -EBADMSG damaged or foreign, -EINVAL files that do not belong together (of two of one node
 * in a directory one is left out, with a reason).
 * The caller owns *ret_step until step_done(). */
int step_load(char *const *paths, size_t npaths, unsigned nthreads, struct step *ret_step, struct error *e);
/* How to read: all zero is as step_load() with one thread. */
struct step_how {
	unsigned nthreads;
	/* Called when all files are read and nothing is joined yet: signatures may get other totals, processes other
	 * open calls. NULL: those in which they died, by what samples know of them. 0 or -errno. */
	int (*loaded)(void *context, struct step *s);
	void *context;
	struct step *before; /* an earlier reading: of a file that has only grown no block is looked at twice. Its files
			       * are taken from it, so it is only good for step_done() */
	bool pass_over_files; /* one that cannot be read is left out, with a reason; the step may have none */
	bool totals;	      /* pass over events and samples: as long as they may be, it takes no longer */
};
int step_load_with(char *const *paths, size_t npaths, const struct step_how *how, struct step *ret_step,
		   struct error *e);
void step_done(struct step *s);

/* Note why the record is not complete (printf style). */
void step_reason(struct step *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Number of the operation of that name, added if new; NONE when out of memory. */
uint32_t step_op(struct step *s, const char *name);
#define TIME_MAX_NS 10000000000000000 /* 115 days: later or earlier is damage */

/* The name of its MPI function; unknown where that is not known. */
static inline const char *sig_op_or(const struct step *s, const struct sig *sig, const char *unknown)
{
	return sig->op == NONE ? unknown : s->ops.at[sig->op];
}

/* The same for a sentence. */
static inline const char *sig_op(const struct step *s, const struct sig *sig)
{
	return sig_op_or(s, sig, "an MPI call");
}

/* Assertions as Open MPI and MPICH number them: their bits do not overlap. */
static inline bool rma_asserts_nocheck(const struct sig *sig)
{
	return (sig->call.assertion & (1u | 1024u)) != 0;
}

static inline bool rma_asserts_noprecede(const struct sig *sig)
{
	return (sig->call.assertion & (2u | 8192u)) != 0;
}

/* Sums of hostile times must not overflow. */
static inline void add_ns(int64_t *sum, int64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = INT64_MAX;
}

/* How many events of p (may be NULL) are in the record; parts of one call count once. */
uint64_t step_events(const struct process *p);
/* By row of UNCOUNTED: is the record not whole where the tracer counted one? */
extern const bool uncounted_lacks[UNCOUNTED_ROWS];
/* Is every call of p, up to its last, among them? But those of its callbacks. */
bool process_is_whole(const struct process *p);
/* And those: what it has not done, as completing a request, it may have done in one. */
bool process_is_known(const struct process *p);
/* Events that were written and cannot be used: those after a hole, and those of blocks that are damaged or gone. Where
 * they were passed over it is not known. */
uint64_t thread_unusable(const struct thread *t);
/* Does an operation of that name send or receive, from one to one? */
bool step_is_message(const char *op);
bool step_is_finalize(const struct step *s, const struct sig *sig);
/* Colour class of a call. */
enum mpix_class step_class(const struct step *s, const struct sig *sig);
