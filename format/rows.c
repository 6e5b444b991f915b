/* rows.c - rows by name: see issues.h, waits.h, efficiencies.h. */
#include "format/efficiencies.h"
#include "format/issues.h"
#include "format/waits.h"

#include <string.h>

#define ROW_NAMED(rows, n, wanted) \
	for (size_t i_ = 0; i_ < (n); i_++) \
		if (strcmp((rows)[i_].name, wanted) == 0) \
			return &(rows)[i_]; \
	return NULL

const struct issue_row *issue_row(const char *name)
{
	ROW_NAMED(issue_rows, issue_count, name);
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

const struct wait_kind *wait_kind(const char *name)
{
	ROW_NAMED(wait_kinds, 1 + WAIT_KINDS, name);
}

const struct efficiency_row *efficiency_row(const char *name)
{
	ROW_NAMED(efficiency_rows, efficiency_count, name);
}
