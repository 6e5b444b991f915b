/* ends.c - see ends.h. In: META of processes and nodes, samples of clocks, calls that are open, events.  Out: end_ns
 * and hung_ns of processes, advanced_ns of the step. */
#include "postproc/read/ends.h"
#include "base/json.h"
#include "postproc/read/exits.h"

#define HUNG_MIN_NS 2000000000 /* less is the time that launchers take to end a run */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

bool ends_said(const struct process *p)
{
	return p->finalized || p->aborted || p->lost;
}

bool ends_left(const struct step *s, const struct process *p)
{
	for (size_t i = 0; i < p->open.n; i++)
		if (step_is_finalize(s, &p->sigs.at[p->open.at[i].sig]))
			return true;
	return p->finalized;
}

bool ends_starting(const struct process *p)
{
	for (size_t i = 0; i < p->sigs.n; i++)
		if (p->sigs.at[i].calls > 0)
			return false;
	return p->launched && p->first_ns == TIME_ABSENT && p->open.n > 0;
}

/* ---- when a process ended ---- */

/* The last moment that the agent of the node tells of. */
static int64_t last_clock(const struct node *n)
{
	int64_t tick = 0;
	for (size_t i = 0; i < n->clock.n; i++)
		tick = later(tick, (int64_t)n->clock.at[i].tick);
	return tick;
}

/* The earliest moment from which on it is known to be over: its agent found it so, or what had started it was; or 0. */
static int64_t over_by(const struct node *n, const struct process *p)
{
	const cJSON *outcome = cJSON_GetObjectItemCaseSensitive(n->meta, "outcome");
	int64_t gone = json_tick(p->meta, "gone_tick"), ended = json_tick(outcome, "ended");
	return gone == 0 || (ended != 0 && ended < gone) ? ended : gone;
}

static void decide(const struct node *n, struct process *p, int64_t last_tick)
{
	bool runs = !n->file.finished && !ends_said(p);
	int64_t seen = json_tick(p->meta, "seen_tick"), over = runs ? 0 : over_by(n, p);
	if (p->end_ns != 0) {
		p->end_known = END_SAID;
	} else if (p->have_exit && p->exit_tick != 0) {
		p->end_known = END_TOLD;
		p->end_ns = p->exit_tick;
	} else if (seen != 0 || over != 0) {
		p->end_known = END_SEEN;
		p->end_ns = over != 0 ? over : runs ? later(seen, last_tick) : seen;
	}
}

void ends_decide(struct step *s)
{
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		int64_t last_tick = last_clock(&s->nodes.at[i]);
		for (size_t k = 0; k < s->processes.n; k++)
			if (s->processes.at[k]->node == i)
				decide(&s->nodes.at[i], s->processes.at[k], last_tick);
	}
}

bool ends_at_least(const struct process *p)
{
	return p->end_known == END_SEEN || p->end_ns == TIME_ABSENT;
}

void ends_lived(struct process *p, int64_t at_ns)
{
	if (p->end_known == END_SEEN && p->end_ns != TIME_ABSENT && at_ns > p->end_ns)
		p->end_ns = at_ns;
}

int64_t ends_last_known(const struct process *p)
{
	int64_t last = p->last_ns;
	for (size_t i = 0; i < p->open.n; i++)
		last = later(last, p->open.at[i].enter_ns);
	return last;
}

/* Traces of agents that did not say how long they saw a process: who a launcher ended because another died ended no
 * earlier than that one. */
static void end_with_the_first(struct step *s)
{
	int64_t first = INT64_MAX;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		if (p != NULL && exits_early(p) && p->end_ns != TIME_ABSENT && p->end_ns < first)
			first = p->end_ns;
	}
	for (uint32_t r = 0; r < s->nranks && first != INT64_MAX; r++) {
		struct process *p = s->ranks[r];
		if (p != NULL && p->lost && !p->have_exit && p->end_ns == TIME_ABSENT && ends_last_known(p) < first)
			p->end_ns = first;
	}
}

/* ---- since when nobody advanced ---- */

bool ends_outside(const struct step *s, const struct sig *sig)
{
	static const char *const outside[] = {"MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join"};
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]) && sig->op != NONE; i++)
		if (strcmp(s->ops.at[sig->op], outside[i]) == 0)
			return true;
	return false;
}

bool ends_works(const struct step *s, const struct sig *sig)
{
	return ends_outside(s, sig) || step_class(s, sig) == MPIX_IO || (sig->call.flags & SIG_POLLS) != 0;
}

static bool has_called(const struct process *p, uint32_t thread)
{
	for (size_t i = 0; i < p->sigs.n; i++)
		if (p->sigs.at[i].thread == thread && p->sigs.at[i].calls > 0)
			return true;
	return false;
}

static bool exited_inside(const struct process *p)
{
	return !p->aborted && p->open.n > 0 && exits_by_itself(p) && p->end_ns != TIME_ABSENT;
}

/* MPI_Finalize waits for others in most libraries, and then returns when the launcher ends the run: it is no advance
 * of a run that others never came to the end of. */
static bool finalized_with_the_end(const struct step *s, const struct process *p)
{
	return p->finalized && p->finalize_enter_ns != TIME_ABSENT && p->end_ns != TIME_ABSENT &&
	       s->runtime_ns - p->end_ns < HUNG_MIN_NS;
}

/* What counts as an advance: may who exited out of a call have stood there? */
struct advance {
	const struct step *step;
	bool inside, any_open;
};

static bool is_open(const struct advance *a, const struct process *p)
{
	return p != NULL && !p->finalized && p->open.n > 0 && (!exits_by_itself(p) || (a->inside && exited_inside(p)));
}

/* When it advanced for the last time: one that was over, or of which a thread may have computed, at its end. */
static int64_t advanced(const struct advance *a, const struct process *p)
{
	int64_t at_ns = TIME_ABSENT;
	if (a->any_open && finalized_with_the_end(a->step, p))
		return p->finalize_enter_ns;
	if (!is_open(a, p))
		return p->end_ns;
	for (uint32_t t = 0; t < p->threads.n; t++) {
		const struct open_sig *o = step_open(p, t);
		if (o == NULL && !has_called(p, t))
			continue;
		if (o == NULL || o->enter_ns == TIME_ABSENT || ends_works(a->step, &p->sigs.at[o->sig]))
			return p->end_ns;
		at_ns = later(at_ns, o->enter_ns);
	}
	return at_ns;
}

/* Of one rank that is not in the record nobody knows whether it advanced. */
static int64_t last_advance(const struct step *s, bool inside)
{
	struct advance a = {.step = s, .inside = inside};
	int64_t last_ns = TIME_ABSENT;
	for (uint32_t r = 0; r < s->nranks; r++)
		a.any_open |= is_open(&a, s->ranks[r]);
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		int64_t at_ns = p == NULL ? TIME_ABSENT : advanced(&a, p);
		if (at_ns == TIME_ABSENT)
			return s->runtime_ns;
		last_ns = later(last_ns, at_ns);
	}
	return last_ns > 0 && s->runtime_ns - last_ns >= HUNG_MIN_NS ? last_ns : s->runtime_ns;
}

bool ends_inside(const struct step *s, const struct process *p)
{
	return exited_inside(p) && p->end_ns - s->advanced_ns >= HUNG_MIN_NS;
}

/* Who exited out of a call had stood there only if all had by then. */
static bool all_inside_stood(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && exited_inside(s->ranks[r]) && !ends_inside(s, s->ranks[r]))
			return false;
	return true;
}

void ends_resolve(struct step *s)
{
	end_with_the_first(s);
	s->advanced_ns = last_advance(s, true);
	if (!all_inside_stood(s))
		s->advanced_ns = last_advance(s, false);
	for (uint32_t r = 0; r < s->nranks; r++) {
		struct process *p = s->ranks[r];
		if (p != NULL && p->end_ns != TIME_ABSENT && !p->finalized)
			p->hung_ns = later(0, p->end_ns - later(s->advanced_ns, p->start_ns));
	}
}
