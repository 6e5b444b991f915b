/* correctness.c - issues about programs that are wrong: they stand above all that only costs time. */
#include "postproc/issues/issues.h"
#include "postproc/sections/correctness.h"
#include "postproc/read/ends.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WRONG_SEVERITY 1.0
#define UNSAFE_SEVERITY 0.4

/* Defects of these kinds, the first of which speaks; false: there is none. */
static bool gather(const struct analysis *a, struct issue *f, enum defect_kind from, enum defect_kind to)
{
	const struct defect *worst = NULL;
	char what[ISSUE_TEXT_MAX];
	double count = 0;
	for (size_t i = 0; i < a->tally.defects.rows.n; i++) {
		const struct defect *x = &a->tally.defects.rows.at[i];
		if (x->kind < from || x->kind > to || x->kind == DEFECT_BYTE_TYPE)
			continue;
		count += (double)x->count;
		if (worst == NULL || x->kind < worst->kind || (x->kind == worst->kind && x->count > worst->count))
			worst = x;
		for (uint32_t k = 0; k < x->nranks; k++)
			issue_add_rank(f, x->ranks[k]);
		issue_add_site(f, x->site);
		issue_add_site(f, x->other_site);
	}
	f->found = worst != NULL;
	f->value = count;
	f->threshold = 1;
	if (!f->found)
		return false;
	if (worst->cases[0].peer != NONE)
		issue_add_pair(f, worst->cases[0].rank, worst->cases[0].peer);
	snprintf(f->what, sizeof(f->what), "%s", correctness_what(a->step, worst, what, sizeof(what)));
	return true;
}

void issue_truncation(const struct analysis *a, struct issue *f)
{
	f->metric = "messages longer than their receive buffers";
	f->severity = WRONG_SEVERITY;
	if (!gather(a, f, DEFECT_TRUNCATION, DEFECT_TRUNCATION))
		return;
	snprintf(f->why, sizeof(f->why), "The rest of such a message is lost, and by default MPI aborts the program.");
	snprintf(f->next, sizeof(f->next),
		 "Give the receive as many elements as the longest message has, or query its length first (MPI_Probe, "
		 "MPI_Get_count).");
}

void issue_mismatch(const struct analysis *a, struct issue *f)
{
	f->metric = "calls that disagree with those of other ranks";
	f->severity = WRONG_SEVERITY;
	if (!gather(a, f, DEFECT_DATATYPE, DEFECT_COLLECTIVE_SIZE))
		return;
	snprintf(f->why, sizeof(f->why),
		 "Data may arrive as something else or somewhere else, and another MPI library may hang.");
	snprintf(f->next, sizeof(f->next),
		 "Let all ranks call the same operations in the same order, with the same root, sizes and datatypes.");
}

static const struct defect *first_deadlock(const struct analysis *a)
{
	for (size_t i = 0; i < a->tally.defects.rows.n; i++)
		if (a->tally.defects.rows.at[i].kind == DEFECT_DEADLOCK)
			return &a->tally.defects.rows.at[i];
	return NULL;
}

/* By what the ranks of the cycle are in: advice that fits only some of them would send people astray. */
static const char *deadlock_advice(const struct step *s, const struct defect_case *x)
{
	bool collective = false, sends = true, ended = false;
	for (uint32_t i = 0; i < x->nmembers && i < DEFECT_MEMBERS_MAX; i++) {
		const struct process *p = s->ranks[x->members[i]];
		const struct sig *sig = p != NULL && p->open.n > 0 ? &p->sigs.at[p->open.at[0].sig] : NULL;
		bool over = sig == NULL || ends_left(s, p);
		ended |= over;
		collective |= !over && sig->call.shape == SIG_COLL;
		sends &= !over && sig->call.shape == SIG_SEND;
	}
	const struct process *peer = x->peer != NONE ? s->ranks[x->peer] : NULL;
	if (ended || (peer != NULL && peer->finalized))
		return "More messages are expected than are sent: count both at the call sites listed, and compare "
		       "tags.";
	if (sends)
		return "Post the receives before the sends (MPI_Irecv), or let MPI_Sendrecv do both.";
	if (collective)
		return "Call the collectives of a communicator in the same order on all its ranks, and never wait "
		       "before a collective for a message that is sent after it.";
	return "No rank sends what another one waits for: let one of them send first, and compare sources, tags and "
	       "communicators of receives and sends.";
}

static uint32_t site_of(const struct step *s, uint32_t rank)
{
	const struct process *p = rank != NONE ? s->ranks[rank] : NULL;
	return p != NULL && !p->finalized && p->open.n > 0 ? p->sigs.at[p->open.at[0].sig].site : NONE;
}

/* "Rank 0 stands at MPI_Recv in main (x.c:3), rank 3 at MPI_Barrier in main (x.c:9). ": the two lines that
 * face each other. "" where nobody knows the lines. */
static const char *facing(const struct step *s, const struct defect_case *x, char *ret_text, size_t size)
{
	char one[256], other[256];
	uint32_t rank = x->members[0], needs = x->nmembers > 0 ? x->needs[0] : NONE;
	needs = needs == NONE && x->nmembers > 1 ? x->members[1] : needs;
	site_text(s, site_of(s, rank), one, sizeof(one));
	site_text(s, site_of(s, needs), other, sizeof(other));
	ret_text[0] = '\0';
	if (one[0] != '\0' && other[0] != '\0' && strcmp(one, other) != 0)
		snprintf(ret_text, size, "Rank %u stands%s, rank %u%s. ", rank, one, needs, other);
	else if (one[0] != '\0' && needs != NONE && other[0] != '\0')
		snprintf(ret_text, size, "Rank %u and rank %u stand%s. ", rank, needs, one);
	else if (one[0] != '\0')
		snprintf(ret_text, size, "Rank %u stands%s. ", rank, one);
	return ret_text;
}

/* What samples and events no longer tell, as where a rank ended itself when it had waited for long enough. */
static void tell_verdict(const struct analysis *a, struct issue *f)
{
	const struct step *s = a->step;
	const struct live_verdict *v = &s->verdict;
	char since[32], hung[128];
	uint32_t finalized = 0;
	for (uint32_t r = 0; r < s->nranks; r++)
		finalized += s->ranks[r] != NULL && s->ranks[r]->finalized;
	f->found = v->deadlock && (finalized < s->nranks || outcome_is_stop(&s->outcome));
	if (!f->found)
		return;
	for (uint32_t i = 0; i < v->nranks; i++)
		issue_add_rank(f, v->ranks[i]);
	f->value = f->threshold = 1;
	double since_s = v->since_s - s->realtime_start_s;
	f->from_ns = since_s > 0 ? (int64_t)(since_s * 1e9) : 0;
	f->to_ns = s->runtime_ns;
	issue_charge_hung(a, f);
	snprintf(f->what, sizeof(f->what),
		 "While it ran, mpitrace live saw that they wait for each other since %s after the start: "
		 "%s.%s",
		 duration_text(fmax(since_s, 0), since), v->why, hung_text(s, hung));
	snprintf(f->why, sizeof(f->why), "None of them could continue before another one did, however it ended.");
	snprintf(f->next, sizeof(f->next),
		 "Look at the calls named here: see whether all ranks come to the same collectives, "
		 "and whether each message that is waited for is sent.");
}

void issue_deadlock(const struct analysis *a, struct issue *f)
{
	f->metric = "groups of ranks that wait for each other";
	f->severity = WRONG_SEVERITY;
	if (!gather(a, f, DEFECT_DEADLOCK, DEFECT_DEADLOCK)) {
		tell_verdict(a, f);
		return;
	}
	const struct defect *x = first_deadlock(a);
	char text[CORRECTNESS_TEXT_MAX], hung[128];
	f->from_ns = x->cases[0].at_ns > 0 ? x->cases[0].at_ns : 0;
	f->to_ns = a->step->runtime_ns;
	size_t used = strlen(f->what);
	snprintf(f->what + used, sizeof(f->what) - used, " %s",
		 correctness_case(a->step, x->kind, &x->cases[0], text, sizeof(text)));
	used = strlen(f->what);
	snprintf(f->what + used, sizeof(f->what) - used, "%s", hung_text(a->step, hung));
	for (uint32_t r = 0; r < a->step->nranks; r++)
		f->loss_s += a->ranks[r].hung_wait_ns > 0 ? a->ranks[r].open_ns / 1e9 : 0;
	issue_charge_hung(a, f);
	snprintf(
		f->why, sizeof(f->why),
		x->cases[0].possible
			? "None of them can continue before another one does, but by a thread that had not called MPI: "
			  "MPI_THREAD_MULTIPLE allows that, and whether there was one is not known."
			: "None of them can continue before another one does: the program never ends.");
	snprintf(f->next, sizeof(f->next), "%s%s", facing(a->step, &x->cases[0], text, sizeof(text)),
		 deadlock_advice(a->step, &x->cases[0]));
}

void issue_unsafe_send_cycle(const struct analysis *a, struct issue *f)
{
	f->metric = "cycles of blocking sends before the receives";
	f->severity = UNSAFE_SEVERITY;
	if (!gather(a, f, DEFECT_SEND_CYCLE, DEFECT_SEND_CYCLE))
		return;
	snprintf(f->why, sizeof(f->why),
		 "With longer messages, more ranks or another MPI library the same program can deadlock.");
	snprintf(f->next, sizeof(f->next), "Use MPI_Sendrecv, or post the receive with MPI_Irecv before the send.");
}
