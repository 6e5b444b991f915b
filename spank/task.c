/* task.c - see task.h. In: the job's environment.  Out: LD_PRELOAD and MPITRACE_* in it. */
#include "spank/task.h"
#include "spank/redact.h"
#include "spank/submit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const ours[] = {"MPITRACE_DIR", "MPITRACE_MODE", "MPITRACE_BUDGET", "MPITRACE_STACK",
				   "MPITRACE_REDACT"};

/* Is text[0..len) the path of our library? Entries of LD_PRELOAD end at a colon or a blank
 * (ld.so(8)). */
static bool is_tracer(const char *text, size_t len_bytes, const char *library)
{
	return len_bytes == strlen(library) && memcmp(text, library, len_bytes) == 0;
}

/* The user's LD_PRELOAD without our library; the rest byte for byte. NULL if memory is short. */
static char *without_tracer(const char *preload, const char *library)
{
	char *kept = calloc(1, strlen(preload) + 1), *end = kept;
	while (kept != NULL && *preload != '\0') {
		size_t entry = strcspn(preload, ": ");
		size_t separator = preload[entry] != '\0';
		if (!is_tracer(preload, entry, library))
			end = mempcpy(end, preload, entry + separator);
		preload += entry + separator;
	}
	return kept;
}

static void preload_tracer(spank_t sp, const char *library)
{
	const char *users = sl_env(sp, "LD_PRELOAD");
	char *kept = without_tracer(users != NULL ? users : "", library), *joined = NULL;
	if (kept == NULL)
		return;
	size_t n = strlen(kept);
	bool needs_colon = n > 0 && kept[n - 1] != ':' && kept[n - 1] != ' ';
	if (asprintf(&joined, "%s%s%s", kept, needs_colon ? ":" : "", library) >= 0) {
		sl_setenv(sp, "LD_PRELOAD", joined);
		free(joined);
	}
	free(kept);
}

static void set_number(spank_t sp, const char *name, uint64_t value)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	if (value != 0)
		sl_setenv(sp, name, text);
}

/* What a batch script that is itself traced hands down; of no use in a step of its own. */
static void forget_outer(spank_t sp, const char *library)
{
	const char *preload = sl_env(sp, "LD_PRELOAD");
	if (sl_env(sp, "MPITRACE_DIR") == NULL)
		return;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sl_unsetenv(sp, ours[i]);
	char *kept = preload != NULL ? without_tracer(preload, library) : NULL;
	if (kept == NULL)
		return;
	size_t n = strlen(kept);
	if (n > 0 && kept[n - 1] == ':')
		kept[n - 1] = '\0'; /* the separator that we put between */
	if (*kept != '\0')
		sl_setenv(sp, "LD_PRELOAD", kept);
	else
		sl_unsetenv(sp, "LD_PRELOAD");
	free(kept);
}

void task_environment(spank_t sp, const struct config *c, const struct request *r, const struct step *s)
{
	char library[PATH_MAX + 32], ranks[PATH_MAX + 8], names[64];
	uint32_t task;
	snprintf(library, sizeof(library), "%s/" TASK_TRACER, c->libdir);
	sl_unsetenv(sp, SUBMIT_REPORTS);
	forget_outer(sp, library);
	if (s->trouble[0] != '\0' && sl_number(sp, S_TASK_GLOBAL_ID, &task) && task == 0)
		dprintf(STDERR_FILENO, "%s", s->trouble);
	if (!s->active || access(library, R_OK) != 0)
		return;
	snprintf(ranks, sizeof(ranks), "%s/ranks", s->dir);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sl_unsetenv(sp, ours[i]); /* what a user has there is of no step of ours */
	preload_tracer(sp, library);
	sl_setenv(sp, "MPITRACE_DIR", ranks);
	if (r->profile)
		sl_setenv(sp, "MPITRACE_MODE", "profile");
	set_number(sp, "MPITRACE_BUDGET", r->budget_bytes);
	set_number(sp, "MPITRACE_STACK", r->stack);
	if (r->site.redact != 0)
		sl_setenv(sp, "MPITRACE_REDACT", redact_names(r->site.redact, names));
}
