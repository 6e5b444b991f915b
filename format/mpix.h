/* mpix.h - the .mpix file: one analysed step, made for looking. One static file, any view needs few chunks.
 * Written by postproc/ through this writer, read by `mpitrace show`, reports/ and the browser. SPEC.md draws it and
 * says what lanes, windows and positions are.
 *
 * The functions under "reading" are libmpix's, for programs of others: pkg-config mpix, #include <mpix.h>, C only. They
 * return 0 or a negative errno with a line of text in struct error; what they return by pointer belongs to the file and
 * stays until mpix_close(). One thread at a time may use a file; two files are two. A visit function that returns other
 * than 0 ends the reading, which returns that.
 *
 * Writing: mpix_writer_create; mpix_writer_signatures of a rank before its first events; then window by window, group
 * by group, mpix_pack (any number of threads) and mpix_writer_put (one caller at a time, in order of (window,
 * group)); at last mpix_writer_finish. Memory is bounded by ranks and levels of detail, not by events. */
#pragma once

#include "base/error.h"
#include "format/limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Classes that a time-line colours; order is part of the format. */
enum mpix_class {
	MPIX_OUTSIDE = 0, /* not in MPI */
	MPIX_P2P = 1,	  /* blocking and starting point-to-point */
	MPIX_WAIT = 2,	  /* Wait*, Test*, Probe */
	MPIX_COLL = 3,	  /* collectives other than barriers */
	MPIX_SYNC = 4,	  /* Barrier, fence and other pure synchronisation */
	MPIX_RMA = 5,
	MPIX_IO = 6,
	MPIX_OTHER = 7, /* Init, communicators, datatypes, queries */
	MPIX_CLASSES
};

#define MPIX_NO_CALLSITE 0xffffffffu
#define MPIX_GROUP_RANKS 16u	  /* of the groups that this writer makes */
#define MPIX_CHUNK_RECORDS 16384u /* events of a (window, group) that whoever chooses windows aims at */

/* ---- what a file is about ---- */

/* From tick on, a tick is so long; see SPEC.md, CLOCK. */
struct mpix_clock_knot {
	uint64_t tick;
	double ns; /* since the start of the traced region */
	double ns_per_tick;
};

/* All ticks of lanes of this clock, and its knots (ascending), are at most 2^53 after base_tick. A clock in
 * nanoseconds has one knot {base_tick, base_tick, 1}. */
struct mpix_clock {
	uint64_t base_tick;
	const struct mpix_clock_knot *knots;
	uint32_t nknots; /* at least 1 */
};

struct mpix_info {
	uint32_t ranks;
	int64_t runtime_ns;
	const char *const *ops; /* names such as "MPI_Isend" */
	uint32_t nops;
	const uint32_t *threads; /* of each rank, at least 1; NULL: one each */
	uint32_t lanes;		 /* reading: how many; the writer counts threads */
	const struct mpix_clock *clocks;
	uint32_t nclocks;
	const uint32_t *clock_of_lane; /* NULL: clock 0 */
	uint32_t places;	       /* nodes of the cluster; 0: one */
	const uint32_t *place_of_rank; /* NULL: place 0 */
	uint64_t events_expected;      /* in all, roughly: how fine levels of detail become; 0: not known */
};

/* What a call was. */
struct mpix_signature {
	uint64_t bytes;		/* that a call moves */
	uint64_t message_bytes; /* of the message that it sends, or that the operation which it prepares sends */
	int32_t peer;		/* world rank, -1 none, -2 MPI_PROC_NULL */
	int32_t tag;		/* 0 where the call has none */
	uint32_t op;		/* index into the names */
	uint32_t callsite;	/* index into analysis "callsites", or MPIX_NO_CALLSITE */
	uint32_t comm;		/* id as in analysis "communicators" */
	uint32_t object;	/* 1 + id as in analysis "files" for class io, else "windows"; 0: none */
	uint64_t came_bytes;	/* of a one-sided call: those of bytes that come from the target */
	uint32_t stack;		/* 1 + id as in analysis "stacks"; 0: not recorded */
	uint8_t class;
	uint8_t flags; /* bits of enum mpix_signature_flag */
};

enum mpix_signature_flag {
	MPIX_COLLECTIVE = 1, /* events are parts of collectives, numbered by mpix_number */
	MPIX_POLLS = 2,
};

/* ---- writing ---- */

/* Where an event is; window MPIX_NOWHERE: none. */
struct mpix_position {
	uint32_t window, lane, index;
};
#define MPIX_NOWHERE 0xffffffffu

enum mpix_extra_what {
	MPIX_EXTRA_CALLS = 0, /* how many unsuccessful tests this event stands for */
	MPIX_EXTRA_BYTES = 1, /* that it moved, not the signature's */
};

/* Something that one event has by itself. */
struct mpix_extra {
	uint32_t index; /* of the event in its run; for carried events 0 */
	uint8_t what;
	uint64_t value; /* below 2^62 */
};

/* From event index of the run on, parts of collectives on comm are the k-th, k + 1-th, ... of the rank. */
struct mpix_number {
	uint32_t index, comm;
	uint64_t k; /* from 0; MPIX_NO_NUMBER: not known from here on */
};
#define MPIX_NO_NUMBER UINT64_MAX

/* Events of one lane that start in the window, in order. Ticks are those of the lane's clock, absolute as in an .mpic:
 * enter[i] <= leave[i] <= enter[i + 1]. */
struct mpix_run {
	uint32_t lane, n;
	uint64_t begin_tick; /* <= enter[0]: leave of the event before, or enter[0] */
	const uint64_t *enter, *leave;
	const int64_t *start_ns, *end_ns;  /* the same by the lane's clock, or NULL */
	const uint32_t *sig;		   /* number within the rank's signatures */
	const struct mpix_extra *extras;   /* ascending index, at most one of each kind an event */
	const struct mpix_number *numbers; /* ascending index */
	uint32_t nextras, nnumbers;
};

/* An event of an earlier window that ends after this window's start; at most one a lane. */
struct mpix_carried {
	struct mpix_position at;
	uint32_t sig, nextras;
	uint64_t enter, leave;
	uint64_t k; /* as struct mpix_number; of what is no part of a collective MPIX_NO_NUMBER */
	const struct mpix_extra *extras;
};

/* One matched transfer as levels of detail show it: world ranks, nanoseconds. */
struct mpix_message {
	int64_t send_start_ns, send_end_ns;
	int64_t recv_start_ns;	     /* of the call that starts the receive */
	int64_t completion_start_ns; /* of the call that completes it, which may be the same */
	int64_t recv_end_ns;	     /* end of that */
	uint64_t bytes;
	uint32_t src, dst;
	int32_t tag;
	uint32_t comm;
	uint32_t send_callsite, recv_callsite;
};

/* The same by the four calls that made it: of the blocking kind each pair is one. */
struct mpix_link {
	struct mpix_position recv, completion, send, sent; /* completion, sent: may be nowhere */
	/* Of src's signatures: bytes (message_bytes), tag, comm. MPIX_OF_START: that of event send. */
	uint32_t signature;
	struct mpix_message message;
};
#define MPIX_OF_START 0xffffffffu

enum mpix_wait_how {
	MPIX_WAIT_NS = 0,	   /* ns says */
	MPIX_WAIT_UNTIL_START = 1, /* min(causer's start, own end) - own start, not below 0 */
	MPIX_WAIT_SINCE_END = 2,   /* own end - max(causer's end, own start), not below 0 */
	/* no wait: ns is bytes that came to the call and only its partners record; or, with a causer, ns is 0 and the
	 * call completes the nonblocking collective, one-sided or file operation that the causer started */
	MPIX_CAME_BYTES = 3,
};

#define MPIX_WRONG_ORDER 2 /* states that are a part of another one of the same event */
#define MPIX_LATE_COMPLETE 17

struct mpix_wait {
	/* causer may be nowhere: then how is MPIX_WAIT_NS. Of MPIX_WAIT_SINCE_END it is the call that was over first,
	 * and nobody is to blame. */
	struct mpix_position at, causer;
	uint8_t state;		  /* 0 not said; else 1 + enum wait_state, see SPEC.md */
	uint8_t how;		  /* enum mpix_wait_how: what follows from events is not stored */
	int64_t ns;		  /* always set when read */
	int64_t start_ns, end_ns; /* of the waiting event; reading: not set */
};

enum mpix_lock { MPIX_LOCK_NONE = 0, MPIX_LOCK_SHARED = 1, MPIX_LOCK_EXCLUSIVE = 2 };

/* World ranks first, first + stride, ...: count of them. */
struct mpix_sync_run {
	uint32_t first;
	int32_t stride;
	uint32_t count;
};

/* What a one-sided synchronisation says beside its window: the lock that it asks for; of Post and Start whom. */
struct mpix_sync {
	uint32_t rank, signature; /* number within the rank's signatures: struct mpix_event names it */
	uint32_t lock;		  /* enum mpix_lock */
	uint32_t nruns;
	const struct mpix_sync_run *runs;
};

/* ---- samples: the profile over time ---- */

/* What a thread did at one place from one sample to the next: sums, ticks of its lane's clock. */
struct mpix_sample_cell {
	uint32_t op, callsite; /* MPIX_NO_CALLSITE: not known */
	uint64_t calls, ticks; /* that ended; inside of these and of one that goes on */
	uint64_t bytes;
	uint64_t wait_ns; /* of that in wait states, 0 also where that is not known */
};

enum mpix_sample_known {
	MPIX_SAMPLE_SYSTEM = 1,	  /* cpu_ns, ready_ns */
	MPIX_SAMPLE_RESIDENT = 2, /* resident_bytes */
	MPIX_SAMPLE_SILENT = 4,	  /* its node said nothing for this sample; what it did is in a later one */
};

struct mpix_sample_thread {
	uint32_t lane, ncells;
	uint8_t known;			      /* bits of enum mpix_sample_known */
	uint64_t cpu_ns, ready_ns;	      /* since the sample before: on a processor; ready to run, and on none */
	uint64_t resident_bytes;	      /* of its process, at the end */
	const struct mpix_sample_cell *cells; /* ascending (op, call site, none first) */
};

struct mpix_sample {
	uint64_t number;   /* of the first one that it stands for */
	uint32_t samples;  /* how many it stands for: 1, or more when neighbours were made one */
	uint32_t nthreads; /* of which something is known */
	int64_t start_ns, end_ns;
	const struct mpix_sample_thread *threads; /* ascending lane */
};

/* What one group has of one window. Everything belongs to the caller and is only read. */
struct mpix_part {
	uint32_t window, group;
	int64_t start_ns, end_ns; /* of the window: the same for all groups; end exclusive, and the next one's start */
	const struct mpix_run *runs;	    /* ascending lane, without empty ones */
	const struct mpix_carried *carried; /* ascending lane */
	const struct mpix_link
		*links; /* of receives that were completed (or, if never, started) in this window or before */
	const struct mpix_wait *waits;		  /* of ranks of the group, whatever the window of the waiting event */
	uint32_t nruns, ncarried, nlinks, nwaits; /* links and waits in any order */
};

struct buf;
struct cursor;
struct mpix_writer;
struct mpix_scratch; /* working memory of one thread that packs, kept between calls */
struct mpix_packed;  /* chunks of one part, ready to be written; may be packed into again once it was put */

/* Begin writing to path (under a temporary name until mpix_writer_finish). info is copied. 0, -EINVAL for what the
 * format cannot hold, or -errno with text. */
int mpix_writer_create(const char *path, const struct mpix_info *info, struct mpix_writer **ret_writer,
		       struct error *e);
/* The same without a file, for parts that are packed here and put elsewhere; mpix_writer_abandon() ends it. */
int mpix_packer_create(const char *path, const struct mpix_info *info, struct mpix_writer **ret_writer,
		       struct error *e);
/* Append to the signatures of rank; the first has number 0. Not while a part of the rank's group is being packed. */
int mpix_writer_signatures(struct mpix_writer *w, uint32_t rank, const struct mpix_signature *sigs, uint32_t n,
			   struct error *e);
/* Of a signature of a rank; ascending by (rank, signature). */
int mpix_writer_sync(struct mpix_writer *w, const struct mpix_sync *sync, struct error *e);
/* Ascending number. Any number of them: past MPIX_SAMPLES_BYTES_MAX or MPIX_SAMPLES_MAX each two neighbours become one,
 * whose sums are those of both. -EINVAL for what is impossible, or -ENOMEM, with text. */
int mpix_writer_sample(struct mpix_writer *w, const struct mpix_sample *sample, struct error *e);
struct mpix_scratch *mpix_scratch_new(void);
void mpix_scratch_free(struct mpix_scratch *s);
struct mpix_packed *mpix_packed_new(void);
void mpix_packed_free(struct mpix_packed *p);
/* Turn one part into chunks. A pure function of part and of what the writer was given so far: threads may pack
 * different parts at the same time, each with its own scratch and packed. -EINVAL for a part that contradicts itself,
 * or -errno with text. */
int mpix_pack(const struct mpix_writer *w, const struct mpix_part *part, struct mpix_scratch *scratch,
	      struct mpix_packed *ret_packed, struct error *e);
/* What was packed, to another process of the same program on the same kind of machine: appended to out there, and taken
 * here. 0, -EBADMSG or -ENOMEM. */
void mpix_packed_send(const struct mpix_packed *p, struct buf *out);
int mpix_packed_take(struct mpix_packed *p, struct cursor *in);
/* Append them to the file: one caller at a time, parts ascending by (window, group), each once (parts without
 * anything may be left out). */
int mpix_writer_put(struct mpix_writer *w, const struct mpix_packed *packed, struct error *e);
struct mpix_file;
/* Before the end: let look() read what has been put so far, as a file without levels of detail and with an empty
 * analysis. Nothing of that stays, and putting may go on. What look() returns, or -errno with text; -ENOTSUP where path
 * is no regular file. */
int mpix_writer_peek(struct mpix_writer *w, int (*peek)(void *context, struct mpix_file *f), void *context,
		     struct error *e);
/* Add levels of detail, signatures, clocks and the analysis object (JSON text, schema mpitrace/analysis/1), seal,
 * fsync, rename. Frees w, also on failure. */
int mpix_writer_finish(struct mpix_writer *w, const char *analysis_json, struct error *e);
/* Give up: removes the temporary file. NULL is harmless. */
void mpix_writer_abandon(struct mpix_writer *w);

#pragma GCC visibility push(default)

/* ---- reading ---- */

/* One call of one rank. */
struct mpix_event {
	int64_t start_ns, end_ns;
	uint64_t bytes;
	uint64_t calls;	     /* 1, or how many unsuccessful tests this event stands for */
	int32_t peer;	     /* world rank, -1 none, -2 MPI_PROC_NULL */
	int32_t tag;	     /* 0 where the call has none */
	uint32_t op;	     /* index into the names */
	uint32_t callsite;   /* index into analysis "callsites", or MPIX_NO_CALLSITE */
	uint32_t comm;	     /* id as in analysis "communicators" */
	uint32_t object;     /* 1 + id as in analysis "files" for class io, else "windows"; 0: none or not known */
	uint64_t came_bytes; /* of a one-sided call: those of bytes that come from the target */
	uint32_t thread;
	int64_t wait_ns; /* part of it that is a wait state */
	uint8_t class;
	struct mpix_position at; /* nowhere in version 1 */
	uint64_t number;	 /* of a part of a collective, on its communicator; or MPIX_NO_NUMBER */
	uint32_t signature;	 /* within the rank's; 0 in version 1 */
	uint8_t flags;		 /* of it: bits of enum mpix_signature_flag */
	uint32_t stack;		 /* who called: 1 + id as in analysis "stacks"; 0: not recorded */
	uint64_t message_bytes;	 /* of its signature; 0 in version 1 */
};

/* Open and check the superblock, header and index. Not an .mpix, cut or damaged: -EBADMSG with where and what. */
int mpix_open(const char *path, struct mpix_file **ret_file, struct error *e);
void mpix_close(struct mpix_file *f);
/* Names, lanes and places; clocks are read when they are needed and not listed there. */
const struct mpix_info *mpix_info(const struct mpix_file *f);
/* The analysis as JSON text, NUL-terminated, owned by f. */
const char *mpix_analysis(const struct mpix_file *f);
/* Call visit for every event of rank that overlaps [from_ns, to_ns), by start; a non-zero return stops and is
 * returned. */
int mpix_each_event(struct mpix_file *f, uint32_t rank, int64_t from_ns, int64_t to_ns,
		    int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e);
/* The same for every message of the chunks whose time overlaps [from_ns, to_ns), in the file's order: all that overlap
 * it, and some around; pass INT64_MIN, INT64_MAX for all. Positions are nowhere in version 1. */
int mpix_each_message(struct mpix_file *f, int64_t from_ns, int64_t to_ns,
		      int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e);
/* The same for wait states; version 1 has none. */
int mpix_each_wait(struct mpix_file *f, int64_t from_ns, int64_t to_ns,
		   int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e);
/* The same for every one-sided synchronisation with a lock or a group, ascending by (rank, signature). */
int mpix_each_sync(struct mpix_file *f, int (*visit)(void *context, const struct mpix_sync *sync), void *context,
		   struct error *e);

/* The same for every sample, ascending. */
int mpix_each_sample(struct mpix_file *f, int (*visit)(void *context, const struct mpix_sample *sample), void *context,
		     struct error *e);

/* One at a time: how many chunks there are of them, and those of the i-th. */
uint32_t mpix_samples(const struct mpix_file *f);
int mpix_sample(struct mpix_file *f, uint32_t i, int (*visit)(void *context, const struct mpix_sample *sample),
		void *context, struct error *e);
/* How long a tick of a lane's clock takes, on the average of the run: sums of ticks become time by it. */
int mpix_tick_ns(struct mpix_file *f, uint32_t lane, double *ret_ns, struct error *e);

/* ---- reading in order of time, window by window ---- */

/* One rank's part in a collective operation. */
struct mpix_collective_part {
	struct mpix_position at;
	int64_t start_ns, end_ns;
	uint64_t number; /* of the operation on its communicator */
	uint32_t rank, comm;
};

/* How many windows; 0 in version 1. */
uint32_t mpix_windows(const struct mpix_file *f);
/* Call visit for every message that became complete in a window; of some its calls are of earlier ones. bare: only
 * positions are set, which takes less time. */
int mpix_window_messages(struct mpix_file *f, uint32_t window, bool bare,
			 int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e);
/* The same for wait states, of calls that may be of earlier windows. bare: times that follow from both calls are 0. */
int mpix_window_waits(struct mpix_file *f, uint32_t window, bool bare,
		      int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e);
/* What a bare message lacks. */
int mpix_message_find(struct mpix_file *f, struct mpix_link *link, struct error *e);
/* The same for every part in a collective operation that starts in a window and of which the number is known, in order
 * of (lane, index). */
int mpix_window_parts(struct mpix_file *f, uint32_t window,
		      int (*visit)(void *context, const struct mpix_collective_part *part), void *context,
		      struct error *e);

/* ---- reading cell by cell: each thing once, with the least work ---- */

/* A cell is what one group of ranks has of one window: of SPEC.md's chunks EVENTS, MESSAGES and WAITS one each. How
 * many groups; 0 in version 1, of which nothing can be read in this way. */
uint32_t mpix_groups(const struct mpix_file *f);
/* Ranks of a group: from *ret_first to before *ret_end. */
void mpix_group_ranks(const struct mpix_file *f, uint32_t group, uint32_t *ret_first, uint32_t *ret_end);
/* The first lane of a rank; its thread t is lane first + t. rank = number of ranks: how many lanes there are. */
uint32_t mpix_first_lane(const struct mpix_file *f, uint32_t rank);
uint32_t mpix_rank_of_lane(const struct mpix_file *f, uint32_t lane);
/* How many events start in a cell, at most, and how many messages and waits it has: as the index says, nothing is
 * read. */
struct mpix_cell_counts {
	uint32_t events, messages, waits;
	/* Messages of the cell lie in [messages_from_ns, messages_to_ns), from the start of the send to the last end;
	 * no event that waits begins before waits_from_ns. Nothing is there: INT64_MAX, INT64_MIN, INT64_MAX. */
	int64_t messages_from_ns, messages_to_ns, waits_from_ns;
};
struct mpix_cell_counts mpix_cell_count(const struct mpix_file *f, uint32_t group, uint32_t window);
/* When a window begins; the last one ends behind everything. INT64_MAX: nothing begins in it. */
int64_t mpix_window_start(const struct mpix_file *f, uint32_t window);
/* Decoded calls of cells that may be asked for again are kept up to so many bytes, instead of 256 MiB. 0, or -ENOMEM
 * with text. */
int mpix_keep(struct mpix_file *f, size_t bytes, struct error *e);
/* Call visit for every event that starts in a cell, lane by lane, each in order. Wait states are not added: wait_ns is
 * 0, and bytes lack what mpix_cell_waits() tells as MPIX_CAME_BYTES. */
int mpix_cell_events(struct mpix_file *f, uint32_t group, uint32_t window,
		     int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e);
/* The same for messages that ranks of the group received and that became complete in the window. */
int mpix_cell_messages(struct mpix_file *f, uint32_t group, uint32_t window,
		       int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e);
/* The same for wait states of ranks of the group that became known in the window; their calls may be of earlier
 * ones. */
int mpix_cell_waits(struct mpix_file *f, uint32_t group, uint32_t window,
		    int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e);

#pragma GCC visibility pop
