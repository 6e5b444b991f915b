/* on_path.h - where on the critical path calls were made. */
#pragma once

#include "postproc/stream/stream.h"

/* Decode the events of the path's pieces once more and add the time of calls to their sites, in ns. 0 or -ENOMEM. */
int on_path_sites(struct stream *st, int64_t *site_ns);
