/* mpix_v1.c - version 1 of .mpix: read, never written (format/SPEC.md, .mpix version 1). Events and messages are whole
 * records in twelve columns. In: chunks.  Out: META, and records through callbacks. */
#include "format/mpix_reader.h"

#include <stdlib.h>

#define COLUMNS 12

/* ---- META ---- */

static bool shape_is_sane(const struct mpix_shape *s)
{
	return s->rows >= 1 && s->rows <= 4096 && s->bins >= 1 && s->bins <= 4096 && s->row_factor >= 2 &&
	       s->row_factor <= 64 && s->time_levels <= 32 && s->rank_levels <= 32 && s->top_levels <= 32;
}

int mpix_v1_meta(struct mpix_file *f, struct cursor c)
{
	struct mpix_info *info = &f->info;
	struct mpix_shape *s = &f->shape;
	const char **names = NULL;
	uint32_t *words[] = {&s->group_ranks, &s->rows,	      &s->bins,		 &s->row_factor, &s->time_levels,
			     &s->rank_levels, &s->top_levels, &f->v1.flow_ranks, &f->v1.threads};
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
	    s->group_ranks > RANKS_MAX || f->v1.flow_ranks < 1 || f->v1.segment_ns < 1 ||
	    f->v1.segment_ns > (uint64_t)MPIX_RUNTIME_MAX_NS || !shape_is_sane(s))
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

static int get_segment(struct cursor *c, uint64_t *total, struct mpix_v1_segment *ret_segment)
{
	struct mpix_v1_segment s;
	if (rd_varint(c, &s.row) < 0 || rd_varint(c, &s.flags) < 0 || rd_varint(c, &s.bin) < 0 ||
	    rd_varint(c, &s.count) < 0 || s.count > MPIX_CHUNK_RECORDS_MAX || s.bin > UINT32_MAX)
		return -EBADMSG;
	*total += s.count;
	*ret_segment = s;
	return *total > MPIX_CHUNK_RECORDS_MAX ? -EBADMSG : 0;
}

typedef int visit_event(void *context, const struct mpix_v1_segment *s, const struct mpix_event *event);

static int visit_segment(const struct mpix_file *f, const struct mpix_v1_segment *s, struct cursor columns[COLUMNS],
			 visit_event *visit, void *context)
{
	struct mpix_event x;
	int64_t clock;
	if (__builtin_mul_overflow((int64_t)s->bin, (int64_t)f->v1.segment_ns, &clock))
		return -EBADMSG;
	for (uint64_t i = 0; i < s->count; i++) {
		if (get_event(columns, &x, &clock) < 0 || x.op >= f->info.nops)
			return -EBADMSG;
		int rc = visit(context, s, &x);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* The heads stand before the columns: find the columns first, then walk both. */
int mpix_v1_visit_events(const struct mpix_file *f, struct cursor c, visit_event *visit, void *context)
{
	struct cursor heads, columns[COLUMNS];
	struct mpix_v1_segment s;
	uint64_t segments, total = 0;
	if (rd_varint(&c, &segments) < 0 || segments > MPIX_SEGMENTS_MAX)
		return -EBADMSG;
	heads = c;
	for (uint64_t i = 0; i < segments; i++)
		if (get_segment(&c, &total, &s) < 0)
			return -EBADMSG;
	if (mpix_split_columns(&c, columns, COLUMNS) < 0)
		return -EBADMSG;
	for (uint64_t i = 0; i < segments; i++) {
		total = 0;
		int rc = get_segment(&heads, &total, &s);
		if (rc == 0)
			rc = visit_segment(f, &s, columns, visit, context);
		if (rc != 0)
			return rc;
	}
	return 0;
}

struct query {
	uint32_t row;
	int64_t from_ns, to_ns;
	bool with_carried;
	int (*visit)(void *context, const struct mpix_event *event);
	void *context;
};

static int visit_of_query(void *context, const struct mpix_v1_segment *s, const struct mpix_event *event)
{
	const struct query *q = context;
	bool wanted = s->row == q->row && ((s->flags & 1) == 0 || q->with_carried) &&
		      mpix_overlaps(event->start_ns, event->end_ns, q->from_ns, q->to_ns);
	return wanted ? q->visit(q->context, event) : 0;
}

int mpix_v1_each_event(struct mpix_file *f, uint32_t rank, int64_t from_ns, int64_t to_ns,
		       int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e)
{
	struct query q = {rank % f->v1.group_ranks, from_ns, to_ns, true, visit, context};
	for (uint32_t i = 0; i < f->super.entries; i++) {
		const struct mpix_entry *x = &f->entries[i];
		if (x->kind != MPIX_EVENTS || x->group != rank / f->v1.group_ranks || x->start_ns >= to_ns ||
		    x->end_ns <= from_ns)
			continue;
		uint8_t *raw;
		int rc = mpix_read_chunk(f, x, &raw, e);
		if (rc < 0)
			return rc;
		rc = mpix_v1_visit_events(f, cursor_over(raw, x->raw_bytes), visit_of_query, &q);
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

int mpix_v1_visit_messages(const struct mpix_file *f, struct cursor c,
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
		rc = mpix_v1_visit_messages(f, cursor_over(raw, x->raw_bytes), visit, context);
		free(raw);
		if (rc == -EBADMSG)
			return mpix_damaged(f, x, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}
