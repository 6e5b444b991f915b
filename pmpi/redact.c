/* redact.c - see redact.h. */
#include "pmpi/redact.h"

#include "base/path.h"

#include <stdio.h>
#include <string.h>

/* Absolute, so that nobody looks for the file in the directory where the trace is analysed. */
#define NOWHERE "/-/"

bool redact_arguments, redact_paths, redact_hosts;

void redact_begin(const char *what)
{
	if (what == NULL)
		return;
	redact_paths |= strstr(what, "paths") != NULL;
	redact_hosts |= strstr(what, "hosts") != NULL;
	/* they hold paths and names of hosts as well */
	redact_arguments |= redact_paths || redact_hosts || strstr(what, "arguments") != NULL;
}

const char *redact_path(const char *path, char *to, size_t cap)
{
	if (!redact_paths)
		return path;
	snprintf(to, cap, NOWHERE "%s", path_name(path));
	return to;
}
