/* mpix_read_links.c - messages of version 2. In: MESSAGES chunks and the events at the positions they name.
 * Out: messages with times and bytes, through a callback. */
#include "format/mpix_links.h"
#include "format/mpix_reader.h"
#include "format/mpix_memory.h"

#include <stdlib.h>

struct reading {
	struct mpix_file *f;
	const struct mpix_entry *x;
	struct cursor columns[MPIX_LINK_COLUMNS];
	struct mpix_memory memory;
	struct error inner;
	bool bare;
};

/* base + a zigzag, if that is from 0 to below limit. */
static int rd_near(struct cursor *c, int64_t base, uint64_t limit, uint32_t *ret_value)
{
	uint64_t value;
	if (rd_varint(c, &value) < 0 || value > 1ull << 34)
		return -EBADMSG;
	base += mpix_unzigzag(value);
	if (base < 0 || base >= (int64_t)limit)
		return -EBADMSG;
	*ret_value = (uint32_t)base;
	return 0;
}

/* ---- positions ---- */

static int get_recv(struct reading *r, unsigned flags, const struct mpix_position *anchor, struct mpix_position *to)
{
	uint32_t back;
	*to = *anchor;
	if ((flags & LINK_OPEN) != 0)
		return 0;
	if ((flags & LINK_RECV_ELSEWHERE) != 0) {
		if (mpix_rd_u32(&r->columns[6], &back) < 0 || back > anchor->window ||
		    rd_near(&r->columns[6], anchor->lane, r->f->lanes.n, &to->lane) < 0 ||
		    mpix_rd_u32(&r->columns[6], &to->index) < 0)
			return -EBADMSG;
		to->window = anchor->window - back;
		return 0;
	}
	if (mpix_rd_u32(&r->columns[2], &back) < 0 || back > anchor->index)
		return -EBADMSG;
	to->index = anchor->index - back;
	return 0;
}

static int get_send(struct reading *r, unsigned flags, const struct mpix_position *anchor, struct mpix_position *to)
{
	bool known;
	int64_t back = 0;
	uint64_t value;
	if (rd_near(&r->columns[3], anchor->lane, r->f->lanes.n, &to->lane) < 0)
		return -EBADMSG;
	if ((flags & LINK_SEND_ELSEWHERE) != 0) {
		if (rd_varint(&r->columns[6], &value) < 0 || value > 1ull << 34)
			return -EBADMSG;
		back = mpix_unzigzag(value);
	}
	if (back > anchor->window || (int64_t)anchor->window - back >= (int64_t)r->f->shape.windows)
		return -EBADMSG;
	to->window = (uint32_t)((int64_t)anchor->window - back);
	struct mpix_memory_slot *last = mpix_memory_at(&r->memory, to->lane, &known);
	uint32_t expected = known && last->window == to->window ? last->index : 0;
	if (rd_near(&r->columns[4], expected, 1ull << 32, &to->index) < 0)
		return -EBADMSG;
	last->window = to->window;
	last->index = to->index;
	return 0;
}

static int get_sent(struct reading *r, unsigned flags, const struct mpix_position *send, struct mpix_position *to)
{
	uint32_t ahead;
	*to = *send;
	if ((flags & LINK_UNSENT) != 0) {
		to->window = MPIX_NOWHERE;
		return 0;
	}
	if ((flags & LINK_SENT_ELSEWHERE) != 0)
		return rd_near(&r->columns[6], send->window, r->f->shape.windows, &to->window) < 0 ||
				       rd_near(&r->columns[6], send->lane, r->f->lanes.n, &to->lane) < 0 ||
				       mpix_rd_u32(&r->columns[6], &to->index) < 0
			       ? -EBADMSG
			       : 0;
	return mpix_rd_u32(&r->columns[5], &ahead) < 0 || __builtin_add_overflow(send->index, ahead, &to->index)
		       ? -EBADMSG
		       : 0;
}

static int get_link(struct reading *r, struct mpix_position *anchor, struct mpix_link *ret_link)
{
	struct mpix_link x = {.signature = MPIX_OF_START};
	uint8_t flags;
	uint32_t ahead, window = r->x->seq, back = 0;
	if (rd_u8(&r->columns[0], &flags) < 0 || flags > LINK_FLAGS ||
	    ((flags & LINK_EARLIER) != 0 && mpix_rd_u32(&r->columns[6], &back) < 0) || back > window)
		return -EBADMSG;
	if (anchor->window != window - back)
		*anchor = (struct mpix_position){window - back, anchor->lane, 0};
	if (mpix_rd_u32(&r->columns[1], &ahead) < 0 || __builtin_add_overflow(anchor->index, ahead, &anchor->index) ||
	    ((flags & LINK_OPEN) != 0 && (flags & LINK_RECV_ELSEWHERE) != 0) ||
	    ((flags & LINK_UNSENT) != 0 && (flags & LINK_SENT_ELSEWHERE) != 0))
		return -EBADMSG;
	x.completion = *anchor;
	if (get_recv(r, flags, anchor, &x.recv) < 0 || get_send(r, flags, anchor, &x.send) < 0 ||
	    get_sent(r, flags, &x.send, &x.sent) < 0 ||
	    ((flags & LINK_SIGNATURE) != 0 && mpix_rd_u32(&r->columns[6], &x.signature) < 0))
		return -EBADMSG;
	if ((flags & LINK_OPEN) != 0)
		x.completion.window = MPIX_NOWHERE;
	*ret_link = x;
	return 0;
}

/* ---- what is there ---- */

static int event_at(struct reading *r, const struct mpix_position *at, struct mpix_part_event *ret_event,
		    const struct mpix_signature **ret_sig)
{
	const struct mpix_part_event *event;
	const struct mpix_part_data *part;
	int rc = mpix_event_at(r->f, at, &event, &part, &r->inner);
	if (rc < 0 || event == NULL)
		return rc < 0 ? rc : -EBADMSG;
	*ret_event = *event;
	*ret_sig = &part->sigs->sigs[event->sig];
	return 0;
}

static int named_signature(struct reading *r, const struct mpix_link *x, const struct mpix_signature **ret_sig)
{
	uint32_t rank = r->f->lanes.rank[x->send.lane], group = rank / r->f->shape.group_ranks;
	const struct mpix_group_sigs *sigs;
	if (x->signature == MPIX_OF_START)
		return 0;
	int rc = mpix_sigs_get(r->f, group, &sigs, &r->inner);
	if (rc < 0)
		return rc;
	const uint32_t *first = sigs->first + (rank - group * r->f->shape.group_ranks);
	if (x->signature >= first[1] - first[0])
		return -EBADMSG;
	*ret_sig = &sigs->sigs[first[0] + x->signature];
	return 0;
}

/* Times and bytes. Without a completion, the start of the receive is all there is of it. */
static int resolve(struct reading *r, struct mpix_link *x)
{
	if (r->bare)
		return 0;
	bool open = x->completion.window == MPIX_NOWHERE;
	const struct mpix_signature *sig = NULL, *send_sig = NULL, *recv_sig = NULL;
	struct mpix_part_event send, recv, completion;
	int rc = event_at(r, &x->recv, &recv, &recv_sig);
	if (rc == 0)
		rc = event_at(r, open ? &x->recv : &x->completion, &completion, &sig);
	if (rc == 0)
		rc = event_at(r, &x->send, &send, &send_sig);
	sig = send_sig;
	if (rc == 0)
		rc = named_signature(r, x, &sig);
	if (rc < 0)
		return rc;
	x->message = (struct mpix_message){
		.send_start_ns = send.start_ns,
		.send_end_ns = send.end_ns,
		.recv_start_ns = recv.start_ns,
		.completion_start_ns = completion.start_ns,
		.recv_end_ns = completion.end_ns,
		.bytes = sig->message_bytes,
		.src = r->f->lanes.rank[x->send.lane],
		.dst = r->f->lanes.rank[x->recv.lane],
		.tag = sig->tag,
		.comm = sig->comm,
		.send_callsite = send_sig->callsite,
		.recv_callsite = recv_sig->callsite,
	};
	return 0;
}

/* ---- chunks ---- */

static int visit_lane(struct reading *r, struct mpix_position anchor, uint32_t n,
		      int (*visit)(void *context, const struct mpix_link *link), void *context)
{
	struct mpix_link x;
	if (mpix_memory_begin(&r->memory, n) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		int rc = get_link(r, &anchor, &x);
		if (rc == 0)
			rc = resolve(r, &x);
		if (rc == 0)
			rc = visit(context, &x);
		if (rc != 0)
			return rc;
		mpix_cache_trim(r->f);
	}
	return 0;
}

/* The heads of lanes stand before the columns: find the columns first, then walk both. */
static int visit_payload(struct reading *r, struct cursor c, int (*visit)(void *context, const struct mpix_link *link),
			 void *context)
{
	uint64_t rank = (uint64_t)r->x->group * r->f->shape.group_ranks, end = rank + r->f->shape.group_ranks;
	uint32_t first = r->f->lanes.first[rank],
		 last = r->f->lanes.first[end < r->f->info.ranks ? end : r->f->info.ranks];
	struct cursor heads;
	uint32_t lanes, skip = 0, n = 0;
	uint64_t total = 0;
	if (mpix_rd_u32(&c, &lanes) < 0 || lanes > last - first)
		return -EBADMSG;
	heads = c;
	for (uint32_t i = 0; i < lanes; i++) {
		if (mpix_rd_u32(&c, &skip) < 0 || mpix_rd_u32(&c, &n) < 0)
			return -EBADMSG;
		total += n;
	}
	if (mpix_split_columns(&c, r->columns, MPIX_LINK_COLUMNS) < 0 || total != cursor_left(&r->columns[0]) ||
	    total > MPIX_CHUNK_RECORDS_MAX)
		return -EBADMSG;
	struct mpix_position anchor = {r->x->seq, first, 0};
	for (uint32_t i = 0; i < lanes; i++) {
		if (mpix_rd_u32(&heads, &skip) < 0 || mpix_rd_u32(&heads, &n) < 0 || skip >= last - anchor.lane ||
		    n < 1)
			return -EBADMSG;
		anchor.lane += skip;
		int rc = visit_lane(r, anchor, n, visit, context);
		if (rc != 0)
			return rc;
		anchor.lane++;
	}
	for (unsigned i = 0; i < MPIX_LINK_COLUMNS; i++)
		if (cursor_left(&r->columns[i]) > 0)
			return -EBADMSG;
	return 0;
}

int mpix_visit_links(struct mpix_file *f, const struct mpix_entry *x, struct cursor c, bool bare,
		     int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e)
{
	struct reading r = {.f = f, .x = x, .bare = bare};
	int rc = x->seq < f->shape.windows ? visit_payload(&r, c, visit, context) : -EBADMSG;
	mpix_memory_done(&r.memory);
	return rc < 0 && r.inner.text[0] != 0 ? fail(e, rc, "%s", r.inner.text) : rc;
}

int mpix_visit_messages(struct mpix_file *f, const struct mpix_entry *x, bool bare,
			int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e)
{
	struct error inner = {{0}};
	uint8_t *raw;
	int rc = mpix_read_group_chunk(f, x, &raw, e);
	if (rc < 0)
		return rc;
	rc = mpix_visit_links(f, x, cursor_over(raw, x->raw_bytes), bare, visit, context, &inner);
	free(raw);
	return mpix_decoded(f, x, rc, &inner, e);
}

int mpix_message_find(struct mpix_file *f, struct mpix_link *link, struct error *e)
{
	struct reading r = {.f = f};
	int rc = mpix_cache_begin(f, e);
	if (rc == 0)
		rc = resolve(&r, link);
	if (rc == -EBADMSG && r.inner.text[0] == 0)
		return fail(e, rc, "%s: a message names calls that are not there; write it again", f->path);
	return rc < 0 && r.inner.text[0] != 0 ? fail(e, rc, "%s", r.inner.text) : rc;
}

int mpix_each_message(struct mpix_file *f, int64_t from_ns, int64_t to_ns,
		      int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e)
{
	uint32_t n;
	if (f->super.version == 1)
		return mpix_v1_each_message(f, from_ns, to_ns, visit, context, e);
	int rc = mpix_cache_begin(f, e);
	const struct mpix_entry *x = mpix_find_kind(f, MPIX_MESSAGES, &n);
	for (uint32_t i = 0; i < n && rc == 0; i++)
		if (x[i].start_ns < to_ns && x[i].end_ns > from_ns)
			rc = mpix_visit_messages(f, &x[i], false, visit, context, e);
	return rc;
}
