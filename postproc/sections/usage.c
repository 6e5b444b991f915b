/* usage.c - "usage": memory and clock frequency of the nodes, as sampled while the step ran; see totals/usage.h.
 * Those of the ranks are in per_rank. */
#include "postproc/analysis.h"

#include <math.h>

double usage_of_node_hz(const struct analysis *a, uint32_t node)
{
	double cycles = 0, user_ns = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (a->step->ranks[r] != NULL && a->step->ranks[r]->node == node) {
			cycles += a->usage.ranks[r].cycles;
			user_ns += a->usage.ranks[r].user_ns;
		}
	return usage_frequency_hz(cycles, user_ns);
}

int analysis_usage(struct analysis *a)
{
	cJSON *o = json_object(a->root, "usage"), *nodes = json_array(o, "nodes");
	json_put_text(o, "counters_absent", a->usage.counters_absent);
	for (uint32_t i = 0; i < a->step->nodes.n; i++) {
		const struct node_usage *n = &a->usage.nodes[i];
		bool limited = n->limit_bytes > 0;
		cJSON *row = json_row(nodes);
		json_put_text(row, "node", a->step->nodes.at[i].name);
		json_put_null_or(row, "frequency_hz", usage_of_node_hz(a, i));
		json_put_null_or(row, "memory_limit_bytes", limited ? n->limit_bytes : NAN);
		json_put_null_or(row, "memory_most_bytes", limited ? n->used_most_bytes : NAN);
		json_put_null_or(row, "memory_first_bytes", limited ? n->used_first_bytes : NAN);
		json_put_null_or(row, "memory_most_at_s",
				 limited ? (double)n->most_ns / 1e9 - a->step->realtime_start_s : NAN);
	}
	return 0;
}
