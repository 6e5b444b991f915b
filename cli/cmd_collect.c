/* cmd_collect.c - the node agent; started by the Slurm plugin and by `mpitrace run`. */
#include "cli/cli.h"
#include "collect/agent.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int collect(int argc, char **argv)
{
	long watch = 0;
	struct error e = {""};
	char *end;
	bool given = argc == 3 && strcmp(argv[2], "--given") == 0;
	if (argc == 4 && strcmp(argv[2], "--watch") == 0) {
		watch = strtol(argv[3], &end, 10);
		if (*end != '\0' || watch <= 0)
			return usage_error("collect", "--watch needs a process id, not \"%.64s\"", argv[3]);
	} else if (argc != 2 && !given) {
		return usage_error("collect", "needs the step directory");
	}
	int rc = agent_run(argv[1], (pid_t)watch, given, &e);
	if (rc < 0)
		fprintf(stderr, "mpitrace collect: %s\n", e.text);
	return rc == 0 ? EXIT_DONE : rc == -ENOENT || rc == -EBADMSG ? EXIT_BAD_INPUT : EXIT_PARTIAL;
}

const struct command cmd_collect = {"collect", collect,
				    "drain the traced processes of one step on this node into one .mpic",
				    "collect STEPDIR [--watch PID]"};
