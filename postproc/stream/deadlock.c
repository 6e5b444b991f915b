/* deadlock.c - the wait-for graph of the last state of a record whose ranks died inside of MPI calls: who cannot go
 * on whatever the others do (Knapp 1987, AND-OR model).
 *
 * A rank that died outside of MPI or by itself (a crash, MPI_Abort), of which nothing or not all is known, or in a
 * call of which it is not certain what it waits for, can go on. One in MPI_Finalize, or behind it, never helps
 * anybody. A blocking call needs all whom it waits for (AND), a receive from anybody, Waitany and those collectives
 * whose inner order is the library's need one (OR). Whoever has what it needs can go on, and so can whoever needs
 * only such; the others are deadlocked.
 *
 * Nodes are the ranks, and behind them groups of ranks that calls need together. */
#include "postproc/stream/deadlock.h"
#include "postproc/read/comms.h"
#include "postproc/read/exits.h"

#include "base/search.h"

#define EAGER_BYTES 4096 /* as in calls.c: a shorter nonblocking send needs nobody */

enum node_kind { GOES_ON, ENDED, NEEDS_ALL, NEEDS_ONE };

struct want {
	uint32_t from, to; /* nodes; sorted by to */
};

struct vertex {
	enum node_kind kind;
	uint32_t needs, left; /* how many, and how many of them cannot go on */
	uint32_t next, other; /* the first two of those */
	uint32_t walk;
	bool alive;
};

struct group {
	uint32_t comm, k;
	int32_t coll; /* -1: anybody of the communicator */
	int32_t root;
	bool all;
	uint32_t node;
};

struct graph {
	struct stream *st;
	VEC(struct vertex) nodes;
	VEC(struct want) needs;
	VEC(struct group) groups;
	VEC(uint32_t) alive; /* to be told to those who need them */
	int code;
};

/* ---- what a rank is in ---- */

static const struct sig *open_call(const struct step *s, uint32_t rank)
{
	const struct process *p = s->ranks[rank];
	return p != NULL && p->open.n == 1 ? &p->sigs.at[p->open.at[0].sig] : NULL;
}

static const char *op_of(const struct step *s, const struct sig *sig)
{
	return sig == NULL || sig->op == NONE ? "" : s->ops.at[sig->op];
}

static bool is_whole(const struct process *p)
{
	for (size_t i = 0; i < p->threads.n; i++)
		if (p->threads.at[i].lost > 0 || p->threads.at[i].gap)
			return false;
	return p->bad_blocks == 0;
}

static bool has_ended(const struct step *s, uint32_t rank)
{
	const struct process *p = s->ranks[rank];
	return p->finalized || strcmp(op_of(s, open_call(s, rank)), "MPI_Finalize") == 0;
}

static uint32_t same_comm(const struct step *s, uint32_t comm)
{
	return comm == NONE ? NONE : s->comms.at[comm].same;
}

/* ---- edges ---- */

static void add_need(struct graph *g, uint32_t from, uint32_t to)
{
	if (g->code == 0)
		g->code = vec_push(&g->needs, (struct want){from, to});
}

static uint32_t add_node(struct graph *g, enum node_kind kind)
{
	if (g->code == 0)
		g->code = vec_push(&g->nodes, (struct vertex){.kind = kind, .next = NONE, .other = NONE});
	return (uint32_t)g->nodes.n - 1;
}

static uint32_t colls_of(const struct graph *g, uint32_t rank, uint32_t comm)
{
	const struct rank_stream *r = &g->st->ranks[rank];
	for (size_t i = 0; i < r->comms.n; i++)
		if (r->comms.at[i].comm == comm)
			return r->comms.at[i].colls;
	return 0;
}

/* Is the rank in that collective, or past it? */
static bool has_entered(const struct graph *g, uint32_t rank, const struct group *x)
{
	const struct step *s = g->st->step;
	const struct sig *sig = open_call(s, rank);
	uint32_t colls = colls_of(g, rank, x->comm);
	if (colls > x->k)
		return true;
	return colls == x->k && sig != NULL && sig->call.shape == SIG_COLL && same_comm(s, sig->comm) == x->comm &&
	       (int32_t)sig->call.coll == x->coll && sig->peer == x->root;
}

static void add_members(struct graph *g, const struct group *x, const int32_t *ranks, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (ranks[i] >= 0 && (x->coll < 0 || !has_entered(g, (uint32_t)ranks[i], x)))
			add_need(g, x->node, (uint32_t)ranks[i]);
}

/* The node of a group, made if new. */
static uint32_t group_node(struct graph *g, struct group x)
{
	const struct comm *c = &g->st->step->comms.at[x.comm];
	for (size_t i = 0; i < g->groups.n; i++) {
		const struct group *y = &g->groups.at[i];
		if (y->comm == x.comm && y->k == x.k && y->coll == x.coll && y->root == x.root && y->all == x.all)
			return y->node;
	}
	x.node = add_node(g, x.all ? NEEDS_ALL : NEEDS_ONE);
	if (g->code == 0)
		g->code = vec_push(&g->groups, x);
	if (x.coll >= 0 || !c->inter)
		add_members(g, &x, c->group, c->size);
	if (c->inter)
		add_members(g, &x, c->remote, c->remote_size);
	return x.node;
}

/* ---- messages ---- */

/* Does the call in which `from` died send such a message? */
static bool sends_now(const struct step *s, uint32_t from, uint32_t comm, uint32_t to, int32_t tag)
{
	const struct sig *sig = open_call(s, from);
	return sig != NULL && (sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV) &&
	       same_comm(s, sig->comm) == comm && sig->peer == (int32_t)to && (tag < 0 || sig->call.tag == tag);
}

static bool receives_now(const struct step *s, uint32_t to, uint32_t comm, uint32_t from, int32_t tag)
{
	const struct sig *sig = open_call(s, to);
	if (sig == NULL || (sig->call.shape != SIG_RECV && sig->call.shape != SIG_SENDRECV) ||
	    same_comm(s, sig->comm) != comm)
		return false;
	int32_t wanted = sig->call.shape == SIG_SENDRECV ? sig->call.recv_tag : sig->call.tag;
	bool any_tag = (sig->call.flags & SIG_ANY_TAG) != 0, any_source = (sig->call.flags & SIG_ANY_SOURCE) != 0;
	return (any_source || sig->recv_peer == (int32_t)from) && (any_tag || wanted == tag);
}

static bool anybody_sends(const struct graph *g, uint32_t comm, uint32_t to, int32_t tag)
{
	for (uint32_t r = 0; r < g->st->step->nranks; r++)
		if (sends_now(g->st->step, r, comm, to, tag))
			return true;
	return false;
}

/* A receive of `rank`: whom does it need? tag -1: any. Nobody if something has been sent. */
static void need_sender(struct graph *g, uint32_t from, uint32_t rank, uint32_t comm, int32_t peer, int32_t tag)
{
	const struct shard *sh = &g->st->shards[shard_of(g->st, rank)];
	if (peer < 0 && peer != SIG_ANY)
		return;
	if (match_has_send(sh, comm, peer, rank, tag))
		return;
	if (peer >= 0) {
		if (!sends_now(g->st->step, (uint32_t)peer, comm, rank, tag))
			add_need(g, from, (uint32_t)peer);
	} else if (!anybody_sends(g, comm, rank, tag)) {
		add_need(g, from, group_node(g, (struct group){.comm = comm, .coll = -1}));
	}
}

static void need_receiver(struct graph *g, uint32_t from, uint32_t rank, uint32_t comm, int32_t peer, int32_t tag)
{
	if (peer < 0 || receives_now(g->st->step, (uint32_t)peer, comm, rank, tag) ||
	    match_has_recv(&g->st->shards[shard_of(g->st, (uint32_t)peer)], comm, rank, (uint32_t)peer, tag))
		return;
	add_need(g, from, (uint32_t)peer);
}

static void need_message(struct graph *g, uint32_t rank, const struct sig *sig)
{
	const struct sig_call *c = &sig->call;
	uint32_t comm = same_comm(g->st->step, sig->comm);
	int32_t tag = (c->flags & SIG_ANY_TAG) != 0 ? -1 : c->shape == SIG_SENDRECV ? c->recv_tag : c->tag;
	if (c->shape == SIG_SEND || c->shape == SIG_SENDRECV)
		need_receiver(g, rank, rank, comm, sig->peer, c->tag);
	if (c->shape != SIG_SEND)
		need_sender(g, rank, rank, comm, (c->flags & SIG_ANY_SOURCE) != 0 ? SIG_ANY : sig->recv_peer, tag);
}

/* ---- requests ---- */

static void need_request(struct graph *g, uint32_t rank, const struct request *q, bool alone)
{
	if (q->recv != NULL && !q->recv->over) {
		const struct sig *sig = &g->st->step->ranks[rank]->sigs.at[q->recv->sig];
		bool any_tag = (sig->call.flags & SIG_ANY_TAG) != 0, any = (sig->call.flags & SIG_ANY_SOURCE) != 0;
		need_sender(g, rank, rank, q->recv->comm, any ? SIG_ANY : sig->recv_peer, any_tag ? -1 : q->recv->tag);
	}
	if (q->send != NULL && q->send->recv == NULL &&
	    (alone || q->send->bytes > EAGER_BYTES || (q->send->flags & SENT_SYNCHRONOUS) != 0))
		need_receiver(g, rank, rank, q->send->comm, (int32_t)q->send->peer, q->send->tag);
}

static struct requests_of *requests_of_thread(const struct graph *g, uint32_t rank, uint32_t thread)
{
	const struct rank_stream *r = &g->st->ranks[rank];
	for (uint32_t i = 0; i < r->nlanes; i++)
		if (g->st->lanes[r->first_lane + i].thread == thread)
			return &g->st->lanes[r->first_lane + i].requests;
	return NULL;
}

/* All that a Wait or Waitall names. */
static void need_named(struct graph *g, uint32_t rank, const struct sig *sig)
{
	struct sig_run run;
	uint32_t index = 0;
	while (sig_next_run(&sig->call, &index, &run) == 1) {
		struct requests_of *r = requests_of_thread(g, rank, run.other_thread ? run.thread : sig->thread);
		uint64_t serial = run.absolute || run.other_thread || r == NULL ? run.value : r->count - run.value;
		for (uint32_t k = 0; r != NULL && k < run.count && k <= r->count; k++) {
			const struct request *q = request_find(r, serial);
			if (q != NULL && q != &request_gone && q->sig != NONE)
				need_request(g, rank, q, sig->call.requests == 1);
			serial += run.descending ? -1ull : 1;
		}
	}
}

/* Of which of them Waitany and Waitsome wait for is not recorded: any that is active. */
static void need_any(struct graph *g, uint32_t rank)
{
	struct requests_of *r = requests_of_thread(g, rank, 0);
	for (uint64_t i = 0; r != NULL && i < r->count; i++) {
		const struct request *q = request_find(r, i);
		size_t before = g->needs.n;
		if (q == NULL || q == &request_gone || q->sig == NONE || !q->active)
			continue;
		need_request(g, rank, q, true);
		if (g->needs.n == before) { /* this one can go on */
			g->nodes.at[rank].kind = GOES_ON;
			return;
		}
	}
}

/* ---- collectives ---- */

static void need_collective(struct graph *g, uint32_t rank, const struct sig *sig)
{
	const struct comm *c = &g->st->step->comms.at[sig->comm];
	struct group x = {.comm = c->same, .coll = (int32_t)sig->call.coll, .root = sig->peer, .all = true};
	bool root = sig->peer == (int32_t)rank;
	x.k = colls_of(g, rank, x.comm);
	switch (sig->call.coll) {
	case COLL_BCAST:
	case COLL_SCATTER:
	case COLL_SCATTERV:
		if (!c->inter && !root && sig->peer >= 0 && !has_entered(g, (uint32_t)sig->peer, &x)) {
			add_need(g, rank, (uint32_t)sig->peer);
			return;
		}
		x.all = false;
		break;
	case COLL_REDUCE:
	case COLL_GATHER:
	case COLL_GATHERV:
		x.all = root && !c->inter;
		break;
	case COLL_SCAN:
	case COLL_EXSCAN:
		x.all = false;
		break;
	default:
		break;
	}
	add_need(g, rank, group_node(g, x));
}

/* ---- the graph ---- */

static void look_at(struct graph *g, uint32_t rank)
{
	const struct step *s = g->st->step;
	const struct process *p = s->ranks[rank];
	const struct sig *sig = open_call(s, rank);
	bool known = p != NULL && is_whole(p);
	if (known && has_ended(s, rank)) {
		g->nodes.at[rank].kind = ENDED;
		return;
	}
	if (!known || sig == NULL || g->st->ranks[rank].nlanes > 1 || exits_by_itself(p))
		return;
	const char *op = op_of(s, sig);
	g->nodes.at[rank].kind = NEEDS_ALL;
	if ((sig->call.flags & SIG_STARTS_REQUEST) != 0)
		g->nodes.at[rank].kind = GOES_ON;
	else if (sig->comm != NONE && (sig->call.shape == SIG_SEND || sig->call.shape == SIG_RECV ||
				       sig->call.shape == SIG_SENDRECV || sig->call.shape == SIG_PROBE))
		need_message(g, rank, sig);
	else if (sig->comm != NONE && sig->call.shape == SIG_COLL && sig->call.coll != COLL_NONE)
		need_collective(g, rank, sig);
	else if (strcmp(op, "MPI_Wait") == 0 || (strcmp(op, "MPI_Waitall") == 0 && sig->call.shape == SIG_COMPLETE))
		need_named(g, rank, sig);
	else if (strcmp(op, "MPI_Waitany") == 0 || strcmp(op, "MPI_Waitsome") == 0) {
		g->nodes.at[rank].kind = NEEDS_ONE;
		need_any(g, rank);
	}
}

static int by_target(const void *a, const void *b)
{
	const struct want *x = a, *y = b;
	if (x->to != y->to)
		return (x->to > y->to) - (x->to < y->to);
	return (x->from > y->from) - (x->from < y->from);
}

static void lives(struct graph *g, uint32_t node)
{
	if (g->nodes.at[node].alive)
		return;
	g->nodes.at[node].alive = true;
	if (g->code == 0)
		g->code = vec_push(&g->alive, node);
}

static size_t first_need_of(const struct graph *g, uint32_t to)
{
	return search_first(0, g->needs.n, i, g->needs.at[i].to < to);
}

/* Who can go on lets those go on who need it. */
static void spread(struct graph *g)
{
	for (size_t i = 0; i < g->needs.n; i++)
		g->nodes.at[g->needs.at[i].from].needs++;
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		struct vertex *n = &g->nodes.at[i];
		n->left = n->needs;
		if (n->kind == GOES_ON || (n->kind != ENDED && n->needs == 0))
			lives(g, i);
	}
	while (g->alive.n > 0 && g->code == 0) {
		uint32_t node = g->alive.at[--g->alive.n];
		for (size_t i = first_need_of(g, node); i < g->needs.n && g->needs.at[i].to == node; i++) {
			struct vertex *n = &g->nodes.at[g->needs.at[i].from];
			n->left--;
			if (n->kind == NEEDS_ONE || (n->kind == NEEDS_ALL && n->left == 0))
				lives(g, g->needs.at[i].from);
		}
	}
}

/* For each that cannot go on, the lowest that it needs and that cannot either; of groups a second one, for the lowest
 * itself. */
static void choose_next(struct graph *g)
{
	for (size_t i = 0; i < g->needs.n; i++) {
		struct vertex *n = &g->nodes.at[g->needs.at[i].from];
		if (n->other == NONE && !g->nodes.at[g->needs.at[i].to].alive)
			*(n->next == NONE ? &n->next : &n->other) = g->needs.at[i].to;
	}
}

/* ---- what is found ---- */

static uint32_t next_rank(const struct graph *g, uint32_t rank)
{
	uint32_t next = g->nodes.at[rank].next;
	if (next == NONE || next < g->st->step->nranks)
		return next;
	const struct vertex *group = &g->nodes.at[next];
	return group->next == rank && group->other != NONE ? group->other : group->next;
}

/* The lowest rank of a cycle. */
static uint32_t lowest(const struct graph *g, uint32_t at)
{
	uint32_t low = at;
	for (uint32_t i = next_rank(g, at); i != at; i = next_rank(g, i))
		low = i < low ? i : low;
	return low;
}

/* From `at` on until it comes back, or to one that has ended. */
static int note(struct graph *g, uint32_t at)
{
	const struct step *s = g->st->step;
	struct defects *f = &g->st->shards[0].tally.defects;
	const struct process *p = s->ranks[at];
	uint32_t peer = next_rank(g, at);
	const struct sig *sig = open_call(s, at), *other = open_call(s, peer);
	struct defect_case x = {.at_ns = p->last_ns == TIME_ABSENT ? 0 : p->last_ns,
				.rank = at,
				.sig = p->open.at[0].sig,
				.peer = peer,
				.peer_sig = NONE,
				.comm = same_comm(s, sig->comm)};
	uint32_t i = at;
	do {
		if (x.nmembers < DEFECT_MEMBERS_MAX)
			x.members[x.nmembers] = i;
		x.nmembers++;
		i = g->nodes.at[i].kind == ENDED ? at : next_rank(g, i);
	} while (i != at);
	return defects_note(f, DEFECT_DEADLOCK, sig->site, other != NULL ? other->site : NONE, &x);
}

/* All that hang on it. */
static void add_others(const struct graph *g)
{
	struct defects *f = &g->st->shards[0].tally.defects;
	for (size_t i = 0; i < f->rows.n; i++)
		for (uint32_t r = 0; f->rows.at[i].kind == DEFECT_DEADLOCK && r < g->st->step->nranks; r++)
			if (!g->nodes.at[r].alive && g->nodes.at[r].kind != ENDED)
				defect_add_rank(&f->rows.at[i], r);
}

static int note_all(struct graph *g)
{
	int code = 0;
	for (uint32_t r = 0; r < g->st->step->nranks && code == 0; r++) {
		uint32_t at = r, last = NONE, walk = r + 1;
		if (g->nodes.at[r].alive || g->nodes.at[r].kind == ENDED)
			continue;
		while (at != NONE && g->nodes.at[at].walk == 0 && g->nodes.at[at].kind != ENDED) {
			g->nodes.at[at].walk = walk;
			last = at;
			at = next_rank(g, at);
		}
		if (at == NONE || last == NONE)
			continue;
		if (g->nodes.at[at].kind == ENDED)
			code = note(g, last);
		else if (g->nodes.at[at].walk == walk)
			code = note(g, lowest(g, at));
	}
	add_others(g);
	return code;
}

static bool any_open(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && s->ranks[r]->open.n > 0)
			return true;
	return false;
}

int deadlock_find(struct stream *st)
{
	struct graph g = {.st = st};
	if (!any_open(st->step))
		return 0;
	for (uint32_t r = 0; r < st->step->nranks; r++)
		add_node(&g, GOES_ON);
	for (uint32_t r = 0; r < st->step->nranks && g.code == 0; r++)
		look_at(&g, r);
	vec_sort(&g.needs, by_target);
	if (g.code == 0)
		spread(&g);
	choose_next(&g);
	int code = g.code == 0 ? note_all(&g) : g.code;
	vec_done(&g.nodes);
	vec_done(&g.needs);
	vec_done(&g.groups);
	vec_done(&g.alive);
	return code;
}
