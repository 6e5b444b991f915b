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
			a->tally.waits.total_ns[WAIT_AT_NEIGHBORS]);
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
	snprintf(f->what, sizeof(f->what), "Moving data in collectives takes %s of all ranks' time, most of it%s.",
		 duration_text(f->loss_s, total), site_text(a->step, c.site, place, sizeof(place)));
	snprintf(f->why, sizeof(f->why),
		 "The cost of an operation on all ranks grows with their number and with the bytes "
		 "of each.");
	snprintf(f->next, sizeof(f->next),
		 "Send less (only what changed, lower precision), on fewer ranks (sub-communicators), or join several "
		 "small collectives into one%s.",
		 uses_nonblocking_at(a, c.site) ? "" : "; a nonblocking form overlaps with computing");
}

void issue_small_message_overhead(const struct analysis *a, struct issue *f)
{
	struct cost c = cost_of(a, is_send);
	char total[32], place[256];
	double waits = (double)(a->tally.waits.total_ns[LATE_SENDER] + a->tally.waits.total_ns[LATE_RECEIVER] +
				a->tally.waits.total_ns[LATE_PROGRESS]);
	double mean = a->p2p.count > 0 ? (double)a->p2p.bytes / (double)a->p2p.count : SMALL_BYTES + 1;
	f->loss_s = moving_s(&c, waits, 1); /* waits of Wait calls are in there too: a lower bound */
	f->metric = SHARE_NAME(a, " in sends and receives, waiting not counted");
	f->value = f->loss_s / issue_total_s(a);
	f->threshold = WAIT_SHARE_MIN;
	f->found = mean <= SMALL_BYTES && f->value >= f->threshold;
	if (!f->found)
		return;
	issue_add_site(f, c.site);
	snprintf(f->what, sizeof(f->what), "%s messages of %s bytes in the mean take %s, most of it%s.",
		 fmt_count((double)a->p2p.count).s, fmt_count(mean).s, duration_text(f->loss_s, total),
		 site_text(a->step, c.site, place, sizeof(place)));
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
	snprintf(f->what, sizeof(f->what), "MPI-IO takes %s of all ranks' time, most of it%s.",
		 duration_text(f->loss_s, total), site_text(a->step, c.site, place, sizeof(place)));
	snprintf(f->why, sizeof(f->why), "Ranks do not compute while they read or write files.");
	snprintf(f->next, sizeof(f->next),
		 "%sFewer and larger accesses%s; ask your site how to set the file system's striping.",
		 uses_collective_io(a) ? "The calls are collective already. "
				       : "Use collective calls (MPI_File_write_all), which join accesses. ",
		 uses_nonblocking_io(a) ? "" : ", or nonblocking ones, help");
}

static double judged_share(const struct rank_totals *t)
{
	return t->region_ns >= TRACED_NS_MIN ? tracing_share(t) : 0;
}

/* Ranks beyond the threshold, and the worst of them. */
static uint32_t worst_traced(const struct analysis *a, struct issue *f)
{
	uint32_t worst = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		f->loss_s += a->ranks[r].threads_tracing_ns / 1e9;
		if (judged_share(&a->ranks[r]) > judged_share(&a->ranks[worst]))
			worst = r;
		if (judged_share(&a->ranks[r]) > TRACING_SHARE_MAX)
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
	f->value = a->step->nranks > 0 ? judged_share(t) : 0;
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
