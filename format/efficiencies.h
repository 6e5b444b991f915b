/* efficiencies.h - the efficiencies after POP, for all who compute, compare or show them. In: efficiencies.tab,
 * of which rows.py makes efficiency_rows. */
#pragma once

#include <stddef.h>

struct efficiency_row {
	const char *name, *title, *good, *low; /* at 0.80 or more; below it */
};

extern const struct efficiency_row efficiency_rows[];
extern const size_t efficiency_count;

/* Of a name that is in the table. */
const struct efficiency_row *efficiency_row(const char *name);
