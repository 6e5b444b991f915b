/* placement.c - do ranks that exchange much sit close together? Bytes between nodes of the mapping as it is, weighed by
 * how many levels of switches they pass, against three others with as many ranks on each node: in blocks, in turn, and
 * grown along the heaviest links. Of messages and one-sided calls; collectives take their own ways. */
#include "postproc/issues/issues.h"
#include "postproc/issues/placement.h"

#include <math.h>
#include <stdio.h>

#define SAVED_SHARE_MIN 0.20 /* of all bytes: that another mapping keeps inside */
#define GROWTH_CARRY 1e-3    /* of bytes with the nodes before: neighbours decide where the node itself does not */
#define GROWTH_STEPS_MAX 2e8 /* ranks times ranks and links: beyond it, the last is left out */

struct links_of {
	uint32_t n;
	const struct traffic *traffic[2]; /* messages, one-sided */
	const struct distances *distances;
};

/* Where each rank sits, and what goes between nodes then. */
struct mapping {
	const char *name, *how;
	uint32_t *node;
	double outside; /* bytes */
	double beyond;	/* of them, those between nodes of different switches */
	double far;	/* all of them, each times its levels of switches over the most levels of any two nodes */
};

static void weigh(const struct links_of *l, struct mapping *m)
{
	m->outside = m->beyond = m->far = 0;
	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < l->traffic[k]->links.n; i++) {
			const struct link *x = &l->traffic[k]->links.at[i];
			unsigned levels = distances_levels(l->distances, m->node[x->src], m->node[x->dst]);
			m->outside += levels > 0 ? (double)x->bytes : 0;
			m->beyond += levels > 1 ? (double)x->bytes : 0;
			m->far += (double)x->bytes * levels / l->distances->most;
		}
}

static void place_blocks(uint32_t n, const uint32_t *room, uint32_t nnodes, uint32_t *node)
{
	for (uint32_t r = 0, at = 0, used = 0; r < n; r++, used++) {
		while (at + 1 < nnodes && used == room[at]) {
			at++;
			used = 0;
		}
		node[r] = at;
	}
}

static void place_in_turn(uint32_t n, const uint32_t *room, uint32_t nnodes, uint32_t *used, uint32_t *node)
{
	memset(used, 0, nnodes * sizeof(*used));
	for (uint32_t r = 0, at = 0; r < n; r++) {
		while (used[at] == room[at])
			at = (at + 1) % nnodes;
		node[r] = at;
		used[at]++;
		at = (at + 1) % nnodes;
	}
}

struct growth {
	const struct links_of *links;
	uint32_t *node; /* NONE: not placed */
	double *gain;	/* bytes with those on the node that is being filled */
};

/* Links in either direction: those from it are together, those to it are not, so all are passed once. */
static void add_gains(struct growth *g, uint32_t placed)
{
	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < g->links->traffic[k]->links.n; i++) {
			const struct link *x = &g->links->traffic[k]->links.at[i];
			if (x->src == placed)
				g->gain[x->dst] += (double)x->bytes;
			else if (x->dst == placed)
				g->gain[x->src] += (double)x->bytes;
		}
}

/* The one with most to say to those that are there; the first among equals. */
static uint32_t next_rank(const struct growth *g)
{
	uint32_t best = NONE;
	for (uint32_t r = 0; r < g->links->n; r++)
		if (g->node[r] == NONE && (best == NONE || g->gain[r] > g->gain[best]))
			best = r;
	return best;
}

static void place_grown(struct growth *g, const uint32_t *room, uint32_t nnodes)
{
	for (uint32_t r = 0; r < g->links->n; r++)
		g->node[r] = NONE;
	for (uint32_t at = 0; at < nnodes; at++) {
		for (uint32_t r = 0; r < g->links->n; r++)
			g->gain[r] *= GROWTH_CARRY;
		for (uint32_t i = 0; i < room[at]; i++) {
			uint32_t r = next_rank(g);
			if (r == NONE)
				return;
			g->node[r] = at;
			add_gains(g, r);
		}
	}
}

static void name_links(const struct links_of *l, const struct mapping *now, const struct mapping *best, struct issue *f)
{
	for (unsigned n = 0; n < ISSUE_PAIRS_MAX; n++) {
		const struct link *top = NULL;
		for (unsigned k = 0; k < 2; k++)
			for (size_t i = 0; i < l->traffic[k]->links.n; i++) {
				const struct link *x = &l->traffic[k]->links.at[i];
				bool known = now->node[x->src] == now->node[x->dst] ||
					     best->node[x->src] != best->node[x->dst];
				for (unsigned j = 0; j < f->npairs; j++)
					known |= f->pairs[j][0] == x->src && f->pairs[j][1] == x->dst;
				if (!known && (top == NULL || x->bytes > top->bytes))
					top = x;
			}
		if (top == NULL)
			return;
		issue_add_pair(f, top->src, top->dst);
		issue_add_rank(f, top->src);
		issue_add_rank(f, top->dst);
	}
}

/* Where most of what goes to other nodes is sent. */
static void name_site(const struct analysis *a, const struct mapping *now, struct issue *f)
{
	double most = 0, *bytes = calloc(a->step->sites.n + 1, sizeof(*bytes));
	uint32_t site = NONE;
	for (uint32_t r = 0; r < a->step->nranks && bytes != NULL; r++)
		for (size_t i = 0; i < a->step->ranks[r]->sigs.n; i++) {
			const struct sig *sig = &a->step->ranks[r]->sigs.at[i];
			bool sends = sig->defined && (sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV);
			if (sends && sig->site != NONE && sig->peer >= 0 && (uint32_t)sig->peer < a->step->nranks &&
			    now->node[sig->peer] != now->node[r])
				bytes[sig->site] += (double)sig->bytes * (double)(sig->calls + sig->starts);
		}
	for (uint32_t i = 0; i < a->step->sites.n && bytes != NULL; i++)
		if (bytes[i] > most) {
			most = bytes[i];
			site = i;
		}
	free(bytes);
	issue_add_site(f, site);
}

static void describe_gain(const struct analysis *a, const struct links_of *l, const struct mapping *now,
			  const struct mapping *best, struct issue *f)
{
	double all = (double)a->p2p.bytes + (double)a->rma.bytes, saved = now->far - best->far;
	char before[32], after[32], place[256];
	bool measured = false;
	f->metric = "share of all bytes of messages that go between nodes and need not";
	f->value = all > 0 ? saved / all : 0;
	f->threshold = SAVED_SHARE_MIN;
	if (f->value >= f->threshold)
		f->loss_s = placement_cost(a, &measured) * fmin(1, saved / now->far);
	f->found = f->value >= f->threshold && f->loss_s / issue_total_s(a) >= WAIT_SHARE_MIN;
	if (!f->found)
		return;
	name_links(l, now, best, f);
	name_site(a, now, f);
	f->from_ns = a->tally.transfers > 0 ? a->tally.sent_from_ns : 0;
	f->to_ns = a->tally.transfers > 0 ? a->tally.sent_to_ns : 0;
	bool switches = now->outside - best->outside < saved / 2; /* it is not the nodes, but how far apart they are */
	snprintf(f->what, sizeof(f->what), "%s go between nodes%s; with ranks placed %s it would be %s%s.",
		 bytes_text(switches ? now->beyond : now->outside, before), switches ? " of different switches" : "",
		 best->name, bytes_text(switches ? best->beyond : best->outside, after),
		 site_text(a->step, f->nsites > 0 ? f->sites[0] : NONE, place, sizeof(place)));
	snprintf(f->why, sizeof(f->why),
		 "What stays on a node goes through its memory; the network is slower, and all ranks of a node share "
		 "it. %s",
		 measured ? "The loss is what sends to other nodes took more than sends of that size within a node."
			  : "The loss is a bound: how fast it is within a node is not in the record.");
	snprintf(f->next, sizeof(f->next), "%s", best->how);
}

enum { NOW, BLOCKS, IN_TURN, GROWN, MAPPINGS };

static const struct mapping names[MAPPINGS] = {
	[BLOCKS] = {.name = "in blocks",
		    .how = "Place ranks in blocks: srun --distribution=block, or mpirun --map-by core."},
	[IN_TURN] = {.name = "in turn",
		     .how = "Place ranks on the nodes in turn: srun --distribution=cyclic, or mpirun --map-by node."},
	[GROWN] = {.name = "by their links",
		   .how = "Let the program number its ranks by who exchanges with whom (MPI_Cart_create or "
			  "MPI_Dist_graph_create with reorder), or give the order: srun --distribution=arbitrary with "
			  "a host file."},
};

static void compare(const struct analysis *a, const struct links_of *l, uint32_t *room, uint32_t *used,
		    struct mapping *m, double *gain, struct issue *f)
{
	uint32_t n = l->n, nnodes = (uint32_t)a->step->nodes.n, best = BLOCKS;
	bool grows = (double)n * (double)(n + a->p2p.links.n + a->rma.links.n) <= GROWTH_STEPS_MAX;
	for (uint32_t r = 0; r < n; r++) {
		m[NOW].node[r] = a->step->ranks[r]->node;
		room[m[NOW].node[r]]++;
	}
	place_blocks(n, room, nnodes, m[BLOCKS].node);
	place_in_turn(n, room, nnodes, used, m[IN_TURN].node);
	if (grows)
		place_grown(&(struct growth){l, m[GROWN].node, gain}, room, nnodes);
	for (unsigned i = 0; i < (grows ? MAPPINGS : GROWN); i++) {
		weigh(l, &m[i]);
		if (i > BLOCKS && m[i].far < m[best].far)
			best = i;
	}
	describe_gain(a, l, &m[NOW], &m[best], f);
}

static bool all_known(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] == NULL)
			return false;
	return s->nodes.n > 1 && s->nranks > s->nodes.n;
}

void issue_poor_placement(const struct analysis *a, struct issue *f)
{
	const struct step *s = a->step;
	struct mapping m[MAPPINGS];
	if (!all_known(s) || a->p2p.bytes + a->rma.bytes == 0)
		return;
	struct distances distances = distances_between(s);
	struct links_of l = {s->nranks, {&a->p2p, &a->rma}, &distances};
	uint32_t *nodes = calloc((size_t)MAPPINGS * s->nranks + 2 * s->nodes.n, sizeof(*nodes));
	double *gain = calloc(s->nranks, sizeof(*gain));
	for (unsigned i = 0; i < MAPPINGS && nodes != NULL; i++) {
		m[i] = names[i];
		m[i].node = nodes + (size_t)i * s->nranks;
	}
	if (nodes != NULL && gain != NULL)
		compare(a, &l, nodes + (size_t)MAPPINGS * s->nranks, nodes + (size_t)MAPPINGS * s->nranks + s->nodes.n,
			m, gain, f);
	free(nodes);
	free(gain);
	distances_done(&distances);
}
