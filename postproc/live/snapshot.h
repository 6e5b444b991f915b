/* snapshot.h - one look at a step that runs: its files as they are now. */
#pragma once

#include "base/error.h"
#include "postproc/read/replay.h"
#include "postproc/state/graph.h"
#include "postproc/totals/states.h"

/* ---- snapshot.c ---- */

enum live_state { LIVE_SILENT, LIVE_USEFUL, LIVE_MPI, LIVE_ENDED };

/* What a rank is in, by its first thread that is inside of MPI, else its first one. */
struct live_rank {
	enum live_state state;
	const struct sig *sig; /* MPI: the call; NULL: none */
	double since_s;	       /* in this call; USEFUL: behind the last one, at most; NAN: not known */
	bool still;	       /* in the same call, in none and without one, or ended, at the last two samples */
	double useful, mpi;    /* shares of the last interval; NAN: not known */
	double off_processor;  /* share in which it was ready to run and did not; NAN: not known */
	double on_processor;
	double resident_bytes;			     /* NAN: not known */
	double frequency_hz, instructions_per_cycle; /* in user mode, of late; NAN: not known */
	bool stopped; /* by a signal, as of the last sample: it does nothing until it is continued */
	const struct live_process *process;
	const struct live_node *node;
};

enum live_node_state { NODE_SAMPLED, NODE_LAGS, NODE_ENDED, NODE_WITHOUT };

/* A rank outside of MPI, and who waits for it. */
struct live_group {
	uint32_t rank;
	struct graph_ranks ranks;
};

/* Names of nodes that have no file. */
struct missing {
	char **at;
	size_t n, cap;
};

struct snapshot {
	struct step step;
	VEC(struct live_node) nodes; /* as step.nodes */
	VEC(enum live_node_state) node_states;
	struct missing missing;
	VEC(struct live_rank) ranks;
	struct states_of states;
	struct cores cores;    /* deadlocks */
	struct cores possible; /* where there is none: what is one unless threads that have not called MPI go on */
	VEC(struct live_group) waited_for;
	uint64_t sample;     /* the number of the newest */
	int64_t realtime_ns; /* its time */
	bool over;	     /* all files are finished */
	bool stuck;
};

/* Look at the files. before: the look before, or NULL; what it knows is not read again, and it is only good for
 * look_done() then. 0, or -errno with text: as step_load(); -ENODATA: nobody took samples; -EAGAIN: no rank has
 * come out of MPI_Init yet. */
int snapshot(char *const *paths, size_t npaths, struct snapshot *before, struct snapshot *ret_snapshot,
	     struct error *e);
void snapshot_done(struct snapshot *l);
/* Those of s, instead of what *m has; memory is short: fewer. */
void missing_find(const struct step *s, struct missing *m);
void missing_done(struct missing *m);

/* ---- starting.c ---- */

/* Processes and MPI_Init: from its call on they are known, as ranks only when it has returned. */
struct starting {
	uint32_t called, inside; /* have called it, some of them are in it still */
	uint32_t wanted;	 /* tasks of the step; 0: not known */
	double since, now;	 /* the last of those inside came to it; the newest sample: seconds since 1970 */
	bool held;		 /* one of them is stopped or frozen, or in the file system */
	char *live_json;	 /* schema mpitrace/live/1, with the job and the time alone */
	char *node;		 /* the first one */
};
/* 0, or -errno with text. starting_done() frees. */
int snapshot_starting(char *const *paths, size_t npaths, struct starting *ret_x, struct error *e);
void starting_done(struct starting *x);

/* ---- waits.c ---- */

/* Fill states, cores, waited_for, stuck. 0 or -ENOMEM. */
int snapshot_waits(struct snapshot *l);

/* ---- words.c ---- */

/* "rank 3 in MPI_Recv from rank 7, tag 9, for 612 s, at its line"; the caller frees it, NULL without memory. */
char *live_words(const struct snapshot *l, uint32_t rank, bool with_time);
/* Why those of the core can never go on: each of them, what would let it go on, and who waits for them; the parts are
 * separated by "; ". As above. */
char *live_why(const struct snapshot *l, const struct core *c);
/* What would let a member of a core go on: "a message from rank 0 with tag 9". As above. */
char *live_until(const struct snapshot *l, const struct core_member *m);
/* File and line, or what else is known; false: nothing is. */
bool live_place(const struct snapshot *l, const struct sig *sig, char *ret_text, size_t cap);
/* Whom it names: world ranks; SIG_ANY from anybody, else negative. */
int32_t live_peer(const struct sig *sig);

/* ---- locate.c ---- */

/* The directory or file of a step: of a path, or of a job's number below the current directory. The newest step of a
 * job. ret_path has PATH_MAX bytes. 0, or -errno with text. */
int find_step(const char *job_or_path, char *ret_path, struct error *e);

/* ---- verdict.c ---- */

/* Keep the deadlocks of l with the step at path, for its report; kept: 0 at first, which ones the file has. */
void verdict_keep(const struct snapshot *l, const char *path, uint64_t *kept);

/* Is a thread of a rank stopped or frozen, as all of a suspended job are? Nothing follows then from how long anybody
 * waits. */
bool verdict_is_held(const struct snapshot *l);
/* Is a thread of a process so? */
bool verdict_holds(const struct live_thread *t);
/* All tasks have called MPI_Init, and some have been inside of it for so long since the last of them came. */
bool verdict_starts_not(const struct starting *x, double after_s);
/* Should somebody be told: it is stuck for so long, and nobody is stopped. ret_since: since the last of those that
 * cannot go on came to its call, seconds since 1970; ret_key: which ranks these are. */
bool verdict_hangs(const struct snapshot *l, double after_s, double *ret_since, uint64_t *ret_key);

/* ---- json.c ---- */

/* Schema mpitrace/live/1; to be freed with free(). NULL without memory. */
char *live_json(const struct snapshot *l);
/* The same of a step whose ranks are not known. */
char *live_json_of_job(const struct node *n, const struct starting *x);
