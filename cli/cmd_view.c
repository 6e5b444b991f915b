/* cmd_view.c - `mpitrace view`: mpitrace-web serves it (reports/web/view.c). */
#include "cli/cli.h"
#include "reports/web/programs.h"

static int view(int argc, char **argv)
{
	(void)argc;
	return exec_beside(WEB_PROGRAM, "fleet", argv);
}

const struct command cmd_view = {"view", view, VIEW_SUMMARY, VIEW_USAGE};
