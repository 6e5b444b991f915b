/* unexplained.c - a call that took long although nobody was late and no other issue says why: so that what costs most
 * is named in any case. */
#include "postproc/issues/issues.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNEXPLAINED_SHARE_MIN 0.10

typedef void detector_fn(const struct analysis *a, struct issue *f);

/* Of calls of these classes another issue may speak already. */
static const struct {
	enum mpix_class class;
	detector_fn *detect;
} others[] = {
	{MPIX_COLL, issue_global_collective_heavy}, {MPIX_P2P, issue_small_message_overhead},
	{MPIX_P2P, issue_communication_imbalance},  {MPIX_P2P, issue_link_hotspot},
	{MPIX_P2P, issue_poor_placement},	    {MPIX_WAIT, issue_poor_placement},
	{MPIX_RMA, issue_poor_placement},	    {MPIX_IO, issue_io_wait},
};

static unsigned classes_explained(const struct analysis *a)
{
	unsigned classes = 0;
	struct issue *f = malloc(sizeof(*f));
	for (size_t i = 0; f != NULL && i < sizeof(others) / sizeof(others[0]); i++) {
		*f = (struct issue){.found = false};
		others[i].detect(a, f);
		classes |= f->found ? 1u << others[i].class : 0;
	}
	free(f);
	return classes;
}

struct place {
	double ns; /* besides waiting */
	uint64_t calls, bytes;
	enum mpix_class class;
	bool reduces;
};

static bool reduces(const struct sig *sig)
{
	return sig->call.shape == SIG_COLL && coll_reduces(sig->call.coll);
}

/* By call site; the last one is of calls without. */
static struct place *places_of(const struct analysis *a, unsigned explained)
{
	const struct step *s = a->step;
	struct place *of = calloc(s->sites.n + 1, sizeof(*of));
	for (uint32_t r = 0; r < s->nranks && of != NULL; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->sigs.n; i++) {
			const struct sig *sig = &s->ranks[r]->sigs.at[i];
			enum mpix_class class = step_class(s, sig);
			if (is_startup(s, sig) || sig->site == NONE || (explained & 1u << class) != 0 ||
			    (sig->call.flags & SIG_POLLS) != 0)
				continue;
			of[sig->site].ns += (double)sig->ticks * s->ranks[r]->ns_per_tick;
			of[sig->site].calls += sig->calls;
			of[sig->site].bytes += sig->moved_bytes;
			of[sig->site].class = class;
			of[sig->site].reduces |= reduces(sig);
		}
	for (size_t i = 0; i < a->tally.waits.rows.n && of != NULL; i++) {
		const struct wait_row *w = &a->tally.waits.rows.at[i];
		if (w->site != NONE && w->state != LATE_SENDER_WRONG_ORDER && w->state != LATE_COMPLETE)
			of[w->site].ns -= (double)w->ns;
	}
	return of;
}

/* Calls of which only the totals tell, as of a file that was cut. */
static bool ends_before_its_calls(const struct process *p)
{
	for (size_t i = 0; i < p->threads.n; i++)
		if (p->threads.at[i].not_written > 0)
			return true;
	return false;
}

/* Where single calls are missing, of the rank or of whom it may have waited for, waiting is not known. */
static bool all_waits_known(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] == NULL || !process_is_whole(s->ranks[r]) || ends_before_its_calls(s->ranks[r]))
			return false;
	return true;
}

static bool calls(const struct step *s, const char *op)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->sigs.n; i++)
			if (s->ranks[r]->sigs.at[i].calls > 0 && strcmp(sig_op(s, &s->ranks[r]->sigs.at[i]), op) == 0)
				return true;
	return false;
}

/* Has the run reductions that end in a wait? */
static bool starts_reductions(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->sigs.n; i++) {
			const struct sig *sig = &s->ranks[r]->sigs.at[i];
			if (reduces(sig) && (sig->call.flags & SIG_STARTS_REQUEST) != 0)
				return true;
		}
	return false;
}

/* Which of them took the time nobody records: the library calls functions that the program gave it, and waits for
 * requests that the program completes. */
static const char *likely_use(const struct step *s, const struct place *x)
{
	bool waits = x->class == MPIX_WAIT;
	if (waits && calls(s, "MPI_Grequest_start"))
		return "moving data, the library's own work, or what the program's own requests (MPI_Grequest_start) "
		       "waited for.";
	if ((x->reduces || (waits && starts_reductions(s))) && calls(s, "MPI_Op_create"))
		return "moving data, the library's own work, or the program's own reduction functions (MPI_Op_create).";
	return "moving data or the library's own work.";
}

static const char *advice(enum mpix_class class)
{
	switch (class) {
	case MPIX_P2P:
	case MPIX_WAIT:
		return "Send less or less often, or compute while data moves; compare bytes per second with what the "
		       "network can do.";
	case MPIX_COLL:
		return "Call it less often, on fewer ranks or with less data; try another algorithm of the library.";
	case MPIX_SYNC:
		return "Check whether it is needed: messages and collectives already order what depends on them.";
	case MPIX_RMA:
		return "Hold locks for less time and join small accesses; one target that all lock or access serves "
		       "them one after another.";
	default:
		return "Do it once before the loop and keep the result, where that is possible.";
	}
}

/* For so long a call may have lasted because its rank had no processor; where the kernel did not tell, as of a rank
 * that died, all that the processors of its node were short of. */
static double without_processor_ns(const struct analysis *a)
{
	struct issue *crowd = calloc(1, sizeof(*crowd));
	double ns = 0;
	bool known = true;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		double wait_ns = a->step->ranks[r] != NULL ? process_ready_ns(a->step->ranks[r]) : 0;
		known &= !isnan(wait_ns);
		ns += isnan(wait_ns) ? 0 : wait_ns;
	}
	if (crowd != NULL && !known)
		issue_oversubscription(a, crowd);
	ns = crowd != NULL ? fmax(ns, crowd->loss_s * 1e9) : ns;
	free(crowd);
	return ns;
}

void issue_unexplained(const struct analysis *a, struct issue *f)
{
	struct place *of = places_of(a, classes_explained(a));
	double shared_ns = without_processor_ns(a);
	char total[32], moved[32], place[256];
	uint32_t worst = NONE;
	for (uint32_t i = 0; of != NULL && i < a->step->sites.n; i++)
		if (of[i].ns > 0 && (worst == NONE || of[i].ns > of[worst].ns))
			worst = i;
	f->metric = SHARE_NAME(a, " in one call, waiting for others not counted");
	f->threshold = UNEXPLAINED_SHARE_MIN;
	f->loss_s = worst != NONE ? fmax(0, of[worst].ns - shared_ns) / 1e9 : 0;
	f->value = f->loss_s / issue_total_s(a);
	f->found = f->value >= f->threshold && all_waits_known(a->step);
	if (f->found) {
		issue_add_site(f, worst);
		snprintf(f->what, sizeof(f->what), "%s%s took %s besides waiting for others%s%s%s.",
			 fmt_many((double)of[worst].calls, "call").s, site_text(a->step, worst, place, sizeof(place)),
			 duration_text(f->loss_s, total),
			 shared_ns >= PROCESSOR_SHARE_SAID * of[worst].ns ? " and for a processor" : "",
			 of[worst].bytes > 0 ? ", and moved " : "",
			 of[worst].bytes > 0 ? bytes_text((double)of[worst].bytes, moved) : "");
		snprintf(f->why, sizeof(f->why),
			 "No rank was late for these calls as far as is recorded: the time went into %s",
			 likely_use(a->step, &of[worst]));
		snprintf(f->next, sizeof(f->next), "%s", advice(of[worst].class));
	}
	free(of);
}
