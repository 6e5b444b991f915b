/* stepdir.h - the step directory as the agent and the finisher see it (docs/STEPDIR.md). */
#pragma once

#include "base/error.h"
#include "format/layout.h"

#include <stdbool.h>

/* Read STEPDIR/layout. 0, or -errno with text. */
int stepdir_layout(const char *stepdir, struct layout *ret_layout, struct error *e);
/* Is there an entry of that name in dir? */
bool stepdir_has(const char *dir, const char *name);
/* Somebody has removed it: nobody can say there that the step is over. */
bool stepdir_is_gone(const char *dir);
/* Create a file, with that text; NULL: empty. It takes the place of what has that name, a directory excepted. 0 or
 * -errno. */
int stepdir_mark(const char *dir, const char *name, const char *text);
