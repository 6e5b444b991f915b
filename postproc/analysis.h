/* analysis.h - everything that is computed once and read by the sections of the analysis object.
 * A section is one file with one function `int analysis_<name>(struct analysis *a)`, which adds its
 * member(s) to a->root, and one row in SECTIONS; sections run in that order. */
#pragma once

#include "base/json.h"
#include "postproc/clock/clock.h"
#include "postproc/stream/alternation.h"
#include "postproc/stream/periods.h"
#include "postproc/stream/match.h"
#include "postproc/stream/sweep.h"
#include "postproc/stream/tally.h"
#include "postproc/totals/traffic.h"
#include "postproc/totals/usage.h"

/* Of which threads of a rank its times are. */
enum time_of {
	TIME_OF_THREAD, /* of the only one that called MPI, or the only one that did not poll for the others */
	TIME_OF_ALL,	/* of all that did not poll for others: time in which any of them was inside MPI */
	TIME_OF_FIRST	/* of the first of several: of the others single calls are missing */
};

/* One thread of a rank, in its own time. */
struct thread_totals {
	uint64_t calls; /* that returned */
	double span_ns; /* from its first call to the end of its last, or the region of the one that called MPI_Init */
	double mpi_ns, tracing_ns, useful_ns, wait_ns; /* wait is a part of mpi */
	bool called;				       /* else it is in no figure */
	bool progress, known;			       /* known: its span is */
};

/* One rank, exact from its totals. Times in ns. */
struct rank_totals {
	double region_ns;    /* from the exit of MPI_Init to the enter of MPI_Finalize (or its end) */
	double mpi_ns;	     /* inside MPI in that region, of the threads of time_of */
	double tracing_ns;   /* the tracer's own: neither in MPI nor useful */
	double useful_ns;    /* the rest of it */
	double wait_ns;	     /* of mpi_ns */
	double open_ns;	     /* of mpi_ns: in the call that it never came back from */
	double hung_ns;	     /* behind that region: in that call, when no rank of the step advanced any more */
	double hung_wait_ns; /* of hung_ns: for somebody who cannot go on either */
	double polling_ns;   /* thread time: in tests that found nothing, but for threads that only test */
	double threads_ns;   /* spans of all threads that called MPI: thread time */
	bool known;	     /* the times are */
	bool compared;	     /* it counts in the mean and the maximum of useful time */
	enum time_of time_of;
	double startup_ns; /* in MPI_Init and MPI_Finalize */
	uint64_t calls;	   /* of all threads */
	/* Thread time of all threads: in tracing; of it on slow paths, and in calls but for these. */
	double threads_tracing_ns, slow_ns, fast_ns;
	uint64_t slow_calls, threads; /* threads: that called MPI */
	uint64_t completions, barriers, collectives;
	uint64_t messages_out, messages_in, bytes_out, bytes_in, peers; /* point-to-point */
	uint64_t coll_bytes_out, coll_bytes_in;
};

/* Ranks in a row, and what they did by time window. */
struct rank_group {
	uint32_t first_rank, end_rank;
	struct tally windows; /* only window_ns and windows */
};

struct stream;
struct stream_visitor;
struct export;
struct replay;

struct analysis {
	struct step *step;
	struct error *e;    /* why a section failed, where it says more than its code */
	struct tally tally; /* what the stream of events told */
	struct alternation alternation;
	struct periods periods;
	struct rank_group *groups; /* ascending */
	uint32_t ngroups;
	struct op_counts counts;
	struct unmatched unmatched;
	struct clock_result clock;
	struct traffic p2p, coll, rma;
	uint64_t *leaked; /* by rank: requests neither completed nor freed */
	uint32_t *leak_site;
	double threads_ns; /* of all ranks */
	bool threaded;	   /* some rank called MPI from several threads */
	uint64_t *unread;  /* by file: bytes that completed nonblocking reads did not find */
	struct sweep_result swept;
	int64_t *path_site_ns; /* by call site: time in its calls on the critical path */
	struct usage_totals usage;
	struct export *export;	   /* where the events are, or NULL */
	struct replay *replay;	   /* of them, or NULL: none is known */
	struct rank_totals *ranks; /* by world rank; zero for ranks not seen */
	double serialization;	   /* NaN: not known */
	uint32_t main_delay;	   /* row of swept.delays that an issue is made of; NONE: there is none */
	double main_delay_gain;	   /* share of the run, by replay; NaN: not known */
	double longest_region_ns, mean_useful_ns, max_useful_ns;
	uint32_t ranks_seen, ranks_compared;
	bool complete;	/* every event is there */
	bool lost;	/* more is missing than the ends of ranks that died */
	bool as_wanted; /* nothing is missing that was to be recorded: as complete, or the totals that were asked for */
	cJSON *root;	/* the object under construction */
};

/* Of TOTALS: what totals, definitions and states tell. Of EVENTS: what only single calls or samples tell, or what takes
 * long; absent where these were passed over. */
enum section_of { OF_TOTALS, OF_EVENTS };

#define SECTIONS(ROW) \
	ROW(job, OF_TOTALS) \
	ROW(coverage, OF_TOTALS) \
	ROW(clock, OF_EVENTS) \
	ROW(overhead, OF_TOTALS) \
	ROW(summary, OF_TOTALS) \
	ROW(efficiency, OF_TOTALS) \
	ROW(operations, OF_TOTALS) \
	ROW(per_rank, OF_TOTALS) \
	ROW(usage, OF_EVENTS) \
	ROW(matrix, OF_TOTALS) \
	ROW(levels, OF_TOTALS) \
	ROW(sizes, OF_TOTALS) \
	ROW(wait_states, OF_EVENTS) \
	ROW(callsites, OF_TOTALS) \
	ROW(communicators, OF_TOTALS) \
	ROW(worlds, OF_TOTALS) \
	ROW(windows, OF_TOTALS) \
	ROW(files, OF_TOTALS) \
	ROW(io, OF_EVENTS) \
	ROW(tops, OF_TOTALS) \
	ROW(collective_use, OF_TOTALS) \
	ROW(time_windows, OF_EVENTS) \
	ROW(rank_time, OF_EVENTS) \
	ROW(phases, OF_EVENTS) \
	ROW(critical_path, OF_EVENTS) \
	ROW(delays, OF_EVENTS) \
	ROW(patterns, OF_EVENTS) \
	ROW(correctness, OF_EVENTS) \
	ROW(replay, OF_EVENTS) \
	ROW(issues, OF_TOTALS) \
	ROW(topology, OF_TOTALS) \
	ROW(unknown, OF_TOTALS) /* the last */ \
				/* adding a section: one file, one row */

#define DECLARE_SECTION(name, of) int analysis_##name(struct analysis *a);
SECTIONS(DECLARE_SECTION)
#undef DECLARE_SECTION

/* usage.c: of all ranks there; NaN: not known. */
double usage_of_node_hz(const struct analysis *a, uint32_t node);

#define TRACING_SHARE_MAX 0.02 /* a rank's time in the tracer beyond which figures must be read with care */

/* rank_time.c: what the shards saw, before they go. 0 or -ENOMEM. */
int rank_time_keep(struct analysis *a, const struct stream *st);
/* time_windows.c: what the record of a rank adds to windows that hold its events; times of one window. */
void time_windows_add_rank(const struct step *s, struct tally *t, const struct process *p,
			   const struct rank_totals *totals);
/* The same of tests that found nothing, of these ranks: of the runs that they stand in as much as they took, which the
 * totals tell. */
void time_windows_add_tests(const struct step *s, struct tally *t, uint32_t first_rank, uint32_t end_rank);
int64_t time_window_mpi_ns(const struct time_window *at);
int64_t time_window_useful_ns(const struct time_window *at);
/* threads.c: what each thread of a rank did in its region: p->threads.n of them, to be freed; NULL without memory. */
struct thread_totals *threads_of(const struct step *s, const struct process *p, double region_ns);
/* region.c: it made calls, or is in its first. */
bool thread_called(const struct process *p, uint32_t thread, uint64_t calls);
/* threads.c: times of a rank whose MPI calls come from several threads. 0 or -ENOMEM. */
int threads_rank(const struct step *s, const struct process *p, struct rank_totals *t);
/* region.c: how long it was in the call in which it died, of one thread or (NONE) the longest of all; 0: not known. */
double rank_open_ns(const struct process *p, uint32_t thread);
/* region.c: its traced region: from MPI_Init's exit to MPI_Finalize's enter; to its end, or what is known last, of a
 * rank that never came there; where the run stood still at its end, to its last advance. TIME_ABSENT: it has none. */
void rank_region(const struct process *p, int64_t *ret_from_ns, int64_t *ret_to_ns);
/* region.c: is it MPI_Init or MPI_Finalize? */
bool is_startup(const struct step *s, const struct sig *sig);
/* leaks.c: add to f what was made and not freed, and calls that returned an error. 0 or -ENOMEM. */
int leaks_find(const struct analysis *a, struct defects *f);

/* tracing.c: what of the rank's time the tracer took, and how many threads called; its region and time in MPI are
 * there. */
void tracing_of_rank(const struct step *s, struct process *p, struct rank_totals *t);
/* tracing.c: share of a rank's thread time that the tracer took, 0 to 1. */
double tracing_share(const struct rank_totals *t);
/* What the tracer took for the calls of one signature, but for slow paths. */
double sig_tracing_ns(const struct process *p, const struct sig *sig);
/* ranks.c: fill a->ranks and what follows from it. 0 or -ENOMEM. */
int ranks_total(struct analysis *a);
/* The whole analysis of a loaded step; a->root is complete on success. */
/* visitor: who else wants to see the events pass, or NULL. */
int analysis_run(struct analysis *a, unsigned nthreads, const struct stream_visitor *visitor, struct error *e);
void analysis_done(struct analysis *a);
