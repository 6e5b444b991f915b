/* running.h - did the program go on when its record was read? Calls that were open then may well return. */
#pragma once

#include "base/json.h"

#include <stdbool.h>
#include <string.h>

/* A rank runs, and its file has no end mark. */
static inline bool was_running(const cJSON *analysis)
{
	bool cut = json_number_or(json_item(analysis, "coverage"), "files_without_end", 0) > 0;
	for (const cJSON *row = json_first(analysis, "per_rank"); cut && row != NULL; row = row->next)
		if (strcmp(json_text(row, "state", ""), "running") == 0)
			return true;
	return false;
}

/* "calls that ..." */
static inline const char *unreturned_phrase(const cJSON *analysis)
{
	return was_running(analysis) ? "were still open when this was read" : "never returned";
}
