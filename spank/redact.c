/* redact.c - see redact.h. In: the layout of a step, and the site's word.  Out: the layout without it; the agent and
 * the tracer, which know more, obey the key `redact`. */
#include "spank/redact.h"
#include "base/path.h"
#include "base/siphash.h"
#include "base/slurp.h"
#include "spank/policy/policy.h"

#include <stdio.h>
#include <string.h>

const char *redact_names(unsigned what, char ret_text[64])
{
	snprintf(ret_text, 64, "%s%s%s", what & POLICY_REDACT_ARGUMENTS ? ",arguments" : "",
		 what & POLICY_REDACT_PATHS ? ",paths" : "", what & POLICY_REDACT_HOSTS ? ",hosts" : "");
	memmove(ret_text, ret_text + (*ret_text == ','), strlen(ret_text) + (*ret_text != ','));
	return ret_text;
}

/* The key is the machine's id, 32 digits that its own users can read and nobody else (machine-id(5)): who has only the
 * traces neither finds the host by trying names nor sees that two jobs ran on one. */
static void stand_in(const char *host, uint32_t job, char ret_name[32])
{
	char id[64], text[1024];
	uint8_t key[SIPHASH_KEY_BYTES] = {0};
	slurp("/etc/machine-id", id, sizeof(id));
	for (size_t i = 0; i < sizeof(key) && sscanf(id + 2 * i, "%2hhx", &key[i]) == 1;)
		i++;
	int n = snprintf(text, sizeof(text), "%u %.1000s", job, host);
	snprintf(ret_name, 32, "h%08x", (unsigned)(uint32_t)siphash(key, text, (size_t)n));
}

static void redact_hosts(struct layout *l, uint32_t job)
{
	char name[32], switches[2048];
	stand_in(layout_text(l, LAYOUT_NODE), job, name);
	snprintf(switches, sizeof(switches), "%s", layout_text(l, LAYOUT_SWITCHES));
	/* "spine.leaf1.n1 switch.switch.node": the node is the last component of the first word */
	char *blank = strchr(switches, ' '), *dot;
	if (blank != NULL) {
		*blank = '\0';
		dot = strrchr(switches, '.');
		if (dot != NULL)
			*dot = '\0';
		char joined[2200];
		snprintf(joined, sizeof(joined), "%s%s%s %s", dot != NULL ? switches : "", dot != NULL ? "." : "", name,
			 blank + 1);
		layout_set(l, LAYOUT_SWITCHES, joined);
	}
	layout_set(l, LAYOUT_NODE, name);
	layout_set(l, LAYOUT_NODELIST, "");
}

static void redact_paths(struct layout *l)
{
	char program[1024];
	snprintf(program, sizeof(program), "%s", path_name(layout_text(l, LAYOUT_PROGRAM)));
	layout_set(l, LAYOUT_PROGRAM, program);
	layout_set(l, LAYOUT_SUBMIT, "");
}

/* Arguments hold paths and names of hosts as well, so any redaction takes them out. */
void redact_layout(struct layout *l, unsigned what, uint32_t job)
{
	if (what == 0)
		return;
	if ((what & POLICY_REDACT_HOSTS) != 0)
		redact_hosts(l, job);
	if ((what & POLICY_REDACT_PATHS) != 0)
		redact_paths(l);
	char *argv[] = {(char[1024]){""}};
	snprintf(argv[0], 1024, "%s", layout_text(l, LAYOUT_PROGRAM));
	layout_set_argv(l, argv, 1);
}
