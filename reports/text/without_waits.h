/* without_waits.h - how much of the time in MPI is in calls whose waiting is not analysed, beside the share of waiting.
 */
#pragma once

#include "base/json.h"

#define WITHOUT_WAITS_SAID 0.01 /* of the time in MPI: from there on it is said */

/* A share; 0 where it is too little to be said. */
static inline double without_waits_of(const cJSON *analysis)
{
	double share = json_number_or(json_item(analysis, "coverage"), "mpi_without_waits", 0);
	return share >= WITHOUT_WAITS_SAID ? share : 0;
}
