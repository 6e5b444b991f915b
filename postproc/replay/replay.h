/* replay.h - a recorded run, once more by its own structure, and with something otherwise: what would it gain?
 *
 * Computing between calls takes what it took. A call ends when whatever it needed is there (the start of a send, the
 * last member of a collective, the call that it was seen to wait for) and what it took beyond that has passed. What
 * messages take beyond their latency and bandwidth, and collectives beyond their last member, is of two kinds:
 *   - as recorded, call by call: the unchanged replay is then the recorded run;
 *   - by a model fitted to this run (latency, bandwidth by class of distance; the mean of what calls of a kind and size
 *     take): the difference of that from the recorded run is the error told beside each gain, and what a gain is by it
 *     is the other end of its range.
 * As Dimemas (Labarta, Girona, Pillet, Cortes, Gregoris: DiP, a parallel program development environment, Euro-Par
 * 1996) replays traces, with what Boehme et al. (TOPC 2016) call delays taken out of who caused them.
 *
 * In: an .mpix of version 2.  Out: lengths of time. Long runs are replayed by intervals that stand for the rest. */
#pragma once

#include "base/json.h"
#include "format/mpix.h"

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_EVENTS_MAX 20000000u /* held in memory at once: about 100 bytes each */
#define REPLAY_ANY UINT32_MAX

/* Computing before calls at a call site (or any), of a rank (or any), takes so many times as long. */
struct replay_factor {
	uint32_t callsite, rank; /* REPLAY_ANY: all */
	double factor;
};

/* How many times as long a rank's computing is, and what its calls take beyond what they need. */
struct replay_times {
	double computing, calls;
};

/* What goes on while ranks compute between the start and the completion of what is nonblocking: messages; nothing, as
 * with large ones in many libraries; collectives too, as with a progress thread. */
enum replay_moving { MESSAGES_MOVE, NOTHING_MOVES, ALL_MOVES };

/* What is otherwise. REPLAY_AS_IT_WAS: nothing. */
struct replay_change {
	const struct replay_factor *factors;
	uint32_t nfactors;
	double bandwidth, latency; /* times that of the run; of messages between nodes, of all on a single node */
	bool balance;		   /* between two calls in which all ranks meet, all compute as long as their mean */
	bool free_transfers;	   /* what is needed is there at once, and calls take no time beyond it */
	/* Waits of these states (bit n: state n of enum wait_state, SPEC.md) are taken out of who caused them: the
	 * causer computes so much less before. causer_site: only before calls there; REPLAY_ANY: all. */
	uint32_t without_states;
	uint32_t causer_site;
	const uint32_t *open_sites; /* collectives that all enter as they come, and nobody waits in */
	uint32_t nopen_sites;
	/* Calls there only start what they did; it is completed as late as it could be (nonblocking.c). */
	const uint32_t *nonblocking;
	uint32_t nnonblocking;
	enum replay_moving moving;
	double undone;		    /* share of the change in what ranks compute that is left as it was */
	double most_gain;	    /* share of the run: no more than that is gained; 0: whatever it is */
	double most_gain_s;	    /* the same in seconds */
	struct replay_times *times; /* by rank; NULL: they are what they were */
	uint32_t ntimes;
};

#define REPLAY_AS_IT_WAS ((struct replay_change){.bandwidth = 1, .latency = 1, .causer_site = REPLAY_ANY})

/* What it would have taken. Seconds; shares of the recorded time. */
struct replay_result {
	double recorded_s;	    /* from the end of MPI_Init to the start of MPI_Finalize, of the last rank */
	double calls_s;		    /* of it until the end of the last call that is there: what is behind stays */
	double replayed_s, error;   /* unchanged, by the model; its difference from the recorded one */
	double predicted_s, gain_s; /* with the change */
	double gain;		    /* share of recorded_s */
	double gain_low, gain_high; /* as share */
	double covered;		    /* share of the run's events that were replayed, times that of calls_s */
	uint64_t given_up;	    /* calls of which what they needed never came */
	bool unseen;		    /* no transfer of that network was seen from its start to its end: the range ends
				     * at what it would gain if all that is not computing or waiting were transfers */
	uint64_t put_off;	    /* calls of change->nonblocking that needed others, and are completed later */
	double polls; /* share of all tracks' time: tests in vain of which nothing tells for whom; they stay */
};

/* Of a rank, in one unit: computing, all of its time, and of that what it was ready and had no processor. slower: so
 * many times as long as others it computes, by the issue that is asked for; 0: it is none of its ranks. */
struct replay_rank {
	double computing, lived, processor_wait, slower;
};

/* An issue of the analysis. */
struct replay_issue {
	const char *name;
	uint32_t states; /* that it is made of, as without_states */
	/* loss: share of all ranks' time. Phase by phase, work that comes to each in turn is shared as well: no more
	 * than this is that of uneven work. value: of its metric. */
	double loss, value;
	double loss_s; /* the same in seconds, all ranks added up */
	const uint32_t *callsites;
	uint32_t ncallsites;
	const struct replay_rank *ranks;
	uint32_t nranks;
};

/* The change that takes an issue away; the caller lets go of it. -ENOENT: no replay tells what would be without it. */
int replay_without_issue(const struct replay_issue *issue, struct replay_change *ret_change);
/* Also of REPLAY_AS_IT_WAS. */
void replay_change_done(struct replay_change *change);

struct replay;

/* Read what is needed of a file, at most max_events of its events (more: intervals of the run). files: the same file,
 * opened nfiles times, 1 or more, for as many threads; what comes out is the same. -ENOTSUP, with text, for files of
 * version 1; -EBADMSG or -ENOMEM with text. The caller destroys *ret_replay; the files are not needed any more. */
int replay_create(struct mpix_file *const *files, unsigned nfiles, uint64_t max_events, struct replay **ret_replay,
		  struct error *e);
void replay_destroy(struct replay *r);
/* So long ranks lived from their MPI_Init on, which the file's calls do not tell of a run that died or stood still, or
 * of which calls were lost. Less than these take is passed over. */
void replay_lasted(struct replay *r, int64_t ns);
/* What change would have gained. Any number of times; 0 or -ENOMEM. */
int replay_predict(struct replay *r, const struct replay_change *change, struct replay_result *ret_result);
/* The same without an issue; -ENOENT as above, and where most of what ranks computed may be behind the calls. Who
 * waited for a core did so in computing and in calls alike, as who spins in MPI; the range is from where calls take
 * what they took to where all of it was in computing. */
int replay_predict_without(struct replay *r, const struct replay_issue *issue, struct replay_result *ret_result);
/* What is gained where a quarter of it, half and three quarters are repaired, as shares of the run; none is more than
 * the next. -ENOENT as above, and where it is repaired as a whole or not at all, as a barrier that is left out. */
#define REPLAY_PARTS 3u
int replay_parts_without(struct replay *r, const struct replay_issue *issue, double ret_shares[REPLAY_PARTS]);
/* How many calls are replayed. */
uint64_t replay_events(const struct replay *r);
/* Latency in ns and bandwidth in bytes a second of messages in a node (0), between nodes (1), as fitted; 0: none was
 * seen. */
void replay_model(const struct replay *r, unsigned distance, double *ret_latency_ns, double *ret_bandwidth);
/* The same as JSON: in_node and between_nodes, seconds, null for what was not seen. */
void replay_put_model(const struct replay *r, cJSON *to);
