/* cpulist.h - the kernel's list format for CPUs: "0-3,8"
 * (Documentation/admin-guide/cputopology.rst). */
#pragma once

#include <stdbool.h>

#define CPULIST_CPU_MAX 65535u
#define CPULIST_WORDS ((CPULIST_CPU_MAX + 1) / 64)

struct cpulist {
	unsigned long long bits[CPULIST_WORDS];
	unsigned count;
};

/* Parse text; blanks at the end are allowed, an empty list is empty. 0, or -EINVAL. */
int cpulist_parse(const char *text, struct cpulist *ret_list);
bool cpulist_has(const struct cpulist *list, unsigned cpu);
