/* root.c - one rank in the middle: master and workers, and rooted collectives. */
#include "postproc/patterns/shape.h"
#include "base/units.h"

#include <stdio.h>

/* Messages that begin or end at a rank, and how many others it speaks with. */
struct hub {
	double count;
	uint32_t peers;
};

static uint32_t busiest(const struct shape *s, struct hub *hubs)
{
	uint32_t best = 0;
	for (size_t i = 0; i < s->nlinks; i++) {
		const struct link *c = &s->links[i];
		hubs[c->src].count += (double)c->count;
		hubs[c->dst].count += (double)c->count;
		hubs[c->src].peers++;
		hubs[c->dst].peers += !shape_has(s, c->dst, c->src);
	}
	for (uint32_t r = 1; r < s->n; r++)
		if (hubs[r].count > hubs[best].count)
			best = r;
	return best;
}

void pattern_master_worker(const struct shape *s, struct pattern *p)
{
	struct hub *hubs = s->n < 3 || s->nlinks == 0 ? NULL : calloc(s->n, sizeof(*hubs));
	if (hubs == NULL)
		return;
	uint32_t master = busiest(s, hubs);
	double share = hubs[master].count / s->count, reach = (double)hubs[master].peers / (s->n - 1);
	p->score = share * (reach > 0.75 ? 1 : reach);
	p->ranks[p->nranks++] = master;
	snprintf(p->evidence, sizeof(p->evidence), "rank %u is an end of %.0f %% of all messages, with %s of %s others",
		 master, 100 * share, fmt_count(hubs[master].peers).s, fmt_count(s->n - 1).s);
	free(hubs);
}

static void count_roots(const struct step *s, const struct process *p, double *by_root, double *others)
{
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		if (!sig->defined || sig->call.shape != SIG_COLL || sig->call.coll == COLL_BARRIER)
			continue;
		if (coll_is_rooted(sig->call.coll) && sig->peer >= 0 && (uint32_t)sig->peer < s->nranks)
			by_root[sig->peer] += (double)sig->calls;
		else
			*others += (double)sig->calls;
	}
}

/* Most collective calls are rooted ones, and most of these name one root. */
void pattern_rooted_collective(const struct shape *shape, struct pattern *p)
{
	const struct step *s = shape->a->step;
	double *by_root = s->nranks < 3 ? NULL : calloc(s->nranks, sizeof(*by_root)), others = 0, rooted = 0;
	uint32_t best = 0;
	if (by_root == NULL)
		return;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			count_roots(s, s->ranks[r], by_root, &others);
	for (uint32_t r = 0; r < s->nranks; r++) {
		rooted += by_root[r];
		if (by_root[r] > by_root[best])
			best = r;
	}
	if (rooted >= 10.0 * s->nranks && rooted > others) {
		p->score = by_root[best] / rooted;
		p->ranks[p->nranks++] = best;
		snprintf(p->evidence, sizeof(p->evidence),
			 "%.0f %% of the collective calls are rooted, %.0f %% of those at rank %u",
			 100 * rooted / (rooted + others), 100 * by_root[best] / rooted, best);
	}
	free(by_root);
}
