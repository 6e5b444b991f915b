/* epochs.c - see epochs.h. Events are gathered; whenever as many are new as were left over, the components of both are
 * found, those that are final leave, and each of the others becomes one node: so every event is looked at a bounded
 * number of times on average. */
#include "base/sort.h"
#include "postproc/protocol/epochs_parts.h"

#define BATCH 65536u /* events */

struct epochs {
	uint32_t ranks, batch;
	int (*visit)(void *context, const struct epoch *epoch);
	void *context;
	uint64_t *counted; /* events by rank */
	uint64_t number;
	VEC(struct epoch_node) nodes;
	uint32_t free_node;
	VEC(struct epoch_drop) drops;
	VEC(struct epoch_slot) slots, sorted; /* those left over by rank, then new ones as they came */
	size_t nold;
	VEC(uint32_t) old_nodes; /* those left over, in order of dependence */
	VEC(uint32_t) rank_slots;
	struct epoch_components components;
	struct epoch_gathered gathered;
	bool finished;
};

static int no_memory(struct error *e)
{
	return fail(e, -ENOMEM, "epochs: out of memory");
}

static uint32_t find(struct epochs *x, uint32_t node)
{
	struct epoch_node *nodes = x->nodes.at;
	while (nodes[node].parent != node) {
		nodes[node].parent = nodes[nodes[node].parent].parent;
		node = nodes[node].parent;
	}
	return node;
}

/* ---- epochs that are final ---- */

#define FEW 16u

/* Most epochs have few. */
static void sort_numbers(uint32_t *x, size_t n)
{
	if (n > FEW)
		qsort(x, n, sizeof(*x), sort_by_u32);
	for (size_t i = 1; i < n && n <= FEW; i++) {
		uint32_t moved = x[i];
		size_t k = i;
		for (; k > 0 && x[k - 1] > moved; k--)
			x[k] = x[k - 1];
		x[k] = moved;
	}
}

static int gather_spans(struct epochs *x, size_t component)
{
	const struct epoch_components *c = &x->components;
	struct epoch_gathered *g = &x->gathered;
	g->slots.n = g->spans.n = 0;
	for (uint32_t i = c->first.at[component]; i < c->first.at[component + 1]; i++) {
		uint32_t d = c->members.at[i];
		for (uint32_t s = c->first_slot.at[d]; s < c->first_slot.at[d + 1]; s++)
			if (vec_push(&g->slots, c->slot_of.at[s]) < 0)
				return -ENOMEM;
	}
	sort_numbers(g->slots.at, g->slots.n);
	for (size_t i = 0; i < g->slots.n; i++) {
		const struct epoch_slot *s = &x->sorted.at[g->slots.at[i]];
		struct epoch_span *last = g->spans.n > 0 ? &g->spans.at[g->spans.n - 1] : NULL;
		if (last != NULL && last->rank == s->rank)
			last->last = s->last;
		else if (vec_push(&g->spans, (struct epoch_span){s->rank, s->first, s->last}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void extend(struct epoch *to, int64_t from_ns, int64_t to_ns)
{
	to->from_ns = from_ns < to->from_ns ? from_ns : to->from_ns;
	to->to_ns = to_ns > to->to_ns ? to_ns : to->to_ns;
}

static void add_dropped(const struct epochs *x, struct epoch *to, const struct epoch_node *n)
{
	if (n->drop == 0)
		return;
	const struct epoch_drop *d = &x->drops.at[n->drop - 1];
	to->messages += d->messages;
	to->bytes += d->bytes;
	to->collectives += d->collectives;
	to->single = false;
	extend(to, d->from_ns, d->to_ns);
}

/* All of one node's list. Its members become free. */
static int gather_node(struct epochs *x, struct epoch *to, uint32_t node)
{
	struct epoch_gathered *g = &x->gathered;
	add_dropped(x, to, &x->nodes.at[node]);
	while (node != EPOCHS_NONE) {
		struct epoch_node *n = &x->nodes.at[node];
		uint32_t next = n->next;
		if (n->from_ns == INT64_MIN) /* an end that never came, or came before the other */
			n->from_ns = n->to_ns;
		if (n->to_ns < n->from_ns)
			n->to_ns = n->from_ns;
		extend(to, n->from_ns, n->to_ns);
		if (n->src == EPOCHS_NONE) {
			to->collectives++;
		} else {
			int64_t end_ns = n->to_ns > n->from_ns ? n->to_ns : n->from_ns + 1;
			to->messages++;
			to->bytes += n->bytes;
			if (vec_push(&g->messages,
				     (struct epoch_message){n->src, n->dst, n->bytes, n->from_ns, end_ns}) < 0)
				return -ENOMEM;
		}
		n->next = x->free_node;
		x->free_node = node;
		node = next;
	}
	return 0;
}

static int put_epoch(struct epochs *x, size_t component, struct error *e)
{
	const struct epoch_components *c = &x->components;
	struct epoch_gathered *g = &x->gathered;
	struct epoch epoch = {.number = ++x->number, .from_ns = INT64_MAX, .to_ns = INT64_MIN, .single = true};
	int code = gather_spans(x, component);
	g->messages.n = 0;
	for (uint32_t i = c->first.at[component]; i < c->first.at[component + 1] && code == 0; i++)
		code = gather_node(x, &epoch, c->nodes.at[c->members.at[i]]);
	if (g->messages.n > EPOCH_MESSAGES_MAX)
		epoch.single = false;
	if (code == 0 && epoch.single)
		code = epoch_need_find(g, &epoch);
	if (code < 0)
		return no_memory(e);
	for (size_t i = 0; i < g->spans.n; i++)
		epoch.events += g->spans.at[i].last - g->spans.at[i].first + 1;
	epoch.spans = g->spans.at;
	epoch.nspans = (uint32_t)g->spans.n;
	epoch.message = g->messages.at;
	epoch.nmessage = epoch.single ? (uint32_t)g->messages.n : 0;
	return x->visit(x->context, &epoch);
}

/* ---- what stays becomes one node ---- */

static int add_drop(struct epochs *x, struct epoch_node *to, struct epoch_drop more)
{
	if (to->drop == 0) {
		if (vec_push(&x->drops, more) < 0)
			return -ENOMEM;
		to->drop = (uint32_t)x->drops.n;
		return 0;
	}
	struct epoch_drop *d = &x->drops.at[to->drop - 1];
	d->messages += more.messages;
	d->bytes += more.bytes;
	d->collectives += more.collectives;
	d->from_ns = more.from_ns < d->from_ns ? more.from_ns : d->from_ns;
	d->to_ns = more.to_ns > d->to_ns ? more.to_ns : d->to_ns;
	return 0;
}

/* Of a component that is too large for single messages only sums are kept, of those that are complete. */
static int drop_members(struct epochs *x, uint32_t rep)
{
	struct epoch_node *nodes = x->nodes.at;
	uint32_t last = rep, node = nodes[rep].next;
	while (node != EPOCHS_NONE) {
		struct epoch_node *n = &nodes[node];
		uint32_t next = n->next;
		bool collective = n->src == EPOCHS_NONE;
		if (n->to_ns == INT64_MIN || n->from_ns == INT64_MIN || (collective && n->dst > 0)) {
			n->parent = rep; /* not by way of one that goes */
			last = node;
		} else {
			struct epoch_drop d = {!collective, n->bytes, collective, n->from_ns, n->to_ns};
			if (add_drop(x, &nodes[rep], d) < 0)
				return -ENOMEM;
			nodes[last].next = next;
			nodes[rep].members--;
			n->next = x->free_node;
			x->free_node = node;
		}
		node = next;
	}
	nodes[rep].tail = last;
	return 0;
}

static int join(struct epochs *x, uint32_t rep, uint32_t node)
{
	struct epoch_node *to = &x->nodes.at[rep], *n = &x->nodes.at[node];
	n->parent = rep;
	x->nodes.at[to->tail].next = node;
	to->tail = n->tail;
	to->members += n->members;
	to->open += n->open;
	if (n->drop == 0)
		return 0;
	struct epoch_drop moved = x->drops.at[n->drop - 1];
	n->drop = 0;
	return add_drop(x, to, moved);
}

static int contract(struct epochs *x, size_t component, struct error *e)
{
	const struct epoch_components *c = &x->components;
	uint32_t first = c->first.at[component], rep = c->nodes.at[c->members.at[first]];
	int code = vec_push(&x->old_nodes, rep);
	for (uint32_t i = first + 1; i < c->first.at[component + 1] && code == 0; i++)
		code = join(x, rep, c->nodes.at[c->members.at[i]]);
	if (code == 0 && x->nodes.at[rep].members > EPOCH_MESSAGES_MAX)
		code = drop_members(x, rep);
	return code < 0 ? no_memory(e) : 0;
}

/* On each process those that stay are the last ones. */
static int keep_slots(struct epochs *x)
{
	const struct epoch_components *c = &x->components;
	x->slots.n = 0;
	for (size_t i = 0; i < x->sorted.n; i++) {
		struct epoch_slot s = x->sorted.at[i];
		uint32_t k = c->number.at[c->of_node.at[s.node]];
		struct epoch_slot *last = x->slots.n > 0 ? &x->slots.at[x->slots.n - 1] : NULL;
		if (!c->open.at[k])
			continue;
		s.node = c->nodes.at[c->members.at[c->first.at[k]]];
		if (last != NULL && last->rank == s.rank && last->node == s.node)
			last->last = s.last;
		else if (vec_push(&x->slots, s) < 0)
			return -ENOMEM;
	}
	x->nold = x->slots.n;
	return 0;
}

/* By rank; what stood before stays before. */
static int sort_slots(struct epochs *x)
{
	if (x->slots.n > 0 && vec_reach(&x->sorted, x->slots.n - 1) < 0)
		return -ENOMEM;
	x->sorted.n = x->slots.n;
	memset(x->rank_slots.at, 0, (x->ranks + 1) * sizeof(*x->rank_slots.at));
	for (size_t i = 0; i < x->slots.n; i++)
		x->rank_slots.at[x->slots.at[i].rank + 1]++;
	for (uint32_t r = 0; r < x->ranks; r++)
		x->rank_slots.at[r + 1] += x->rank_slots.at[r];
	for (size_t i = 0; i < x->slots.n; i++)
		x->sorted.at[x->rank_slots.at[x->slots.at[i].rank]++] = x->slots.at[i];
	return 0;
}

/* Those left over first, in order of dependence, then those that came, as they came. */
static int number_nodes(struct epochs *x)
{
	if (epoch_components_begin(&x->components, x->slots.n, x->nodes.n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < x->old_nodes.n; i++)
		epoch_components_add(&x->components, x->old_nodes.at[i]);
	for (size_t i = x->nold; i < x->slots.n; i++) {
		x->slots.at[i].node = find(x, x->slots.at[i].node);
		epoch_components_add(&x->components, x->slots.at[i].node);
	}
	return 0;
}

static int update_components(struct epochs *x, struct error *e)
{
	struct epoch_components *c = &x->components;
	if (number_nodes(x) < 0 || sort_slots(x) < 0 ||
	    epoch_components_find(c, x->sorted.at, x->sorted.n, x->nodes.at) < 0)
		return no_memory(e);
	x->old_nodes.n = 0;
	for (size_t k = 0; k < c->n; k++) {
		bool final = !c->open.at[k] || x->finished;
		int code = final ? put_epoch(x, k, e) : contract(x, k, e);
		if (code != 0)
			return code;
		c->open.at[k] = !final;
	}
	return keep_slots(x) < 0 ? no_memory(e) : 0;
}

/* ---- feeding ---- */

static int add_node(struct epochs *x, struct epoch_node node, uint32_t *ret_node, struct error *e)
{
	uint32_t at = x->free_node;
	if (at == EPOCHS_NONE && x->nodes.n >= EPOCHS_PENDING_MAX)
		return fail(
			e, -E2BIG,
			"epochs: more than %u messages wait for one that is in flight all the time; choose a shorter "
			"part of the run",
			EPOCHS_PENDING_MAX);
	if (at == EPOCHS_NONE) {
		at = (uint32_t)x->nodes.n;
		if (vec_push(&x->nodes, node) < 0)
			return no_memory(e);
	} else {
		x->free_node = x->nodes.at[at].next;
	}
	node.parent = node.tail = at;
	node.next = EPOCHS_NONE;
	node.members = 1;
	x->nodes.at[at] = node;
	*ret_node = at;
	return 0;
}

static int add_event(struct epochs *x, uint32_t rank, uint32_t node, struct error *e)
{
	uint64_t number = x->counted[rank]++;
	if (vec_push(&x->slots, (struct epoch_slot){rank, node, number, number}) < 0)
		return no_memory(e);
	return 0;
}

static int update_if_due(struct epochs *x, struct error *e)
{
	size_t fresh = x->slots.n - x->nold;
	return fresh >= x->batch && fresh >= x->nold ? update_components(x, e) : 0;
}

int epochs_message(struct epochs *x, uint32_t src, uint32_t dst, uint64_t bytes, uint32_t *ret_message, struct error *e)
{
	struct epoch_node n = {
		.open = 2, .src = src, .dst = dst, .bytes = bytes, .from_ns = INT64_MIN, .to_ns = INT64_MIN};
	int code = update_if_due(x, e);
	return code == 0 ? add_node(x, n, ret_message, e) : code;
}

int epochs_sent(struct epochs *x, uint32_t message, int64_t ns, struct error *e)
{
	struct epoch_node *n = &x->nodes.at[message];
	n->from_ns = ns;
	x->nodes.at[find(x, message)].open--;
	return add_event(x, n->src, message, e);
}

int epochs_receive(struct epochs *x, uint32_t message, int64_t ns, struct error *e)
{
	struct epoch_node *n = &x->nodes.at[message];
	n->to_ns = ns;
	x->nodes.at[find(x, message)].open--;
	return add_event(x, n->dst, message, e);
}

int epochs_send(struct epochs *x, uint32_t src, uint32_t dst, uint64_t bytes, int64_t ns, uint32_t *ret_message,
		struct error *e)
{
	int code = epochs_message(x, src, dst, bytes, ret_message, e);
	return code == 0 ? epochs_sent(x, *ret_message, ns, e) : code;
}

int epochs_collective(struct epochs *x, uint32_t members, uint32_t *ret_collective, struct error *e)
{
	struct epoch_node n = {
		.open = members, .src = EPOCHS_NONE, .dst = members, .from_ns = INT64_MAX, .to_ns = INT64_MIN};
	int code = update_if_due(x, e);
	return code == 0 ? add_node(x, n, ret_collective, e) : code;
}

int epochs_enter(struct epochs *x, uint32_t collective, uint32_t rank, int64_t ns, struct error *e)
{
	struct epoch_node *n = &x->nodes.at[collective];
	n->from_ns = ns < n->from_ns ? ns : n->from_ns;
	n->to_ns = ns > n->to_ns ? ns : n->to_ns;
	n->dst--;
	x->nodes.at[find(x, collective)].open--;
	return add_event(x, rank, collective, e);
}

int epochs_finish(struct epochs *x, struct error *e)
{
	x->finished = true;
	return update_components(x, e);
}

struct epochs *epochs_create(uint32_t ranks, uint32_t batch, int (*visit)(void *context, const struct epoch *epoch),
			     void *context)
{
	struct epochs *x = calloc(1, sizeof(*x));
	if (x == NULL)
		return NULL;
	*x = (struct epochs){
		.ranks = ranks, .batch = batch, .visit = visit, .context = context, .free_node = EPOCHS_NONE};
	if (batch == 0)
		x->batch = BATCH > 4 * ranks ? BATCH : 4 * ranks;
	x->counted = calloc(ranks + 1u, sizeof(*x->counted));
	if (x->counted == NULL || vec_reach(&x->rank_slots, ranks + 1u) < 0) {
		epochs_destroy(x);
		return NULL;
	}
	return x;
}

void epochs_destroy(struct epochs *x)
{
	if (x == NULL)
		return;
	free(x->counted);
	vec_done(&x->nodes);
	vec_done(&x->drops);
	vec_done(&x->slots);
	vec_done(&x->sorted);
	vec_done(&x->old_nodes);
	vec_done(&x->rank_slots);
	vec_done(&x->gathered.spans);
	vec_done(&x->gathered.messages);
	vec_done(&x->gathered.needs);
	vec_done(&x->gathered.ends);
	vec_done(&x->gathered.flights);
	vec_done(&x->gathered.flight_of);
	vec_done(&x->gathered.slots);
	epoch_components_done(&x->components);
	free(x);
}
