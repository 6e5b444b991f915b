/* show.h - what `mpitrace show` and `mpitrace diff` print. */
#pragma once

#include "format/mpix.h"

#include <stdbool.h>

#include <cjson/cJSON.h>

/* The summary for people, on stdout. path: of the trace, for the commands that it names. */
void show_summary(const cJSON *analysis, const struct mpix_info *info, const char *path);

/* What changed, for people, on stdout: an object "mpitrace/diff/1". */
void show_diff(const cJSON *diff);

/* Where ranks ran, for people, on stdout, 80 columns: the members `topology` and, unless NULL, `job` of an analysis.
 * all: every node, not only the first ones. */
void show_topology(const cJSON *topology, const cJSON *job, bool all);

struct event_choice {
	long rank; /* -1: all */
	int64_t from_ns, to_ns;
	unsigned long long limit;
	int json;
};

/* The calls chosen, as a table or as a JSON array of one object a line. 0, or a negative errno with
 * text. */
int show_events(struct mpix_file *f, const cJSON *analysis, const struct event_choice *choice, struct error *e);

#define SHOW_BUDGETS_MAX 16u

/* How many buffers super epochs may need. */
struct epoch_choice {
	uint64_t budgets[SHOW_BUDGETS_MAX];
	unsigned nbudgets;
};

/* The epochs of a trace, as text or as a JSON object with the member `epochs`. 0, or a negative errno with text. */
int show_epochs(struct mpix_file *f, const char *path, const cJSON *analysis, const struct epoch_choice *choice,
		bool json, struct error *e);
