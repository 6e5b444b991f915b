/* unknown.h - what "coverage" says of an analysis from totals; of others nothing. */
#pragma once

#include "postproc/analysis.h"

/* Note as reasons how many events were not looked at, and what totals do not tell for it. */
void unknown_explain(struct analysis *a);
/* The same as numbers. a->as_wanted is known. */
void unknown_put(const struct analysis *a, cJSON *coverage);
