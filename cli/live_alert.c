/* live_alert.c - see live_alert.h. In: the traces of a step that runs, every few seconds while a rank is in one call
 * for long.  Out: at most one alert. What reads traces opens the outbox first, and then can start and reach nothing. */
#include "cli/live_alert.h"
#include "cli/site_outbox.h"
#include "base/become.h"
#include "base/clock.h"
#include "base/command.h"
#include "fleet/alert.h"
#include "fleet/outbox.h"
#include "postproc/live/snapshot.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LOOK_NS 5000000000ll
#define REST_TIMES 10	 /* looks take a tenth of a processor at most */
#define ALERT_LEAST_S 10 /* collect/standstill.h: STANDSTILL_LEAST_S */
#define START_TIMES 2	 /* MPI_Init may take so many times as long as anything else */

struct alerting {
	double after_s;
	struct site_outbox outbox;
	struct snapshot before;
	uint64_t key;	 /* of those that could not go on at the look before; 0: none */
	double held_at;	 /* when somebody was last seen to be stopped, seconds since 1970 */
	bool starts_not; /* somebody did not come out of MPI_Init at the look before */
	double since;
};

enum found { FOUND_NOTHING, FOUND_WAITING, FOUND_HANGS };

/* Is anybody in one call for a quarter of the time? The agent says so of a half, and the last sample is older. */
static bool anybody_stands(const struct alerting *a, const struct snapshot *l)
{
	for (size_t r = 0; r < l->ranks.n; r++)
		if (l->ranks.at[r].state == LIVE_MPI && l->ranks.at[r].since_s >= a->after_s / 4)
			return true;
	return false;
}

/* It hangs when two looks say so of the same ranks; whoever was stopped meanwhile had no time to go on. */
static enum found detect_hang(struct alerting *a, const struct snapshot *l)
{
	double now = (double)l->realtime_ns / 1e9, since = 0;
	uint64_t key = 0;
	if (verdict_is_held(l))
		a->held_at = now;
	bool hangs = verdict_hangs(l, a->after_s, &since, &key) && now - a->held_at >= a->after_s;
	bool again = hangs && key == a->key;
	a->key = hangs ? key : 0;
	a->since = since;
	if (again)
		return FOUND_HANGS;
	return !l->over && (hangs || verdict_is_held(l) || anybody_stands(a, l)) ? FOUND_WAITING : FOUND_NOTHING;
}

/* live: what it is made of, ours to free; start: of a step that does not start, else NULL. */
static int leave(const struct alerting *a, char *live, double since, const struct alert_start *start, const char *node,
		 struct error *e)
{
	struct record_source source = {
		.user = a->outbox.user, .version = MPITRACE_VERSION, .without_paths = a->outbox.without_paths};
	char *text = NULL;
	int rc = live != NULL ? alert_build(live, &source, since, start, &text, e) : fail(e, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = outbox_put_alert(a->outbox.fd, node, text, e);
	free(live);
	free(text);
	return rc;
}

/* Who does not come out of MPI_Init has no rank yet. */
static int poll_startup(struct alerting *a, char *const *path, enum found *ret_found, struct error *e)
{
	struct starting x;
	int rc = snapshot_starting(path, 1, &x, e);
	if (rc < 0)
		return rc;
	if (x.held)
		a->held_at = x.now;
	bool hangs = verdict_starts_not(&x, START_TIMES * a->after_s) && x.now - a->held_at >= START_TIMES * a->after_s;
	if (hangs && a->starts_not) {
		*ret_found = FOUND_HANGS;
		struct alert_start start = {x.inside, x.called, x.now - x.since};
		rc = leave(a, x.live_json, x.since, &start, x.node, e);
		x.live_json = NULL;
	} else if (x.inside > 0 && x.now - x.since >= a->after_s / 4)
		*ret_found = FOUND_WAITING;
	a->starts_not = hangs;
	starting_done(&x);
	return rc;
}

static bool anybody_starts(const struct snapshot *l)
{
	for (size_t i = 0; i < l->nodes.n; i++)
		for (size_t k = 0; k < l->nodes.at[i].processes.n; k++)
			if (l->nodes.at[i].processes.at[k].seen &&
			    l->nodes.at[i].processes.at[k].state == SAMPLE_STARTING)
				return true;
	return false;
}

static int poll_ranks(struct alerting *a, char *const *path, bool *ret_starts, enum found *ret_found, struct error *e)
{
	struct snapshot l;
	int rc = snapshot(path, 1, &a->before, &l, e);
	snapshot_done(&a->before);
	a->before = (struct snapshot){0};
	*ret_starts = rc == -EAGAIN;
	if (rc < 0)
		return rc == -EAGAIN ? 0 : rc;
	*ret_starts = anybody_starts(&l);
	*ret_found = detect_hang(a, &l);
	if (*ret_found == FOUND_HANGS)
		rc = leave(a, live_json(&l), a->since, NULL, l.step.nodes.n > 0 ? l.step.nodes.at[0].name : "", e);
	a->before = l;
	return rc;
}

/* One look. */
static int poll_step(struct alerting *a, const char *what, enum found *ret_found, struct error *e)
{
	char path[PATH_MAX], *paths[] = {path};
	bool starts;
	int rc = find_step(what, path, e);
	*ret_found = FOUND_NOTHING;
	rc = rc == 0 ? poll_ranks(a, paths, &starts, ret_found, e) : rc;
	return rc == 0 && starts && *ret_found != FOUND_HANGS ? poll_startup(a, paths, ret_found, e) : rc;
}

static int begin(struct alerting *a, const char *policy_file, struct error *e)
{
	int rc = site_outbox_open(policy_file, &a->outbox, e);
	if (rc == 0 && a->outbox.fd < 0)
		rc = fail(e, -ENOENT, "the site's policy names no outbox");
	if (rc == 0 && outbox_is_full(a->outbox.fd))
		rc = fail(e, -ENOSPC, "outbox %s: its file system is nearly full", a->outbox.path);
	if (rc == 0)
		rc = site_outbox_user(&a->outbox, e);
	if (rc == 0)
		become_confined(CONFINED_THREADS);
	return rc;
}

/* How long a look takes says how busy the processors are, on which ranks that hang may spin, not what it costs. */
static void pause_between(int64_t took_ns, int64_t cpu_ns)
{
	int64_t ns = LOOK_NS > took_ns ? LOOK_NS : took_ns;
	ns = ns > cpu_ns * REST_TIMES ? ns : cpu_ns * REST_TIMES;
	nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

int live_alert(const char *what, double after_s, const char *policy_file)
{
	struct alerting a = {.after_s = after_s < ALERT_LEAST_S ? ALERT_LEAST_S : after_s};
	struct error e = {""};
	enum found found = FOUND_WAITING;
	int rc = begin(&a, policy_file, &e);
	while (rc == 0 && found == FOUND_WAITING) {
		int64_t began_ns = now_ns(), began_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		rc = poll_step(&a, what, &found, &e);
		if (rc == 0 && found == FOUND_WAITING)
			pause_between(now_ns() - began_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_cpu_ns);
	}
	snapshot_done(&a.before);
	site_outbox_done(&a.outbox);
	if (rc == -EAGAIN) /* the next look may find more */
		return EXIT_DONE;
	if (rc < 0)
		fprintf(stderr, "mpitrace live: no alert: %s\n", e.text);
	return rc < 0 ? EXIT_BAD_INPUT : found == FOUND_HANGS ? EXIT_ISSUES : EXIT_DONE;
}
