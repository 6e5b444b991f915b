/* forget.h - everything of one user out of the database, when they ask for it. */
#pragma once

#include "fleet/db.h"

struct fleet_forgotten {
	uint64_t jobs, set_aside;
};

/* Remove each job of user, with its record, sums, what was set aside, and all texts that name them, so that no byte of
 * it stays in the file; then judge anew. *ret_n: how many there were. 0, -ESRCH: no such user, or -errno, with text. */
int fleet_forget(struct fleet *f, const char *user, struct fleet_forgotten *ret_n, struct error *e);
