/* cmd_fleet_none.c - `mpitrace fleet` of a build without SQLite. */
#include "cli/cli.h"

#include <stdio.h>

static int fleet(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fputs("mpitrace fleet: this mpitrace was built without SQLite: install libsqlite3-dev and build again\n",
	      stderr);
	return EXIT_USAGE;
}

const struct command cmd_fleet = {"fleet", fleet, "all jobs of a machine: not in this build, which has no SQLite",
				  "fleet"};
