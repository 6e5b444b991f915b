/* issues.c - see issues.h. */
#include "format/issues.h"

#include <string.h>

const struct issue_row *issue_row(const char *name)
{
	for (size_t i = 0; i < issue_count; i++)
		if (strcmp(issue_rows[i].name, name) == 0)
			return &issue_rows[i];
	return NULL;
}

const char *issue_phrase(const char *name)
{
	const struct issue_row *row = issue_row(name);
	return row != NULL ? row->phrase : NULL;
}

bool issue_is_wrong(const char *name)
{
	const struct issue_row *row = issue_row(name);
	return row != NULL && row->wrong;
}
