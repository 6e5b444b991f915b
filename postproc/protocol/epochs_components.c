/* epochs_components.c - strongly connected components of pending events, by Tarjan's algorithm (SIAM Journal on
 * Computing 1 (2), 1972) along the arcs backwards: so a component is complete after all that it depends on. No
 * recursion: a chain of messages is as long as the run. */
#include "postproc/protocol/epochs_parts.h"

static int make_room(struct epoch_components *c, size_t nslots, size_t nnodes)
{
	c->nodes.n = c->members.n = c->first.n = c->open.n = c->n = 0;
	if (nnodes > 0 && vec_reach(&c->of_node, nnodes - 1) < 0)
		return -ENOMEM;
	if (nslots > 0 && (vec_reach(&c->slot_of, nslots - 1) < 0 || vec_reach(&c->nodes, nslots - 1) < 0))
		return -ENOMEM;
	c->nodes.n = 0;
	return 0;
}

static int room_for_search(struct epoch_components *c)
{
	size_t last = c->nodes.n;
	if (vec_reach(&c->visited, last) < 0 || vec_reach(&c->low, last) < 0 || vec_reach(&c->stack, last) < 0 ||
	    vec_reach(&c->path, last) < 0 || vec_reach(&c->next, last) < 0 || vec_reach(&c->number, last) < 0 ||
	    vec_reach(&c->members, last) < 0 || vec_reach(&c->first, last + 1) < 0 || vec_reach(&c->open, last) < 0)
		return -ENOMEM;
	memset(c->visited.at, 0, c->nodes.n * sizeof(*c->visited.at));
	return 0;
}

/* Which slots a node has. */
static int index_slots(struct epoch_components *c, const struct epoch_slot *slots, size_t nslots)
{
	if (vec_reach(&c->first_slot, c->nodes.n + 1) < 0)
		return -ENOMEM;
	memset(c->first_slot.at, 0, (c->nodes.n + 2) * sizeof(*c->first_slot.at));
	for (size_t i = 0; i < nslots; i++)
		c->first_slot.at[c->of_node.at[slots[i].node] + 2]++;
	for (size_t d = 0; d < c->nodes.n; d++)
		c->first_slot.at[d + 2] += c->first_slot.at[d + 1];
	for (size_t i = 0; i < nslots; i++)
		c->slot_of.at[c->first_slot.at[c->of_node.at[slots[i].node] + 1]++] = (uint32_t)i;
	return 0;
}

/* The node before a slot on its process, dense; EPOCHS_NONE: none that is pending. */
static uint32_t before(const struct epoch_components *c, const struct epoch_slot *slots, uint32_t slot)
{
	if (slot == 0 || slots[slot - 1].rank != slots[slot].rank)
		return EPOCHS_NONE;
	return c->of_node.at[slots[slot - 1].node];
}

static void enter(struct epoch_components *c, uint32_t d, uint32_t *clock, size_t *depth, size_t *stacked)
{
	c->visited.at[d] = c->low.at[d] = ++*clock;
	c->number.at[d] = EPOCHS_NONE;
	c->next.at[d] = c->first_slot.at[d];
	c->path.at[(*depth)++] = d;
	c->stack.at[(*stacked)++] = d;
}

static void complete(struct epoch_components *c, uint32_t d, size_t *stacked)
{
	uint32_t x;
	do {
		x = c->stack.at[--*stacked];
		c->number.at[x] = (uint32_t)c->n;
		c->members.at[c->members.n++] = x;
	} while (x != d);
	c->first.at[++c->n] = (uint32_t)c->members.n;
}

static void search(struct epoch_components *c, const struct epoch_slot *slots, uint32_t root, uint32_t *clock)
{
	size_t depth = 0, stacked = 0;
	enter(c, root, clock, &depth, &stacked);
	while (depth > 0) {
		uint32_t d = c->path.at[depth - 1];
		if (c->next.at[d] < c->first_slot.at[d + 1]) {
			uint32_t p = before(c, slots, c->slot_of.at[c->next.at[d]++]);
			if (p == EPOCHS_NONE)
				continue;
			if (c->visited.at[p] == 0)
				enter(c, p, clock, &depth, &stacked);
			else if (c->number.at[p] == EPOCHS_NONE && c->visited.at[p] < c->low.at[d])
				c->low.at[d] = c->visited.at[p];
			continue;
		}
		depth--;
		if (c->low.at[d] == c->visited.at[d])
			complete(c, d, &stacked);
		if (depth > 0 && c->low.at[d] < c->low.at[c->path.at[depth - 1]])
			c->low.at[c->path.at[depth - 1]] = c->low.at[d];
	}
}

/* Open is what has an end to come, and all that comes after something open. */
static void find_open(struct epoch_components *c, const struct epoch_slot *slots, const struct epoch_node *nodes)
{
	for (size_t k = 0; k < c->n; k++) {
		bool open = false;
		for (uint32_t i = c->first.at[k]; i < c->first.at[k + 1] && !open; i++) {
			uint32_t d = c->members.at[i];
			open = nodes[c->nodes.at[d]].open > 0;
			for (uint32_t s = c->first_slot.at[d]; s < c->first_slot.at[d + 1] && !open; s++) {
				uint32_t p = before(c, slots, c->slot_of.at[s]);
				open = p != EPOCHS_NONE && c->number.at[p] != k && c->open.at[c->number.at[p]];
			}
		}
		c->open.at[k] = open;
	}
}

int epoch_components_find(struct epoch_components *c, const struct epoch_slot *slots, size_t nslots,
			  const struct epoch_node *nodes)
{
	uint32_t clock = 0;
	if (index_slots(c, slots, nslots) < 0 || room_for_search(c) < 0)
		return -ENOMEM;
	c->members.n = c->n = 0;
	c->first.at[0] = 0;
	for (uint32_t d = 0; d < c->nodes.n; d++)
		if (c->visited.at[d] == 0)
			search(c, slots, d, &clock);
	find_open(c, slots, nodes);
	return 0;
}

int epoch_components_begin(struct epoch_components *c, size_t nslots, size_t nnodes)
{
	int code = make_room(c, nslots, nnodes);
	if (code == 0 && nnodes > 0)
		memset(c->of_node.at, 0xff, nnodes * sizeof(*c->of_node.at));
	return code;
}

void epoch_components_add(struct epoch_components *c, uint32_t node)
{
	if (c->of_node.at[node] != EPOCHS_NONE)
		return;
	c->of_node.at[node] = (uint32_t)c->nodes.n;
	c->nodes.at[c->nodes.n++] = node;
}

void epoch_components_done(struct epoch_components *c)
{
	vec_done(&c->nodes);
	vec_done(&c->of_node);
	vec_done(&c->slot_of);
	vec_done(&c->first_slot);
	vec_done(&c->number);
	vec_done(&c->members);
	vec_done(&c->first);
	vec_done(&c->open);
	vec_done(&c->visited);
	vec_done(&c->low);
	vec_done(&c->stack);
	vec_done(&c->path);
	vec_done(&c->next);
}
