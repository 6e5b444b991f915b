/* carried.h - the viewer and the trace inside the page, for whoever has only the page: packed texts that no browser
 * runs or reads before somebody follows a link into the trace.
 * In: viewer.html and an .mpix, all of it or, if that is too large, what the page's links lead to.  Out: two inert
 * elements, and what the policy must allow for them. */
#pragma once

#include "base/buf.h"
#include "format/mpix_excerpt.h"
#include "reports/html/page.h"

#define CARRIED_POLICY 512

struct carried {
	struct buf viewer;	   /* deflated */
	struct buf trace;	   /* as it is: its chunks are deflated; of a part, its ranges one behind the other */
	struct mpix_bytes *ranges; /* where they stand in the file; NULL: all of it is there */
	size_t nranges;
	uint64_t bytes;		 /* of the file */
	const char *path, *name; /* of the trace; not owned */
	/* hashes that the viewer's own policy allows */
	char scripts[CARRIED_POLICY], styles[CARRIED_POLICY];
};

/* 0, or -errno: not both are there and readable. Paths may be NULL. To be given to carried_done() in either case. */
int carried_load(struct carried *c, const char *viewer, const char *trace);
/* The trace, or of one that is larger what the places need and what else there is room for, so that what it adds to a
 * page is bytes_max or less. 0; -E2BIG: not even a part fits; or -errno. */
int carried_take(struct carried *c, const struct places *places, size_t bytes_max);
void carried_done(struct carried *c);
/* The directives of the page's policy. */
void carried_put_policy(struct page *p);
/* The two elements, and the script that opens them. */
void carried_write(struct page *p);
