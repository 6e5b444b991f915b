/* html.h - the report: one analysed step as one HTML page, for the person who ran the job.
 * In: the analysis object ("mpitrace/analysis/1", as `mpitrace show --json` prints it), the trace.  Out: a page that
 * needs no network and no other file, at most HTML_BYTES_MAX long however many ranks there were. It is whole without
 * a script. Within HTML_CARRYING_BYTES_MAX it carries the viewer and the trace, or of a large one the places that its
 * links lead to, and its links open them. */
#pragma once

#include "base/error.h"

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stdio.h>

#define HTML_BYTES_MAX (2u << 20)
#define HTML_CARRYING_BYTES_MAX 5000000u /* with the viewer and the trace in it */
/* The analysis inside the page: the only element of this name, which no browser runs. */
#define HTML_DATA "<script type=\"application/json\" id=\"analysis\">"

/* Write the page to out (not closed). analysis_json is NUL-terminated and need not be trusted:
 * whatever is absent or of an unexpected type is left out of the page, whatever is a string is
 * escaped. 0; -EBADMSG when the text is not a JSON object; -ENOMEM. Whether out could be written, out knows. */
int html_report(const char *analysis_json, FILE *out, struct error *e);
/* What a page is made of: the analysis, changes since other runs (as below) or NULL, the path of the trace, for the
 * commands that the page names and to be carried, or NULL, and that of the viewer, or NULL: then nothing is carried. */
struct html_source {
	const char *analysis_json;
	const cJSON *diff;
	const char *trace, *viewer;
};
int html_report_of(const struct html_source *source, FILE *out, struct error *e);
/* The same with a section about what changed since other runs: an object "mpitrace/diff/1", of which this analysis is
 * the last run; NULL: without. */
int html_report_compared(const char *analysis_json, const cJSON *diff, FILE *out, struct error *e);
