/* command.h - a subcommand of one of our programs: its words, its exit codes. A program has a table of rows
 * (cli/main.c, reports/web/main.c, fleet/publish/main.c) and compiles command.c, which looks there for usages. */
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
