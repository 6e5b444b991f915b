/* programs.h - the subcommands that `mpitrace-web` runs, and their words, which `mpitrace` says too. `mpitrace` itself is not
 * linked with a server: it is each node's agent as well, and every library that it loads is loaded there. */
#pragma once

#define WEB_PROGRAM "mpitrace-web"

#define VIEW_SUMMARY "look at a trace in the browser"
#define VIEW_USAGE "view FILE.mpix [OTHER.mpix] [--port P] [--no-browser] [--rank R] [--from S] [--to S]"

#define WEB_PROGRAMS(ROW) \
	ROW(view) \
	/* one row a subcommand */
