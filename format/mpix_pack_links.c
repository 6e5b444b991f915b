/* mpix_pack_links.c - messages of one group that were completed in one window, as pairs of positions (SPEC.md,
 * MESSAGES). Every column tells a difference, so that what a program repeats is the same bytes again and again. */
#include "format/mpix_links.h"
#include "format/mpix_pack.h"

#include "base/vec.h"

static bool is_nowhere(const struct mpix_position *p)
{
	return p->window == MPIX_NOWHERE;
}

/* The call that the chunk's order goes by. */
static const struct mpix_position *anchor_of(const struct mpix_link *x)
{
	return is_nowhere(&x->completion) ? &x->recv : &x->completion;
}

/* ---- order ---- */

static uint64_t key_of(const struct mpix_position *p)
{
	return (uint64_t)p->window << 32 | p->index;
}

static int sort_lane(const struct mpix_link *links, uint32_t *order, uint32_t n, struct mpix_scratch *s)
{
	if (vec_grow(&s->sorting, &s->cap_sorting, 2 * (size_t)n, sizeof(*s->sorting)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct mpix_link *x = &links[order[i]];
		s->sorting[i] = (struct sort_key){key_of(anchor_of(x)), key_of(&x->recv), order[i]};
	}
	sort_keys(s->sorting, s->sorting + n, n);
	for (uint32_t i = 0; i < n; i++)
		order[i] = s->sorting[i].at;
	return 0;
}

/* s->order: links lane by lane; s->counts[l], [l + 1]: where those of the group's lane l begin and end. */
static int sort_links(const struct mpix_part *part, uint32_t first_lane, uint32_t nlanes, struct mpix_scratch *s)
{
	if (vec_grow(&s->order, &s->cap_order, part->nlinks, sizeof(*s->order)) < 0 ||
	    vec_grow(&s->counts, &s->cap_counts, (size_t)nlanes + 2, sizeof(*s->counts)) < 0)
		return -ENOMEM;
	memset(s->counts, 0, ((size_t)nlanes + 2) * sizeof(*s->counts));
	for (uint32_t i = 0; i < part->nlinks; i++)
		s->counts[anchor_of(&part->links[i])->lane - first_lane + 2]++;
	for (uint32_t l = 0; l < nlanes; l++)
		s->counts[l + 2] += s->counts[l + 1];
	for (uint32_t i = 0; i < part->nlinks; i++)
		s->order[s->counts[anchor_of(&part->links[i])->lane - first_lane + 1]++] = i;
	int code = 0;
	for (uint32_t l = 0; l < nlanes && code == 0; l++)
		code = sort_lane(part->links, s->order + s->counts[l], s->counts[l + 1] - s->counts[l], s);
	return code;
}

/* ---- checks ---- */

static bool is_position(const struct mpix_head *h, const struct mpix_position *p)
{
	return p->window != MPIX_NOWHERE && p->lane < h->lanes.n;
}

static bool is_sane(const struct mpix_head *h, const struct mpix_part *part, uint32_t first_lane, uint32_t end_lane,
		    const struct mpix_link *x)
{
	const struct mpix_position *anchor = anchor_of(x);
	uint32_t src = x->message.src;
	return anchor->window <= part->window && anchor->lane >= first_lane && anchor->lane < end_lane &&
	       is_position(h, &x->recv) && x->recv.window <= anchor->window && is_position(h, &x->send) &&
	       (is_nowhere(&x->sent) || is_position(h, &x->sent)) && src < h->info.ranks &&
	       x->message.dst < h->info.ranks && h->lanes.rank[x->send.lane] == src &&
	       h->lanes.rank[anchor->lane] == x->message.dst &&
	       (x->signature == MPIX_OF_START || x->signature < h->sigs[src].n) &&
	       !(x->recv.window == anchor->window && x->recv.lane == anchor->lane && x->recv.index > anchor->index) &&
	       !(x->sent.window == x->send.window && x->sent.lane == x->send.lane && x->sent.index < x->send.index);
}

/* ---- columns ---- */

struct columns {
	uint8_t *at[MPIX_LINK_COLUMNS];
};

static unsigned flags_of(const struct mpix_link *x)
{
	const struct mpix_position *anchor = anchor_of(x);
	unsigned flags = 0;
	if (is_nowhere(&x->completion))
		flags |= LINK_OPEN;
	else if (x->recv.window != anchor->window || x->recv.lane != anchor->lane)
		flags |= LINK_RECV_ELSEWHERE;
	if (x->send.window != anchor->window)
		flags |= LINK_SEND_ELSEWHERE;
	if (is_nowhere(&x->sent))
		flags |= LINK_UNSENT;
	else if (x->sent.window != x->send.window || x->sent.lane != x->send.lane)
		flags |= LINK_SENT_ELSEWHERE;
	return flags | (x->signature != MPIX_OF_START ? LINK_SIGNATURE : 0);
}

static void put_elsewhere(struct columns *c, unsigned flags, uint32_t window, const struct mpix_link *x)
{
	const struct mpix_position *anchor = anchor_of(x);
	uint8_t *to = c->at[6];
	if ((flags & LINK_EARLIER) != 0)
		to = mpix_varint(to, window - anchor->window);
	if ((flags & LINK_RECV_ELSEWHERE) != 0) {
		to = mpix_varint(to, anchor->window - x->recv.window);
		to = mpix_varint(to, mpix_zigzag((int64_t)x->recv.lane - anchor->lane));
		to = mpix_varint(to, x->recv.index);
	}
	if ((flags & LINK_SEND_ELSEWHERE) != 0)
		to = mpix_varint(to, mpix_zigzag((int64_t)anchor->window - x->send.window));
	if ((flags & LINK_SENT_ELSEWHERE) != 0) {
		to = mpix_varint(to, mpix_zigzag((int64_t)x->sent.window - x->send.window));
		to = mpix_varint(to, mpix_zigzag((int64_t)x->sent.lane - x->send.lane));
		to = mpix_varint(to, x->sent.index);
	}
	if ((flags & LINK_SIGNATURE) != 0)
		to = mpix_varint(to, x->signature);
	c->at[6] = to;
}

/* *last_anchor: the one of the message before in this lane. */
static void put_link(struct columns *c, struct mpix_memory *memory, uint32_t window, struct mpix_position *last_anchor,
		     const struct mpix_link *x)
{
	const struct mpix_position *anchor = anchor_of(x);
	unsigned flags = flags_of(x) | (anchor->window != window ? LINK_EARLIER : 0);
	uint32_t before = anchor->window == last_anchor->window ? last_anchor->index : 0;
	bool known;
	struct mpix_memory_slot *last = mpix_memory_at(memory, x->send.lane, &known);
	uint32_t expected = known && last->window == x->send.window ? last->index : 0;
	last->window = x->send.window;
	last->index = x->send.index;
	*c->at[0]++ = (uint8_t)flags;
	c->at[1] = mpix_varint(c->at[1], anchor->index - before);
	*last_anchor = *anchor;
	if ((flags & (LINK_RECV_ELSEWHERE | LINK_OPEN)) == 0)
		c->at[2] = mpix_varint(c->at[2], anchor->index - x->recv.index);
	c->at[3] = mpix_varint(c->at[3], mpix_zigzag((int64_t)x->send.lane - anchor->lane));
	c->at[4] = mpix_varint(c->at[4], mpix_zigzag((int64_t)x->send.index - expected));
	if ((flags & (LINK_SENT_ELSEWHERE | LINK_UNSENT)) == 0)
		c->at[5] = mpix_varint(c->at[5], x->sent.index - x->send.index);
	if (flags != 0)
		put_elsewhere(c, flags, window, x);
}

static int begin_columns(struct mpix_scratch *s, struct columns *c, uint32_t n)
{
	for (unsigned i = 0; i < MPIX_LINK_COLUMNS; i++) {
		s->fields[i].len_bytes = 0;
		c->at[i] = mpix_varint_room(&s->fields[i], (size_t)n * (i == 6 ? LINK_ELSEWHERE_MAX : 1));
		if (c->at[i] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static void end_columns(struct mpix_scratch *s, const struct columns *c)
{
	for (unsigned i = 0; i < MPIX_LINK_COLUMNS; i++)
		s->fields[i].len_bytes = (size_t)(c->at[i] - s->fields[i].data);
}

static void extend(struct mpix_entry *entry, const struct mpix_message *x)
{
	int64_t first = x->send_start_ns < x->recv_end_ns ? x->send_start_ns : x->recv_end_ns;
	int64_t last = x->send_end_ns > x->recv_end_ns ? x->send_end_ns : x->recv_end_ns;
	last = last < x->send_start_ns ? x->send_start_ns : last;
	entry->start_ns = first < entry->start_ns ? first : entry->start_ns;
	entry->end_ns = last >= entry->end_ns ? last + 1 : entry->end_ns;
}

/* Heads of lanes into s->raw, links into the columns. */
static int put_links(const struct mpix_part *part, uint32_t nlanes, struct mpix_scratch *s, struct columns *c)
{
	uint32_t lanes = 0, next = 0;
	s->raw.len_bytes = 0;
	for (uint32_t l = 0; l < nlanes; l++)
		lanes += s->counts[l + 1] > s->counts[l];
	buf_varint(&s->raw, lanes);
	for (uint32_t l = 0; l < nlanes; l++) {
		uint32_t n = s->counts[l + 1] - s->counts[l];
		struct mpix_position last = {.window = MPIX_NOWHERE};
		if (n == 0)
			continue;
		buf_varint(&s->raw, l - next);
		buf_varint(&s->raw, n);
		next = l + 1;
		if (mpix_memory_begin(&s->memory, n) < 0)
			return -ENOMEM;
		for (uint32_t i = s->counts[l]; i < s->counts[l + 1]; i++)
			put_link(c, &s->memory, part->window, &last, &part->links[s->order[i]]);
	}
	return 0;
}

int mpix_pack_links(const struct mpix_head *h, const struct mpix_part *part, struct mpix_scratch *s,
		    struct mpix_packed *p, struct error *e)
{
	struct mpix_entry entry = {
		.kind = MPIX_MESSAGES, .records = part->nlinks, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
	struct columns c;
	uint32_t first_lane, end_lane;
	mpix_group_lanes(h, part->group, &first_lane, &end_lane);
	if (part->nlinks > MPIX_CHUNK_RECORDS_MAX)
		return fail(e, -EFBIG, "window %u of group %u has %u messages: choose smaller windows", part->window,
			    part->group, part->nlinks);
	for (uint32_t i = 0; i < part->nlinks; i++) {
		if (!is_sane(h, part, first_lane, end_lane, &part->links[i]))
			return fail(e, -EINVAL, "window %u of group %u: message %u has impossible positions",
				    part->window, part->group, i);
		extend(&entry, &part->links[i].message);
	}
	if (sort_links(part, first_lane, end_lane - first_lane, s) < 0 || begin_columns(s, &c, part->nlinks) < 0 ||
	    put_links(part, end_lane - first_lane, s, &c) < 0)
		return fail(e, -ENOMEM, "out of memory for %u messages", part->nlinks);
	end_columns(s, &c);
	mpix_join_columns(s->fields, MPIX_LINK_COLUMNS, &s->raw);
	p->messages = part->nlinks;
	return mpix_pack_chunk(s, p, entry, s->raw.len_bytes, s->raw.len_bytes, e);
}
