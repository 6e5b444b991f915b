/* metrics.h - how the fleet is, for Prometheus and whoever reads OpenMetrics: few series, none with a user's name. */
#pragma once

#include "fleet/db.h"

#include <stdio.h>

#define METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* All metrics as OpenMetrics 1.0 text, as fleet_estimate() left them. 0 or -errno with text. */
int fleet_metrics(struct fleet *f, FILE *out, struct error *e);
