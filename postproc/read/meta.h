/* meta.h - what META blocks say of a process or a node. */
#pragma once

#include "base/buf.h"
#include "base/budget.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Let what a later META of the same process or node says replace what is known of it. Takes newer over; false, and
 * nothing changes, when it is no object or both together have more than MPIC_META_KEYS_MAX keys. */
bool meta_supersede(cJSON **known, cJSON *newer);
/* The text of a META; NULL when it is none, or too much. */
cJSON *meta_parse(struct budget *kept, const struct buf *text);
