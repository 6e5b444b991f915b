/* show.h - what `mpitrace show` and `mpitrace diff` print. */
#pragma once

#include "format/mpix.h"

#include <cjson/cJSON.h>

/* The summary for people, on stdout. */
void show_summary(const cJSON *analysis, const struct mpix_info *info);

/* What changed, for people, on stdout: an object "mpitrace/diff/1". */
void show_diff(const cJSON *diff);

struct event_choice {
	long rank; /* -1: all */
	int64_t from_ns, to_ns;
	unsigned long long limit;
	int json;
};

/* The calls chosen, as a table or as a JSON array of one object a line. 0, or a negative errno with
 * text. */
int show_events(struct mpix_file *f, const cJSON *analysis, const struct event_choice *choice, struct error *e);
