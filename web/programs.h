/* programs.h - the subcommands that `mpitrace-web` runs, and their words, which `mpitrace` says too. `mpitrace`
 * itself is not linked with a server: it is each node's agent as well, and every library that it loads is loaded
 * there. */
#pragma once

#define WEB_PROGRAM "mpitrace-web"

#define VIEW_SUMMARY "look at a trace in the browser"
#define VIEW_USAGE "view FILE.mpix|JOB|DIR [OTHER.mpix] [--port P] [--no-browser] [--rank R] [--from S] [--to S]"

#define LIVE_SUMMARY "what each rank of a running job is in, who waits for whom, deadlocks"
#define LIVE_USAGE "live JOB|DIR [--once] [--json] [--interval S] [--socket PATH] [--port P] [--view [--no-browser]]"

#define WEB_PROGRAMS(ROW) \
	ROW(live) \
	ROW(view) \
	/* one row a subcommand */
