/* cli.h - the subcommands of `mpitrace`. One file each (cmd_<name>.c), one row each in main.c. */
#pragma once

#include "base/command.h"

#include <stdbool.h>
#include <stddef.h>

/* Of the analysis that this process has made: is more missing than the ends of ranks that died? */
bool analyze_lost(void);

/* The preloaded tracer. Static storage. */
const char *tracer_path(void);
/* A library of ours that one of its kind needs: beside this program in a build tree, else where it was installed. */
void library_path(char *ret_path, size_t cap_bytes, const char *room, const char *name, const char *flavour);

/* Before a program of our caller's: what it inherits is as ours was (umask, SIGXFSZ, SIGCHLD). */
void as_called(void);

/* Become a program of ours that is one by itself, since it needs libraries that most of us do not: argv[0] is the
 * subcommand. room: where it lies in a build tree. Returns an exit code when it cannot, having said why. */
int exec_beside(const char *program, const char *room, char **argv);

#define COMMANDS(ROW) \
	ROW(analyze) \
	ROW(check) \
	ROW(collect) \
	ROW(diff) \
	ROW(doctor) \
	ROW(export) \
	ROW(finish) \
	ROW(fleet) \
	ROW(import) \
	ROW(live) \
	ROW(publish) \
	ROW(query) \
	ROW(record) \
	ROW(report) \
	ROW(run) \
	ROW(show) \
	ROW(sweep) \
	ROW(topology) \
	ROW(view) \
	ROW(whatif) \
	/* one row a subcommand */

#define DECLARE(name) extern const struct command cmd_##name;
COMMANDS(DECLARE)
#undef DECLARE
