/* health.c - issues about the program's or the job's health rather than its time. */
#include "postproc/issues/issues.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define HEALTH_SEVERITY 0.4
#define UNFELT_SEVERITY 0.01 /* for information */

void issue_unmatched(const struct analysis *a, struct issue *f)
{
	const struct unmatched *u = &a->unmatched;
	f->metric = "messages without a partner, both records complete";
	f->value = (double)u->program;
	f->threshold = 1;
	f->severity = HEALTH_SEVERITY;
	f->found = u->program > 0;
	if (!f->found)
		return;
	for (size_t i = 0; i < a->tally.orphans.n; i++) {
		const struct orphan *x = &a->tally.orphans.at[i];
		issue_add_rank(f, x->src);
		issue_add_pair(f, x->src, x->dst);
		issue_add_site(f, x->site);
	}
	snprintf(f->what, sizeof(f->what), "Sent but never received, or posted but never matched: %s.",
		 fmt_many((double)u->program, "message").s);
	snprintf(f->why, sizeof(f->why),
		 "A program that leaves messages behind is erroneous by the MPI standard and holds "
		 "memory for them.");
	snprintf(f->next, sizeof(f->next), "Compare tags, communicators and counts at the call sites listed.");
}

void issue_request_leak(const struct analysis *a, struct issue *f)
{
	uint64_t leaked = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		leaked += a->leaked[r];
		if (a->leaked[r] == 0)
			continue;
		issue_add_rank(f, r);
		issue_add_site(f, a->leak_site[r]);
	}
	f->metric = "requests neither completed nor freed";
	f->value = (double)leaked;
	f->threshold = 1;
	f->severity = HEALTH_SEVERITY;
	f->found = leaked > 0;
	if (!f->found)
		return;
	snprintf(f->what, sizeof(f->what), "Started but neither completed nor freed: %s.",
		 fmt_many((double)leaked, "request").s);
	snprintf(f->why, sizeof(f->why), "Each holds memory in the MPI library until the program ends.");
	snprintf(f->next, sizeof(f->next),
		 "Wait for them (MPI_Waitall), or free persistent ones with MPI_Request_free.");
}

/* ---- more ranks, or threads of theirs, than processors: hardware threads ---- */

#define OTHERS_FACTOR 1.2  /* before MPI_Init and behind MPI_Finalize ranks take turns as well */
#define THREADS_CROWD 1.25 /* how many threads want a processor is known of samples, about */

struct crowd {
	double wanted, ranks, pus; /* of the node where most want a hardware thread */
	const char *node;
	bool threads;	  /* of its ranks there call MPI several */
	unsigned nodes;	  /* on which more than one wants it */
	double ready_ns;  /* all their ranks ready to run and without a processor; NaN: not known of one of them */
	double shared_ns; /* so long they are if nobody else has these processors, and all want one all the time */
};

/* How many processors a rank wanted at a time, by what its threads ran and were ready to run. */
static double wanted_by(const struct analysis *a, uint32_t r, bool *threads)
{
	const struct process *p = a->step->ranks[r];
	if (isnan(p->running_ns) || !(a->ranks[r].region_ns > 0))
		return 1;
	*threads = true;
	return fmax(1, (p->running_ns + p->ready_ns) / a->ranks[r].region_ns);
}

static double wanted_on(const struct analysis *a, uint32_t node, uint32_t *ret_ranks, bool *ret_threads)
{
	double wanted = 0;
	*ret_ranks = 0;
	*ret_threads = false;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (a->step->ranks[r] != NULL && a->step->ranks[r]->node == node) {
			wanted += wanted_by(a, r, ret_threads);
			++*ret_ranks;
		}
	return wanted;
}

/* At most so much of the ranks' time can have gone to others on the same processors: what was not computing, and not
 * more than the processors were short of. A scheduler is fair: of ranks that share alike one does not compute longer
 * than that some processors have one rank more than others. Waiting for one that computes even longer is not for the
 * processors; but while it had none, as the kernel counts, it did not compute. Nor is the time in calls that never
 * ended: more processors would not have ended them. */
static double lost_on(const struct analysis *a, uint32_t node, double ratio)
{
	double mpi = 0, region = 0, sum = 0, most = 0, n = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		if (p != NULL && p->node == node) {
			mpi += a->ranks[r].mpi_ns - a->ranks[r].open_ns;
			region += a->ranks[r].region_ns - a->ranks[r].open_ns;
			sum += a->ranks[r].useful_ns;
			most = fmax(most,
				    a->ranks[r].useful_ns - (p->processor_wait_ns > 0 ? p->processor_wait_ns : 0));
			n++;
		}
	}
	double uneven = n > 0 ? n * fmax(0, most - sum / n * ceil(ratio) / ratio) : 0;
	return fmax(0, fmin(mpi, region * (1 - 1 / ratio)) - uneven) / 1e9;
}

static void add_node(const struct analysis *a, uint32_t node, struct crowd *c, struct issue *f)
{
	const struct node *n = &a->step->nodes.at[node];
	const cJSON *hw = cJSON_GetObjectItemCaseSensitive(n->meta, "topology");
	uint32_t ranks;
	bool threads;
	double pus = json_number_or(hw, "pus", 0), wanted = wanted_on(a, node, &ranks, &threads), known_ns = 0;
	if (pus < 1 || (ranks <= pus && wanted <= THREADS_CROWD * pus))
		return;
	c->nodes++;
	c->shared_ns += a->longest_region_ns * (wanted - pus);
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (a->step->ranks[r] != NULL && a->step->ranks[r]->node == node) {
			issue_add_another_rank(f, r);
			double ready_ns = process_ready_ns(a->step->ranks[r]);
			c->ready_ns += ready_ns;
			known_ns += isnan(ready_ns) ? 0 : ready_ns; /* not of one that died */
		}
	f->loss_s += threads ? known_ns / 1e9 : lost_on(a, node, wanted / pus);
	if (wanted / pus <= f->value)
		return;
	f->value = wanted / pus;
	*c = (struct crowd){wanted, ranks, pus, n->name, threads, c->nodes, c->ready_ns, c->shared_ns};
}

static void say_ranks(const struct crowd *c, bool others, const char *more, const char *ready, struct issue *f)
{
	snprintf(f->what, sizeof(f->what), "Node %.64s runs %s rank%s on %s processor%s%s.%s", c->node,
		 fmt_count(c->ranks).s, c->ranks == 1 ? "" : "s", fmt_count(c->pus).s, c->pus == 1 ? "" : "s", more,
		 ready);
	snprintf(f->why, sizeof(f->why),
		 "Ranks share a processor (a hardware thread of a core): one that computes or polls delays another one "
		 "that ranks wait for, and the scheduler decides the times of single calls. The loss is an upper "
		 "bound: a rank that waits for another could not have used a processor.");
	snprintf(f->next, sizeof(f->next),
		 "%sun at most %.0f ranks on a node (srun --ntasks-per-node=%.0f, mpirun --map-by ppr:%.0f:node): on "
		 "more nodes, or fewer ranks.",
		 others ? "See what else runs there (top; srun --exclusive keeps others away). Then r" : "R", c->pus,
		 c->pus, c->pus);
	f->metric = "ranks per processor, on the fullest node";
}

static void say_threads(const struct crowd *c, bool others, const char *more, const char *ready, struct issue *f)
{
	snprintf(f->what, sizeof(f->what),
		 "Threads of %s rank%s on node %.64s want %.1f processors at a time, and it has %s%s.%s",
		 fmt_count(c->ranks).s, c->ranks == 1 ? "" : "s", c->node, c->wanted, fmt_count(c->pus).s, more, ready);
	snprintf(f->why, sizeof(f->why),
		 "Threads share a processor (a hardware thread of a core): one that computes or polls delays another "
		 "one "
		 "that others wait for, and the scheduler decides the times of single calls. Threads that call no MPI "
		 "are not counted.");
	snprintf(
		f->next, sizeof(f->next),
		"%sive the threads of a node %.0f processors or less to share: fewer threads a rank (OMP_NUM_THREADS), "
		"fewer ranks a node, or more nodes.",
		others ? "See what else runs there (top; srun --exclusive keeps others away). Then g" : "G", c->pus);
	f->metric = "threads that want a processor per processor, on the fullest node";
}

void issue_oversubscription(const struct analysis *a, struct issue *f)
{
	struct crowd c = {.node = ""};
	char more[64] = "", ready[320] = "", time[32];
	for (uint32_t i = 0; i < a->step->nodes.n; i++)
		add_node(a, i, &c, f);
	f->found = c.nodes > 0;
	if (!f->found)
		return;
	f->of_s = c.threads ? issue_total_s(a) : issue_ranks_s(a);
	bool others = c.ready_ns > OTHERS_FACTOR * c.shared_ns;
	f->severity = fmax(UNFELT_SEVERITY, 4 * f->loss_s / f->of_s);
	f->threshold = 1;
	if (c.nodes > 1)
		snprintf(more, sizeof(more), "; %u more node%s too many as well", c.nodes - 1,
			 c.nodes == 2 ? " has" : "s have");
	if (c.ready_ns > 0)
		snprintf(ready, sizeof(ready), " %s %s waited %s for a free core (total over %s).%s",
			 c.nodes > 1 ? "These nodes'" : "Its", c.threads ? "threads" : "ranks",
			 duration_text(c.ready_ns / 1e9, time), c.threads ? "threads" : "ranks",
			 !others     ? ""
			 : c.threads ? " They alone do not make each other wait that long: others used these cores too."
				     : " The ranks alone do not make each other wait that long: other programs used "
				       "these cores too.");
	(c.threads ? say_threads : say_ranks)(&c, others, more, ready, f);
}
