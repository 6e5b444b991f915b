/* alert.h - the alert of a step that hangs while it runs, as JSON "mpitrace/alert/1" (docs/alert.schema.json), at most
 * ALERT_BYTES_MAX long. In: what `mpitrace live --json` says of it.  Out: one line of text; and what a reader takes of
 * one, which anybody may have written. */
#pragma once

#include "fleet/record.h"

#include <stdint.h>

#define ALERT_SCHEMA "mpitrace/alert/1"
#define ALERT_BYTES_MAX 4096u

/* Of a step that does not start: processes that do not come out of MPI_Init, of so many that have called it. */
struct alert_start {
	uint32_t inside, called;
	double since_s;
};

/* since: seconds since 1970, when the last of those that cannot go on came to its call; start: NULL, or it is MPI_Init.
 * The caller frees *ret_text. 0, -EBADMSG: live_json is none; -ENOMEM; -E2BIG. */
int alert_build(const char *live_json, const struct record_source *source, double since,
		const struct alert_start *start, char **ret_text, struct error *e);

/* What is counted of an alert; texts are those of its JSON. */
struct alert {
	const char *id, *cluster, *partition, *user;
	double since, time; /* seconds since 1970 */
};

/* NULL, or what is wrong with it, as in "is no alert". */
const char *alert_of(const cJSON *json, struct alert *ret_a);
