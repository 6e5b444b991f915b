/* state.h - what was taken from outboxes, and who does not have it yet: one SQLite file, one user of it at a time.
 * A delivery is a record that a destination still has to get, or never will ("dead"); one that has arrived is no row
 * any more. What a batch holds is fixed on disk before it is sent for the first time. */
#pragma once

#include "base/buf.h"
#include "fleet/db.h"
#include "fleet/publish/kind.h"

#include <stdio.h>

#define BATCH_NAME_MAX 128u

struct state {
	struct fleet f;
	int lock_fd;
	char token[33]; /* of this very file, in names of batches */
	sqlite3_stmt *find, *add, *owe;
};

struct state_counts {
	int64_t waiting, done, dead, dropped, failures, next; /* next: seconds since 1970 */
	char said[256];					      /* by the last failure */
};

struct batch {
	int64_t number;
	char name[BATCH_NAME_MAX];
	VEC(struct publish_record) records; /* texts and JSON are ours */
};

struct take_counts {
	uint64_t added, known, refused;
};

/* Open or make path, mode 0600. -EBUSY: another one has it. 0 or -errno with text. */
int state_open(const char *path, struct state *ret_s, struct error *e);
/* The same in memory, for a look: path is not changed, and may be in use. */
int state_open_copy(const char *path, struct state *ret_s, struct error *e);
/* Destinations take turns with the state; nobody has the turn while a server or a disk is waited for. */
void state_turn_begin(void);
void state_turn_end(void);
/* Also for one that could not be opened, and a zeroed one with lock_fd = -1. */
void state_close(struct state *s);
/* Give each destination its number; one whose kind or name is new gets what comes from now on. */
int state_destinations(struct state *s, struct destinations *all, struct error *e);

/* Take one record for all destinations, inside of the caller's transaction. *ret_why: what is wrong with it, it is not
 * taken then; else NULL. A known record is passed over. 0, or -errno: the database cannot go on. */
int state_take(struct state *s, const struct destinations *all, const char *text, size_t len_bytes, const char *owner,
	       struct take_counts *counts, const char **ret_why, struct error *e);
/* The same of an alert (fleet/alert.h), for destinations whose kind takes them. */
int state_take_alert(struct state *s, const struct destinations *all, const char *text, size_t len_bytes,
		     const char *owner, struct take_counts *counts, const char **ret_why, struct error *e);
/* Forget which records there were more than 400 days ago that wait for nothing. */
int state_forget(struct state *s, struct error *e);
/* Drop, and count, the oldest of those that wait beyond d->queue. */
int state_bound(struct state *s, const struct destination *d, struct error *e);

/* The batch that is open, or the next one; n = 0: nothing waits. batch_done() frees. */
int state_batch(struct state *s, const struct destination *d, struct batch *ret_b, struct error *e);
void batch_done(struct batch *b);
/* It has arrived; file_bytes: the length of the file since, -1 for none; totals: what they are since, or NULL. */
int state_arrived(struct state *s, const struct destination *d, const struct batch *b, int64_t file_bytes,
		  const struct totals *totals, struct error *e);
/* Each record has its fate, in their order; those that wait are another batch from now on. */
int state_apply(struct state *s, const struct destination *d, const struct batch *b, const struct publish_fate *fates,
		struct error *e);
/* Two of it, with new names. */
int state_split(struct state *s, const struct destination *d, const struct batch *b, struct error *e);
/* A record alone, of which the server does not say that it is the record's fault, waits until all others have had their
 * turn. *ret_tries: how often, with others that arrived between. */
int state_aside(struct state *s, const struct destination *d, const struct batch *b, int64_t *ret_tries,
		struct error *e);
/* All dead ones wait again, or are given up and counted as dropped. */
int state_dead(struct state *s, bool revive, struct error *e);
/* A record alone: it will never arrive. */
int state_bury(struct state *s, const struct destination *d, const struct batch *b, const char *why, struct error *e);
/* Nothing goes there before `until`. */
int state_postpone(struct state *s, const struct destination *d, int64_t until, const char *why, struct error *e);

/* What this destination's sums are, and those that differ from it written, inside of the caller's transaction. */
int state_totals_read(struct state *s, const struct destination *d, struct totals *ret_totals, struct error *e);
int state_totals_write(struct state *s, const struct destination *d, const struct totals *totals, struct error *e);

int state_counts(struct state *s, const struct destination *d, struct state_counts *ret_c, struct error *e);
/* Which file it was (device and inode as text), and how much of it is ours; "" and 0 at first. */
int state_file(struct state *s, const struct destination *d, char ret_which[64], int64_t *ret_bytes, struct error *e);
int state_set_file(struct state *s, const struct destination *d, const char *which, int64_t bytes, struct error *e);
/* Each dead record as a line of JSON: {"destination", "reason", "record"}. */
int state_print_dead(struct state *s, FILE *to, struct error *e);
