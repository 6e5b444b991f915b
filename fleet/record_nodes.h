/* record_nodes.h - what each node of a step did beside the others: private to the record. */
#pragma once

#include <cjson/cJSON.h>

#include <stddef.h>

/* Add "nodelist", "deviation" and "nodes_left_out" to record. deviation: of each node in the list, in its order, the
 * mean useful time of its ranks over that of all ranks, minus 1: a node whose processors are slow has more. Of more
 * than max nodes, as many are taken at even distances, so that those left out are not the ordinary ones. The first is
 * rank 0's. Nothing is added when a rank is missing, or there is one node. */
void record_put_nodes(cJSON *record, const cJSON *analysis, size_t max);

/* Add "alloc_cpus" and "cpus_per_rank", as the kernel has bound the ranks; null where any two ranks of a node may use
 * the same processor, or it is not known. */
void record_put_processors(cJSON *record, const cJSON *analysis);
