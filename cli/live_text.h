/* live_text.h - a look at a running job (postproc/live/snapshot.h) as a page of text. */
#pragma once

#include "postproc/live/snapshot.h"

struct live_page {
	unsigned columns, lines; /* of the terminal; 0 lines: as many as it takes */
	uint32_t first;		 /* rank that is shown first where not all have room */
	const char *keys;	 /* what they do, for the last line; NULL: none is heeded */
};

/* To standard output. Returns the rank that was shown first. */
uint32_t live_print(const struct snapshot *l, const struct live_page *p);
