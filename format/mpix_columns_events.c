/* mpix_columns_events.c - calls, messages and wait states as columns. See mpix_columns.h. */
#include "format/mpix_columns.h"

#include "base/vec.h"

#include <stdlib.h>

/* ---- calls ---- */

static void put_times(const struct mpix_part_data *part, struct mpix_table *t)
{
	uint32_t n = part->ncarried + part->nevents;
	double *start = mpix_table_column(t, MPIX_F64, n), *duration = mpix_table_column(t, MPIX_F64, n);
	uint32_t *sig = mpix_table_column(t, MPIX_U32, n);
	if (t->rc < 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct mpix_part_event *x =
			i < part->ncarried ? &part->carried[i].event : &part->events[i - part->ncarried];
		start[i] = (double)x->start_ns;
		duration[i] = (double)(x->end_ns - x->start_ns);
		sig[i] = x->sig;
	}
}

static double number_of(struct mpix_table *t, uint64_t number)
{
	return number == MPIX_NO_NUMBER ? -1 : mpix_table_number(t, number);
}

static void put_places(const struct mpix_part_data *part, struct mpix_table *t)
{
	uint32_t n = part->ncarried;
	uint32_t *lane = mpix_table_column(t, MPIX_U32, n), *window = mpix_table_column(t, MPIX_U32, n);
	uint32_t *index = mpix_table_column(t, MPIX_U32, n);
	double *number = mpix_table_column(t, MPIX_F64, n);
	uint32_t *of_run = mpix_table_column(t, MPIX_U32, part->nruns);
	uint32_t *count = mpix_table_column(t, MPIX_U32, part->nruns);
	uint32_t *event = mpix_table_column(t, MPIX_U32, part->nnumbers);
	uint32_t *comm = mpix_table_column(t, MPIX_U32, part->nnumbers);
	double *k = mpix_table_column(t, MPIX_F64, part->nnumbers);
	if (t->rc < 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		lane[i] = part->carried[i].at.lane;
		window[i] = part->carried[i].at.window;
		index[i] = part->carried[i].at.index;
		number[i] = number_of(t, part->carried[i].event.number);
	}
	for (uint32_t i = 0; i < part->nruns; i++) {
		of_run[i] = part->runs[i].lane;
		count[i] = part->runs[i].n;
	}
	for (uint32_t i = 0; i < part->nnumbers; i++) {
		event[i] = n + part->numbers[i].event;
		comm[i] = part->numbers[i].comm;
		k[i] = number_of(t, part->numbers[i].number);
	}
}

/* The last word of a kind that an event has. */
static const uint64_t *word_of(const struct mpix_part_data *part, const struct mpix_part_event *x, unsigned kind)
{
	const uint64_t *found = NULL, *words = &part->extras[x->extra];
	for (uint64_t i = 0, n = x->extra > 0 ? words[-1] : 0; i < n; i++)
		if ((words[i] & 3) == kind)
			found = &words[i];
	return found;
}

/* Which calls have one, in event[] and value[] unless these are NULL; returns how many. */
static uint32_t find_words(const struct mpix_part_data *part, unsigned kind, struct mpix_table *t, uint32_t *event,
			   double *value)
{
	uint32_t found = 0;
	for (uint32_t i = 0, n = part->nextras > 0 ? part->ncarried + part->nevents : 0; i < n; i++) {
		const struct mpix_part_event *x =
			i < part->ncarried ? &part->carried[i].event : &part->events[i - part->ncarried];
		const uint64_t *word = x->extra > 0 ? word_of(part, x, kind) : NULL;
		if (word == NULL)
			continue;
		if (event != NULL) {
			event[found] = i;
			value[found] = mpix_table_number(t, *word >> 2);
		}
		found++;
	}
	return found;
}

static void put_words(const struct mpix_part_data *part, unsigned kind, struct mpix_table *t)
{
	uint32_t n = find_words(part, kind, t, NULL, NULL);
	uint32_t *event = mpix_table_column(t, MPIX_U32, n);
	double *value = mpix_table_column(t, MPIX_F64, n);
	if (event != NULL && value != NULL)
		find_words(part, kind, t, event, value);
}

int mpix_columns_events(struct mpix_file *f, const struct mpix_entry *x, uint32_t *first, struct cursor c,
			struct mpix_table *t)
{
	struct mpix_group_sigs sigs = {.first = first, .group = x->group};
	struct mpix_part_data part = {.entry = x, .sigs = &sigs, .numbers_apart = true};
	if ((uint64_t)x->group * f->shape.group_ranks >= f->info.ranks)
		return -EBADMSG;
	int rc = mpix_part_decode(f, &part, c, NULL);
	if (rc == 0) {
		put_times(&part, t);
		put_places(&part, t);
		put_words(&part, MPIX_EXTRA_CALLS, t);
		put_words(&part, MPIX_EXTRA_BYTES, t);
		rc = t->rc;
	}
	mpix_part_done(&part);
	return rc;
}

/* ---- messages and wait states: rows as they are read, then columns of them ---- */

#define LINK_WORDS 13

struct link_row {
	uint32_t words[LINK_WORDS];
};

struct links {
	VEC(struct link_row) rows;
};

static uint32_t *put_position(uint32_t *to, const struct mpix_position *at)
{
	*to++ = at->window;
	*to++ = at->lane;
	*to++ = at->index;
	return to;
}

static int take_link(void *context, const struct mpix_link *x)
{
	struct links *all = context;
	struct link_row row;
	uint32_t *to = put_position(row.words, &x->recv);
	to = put_position(to, &x->completion);
	to = put_position(to, &x->send);
	to = put_position(to, &x->sent);
	*to = x->signature;
	return vec_push(&all->rows, row);
}

int mpix_columns_links(struct mpix_file *f, const struct mpix_entry *x, struct cursor c, struct mpix_table *t)
{
	struct links all = {0};
	if ((uint64_t)x->group * f->shape.group_ranks >= f->info.ranks)
		return -EBADMSG;
	size_t most = x->records < cursor_left(&c) ? x->records : cursor_left(&c);
	int rc = vec_grow(&all.rows.at, &all.rows.cap, most, sizeof(*all.rows.at));
	if (rc == 0)
		rc = mpix_visit_links(f, x, c, true, take_link, &all, NULL);
	for (unsigned k = 0; k < LINK_WORDS && rc == 0; k++) {
		uint32_t *to = mpix_table_column(t, k + 1 < LINK_WORDS ? MPIX_U32 : MPIX_I32, (uint32_t)all.rows.n);
		for (size_t i = 0; to != NULL && i < all.rows.n; i++)
			to[i] = all.rows.at[i].words[k];
		rc = t->rc;
	}
	vec_done(&all.rows);
	return rc;
}

#define WAIT_WORDS 6

struct wait_row {
	uint32_t words[WAIT_WORDS];
	uint8_t state, how;
	int64_t ns;
};

struct waits {
	VEC(struct wait_row) rows;
};

static int take_wait(void *context, const struct mpix_wait *x)
{
	struct waits *all = context;
	struct wait_row row = {.state = x->state, .how = (uint8_t)x->how, .ns = x->ns};
	put_position(put_position(row.words, &x->at), &x->causer);
	return vec_push(&all->rows, row);
}

static void put_waits(const struct waits *all, struct mpix_table *t)
{
	uint32_t n = (uint32_t)all->rows.n;
	for (unsigned k = 0; k < WAIT_WORDS; k++) {
		uint32_t *to = mpix_table_column(t, MPIX_U32, n);
		for (uint32_t i = 0; to != NULL && i < n; i++)
			to[i] = all->rows.at[i].words[k];
	}
	uint8_t *state = mpix_table_column(t, MPIX_U8, n), *how = mpix_table_column(t, MPIX_U8, n);
	double *ns = mpix_table_column(t, MPIX_F64, n);
	for (uint32_t i = 0; i < n && t->rc != -ENOMEM; i++) {
		state[i] = all->rows.at[i].state;
		how[i] = all->rows.at[i].how;
		ns[i] = mpix_table_signed(t, all->rows.at[i].ns);
	}
}

int mpix_columns_waits(struct mpix_file *f, const struct mpix_entry *x, struct cursor c, struct mpix_table *t)
{
	struct waits all = {0};
	if ((uint64_t)x->group * f->shape.group_ranks >= f->info.ranks)
		return -EBADMSG;
	size_t most = x->records < cursor_left(&c) ? x->records : cursor_left(&c);
	int rc = vec_grow(&all.rows.at, &all.rows.cap, most, sizeof(*all.rows.at));
	if (rc == 0)
		rc = mpix_visit_wait_bytes(f, x, c, (struct mpix_asked){0, UINT32_MAX, true}, take_wait, &all, NULL);
	if (rc == 0) {
		put_waits(&all, t);
		rc = t->rc;
	}
	vec_done(&all.rows);
	return rc;
}

/* ---- whole messages ---- */

struct messages {
	VEC(struct mpix_message) rows;
};

static int take_message(void *context, const struct mpix_link *x)
{
	struct messages *all = context;
	return vec_push(&all->rows, x->message);
}

static void put_messages(const struct mpix_message *rows, uint32_t n, struct mpix_table *t)
{
	double *numbers[6];
	for (unsigned k = 0; k < 6; k++)
		numbers[k] = mpix_table_column(t, MPIX_F64, n);
	uint32_t *src = mpix_table_column(t, MPIX_U32, n), *dst = mpix_table_column(t, MPIX_U32, n);
	int32_t *tag = mpix_table_column(t, MPIX_I32, n);
	uint32_t *comm = mpix_table_column(t, MPIX_U32, n);
	int32_t *send = mpix_table_column(t, MPIX_I32, n), *recv = mpix_table_column(t, MPIX_I32, n);
	for (uint32_t i = 0; i < n && t->rc != -ENOMEM; i++) {
		const struct mpix_message *x = &rows[i];
		const int64_t times[] = {x->send_start_ns, x->send_end_ns, x->recv_start_ns, x->completion_start_ns,
					 x->recv_end_ns};
		for (unsigned k = 0; k < 5; k++)
			numbers[k][i] = mpix_table_signed(t, times[k]);
		numbers[5][i] = mpix_table_number(t, x->bytes);
		src[i] = x->src;
		dst[i] = x->dst;
		tag[i] = x->tag;
		comm[i] = x->comm;
		send[i] = (int32_t)x->send_callsite;
		recv[i] = (int32_t)x->recv_callsite;
	}
}

int mpix_columns_messages(const struct mpix_file *f, struct cursor c, struct mpix_table *t)
{
	struct messages all = {0};
	int rc = mpix_v1_visit_messages(f, c, take_message, &all);
	if (rc == 0) {
		put_messages(all.rows.at, (uint32_t)all.rows.n, t);
		rc = t->rc;
	}
	vec_done(&all.rows);
	return rc;
}

/* ---- calls of version 1 ---- */

struct old_segment {
	uint32_t rank, count;
	bool carried;
};

struct old_events {
	const struct mpix_file *f;
	uint32_t group;
	uint64_t left; /* of the segment at hand */
	VEC(struct mpix_event) rows;
	VEC(struct old_segment) segments;
};

static int take_segment(struct old_events *all, const struct mpix_v1_segment *s)
{
	uint64_t rank = (uint64_t)all->group * all->f->shape.group_ranks + s->row;
	if (s->row >= all->f->shape.group_ranks || rank >= all->f->info.ranks)
		return -EBADMSG;
	all->left = s->count;
	return vec_push(&all->segments, (struct old_segment){(uint32_t)rank, (uint32_t)s->count, (s->flags & 1) != 0});
}

static int take_old_event(void *context, const struct mpix_v1_segment *s, const struct mpix_event *x)
{
	struct old_events *all = context;
	int rc = all->left == 0 ? take_segment(all, s) : 0;
	all->left -= rc == 0;
	return rc < 0 ? rc : vec_push(&all->rows, *x);
}

static void put_old_events(const struct mpix_event *rows, uint32_t n, struct mpix_table *t)
{
	double *start = mpix_table_column(t, MPIX_F64, n), *duration = mpix_table_column(t, MPIX_F64, n);
	uint32_t *op = mpix_table_column(t, MPIX_U32, n);
	uint8_t *class = mpix_table_column(t, MPIX_U8, n);
	int32_t *site = mpix_table_column(t, MPIX_I32, n);
	uint32_t *comm = mpix_table_column(t, MPIX_U32, n), *thread = mpix_table_column(t, MPIX_U32, n);
	int32_t *peer = mpix_table_column(t, MPIX_I32, n), *tag = mpix_table_column(t, MPIX_I32, n);
	double *bytes = mpix_table_column(t, MPIX_F64, n), *calls = mpix_table_column(t, MPIX_F64, n);
	double *wait = mpix_table_column(t, MPIX_F64, n);
	for (uint32_t i = 0; i < n && t->rc != -ENOMEM; i++) {
		const struct mpix_event *x = &rows[i];
		start[i] = mpix_table_signed(t, x->start_ns);
		duration[i] = mpix_table_signed(t, x->end_ns - x->start_ns);
		op[i] = x->op;
		class[i] = x->class;
		site[i] = (int32_t)x->callsite;
		comm[i] = x->comm;
		thread[i] = x->thread;
		peer[i] = x->peer;
		tag[i] = x->tag;
		bytes[i] = mpix_table_number(t, x->bytes);
		calls[i] = mpix_table_number(t, x->calls);
		wait[i] = mpix_table_number(t, (uint64_t)x->wait_ns);
	}
}

static void put_old_segments(const struct old_segment *rows, uint32_t n, struct mpix_table *t)
{
	uint32_t *rank = mpix_table_column(t, MPIX_U32, n);
	uint8_t *carried = mpix_table_column(t, MPIX_U8, n);
	uint32_t *count = mpix_table_column(t, MPIX_U32, n);
	for (uint32_t i = 0; i < n && t->rc != -ENOMEM; i++) {
		rank[i] = rows[i].rank;
		carried[i] = rows[i].carried;
		count[i] = rows[i].count;
	}
}

int mpix_columns_events_v1(const struct mpix_file *f, const struct mpix_entry *x, struct cursor c, struct mpix_table *t)
{
	struct old_events all = {.f = f, .group = x->group};
	int rc = mpix_v1_visit_events(f, c, take_old_event, &all);
	if (rc == 0) {
		put_old_events(all.rows.at, (uint32_t)all.rows.n, t);
		put_old_segments(all.segments.at, (uint32_t)all.segments.n, t);
		rc = t->rc;
	}
	vec_done(&all.rows);
	vec_done(&all.segments);
	return rc;
}
