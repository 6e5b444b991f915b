/* clock.c - "clock": how times of different nodes were made comparable, and how far they can
 * be wrong. */
#include "postproc/analysis.h"

#include <math.h>

int analysis_clock(struct analysis *a)
{
	const struct clock_result *r = &a->clock;
	cJSON *c = json_object(a->root, "clock");
	json_put_text(c, "method", r->method);
	json_put_null_or(c, "error_bound_us", r->error_bound_ns / 1e3);
	json_put(c, "violations", (double)r->violations);
	json_put(c, "violations_repaired", (double)r->violations_repaired);
	json_put(c, "events_moved", (double)r->events_moved);
	json_put(c, "largest_violation_us", (double)r->largest_ns / 1e3);
	json_put(c, "nodes_unlinked", r->nodes_unlinked);
	return 0;
}
