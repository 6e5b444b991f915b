/* sources.h - where records come from: files of an outbox, of many records a line each, traces, "-". */
#pragma once

#include "fleet/ingest.h"

#include <sys/stat.h>

#define SOURCE_WAIT_S 900

/* Takes one record: text, its length, where it was, whose file (or NULL). Not 0 ends the walk and is returned. */
typedef int (*source_take)(void *context, const char *text, size_t len_bytes, const char *where, const char *owner,
			   struct error *e);

/* A question to sacct, which may take a minute: before it, each few seconds of it, behind it. */
enum source_asking { ASKING_BEGINS, ASKING_GOES_ON, ASKING_ENDS };

struct source_taker {
	source_take take;				    /* NULL: alerts alone */
	source_take alert;				    /* takes an alert of an outbox; may be NULL */
	bool (*skip)(void *context, const struct stat *st); /* is a file of an outbox known already? May be NULL */
	void *context;
	void (*say)(void *context, const char *text);	 /* what could not be read, */
	void (*unread)(void *context, const char *path); /* and the file that it was; may be NULL */
	uint64_t *later;       /* counts those of which that is no fault of who made it, and may pass; may be NULL */
	uint64_t *had_no_room; /* counts steps whose record had none; may be NULL */
	bool account;	       /* join what sacct knows (fleet/account.h): */
	uint64_t *waiting;     /* records of an outbox that Slurm's account is not complete for; they are taken when it
			    * is, or they are SOURCE_WAIT_S old */
	void (*waits)(void *context, const char *path);	       /* the file of each; both may be NULL */
	void (*asking)(void *context, enum source_asking how); /* may be NULL */
	const char *version;				       /* of mpitrace, in records made of traces */
};

/* All records at path: a directory with all below it (*.job.json, job.mpix; links and other file systems' devices are
 * passed over), or where all may write, as in an outbox, what lies in it itself (directories are said); one .mpix; or a
 * file of records, a line each; "-" is standard input. *ret_unread counts files that could not be read, each said. 0
 * or -errno: what take() returned, or path is not there. */
int source_each(const char *path, const struct source_taker *t, uint64_t *ret_unread, struct error *e);
/* Which files of an outbox go: those last changed before `until` (seconds since 1970) of which keep() says no. */
struct source_removal {
	int64_t until;
	bool (*keep)(void *context, const char *path, const struct stat *st); /* may be NULL */
	void *context;
};

/* Remove the files of an outbox below the directory path. 0 or -errno with text. */
int source_remove(const char *path, const struct source_removal *r, struct error *e);
