/* cmd_view.c - `mpitrace view`: mpitrace-web serves it (web/view.c). */
#include "cli/cli.h"
#include "web/programs.h"

static int view(int argc, char **argv)
{
	(void)argc;
	return exec_beside(WEB_PROGRAM, "web", argv);
}

const struct command cmd_view = {"view", view, VIEW_SUMMARY, VIEW_USAGE};
