/* mpix_pack.c - what one group has of one window as chunks, without touching the writer.
 * In: struct mpix_part of one thread's caller.  Out: struct mpix_packed: EVENTS here, the rest by the files that
 * mpix_pack.h names. The events' columns are those of an .mpic (mpic_events.c). */
#include "format/mpix_writer.h"

#include "base/vec.h"

#include <stdlib.h>

#define EXTRAS_OF_EVENT_MAX 4u

struct packing {
	const struct mpix_writer *w;
	const struct mpix_part *part;
	struct mpix_scratch *s;
	struct mpix_packed *p;
	struct error *e;
	uint32_t first_lane, end_lane, next_lane; /* of the group; the next list's entry is at least next_lane */
	/* of the lane at hand */
	const struct mpix_clock *clock;
	const struct mpix_sigs *sigs;
	uint32_t row, knot;
};

static int contradicts(const struct packing *x, uint32_t lane, const char *what)
{
	return fail(x->e, -EINVAL, "window %u of group %u, lane %u: %s", x->part->window, x->part->group, lane, what);
}

static void enter_lane(struct packing *x, uint32_t lane)
{
	uint32_t rank = x->w->head.lanes.rank[lane];
	x->clock = mpix_clock_of(&x->w->head, lane);
	x->sigs = &x->w->head.sigs[rank];
	x->row = rank - x->part->group * x->w->head.shape.group_ranks;
	x->knot = 0;
}

/* The next entry of a list of lanes. */
static int begin_lane(struct packing *x, uint32_t lane)
{
	if (lane < x->next_lane || lane >= x->end_lane)
		return contradicts(x, lane, "not a lane of the group, or out of order");
	buf_varint(&x->s->raw, lane - x->next_lane);
	enter_lane(x, lane);
	x->next_lane = lane + 1;
	return 0;
}

static bool is_tick(const struct packing *x, uint64_t tick)
{
	return tick - x->clock->base_tick < MPIX_TICKS_MAX;
}

static int64_t to_ns(struct packing *x, uint64_t tick)
{
	return mpix_ns(x->clock->knots, x->clock->nknots, tick, &x->knot);
}

/* Time of a call for the summary. */
static void add_ns(struct packing *x, uint32_t sig, int64_t start_ns, int64_t end_ns)
{
	unsigned class = x->sigs->at[sig].class;
	if (class > 0)
		mpix_summary_add(&x->w->summary, x->p, x->row, class, start_ns, end_ns);
}

static void add_time(struct packing *x, uint32_t sig, uint64_t enter, uint64_t leave)
{
	add_ns(x, sig, to_ns(x, enter), to_ns(x, leave));
}

static int put_numbers(struct packing *x, const struct mpix_run *run)
{
	uint32_t index = 0;
	buf_varint(&x->s->raw, run->nnumbers);
	for (uint32_t i = 0; i < run->nnumbers; i++) {
		const struct mpix_number *n = &run->numbers[i];
		if (n->index < index || n->index >= run->n)
			return contradicts(x, run->lane, "collective numbers are out of order");
		buf_varint(&x->s->raw, n->index - index);
		buf_varint(&x->s->raw, n->comm);
		buf_varint(&x->s->raw, n->k + 1);
		index = n->index;
	}
	return 0;
}

static int put_head(struct packing *x, const struct mpix_run *run)
{
	int rc = begin_lane(x, run->lane);
	if (rc < 0)
		return rc;
	if (run->n == 0 || !is_tick(x, run->begin_tick) || run->begin_tick > run->enter[0])
		return contradicts(x, run->lane, "an empty run, or one that begins at an impossible tick");
	buf_varint(&x->s->raw, run->n);
	buf_varint(&x->s->raw, run->begin_tick - x->clock->base_tick);
	return put_numbers(x, run);
}

/* Words of the extras of event index; how many. *at: the first that is not passed yet. */
static uint32_t extra_words(const struct mpix_extra *extras, uint32_t n, uint32_t index, uint32_t *at,
			    uint64_t words[EXTRAS_OF_EVENT_MAX])
{
	uint32_t found = 0;
	for (; *at < n && extras[*at].index <= index; ++*at)
		if (extras[*at].index == index && found < EXTRAS_OF_EVENT_MAX)
			words[found++] = extras[*at].value << 2 | (extras[*at].what & 3);
	return found;
}

static int put_run(struct packing *x, const struct mpix_run *run)
{
	uint64_t words[EXTRAS_OF_EVENT_MAX], clock = run->begin_tick;
	struct mpic_columns *columns = &x->s->columns;
	uint32_t extra = 0;
	enter_lane(x, run->lane);
	mpic_columns_resume(columns, run->begin_tick);
	if (!mpic_columns_room(columns, run->n))
		return fail(x->e, -ENOMEM, "out of memory for %llu events", (unsigned long long)run->n);
	for (uint32_t i = 0; i < run->n; i++) {
		struct mpic_event ev = {.sig = run->sig[i], .enter_tick = run->enter[i], .exit_tick = run->leave[i]};
		if (ev.sig >= x->sigs->n || ev.enter_tick < clock || ev.exit_tick < ev.enter_tick)
			return contradicts(x, run->lane, "events overlap, or are of unknown signature");
		if (extra < run->nextras && run->extras[extra].index <= i) {
			ev.extra = words;
			ev.nextra = extra_words(run->extras, run->nextras, i, &extra, words);
			mpic_columns_put(columns, &ev);
		} else {
			mpic_columns_add(columns, ev.sig, ev.enter_tick, ev.exit_tick);
		}
		if (run->start_ns != NULL)
			add_ns(x, ev.sig, run->start_ns[i], run->end_ns[i]);
		else
			add_time(x, ev.sig, ev.enter_tick, ev.exit_tick);
		clock = ev.exit_tick;
	}
	return is_tick(x, clock) ? 0 : contradicts(x, run->lane, "ticks are too far from their clock's first");
}

static int put_carried(struct packing *x, const struct mpix_carried *c)
{
	uint64_t words[EXTRAS_OF_EVENT_MAX];
	uint32_t at = 0;
	struct buf *raw = &x->s->raw;
	int rc = begin_lane(x, c->at.lane);
	if (rc < 0)
		return rc;
	if (c->at.window >= x->part->window || c->sig >= x->sigs->n || c->leave < c->enter || !is_tick(x, c->enter) ||
	    !is_tick(x, c->leave))
		return contradicts(x, c->at.lane, "a carried event is not of an earlier window, or impossible");
	buf_varint(raw, x->part->window - c->at.window);
	buf_varint(raw, c->at.index);
	buf_varint(raw, c->sig);
	buf_varint(raw, c->enter - x->clock->base_tick);
	buf_varint(raw, c->leave - c->enter);
	buf_varint(raw, c->k + 1);
	uint32_t n = extra_words(c->extras, c->nextras, 0, &at, words);
	buf_varint(raw, n);
	for (uint32_t i = 0; i < n; i++)
		buf_varint(raw, words[i]);
	add_time(x, c->sig, c->enter, c->leave);
	return 0;
}

static int put_heads(struct packing *x)
{
	const struct mpix_part *part = x->part;
	int rc = 0;
	x->next_lane = x->first_lane;
	buf_varint(&x->s->raw, part->nruns);
	for (uint32_t i = 0; i < part->nruns && rc == 0; i++)
		rc = put_head(x, &part->runs[i]);
	x->next_lane = x->first_lane;
	buf_varint(&x->s->raw, part->ncarried);
	for (uint32_t i = 0; i < part->ncarried && rc == 0; i++)
		rc = put_carried(x, &part->carried[i]);
	return rc;
}

static int pack_events(struct packing *x)
{
	struct mpix_scratch *s = x->s;
	const struct mpix_part *part = x->part;
	uint64_t n = part->ncarried;
	s->raw.len_bytes = s->payload.len_bytes = 0;
	int rc = put_heads(x);
	s->columns.plain_words = true;
	mpic_columns_begin(&s->columns, 0);
	for (uint32_t i = 0; i < part->nruns && rc == 0; i++) {
		n += part->runs[i].n;
		rc = put_run(x, &part->runs[i]);
	}
	if (rc < 0)
		return rc;
	if (n > MPIX_CHUNK_RECORDS_MAX)
		return fail(x->e, -EFBIG, "window %u of group %u has %llu events: choose smaller windows", part->window,
			    part->group, (unsigned long long)n);
	size_t numbers_at, bits_at, head = s->raw.len_bytes;
	mpic_columns_payload(&s->columns, &s->raw);
	if (buf_failed(&s->raw))
		return fail(x->e, -ENOMEM, "out of memory for %llu events", (unsigned long long)n);
	mpic_events_parts(s->raw.data + head, s->raw.len_bytes - head, &numbers_at, &bits_at);
	x->p->events = n - part->ncarried;
	struct mpix_entry entry = {
		.kind = MPIX_EVENTS, .records = (uint32_t)n, .start_ns = part->start_ns, .end_ns = part->end_ns};
	return mpix_pack_chunk(s, x->p, entry, head + numbers_at, head + bits_at, x->e);
}

int mpix_pack(const struct mpix_writer *w, const struct mpix_part *part, struct mpix_scratch *s, struct mpix_packed *p,
	      struct error *e)
{
	struct packing x = {.w = w, .part = part, .s = s, .p = p, .e = e};
	if ((uint64_t)part->group * w->head.shape.group_ranks >= w->head.info.ranks || part->window == MPIX_NOWHERE ||
	    part->end_ns < part->start_ns)
		return fail(e, -EINVAL, "window %u of group %u: no such group, or it ends before it starts",
			    part->window, part->group);
	p->window = part->window;
	p->group = part->group;
	p->nchunks = 0;
	p->events = p->messages = p->waits = 0;
	p->ncandidates = p->nflows = p->ntiles = 0;
	mpix_group_lanes(&w->head, part->group, &x.first_lane, &x.end_lane);
	int rc = mpix_summary_begin(&w->summary, &w->head, part, p);
	if (rc < 0)
		return fail(e, rc, "out of memory for a window");
	if (part->nruns > 0 || part->ncarried > 0)
		rc = pack_events(&x);
	if (rc == 0 && part->nlinks > 0)
		rc = mpix_pack_links(&w->head, part, s, p, e);
	if (rc == 0 && part->nlinks > 0 && mpix_lod_pack(&w->lod, &w->head, part, s, p) < 0)
		rc = fail(e, -ENOMEM, "out of memory for %u messages", part->nlinks);
	if (rc == 0 && part->nwaits > 0)
		rc = mpix_pack_waits(&w->head, part, s, p, e);
	return rc;
}
