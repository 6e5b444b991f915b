/* output.h - the node's .mpic: made when the first process appears, appended block by block. */
#pragma once

#include "base/buf.h"
#include "format/mpic.h"

#include <stdbool.h>
#include <stdint.h>

/* A block of events that waits to be written. */
struct queued_events {
	size_t end; /* in pending */
	uint32_t process, thread;
	uint64_t events, begin_tick;
};

struct output {
	const char *wanted_dir;	  /* of the step, in the user's file system */
	const char *fallback_dir; /* node-local */
	const char *name;	  /* <name>.mpic */
	char *path;		  /* NULL until opened */
	int fd;
	uint32_t id;	    /* of the file: what its END block is known by */
	uint64_t len_bytes; /* of whole blocks */
	uint64_t blocks;
	uint64_t failed_blocks;
	uint32_t restores;
	struct buf pending;	      /* packed blocks, written together */
	struct queued_events *queued; /* those of them that are events */
	size_t nqueued, queued_cap;
	uint64_t room_bytes;	/* of the file that the file system has promised */
	uint64_t reserve_bytes; /* kept free for what records losses, until output_ending() */
	uint64_t cap_bytes;	/* of the file, 0: none; only events stop there */
	uint64_t floor_bytes; /* of its file system that stay free, 0: a twentieth, at most 1 GiB; events stop there */
	bool of_slurm;	  /* directories of the step that are there must be the user's, and nobody else's to write */
	bool full;	  /* one of these two was met */
	bool no_promises; /* this file system makes none */
	bool ending;
	bool broken;
	/* Called for every block of events that did not reach the file, once. May be NULL. */
	void (*lost)(void *context, const struct queued_events *what);
	/* Called with the name of the file before it is made, and again when it is made and empty. May be NULL. */
	void (*naming)(void *context, const char *path, bool made);
	void *context;
};

/* Make wanted_dir, if it is missing: 0, or -errno when it is not to be written by us, or by others, too. */
int output_directory(const struct output *o);
/* Open on first use: wanted_dir (made if missing), else fallback_dir. 0 or -errno with text. */
int output_open(struct output *o, struct error *e);
/* Go on behind the first len_bytes of a file that is there, if no other agent does. 0 or -errno. */
int output_resume(struct output *o, const char *path, uint64_t len_bytes);
/* Somebody removed, moved or replaced the file, which only we still have: make it again under its name, or where it
 * goes when that cannot be. One that is in fallback_dir goes to wanted_dir as soon as that can be written. A step's
 * directory that all may write since is closed to them. 1, 0 when it is in its place, or has no better one, or
 * -errno. */
int output_restore(struct output *o);
/* It is in fallback_dir, and was wanted elsewhere. */
bool output_is_aside(const struct output *o);
/* Pack one block and queue it. Returns packed bytes, or -errno. */
int64_t output_block(struct output *o, const struct mpic_block *block, const void *payload, size_t len_bytes);
/* The same for a block of events. What does not reach the file, now or later, is reported to o->lost. */
int64_t output_events(struct output *o, const struct mpic_block *block, const struct buf *payload, uint64_t events,
		      uint64_t begin_tick);
/* Write what is queued. When that fails the file ends behind its last whole block, blocks that a later one replaces and
 * events are given up, and definitions wait for better times. 0 or -errno. */
int output_flush(struct output *o);
/* No more events: what follows may use the room that was kept for it. */
void output_ending(struct output *o);
/* Flush, fsync, close. */
int output_close(struct output *o);
