/* forget.h - everything of one user out of the database, when they ask for it. */
#pragma once

#include "fleet/db.h"

/* Remove each job of user, with its record, sums, and all texts that name them, so that no byte of it stays in the
 * file; then judge anew. *ret_jobs: how many there were. 0, -ESRCH: no such user, or -errno, with text. */
int fleet_forget(struct fleet *f, const char *user, uint64_t *ret_jobs, struct error *e);
