/* cost.c - issues about what communication costs beyond waiting: collectives, small messages, files; and what
 * tracing it costs. */
#include "base/units.h"
#include "postproc/issues/uses.h"

#include <math.h>
#include <stdio.h>

#define COLLECTIVE_SHARE_MIN 0.10
#define SMALL_BYTES 1024
#define TRACED_NS_MIN \
	1e6 /* between MPI_Init and MPI_Finalize: of less, as of a program that fails at once, no share is judged */

struct cost {
	double ns;
	double calls, bytes;
	uint32_t site; /* of the largest part */
	double site_ns;
};

static void add(struct cost *c, const struct process *p, const struct sig *sig)
{
	double ns = (double)sig->ticks * p->ns_per_tick;
	c->ns += ns;
	c->calls += (double)sig->calls;
	c->bytes += (double)sig->moved_bytes;
	if (ns > c->site_ns) {
		c->site_ns = ns;
		c->site = sig->site;
	}
}

static struct cost cost_of(const struct analysis *a, bool (*wanted)(const struct analysis *, const struct sig *))
{
	struct cost c = {.site = NONE};
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++)
			if (p->sigs.at[i].defined && wanted(a, &p->sigs.at[i]))
				add(&c, p, &p->sigs.at[i]);
	}
	return c;
}

/* What is left of it without waiting, and not more than moving that much can take. */
static double moving_s(const struct cost *c, double waits_ns, double steps)
{
	return fmax(0, fmin((c->ns - waits_ns) / 1e9, issue_moving_max_s(c->calls, c->bytes, steps)));
}

static bool is_collective(const struct analysis *a, const struct sig *sig)
{
	return step_class(a->step, sig) == MPIX_COLL;
}

static bool is_send(const struct analysis *a, const struct sig *sig)
{
	(void)a;
	return sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV || sig->call.shape == SIG_RECV;
}

static bool is_io(const struct analysis *a, const struct sig *sig)
{
	return step_class(a->step, sig) == MPIX_IO;
}

static double collective_waits_ns(const struct analysis *a)
{
	return (double)(a->tally.waits.total_ns[WAIT_AT_NXN] + a->tally.waits.total_ns[NXN_COMPLETION] +
			a->tally.waits.total_ns[LATE_BROADCAST] + a->tally.waits.total_ns[EARLY_REDUCE] +
			a->tally.waits.total_ns[LATE_REDUCE] + a->tally.waits.total_ns[EARLY_SCAN] +
			a->tally.waits.total_ns[WAIT_AT_NEIGHBORS] + a->tally.waits.total_ns[WAIT_FOR_MEMBER]);
}

void issue_global_collective_heavy(const struct analysis *a, struct issue *f)
{
	struct cost c = cost_of(a, is_collective);
	char total[32], place[256];
	f->loss_s = moving_s(&c, collective_waits_ns(a), ceil(log2(fmax(2, a->ranks_seen))));
	f->metric = SHARE_NAME(a, " in collectives, waiting not counted");
	f->value = f->loss_s / issue_total_s(a);
	f->threshold = COLLECTIVE_SHARE_MIN;
	f->found = f->value >= f->threshold && a->ranks_seen > 1;
	if (!f->found)
		return;
	issue_add_site(f, c.site);
	snprintf(f->what, sizeof(f->what), "Moving data in collectives takes %s of all ranks' time%s.",
		 duration_text(f->loss_s, total), share_of_site(a->step, c.site, ", most of it", place, sizeof(place)));
	snprintf(f->why, sizeof(f->why),
		 "The cost of an operation on all ranks grows with their number and with the bytes "
		 "of each.");
	snprintf(f->next, sizeof(f->next),
		 "Send less (only what changed, lower precision), on fewer ranks (sub-communicators), or join several "
		 "small collectives into one%s.",
		 uses_nonblocking_at(a, c.site) ? "" : "; a nonblocking form overlaps with computing");
}

/* Sends and receives of one call site. */
struct small {
	struct cost cost;
	double waits_ns, messages;
};

/* By call site, the last of no known one; the caller frees. NULL without memory. */
static struct small *sends_by_site(const struct analysis *a)
{
	const uint32_t n = a->step->sites.n;
	struct small *at = calloc(n + 1u, sizeof(*at));
	for (uint32_t r = 0; at != NULL && r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
			const struct sig *sig = &p->sigs.at[i];
			if (!sig->defined || !is_send(a, sig))
				continue;
			struct small *x = &at[sig->site == NONE ? n : sig->site];
			add(&x->cost, p, sig);
			x->messages += (double)traffic_messages_of(sig);
		}
	}
	for (size_t i = 0; at != NULL && i < a->tally.waits.rows.n; i++) {
		const struct wait_row *row = &a->tally.waits.rows.at[i];
		if (row->state == LATE_SENDER || row->state == LATE_RECEIVER || row->state == LATE_PROGRESS)
			at[row->site == NONE ? n : row->site].waits_ns += (double)row->ns;
	}
	return at;
}

/* Of all call sites whose messages are small: few large ones elsewhere do not make them cheaper. */
static struct small small_sends(const struct analysis *a)
{
	struct small all = {.cost.site = NONE}, *at = sends_by_site(a);
	for (uint32_t i = 0; at != NULL && i <= a->step->sites.n; i++) {
		const struct cost *c = &at[i].cost;
		if (c->calls == 0 || c->bytes > SMALL_BYTES * c->calls)
			continue;
		all.cost.ns += fmax(0, c->ns - at[i].waits_ns);
		all.cost.calls += c->calls;
		all.cost.bytes += c->bytes;
		all.messages += at[i].messages;
		if (c->ns > all.cost.site_ns) {
			all.cost.site_ns = c->ns;
			all.cost.site = i < a->step->sites.n ? i : NONE;
		}
	}
	free(at);
	return all;
}

void issue_small_message_overhead(const struct analysis *a, struct issue *f)
{
	struct small small = small_sends(a);
	char total[32], place[256];
	f->loss_s = moving_s(&small.cost, 0, 1); /* waits of Wait calls are in there too: a lower bound */
	f->metric = SHARE_NAME(a, " in sends and receives of small messages, waiting not counted");
	f->value = f->loss_s / issue_total_s(a);
	f->threshold = WAIT_SHARE_MIN;
	f->found = f->value >= f->threshold;
	if (!f->found)
		return;
	issue_add_site(f, small.cost.site);
	snprintf(f->what, sizeof(f->what), "%s messages of %s bytes in the mean take %s%s.",
		 fmt_count(small.messages > 0 ? small.messages : small.cost.calls).s,
		 fmt_count(small.cost.bytes / small.cost.calls).s, duration_text(f->loss_s, total),
		 share_of_site(a->step, small.cost.site, ", most of it", place, sizeof(place)));
	snprintf(f->why, sizeof(f->why),
		 "A message of so few bytes costs latency, not bandwidth: ten in one are nearly "
		 "ten times cheaper.");
	snprintf(f->next, sizeof(f->next),
		 "Pack what goes to the same rank into one message (derived datatype, or a "
		 "buffer), or send less often.");
}

void issue_io_wait(const struct analysis *a, struct issue *f)
{
	struct cost c = cost_of(a, is_io);
	char total[32], place[256];
	f->loss_s = c.ns / 1e9;
	f->metric = SHARE_NAME(a, " in MPI-IO");
	f->value = f->loss_s / issue_total_s(a);
	f->threshold = WAIT_SHARE_MIN;
	f->found = f->value >= f->threshold;
	if (!f->found)
		return;
	issue_add_site(f, c.site);
	snprintf(f->what, sizeof(f->what), "MPI-IO takes %s of all ranks' time%s.", duration_text(f->loss_s, total),
		 share_of_site(a->step, c.site, ", most of it", place, sizeof(place)));
	snprintf(f->why, sizeof(f->why), "Ranks do not compute while they read or write files.");
	snprintf(f->next, sizeof(f->next),
		 "%sFewer and larger accesses%s; ask your site how to set the file system's striping.",
		 uses_collective_io(a) ? "The calls are collective already. "
				       : "Use collective calls (MPI_File_write_all), which join accesses. ",
		 uses_nonblocking_io(a) ? "" : ", or nonblocking ones, help");
}

static double credible_share(const struct rank_totals *t)
{
	return t->region_ns >= TRACED_NS_MIN ? tracing_share(t) : 0;
}

/* Ranks beyond the threshold, and the worst of them. */
static uint32_t worst_traced(const struct analysis *a, struct issue *f)
{
	uint32_t worst = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		f->loss_s += a->ranks[r].threads_tracing_ns / 1e9;
		if (credible_share(&a->ranks[r]) > credible_share(&a->ranks[worst]))
			worst = r;
		if (credible_share(&a->ranks[r]) > TRACING_SHARE_MAX)
			issue_add_rank(f, r);
	}
	return worst;
}

void issue_tracing_cost(const struct analysis *a, struct issue *f)
{
	uint32_t worst = a->step->nranks > 0 ? worst_traced(a, f) : 0;
	const struct rank_totals *t = &a->ranks[worst];
	char total[32], slow[32];
	f->metric = "largest share of a rank's time that tracing took";
	f->value = a->step->nranks > 0 ? credible_share(t) : 0;
	f->threshold = TRACING_SHARE_MAX;
	f->severity = f->value * 4;
	f->found = f->value > f->threshold;
	if (!f->found)
		return;
	snprintf(f->what, sizeof(f->what),
		 "Tracing itself took %.1f %% of rank %u's time: %s, and %s for what was new in them; %s on all "
		 "ranks.",
		 f->value * 100, worst, fmt_many((double)t->calls, "call").s, duration_text(t->slow_ns / 1e9, slow),
		 duration_text(f->loss_s, total));
	snprintf(f->why, sizeof(f->why),
		 "Each call costs some tens of nanoseconds; one that differs from all before it (its size, tag, "
		 "datatype or communicator) some microseconds. This time is left out of the useful time, but the run "
		 "was "
		 "that much longer, and waits may have grown with it.");
	snprintf(
		f->next, sizeof(f->next), "%s",
		t->slow_ns > t->threads_tracing_ns / 2
			? "Reuse communicators, datatypes and tags where the program makes new ones in a loop; trace a "
			  "longer run, in which new calls are rarer."
			: "Join small calls (Testsome, larger messages), or trace with --mpitrace=profile, which keeps "
			  "totals only.");
}
