/* cli.h - the subcommands of `mpitrace`. One file each (cmd_<name>.c), one row each in main.c. */
#pragma once

#include <stdint.h>

/* Exit codes, the same for every subcommand. */
enum exit_code {
	EXIT_DONE = 0,
	EXIT_ISSUES = 1,
	EXIT_USAGE = 2,
	EXIT_BAD_INPUT = 3,
	EXIT_PARTIAL = 4,
	EXIT_LATER = 5,	 /* nothing is lost, and somebody has to do it yet */
	EXIT_QUEUED = 6, /* a job will do it */
};

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the subcommand's name; returns an enum exit_code */
	const char *summary;
	const char *usage;
};

/* Print "mpitrace NAME: text" and the usage line; returns EXIT_USAGE. */
int usage_error(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The value of an option: seconds, not negative and below 104 days, as nanoseconds. 0 or -EINVAL. */
int option_seconds(const char *text, int64_t *ret_ns);

/* The row of a subcommand by name, or NULL. */
const struct command *command_find(const char *name);

/* The preloaded tracer. Static storage. */
const char *tracer_path(void);

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
	ROW(record) \
	ROW(report) \
	ROW(run) \
	ROW(show) \
	ROW(sweep) \
	ROW(topology) \
	ROW(view) \
	/* one row a subcommand */

#define DECLARE(name) extern const struct command cmd_##name;
COMMANDS(DECLARE)
#undef DECLARE
