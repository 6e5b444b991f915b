/* switches.h - the switches above a node, as every part and issue sees them. */
#pragma once

#include "postproc/read/step.h"

/* {"path", "kinds", "node"} as topo_switches() gives it; empty lists where nothing is known. The caller deletes it. */
cJSON *switches_of(const struct step *s, uint32_t node);
