/* unfinished.c - a run that somebody ended before it had done what it was to do: no rank died by itself. Why, if Slurm
 * or who ran the launcher says so; what the ranks were in; how long nobody had advanced. */
#include "postproc/issues/issues.h"
#include "postproc/read/ends.h"
#include "postproc/read/exits.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define UNFINISHED_SEVERITY 0.95
#define PLACES_MAX 16u /* that are counted; the others are one */
#define PLACES_SAID 3u
#define MISSING_SAID 8u

/* "; the last 24.1 s nobody advanced", or "". */
static const char *hung_clause(const struct step *s, char ret_text[96])
{
	char hung[32];
	int64_t hung_ns = s->runtime_ns - s->advanced_ns;
	ret_text[0] = '\0';
	if (hung_ns > 0)
		snprintf(ret_text, 96, "; no rank advanced in the last %s", duration_text((double)hung_ns / 1e9, hung));
	return ret_text;
}

const char *hung_text(const struct step *s, char ret_text[128])
{
	char clause[96], ran[32];
	ret_text[0] = '\0';
	if (hung_clause(s, clause)[0] != '\0')
		snprintf(ret_text, 128, " The step ran %s%s.", duration_text((double)s->runtime_ns / 1e9, ran), clause);
	return ret_text;
}

void issue_charge_hung(const struct analysis *a, struct issue *f)
{
	for (uint32_t r = 0; r < a->step->nranks; r++)
		f->loss_s += a->ranks[r].hung_ns / 1e9;
	f->of_s = (double)a->step->runtime_ns / 1e9 * a->ranks_seen;
}

/* ---- what the ranks were in ---- */

#define UNNAMED (NONE - 1)  /* a call whose name no definition has, since none of it had returned */
#define STARTING (NONE - 2) /* the first one */

struct place {
	uint32_t op, site; /* op NONE: outside of MPI */
	uint32_t n;
};

struct places {
	struct place at[PLACES_MAX];
	uint32_t n;
	uint32_t others; /* ranks of places that found no room */
};

static void count(struct places *all, uint32_t op, uint32_t site)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->at[i].op == op && all->at[i].site == site) {
			all->at[i].n++;
			return;
		}
	if (all->n < PLACES_MAX)
		all->at[all->n++] = (struct place){op, site, 1};
	else
		all->others++;
}

static bool is_unfinished(const struct step *s, const struct process *p)
{
	return p != NULL && !p->finalized && (exits_early(p) || outcome_is_stop(&s->outcome));
}

/* In it a rank has done its work. */
static uint32_t count_before_finalize(const struct step *s)
{
	uint32_t n = 0;
	for (uint32_t r = 0; r < s->nranks; r++)
		n += is_unfinished(s, s->ranks[r]) && s->ranks[r]->finalize_enter_ns == TIME_ABSENT;
	return n;
}

static uint32_t count_places(const struct step *s, struct places *all)
{
	uint32_t n = 0;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		if (!is_unfinished(s, p))
			continue;
		n++;
		const struct sig *in = p->open.n > 0 ? &p->sigs.at[p->open.at[0].sig] : NULL;
		if (in == NULL)
			count(all, NONE, NONE);
		else if (ends_starting(p))
			count(all, STARTING, NONE);
		else
			count(all, in->op != NONE ? in->op : UNNAMED, in->site);
	}
	return n;
}

/* The most frequent one that is not said yet. */
static struct place *next_place(struct places *all)
{
	struct place *most = NULL;
	for (uint32_t i = 0; i < all->n; i++)
		if (all->at[i].n > 0 && (most == NULL || all->at[i].n > most->n))
			most = &all->at[i];
	return most;
}

static const char *call_name(const struct step *s, uint32_t op)
{
	return op == NONE ? "" : op == UNNAMED ? "a call of MPI" : op == STARTING ? "MPI_Init" : s->ops.at[op];
}

/* " Then 7 ranks were in MPI_Barrier in main (x.c:9), 1 rank outside of MPI." */
static void describe_places(const struct step *s, struct places *all, struct issue *f, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, " At the end");
	struct place *p;
	for (uint32_t i = 0; i < PLACES_SAID && (p = next_place(all)) != NULL; i++) {
		char site[256] = "";
		const char *name = call_name(s, p->op);
		if (p->op != NONE && site_text(s, p->site, site, sizeof(site))[0] != '\0')
			name = site + strlen(" at ");
		used += (size_t)snprintf(text + used, size - used, "%s %u rank%s %s%s%s", i > 0 ? "," : "", p->n,
					 p->n == 1 ? "" : "s",
					 i > 0	     ? ""
					 : p->n == 1 ? "was "
						     : "were ",
					 p->op != NONE ? "in " : "outside of MPI", name);
		used = used < size ? used : size - 1;
		issue_add_site(f, p->site);
		p->n = 0;
	}
	for (; (p = next_place(all)) != NULL; p->n = 0)
		all->others += p->n;
	if (all->others > 0)
		used += (size_t)snprintf(text + used, size - used, ", %u elsewhere", all->others);
	snprintf(text + (used < size ? used : size - 1), size - (used < size ? used : size - 1), ".");
}

/* ---- the issue ---- */

/* "Ended by its launcher, as after a fatal error of MPI,", or after a death that is no rank's of ours. */
static const char *ended_by(const struct step *s, char ret_text[128])
{
	const struct process *elsewhere = exits_elsewhere(s);
	if (!outcome_is_failure(&s->outcome))
		return "Stopped from outside";
	if (elsewhere == NULL)
		return "Ended by its launcher, as after a fatal error of MPI,";
	snprintf(ret_text, 128, "Ended by its launcher, as after rank %u of another MPI_COMM_WORLD %s,",
		 elsewhere->rank,
		 elsewhere->aborted		       ? "called MPI_Abort"
		 : WIFSIGNALED(elsewhere->exit_status) ? "was killed"
						       : "exited");
	return ret_text;
}

static const char *next_step(const struct step *s, bool hung)
{
	const struct outcome *o = &s->outcome;
	if (outcome_is_failure(o) && exits_elsewhere(s) != NULL)
		return "Look at what ended that rank: coverage.reasons says how, and standard error may say why.";
	if (outcome_is_failure(o))
		return "Read what MPI has written to standard error: it names the rank and the call of a fatal error.";
	if (hung)
		return "Look at the calls named here: see whether all ranks come to the same collectives, and whether "
		       "each "
		       "message that is waited for is sent.";
	if (o->state == OUTCOME_TIMEOUT)
		return "Ask for more time (--time), or write checkpoints.";
	if (o->state == OUTCOME_PREEMPTED)
		return "Write checkpoints, or use a partition whose jobs are not preempted.";
	if (o->state == OUTCOME_REQUEUED)
		return "Write checkpoints, so that its next run continues from there; sacct -D -o State says "
		       "whether it was preempted.";
	if (o->state == OUTCOME_NODE_FAIL)
		return "Run it again; tell the site if the same node fails again.";
	return "See who ended it (sacct -o State,ExitCode); the figures are of the time until then.";
}

/* Nobody came out of MPI_Init. */
static bool starts_only(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && !ends_starting(s->ranks[r]))
			return false;
	return true;
}

/* " No rank came out of MPI_Init. Of ranks 1, 5, 6 and 12 others no call is recorded." */
static void explain_start(const struct step *s, uint32_t seen, char *text, size_t size)
{
	uint32_t missing = s->nranks - seen, said = 0;
	size_t used = (size_t)snprintf(text, size, " No rank came out of MPI_Init.");
	if (missing == 0)
		return;
	used += (size_t)snprintf(text + used, size - used, " Of rank%s", missing == 1 ? "" : "s");
	for (uint32_t r = 0; r < s->nranks && said < MISSING_SAID; r++)
		if (s->ranks[r] == NULL)
			used += (size_t)snprintf(text + used, size - used, "%s %u", said++ > 0 ? "," : "", r);
	if (missing > said)
		used += (size_t)snprintf(text + used, size - used, " and %s", fmt_many(missing - said, "other").s);
	snprintf(text + used, size - used, " no call is recorded.");
}

static void name_ranks(const struct step *s, struct issue *f)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (is_unfinished(s, s->ranks[r]))
			issue_add_rank(f, r);
}

void issue_unfinished(const struct analysis *a, struct issue *f)
{
	const struct step *s = a->step;
	struct places places = {.n = 0};
	uint32_t early, n = count_places(s, &places), before = count_before_finalize(s);
	char ran[32], why[64], hung[96], where[400], by[128];
	f->metric = "ranks that did not come out of MPI_Finalize";
	f->value = n;
	f->threshold = 1;
	f->severity = UNFINISHED_SEVERITY;
	f->found = n > 0 && exits_first(s, &early) == NONE;
	if (!f->found)
		return;
	name_ranks(s, f);
	describe_places(s, &places, f, where, sizeof(where));
	issue_charge_hung(a, f);
	f->from_ns = s->advanced_ns < s->runtime_ns ? s->advanced_ns : 0;
	f->to_ns = s->runtime_ns;
	snprintf(f->what, sizeof(f->what), "%s after %s%s%s.%s", ended_by(s, by),
		 duration_text((double)s->runtime_ns / 1e9, ran), outcome_text(&s->outcome, why), hung_clause(s, hung),
		 where);
	int used = snprintf(f->why, sizeof(f->why),
			    "%s of %s ranks had not %s MPI_Finalize, and none of them had died by itself.",
			    fmt_count(before > 0 ? before : n).s, fmt_count(a->ranks_seen).s,
			    before > 0 ? "reached" : "come out of");
	bool starts = starts_only(s);
	if (starts)
		explain_start(s, a->ranks_seen, f->why + used, sizeof(f->why) - (size_t)used);
	snprintf(f->next, sizeof(f->next), "%s",
		 starts ? "Look at what those who are missing do before MPI_Init, and on which nodes; if all are "
			  "there, at "
			  "what connects them: the network interfaces and the files that MPI starts with."
			: next_step(s, hung[0] != '\0'));
}
