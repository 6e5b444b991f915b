/* cmd_query_none.c - `mpitrace query` of a build without SQLite. */
#include "cli/cli.h"

#include <stdio.h>

static int query(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fputs("mpitrace query: this mpitrace was built without SQLite: install libsqlite3-dev and build again\n",
	      stderr);
	return EXIT_USAGE;
}

const struct command cmd_query = {"query", query, "ask a trace in SQL: not in this build, which has no SQLite",
				  "query"};
