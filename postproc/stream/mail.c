/* mail.c - what shards leave for shards of other processes: sent as copies between two phases. See team.h. In: the mail
 * of shards here.  Out: mail for shards here, as if theirs were beside them. */
#include "postproc/stream/stream.h"

#include <stddef.h>

/* From one shard to another; then so many of each. */
struct head {
	uint32_t from, to, n[4];
};

enum { SENDS, OVER, SLOW, COLLECTIVES }; /* posted */
enum { CLASSIFIED, ANSWERED, DECIDED };	 /* answered */

/* What became of a need, of which a copy was there. */
struct told_need {
	uint64_t edge; /* number, or 0 */
	bool resolved;
};

static struct edge handed_on; /* a part's edge, once the owner of its operation has it */

static uint64_t key_of(uint32_t process, uint64_t address)
{
	return (uint64_t)process << 48 ^ address;
}

static uint64_t address_of(const void *x)
{
	return (uint64_t)(uintptr_t)x;
}

/* ---- needs ---- */

static struct need *need_copy(struct shard *sh)
{
	struct need *n = slab_take(&sh->needs);
	if (n != NULL)
		*n = (struct need){.state = EDGE_OPEN, .shard = (uint16_t)sh->number};
	return n;
}

static struct told_need need_done(struct shard *sh, struct need *n)
{
	struct told_need told = {0};
	if (n == NULL)
		return told;
	told.resolved = n->state != EDGE_OPEN;
	told.edge = n->state == EDGE_KNOWN ? edge_hand_on(sh->stream, n->edge) : 0;
	slab_give(&sh->needs, n);
	return told;
}

static int need_told(struct shard *sh, struct need *n, const struct told_need *told)
{
	if (n == NULL || !told->resolved)
		return 0;
	struct edge *e = edge_copy(sh, told->edge);
	return told->edge != 0 && e == NULL ? -ENOMEM : need_resolve(sh, n, e);
}

/* ---- posted ---- */

static void put_send(struct buf *b, struct stream *st, struct send *x)
{
	struct send copy = *x;
	uint64_t edge = edge_hand_on(st, x->edge);
	x->edge = NULL;
	copy.origin = address_of(x);
	put(b, &copy, sizeof(copy));
	put(b, &edge, sizeof(edge));
}

static void put_slow(struct buf *b, const struct slow_send *x)
{
	struct slow_send copy = *x;
	uint32_t receives = x->wait->receives;
	copy.origin_wait = address_of(x->wait);
	copy.origin_need = address_of(x->need);
	put(b, &copy, sizeof(copy));
	put(b, &receives, sizeof(receives));
}

/* With it, what only pointers of the part say. */
struct part_more {
	uint64_t edge;
	uint32_t waits, polled, needs, fresh;
};

static void put_part(struct buf *b, struct stream *st, struct part *p)
{
	struct part copy = *p;
	bool edge = p->edge != NULL && p->edge != &handed_on;
	struct part_more more = {.edge = edge ? edge_hand_on(st, p->edge) : 0,
				 .waits = p->wait != NULL,
				 .polled = p->wait != NULL && p->wait->poll != NULL,
				 .needs = p->need != NULL,
				 .fresh = p->told == 0};
	copy.origin = address_of(p);
	if (edge)
		p->edge = &handed_on;
	p->told = p->completed ? 2 : 1;
	put(b, &copy, sizeof(copy));
	put(b, &more, sizeof(more));
}

static bool is_news(const struct part *p)
{
	return p->told < (p->completed ? 2 : 1);
}

static void put_collective(struct buf *b, struct stream *st, struct collective *m)
{
	struct collective copy = *m;
	uint32_t n = 0;
	copy.origin = address_of(m);
	m->dirty = false;
	for (const struct part *p = m->parts; p != NULL; p = p->next)
		n += is_news(p);
	put(b, &copy, sizeof(copy));
	put(b, &n, sizeof(n));
	for (struct part *p = m->parts; p != NULL; p = p->next)
		if (is_news(p))
			put_part(b, st, p);
}

static void post(struct stream *st, struct mail *m, uint32_t from, uint32_t to)
{
	struct buf *b = &st->team->out[st->team->process_of[to]];
	struct head h = {
		from, to, {(uint32_t)m->sends.n, (uint32_t)m->over.n, (uint32_t)m->slow.n, (uint32_t)m->collectives.n}};
	if (m->sends.n + m->over.n + m->slow.n + m->collectives.n == 0)
		return;
	put(b, &h, sizeof(h));
	for (size_t i = 0; i < m->sends.n; i++)
		put_send(b, st, m->sends.at[i]);
	for (size_t i = 0; i < m->over.n; i++)
		put_send(b, st, m->over.at[i]);
	for (size_t i = 0; i < m->slow.n; i++)
		put_slow(b, &m->slow.at[i]);
	for (size_t i = 0; i < m->collectives.n; i++)
		put_collective(b, st, m->collectives.at[i]);
	m->sends.n = m->over.n = m->slow.n = m->collectives.n = 0;
}

static int get_send(struct cursor *c, struct shard *sh, uint32_t process, struct mail *m)
{
	struct send *x = slab_take(&sh->sends);
	uint64_t edge;
	if (x == NULL)
		return -ENOMEM;
	if (get(c, x, sizeof(*x)) < 0 || get(c, &edge, sizeof(edge)) < 0)
		return -EBADMSG;
	x->next = NULL;
	x->recv = NULL;
	x->wait = NULL;
	x->claims = NULL;
	x->edge = edge_copy(sh, edge);
	x->need = x->need != NULL ? need_copy(sh) : NULL;
	if (!x->over && map64_add(&sh->stream->team->sends[sh->number], key_of(process, x->origin), x) < 0)
		return -ENOMEM;
	return vec_push(&m->sends, x);
}

static int get_over(struct cursor *c, struct shard *sh, uint32_t process, struct mail *m)
{
	struct send now;
	uint64_t edge;
	if (get(c, &now, sizeof(now)) < 0 || get(c, &edge, sizeof(edge)) < 0)
		return -EBADMSG;
	struct send *x = map64_take(&sh->stream->team->sends[sh->number], key_of(process, now.origin));
	if (x == NULL)
		return -EBADMSG;
	x->done = now.done;
	x->flags = now.flags;
	x->over = true;
	if (now.need != NULL && x->need == NULL && (x->need = need_copy(sh)) == NULL)
		return -ENOMEM;
	return vec_push(&m->over, x);
}

static int get_slow(struct cursor *c, struct shard *sh, struct mail *m)
{
	static struct wait waits[2] = {{.receives = false}, {.receives = true}};
	struct slow_send x;
	uint32_t receives;
	if (get(c, &x, sizeof(x)) < 0 || get(c, &receives, sizeof(receives)) < 0)
		return -EBADMSG;
	x.wait = &waits[receives != 0];
	x.need = x.origin_need != 0 ? need_copy(sh) : NULL;
	return vec_push(&m->slow, x);
}

/* What was known of it before stays. */
static struct collective *get_head(struct cursor *c, struct shard *sh, uint32_t process)
{
	struct collective now;
	if (get(c, &now, sizeof(now)) < 0)
		return NULL;
	struct map64 *known = &sh->stream->team->parts[sh->number];
	struct collective *m = map64_get(known, key_of(process, now.origin));
	if (m == NULL) {
		m = slab_take(&sh->collectives);
		if (m == NULL || map64_add(known, key_of(process, now.origin), m) < 0)
			return NULL;
		*m = (struct collective){.told_entered = 0};
	}
	now.link = m->link;
	now.sibling = m->sibling;
	now.whole = m->whole;
	now.parts = m->parts;
	now.told_entered = m->told_entered;
	now.told_completed = m->told_completed;
	*m = now;
	return m;
}

static int get_part(struct cursor *c, struct shard *sh, uint32_t process, struct collective *m, struct part ***last)
{
	static struct poll poll;
	static struct wait waits[2] = {{.poll = NULL}, {.poll = &poll}};
	struct map64 *known = &sh->stream->team->parts[sh->number];
	struct part now;
	struct part_more more;
	if (get(c, &now, sizeof(now)) < 0 || get(c, &more, sizeof(more)) < 0)
		return -EBADMSG;
	struct part *p = more.fresh ? slab_take(&sh->parts) : map64_take(known, key_of(process, now.origin));
	if (p == NULL)
		return more.fresh ? -ENOMEM : -EBADMSG;
	now.next = more.fresh ? NULL : p->next;
	now.edge = more.edge != 0 ? edge_copy(sh, more.edge) : more.fresh ? NULL : p->edge;
	now.need = more.needs ? need_copy(sh) : NULL;
	now.wait = more.waits ? &waits[more.polled] : NULL;
	now.collective = m;
	*p = now;
	if (more.fresh) { /* in front of those that are there, in their order */
		p->next = **last;
		**last = p;
		*last = &p->next;
	}
	return p->completed ? 0 : map64_add(known, key_of(process, p->origin), p);
}

static int get_collective(struct cursor *c, struct shard *sh, uint32_t process, struct mail *mail)
{
	struct collective *m = get_head(c, sh, process);
	uint32_t n;
	if (m == NULL)
		return -ENOMEM;
	if (get(c, &n, sizeof(n)) < 0)
		return -EBADMSG;
	struct part **last = &m->parts;
	int code = 0;
	for (uint32_t i = 0; i < n && code == 0; i++)
		code = get_part(c, sh, process, m, &last);
	return code == 0 ? vec_push(&mail->collectives, m) : code;
}

static int take_posted(struct stream *st, uint32_t process, struct cursor *c)
{
	struct head h;
	if (get(c, &h, sizeof(h)) < 0)
		return -EBADMSG;
	struct shard *sh = &st->shards[h.to];
	struct mail *m = mail_from(sh, h.from);
	int code = 0;
	for (uint32_t i = 0; i < h.n[SENDS] && code == 0; i++)
		code = get_send(c, sh, process, m);
	for (uint32_t i = 0; i < h.n[OVER] && code == 0; i++)
		code = get_over(c, sh, process, m);
	for (uint32_t i = 0; i < h.n[SLOW] && code == 0; i++)
		code = get_slow(c, sh, m);
	for (uint32_t i = 0; i < h.n[COLLECTIVES] && code == 0; i++)
		code = get_collective(c, sh, process, m);
	return code;
}

/* ---- answered ---- */

struct told_send {
	uint64_t origin;
	struct arrival recv_start;
	struct told_need need;
	bool matched;
};

static int put_classified(struct buf *b, struct shard *sh, struct send *x)
{
	struct told_send told = {.origin = x->origin,
				 .recv_start = x->recv_start,
				 .need = need_done(sh, x->need),
				 .matched = x->matched};
	put(b, &told, sizeof(told));
	int code = edge_drop(sh, x->edge); /* nobody waited for it */
	slab_give(&sh->sends, x);
	return code;
}

static void put_answered(struct buf *b, struct shard *sh, const struct slow_send *x)
{
	struct told_need told = need_done(sh, x->need);
	put(b, x, sizeof(*x));
	put(b, &told, sizeof(told));
}

struct told_part {
	uint64_t origin, came;
	struct arrival causer;
	struct told_need need;
};

static void put_decided(struct buf *b, struct shard *sh, struct collective *m)
{
	struct map64 *known = &sh->stream->team->parts[sh->number];
	uint32_t n = 0, process = sh->stream->team->process_of[m->shard];
	for (const struct part *p = m->parts; p != NULL; p = p->next)
		n++;
	put(b, &m->origin, sizeof(m->origin));
	put(b, m->whole, sizeof(*m->whole));
	put(b, &n, sizeof(n));
	for (struct part *p = m->parts, *next; p != NULL; p = next) {
		next = p->next;
		struct told_part told = {p->origin, p->came, p->causer, need_done(sh, p->need)};
		put(b, &told, sizeof(told));
		if (!p->completed)
			map64_take(known, key_of(process, p->origin));
		slab_give(&sh->parts, p);
	}
	map64_take(known, key_of(process, m->origin));
	slab_give(&sh->collectives, m);
}

static int answer(struct stream *st, struct mail *m, uint32_t from, uint32_t to)
{
	struct shard *sh = &st->shards[from];
	struct buf *b = &st->team->out[st->team->process_of[to]];
	struct head h = {from, to, {(uint32_t)m->classified.n, (uint32_t)m->answered.n, (uint32_t)m->decided.n, 0}};
	int code = 0;
	if (m->classified.n + m->answered.n + m->decided.n == 0)
		return 0;
	put(b, &h, sizeof(h));
	for (size_t i = 0; i < m->classified.n && code == 0; i++)
		code = put_classified(b, sh, m->classified.at[i]);
	for (size_t i = 0; i < m->answered.n; i++)
		put_answered(b, sh, &m->answered.at[i]);
	for (size_t i = 0; i < m->decided.n; i++)
		put_decided(b, sh, m->decided.at[i]);
	m->classified.n = m->answered.n = m->decided.n = 0;
	return code;
}

static int get_classified(struct cursor *c, struct shard *sh, struct mail *m)
{
	struct told_send told;
	if (get(c, &told, sizeof(told)) < 0)
		return -EBADMSG;
	struct send *x = (struct send *)(uintptr_t)told.origin;
	x->matched = told.matched;
	x->recv_start = told.recv_start;
	int code = need_told(sh, x->need, &told.need);
	return code == 0 ? vec_push(&m->classified, x) : code;
}

static int get_answered(struct cursor *c, struct shard *sh, struct mail *m)
{
	struct slow_send x;
	struct told_need told;
	if (get(c, &x, sizeof(x)) < 0 || get(c, &told, sizeof(told)) < 0)
		return -EBADMSG;
	x.wait = (struct wait *)(uintptr_t)x.origin_wait;
	x.need = (struct need *)(uintptr_t)x.origin_need;
	int code = need_told(sh, x.need, &told);
	return code == 0 ? vec_push(&m->answered, x) : code;
}

static int get_decided(struct cursor *c, struct shard *sh, struct mail *mail)
{
	struct collective *whole = slab_take(&sh->collectives);
	uint64_t origin;
	uint32_t n;
	if (whole == NULL)
		return -ENOMEM;
	if (get(c, &origin, sizeof(origin)) < 0 || get(c, whole, sizeof(*whole)) < 0 || get(c, &n, sizeof(n)) < 0)
		return -EBADMSG;
	struct collective *m = (struct collective *)(uintptr_t)origin;
	m->whole = whole;
	int code = vec_push(&sh->retired, whole);
	for (uint32_t i = 0; i < n && code == 0; i++) {
		struct told_part told;
		if (get(c, &told, sizeof(told)) < 0)
			return -EBADMSG;
		struct part *p = (struct part *)(uintptr_t)told.origin;
		p->came = told.came;
		p->causer = told.causer;
		code = need_told(sh, p->need, &told.need);
	}
	return code == 0 ? vec_push(&mail->decided, m) : code;
}

static int take_answered(struct stream *st, uint32_t process, struct cursor *c)
{
	struct head h;
	(void)process;
	if (get(c, &h, sizeof(h)) < 0)
		return -EBADMSG;
	struct shard *sh = &st->shards[h.to];
	struct mail *m = mail_from(sh, h.from);
	int code = 0;
	for (uint32_t i = 0; i < h.n[CLASSIFIED] && code == 0; i++)
		code = get_classified(c, sh, m);
	for (uint32_t i = 0; i < h.n[ANSWERED] && code == 0; i++)
		code = get_answered(c, sh, m);
	for (uint32_t i = 0; i < h.n[DECIDED] && code == 0; i++)
		code = get_decided(c, sh, m);
	return code;
}

/* ---- between two phases ---- */

static int take_all(struct stream *st, int (*take)(struct stream *st, uint32_t process, struct cursor *c))
{
	int code = 0;
	for (uint32_t q = 0; q < st->team->peers->size && code == 0; q++) {
		struct cursor c = cursor_over(st->team->in[q].data, st->team->in[q].len_bytes);
		while (cursor_left(&c) > 0 && code == 0)
			code = take(st, q, &c);
	}
	return code;
}

static bool is_here(const struct stream *st, uint32_t shard)
{
	return shard >= st->first_shard && shard < st->end_shard;
}

int mail_posted(struct stream *st, int code)
{
	for (uint32_t from = st->first_shard; from < st->end_shard && code == 0; from++)
		for (uint32_t to = 0; to < st->nshards; to++)
			if (!is_here(st, to))
				post(st, mail_to(&st->shards[from], to), from, to);
	code = team_exchange(st, code, NULL);
	return code == 0 ? take_all(st, take_posted) : code;
}

int mail_answered(struct stream *st, int code)
{
	for (uint32_t from = st->first_shard; from < st->end_shard; from++)
		for (uint32_t to = 0; to < st->nshards && code == 0; to++)
			if (!is_here(st, to))
				code = answer(st, mail_to(&st->shards[from], to), from, to);
	code = team_exchange(st, code, NULL);
	return code == 0 ? take_all(st, take_answered) : code;
}
