/* shares.h - what rows of an analysis have of the whole, for the page and the terminal alike. */
#pragma once

#include "base/json.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The traced region begins behind MPI_Init and ends before MPI_Finalize: these operations have no share of it. */
static inline bool op_in_region(const cJSON *op)
{
	const char *name = json_text(op, "op", "?");
	return strncmp(name, "MPI_Init", 8) != 0 && strcmp(name, "MPI_Finalize") != 0;
}

#define DELAY_SHARE_MIN 0.005 /* of all that was waited: rows below it are only counted */

/* What others waited for it, seconds. */
static inline double delay_cost(const cJSON *row)
{
	return fmax(json_number(row, "direct_s"), 0) + fmax(json_number(row, "indirect_s"), 0);
}
