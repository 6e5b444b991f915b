/* drift.h - do a loop's iterations get longer or shorter, as the page and the terminal say it? */
#pragma once

#include "base/json.h"

#include <math.h>
#include <stdbool.h>

#define DRIFT_MIN 0.05 /* of their mean */
#define DRIFT_ERRORS 3

/* By more than they scatter: over n evenly spaced places the end of a fitted line is known to sqrt(12 / n) of the
 * deviation from it (Draper and Smith, Applied Regression Analysis, 1.4). */
static inline bool drift_is_seen(const cJSON *phases)
{
	double n = json_number(phases, "iterations"), error = json_number(phases, "deviation") * sqrt(12 / n);
	return fabs(json_number(phases, "drift")) >= fmax(DRIFT_MIN, DRIFT_ERRORS * error);
}
