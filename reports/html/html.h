/* html.h - the report: one analysed step as one static HTML page, for the person who ran the job.
 * In: the analysis object ("mpitrace/analysis/1", as `mpitrace show --json` prints it).  Out: a
 * page that needs no script, no network and no other file, at most HTML_BYTES_MAX long however many
 * ranks there were. */
#pragma once

#include "base/error.h"

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stdio.h>

#define HTML_BYTES_MAX (2u << 20)
/* The analysis inside the page: the only element of this name, which no browser runs. */
#define HTML_DATA "<script type=\"application/json\" id=\"analysis\">"

/* Write the page to out (not closed). analysis_json is NUL-terminated and need not be trusted:
 * whatever is absent or of an unexpected type is left out of the page, whatever is a string is
 * escaped. 0; -EBADMSG when the text is not a JSON object; -ENOMEM; -EIO when out cannot be
 * written. */
int html_report(const char *analysis_json, FILE *out, struct error *e);
/* What a page is made of: the analysis, changes since other runs (as below) or NULL, and the path of the trace, for
 * the commands that the page names, or NULL. */
struct html_source {
	const char *analysis_json;
	const cJSON *diff;
	const char *trace;
};
int html_report_of(const struct html_source *source, FILE *out, struct error *e);
/* The same with a section about what changed since other runs: an object "mpitrace/diff/1", of which this analysis is
 * the last run; NULL: without. */
int html_report_compared(const char *analysis_json, const cJSON *diff, FILE *out, struct error *e);
