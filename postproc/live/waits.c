/* waits.c - the wait-for graph of ranks that have been in the same call at the last two samples (Knapp 1987,
 * AND-OR model; postproc/stream/deadlock.c does the same with all events of a run that has ended).
 *
 * No events are needed: a message that was sent, or a collective that all have entered, would have ended the call long
 * before the second sample. Where it is not certain what a call waits for (requests, one-sided synchronisation,
 * threads), its rank can go on, so that what is called a deadlock is one. A rank outside of MPI can go on as well:
 * nobody can tell an endless loop from a long one, but who waits for it is said.
 *
 * Nodes are the ranks, and behind them groups of ranks that calls need together. */
#include "postproc/live/look.h"
#include "postproc/read/comms.h"

#include <math.h>

#define STALL_S 60.0	  /* all inside of MPI so long, each in one call: nothing moves, whatever they wait for */
#define WORDS_RANKS_MAX 8 /* of a deadlock that are named one by one */
#define WAITED_MAX 64	  /* ranks of which it is said who waits for them */
/* Who was ready to run and hardly did cannot have taken what came. */
#define STARVED_SHARE 0.1
#define STARVED_NS 1000000u

enum node_kind { GOES_ON, ENDED, NEEDS_ALL, NEEDS_ONE };

struct want {
	uint32_t from, to; /* nodes; sorted by to */
};

struct vertex {
	enum node_kind kind;
	uint32_t left; /* of those it needs, how many cannot go on */
	uint32_t part; /* union-find */
	bool alive, reached;
};

struct group {
	uint32_t comm, k;
	int32_t coll; /* -1: anybody of the communicator */
	int32_t root;
	bool all;
	uint32_t node;
};

struct graph {
	struct look *l;
	VEC(struct vertex) nodes;
	VEC(struct want) needs;
	VEC(struct group) groups;
	VEC(uint32_t) todo;
	int code;
};

static void add_need(struct graph *g, uint32_t from, uint32_t to)
{
	if (g->code == 0)
		g->code = vec_push(&g->needs, (struct want){from, to});
}

static uint32_t add_node(struct graph *g, enum node_kind kind)
{
	uint32_t at = (uint32_t)g->nodes.n;
	if (g->code == 0)
		g->code = vec_push(&g->nodes, (struct vertex){.kind = kind, .part = at});
	return at;
}

static uint32_t same_comm(const struct look *l, const struct sig *sig)
{
	return sig->comm == NONE ? NONE : l->step.comms.at[sig->comm].same;
}

/* ---- messages ---- */

static const struct sig *call_of(const struct look *l, uint32_t rank)
{
	const struct live_rank *r = &l->ranks.at[rank];
	return r->state == LIVE_MPI ? r->sig : NULL;
}

/* Is `from` in a call that sends this? tag -1: any. */
static bool sends_now(const struct look *l, uint32_t from, uint32_t comm, uint32_t to, int32_t tag)
{
	const struct sig *sig = call_of(l, from);
	return sig != NULL && (sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV) &&
	       same_comm(l, sig) == comm && sig->peer == (int32_t)to && (tag < 0 || sig->call.tag == tag);
}

static bool receives_now(const struct look *l, uint32_t to, uint32_t comm, uint32_t from, int32_t tag)
{
	const struct sig *sig = call_of(l, to);
	if (sig == NULL || (sig->call.shape != SIG_RECV && sig->call.shape != SIG_SENDRECV) ||
	    same_comm(l, sig) != comm)
		return false;
	int32_t wanted = sig->call.shape == SIG_SENDRECV ? sig->call.recv_tag : sig->call.tag;
	bool any_tag = (sig->call.flags & SIG_ANY_TAG) != 0, any_source = (sig->call.flags & SIG_ANY_SOURCE) != 0;
	return (any_source || sig->recv_peer == (int32_t)from) && (any_tag || wanted == tag);
}

static void add_anybody(struct graph *g, uint32_t rank, const struct comm *c)
{
	const int32_t *ranks = c->inter ? c->remote : c->group;
	uint32_t n = c->inter ? c->remote_size : c->size;
	g->nodes.at[rank].kind = NEEDS_ONE;
	for (uint32_t i = 0; i < n; i++)
		if (ranks[i] < 0)
			g->nodes.at[rank].kind = GOES_ON; /* of another world */
		else if ((uint32_t)ranks[i] != rank)
			add_need(g, rank, (uint32_t)ranks[i]);
}

/* A receive. False: what it waits for is being sent, or not known. */
static bool need_sender(struct graph *g, uint32_t rank, const struct sig *sig, int32_t peer, int32_t tag)
{
	uint32_t comm = same_comm(g->l, sig);
	if (peer == SIG_PROC_NULL || peer >= (int32_t)g->l->step.nranks || (peer < 0 && peer != SIG_ANY))
		return false;
	if (peer >= 0) {
		if (sends_now(g->l, (uint32_t)peer, comm, rank, tag))
			return false;
		add_need(g, rank, (uint32_t)peer);
		return true;
	}
	for (uint32_t r = 0; r < g->l->step.nranks; r++)
		if (sends_now(g->l, r, comm, rank, tag))
			return false;
	add_anybody(g, rank, &g->l->step.comms.at[sig->comm]);
	return true;
}

static bool need_receiver(struct graph *g, uint32_t rank, const struct sig *sig)
{
	if (sig->peer < 0 || sig->peer >= (int32_t)g->l->step.nranks ||
	    receives_now(g->l, (uint32_t)sig->peer, same_comm(g->l, sig), rank, sig->call.tag))
		return false;
	add_need(g, rank, (uint32_t)sig->peer);
	return true;
}

static int32_t wanted_tag(const struct sig *sig)
{
	if ((sig->call.flags & SIG_ANY_TAG) != 0)
		return -1;
	return sig->call.shape == SIG_SENDRECV ? sig->call.recv_tag : sig->call.tag;
}

/* Of the two halves of a sendrecv either may have ended: it needs one of them. */
static void need_message(struct graph *g, uint32_t rank, const struct sig *sig)
{
	bool both = sig->call.shape == SIG_SENDRECV, known = true;
	bool any = (sig->call.flags & SIG_ANY_SOURCE) != 0;
	g->nodes.at[rank].kind = both ? NEEDS_ONE : NEEDS_ALL;
	if (sig->call.shape == SIG_SEND || (both && sig->peer != SIG_PROC_NULL))
		known = need_receiver(g, rank, sig);
	if (sig->call.shape != SIG_SEND && (!both || any || sig->recv_peer != SIG_PROC_NULL)) {
		int32_t peer = both ? sig->recv_peer : live_peer(sig);
		known = need_sender(g, rank, sig, any ? SIG_ANY : peer, wanted_tag(sig)) && known;
	}
	if (!known)
		g->nodes.at[rank].kind = GOES_ON;
}

/* ---- collectives ---- */

/* Of operations whose signatures no longer fit the dictionary it is not known on which communicator they were. */
static bool counts_all(const struct step *s, const struct process *p)
{
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		const char *op = sig->op != NONE ? s->ops.at[sig->op] : "";
		if (sig->call.literal_follows && sig->calls > 0 && strncmp(op, "MPI_Comm_", 9) != 0 &&
		    !step_is_message(op))
			return false;
	}
	return true;
}

/* Collectives on it that the rank has ended. */
static uint64_t colls_of(const struct look *l, uint32_t rank, uint32_t comm)
{
	const struct process *p = l->step.ranks[rank];
	uint64_t n = 0;
	for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		if (sig->call.shape == SIG_COLL && !sig->literal && (sig->call.flags & SIG_PERSISTENT) == 0 &&
		    same_comm(l, sig) == comm)
			n += sig->calls;
	}
	return n;
}

/* Is the rank in that collective, or past it? */
static bool has_entered(const struct look *l, uint32_t rank, const struct group *x)
{
	const struct sig *sig = call_of(l, rank);
	uint64_t colls = colls_of(l, rank, x->comm);
	if (colls > x->k)
		return true;
	return colls == x->k && sig != NULL && sig->call.shape == SIG_COLL && same_comm(l, sig) == x->comm &&
	       (int32_t)sig->call.coll == x->coll && sig->peer == x->root;
}

static void add_members(struct graph *g, const struct group *x, const int32_t *ranks, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (ranks[i] >= 0 && !has_entered(g->l, (uint32_t)ranks[i], x))
			add_need(g, x->node, (uint32_t)ranks[i]);
}

static uint32_t group_node(struct graph *g, struct group x)
{
	const struct comm *c = &g->l->step.comms.at[x.comm];
	for (size_t i = 0; i < g->groups.n; i++) {
		const struct group *y = &g->groups.at[i];
		if (y->comm == x.comm && y->k == x.k && y->coll == x.coll && y->root == x.root && y->all == x.all)
			return y->node;
	}
	x.node = add_node(g, x.all ? NEEDS_ALL : NEEDS_ONE);
	if (g->code == 0)
		g->code = vec_push(&g->groups, x);
	add_members(g, &x, c->group, c->size);
	if (c->inter)
		add_members(g, &x, c->remote, c->remote_size);
	return x.node;
}

static void need_collective(struct graph *g, uint32_t rank, const struct sig *sig)
{
	struct group x = {
		.comm = same_comm(g->l, sig), .coll = (int32_t)sig->call.coll, .root = sig->peer, .all = true};
	bool inter = g->l->step.comms.at[sig->comm].inter, root = sig->peer == (int32_t)rank;
	x.k = (uint32_t)colls_of(g->l, rank, x.comm);
	g->nodes.at[rank].kind = NEEDS_ALL;
	switch (sig->call.coll) {
	case COLL_BCAST:
	case COLL_SCATTER:
	case COLL_SCATTERV:
		if (!inter && !root && sig->peer >= 0 && !has_entered(g->l, (uint32_t)sig->peer, &x)) {
			add_need(g, rank, (uint32_t)sig->peer);
			return;
		}
		x.all = false;
		break;
	case COLL_REDUCE:
	case COLL_GATHER:
	case COLL_GATHERV:
		x.all = root && !inter;
		break;
	case COLL_SCAN:
	case COLL_EXSCAN:
		x.all = false;
		break;
	default:
		x.all = !coll_is_neighborhood(sig->call.coll);
		break;
	}
	add_need(g, rank, group_node(g, x));
}

/* ---- the graph ---- */

static bool in_finalize(const struct look *l, const struct live_rank *r)
{
	return r->state == LIVE_MPI && r->sig != NULL && strcmp(live_op(l, r->sig), "MPI_Finalize") == 0;
}

/* It sends nothing any more. */
static bool has_left(const struct look *l, const struct live_rank *r)
{
	return r->state == LIVE_ENDED || in_finalize(l, r);
}

static bool is_starved(const struct live_rank *r)
{
	return r->off_processor > STARVED_SHARE && r->process->threads.at[0].system.cpu_ns < STARVED_NS;
}

static void look_at(struct graph *g, uint32_t rank)
{
	const struct look *l = g->l;
	const struct live_rank *r = &l->ranks.at[rank];
	const struct sig *sig = r->sig;
	if (has_left(l, r)) { /* what it sent last may be under way until the next sample */
		g->nodes.at[rank].kind = r->still ? ENDED : GOES_ON;
		return;
	}
	if (r->state != LIVE_MPI || sig == NULL || !r->still || sig->comm == NONE || r->process->threads.n > 1 ||
	    r->stopped || is_starved(r))
		return;
	if (sig->call.shape == SIG_SEND || sig->call.shape == SIG_RECV || sig->call.shape == SIG_SENDRECV ||
	    sig->call.shape == SIG_PROBE)
		need_message(g, rank, sig);
	else if (sig->call.shape == SIG_COLL && sig->call.coll != COLL_NONE &&
		 counts_all(&l->step, l->step.ranks[rank]))
		need_collective(g, rank, sig);
}

static int by_target(const void *a, const void *b)
{
	const struct want *x = a, *y = b;
	if (x->to != y->to)
		return (x->to > y->to) - (x->to < y->to);
	return (x->from > y->from) - (x->from < y->from);
}

static size_t first_need_of(const struct graph *g, uint32_t to)
{
	size_t low = 0, high = g->needs.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (g->needs.at[middle].to < to)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void lives(struct graph *g, uint32_t node)
{
	if (g->nodes.at[node].alive || g->code < 0)
		return;
	g->nodes.at[node].alive = true;
	g->code = vec_push(&g->todo, node);
}

/* Who can go on lets those go on who need it. */
static void spread(struct graph *g)
{
	for (size_t i = 0; i < g->needs.n; i++)
		g->nodes.at[g->needs.at[i].from].left++;
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const struct vertex *n = &g->nodes.at[i];
		if (n->kind == GOES_ON || (n->kind != ENDED && n->left == 0))
			lives(g, i);
	}
	while (g->todo.n > 0 && g->code == 0) {
		uint32_t node = g->todo.at[--g->todo.n];
		for (size_t i = first_need_of(g, node); i < g->needs.n && g->needs.at[i].to == node; i++) {
			struct vertex *n = &g->nodes.at[g->needs.at[i].from];
			n->left--;
			if (n->kind == NEEDS_ONE || (n->kind == NEEDS_ALL && n->left == 0))
				lives(g, g->needs.at[i].from);
		}
	}
}

/* ---- deadlocks ---- */

static uint32_t part_of(struct graph *g, uint32_t node)
{
	while (g->nodes.at[node].part != node) {
		g->nodes.at[node].part = g->nodes.at[g->nodes.at[node].part].part;
		node = g->nodes.at[node].part;
	}
	return node;
}

static bool is_dead(const struct graph *g, uint32_t node)
{
	return !g->nodes.at[node].alive && g->nodes.at[node].kind != ENDED;
}

/* Those that need each other belong together. */
static void join_parts(struct graph *g)
{
	for (size_t i = 0; i < g->needs.n; i++) {
		struct want w = g->needs.at[i];
		if (is_dead(g, w.from) && is_dead(g, w.to))
			g->nodes.at[part_of(g, w.from)].part = part_of(g, w.to);
	}
}

static void put_rank(struct buf *b, const struct look *l, uint32_t rank)
{
	char *words = live_words(l, rank, true);
	buf_printf(b, "%s%s", b->len_bytes > 0 ? "; " : "", words != NULL ? words : "");
	free(words);
}

/* The ranks, then those that have ended and that they need. */
static char *why(struct graph *g, const struct live_group *group)
{
	struct buf b = {0};
	for (size_t i = 0; i < group->ranks.n && i < WORDS_RANKS_MAX; i++)
		put_rank(&b, g->l, group->ranks.at[i]);
	if (group->ranks.n > WORDS_RANKS_MAX)
		buf_printf(&b, "; and %zu more", group->ranks.n - WORDS_RANKS_MAX);
	uint32_t last = NONE, part = part_of(g, group->ranks.at[0]), named = 0;
	for (size_t i = 0; i < g->needs.n && named < WORDS_RANKS_MAX; i++) {
		struct want w = g->needs.at[i];
		if (w.to == last || g->nodes.at[w.to].kind != ENDED || !is_dead(g, w.from) ||
		    part_of(g, w.from) != part)
			continue;
		last = w.to;
		named++;
		put_rank(&b, g->l, w.to);
	}
	buf_u8(&b, '\0');
	if (!buf_failed(&b))
		return (char *)b.data;
	buf_done(&b);
	return NULL;
}

static int note_deadlocks(struct graph *g)
{
	struct look *l = g->l;
	VEC(uint32_t) group_of = {0}; /* by part: its place in deadlocks plus 1 */
	int code = g->nodes.n > 0 ? vec_reach(&group_of, g->nodes.n - 1) : 0;
	for (uint32_t r = 0; r < l->step.nranks && code == 0; r++) {
		if (!is_dead(g, r))
			continue;
		uint32_t *at = &group_of.at[part_of(g, r)];
		if (*at == 0 && (code = vec_push(&l->deadlocks, (struct live_group){0})) == 0)
			*at = (uint32_t)l->deadlocks.n;
		code = code == 0 ? vec_push(&l->deadlocks.at[*at - 1].ranks, r) : code;
	}
	vec_done(&group_of);
	for (size_t i = 0; i < l->deadlocks.n && code == 0; i++) {
		l->deadlocks.at[i].why = why(g, &l->deadlocks.at[i]);
		code = l->deadlocks.at[i].why == NULL ? -ENOMEM : 0;
	}
	return code;
}

/* ---- who waits for those outside of MPI ---- */

static int add_reached(struct graph *g, uint32_t node, struct live_group *group)
{
	int code = 0;
	for (size_t i = first_need_of(g, node); i < g->needs.n && g->needs.at[i].to == node && code == 0; i++) {
		uint32_t from = g->needs.at[i].from;
		if (g->nodes.at[from].reached)
			continue;
		g->nodes.at[from].reached = true;
		code = vec_push(&g->todo, from);
		if (code == 0 && from < g->l->step.nranks)
			code = vec_push(&group->ranks, from);
	}
	return code;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static int note_waited(struct graph *g, uint32_t rank)
{
	struct live_group group = {0};
	int code = vec_push(&g->todo, rank);
	for (size_t i = 0; i < g->nodes.n; i++)
		g->nodes.at[i].reached = i == rank;
	while (code == 0 && g->todo.n > 0)
		code = add_reached(g, g->todo.at[--g->todo.n], &group);
	vec_sort(&group.ranks, by_number);
	if (code == 0 && group.ranks.n > 0 && (code = vec_push(&g->l->waited_rank, rank)) == 0)
		code = vec_push(&g->l->waited_for, group);
	else
		vec_done(&group.ranks);
	return code;
}

static int note_all_waited(struct graph *g)
{
	int code = 0;
	for (uint32_t r = 0; r < g->l->step.nranks && code == 0 && g->l->waited_for.n < WAITED_MAX; r++) {
		size_t first = first_need_of(g, r);
		if (g->l->ranks.at[r].state == LIVE_USEFUL && first < g->needs.n && g->needs.at[first].to == r)
			code = note_waited(g, r);
	}
	return code;
}

/* ---- all ---- */

/* Nobody is outside of MPI, each has been in its call for long, and none of these may take as long as it likes. */
static bool has_stalled(const struct look *l)
{
	uint32_t waiting = 0;
	for (uint32_t r = 0; r < l->step.nranks; r++) {
		const struct live_rank *x = &l->ranks.at[r];
		if (has_left(l, x) && x->still)
			continue;
		if (x->state != LIVE_MPI || x->sig == NULL || !x->still || !(x->since_s >= STALL_S))
			return false;
		enum sig_shape shape = x->sig->call.shape;
		if (shape != SIG_SEND && shape != SIG_RECV && shape != SIG_SENDRECV && shape != SIG_PROBE &&
		    shape != SIG_COLL && shape != SIG_COMPLETE)
			return false;
		waiting++;
	}
	return waiting > 0;
}

/* The last moment that all nodes which speak have sampled. */
static int64_t common_ns(const struct look *l)
{
	int64_t common = l->realtime_ns;
	for (size_t i = 0; i < l->nodes.n; i++)
		if (l->node_states.at[i] == NODE_SAMPLED && l->nodes.at[i].realtime_ns < common)
			common = l->nodes.at[i].realtime_ns;
	return common;
}

/* Nodes write one after the other, so that some are a sample ahead of others. All are judged as of the last moment that
 * all have sampled: who is ahead was still in its call then, and at the sample before, if it is in it for long enough.
 * Who cannot go on at one moment never can, so nothing is lost by that. */
static void hold_back(struct look *l)
{
	int64_t common = common_ns(l);
	for (uint32_t r = 0; r < l->step.nranks; r++) {
		struct live_rank *x = &l->ranks.at[r];
		int64_t ahead_ns = x->node != NULL ? x->node->realtime_ns - common : 0;
		int64_t interval_ns = x->node != NULL ? x->node->interval_ns : 0;
		if (ahead_ns <= interval_ns / 2) /* of that moment, or its node has ended before */
			continue;
		if (x->state != LIVE_ENDED)
			x->still &= x->since_s * 1e9 >= (double)(ahead_ns + interval_ns);
		else if (interval_ns > 0)
			x->still &= x->node->samples >= 2 + (x->process != NULL ? x->process->ran : 0) +
								(uint64_t)(ahead_ns / interval_ns + 1);
	}
}

int look_waits(struct look *l)
{
	struct graph g = {.l = l};
	hold_back(l);
	for (uint32_t r = 0; r < l->step.nranks; r++)
		add_node(&g, GOES_ON);
	for (uint32_t r = 0; r < l->step.nranks && g.code == 0; r++)
		look_at(&g, r);
	vec_sort(&g.needs, by_target);
	if (g.code == 0)
		spread(&g);
	if (g.code == 0)
		join_parts(&g);
	int code = g.code == 0 ? note_deadlocks(&g) : g.code;
	g.todo.n = 0;
	code = code == 0 ? note_all_waited(&g) : code;
	l->stuck = !l->over && (l->deadlocks.n > 0 || has_stalled(l));
	vec_done(&g.nodes);
	vec_done(&g.needs);
	vec_done(&g.groups);
	vec_done(&g.todo);
	return code;
}
