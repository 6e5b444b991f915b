/* graph.c - see graph.h. In: states.  Out: nodes, edges, and who is alive. */
#include "postproc/state/graph.h"

#include "base/index.h"
#include "base/search.h"

#include <string.h>

/* A message that somebody is sending or receiving now: by all that may be known of it, or less. */
struct offer {
	uint32_t comm, from, to; /* ANYBODY, also as tag: any */
	int32_t tag;
	bool sends, partitioned;
};

#define ANYBODY STATE_NONE

/* Who is where in the operations of one communicator and channel, in order of how far. */
struct arrival {
	uint64_t entered;
	uint64_t call; /* of the one that it is in now; 0: in none */
	uint32_t rank;
};

struct meeting {
	uint32_t comm, channel;
	bool outside; /* somebody of another world is a member */
	VEC(struct arrival) at;
	/* Of NODE_ALL and NODE_ONE, where another call begins: the nodes of those before, and of those from there on
	 * that have entered as many; STATE_NONE: there are none. */
	VEC(uint32_t) before[2], behind[2];
};

struct group {
	uint64_t kind, a, b; /* what it is of */
	uint32_t node;
};

struct making {
	struct graph *g;
	const struct states *s;
	VEC(struct offer) offers;
	VEC(struct meeting) meetings;
	VEC(struct group) groups;
	VEC(uint32_t) rank_of; /* by want */
	struct index offer_index, use_index, call_index, meeting_index, group_index;
};

enum group_kind { GROUP_ANYBODY, GROUP_LISTED, GROUP_MEETING };

static uint32_t add_node(struct graph *g, enum node_kind kind)
{
	uint32_t at = (uint32_t)g->nodes.n;
	if (g->code == 0)
		g->code = vec_push(&g->nodes, (struct graph_node){.kind = kind});
	return at;
}

static void add_edge(struct graph *g, uint32_t from, uint32_t to)
{
	if (g->code == 0)
		g->code = vec_push(&g->edges, (struct graph_edge){from, to});
}

static uint32_t same_comm(const struct states *s, uint32_t comm)
{
	return s->comms.at[comm].same;
}

/* ---- messages that are being sent and received ---- */

static uint64_t offer_hash(const struct offer *x)
{
	uint64_t how = (x->sends ? 1u : 0u) | (x->partitioned ? 2u : 0u);
	return index_mix((uint64_t)x->from << 32 | x->to,
			 (uint64_t)x->comm << 34 ^ (uint64_t)(uint32_t)x->tag << 2 ^ how);
}

struct wanted_offer {
	const struct making *m;
	struct offer x;
};

static bool same_offer(const void *context, uint32_t at)
{
	const struct wanted_offer *w = context;
	const struct offer *x = &w->m->offers.at[at], *y = &w->x;
	return x->comm == y->comm && x->from == y->from && x->to == y->to && x->tag == y->tag && x->sends == y->sends &&
	       x->partitioned == y->partitioned;
}

static bool is_offered(const struct making *m, const struct offer *x)
{
	struct wanted_offer want = {m, *x};
	return index_find(&m->offer_index, offer_hash(x), same_offer, &want) != INDEX_NONE;
}

static void add_offer(struct making *m, struct offer x)
{
	if (m->g->code < 0 || is_offered(m, &x))
		return;
	m->g->code = vec_push(&m->offers, x);
	if (m->g->code == 0)
		m->g->code = index_add(&m->offer_index, offer_hash(&x), (uint32_t)m->offers.n - 1);
}

/* A send as each receive may look for it; a receive as it was posted. */
static void offer_want(struct making *m, uint32_t rank, const struct want *w)
{
	if (w->kind == WANT_MESSAGE) {
		add_offer(m, (struct offer){.comm = same_comm(m->s, w->comm),
					    .from = w->peer < 0 ? ANYBODY : (uint32_t)w->peer,
					    .to = rank,
					    .tag = w->tag,
					    .partitioned = w->partitioned});
		return;
	}
	for (int any = 0; w->kind == WANT_RECEIVER && any < 4; any++)
		add_offer(m, (struct offer){.comm = same_comm(m->s, w->comm),
					    .from = any & 1 ? ANYBODY : rank,
					    .to = (uint32_t)w->peer,
					    .tag = any & 2 ? SIG_ANY : w->tag,
					    .sends = true,
					    .partitioned = w->partitioned});
}

static bool is_sent(const struct making *m, uint32_t rank, const struct want *w)
{
	return is_offered(m, &(struct offer){.comm = same_comm(m->s, w->comm),
					     .from = w->peer < 0 ? ANYBODY : (uint32_t)w->peer,
					     .to = rank,
					     .tag = w->tag,
					     .sends = true,
					     .partitioned = w->partitioned});
}

static bool is_received(const struct making *m, uint32_t rank, const struct want *w)
{
	bool found = false;
	for (int any = 0; any < 4 && !found; any++)
		found = is_offered(m, &(struct offer){.comm = same_comm(m->s, w->comm),
						      .from = any & 1 ? ANYBODY : rank,
						      .to = (uint32_t)w->peer,
						      .tag = any & 2 ? SIG_ANY : w->tag,
						      .partitioned = w->partitioned});
	return found;
}

/* ---- groups ---- */

struct wanted_group {
	const struct making *m;
	uint64_t kind, a, b;
};

static bool same_group(const void *context, uint32_t at)
{
	const struct wanted_group *w = context;
	const struct group *x = &w->m->groups.at[at];
	return x->kind == w->kind && x->a == w->a && x->b == w->b;
}

/* True if it is new: the caller adds its edges. */
static bool group_node(struct making *m, uint64_t kind, uint64_t a, uint64_t b, enum node_kind how, uint32_t *ret_node)
{
	struct wanted_group want = {m, kind, a, b};
	uint64_t hash = index_mix(a, b ^ kind << 60);
	uint32_t at = index_find(&m->group_index, hash, same_group, &want);
	if (at != INDEX_NONE) {
		*ret_node = m->groups.at[at].node;
		return false;
	}
	*ret_node = add_node(m->g, how);
	if (m->g->code == 0)
		m->g->code = vec_push(&m->groups, (struct group){kind, a, b, *ret_node});
	if (m->g->code == 0)
		m->g->code = index_add(&m->group_index, hash, (uint32_t)m->groups.n - 1);
	return true;
}

/* One of these: whoever asks may be among them, which changes nothing. Somebody of another world may do anything. */
static uint32_t one_of(struct making *m, uint64_t kind, uint64_t a, uint64_t b, const int32_t *ranks, uint32_t n)
{
	uint32_t node;
	if (!group_node(m, kind, a, b, NODE_ONE, &node))
		return node;
	for (uint32_t i = 0; i < n && m->g->code == 0; i++)
		if (ranks[i] < 0 || (uint32_t)ranks[i] >= m->g->nranks)
			m->g->nodes.at[node].kind = NODE_FREE;
		else
			add_edge(m->g, node, (uint32_t)ranks[i]);
	return node;
}

static uint32_t anybody_of(struct making *m, uint32_t comm)
{
	const struct state_comm *c = &m->s->comms.at[comm];
	const int32_t *ranks = c->remote != NULL ? c->remote : c->group;
	return one_of(m, GROUP_ANYBODY, comm, 0, ranks, c->remote != NULL ? c->remote_size : c->size);
}

/* ---- operations of all members ---- */

struct wanted_use {
	const struct making *m;
	uint32_t rank, comm, channel;
};

static uint64_t use_hash(uint32_t rank, uint32_t comm, uint32_t channel)
{
	return index_mix((uint64_t)comm << 32 | rank, channel);
}

static bool same_use(const void *context, uint32_t at)
{
	const struct wanted_use *w = context;
	const struct state_use *u = &w->m->s->uses.at[at];
	return u->rank == w->rank && u->comm == w->comm && u->channel == w->channel;
}

static bool same_call(const void *context, uint32_t at)
{
	const struct wanted_use *w = context;
	const struct want *x = &w->m->s->wants.at[at];
	return same_comm(w->m->s, x->comm) == w->comm && x->channel == w->channel && w->m->rank_of.at[at] == w->rank;
}

static uint64_t entered_by(const struct making *m, uint32_t rank, uint32_t comm, uint32_t channel)
{
	struct wanted_use want = {m, rank, comm, channel};
	uint32_t at = index_find(&m->use_index, use_hash(rank, comm, channel), same_use, &want);
	return at == INDEX_NONE ? 0 : m->s->uses.at[at].entered;
}

/* Never 0. */
static uint64_t call_of_want(const struct want *w)
{
	return 1 + (uint64_t)(uint32_t)w->coll * 0x200000000ull + (uint32_t)w->root;
}

static void note_call(struct making *m, uint32_t rank, uint32_t want)
{
	const struct want *w = &m->s->wants.at[want];
	uint32_t comm = same_comm(m->s, w->comm);
	if (w->k == entered_by(m, rank, comm, w->channel) && m->g->code == 0)
		m->g->code = index_add(&m->call_index, use_hash(rank, comm, w->channel), want);
}

static int by_progress(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;
	if (x->entered != y->entered)
		return (x->entered > y->entered) - (x->entered < y->entered);
	if (x->call != y->call)
		return (x->call > y->call) - (x->call < y->call);
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static void add_arrivals(struct making *m, struct meeting *x, const int32_t *ranks, uint32_t n)
{
	for (uint32_t i = 0; i < n && m->g->code == 0; i++) {
		x->outside |= ranks[i] < 0 || (uint32_t)ranks[i] >= m->g->nranks;
		if (ranks[i] < 0 || (uint32_t)ranks[i] >= m->g->nranks)
			continue;
		struct arrival a = {.rank = (uint32_t)ranks[i]};
		struct wanted_use want = {m, a.rank, x->comm, x->channel};
		uint32_t at = index_find(&m->call_index, use_hash(a.rank, x->comm, x->channel), same_call, &want);
		a.entered = entered_by(m, a.rank, x->comm, x->channel);
		a.call = at == INDEX_NONE ? 0 : call_of_want(&m->s->wants.at[at]);
		m->g->code = vec_push(&x->at, a);
	}
}

struct wanted_meeting {
	const struct making *m;
	uint32_t comm, channel;
};

static bool same_meeting(const void *context, uint32_t at)
{
	const struct wanted_meeting *w = context;
	const struct meeting *x = &w->m->meetings.at[at];
	return x->comm == w->comm && x->channel == w->channel;
}

static struct meeting *meeting_of(struct making *m, uint32_t comm, uint32_t channel)
{
	struct wanted_meeting want = {m, comm, channel};
	uint64_t hash = index_mix(comm, channel);
	uint32_t at = index_find(&m->meeting_index, hash, same_meeting, &want);
	const struct state_comm *c = &m->s->comms.at[comm];
	if (at != INDEX_NONE)
		return &m->meetings.at[at];
	if (vec_push(&m->meetings, (struct meeting){.comm = comm, .channel = channel}) < 0 ||
	    index_add(&m->meeting_index, hash, (uint32_t)m->meetings.n - 1) < 0) {
		m->g->code = -ENOMEM;
		return NULL;
	}
	struct meeting *x = &m->meetings.at[m->meetings.n - 1];
	add_arrivals(m, x, c->group, c->size);
	if (c->remote != NULL)
		add_arrivals(m, x, c->remote, c->remote_size);
	vec_sort(&x->at, by_progress);
	m->g->work += x->at.n;
	return m->g->code == 0 ? x : NULL;
}

static bool ends_block(const struct meeting *x, size_t i)
{
	return i == x->at.n || i == 0 || x->at.at[i].entered != x->at.at[i - 1].entered;
}

static bool ends_call(const struct meeting *x, size_t i)
{
	return ends_block(x, i) || x->at.at[i].call != x->at.at[i - 1].call;
}

/* One node more: those of one call, and the node of the others. */
static uint32_t add_set(struct making *m, enum node_kind kind, const struct meeting *x, size_t from, size_t to,
			uint32_t others)
{
	uint32_t node = add_node(m->g, kind);
	for (size_t i = from; i < to; i++)
		add_edge(m->g, node, x->at.at[i].rank);
	if (others != STATE_NONE)
		add_edge(m->g, node, others);
	return node;
}

/* Whom a call waits for are all but those who are in it or past it: all up to a place, and all from another one on as
 * far as they have entered as many. So all calls of a communicator together have no more edges than twice its size. */
static void make_sets(struct making *m, struct meeting *x, enum node_kind kind)
{
	int how = kind == NODE_ONE;
	uint32_t node = STATE_NONE;
	size_t n = x->at.n, from = 0;
	if (x->before[how].n > 0)
		return;
	if (vec_reach(&x->before[how], n) < 0 || vec_reach(&x->behind[how], n) < 0) {
		m->g->code = -ENOMEM;
		return;
	}
	for (size_t i = 0; i <= n; i++) {
		if (i > 0 && ends_call(x, i)) {
			node = add_set(m, kind, x, from, i, node);
			from = i;
		}
		x->before[how].at[i] = node;
	}
	node = STATE_NONE;
	from = n;
	for (size_t i = n + 1; i-- > 0;) {
		if (i < n && ends_call(x, i)) {
			node = add_set(m, kind, x, i, from, node);
			from = i;
		}
		x->behind[how].at[i] = node;
		if (ends_block(x, i)) /* those from here on have entered more than those before */
			node = STATE_NONE;
	}
}

/* The node of those who are not in that call, nor past it; STATE_NONE: nobody is missing. */
static uint32_t missing_node(struct making *m, const struct want *w, enum node_kind kind)
{
	struct meeting *x = meeting_of(m, same_comm(m->s, w->comm), w->channel);
	uint64_t call = call_of_want(w), a, b;
	uint32_t node;
	if (x == NULL || (x->outside && kind == NODE_ONE)) /* that one may be it */
		return STATE_NONE;
	make_sets(m, x, kind);
	if (m->g->code < 0)
		return STATE_NONE;
	size_t n = x->at.n, from, to;
	from = search_first(0, n, i,
			    x->at.at[i].entered < w->k || (x->at.at[i].entered == w->k && x->at.at[i].call < call));
	to = search_first(from, n, i, x->at.at[i].entered == w->k && x->at.at[i].call == call);
	a = x->before[kind == NODE_ONE].at[from];
	b = to < n && x->at.at[to].entered == w->k ? x->behind[kind == NODE_ONE].at[to] : STATE_NONE;
	if (a == STATE_NONE || b == STATE_NONE)
		return (uint32_t)(a == STATE_NONE ? b : a);
	if (group_node(m, GROUP_MEETING, a, b, kind, &node)) {
		add_edge(m->g, node, (uint32_t)a);
		add_edge(m->g, node, (uint32_t)b);
	}
	return node;
}

static bool has_entered(const struct making *m, uint32_t rank, const struct want *w)
{
	uint32_t comm = same_comm(m->s, w->comm);
	struct wanted_use want = {m, rank, comm, w->channel};
	uint64_t entered = entered_by(m, rank, comm, w->channel);
	uint32_t at = entered == w->k ? index_find(&m->call_index, use_hash(rank, comm, w->channel), same_call, &want)
				      : INDEX_NONE;
	return entered > w->k || (at != INDEX_NONE && call_of_want(&m->s->wants.at[at]) == call_of_want(w));
}

/* Where the inner order is the library's, one of those who have not come is enough. */
static uint32_t meeting_node(struct making *m, uint32_t rank, const struct want *w)
{
	bool inter = m->s->comms.at[w->comm].remote != NULL, root = w->root == (int32_t)rank;
	switch ((enum sig_coll)w->coll) {
	case COLL_BCAST:
	case COLL_SCATTER:
	case COLL_SCATTERV:
		if (!inter && !root && w->root >= 0 && (uint32_t)w->root < m->g->nranks &&
		    !has_entered(m, (uint32_t)w->root, w))
			return (uint32_t)w->root;
		return missing_node(m, w, NODE_ONE);
	case COLL_REDUCE:
	case COLL_GATHER:
	case COLL_GATHERV:
		return missing_node(m, w, root && !inter ? NODE_ALL : NODE_ONE);
	case COLL_SCAN:
	case COLL_EXSCAN:
		return missing_node(m, w, NODE_ONE);
	default:
		return missing_node(m, w, coll_is_neighborhood((enum sig_coll)w->coll) ? NODE_ONE : NODE_ALL);
	}
}

/* ---- threads ---- */

/* The node that it needs; STATE_NONE: nobody, since it is under way, or nobody knows. */
static uint32_t need_of(struct making *m, uint32_t rank, const struct want *w)
{
	if (w->there || (w->kind != WANT_MEETING && w->peer >= (int32_t)m->g->nranks))
		return STATE_NONE;
	switch (w->kind) {
	case WANT_MESSAGE:
		if (is_sent(m, rank, w))
			return STATE_NONE;
		return w->peer < 0 ? anybody_of(m, w->comm) : (uint32_t)w->peer;
	case WANT_RECEIVER:
		return w->peer < 0 || is_received(m, rank, w) ? STATE_NONE : (uint32_t)w->peer;
	case WANT_MEETING:
		return meeting_node(m, rank, w);
	case WANT_RANKS:
		return one_of(m, GROUP_LISTED, w->first, w->n, m->s->ranks.at + w->first, w->n);
	}
	return STATE_NONE;
}

static void add_thread(struct making *m, uint32_t thread)
{
	struct graph *g = m->g;
	const struct state *t = &m->s->threads.at[thread];
	uint32_t node = g->thread_node[thread], needed = 0;
	static const enum node_kind kinds[] = {
		[STATE_FREE] = NODE_FREE, [STATE_OVER] = NODE_OVER, [STATE_ALL] = NODE_ALL, [STATE_ONE] = NODE_ONE};
	g->nodes.at[node].kind = kinds[t->kind];
	for (uint32_t i = t->first_want; i < t->first_want + t->nwants && g->code == 0; i++) {
		uint32_t needs = need_of(m, t->rank, &m->s->wants.at[i]);
		g->want_node.at[i] = needs;
		needed += needs != STATE_NONE;
		if (needs != STATE_NONE)
			add_edge(g, node, needs);
	}
	bool waits = t->kind == STATE_ALL || t->kind == STATE_ONE;
	if (waits && (needed == 0 || (t->kind == STATE_ONE && (needed < t->nwants || t->left_out > 0))))
		g->nodes.at[node].kind = NODE_FREE;
}

/* All of its threads have ended. */
static void end_ranks(struct graph *g)
{
	for (uint32_t r = 0; r < g->nranks; r++) {
		uint32_t n = g->thread_of[r + 1] - g->thread_of[r], over = 0;
		for (uint32_t t = g->thread_of[r]; t < g->thread_of[r + 1]; t++)
			over += g->states->threads.at[t].kind == STATE_OVER;
		if (n > 1 && over == n)
			g->nodes.at[r].kind = NODE_OVER;
	}
}

/* A rank with several threads needs one of them; one without can go on, and where only what is certain counts so can
 * one that may have more. */
static void make_ranks(struct graph *g, bool certain)
{
	const struct states *s = g->states;
	size_t t = 0;
	for (uint32_t r = 0; r < g->nranks; r++)
		add_node(g, NODE_FREE);
	for (uint32_t r = 0; r < g->nranks && g->code == 0; r++) {
		g->thread_of[r] = (uint32_t)t;
		size_t end = t;
		while (end < s->threads.n && s->threads.at[end].rank == r)
			end++;
		bool more = certain && r < s->more.n && s->more.at[r] != 0, apart = end > t + 1 || more;
		if (apart && !more)
			g->nodes.at[r].kind = NODE_ONE;
		for (; t < end; t++) {
			g->thread_node[t] = apart ? add_node(g, NODE_FREE) : r;
			if (g->thread_node[t] != r)
				add_edge(g, r, g->thread_node[t]);
		}
	}
	g->thread_of[g->nranks] = (uint32_t)t;
}

static void note_all(struct making *m)
{
	const struct states *s = m->s;
	for (size_t i = 0; i < s->uses.n && m->g->code == 0; i++)
		m->g->code =
			index_add(&m->use_index,
				  use_hash(s->uses.at[i].rank, s->uses.at[i].comm, s->uses.at[i].channel), (uint32_t)i);
	for (size_t t = 0; t < s->threads.n; t++)
		for (uint32_t i = 0; i < s->threads.at[t].nwants && m->g->code == 0; i++)
			m->g->code = vec_push(&m->rank_of, s->threads.at[t].rank);
	for (uint32_t i = 0; i < s->wants.n && m->g->code == 0; i++) {
		const struct want *w = &s->wants.at[i];
		if (w->kind == WANT_MEETING)
			note_call(m, m->rank_of.at[i], i);
		else
			offer_want(m, m->rank_of.at[i], w);
	}
}

static void making_done(struct making *m)
{
	for (size_t i = 0; i < m->meetings.n; i++) {
		struct meeting *x = &m->meetings.at[i];
		vec_done(&x->at);
		for (int how = 0; how < 2; how++) {
			vec_done(&x->before[how]);
			vec_done(&x->behind[how]);
		}
	}
	vec_done(&m->offers);
	vec_done(&m->meetings);
	vec_done(&m->groups);
	vec_done(&m->rank_of);
	index_done(&m->offer_index);
	index_done(&m->use_index);
	index_done(&m->call_index);
	index_done(&m->meeting_index);
	index_done(&m->group_index);
}

static int make(const struct states *states, bool certain, struct graph *ret_graph)
{
	*ret_graph = (struct graph){.states = states, .nranks = states->nranks};
	struct graph *g = ret_graph;
	struct making m = {.g = g, .s = states};
	g->thread_of = calloc(g->nranks + 1u, sizeof(*g->thread_of));
	g->thread_node = calloc(states->threads.n + 1, sizeof(*g->thread_node));
	if (g->thread_of == NULL || g->thread_node == NULL ||
	    (states->wants.n > 0 && vec_reach(&g->want_node, states->wants.n - 1) < 0))
		return -ENOMEM;
	make_ranks(g, certain);
	g->first_group = (uint32_t)g->nodes.n;
	note_all(&m);
	for (uint32_t t = 0; t < states->threads.n && g->code == 0; t++)
		add_thread(&m, t);
	making_done(&m);
	end_ranks(g);
	if (g->code == 0)
		graph_solve(g);
	return g->code;
}

int graph_make(const struct states *states, struct graph *ret_graph)
{
	return make(states, false, ret_graph);
}

int graph_make_certain(const struct states *states, struct graph *ret_graph)
{
	return make(states, true, ret_graph);
}

void graph_done(struct graph *g)
{
	vec_done(&g->nodes);
	vec_done(&g->edges);
	vec_done(&g->want_node);
	free(g->out);
	free(g->in);
	free(g->back);
	free(g->thread_of);
	free(g->thread_node);
	memset(g, 0, sizeof(*g));
}
