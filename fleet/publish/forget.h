/* forget.h - what a user has at each destination, removed when they ask for it. */
#pragma once

#include "fleet/publish/link.h"
#include "fleet/publish/state.h"

#include <stdio.h>

/* What waits for it, is dead, or known, of the records of user. 0 or -errno. */
int publish_forget_here(struct state *s, const char *user, struct error *e);
/* What it has got of them. What became of it is a line on `to`. EXIT_DONE: nothing of theirs is
 * there; EXIT_PARTIAL: only who runs it can remove it; EXIT_LATER: not now. */
int publish_forget_there(struct state *s, const struct destination *d, struct link *l, const char *user, FILE *to);
