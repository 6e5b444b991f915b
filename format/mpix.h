/* mpix.h - the .mpix file: one analysed step, made for looking. One static file, any view needs few tiles.
 * Written by postproc/ through this writer, read by `mpitrace show`, reports/ and the browser. SPEC.md draws it. */
#pragma once

#include "base/error.h"
#include "format/limits.h"

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

/* One call of one rank. Times are nanoseconds since the start of the traced region, after clock correction. */
struct mpix_event {
	int64_t start_ns, end_ns;
	uint64_t bytes;
	uint64_t calls;	   /* 1, or how many unsuccessful tests this event stands for */
	int32_t peer;	   /* world rank, -1 none, -2 MPI_PROC_NULL */
	int32_t tag;	   /* 0 where the call has none */
	uint32_t op;	   /* index into the names given to mpix_create */
	uint32_t callsite; /* index into analysis "callsites", or MPIX_NO_CALLSITE */
	uint32_t comm;	   /* id as in analysis "communicators" */
	uint32_t thread;
	int64_t wait_ns; /* part of it that is a wait state */
	uint8_t class;
};

#define MPIX_NO_CALLSITE 0xffffffffu

/* One matched transfer, world ranks. */
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

struct mpix_info {
	uint32_t ranks;
	int64_t runtime_ns;
	const char *const *ops; /* names such as "MPI_Isend" */
	uint32_t nops;
};

struct mpix_writer;

/* Begin writing to path (under a temporary name until mpix_writer_finish). */
int mpix_writer_create(const char *path, const struct mpix_info *info, struct mpix_writer **ret_writer,
		       struct error *e);
/* All events of one rank, ascending start_ns; ranks ascending, each rank once (a rank without events may be left
 * out). */
int mpix_writer_events(struct mpix_writer *w, uint32_t rank, const struct mpix_event *events, uint64_t count,
		       struct error *e);
/* All messages, ascending send_start_ns, in one or several calls. */
int mpix_writer_messages(struct mpix_writer *w, const struct mpix_message *messages, uint64_t count, struct error *e);
/* Add the analysis object (JSON text, schema mpitrace/analysis/1), seal, fsync, rename. Frees w, also on failure. */
int mpix_writer_finish(struct mpix_writer *w, const char *analysis_json, struct error *e);
/* Give up: removes the temporary file. NULL is harmless. */
void mpix_writer_abandon(struct mpix_writer *w);

struct mpix_file;

/* Open and check the superblock, header and index. Not an .mpix, cut or damaged: -EBADMSG with where and what. */
int mpix_open(const char *path, struct mpix_file **ret_file, struct error *e);
void mpix_close(struct mpix_file *f);
const struct mpix_info *mpix_info(const struct mpix_file *f);
/* The analysis as JSON text, NUL-terminated, owned by f. */
const char *mpix_analysis(const struct mpix_file *f);
/* Call visit for every event of rank that overlaps [from_ns, to_ns), in order; a non-zero return stops and is
 * returned. */
int mpix_each_event(struct mpix_file *f, uint32_t rank, int64_t from_ns, int64_t to_ns,
		    int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e);
/* The same for every message of the chunks whose time overlaps [from_ns, to_ns), by send start: all that overlap
 * it, and some around; pass INT64_MIN, INT64_MAX for all. */
int mpix_each_message(struct mpix_file *f, int64_t from_ns, int64_t to_ns,
		      int (*visit)(void *context, const struct mpix_message *message), void *context, struct error *e);
