/* busy.c - ranks that were ready to run and had no processor although their node has one for each: somebody else had
 * it. In: what the kernel counted for each rank; hardware threads of the nodes. More ranks than those: health.c. */
#include "postproc/issues/issues.h"

#include <math.h>
#include <stdio.h>

struct busy {
	uint32_t most_rank;
	double most_ns;
	double ranks, pus; /* of its node */
};

/* Hardware threads of a node that has one for each of its ranks; 0: it has not, or it is not known. */
static double enough_pus(const struct analysis *a, uint32_t node, double *ret_ranks)
{
	const cJSON *hw = cJSON_GetObjectItemCaseSensitive(a->step->nodes.at[node].meta, "topology");
	double pus = json_number_or(hw, "pus", 0), ranks = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		ranks += a->step->ranks[r] != NULL && a->step->ranks[r]->node == node;
	*ret_ranks = ranks;
	return pus >= ranks ? pus : 0;
}

static void add_node(const struct analysis *a, uint32_t node, struct busy *b, struct issue *f)
{
	double ranks, pus = enough_pus(a, node, &ranks);
	for (uint32_t r = 0; r < a->step->nranks && pus > 0; r++) {
		const struct process *p = a->step->ranks[r];
		if (p == NULL || p->node != node || !(p->processor_wait_ns > 0))
			continue;
		f->loss_s += p->processor_wait_ns / 1e9;
		if (p->processor_wait_ns >= WAIT_SHARE_MIN * a->ranks[r].region_ns)
			issue_add_rank(f, r);
		if (p->processor_wait_ns > b->most_ns)
			*b = (struct busy){r, p->processor_wait_ns, ranks, pus};
	}
}

void issue_busy_processors(const struct analysis *a, struct issue *f)
{
	struct busy b = {.most_rank = NONE};
	char all[32], most[32];
	double share;
	for (uint32_t i = 0; i < a->step->nodes.n; i++)
		add_node(a, i, &b, f);
	f->metric = "share of all ranks' time, ready to run without a processor";
	f->of_s = issue_ranks_s(a);
	f->value = f->loss_s / f->of_s;
	f->threshold = WAIT_SHARE_MIN;
	f->found = b.most_rank != NONE && f->value >= f->threshold;
	if (!f->found)
		return;
	share = fmin(1, b.most_ns / fmax(1, a->ranks[b.most_rank].region_ns));
	snprintf(f->what, sizeof(f->what),
		 "Ranks waited %s for a free core (total over ranks), rank %u %s (%.0f %% of its time), although its "
		 "node %.64s has %.0f hardware thread%s for %.0f rank%s.",
		 duration_text(f->loss_s, all), b.most_rank, duration_text(b.most_ns / 1e9, most), 100 * share,
		 a->step->nodes.at[a->step->ranks[b.most_rank]->node].name, b.pus, b.pus == 1 ? "" : "s", b.ranks,
		 b.ranks == 1 ? "" : "s");
	snprintf(f->why, sizeof(f->why),
		 "Others held the cores: another program on the node, threads of the ranks themselves, or ranks bound "
		 "to the same cores. The scheduler then decides the times of single calls, so this stands before "
		 "causes that are found in such times.");
	snprintf(
		f->next, sizeof(f->next),
		"See what else runs there (top; srun --exclusive keeps others away), how many threads each rank starts "
		"(OMP_NUM_THREADS) and where ranks are bound (srun --cpu-bind=verbose).");
}
