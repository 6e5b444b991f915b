/* on_path.h - where on the critical path calls were made. */
#pragma once

#include "postproc/stream/stream.h"

/* Add the time in calls of a piece to their sites, in ns, if all of them are of the window at hand or were open when it
 * began. False: nothing was added. */
bool on_path_now(const struct stream *st, const struct path_piece *piece, int64_t *site_ns);
/* The same of all of the critical path, with the events of the pieces that were not at hand decoded once more. 0 or
 * -ENOMEM. */
int on_path_sites(struct stream *st, int64_t *site_ns);
