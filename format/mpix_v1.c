/* mpix_v1.c - version 1 of .mpix: read, never written (format/SPEC.md, .mpix version 1). Events and messages are whole
 * records in twelve columns. In: chunks.  Out: META, and records through callbacks. */
#include "format/mpix_reader.h"

#include <stdlib.h>

#define COLUMNS 12

/* ---- META ---- */

int mpix_v1_meta(struct mpix_file *f, struct cursor c)
{
	struct mpix_info *info = &f->info;
	struct mpix_shape *s = &f->shape;
	const char **names = NULL;
	uint32_t flow_ranks, threads;
	uint32_t *words[] = {&s->group_ranks, &s->rows,	      &s->bins,	   &s->row_factor, &s->time_levels,
			     &s->rank_levels, &s->top_levels, &flow_ranks, &threads};
	uint64_t runtime;
	if (rd_u32(&c, &info->ranks) < 0 || rd_u64(&c, &runtime) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (rd_u32(&c, words[i]) < 0)
			return -EBADMSG;
	if (rd_u64(&c, &f->v1.segment_ns) < 0 || rd_u64(&c, &s->events) < 0 || rd_u64(&c, &s->messages) < 0 ||
	    rd_u32(&c, &info->nops) < 0)
		return -EBADMSG;
	info->runtime_ns = (int64_t)runtime;
	f->v1.group_ranks = s->group_ranks;
	if (info->ranks < 1 || info->ranks > RANKS_MAX || info->runtime_ns < 0 ||
	    info->runtime_ns > MPIX_RUNTIME_MAX_NS || info->nops > MPIX_OPS_MAX || s->group_ranks < 1 ||
	    s->group_ranks > RANKS_MAX || f->v1.segment_ns < 1 || f->v1.segment_ns > (uint64_t)MPIX_RUNTIME_MAX_NS)
		return -EBADMSG;
	int rc = mpix_get_names(&c, info->nops, &names);
	info->ops = names;
	info->lanes = info->ranks;
	info->places = info->nclocks = 1;
	return rc;
}

/* ---- events ---- */

static int get_event(struct cursor columns[COLUMNS], struct mpix_event *ret_event, int64_t *clock)
{
	uint64_t v[COLUMNS];
	int64_t start, end;
	for (int i = 0; i < COLUMNS; i++)
		if (rd_varint(&columns[i], &v[i]) < 0)
			return -EBADMSG;
	if (v[1] > INT64_MAX || v[3] >= MPIX_CLASSES || __builtin_add_overflow(*clock, mpix_unzigzag(v[0]), &start) ||
	    __builtin_add_overflow(start, (int64_t)v[1], &end))
		return -EBADMSG;
	*ret_event = (struct mpix_event){
		.start_ns = start,
		.end_ns = end,
		.op = (uint32_t)v[2],
		.class = (uint8_t)v[3],
		.callsite = mpix_site_in(v[4]),
		.comm = (uint32_t)v[5],
		.thread = (uint32_t)v[6],
		.peer = (int32_t)mpix_unzigzag(v[7]),
		.tag = (int32_t)mpix_unzigzag(v[8]),
		.bytes = v[9],
		.calls = v[10],
		.wait_ns = (int64_t)v[11],
		.at.window = MPIX_NOWHERE,
		.number = MPIX_NO_NUMBER,
	};
	*clock = end;
	return 0;
}

struct query {
	uint32_t rank;
	int64_t from_ns, to_ns;
	bool with_carried;
	int (*visit)(void *context, const struct mpix_event *event);
	void *context;
};

struct head {
	uint64_t row, flags, bin, count;
};

static int get_head(struct cursor *c, uint64_t *total, struct head *ret_head)
{
	struct head h;
	if (rd_varint(c, &h.row) < 0 || rd_varint(c, &h.flags) < 0 || rd_varint(c, &h.bin) < 0 ||
	    rd_varint(c, &h.count) < 0 || h.count > MPIX_CHUNK_RECORDS_MAX || h.bin > UINT32_MAX)
		return -EBADMSG;
	*total += h.count;
	*ret_head = h;
	return *total > MPIX_CHUNK_RECORDS_MAX ? -EBADMSG : 0;
}

static int visit_segment(const struct mpix_file *f, const struct query *q, const struct head *h,
			 struct cursor columns[COLUMNS])
{
	bool wanted = f->v1.group_ranks > h->row && h->row == q->rank % f->v1.group_ranks &&
		      ((h->flags & 1) == 0 || q->with_carried);
	struct mpix_event x;
	int64_t clock;
	if (__builtin_mul_overflow((int64_t)h->bin, (int64_t)f->v1.segment_ns, &clock))
		return -EBADMSG;
	for (uint64_t i = 0; i < h->count; i++) {
		if (get_event(columns, &x, &clock) < 0 || x.op >= f->info.nops)
			return -EBADMSG;
		int rc = wanted && mpix_overlaps(x.start_ns, x.end_ns, q->from_ns, q->to_ns) ? q->visit(q->context, &x)
											     : 0;
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* The heads stand before the columns: find the columns first, then walk both. */
static int visit_payload(const struct mpix_file *f, const struct query *q, struct cursor c)
{
	struct cursor heads, columns[COLUMNS];
	struct head h;
	uint64_t segments, total = 0;
	if (rd_varint(&c, &segments) < 0 || segments > MPIX_SEGMENTS_MAX)
		return -EBADMSG;
	heads = c;
	for (uint64_t i = 0; i < segments; i++)
		if (get_head(&c, &total, &h) < 0)
			return -EBADMSG;
	if (mpix_split_columns(&c, columns, COLUMNS) < 0)
		return -EBADMSG;
	for (uint64_t i = 0; i < segments; i++) {
		total = 0;
		int rc = get_head(&heads, &total, &h);
		if (rc == 0)
			rc = visit_segment(f, q, &h, columns);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int mpix_v1_each_event(struct mpix_file *f, uint32_t rank, int64_t from_ns, int64_t to_ns,
		       int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e)
{
	struct query q = {rank, from_ns, to_ns, true, visit, context};
	for (uint32_t i = 0; i < f->super.entries; i++) {
		const struct mpix_entry *x = &f->entries[i];
		if (x->kind != MPIX_EVENTS || x->group != rank / f->v1.group_ranks || x->start_ns >= to_ns ||
		    x->end_ns <= from_ns)
			continue;
		uint8_t *raw;
		int rc = mpix_read_chunk(f, x, &raw, e);
		if (rc < 0)
			return rc;
		rc = visit_payload(f, &q, cursor_over(raw, x->raw_bytes));
		free(raw);
		if (rc == -EBADMSG)
			return mpix_damaged(f, x, e);
		if (rc != 0)
			return rc;
		q.with_carried = false;
	}
	return 0;
}

/* ---- messages ---- */

static int visit_messages(const struct mpix_file *f, struct cursor c,
			  int (*visit)(void *context, const struct mpix_link *link), void *context)
{
	const struct mpix_position nowhere = {MPIX_NOWHERE, 0, 0};
	struct mpix_link x = {nowhere, nowhere, nowhere, nowhere, MPIX_OF_START, {0}};
	struct cursor columns[MPIX_MESSAGE_COLUMNS];
	uint64_t count;
	int64_t clock = 0;
	if (rd_varint(&c, &count) < 0 || count > MPIX_CHUNK_RECORDS_MAX ||
	    mpix_split_columns(&c, columns, MPIX_MESSAGE_COLUMNS) < 0)
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++) {
		if (mpix_get_message(columns, &x.message, &clock) < 0 || x.message.src >= f->info.ranks ||
		    x.message.dst >= f->info.ranks)
			return -EBADMSG;
		int rc = visit(context, &x);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int mpix_v1_each_message(struct mpix_file *f, int64_t from_ns, int64_t to_ns,
			 int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e)
{
	for (uint32_t i = 0; i < f->super.entries; i++) {
		const struct mpix_entry *x = &f->entries[i];
		if (x->kind != MPIX_MESSAGES || x->start_ns >= to_ns || x->end_ns <= from_ns)
			continue;
		uint8_t *raw;
		int rc = mpix_read_chunk(f, x, &raw, e);
		if (rc < 0)
			return rc;
		rc = visit_messages(f, cursor_over(raw, x->raw_bytes), visit, context);
		free(raw);
		if (rc == -EBADMSG)
			return mpix_damaged(f, x, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}
