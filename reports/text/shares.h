/* shares.h - what rows of an analysis have of the whole, for the page and the terminal alike. */
#pragma once

#include "base/json.h"
#include "format/sig.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static inline bool op_in_region(const cJSON *op)
{
	return !op_is_outside_region(json_text(op, "op", "?"));
}

#define DELAY_SHARE_MIN 0.005 /* of all that was waited: rows below it are only counted */

/* What others waited for it, seconds. */
static inline double delay_cost(const cJSON *row)
{
	return fmax(json_number(row, "direct_s"), 0) + fmax(json_number(row, "indirect_s"), 0);
}
