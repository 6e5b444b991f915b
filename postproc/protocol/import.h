/* import.h - traces of other tools as .mpix. What a format never recorded is said in the analysis object (null, and
 * coverage.reasons), never made up.
 *
 * import_mprov.c and import_pyrite.c read into struct import, from bytes: import_file.c has those of a file, the viewer
 * its own (reports/viewer/reader). import_link.c finds messages; import_write.c and import_json.c write. Memory holds
 * the whole trace. */
#pragma once

#include "base/cursor.h"
#include "base/json.h"
#include "base/vec.h"
#include "format/mpix.h"

#define IMPORT_BYTES_MAX (1ull << 34) /* of a file */
#define IMPORT_RANKS_MAX (1u << 20)
#define IMPORT_EVENTS_MAX (1u << 27) /* of all ranks */
#define IMPORT_LINE_MAX 2147483647u  /* of a source file */
#define IMPORT_TICK_NS 1000	     /* of a logical clock, on the time line */
#define IMPORT_NONE 0xffffffffu

struct import_event {
	int64_t ns, end_ns;
	uint64_t order; /* of events of one rank at one time; numbers of files that give any */
	uint64_t send_bytes, recv_bytes;
	uint64_t number; /* of a part of a collective, or MPIX_NO_NUMBER */
	int32_t send_peer, recv_peer, send_tag, recv_tag;
	uint32_t op, comm; /* index of ops, comms */
	uint32_t line;	   /* of the source, 0: not known */
	bool sends, receives;
};

struct import_rank {
	VEC(struct import_event) events;
	uint32_t node; /* index of nodes, IMPORT_NONE: not known */
	bool seen;
};

struct import_op {
	const char *name; /* static */
	uint8_t class;
	bool collective;
};

struct import_comm {
	int64_t value; /* as the file names it */
	VEC(uint32_t) ranks;
};

/* One message: events of the two ranks. */
struct import_link {
	uint32_t src, send, dst, recv;
};

/* What a send and its receive have alike. */
struct import_envelope {
	uint32_t src, dst, comm;
	int32_t tag;
};

struct import {
	const char *format; /* static */
	char *file, *program;
	uint32_t nranks;
	struct import_rank *ranks;
	VEC(struct import_op) ops;
	VEC(struct import_comm) comms;
	VEC(char *) nodes;
	VEC(char *) reasons;
	VEC(struct import_link) links;
	uint64_t events, unmatched_sends, unmatched_receives;
	bool has_times, has_bytes;
};

/* Read bytes of what is called path. 0, or -errno with text; import_done() in any case. */
int import_mprov(const char *path, struct span bytes, struct import *ret_import, struct error *e);
int import_pyrite(const char *path, struct span bytes, struct import *ret_import, struct error *e);

struct import_format {
	const char *name;
	int (*read)(const char *path, struct span bytes, struct import *ret_import, struct error *e);
};
#define IMPORT_FORMATS 2
extern const struct import_format import_formats[IMPORT_FORMATS];

/* The same of a file. */
int import_read(const struct import_format *format, const char *path, struct import *ret_import, struct error *e);
int import_write(const struct import *x, const char *path, struct error *e);
void import_done(struct import *x);

/* For the readers. */
int import_ranks(struct import *x, uint32_t n, struct error *e);
int import_reason(struct import *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool import_is_on_comm(const struct import *x, const struct import_event *ev);
/* That of the send, or of the receive, of an event of rank; false: it has none whose partner is a rank. */
bool import_envelope_of(const struct import *x, uint32_t rank, const struct import_event *ev, bool of_send,
			struct import_envelope *ret_envelope);
/* By sender, receiver, communicator, tag: <0, 0, >0. */
int import_compare_envelopes(const struct import_envelope *x, const struct import_envelope *y);
/* Handles that are another communicator's elsewhere: how many are told by messages, how many stay each on its own. */
struct import_handles {
	uint64_t joined, apart;
};
/* Which handles, each as yet one communicator on all ranks, are which: before links and members are found. */
int import_join_handles(struct import *x, struct import_handles *ret_handles, struct error *e);
/* Messages of one (communicator, sender, receiver, tag) in the order of their sends and receives, by event. */
int import_find_links(struct import *x, struct error *e);
/* Who is a member of which communicator, and which of its collectives a part belongs to; where counts of members
 * differ, parts stay without a number. */
int import_find_comms(struct import *x, struct error *e);
/* The analysis object as text (cJSON_free); NULL without memory. sites: lines by (op, line). */
struct import_site {
	uint32_t op, line;
	uint64_t calls;
};
char *import_json(const struct import *x, const struct import_site *sites, size_t nsites);
int64_t import_runtime_ns(const struct import *x);
