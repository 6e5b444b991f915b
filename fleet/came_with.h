/* came_with.h - what came with a change of a program or a user: builds, MPI libraries and environment modules that
 * nearly all jobs since have, and nearly none had before. That need not be why. */
#pragma once

#include "fleet/changes.h"
#include "fleet/db.h"

#define CAME_JOBS 40	/* that are looked at on either side, those next to the change */
#define CAME_DAYS 60	/* they are looked for in, on either side */
#define CAME_LEAST 5	/* of which something is known on either side; fewer tell nothing */
#define CAME_SHARE 0.8	/* of them have it since then, */
#define CAME_BEFORE 0.2 /* and at most so many had it before */

/* Into `change_with`, inside of the caller's transaction; the scan is that of which the changes are. 0 or -errno with
 * text. */
int came_with_keep(struct fleet *f, const struct scan *s, const change_list *list, struct error *e);
