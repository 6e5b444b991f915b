/* cpulist.c - see cpulist.h. */
#include "topology/cpulist.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

bool cpulist_has(const struct cpulist *list, unsigned cpu)
{
	return cpu <= CPULIST_CPU_MAX && (list->bits[cpu / 64] >> cpu % 64 & 1) != 0;
}

static void add(struct cpulist *list, unsigned cpu)
{
	if (cpulist_has(list, cpu))
		return;
	list->bits[cpu / 64] |= 1ull << cpu % 64;
	list->count++;
}

/* Read one number and step over it. */
static int number(const char **text, unsigned *ret_value)
{
	unsigned value = 0;
	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	for (; isdigit((unsigned char)**text); (*text)++) {
		value = value * 10 + (unsigned)(**text - '0');
		if (value > CPULIST_CPU_MAX)
			return -EINVAL;
	}
	*ret_value = value;
	return 0;
}

static int range(const char **text, struct cpulist *list)
{
	unsigned first, last;
	if (number(text, &first) < 0)
		return -EINVAL;
	last = first;
	if (**text == '-') {
		(*text)++;
		if (number(text, &last) < 0 || last < first)
			return -EINVAL;
	}
	for (unsigned cpu = first; cpu <= last; cpu++)
		add(list, cpu);
	return 0;
}

int cpulist_parse(const char *text, struct cpulist *ret_list)
{
	memset(ret_list, 0, sizeof(*ret_list));
	text += strspn(text, " \t\n");
	while (*text != '\0') {
		if (range(&text, ret_list) < 0)
			return -EINVAL;
		text += strspn(text, " \t\n");
		if (*text == '\0')
			break;
		if (*text++ != ',')
			return -EINVAL;
	}
	return 0;
}
