/* command.c - what subcommands say of their arguments; see command.h. */
#include "base/command.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int usage_error(const char *command, const char *fmt, ...)
{
	const struct command *c = command_find(command);
	va_list ap;
	va_start(ap, fmt);
	fprintf(stderr, "mpitrace %s: ", command);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nusage: mpitrace %s\n", c != NULL ? c->usage : command);
	return EXIT_USAGE;
}

int option_seconds(const char *text, int64_t *ret_ns)
{
	char *end;
	double seconds = strtod(text, &end);
	if (end == text || *end != 0 || !isfinite(seconds) || seconds < 0 || seconds > 9e6)
		return -EINVAL;
	*ret_ns = (int64_t)llround(seconds * 1e9);
	return 0;
}
