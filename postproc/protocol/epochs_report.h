/* epochs_report.h - what is said of a run's epochs: the member `epochs` of the analysis object. */
#pragma once

#include "base/json.h"
#include "format/mpix.h"
#include "postproc/protocol/epochs.h"

#define EPOCHS_LISTED_MAX 10000u   /* epochs in the list */
#define EPOCHS_WORST 10u	   /* those that need most buffers */
#define EPOCH_RECEIVERS_LISTED 16u /* of one epoch, those with most messages */
#define EPOCH_RANKS_LISTED 1024u
#define EPOCHS_SPANS_LISTED 200000u /* of all epochs in the list together */
#define EPOCH_BUDGETS_MAX 16u
#define SUPER_RUNS_LISTED 10000u

struct epochs_report;

/* budgets: buffers that the super epochs may need at most, ascending. NULL without memory. */
struct epochs_report *epochs_report_create(const uint64_t *budgets, unsigned n);
/* The callback of epochs_create(); context is the report. */
int epochs_report_add(void *report, const struct epoch *epoch);
/* All of it, as a new object that belongs to the caller; NULL without memory. */
cJSON *epochs_report_json(struct epochs_report *r);
void epochs_report_destroy(struct epochs_report *r);

/* The same for a trace. analysis: its analysis object, for members of communicators. 0, or -errno with text. */
int epochs_of_trace(struct mpix_file *f, const char *path, const cJSON *analysis, const uint64_t *budgets, unsigned n,
		    cJSON **ret_epochs, struct error *e);
