/* carried.h - the viewer and the trace inside the page, for whoever has only the page: packed texts that no browser
 * runs or reads before somebody follows a link into the trace.
 * In: viewer.html and an .mpix.  Out: two inert elements, and what the policy must allow for them. */
#pragma once

#include "base/buf.h"
#include "reports/html/page.h"

#define CARRIED_POLICY 512

struct carried {
	struct buf viewer; /* deflated */
	struct buf trace;  /* as it is: its chunks are deflated */
	const char *name;  /* of the trace; not owned */
	/* hashes that the viewer's own policy allows */
	char scripts[CARRIED_POLICY], styles[CARRIED_POLICY];
};

/* 0; -E2BIG: the trace alone is too large; else -errno: not both are there and readable. Paths may be NULL. */
int carried_load(struct carried *c, const char *viewer, const char *trace, size_t bytes_max);
void carried_done(struct carried *c);
/* What it adds to a page. */
size_t carried_bytes(const struct carried *c);
/* The directives of the page's policy. */
void carried_put_policy(struct page *p);
/* The two elements, and the script that opens them. */
void carried_write(struct page *p);
