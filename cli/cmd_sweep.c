/* cmd_sweep.c - what no epilog has finished on this node; for a timer, or the administrator's hand. */
#include "base/path.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "spank/policy/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int parse(int argc, char **argv, struct config *c)
{
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 < argc && strcmp(argv[i], "--spool") == 0)
			snprintf(c->spool, sizeof(c->spool), "%s", argv[i + 1]);
		else if (i + 1 < argc && strcmp(argv[i], "--policy") == 0)
			snprintf(c->policy, sizeof(c->policy), "%s", argv[i + 1]);
		else
			return usage_error("sweep", "takes --spool DIR, --policy FILE and nothing else");
	}
	return -1;
}

static void say_error(void *context, const char *text)
{
	(void)context;
	fprintf(stderr, "mpitrace sweep: policy: %s\n", text);
}

/* The site's central directory, and how long results may lie there. "": there is none. */
static void take_central(const char *file, char ret_directory[PATH_MAX], uint64_t *ret_seconds)
{
	struct policy_errors errors = {.say = say_error};
	struct policy_facts nothing = {0};
	struct policy *p = NULL;
	ret_directory[0] = '\0';
	*ret_seconds = 0;
	if (policy_load(file, 0, &p, &errors) < 0)
		return;
	struct policy_decision d = policy_decide(p, &nothing);
	snprintf(ret_directory, PATH_MAX, "%s", policy_text(&d, POLICY_DIRECTORY));
	*ret_seconds = policy_number(&d, POLICY_RETENTION);
	policy_free(p);
}

static int sweep(int argc, char **argv)
{
	char warden[PATH_MAX + 32], self[PATH_MAX], directory[PATH_MAX], seconds[32];
	uint64_t retention_seconds;
	struct plugstack stack;
	plugstack_read(&stack);
	struct config *c = &stack.config;
	int code = parse(argc, argv, c);
	if (code >= 0)
		return code;
	if (geteuid() != 0) {
		fprintf(stderr, "mpitrace sweep: only root can sweep a node's spool\n");
		return EXIT_USAGE;
	}
	take_central(c->policy, directory, &retention_seconds);
	snprintf(seconds, sizeof(seconds), "%" PRIu64, retention_seconds);
	path_self(self, sizeof(self));
	snprintf(warden, sizeof(warden), "%s/mpitrace-warden", c->libexecdir);
	char *words[10] = {"mpitrace-warden", "sweep", c->spool, self};
	size_t at = 4;
	if (directory[0] != '\0') {
		words[at++] = directory;
		words[at++] = seconds;
	}
	if (c->policy[0] != '\0') { /* as spank/start.c: late reports leave records too */
		words[at++] = "--policy";
		words[at++] = c->policy;
	}
	execv(warden, words);
	fprintf(stderr, "mpitrace sweep: %s: cannot run it: %s\n", warden, strerror(errno));
	return EXIT_BAD_INPUT;
}

const struct command cmd_sweep = {"sweep", sweep,
				  "finish what no epilog on this node finished: runs, late reports, old traces",
				  "sweep [--spool DIR] [--policy FILE]"};
