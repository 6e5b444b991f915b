/* health.c - issues about the program's or the job's health rather than its time. */
#include "postproc/issues/issues.h"

#include <inttypes.h>
#include <stdio.h>

#define HEALTH_SEVERITY 0.4

void issue_unmatched(const struct analysis *a, struct issue *f)
{
	const struct unmatched *u = &a->unmatched;
	f->metric = "messages without a partner, both records whole";
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
	snprintf(f->what, sizeof(f->what),
		 "%" PRIu64 " messages were sent and never received, or receives posted and "
		 "never served.",
		 u->program);
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
	snprintf(f->what, sizeof(f->what), "%" PRIu64 " requests were started and never completed or freed.", leaked);
	snprintf(f->why, sizeof(f->why), "Each holds memory in the MPI library until the program ends.");
	snprintf(f->next, sizeof(f->next),
		 "Wait for them (MPI_Waitall), or free persistent ones with MPI_Request_free.");
}

static uint32_t ranks_on(const struct step *s, uint32_t node)
{
	uint32_t n = 0;
	for (uint32_t r = 0; r < s->nranks; r++)
		n += s->ranks[r] != NULL && s->ranks[r]->node == node;
	return n;
}

/* Taking turns matters as far as the ranks do not compute. */
static double oversubscription_severity(const struct analysis *a, double ratio)
{
	double parallel = a->longest_region_ns > 0 ? a->mean_useful_ns / a->longest_region_ns : 1;
	double severity = (ratio > 2 ? 1 : ratio - 1) * (1 - parallel);
	return severity > 0.01 ? severity : 0.01;
}

void issue_oversubscription(const struct analysis *a, struct issue *f)
{
	for (uint32_t i = 0; i < a->step->nodes.n; i++) {
		const struct node *n = &a->step->nodes.at[i];
		const cJSON *hw = cJSON_GetObjectItemCaseSensitive(n->meta, "topology");
		double pus = json_number_or(hw, "pus", 0), ranks = ranks_on(a->step, i);
		if (pus < 1 || ranks / pus <= 1 || ranks / pus <= f->value)
			continue;
		f->found = true;
		f->value = ranks / pus;
		f->severity = oversubscription_severity(a, f->value);
		f->metric = "ranks per hardware thread of a node";
		f->threshold = 1;
		f->nranks = 0;
		for (uint32_t r = 0; r < a->step->nranks; r++)
			if (a->step->ranks[r] != NULL && a->step->ranks[r]->node == i)
				issue_add_rank(f, r);
		snprintf(f->what, sizeof(f->what), "Node %.64s runs %.0f ranks on %.0f hardware threads.", n->name,
			 ranks, pus);
		snprintf(f->why, sizeof(f->why),
			 "Ranks take turns on a core: one that polls for a message keeps the one "
			 "that would send it from "
			 "running, and times of single calls are those of the scheduler.");
		snprintf(f->next, sizeof(f->next),
			 "Use at most one rank a core; if you must have more, let the library yield "
			 "(OMPI_MCA_mpi_yield_when_idle=1).");
	}
}
