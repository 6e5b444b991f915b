/* actions.c - what the sweep is told of the calls of a lane, in their order: that others may wait for one, that one
 * needs another, that it enters or leaves a collective. In: the call at hand.  Out: the lane's actions. */
#include "postproc/stream/walk.h"

/* The next action of the call at hand; NULL without memory. */
static struct action *add_action(const struct walk *w, uint8_t kind)
{
	struct action *x = vec_more(&w->lane->actions);
	if (x == NULL)
		return NULL;
	x->at = w->at;
	x->kind = kind;
	return x;
}

int walk_edge(struct walk *w, struct edge **ret_edge)
{
	*ret_edge = NULL;
	if (!w->st->sweeps)
		return 0;
	struct edge *e = slab_take(&w->sh->edges);
	struct action *x = e != NULL ? add_action(w, ACTION_BEGIN) : NULL;
	if (x == NULL)
		return -ENOMEM;
	*e = (struct edge){.shard = (uint8_t)w->sh->number, .refs = 2};
	edge_number(w->sh, e);
	x->edge = *ret_edge = e;
	return 0;
}

int walk_edge_first(struct walk *w, struct edge **ret_edge)
{
	int code = walk_edge(w, ret_edge);
	if (code < 0 || *ret_edge == NULL)
		return code;
	struct action *all = w->lane->actions.at, begin = all[w->lane->actions.n - 1];
	size_t i = w->lane->actions.n - 1;
	for (; i > 0 && all[i - 1].at == w->at && all[i - 1].kind != ACTION_BEGIN; i--)
		all[i] = all[i - 1];
	all[i] = begin;
	return 0;
}

int walk_need(struct walk *w, struct need **ret_need)
{
	*ret_need = NULL;
	if (!w->st->sweeps)
		return 0;
	struct need *n = slab_take(&w->sh->needs);
	struct action *x = n != NULL ? add_action(w, ACTION_NEED) : NULL;
	if (x == NULL)
		return -ENOMEM;
	*n = (struct need){.state = EDGE_OPEN, .shard = (uint16_t)w->sh->number};
	x->need = *ret_need = n;
	return 0;
}

int walk_action(struct walk *w, const struct part *p, uint8_t kind)
{
	const struct sig *sig = &w->p->sigs.at[p->sig];
	bool inter = w->st->step->comms.at[p->collective->comm].inter;
	bool root = sig->peer == SIG_ROOT || (!inter && sig->peer == (int32_t)p->rank);
	if (!w->st->sweeps)
		return 0;
	struct action *x = add_action(w, kind);
	if (x == NULL)
		return -ENOMEM;
	x->coll = (uint8_t)p->coll;
	x->root = root;
	x->comm = p->collective->comm;
	x->channel = p->collective->channel;
	x->k = p->collective->k;
	return 0;
}
