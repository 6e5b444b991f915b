/* assembly.h - collective operations that some members have entered and not all have left, by communicator and place
 * in the order of its calls. */
#pragma once

#include "postproc/stream/sweep.h"

#include "base/slab.h"

/* One operation. Times: when the members' enter is, in the sweep's time and in the record's. */
struct assembly {
	struct assembly *link;
	uint32_t comm, channel, k;
	uint32_t entered, left, expected;
	uint32_t step, root_step; /* the highest of its members; of its root */
	double last, root;
	int64_t last_start_ns, root_start_ns;
	struct snapshot last_path, root_path;
	bool root_entered;
	uint32_t waiters;
};

struct assemblies {
	struct slab slab;
	struct assembly **table;
	size_t buckets, n;
};

struct assemblies assemblies_begin(void);
void assemblies_done(struct assemblies *all);
/* The open operation of an action, begun with that many members if new; NULL without memory. */
struct assembly *assembly_of(struct assemblies *all, const struct action *x, uint32_t expected);
/* All have left that one. */
void assembly_forget(struct assemblies *all, struct assembly *m);
