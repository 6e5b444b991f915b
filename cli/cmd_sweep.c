/* cmd_sweep.c - what no epilog has finished on this node; for a timer, or the administrator's hand. */
#include "cli/cli.h"
#include "spank/config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int sweep(int argc, char **argv)
{
	char warden[PATH_MAX + 32], self[PATH_MAX];
	struct config c;
	config_parse(0, NULL, &c);
	if (argc == 3 && strcmp(argv[1], "--spool") == 0)
		snprintf(c.spool, sizeof(c.spool), "%s", argv[2]);
	else if (argc != 1)
		return usage_error("sweep", "takes --spool DIR and nothing else");
	if (geteuid() != 0) {
		fprintf(stderr, "mpitrace sweep: only root can sweep a node's spool\n");
		return EXIT_USAGE;
	}
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = '\0';
	snprintf(warden, sizeof(warden), "%s/mpitrace-warden", c.libexecdir);
	execl(warden, "mpitrace-warden", "sweep", c.spool, self, NULL);
	fprintf(stderr, "mpitrace sweep: %s: cannot run it: %s\n", warden, strerror(errno));
	return EXIT_BAD_INPUT;
}

const struct command cmd_sweep = {"sweep", sweep,
				  "finish on this node what no epilog finished: runs, late reports, old traces",
				  "sweep [--spool DIR]"};
