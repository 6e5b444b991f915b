/* balance.c - uneven computing, uneven communication, a slow node, one hot link. */
#include "postproc/issues/issues.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define IMBALANCE_MIN 1.10    /* max over mean useful time */
#define TRAFFIC_RATIO_MIN 2.0 /* max over mean bytes */
#define LINK_SHARE_MIN 0.5
#define SITE_SHARE_MIN 0.1   /* of the longest wait: call sites below it are beside the point */
#define SITE_LOSS_MIN 0.01   /* of the loss: who asks in vain hardly waits here */
#define AT_THE_END_SHARE 0.8 /* of the loss */

/* While a rank is ready to run and has no processor it does not compute, outside of MPI or inside of it: which, the
 * kernel does not tell. So it computes at least its useful time less all of that, and at most less what does not fit
 * into its time in MPI. Of several threads it is counted of one, beside which the others may have computed. */
static double shared_ns(const struct analysis *a, uint32_t r)
{
	const struct process *p = a->step->ranks[r];
	bool known = p != NULL && p->processor_wait_ns > 0 && a->ranks[r].threads <= 1;
	return known ? fmin(p->processor_wait_ns, a->ranks[r].useful_ns) : 0;
}

static double computes_at_least_ns(const struct analysis *a, uint32_t r)
{
	return a->ranks[r].useful_ns - shared_ns(a, r);
}

/* Who computes longest for certain, and the mean rank at most: so what is lost is lost for that rank's work, and not
 * for the processor that it had not. */
struct load {
	uint32_t most_rank;
	double most_ns, mean_ns;
};

static struct load load_of_ranks(const struct analysis *a)
{
	struct load l = {.most_rank = NONE};
	double shared = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		double ns = computes_at_least_ns(a, r);
		if (!a->ranks[r].compared)
			continue;
		if (l.most_rank == NONE || ns > l.most_ns) {
			l.most_rank = r;
			l.most_ns = ns;
		}
		shared += fmax(0, shared_ns(a, r) - a->ranks[r].mpi_ns);
	}
	l.mean_ns = fmax(0, a->mean_useful_ns - shared / fmax(1, a->ranks_compared));
	return l;
}

static void name_heavy_ranks(const struct analysis *a, const struct load *l, struct issue *f)
{
	issue_add_rank(f, l->most_rank);
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (computes_at_least_ns(a, r) > (l->mean_ns + l->most_ns) / 2)
			issue_add_rank(f, r);
}

/* Where the others wait for it: the longest waits. */
static void name_waiting_sites(const struct analysis *a, struct issue *f)
{
	int64_t longest_ns = 0;
	for (unsigned n = 0; n < 3; n++) {
		const struct wait_row *best = NULL;
		for (size_t i = 0; i < a->tally.waits.rows.n; i++) {
			const struct wait_row *r = &a->tally.waits.rows.at[i];
			bool known = r->site == NONE;
			for (unsigned k = 0; k < f->nsites; k++)
				known |= f->sites[k] == r->site;
			if (!known && (best == NULL || r->ns > best->ns))
				best = r;
		}
		if (best == NULL || (double)best->ns < SITE_SHARE_MIN * (double)longest_ns ||
		    (double)best->ns < SITE_LOSS_MIN * f->loss_s * 1e9)
			return;
		issue_add_site(f, best->site);
		longest_ns = best->ns > longest_ns ? best->ns : longest_ns;
	}
}

/* Some ranks have next to nothing to do, such as a master, and the work of the others is even: that is what idle_ranks
 * says. */
static bool is_even_but_for_idle(const struct analysis *a, double most_ns)
{
	struct issue *idle = calloc(1, sizeof(*idle));
	double sum = 0, n = 0;
	if (idle != NULL)
		issue_idle_ranks(a, idle);
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		bool named = !a->ranks[r].compared;
		for (unsigned i = 0; idle != NULL && i < idle->nranks; i++)
			named |= idle->ranks[i] == r;
		sum += named ? 0 : a->ranks[r].useful_ns;
		n += !named;
	}
	bool even = idle != NULL && idle->found && n * most_ns < IMBALANCE_MIN * sum;
	free(idle);
	return even;
}

static void describe_load(const struct analysis *a, const struct load *l, struct issue *f)
{
	double useful_ns = a->ranks[l->most_rank].useful_ns, shared = useful_ns - l->most_ns;
	bool waited = !a->step->totals && (double)a->tally.waits.caused[l->most_rank] >= l->most_ns - l->mean_ns;
	char most[32], mean[32], time[32], without[96] = "";
	if (shared >= PROCESSOR_SHARE_SAID * useful_ns)
		snprintf(without, sizeof(without), " (up to %s of it waiting for a core)",
			 duration_text(shared / 1e9, time));
	snprintf(f->what, sizeof(f->what), "Rank %u computes %s%s, the mean rank %s: the others %s.", l->most_rank,
		 duration_text(useful_ns / 1e9, most), without, duration_text(l->mean_ns / 1e9, mean),
		 waited ? "wait for it" : "have less to do");
}

/* Where that is all at the end, what to look at is another. */
static void add_the_end(const struct analysis *a, struct issue *f)
{
	struct issue *end = calloc(1, sizeof(*end));
	char from[32];
	size_t len = strlen(f->what);
	if (end != NULL)
		issue_stuck_at_end(a, end);
	if (end != NULL && end->found && end->from_ns > 0 && end->nranks > 0 && end->ranks[0] == f->ranks[0] &&
	    end->loss_s >= AT_THE_END_SHARE * f->loss_s)
		snprintf(f->what + len, sizeof(f->what) - len,
			 " They wait for it at the end, from %s on, while it alone still has work.",
			 duration_text((double)end->from_ns / 1e9, from));
	free(end);
}

void issue_load_imbalance(const struct analysis *a, struct issue *f)
{
	if (a->ranks_compared < 2 || a->mean_useful_ns <= 0)
		return;
	char ranks[ISSUE_RANKS_TEXT];
	struct load l = load_of_ranks(a);
	if (l.most_rank == NONE || l.mean_ns <= 0 || is_even_but_for_idle(a, l.most_ns))
		return;
	f->loss_s = fmax(0, l.most_ns - l.mean_ns) / 1e9 * a->ranks_compared;
	f->metric = l.most_ns < a->ranks[l.most_rank].useful_ns || l.mean_ns < a->mean_useful_ns
			    ? "max over mean useful time, less what may be waiting for a core"
			    : "max over mean useful time";
	f->value = l.most_ns / l.mean_ns;
	f->threshold = IMBALANCE_MIN;
	f->of_s = issue_ranks_s(a);
	f->found = f->value >= f->threshold && f->loss_s / issue_ranks_s(a) >= WAIT_SHARE_MIN;
	if (!f->found)
		return;
	name_heavy_ranks(a, &l, f);
	name_waiting_sites(a, f);
	describe_load(a, &l, f);
	add_the_end(a, f);
	snprintf(f->why, sizeof(f->why),
		 "Ranks that exchange messages or call collectives together advance at the pace of the slowest.");
	snprintf(f->next, sizeof(f->next),
		 "Give %s less work (a smaller part of the domain, dynamic distribution), or find why it takes longer "
		 "there: compare counts of cells, iterations, cache misses, and the core that it runs on.",
		 issue_ranks_text(f, ranks));
}

static double p2p_work_s(const struct analysis *a)
{
	double ns = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++)
			if (step_class(a->step, &p->sigs.at[i]) == MPIX_P2P)
				ns += (double)p->sigs.at[i].ticks * p->ns_per_tick;
	}
	ns -= (double)(a->tally.waits.total_ns[LATE_SENDER] + a->tally.waits.total_ns[LATE_RECEIVER] +
		       a->tally.waits.total_ns[LATE_PROGRESS]);
	double most = issue_moving_max_s(2 * (double)a->p2p.count, 2 * (double)a->p2p.bytes, 1);
	return fmin(most, fmax(0, ns / 1e9));
}

void issue_communication_imbalance(const struct analysis *a, struct issue *f)
{
	double total = 0, most = 0, moved = p2p_work_s(a);
	char text[32], other[32];
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		double bytes = (double)(a->ranks[r].bytes_out + a->ranks[r].bytes_in);
		total += bytes;
		most = fmax(most, bytes);
	}
	double mean = a->ranks_seen > 0 ? total / a->ranks_seen : 0;
	f->metric = "largest over mean bytes of a rank";
	f->value = mean > 0 ? most / mean : 0;
	f->threshold = TRAFFIC_RATIO_MIN;
	f->loss_s = total > 0 ? moved * (1 - mean / most) : 0;
	f->found = f->value >= f->threshold && f->loss_s / issue_total_s(a) >= WAIT_SHARE_MIN;
	if (!f->found)
		return;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if ((double)(a->ranks[r].bytes_out + a->ranks[r].bytes_in) > TRAFFIC_RATIO_MIN * mean)
			issue_add_rank(f, r);
	snprintf(f->what, sizeof(f->what), "The busiest rank moves %s, the mean rank %s.", bytes_text(most, text),
		 bytes_text(mean, other));
	snprintf(f->why, sizeof(f->why),
		 "Transfers of one rank go through one network interface, one after the other.");
	snprintf(f->next, sizeof(f->next),
		 "Spread the traffic of the ranks named: use trees instead of stars, collectives instead of loops of "
		 "sends.");
}

void issue_link_hotspot(const struct analysis *a, struct issue *f)
{
	const struct link *top = NULL;
	double moved = p2p_work_s(a);
	char text[32];
	for (size_t i = 0; i < a->p2p.links.n; i++)
		if (top == NULL || a->p2p.links.at[i].bytes > top->bytes)
			top = &a->p2p.links.at[i];
	if (top == NULL || a->p2p.links.n < 5 || a->p2p.bytes == 0)
		return;
	f->metric = "share of all point-to-point bytes";
	f->value = (double)top->bytes / (double)a->p2p.bytes;
	f->threshold = LINK_SHARE_MIN;
	f->loss_s = moved * f->value;
	f->found = f->value >= f->threshold && f->loss_s / issue_total_s(a) >= WAIT_SHARE_MIN;
	if (!f->found)
		return;
	issue_add_rank(f, top->src);
	issue_add_rank(f, top->dst);
	issue_add_pair(f, top->src, top->dst);
	snprintf(f->what, sizeof(f->what), "%s go from rank %u to rank %u, %s between all others together.",
		 bytes_text((double)top->bytes, text), top->src, top->dst,
		 top->bytes > a->p2p.bytes - top->bytes ? "more than" : "as much as");
	snprintf(f->why, sizeof(f->why), "One link carries most of the traffic while the others are idle.");
	snprintf(f->next, sizeof(f->next), "Place these two ranks on one node, or split what they exchange.");
}

struct node_load {
	double sum, square;
	uint32_t n;
};

static void load_of(const struct analysis *a, uint32_t node, bool inside, struct node_load *l)
{
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		if (p == NULL || (p->node == node) != inside)
			continue;
		l->sum += a->ranks[r].useful_ns;
		l->square += a->ranks[r].useful_ns * a->ranks[r].useful_ns;
		l->n++;
	}
}

static double deviation(const struct node_load *l)
{
	double mean = l->sum / l->n;
	return sqrt(fmax(0, l->square / l->n - mean * mean));
}

/* All ranks of one node compute longer than all others, by more than ranks differ among themselves.
 */
void issue_slow_node(const struct analysis *a, struct issue *f)
{
	for (uint32_t i = 0; i < a->step->nodes.n && a->step->nodes.n >= 3; i++) {
		struct node_load in = {0}, out = {0};
		load_of(a, i, true, &in);
		load_of(a, i, false, &out);
		if (in.n < 2 || out.n < 2 || out.sum <= 0)
			continue;
		double here = in.sum / in.n, there = out.sum / out.n;
		double loss_s = (here - there) / 1e9 * out.n;
		if (here < IMBALANCE_MIN * there || here - there < 3 * fmax(deviation(&in), deviation(&out)) ||
		    loss_s / issue_ranks_s(a) < WAIT_SHARE_MIN || loss_s <= f->loss_s)
			continue;
		f->found = true;
		f->of_s = issue_ranks_s(a);
		f->loss_s = loss_s;
		f->metric = "useful time on the node over that elsewhere";
		f->value = here / there;
		f->threshold = IMBALANCE_MIN;
		f->nranks = 0;
		for (uint32_t r = 0; r < a->step->nranks; r++)
			if (a->step->ranks[r] != NULL && a->step->ranks[r]->node == i)
				issue_add_another_rank(f, r);
		snprintf(f->what, sizeof(f->what),
			 "All ranks on node %.64s compute %.2f times as long as those on the other nodes.",
			 a->step->nodes.at[i].name, here / there);
		snprintf(f->why, sizeof(f->why),
			 "The difference follows the node, not the rank: clock frequency, "
			 "temperature, memory, or "
			 "another job are likely causes.");
		snprintf(f->next, sizeof(f->next),
			 "Run again without this node; if the difference goes away, tell your "
			 "administrators.");
	}
}
