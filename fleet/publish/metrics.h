/* metrics.h - how it stands, for the site's monitoring. */
#pragma once

#include "fleet/publish/state.h"

/* Put it into path, a new file in place of the old, in Prometheus' text format: for the textfile collector of its node
 * exporter, whose files end in .prom. taken: since this program began. 0 or -errno with text. */
int publish_metrics(const char *path, struct state *s, const struct destinations *all, const struct take_counts *taken,
		    struct error *e);
