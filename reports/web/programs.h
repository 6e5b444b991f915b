/* programs.h - the subcommands that `mpitrace-web` runs, and their words, which `mpitrace` says too. `mpitrace`
 * itself is not linked with a server: it is each node's agent as well, and every library that it loads is loaded
 * there. */
#pragma once

#include "base/command.h"

#define WEB_PROGRAM "mpitrace-web"

#define VIEW_SUMMARY "look at a trace in the browser"
#define VIEW_USAGE "view FILE.mpix|JOB|DIR [OTHER...] [--port P] [--no-browser] [--rank R] [--from S] [--to S]"

#define LIVE_SUMMARY "what each rank of a running job is in, who waits for whom, deadlocks"
#define LIVE_USAGE \
	"live JOB|DIR [--once] [--json] [--interval S] [--socket PATH] [--port P] [--view [--no-browser] [--linger " \
	"S]] [--alert S [--policy FILE]]"

#define FLEET_SUMMARY "all jobs of a machine: collect their records, write or serve pages, ask"
#define FLEET_USAGE \
	"fleet ingest PATH... --db FILE [--keep DAYS] [--remove] [--sacct] [--topology FILE] | fleet report --db " \
	"FILE -o " \
	"DIR [--user NAME | " \
	"--public K] [--days N] [--jobs N] [--timing] | fleet serve --db FILE [--port P] [--user NAME] [--token-file " \
	"FILE [--user-header NAME " \
	"[--all USER] [--leads FILE] [--site-key FILE]]] [--host NAME] | fleet query SQL [--db FILE | --config FILE] " \
	"[--csv] [--json] " \
	"| fleet " \
	"monday --db FILE [--until DAY] [--url URL] [--json] | fleet forget --user NAME --db FILE | fleet " \
	"check --db FILE | fleet prune --keep DAYS --db FILE"

#ifdef HAVE_FLEET
#define FLEET_ROW(ROW) ROW(fleet)
#else
#define FLEET_ROW(ROW)
#endif

#define WEB_PROGRAMS(ROW) \
	ROW(live) \
	ROW(view) \
	FLEET_ROW(ROW) \
	/* one row a subcommand */

#define DECLARE_PROGRAM(name) extern const struct command cmd_##name;
WEB_PROGRAMS(DECLARE_PROGRAM)
#undef DECLARE_PROGRAM
