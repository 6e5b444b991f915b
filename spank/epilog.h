/* epilog.h - when a job has left the node: let the agents finish, make the missing reports, remove
 * the spool. */
#pragma once

#include "spank/config.h"

#include <stdint.h>

/* Start a warden that does it all; returns at once. */
void epilog_begin(const struct config *c, uint32_t job_id);
