/* changed.h - what became of a run, in a sentence or two, for the page and the terminal. In: the object of
 * postproc/compare/, not trusted. */
#pragma once

#include "base/json.h"
#include "base/units.h"

#define CHANGED_TEXT 400

/* Whether ranks computed or were in MPI longer, and how it scales where the numbers of ranks differ; "": not known.
 * as: fmt_words or fmt_plain. */
void changed_text(const cJSON *diff, struct fmt (*as)(struct fmt), char ret_text[CHANGED_TEXT]);
