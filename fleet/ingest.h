/* ingest.h - records into the database. A record that is there already is passed over; another one of the same step
 * takes its place. */
#pragma once

#include "fleet/db.h"

#include <stddef.h>

struct ingest_counts {
	uint64_t added, replaced, known, refused;
	uint64_t alerts;   /* that are new */
	uint64_t doubtful; /* of refused: set aside, since their times cannot be */
	uint64_t late; /* began before what is kept (fleet/retention.h): nobody can tell whether they counted before */
};

struct ingest;

/* One transaction until ingest_commit(). say: what is refused, one line each. NULL with text. */
struct ingest *ingest_begin(struct fleet *f, void (*say)(void *context, const char *text), void *context,
			    struct error *e);
/* One record as text, which nobody vouches for; where: for messages. owner: the file's owner, who must be the record's
 * user unless that is hidden, or NULL. 0, also when it is refused; -errno when the database cannot go on. */
int ingest_record(struct ingest *g, const char *text, size_t len_bytes, const char *where, const char *owner,
		  struct error *e);
/* The same of an alert (fleet/alert.h). */
int ingest_alert(struct ingest *g, const char *text, size_t len_bytes, const char *where, const char *owner,
		 struct error *e);
/* All so far is on disk. 0 or -errno. */
int ingest_commit(struct ingest *g, struct error *e);
/* The same, and nobody waits for us until ingest_resume(), before which nothing is taken. */
int ingest_pause(struct ingest *g, struct error *e);
int ingest_resume(struct ingest *g, struct error *e);
struct ingest_counts ingest_counts(const struct ingest *g);
/* What was not committed is undone. NULL is fine. */
void ingest_end(struct ingest *g);
