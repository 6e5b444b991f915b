/* order.h - which issue is told first. */
#pragma once

#include "postproc/issues/issues.h"

/* Order of all[0 .. n): what stands still or dies, what is wrong, what costs time, what else is not in order. Of what
 * costs time the dearest goes first, but what explains another goes before it, and is its explained_by. ret_order holds
 * n; returns how many were found. */
size_t issues_order(const struct analysis *a, struct issue *all, size_t n, struct issue **ret_order);
