/* waits.h - the wait states: what all who find, store, show or count them know of each. In: waits.tab, of which
 * rows.py makes wait_kinds. */
#pragma once

#include "format/wait_names.h"

#include <stdbool.h>

/* LATE_SENDER ...: each is one less than the number that stands for it in an .mpix. */
#define WAIT_STATE(name) name,
enum wait_state { WAIT_STATE_ROWS(WAIT_STATE) WAIT_STATES };
#undef WAIT_STATE

struct wait_kind {
	const char *name, *title, *meaning;
	bool part; /* of another state: in no sum again */
};

/* By the number that stands for it in an .mpix: 0 is that no state is said. */
extern const struct wait_kind wait_kinds[1 + WAIT_KINDS];

/* NULL: no such state. */
const struct wait_kind *wait_kind(const char *name);
