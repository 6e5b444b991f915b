/* take.h - records from an outbox into the state. */
#pragma once

#include "fleet/publish/seen.h"
#include "fleet/publish/state.h"

struct take_how {
	bool dry, account;
	void (*taken)(void *context); /* there is something to be sent while sacct is waited for; may be NULL */
	void *context;
};

/* All records below path for all destinations. What is refused is said on standard error. The outbox is stamped
 * (program.h) unless `dry`, or there is a file that may be readable later. Files that `seen` knows are not read again.
 * account: with what sacct knows of each (fleet/sources.h); while it is waited for, others have the caller's turn, and
 * alerts are taken. 0 or -errno with text. */
int publish_take(struct state *s, const struct destinations *all, const char *path, const struct take_how *how,
		 struct seen *seen, struct take_counts *counts, struct error *e);
