/* alerts.h - alerts of steps that hang (fleet/alert.h) in the fleet's database, until the step's own record comes, or
 * none comes for so long that it is not known what became of it. */
#pragma once

#include "fleet/db.h"

#include <stddef.h>

#define ALERTS_KEPT_DAYS "30" /* in the database */
#define ALERTS_SHOWN_DAYS "7" /* as steps that hang now, when no record comes */

/* Take one, inside of the caller's transaction; one that is there, or whose step has a record, is passed over. owner:
 * of the file, who must be the alert's user unless that is hidden; NULL: nobody asks. *ret_why: what is wrong with it,
 * it is not taken then; else NULL. *ret_new: it was not there. 0, or -errno: the database cannot go on. */
int alerts_put(struct fleet *f, const char *text, size_t len_bytes, const char *owner, const char **ret_why,
	       bool *ret_new, struct error *e);
