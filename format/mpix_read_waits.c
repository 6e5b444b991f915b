/* mpix_read_waits.c - wait states of version 2. In: WAITS chunks, and events where a wait follows from their times. */
#include "format/mpix_links.h"
#include "format/mpix_reader.h"
#include "format/mpix_memory.h"

#include <stdlib.h>

/* One chunk while it is read. */
struct reading {
	const struct mpix_file *f;
	const struct mpix_entry *x;
	struct cursor columns[MPIX_WAIT_COLUMNS];
	struct mpix_memory memory;
	struct mpix_position at; /* of the wait before */
	uint32_t first_lane, end_lane;
	bool begun;
};

static int rd_zigzag(struct cursor *c, int64_t *ret_value)
{
	uint64_t value;
	if (rd_varint(c, &value) < 0)
		return -EBADMSG;
	*ret_value = mpix_unzigzag(value);
	return 0;
}

/* base + a zigzag, if that is from 0 to below limit. */
static int rd_near(struct cursor *c, uint32_t base, uint64_t limit, uint32_t *ret_value)
{
	int64_t delta;
	if (rd_zigzag(c, &delta) < 0 || delta < -(int64_t)base || delta >= (int64_t)limit - base)
		return -EBADMSG;
	*ret_value = (uint32_t)((int64_t)base + delta);
	return 0;
}

static int get_place(struct reading *r, size_t n)
{
	struct mpix_position at;
	uint64_t back;
	if (rd_varint(&r->columns[0], &back) < 0 || back > r->x->seq ||
	    rd_near(&r->columns[1], r->at.lane, r->end_lane, &at.lane) < 0 || at.lane < r->first_lane)
		return -EBADMSG;
	at.window = r->x->seq - (uint32_t)back;
	bool same = r->begun && at.window == r->at.window && at.lane == r->at.lane;
	if (rd_near(&r->columns[2], same ? r->at.index : 0, 1ull << 32, &at.index) < 0)
		return -EBADMSG;
	if (!same && mpix_memory_begin(&r->memory, n) < 0)
		return -ENOMEM;
	r->at = at;
	r->begun = true;
	return 0;
}

static int rd_lane(struct reading *r, uint8_t state, uint32_t *ret_lane)
{
	struct cursor *c = &r->columns[wait_causer_columns(state)];
	if (!wait_is_collective(state))
		return rd_near(c, r->at.lane, r->f->lanes.n, ret_lane);
	return mpix_rd_u32(c, ret_lane) < 0 || *ret_lane >= r->f->lanes.n ? -EBADMSG : 0;
}

static int get_causer(struct reading *r, uint8_t state, struct mpix_position *to)
{
	struct cursor *c = &r->columns[wait_causer_columns(state)];
	int64_t back, ahead;
	bool known;
	if (rd_lane(r, state, &to->lane) < 0 || rd_zigzag(&c[1], &back) < 0 || back > r->x->seq ||
	    (int64_t)r->x->seq - back >= (int64_t)r->f->shape.windows || rd_zigzag(&c[2], &ahead) < 0 ||
	    ahead < INT32_MIN || ahead > INT32_MAX)
		return -EBADMSG;
	struct mpix_memory_slot *last = mpix_memory_at(&r->memory, wait_memory_key(state, to->lane), &known);
	last->index = (uint32_t)ahead + (known ? last->index : 0);
	to->window = (uint32_t)((int64_t)r->x->seq - back);
	to->index = r->at.index + last->index;
	return 0;
}

static int get_wait(struct reading *r, size_t n, struct mpix_wait *ret_wait)
{
	struct mpix_wait x = {.causer.window = MPIX_NOWHERE};
	uint64_t state, ns = 0;
	int rc = get_place(r, n);
	if (rc < 0)
		return rc;
	if (rd_varint(&r->columns[3], &state) < 0 || state >> 3 > UINT8_MAX)
		return -EBADMSG;
	x.at = r->at;
	x.state = (uint8_t)(state >> 3);
	x.how = state >> 1 & 3;
	bool stored = x.how == MPIX_WAIT_NS || x.how == MPIX_CAME_BYTES;
	if ((!stored && (state & 1) == 0) || (stored && (rd_varint(&r->columns[4], &ns) < 0 || ns > INT64_MAX)))
		return -EBADMSG;
	x.ns = (int64_t)ns;
	*ret_wait = x;
	return (state & 1) != 0 ? get_causer(r, x.state, &ret_wait->causer) : 0;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What follows from the times of both events. */
static int derive(struct mpix_file *f, struct mpix_wait *x, struct error *e)
{
	const struct mpix_part_event *event;
	const struct mpix_part_data *part;
	int rc = mpix_event_at(f, &x->at, &event, &part, e);
	if (rc < 0 || event == NULL)
		return rc < 0 ? rc : -EBADMSG;
	struct mpix_part_event own = *event;
	rc = mpix_event_at(f, &x->causer, &event, &part, e);
	if (rc < 0 || event == NULL)
		return rc < 0 ? rc : -EBADMSG;
	int64_t ns = x->how == MPIX_WAIT_UNTIL_START
			     ? (event->start_ns < own.end_ns ? event->start_ns : own.end_ns) - own.start_ns
			     : own.end_ns - larger(event->end_ns, own.start_ns);
	x->ns = larger(ns, 0);
	return 0;
}

static int visit_all(struct mpix_file *f, struct reading *r, struct cursor c, struct mpix_asked asked,
		     int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e)
{
	uint64_t n;
	if (rd_varint(&c, &n) < 0 || n > MPIX_CHUNK_RECORDS_MAX ||
	    mpix_split_columns(&c, r->columns, MPIX_WAIT_COLUMNS) < 0 || n > cursor_left(&r->columns[0]))
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		struct mpix_wait x;
		int rc = get_wait(r, n, &x);
		bool wanted = rc == 0 && x.at.lane >= asked.first_lane && x.at.lane < asked.end_lane;
		if (wanted && !asked.bare && x.how != MPIX_WAIT_NS && x.how != MPIX_CAME_BYTES)
			rc = derive(f, &x, e);
		if (rc == 0 && wanted)
			rc = visit(context, &x);
		if (rc != 0)
			return rc;
		mpix_cache_trim(f);
	}
	for (unsigned i = 0; i < MPIX_WAIT_COLUMNS; i++)
		if (cursor_left(&r->columns[i]) > 0)
			return -EBADMSG;
	return 0;
}

int mpix_visit_wait_bytes(struct mpix_file *f, const struct mpix_entry *x, struct cursor c, struct mpix_asked asked,
			  int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e)
{
	struct reading r = {.f = f, .x = x};
	uint64_t rank = (uint64_t)x->group * f->shape.group_ranks, end = rank + f->shape.group_ranks;
	r.first_lane = r.at.lane = f->lanes.first[rank];
	r.end_lane = f->lanes.first[end < f->info.ranks ? end : f->info.ranks];
	int rc = x->seq < f->shape.windows ? visit_all(f, &r, c, asked, visit, context, e) : -EBADMSG;
	mpix_memory_done(&r.memory);
	return rc;
}

int mpix_visit_waits(struct mpix_file *f, const struct mpix_entry *x, struct mpix_asked asked,
		     int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e)
{
	struct error inner = {{0}};
	uint8_t *raw;
	int rc = mpix_read_group_chunk(f, x, &raw, e);
	if (rc < 0)
		return rc;
	rc = mpix_visit_wait_bytes(f, x, cursor_over(raw, x->raw_bytes), asked, visit, context, &inner);
	free(raw);
	return mpix_decoded(f, x, rc, &inner, e);
}

int mpix_each_wait(struct mpix_file *f, int64_t from_ns, int64_t to_ns,
		   int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e)
{
	uint32_t n;
	if (f->super.version == 1)
		return 0;
	int rc = mpix_cache_begin(f, e);
	const struct mpix_entry *x = mpix_find_kind(f, MPIX_WAITS, &n);
	for (uint32_t i = 0; i < n && rc == 0; i++)
		if (x[i].start_ns < to_ns && x[i].end_ns > from_ns)
			rc = mpix_visit_waits(f, &x[i], (struct mpix_asked){0, f->lanes.n, false}, visit, context, e);
	return rc;
}
