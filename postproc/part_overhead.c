/* part_overhead.c - "overhead": what the tracing itself cost, as each process estimated it per
 * call. */
#include "postproc/analysis.h"

#include <math.h>

int part_overhead(struct analysis *a)
{
	double calls = 0, ns = 0, region = 0, share = NAN;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		if (p == NULL || isnan(p->overhead_ns))
			continue;
		calls += (double)a->ranks[r].calls;
		ns += (double)a->ranks[r].calls * p->overhead_ns;
		region += a->ranks[r].region_ns;
	}
	if (region > 0)
		share = ns / region;
	cJSON *o = json_object(a->root, "overhead");
	json_put_null_or(o, "ns_per_call", calls > 0 ? ns / calls : NAN);
	json_put_null_or(o, "share", share);
	return 0;
}
