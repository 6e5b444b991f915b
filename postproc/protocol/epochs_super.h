/* epochs_super.h - consecutive epochs merged while the buffers that they need together stay within a budget. */
#pragma once

#include "base/vec.h"
#include "postproc/protocol/epochs.h"

#define SUPER_TURNS_MAX 65536u /* of the number in flight that are kept singly; before them the largest counts */

/* From ns on, so many messages are in flight. */
struct super_turn {
	int64_t ns;
	uint64_t level;
};

struct super_run {
	uint64_t first, last; /* epochs */
};

struct super_epochs {
	uint64_t budget;
	uint64_t count, over;			     /* how many; and that are one epoch which alone needs more */
	struct super_run run;			     /* the last one */
	uint64_t need;				     /* of it */
	VEC(struct super_turn) turns, merged, fresh; /* ascending time */
};

/* The next epoch. True: it begins a new run, and the one before is *ret_before; count is 1 more. 0 or 1, or -ENOMEM. */
int super_add(struct super_epochs *s, const struct epoch *epoch, struct super_run *ret_before);
void super_done(struct super_epochs *s);
