/* task.c - see task.h. In: the job's environment.  Out: LD_PRELOAD and MPITRACE_* in it. */
#include "spank/task.h"
#include "format/segment.h"
#include "spank/program.h"
#include "spank/redact.h"
#include "spank/submit.h"

#include <errno.h>
#include <fcntl.h>
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

/* The front of the tracer, and for each MPI library one behind it: as the user, and in the job's own mounts. */
static bool reads_tracer(const char *libdir, struct notice *n)
{
	static const char *const names[] = {TASK_TRACER, MPITRACE_TRACERS};
	char library[PATH_MAX + 32];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(library, sizeof(library), "%s/%s", libdir, names[i]);
		if (access(library, R_OK) == 0)
			continue;
		notice_set(n, i == 0 ? NOTICE_TRACER : NOTICE_FLAVOUR,
			   "%s: %s, as seen from inside of the job; set libdir= in plugstack.conf", library,
			   strerror(errno));
		if (i == 0)
			return false;
	}
	return true;
}

/* A container may have no spool in it. */
static void check_ranks(const char *ranks, struct notice *n)
{
	if (access(ranks, W_OK | X_OK) != 0)
		notice_set(n, NOTICE_SETUP, "%s: %s, as seen from inside of the job", ranks, strerror(errno));
}

/* Each task says the same, with a name of its own until it is whole. False: it cannot be said, and nothing may be
 * recorded. */
static bool forbid(const char *ranks, const struct request *r, struct notice *n)
{
	char text[FORBIDDEN_BYTES_MAX], names[64], path[PATH_MAX + 32], made[PATH_MAX + 64];
	int len = snprintf(text, sizeof(text), "%s%s\n", r->profile ? "profile," : "",
			   redact_names(r->site.redact, names));
	if (!r->profile && r->site.redact == 0)
		return true;
	snprintf(path, sizeof(path), "%s/" FORBIDDEN_FILENAME, ranks);
	snprintf(made, sizeof(made), "%s.%d", path, (int)getpid());
	int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool is_said = fd >= 0 && write(fd, text, (size_t)len) == len && rename(made, path) == 0;
	if (!is_said)
		notice_set(n, NOTICE_SETUP, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return is_said;
}

/* The agent need not wonder why. */
static void leave_unset(const struct step *s)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/ranks/" UNSET_FILENAME, s->dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

/* False: it is not. */
static bool set_tracer(spank_t sp, const char *library, const struct request *r, const struct step *s, struct notice *n)
{
	char ranks[PATH_MAX + 8], names[64];
	snprintf(ranks, sizeof(ranks), "%s/ranks", s->dir);
	check_ranks(ranks, n);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sl_unsetenv(sp, ours[i]); /* what a user has there is of no step of ours */
	if (!forbid(ranks, r, n))
		return false;
	preload_tracer(sp, library);
	sl_setenv(sp, "MPITRACE_DIR", ranks);
	if (r->profile)
		sl_setenv(sp, "MPITRACE_MODE", "profile");
	set_number(sp, "MPITRACE_BUDGET", r->budget_bytes);
	set_number(sp, "MPITRACE_STACK", r->stack);
	if (r->site.redact != 0)
		sl_setenv(sp, "MPITRACE_REDACT", redact_names(r->site.redact, names));
	return true;
}

void task_environment(spank_t sp, const struct config *c, const struct request *r, const struct step *s,
		      struct notice *n)
{
	char library[PATH_MAX + 32];
	uint32_t task = UINT32_MAX;
	snprintf(library, sizeof(library), "%s/" TASK_TRACER, c->libdir);
	sl_unsetenv(sp, SUBMIT_REPORTS);
	sl_unsetenv(sp, SUBMIT_UNHEARD);
	forget_outer(sp, library);
	bool speaks = s->leads && sl_number(sp, S_TASK_ID, &task) && task == 0;
	if (s->active && !(reads_tracer(c->libdir, n) && set_tracer(sp, library, r, s, n)))
		leave_unset(s);
	else if (s->active && speaks && s->step_id != STEP_BATCH)
		program_check(sp, n);
	notice_say_in_task(sp, n, s->node, s->job_id, s->step_id == STEP_BATCH, speaks);
}
