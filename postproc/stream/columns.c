/* columns.c - what process 0 needs of the slice at hand for the sweep: starts, ends and signatures of events, and what
 * lanes tell it of edges and needs, of which it makes its own. See team.h. In: lanes and shards of all processes.  Out:
 * lanes at process 0 with all that the sweep, the path and visitors look at, and lists of its first shard. */
#include "postproc/stream/stream.h"

#define NUMBER_BITS 56 /* of an edge in its shard */

/* ---- edges and needs where they come to be ---- */

void edge_number(struct shard *sh, struct edge *e)
{
	if (team_shares(sh->stream))
		e->number = (uint64_t)sh->number << NUMBER_BITS | ++sh->nedges;
}

struct edge *edge_copy(struct shard *sh, uint64_t number)
{
	struct edge *e = number != 0 ? slab_take(&sh->edges) : NULL;
	if (e != NULL)
		*e = (struct edge){.number = number, .shard = (uint8_t)sh->number, .refs = 1};
	return e;
}

uint64_t edge_hand_on(struct stream *st, struct edge *e)
{
	if (e == NULL)
		return 0;
	uint64_t number = e->number;
	if (--e->refs == 0)
		slab_give(&st->shards[e->shard].edges, e);
	return number;
}

/* ---- sending ---- */

struct lane_head {
	uint32_t lane, n, nactions;
};

struct told {
	uint64_t key;  /* of a need that is open, or was */
	uint64_t edge; /* number, or 0 */
	uint8_t state, optional, level;
};

struct lists {
	uint32_t nshared, nsettled, ndropped;
};

static struct told tell(struct stream *st, struct need *n)
{
	struct told x = {.state = n->state, .optional = n->optional, .level = n->level};
	if (n->state == EDGE_OPEN || n->given_up)
		x.key = (uint64_t)(uintptr_t)n;
	if (n->state == EDGE_KNOWN)
		x.edge = edge_hand_on(st, n->edge);
	if (n->state == EDGE_OPEN)
		n->given_up = true; /* so it comes among the settled */
	else
		slab_give(&st->shards[n->shard].needs, n);
	return x;
}

/* An action, in as few bytes as it needs: they are most of what goes to process 0. */
struct sent_action {
	uint32_t at;
	uint8_t kind, coll, state, flags;
	uint64_t what; /* BEGIN: the edge; NEED: its edge, or the key of one that is open; else communicator, channel */
};

enum { SENT_ROOT = 1, SENT_OPTIONAL = 2, SENT_LEVEL = 4 };

static void send_action(struct buf *b, struct stream *st, const struct action *x)
{
	struct sent_action s = {.at = x->at, .kind = x->kind};
	if (x->kind == ACTION_BEGIN) {
		s.what = edge_hand_on(st, x->edge);
	} else if (x->kind == ACTION_NEED) {
		struct told told = tell(st, x->need);
		s.state = told.state;
		s.flags = (uint8_t)((told.optional ? SENT_OPTIONAL : 0) | (told.level ? SENT_LEVEL : 0));
		s.what = told.state == EDGE_OPEN ? told.key : told.edge;
	} else {
		s.coll = x->coll;
		s.flags = x->root ? SENT_ROOT : 0;
		s.what = (uint64_t)x->comm << 32 | x->channel;
	}
	put(b, &s, sizeof(s));
	if (x->kind == ACTION_ENTER || x->kind == ACTION_LEAVE)
		put(b, &x->k, sizeof(x->k));
}

static void send_lane(struct buf *b, struct stream *st, struct lane *l)
{
	struct lane_head h = {l->number, l->n - l->from, (uint32_t)l->actions.n};
	bool is_here = team_is_first(st);
	if (h.n == 0 && h.nactions == 0)
		return;
	h.n = is_here ? 0 : h.n;
	put(b, &h, sizeof(h));
	put(b, l->start_ns + l->from, h.n * sizeof(*l->start_ns));
	put(b, l->end_ns + l->from, h.n * sizeof(*l->end_ns));
	put(b, l->sig + l->from, h.n * sizeof(*l->sig));
	for (size_t i = 0; i < l->actions.n; i++)
		send_action(b, st, &l->actions.at[i]);
	l->actions.n = 0;
}

static void send_lists(struct buf *b, struct shard *sh)
{
	struct lists n = {(uint32_t)sh->shared.n, (uint32_t)sh->settled.n, (uint32_t)sh->dropped.n};
	put(b, &n, sizeof(n));
	put(b, sh->shared.at, sh->shared.n * sizeof(*sh->shared.at));
	for (size_t i = 0; i < sh->settled.n; i++) {
		struct told told = tell(sh->stream, sh->settled.at[i]);
		put(b, &told, sizeof(told));
	}
	for (size_t i = 0; i < sh->dropped.n; i++) {
		uint64_t number = edge_hand_on(sh->stream, sh->dropped.at[i]);
		put(b, &number, sizeof(number));
	}
	sh->shared.n = sh->settled.n = sh->dropped.n = 0;
}

void columns_send(struct stream *st)
{
	static const struct lane_head end = {.lane = NONE};
	struct buf *b = &st->team->out[0];
	if (st->first_shard == st->end_shard)
		return;
	for (uint32_t i = 0; i < st->nlanes; i++)
		if (team_has_rank(st, st->lanes[i].rank))
			send_lane(b, st, &st->lanes[i]);
	put(b, &end, sizeof(end));
	uint32_t n = st->end_shard - st->first_shard;
	put(b, &n, sizeof(n));
	for (uint32_t i = st->first_shard; i < st->end_shard; i++)
		send_lists(b, &st->shards[i]);
}

/* ---- edges at process 0, by number ---- */

static struct edge_known *known_at(struct stream *st, uint64_t number, struct edges_page **ret_page)
{
	struct edges_known *all = &st->team->edges[number >> NUMBER_BITS];
	uint64_t n = number & ((UINT64_C(1) << NUMBER_BITS) - 1), page = n / EDGES_PAGE;
	if (page >= all->pages.n && vec_reach(&all->pages, page) < 0)
		return NULL;
	if (all->pages.at[page] == NULL)
		all->pages.at[page] = calloc(1, sizeof(struct edges_page));
	*ret_page = all->pages.at[page];
	return *ret_page != NULL ? &(*ret_page)->at[n % EDGES_PAGE] : NULL;
}

static struct edge *begin_edge(struct stream *st, uint64_t number)
{
	struct edges_page *page;
	struct edge_known *k = known_at(st, number, &page);
	struct edge *e = k != NULL ? slab_take(&st->shards[0].edges) : NULL;
	if (e == NULL)
		return NULL;
	*e = (struct edge){.shard = 0, .refs = 2};
	*k = (struct edge_known){e, 1};
	page->live++;
	return e;
}

static int share_edge(struct stream *st, uint64_t number)
{
	struct edges_page *page;
	struct edge_known *k = known_at(st, number, &page);
	if (k == NULL || k->edge == NULL)
		return -EBADMSG;
	k->holders++;
	k->edge->refs++;
	return 0;
}

/* Of one of those who held it; NULL: nobody does, which cannot be. */
static struct edge *take_edge(struct stream *st, uint64_t number)
{
	struct edges_page *page;
	struct edge_known *k = known_at(st, number, &page);
	struct edge *e = k != NULL ? k->edge : NULL;
	if (e == NULL || --k->holders > 0)
		return e;
	k->edge = NULL;
	if (--page->live == 0) {
		struct edges_known *all = &st->team->edges[number >> NUMBER_BITS];
		all->pages.at[(number & ((UINT64_C(1) << NUMBER_BITS) - 1)) / EDGES_PAGE] = NULL;
		free(page);
	}
	return e;
}

void columns_clear(struct stream *st)
{
	struct team *t = st->team;
	for (uint32_t i = 0; t->edges != NULL && i < st->nshards; i++) {
		for (size_t k = 0; k < t->edges[i].pages.n; k++)
			free(t->edges[i].pages.at[k]);
		vec_done(&t->edges[i].pages);
	}
	map64_done(&t->needs);
}

/* ---- taking ---- */

/* A need that was known when it came: its edge may come behind it. */
struct known_need {
	struct need *need;
	uint64_t edge;
};

struct taking {
	struct stream *st;
	VEC(struct known_need) known;
};

static uint64_t key_of(uint32_t process, uint64_t address)
{
	return (uint64_t)process << 48 ^ address;
}

static int know(struct stream *st, struct need *n, uint64_t edge)
{
	n->edge = edge != 0 ? take_edge(st, edge) : NULL;
	n->state = n->edge != NULL ? EDGE_KNOWN : EDGE_NONE;
	return edge != 0 && n->edge == NULL ? -EBADMSG : 0;
}

static int take_need(struct taking *x, uint32_t process, const struct sent_action *s, struct need **ret_need)
{
	struct need *n = *ret_need = slab_take(&x->st->shards[0].needs);
	if (n == NULL)
		return -ENOMEM;
	*n = (struct need){
		.state = s->state, .optional = (s->flags & SENT_OPTIONAL) != 0, .level = (s->flags & SENT_LEVEL) != 0};
	if (s->state == EDGE_OPEN)
		return map64_add(&x->st->team->needs, key_of(process, s->what), n);
	return s->state == EDGE_KNOWN ? vec_push(&x->known, (struct known_need){n, s->what}) : 0;
}

static int take_action(struct taking *x, struct cursor *c, uint32_t process, struct lane *l)
{
	struct sent_action s;
	if (get(c, &s, sizeof(s)) < 0)
		return -EBADMSG;
	struct action *a = vec_more(&l->actions);
	if (a == NULL)
		return -ENOMEM;
	*a = (struct action){.at = s.at, .kind = s.kind, .coll = s.coll, .root = (s.flags & SENT_ROOT) != 0};
	if (s.kind == ACTION_BEGIN)
		return (a->edge = begin_edge(x->st, s.what)) == NULL ? -ENOMEM : 0;
	if (s.kind == ACTION_NEED)
		return take_need(x, process, &s, &a->need);
	a->comm = (uint32_t)(s.what >> 32);
	a->channel = (uint32_t)s.what;
	return get(c, &a->k, sizeof(a->k));
}

/* Behind what is there of its window. */
static int take_events(struct lane *l, struct cursor *c, uint32_t n)
{
	uint32_t cap = l->n + n > l->cap ? (l->n + n) * 3 / 2 : l->cap;
	size_t caps[3] = {l->cap, l->cap, l->cap};
	if (vec_grow(&l->start_ns, &caps[0], cap, sizeof(*l->start_ns)) < 0 ||
	    vec_grow(&l->end_ns, &caps[1], cap, sizeof(*l->end_ns)) < 0 ||
	    vec_grow(&l->sig, &caps[2], cap, sizeof(*l->sig)) < 0)
		return -ENOMEM;
	l->cap = cap;
	if (get(c, l->start_ns + l->n, n * sizeof(*l->start_ns)) < 0 ||
	    get(c, l->end_ns + l->n, n * sizeof(*l->end_ns)) < 0 || get(c, l->sig + l->n, n * sizeof(*l->sig)) < 0)
		return -EBADMSG;
	l->n += n;
	return 0;
}

static int take_lanes(struct taking *x, struct cursor *c, uint32_t process)
{
	struct lane_head h;
	int code = 0;
	while (code == 0) {
		if (get(c, &h, sizeof(h)) < 0)
			return -EBADMSG;
		if (h.lane == NONE)
			return 0;
		struct lane *l = &x->st->lanes[h.lane];
		if (process != 0)
			code = take_events(l, c, h.n);
		for (uint32_t i = 0; i < h.nactions && code == 0; i++)
			code = take_action(x, c, process, l);
	}
	return code;
}

/* Lanes of others in a new slice, and in a new window. */
static void begin_slice(struct stream *st)
{
	for (uint32_t i = 0; i < st->nlanes; i++) {
		struct lane *l = &st->lanes[i];
		if (team_has_rank(st, l->rank))
			continue;
		if (l->window != st->window && l->n > 0) {
			uint32_t at = l->n - 1;
			l->open = (struct lane_open){.window = l->window,
						     .at = at,
						     .sig = l->sig[at],
						     .start_ns = l->start_ns[at],
						     .end_ns = l->end_ns[at]};
		}
		if (l->window != st->window)
			l->n = 0;
		l->window = st->window;
		l->from = l->n;
		l->actions.n = 0;
	}
}

static int take_settled(struct taking *x, uint32_t process, const struct told *told)
{
	struct need *n = map64_take(&x->st->team->needs, key_of(process, told->key));
	if (n == NULL)
		return -EBADMSG;
	int code = know(x->st, n, told->edge);
	return code == 0 && n->given_up ? vec_push(&x->st->shards[0].settled, n) : code;
}

static int take_lists_of(struct taking *x, struct cursor *c, uint32_t process, bool shares)
{
	struct lists n;
	struct told told;
	uint64_t number;
	int code = get(c, &n, sizeof(n));
	for (uint32_t i = 0; i < n.nshared && code == 0; i++)
		code = get(c, &number, sizeof(number)) < 0 ? -EBADMSG : shares ? share_edge(x->st, number) : 0;
	for (uint32_t i = 0; i < n.nsettled && code == 0; i++)
		code = get(c, &told, sizeof(told)) < 0 ? -EBADMSG : shares ? 0 : take_settled(x, process, &told);
	for (uint32_t i = 0; i < n.ndropped && code == 0; i++) {
		code = get(c, &number, sizeof(number));
		struct edge *e = code == 0 && !shares ? take_edge(x->st, number) : NULL;
		if (code == 0 && !shares)
			code = e != NULL ? vec_push(&x->st->shards[0].dropped, e) : -EBADMSG;
	}
	return code;
}

/* First all that one more holds, then who does not hold any more. */
static int take_lists(struct taking *x, struct cursor *c, uint32_t process, bool shares)
{
	uint32_t n;
	int code = get(c, &n, sizeof(n));
	for (uint32_t i = 0; i < n && code == 0; i++)
		code = take_lists_of(x, c, process, shares);
	return code;
}

int columns_take(struct stream *st)
{
	struct taking x = {.st = st};
	uint32_t size = st->team->peers->size;
	struct cursor *rest = st->team->rest;
	int code = 0;
	begin_slice(st);
	for (uint32_t q = 0; q < size && code == 0; q++) {
		rest[q] = cursor_over(st->team->in[q].data, st->team->in[q].len_bytes);
		code = cursor_left(&rest[q]) > 0 ? take_lanes(&x, &rest[q], q) : 0;
	}
	for (uint32_t q = 0; q < size && code == 0; q++) {
		struct cursor again = rest[q];
		code = cursor_left(&again) > 0 ? take_lists(&x, &again, q, true) : 0;
	}
	for (size_t i = 0; i < x.known.n && code == 0; i++)
		code = know(st, x.known.at[i].need, x.known.at[i].edge);
	for (uint32_t q = 0; q < size && code == 0; q++)
		code = cursor_left(&rest[q]) > 0 ? take_lists(&x, &rest[q], q, false) : 0;
	vec_done(&x.known);
	return code;
}
