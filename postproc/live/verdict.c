/* verdict.c - what was found out about a step while it runs is kept beside its traces, for its report: a file
 * `mpitrace-verdict` in the directory of the step, lines of a word and the rest (docs/STEPDIR.md). It goes when a later
 * look finds that the step goes on. In: a snapshot.  Out: that file, read by postproc/read/verdict.c. */
#include "postproc/live/snapshot.h"

#include "base/atomic_file.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERDICTS_MAX 8u
#define NAMED_MAX 64u

/* Of a step's directory that is ours: true, and the file's path. */
static bool place_of(const char *path, char ret_file[PATH_MAX])
{
	char real[PATH_MAX];
	struct stat st;
	if (realpath(path, real) == NULL || stat(real, &st) != 0)
		return false;
	char *slash = strrchr(real, '/');
	if (!S_ISDIR(st.st_mode) && slash != NULL)
		*slash = '\0';
	const char *name = strrchr(real, '/');
	bool step = name != NULL && strncmp(name + 1, "step-", 5) == 0;
	return step && stat(real, &st) == 0 && st.st_uid == geteuid() &&
	       snprintf(ret_file, PATH_MAX, "%s/mpitrace-verdict", real) < PATH_MAX;
}

/* Which deadlocks these are: so the file is written once. Never 0. */
static uint64_t key_of(const struct snapshot *l)
{
	uint64_t key = 1;
	for (size_t i = 0; i < l->cores.at.n; i++)
		for (size_t k = 0; k < l->cores.at.at[i].members.n; k++)
			key = key * 1099511628211ull + l->cores.at.at[i].members.at[k].rank + 2;
	return key != 0 ? key : 1;
}

/* Since the last of them came to its call. */
static double since_of(const struct snapshot *l, const struct core *c)
{
	double since_s = INFINITY;
	for (size_t i = 0; i < c->members.n; i++) {
		double s = l->states.out.threads.at[c->members.at[i].thread].since_s;
		since_s = s < since_s ? s : since_s;
	}
	return (double)l->realtime_ns / 1e9 - (isfinite(since_s) ? since_s : 0);
}

/* Of who is in MPI, since the last of them came to its call. */
static double since_all(const struct snapshot *l)
{
	double since_s = INFINITY;
	for (size_t r = 0; r < l->ranks.n; r++)
		if (l->ranks.at[r].state == LIVE_MPI)
			since_s = fmin(since_s, l->ranks.at[r].since_s);
	return (double)l->realtime_ns / 1e9 - (isfinite(since_s) ? since_s : 0);
}

/* Stopped by a signal or a debugger, or where no signal reaches it: frozen with its control group, as Slurm suspends
 * jobs, or in the file system. */
bool verdict_holds(const struct live_thread *t)
{
	return t->has_system && t->system.run_state != 0 && strchr("TtD", t->system.run_state) != NULL;
}

bool verdict_is_held(const struct snapshot *l)
{
	for (size_t r = 0; r < l->ranks.n; r++) {
		const struct live_process *p = l->ranks.at[r].state != LIVE_ENDED ? l->ranks.at[r].process : NULL;
		for (size_t i = 0; p != NULL && i < p->threads.n; i++)
			if (verdict_holds(&p->threads.at[i]))
				return true;
	}
	return false;
}

/* Who is in MPI_Init may wait for whoever has not called it, and for nobody else. */
bool verdict_starts_not(const struct starting *x, double after_s)
{
	return x->inside > 0 && x->wanted > 0 && x->called >= x->wanted && !x->held && x->now - x->since >= after_s;
}

bool verdict_hangs(const struct snapshot *l, double after_s, double *ret_since, uint64_t *ret_key)
{
	double now = (double)l->realtime_ns / 1e9;
	if (!l->stuck || verdict_is_held(l))
		return false;
	*ret_since = l->cores.at.n > 0 ? since_of(l, &l->cores.at.at[0]) : since_all(l);
	*ret_key = key_of(l);
	return now - *ret_since >= after_s;
}

static void put_text(FILE *f, const char *text)
{
	for (; text != NULL && *text != '\0'; text++)
		putc((unsigned char)*text < ' ' ? ' ' : *text, f);
}

static void put_core(FILE *f, const struct snapshot *l, const struct core *c)
{
	char *why = live_why(l, c);
	fprintf(f, "deadlock %.3f\nranks", since_of(l, c));
	for (size_t i = 0; i < c->members.n && i < NAMED_MAX; i++)
		fprintf(f, " %u", c->members.at[i].rank);
	fputs("\nwhy ", f);
	put_text(f, why);
	putc('\n', f);
	free(why);
}

void verdict_keep(const struct snapshot *l, const char *path, uint64_t *kept)
{
	struct atomic_file f;
	char file[PATH_MAX];
	uint64_t key = l->cores.at.n > 0 ? key_of(l) : 0;
	if (l->over || key == *kept || !place_of(path, file))
		return;
	*kept = key;
	if (key == 0) {
		unlink(file);
		return;
	}
	if (atomic_file_open(&f, file, NULL) < 0)
		return;
	f.unsynced = true;
	for (size_t i = 0; i < l->cores.at.n && i < VERDICTS_MAX; i++)
		put_core(f.stream, l, &l->cores.at.at[i]);
	if (atomic_file_commit(&f, NULL) < 0)
		atomic_file_abandon(&f);
}
