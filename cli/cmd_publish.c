/* cmd_publish.c - `mpitrace publish`: mpitrace-publish does it (fleet/publish/main.c). */
#include "cli/cli.h"
#include "fleet/publish/program.h"

static int publish(int argc, char **argv)
{
	(void)argc;
	return exec_beside(PUBLISH_PROGRAM, "fleet/publish", argv);
}

const struct command cmd_publish = {"publish", publish, PUBLISH_SUMMARY, PUBLISH_USAGE};
