/* ended.h - how a job ended, in words. */
#pragma once

#include <cjson/cJSON.h>

#define ENDED_TEXT_MAX 96

/* Of an analysis: "failed (exit code 3)", "timeout, partial record"; record: what its record lacks, or "". Where
 * nobody tells how the job ended, a whole record is "completed". Returns text. */
const char *ended_text(const cJSON *analysis, const char *record, char ret_text[ENDED_TEXT_MAX]);
/* Of one with its events: "partial record", or "". */
const char *ended_record(const cJSON *analysis);
