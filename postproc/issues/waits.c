/* waits.c - issues that are one or two wait states above a share of all ranks' time. */
#include "postproc/issues/uses.h"

#include <stdio.h>

/* The rows of some states, the longest first. */
struct chosen {
	VEC(const struct wait_row *) rows;
	double seconds;
	uint64_t count[WAIT_STATES];
};

static int by_time(const void *a, const void *b)
{
	const struct wait_row *x = *(const struct wait_row *const *)a, *y = *(const struct wait_row *const *)b;
	return (x->ns < y->ns) - (x->ns > y->ns);
}

static void choose(const struct analysis *a, unsigned states, struct chosen *c)
{
	for (size_t i = 0; i < a->tally.waits.rows.n; i++) {
		const struct wait_row *r = &a->tally.waits.rows.at[i];
		if ((states & 1u << r->state) == 0 || vec_push(&c->rows, r) < 0)
			continue;
		c->seconds += (double)r->ns / 1e9;
		c->count[r->state] += r->count;
	}
	vec_sort(&c->rows, by_time);
}

/* Calls that waited, at least: one may be in two states, one after the other. */
static uint64_t calls_of(const struct chosen *c)
{
	static const enum wait_state twice[][2] = {
		{WAIT_AT_BARRIER, BARRIER_COMPLETION}, {WAIT_AT_NXN, NXN_COMPLETION}, {EARLY_REDUCE, LATE_REDUCE}};
	uint64_t n = 0;
	for (unsigned i = 0; i < WAIT_STATES; i++)
		n += c->count[i];
	for (size_t i = 0; i < sizeof(twice) / sizeof(twice[0]); i++) {
		uint64_t a = c->count[twice[i][0]], b = c->count[twice[i][1]];
		n -= a < b ? a : b;
	}
	return n;
}

/* Who was waited for, where, when: from the rows that make up nine tenths of the time. */
static void fill_from(struct issue *f, const struct chosen *c)
{
	double left = 0.9 * c->seconds;
	f->from_ns = INT64_MAX;
	f->to_ns = INT64_MIN;
	for (size_t i = 0; i < c->rows.n && left > 0; i++) {
		const struct wait_row *r = c->rows.at[i];
		left -= (double)r->ns / 1e9;
		issue_add_rank(f, r->causer != NONE ? r->causer : r->rank);
		if (r->causer != NONE)
			issue_add_pair(f, r->causer, r->rank);
		issue_add_site(f, r->site);
		f->from_ns = r->from_ns < f->from_ns ? r->from_ns : f->from_ns;
		f->to_ns = r->to_ns > f->to_ns ? r->to_ns : f->to_ns;
	}
}

void issue_of_waits(const struct analysis *a, struct issue *f, const struct wait_issue *w)
{
	struct chosen c = {0};
	char total[32], each[32], place[256];
	choose(a, w->states, &c);
	f->states = w->states;
	f->loss_s = c.seconds;
	f->metric = SHARE_NAME(a, "");
	f->value = c.seconds / issue_total_s(a);
	f->threshold = WAIT_SHARE_MIN;
	f->found = f->value >= f->threshold;
	if (f->found) {
		fill_from(f, &c);
		(void)share_of_site(a->step, f->nsites > 0 ? f->sites[0] : NONE, ", mostly", place, sizeof(place));
		snprintf(f->what, sizeof(f->what), "%s waited %s in total, %s each time, %s%s.", w->waiters,
			 duration_text(c.seconds, total), duration_text(c.seconds / (double)calls_of(&c), each),
			 w->event, place);
		snprintf(f->why, sizeof(f->why), "%s", w->why);
		snprintf(f->next, sizeof(f->next), "%s", w->next);
	}
	vec_done(&c.rows);
}

void issue_late_sender(const struct analysis *a, struct issue *f)
{
	static const struct wait_issue w = {
		1u << LATE_SENDER, "Receivers", "because messages were sent later than they were needed",
		"A receive that starts before its message is sent can only wait. The senders are late: they compute "
		"longer, or send after other work.",
		"Send earlier, or put computation that does not need the message between the start of the receive and "
		"its wait. If uneven work between ranks is listed too, fix that first."};
	issue_of_waits(a, f, &w);
}

/* Whoever has nonblocking receives already posts them late; whoever waits in a Wait sends with Isend. */
static void advise_senders(const struct analysis *a, struct issue *f)
{
	bool isend = f->nsites > 0 && uses_nonblocking_at(a, f->sites[0]);
	snprintf(f->next, sizeof(f->next), "%s%s",
		 uses_nonblocking_receives(a)
			 ? "Post the receives earlier: MPI_Irecv before the computation that delays it."
			 : "Post receives early: MPI_Irecv before computing.",
		 isend ? " Compute between the send's start and its wait." : " Or send with MPI_Isend and wait later.");
}

void issue_late_receiver(const struct analysis *a, struct issue *f)
{
	static const struct wait_issue w = {
		1u << LATE_RECEIVER | 1u << LATE_PROGRESS, "Senders",
		"because receives were posted later than messages were ready",
		"A large or synchronous message is not sent before its receive is posted; until "
		"then the sender is "
		"blocked.",
		""};
	issue_of_waits(a, f, &w);
	if (f->found)
		advise_senders(a, f);
}

void issue_barrier_imbalance(const struct analysis *a, struct issue *f)
{
	static const struct wait_issue w = {
		1u << WAIT_AT_BARRIER | 1u << BARRIER_COMPLETION, "Ranks", "for the last rank to reach a barrier",
		"A barrier takes as long as the slowest rank needs to reach it; early ranks wait.",
		"Ask whether the barrier is needed: messages and collectives already order what depends on them. If it "
		"is, balance the work before it."};
	issue_of_waits(a, f, &w);
}

/* Where calls are not nonblocking already. */
static void advise_overlap(const struct analysis *a, struct issue *f)
{
	size_t len = strlen(f->next);
	if (f->found && f->nsites > 0 && !uses_nonblocking_at(a, f->sites[0]))
		snprintf(f->next + len, sizeof(f->next) - len,
			 " Or start its nonblocking form, and compute meanwhile.");
}

void issue_synchronization_heavy(const struct analysis *a, struct issue *f)
{
	static const struct wait_issue w = {
		1u << WAIT_AT_NXN | 1u << NXN_COMPLETION | 1u << EARLY_SCAN | 1u << WAIT_AT_NEIGHBORS |
			1u << WAIT_AT_COMM_CREATE | 1u << WAIT_AT_COMM_FREE,
		"Ranks", "for the last rank to enter a collective that needs data of all",
		"An all-to-all, allreduce or scan cannot end before every member has entered it, "
		"so every imbalance "
		"before it is paid by all.",
		"Balance the work before it, or call it less often."};
	issue_of_waits(a, f, &w);
	advise_overlap(a, f);
}

void issue_collective_root_bottleneck(const struct analysis *a, struct issue *f)
{
	static const struct wait_issue w = {1u << LATE_BROADCAST | 1u << EARLY_REDUCE | 1u << LATE_REDUCE, "Ranks",
					    "for the root of a collective, or as its root for the others",
					    "Leaves of a broadcast or scatter wait for a late "
					    "root; the root of a reduce or gather waits for "
					    "late leaves.",
					    "Take other work off the root, or move it behind the "
					    "collective."};
	issue_of_waits(a, f, &w);
	advise_overlap(a, f);
}
