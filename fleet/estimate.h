/* estimate.h - what all jobs together say, into the database: nodes, changes of programs, their versions and sizes. */
#pragma once

#include "fleet/db.h"

/* Nothing is done when no job has come since the last time. 0 or -errno with text; then the old results stand. */
int fleet_estimate(struct fleet *f, struct error *e);
