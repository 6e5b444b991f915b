/* sources.h - where records come from: files of an outbox, of many records a line each, traces, "-". */
#pragma once

#include "fleet/ingest.h"

#include <sys/stat.h>

/* Takes one record: text, its length, where it was, whose file (or NULL). Not 0 ends the walk and is returned. */
typedef int (*source_take)(void *context, const char *text, size_t len_bytes, const char *where, const char *owner,
			   struct error *e);

struct source_taker {
	source_take take;
	bool (*skip)(void *context, const struct stat *st); /* is a file of an outbox known already? May be NULL */
	void *context;
	void (*say)(void *context, const char *text); /* what could not be read */
	const char *version;			      /* of mpitrace, in records made of traces */
};

/* All records at path: a directory with all below it (*.job.json, job.mpix; links and other file systems' devices are
 * passed over), one .mpix, or a file of records, a line each; "-" is standard input. *ret_unread counts files that
 * could not be read, each said. 0, or -errno: what take() returned, or path is not there. */
int source_each(const char *path, const struct source_taker *t, uint64_t *ret_unread, struct error *e);
/* Remove the files of an outbox below path (or path itself) that were last changed before `until` (seconds since
 * 1970). */
int source_remove(const char *path, int64_t until, struct error *e);
