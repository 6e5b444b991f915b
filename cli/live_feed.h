/* live_feed.h - `mpitrace live --socket`, `--port`. */
#pragma once

#include "postproc/live/feed.h"

/* Merge and serve until the job is over or a signal comes. Returns an exit code. */
int live_feed(const char *job_or_path, const struct feed_options *o, int64_t interval_ns);
