/* mpix_pack_waits.c - wait states of one group (SPEC.md, WAITS). What follows from the times of events is not stored.
 * */
#include "format/mpix_links.h"
#include "format/mpix_pack.h"

#include "base/vec.h"

/* Within one lane: by event, those of one as they came. */
static void sort_lane(const struct mpix_wait *waits, uint32_t *order, uint32_t n, struct sort_key *keys)
{
	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct sort_key){waits[order[i]].at.index, 0, order[i]};
	sort_keys(keys, keys + n, n);
	for (uint32_t i = 0; i < n; i++)
		order[i] = keys[i].at;
}

/* s->order: the few of earlier windows first, then those of this one lane by lane, which makes them nearly sorted. */
static int sort_waits(const struct mpix_part *part, uint32_t first_lane, uint32_t nlanes, struct mpix_scratch *s)
{
	uint32_t n = part->nwaits, early = 0;
	if (vec_grow(&s->order, &s->cap_order, n, sizeof(*s->order)) < 0 ||
	    vec_grow(&s->sorting, &s->cap_sorting, 2 * (size_t)n, sizeof(*s->sorting)) < 0 ||
	    vec_grow(&s->counts, &s->cap_counts, (size_t)nlanes + 2, sizeof(*s->counts)) < 0)
		return -ENOMEM;
	memset(s->counts, 0, ((size_t)nlanes + 2) * sizeof(*s->counts));
	for (uint32_t i = 0; i < n; i++) {
		const struct mpix_position *at = &part->waits[i].at;
		if (at->window == part->window)
			s->counts[at->lane - first_lane + 2]++;
		else
			s->sorting[early++] = (struct sort_key){(uint64_t)at->window << 32 | at->lane, at->index, i};
	}
	sort_keys(s->sorting, s->sorting + early, early);
	for (uint32_t i = 0; i < early; i++)
		s->order[i] = s->sorting[i].at;
	s->counts[0] = s->counts[1] = early;
	for (uint32_t l = 0; l < nlanes; l++)
		s->counts[l + 2] += s->counts[l + 1];
	for (uint32_t i = 0; i < n; i++)
		if (part->waits[i].at.window == part->window)
			s->order[s->counts[part->waits[i].at.lane - first_lane + 1]++] = i;
	for (uint32_t l = 0; l < nlanes; l++)
		sort_lane(part->waits, s->order + s->counts[l], s->counts[l + 1] - s->counts[l], s->sorting);
	return 0;
}

static bool is_sane(const struct mpix_head *h, const struct mpix_part *part, uint32_t first_lane, uint32_t end_lane,
		    const struct mpix_wait *x)
{
	bool caused = x->causer.window != MPIX_NOWHERE;
	return x->at.window <= part->window && x->at.lane >= first_lane && x->at.lane < end_lane &&
	       (!caused || x->causer.lane < h->lanes.n) &&
	       (x->how == MPIX_WAIT_NS || x->how == MPIX_CAME_BYTES ? x->ns >= 0
								    : caused && x->how <= MPIX_WAIT_SINCE_END);
}

struct columns {
	uint8_t *at[MPIX_WAIT_COLUMNS];
};

static void put_causer(struct columns *c, struct mpix_memory *memory, uint32_t window, const struct mpix_wait *x)
{
	bool known;
	struct mpix_memory_slot *last = mpix_memory_at(memory, wait_memory_key(x->state, x->causer.lane), &known);
	uint8_t **at = &c->at[wait_causer_columns(x->state)];
	uint32_t ahead = x->causer.index - x->at.index;
	uint64_t lane =
		wait_is_collective(x->state) ? x->causer.lane : mpix_zigzag((int64_t)x->causer.lane - x->at.lane);
	at[0] = mpix_varint(at[0], lane);
	at[1] = mpix_varint(at[1], mpix_zigzag((int64_t)window - x->causer.window));
	at[2] = mpix_varint(at[2], mpix_zigzag((int32_t)(ahead - (known ? last->index : 0))));
	last->index = ahead;
}

static int put_waits(const struct mpix_part *part, struct mpix_scratch *s, uint32_t first_lane, struct columns *c)
{
	const struct mpix_wait *before = NULL;
	uint32_t lane = first_lane;
	for (uint32_t i = 0; i < part->nwaits; i++) {
		const struct mpix_wait *x = &part->waits[s->order[i]];
		bool same = before != NULL && before->at.window == x->at.window && before->at.lane == x->at.lane;
		if (!same && mpix_memory_begin(&s->memory, part->nwaits) < 0)
			return -ENOMEM;
		c->at[0] = mpix_varint(c->at[0], part->window - x->at.window);
		c->at[1] = mpix_varint(c->at[1], mpix_zigzag((int64_t)x->at.lane - lane));
		c->at[2] = mpix_varint(c->at[2], mpix_zigzag((int64_t)x->at.index - (same ? before->at.index : 0)));
		bool caused = x->causer.window != MPIX_NOWHERE;
		c->at[3] = mpix_varint(c->at[3], (uint64_t)x->state << 3 | (unsigned)(x->how << 1) | caused);
		if (x->how == MPIX_WAIT_NS || x->how == MPIX_CAME_BYTES)
			c->at[4] = mpix_varint(c->at[4], (uint64_t)x->ns);
		if (caused)
			put_causer(c, &s->memory, part->window, x);
		lane = x->at.lane;
		before = x;
	}
	return 0;
}

static int put_columns(const struct mpix_part *part, struct mpix_scratch *s, uint32_t first_lane, uint32_t nlanes)
{
	struct columns c;
	for (unsigned i = 0; i < MPIX_WAIT_COLUMNS; i++) {
		s->fields[i].len_bytes = 0;
		c.at[i] = mpix_varint_room(&s->fields[i], part->nwaits);
		if (c.at[i] == NULL)
			return -ENOMEM;
	}
	if (sort_waits(part, first_lane, nlanes, s) < 0 || put_waits(part, s, first_lane, &c) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < MPIX_WAIT_COLUMNS; i++)
		s->fields[i].len_bytes = (size_t)(c.at[i] - s->fields[i].data);
	return 0;
}

int mpix_pack_waits(const struct mpix_head *h, const struct mpix_part *part, struct mpix_scratch *s,
		    struct mpix_packed *p, struct error *e)
{
	struct mpix_entry entry = {
		.kind = MPIX_WAITS, .records = part->nwaits, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
	uint32_t first_lane, end_lane;
	mpix_group_lanes(h, part->group, &first_lane, &end_lane);
	if (part->nwaits > MPIX_CHUNK_RECORDS_MAX)
		return fail(e, -EFBIG, "window %u of group %u has %u waits: choose smaller windows", part->window,
			    part->group, part->nwaits);
	for (uint32_t i = 0; i < part->nwaits; i++) {
		const struct mpix_wait *x = &part->waits[i];
		if (!is_sane(h, part, first_lane, end_lane, x))
			return fail(e, -EINVAL, "window %u of group %u: wait %u is impossible", part->window,
				    part->group, i);
		entry.start_ns = x->start_ns < entry.start_ns ? x->start_ns : entry.start_ns;
		entry.end_ns = x->end_ns >= entry.end_ns ? x->end_ns + 1 : entry.end_ns;
	}
	if (put_columns(part, s, first_lane, end_lane - first_lane) < 0)
		return fail(e, -ENOMEM, "out of memory for %u waits", part->nwaits);
	s->raw.len_bytes = 0;
	buf_varint(&s->raw, part->nwaits);
	mpix_join_columns(s->fields, MPIX_WAIT_COLUMNS, &s->raw);
	p->waits = part->nwaits;
	return mpix_pack_chunk(s, p, entry, s->raw.len_bytes, s->raw.len_bytes, e);
}
