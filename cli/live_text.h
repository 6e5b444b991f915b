/* live_text.h - a look at a running job (live/look.h) as a page of text. */
#pragma once

#include "live/look.h"

/* To standard output, for a terminal of that many columns and lines; 0 lines: as many as it takes. */
void live_print(const struct look *l, unsigned columns, unsigned lines);
