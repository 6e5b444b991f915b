/* part_efficiency.c - "efficiency": the POP factors (SEMANTICS.md 4).
 * Load balance, communication and parallel efficiency need no common clock and are always there. */
#include "postproc/analysis.h"

#include <math.h>

int part_efficiency(struct analysis *a)
{
	double t = a->longest_region_ns, most = a->max_useful_ns, mean = a->mean_useful_ns;
	cJSON *e = json_object(a->root, "efficiency");
	json_put_null_or(e, "load_balance", most > 0 ? mean / most : NAN);
	json_put_null_or(e, "communication", t > 0 ? most / t : NAN);
	json_put_null_or(e, "parallel", t > 0 ? mean / t : NAN);
	json_put_null_or(e, "serialization", NAN);
	json_put_null_or(e, "transfer", NAN);
	json_put_text(e, "note", "serialization and transfer are not computed");
	json_put(e, "region_s", t / 1e9);
	json_put(e, "useful_max_s", most / 1e9);
	json_put(e, "useful_mean_s", mean / 1e9);
	return 0;
}
