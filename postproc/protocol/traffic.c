/* traffic.c - see traffic.h. A first look finds messages of which a call is of an earlier window than the one where
 * they become complete; the second goes window by window: while one is visited, another thread reads the next. */
#include "postproc/protocol/traffic.h"

#include "base/pool.h"
#include "base/slab.h"

enum what { SENDS, RECEIVES, TAKES_PART };

/* One event of a rank. */
struct event {
	int64_t ns;
	uint32_t lane, index; /* the call */
	enum what what;
	uint32_t sub[4]; /* order of those of one call */
	union {
		struct traffic_message *message;
		size_t part_at; /* in parts */
	};
};

struct far_event {
	uint32_t window;
	struct event event;
};

struct order {
	uint64_t ns; /* since the first of the window */
	uint32_t at;
};

/* What is in a window. */
struct batch {
	VEC(struct event) events;
	VEC(struct mpix_collective_part) parts;
	VEC(struct order) order, other;
	VEC(struct traffic_message *) over; /* of which both ends were visited with it */
};

struct traffic {
	struct mpix_file *f;
	const struct traffic_visitor *visitor;
	struct batch batches[2];
	/* the reader's */
	struct batch *to;
	uint32_t window;
	struct slab messages;
	VEC(struct far_event) far; /* by window */
	size_t next_far;
	struct error *e;
	int code;
	/* the visitor's */
	struct batch *from; /* or NULL */
	uint64_t *counted;  /* by rank */
	struct error visit_error;
	int visit_code;
};

/* ---- messages to events ---- */

static const struct mpix_position *received(const struct mpix_link *x)
{
	return x->completion.window == MPIX_NOWHERE ? &x->recv : &x->completion;
}

static struct traffic_message *add_message(struct traffic *t, const struct mpix_link *x)
{
	struct traffic_message *m = slab_take(&t->messages);
	if (m != NULL)
		*m = (struct traffic_message){.src = x->message.src,
					      .dst = x->message.dst,
					      .comm = x->message.comm,
					      .tag = x->message.tag,
					      .bytes = x->message.bytes,
					      .send_ns = x->message.send_start_ns,
					      .recv_ns = x->message.recv_end_ns,
					      .send_event = TRAFFIC_NOT_YET,
					      .recv_event = TRAFFIC_NOT_YET,
					      .send_callsite = x->message.send_callsite,
					      .recv_callsite = x->message.recv_callsite};
	return m;
}

static struct event send_of(const struct mpix_link *x, struct traffic_message *m)
{
	return (struct event){.ns = x->message.send_start_ns,
			      .lane = x->send.lane,
			      .index = x->send.index,
			      .what = SENDS,
			      .sub = {m->dst, m->comm, (uint32_t)m->tag, x->recv.index},
			      .message = m};
}

static struct event receive_of(const struct mpix_link *x, struct traffic_message *m)
{
	const struct mpix_position *at = received(x);
	return (struct event){.ns = x->message.completion_start_ns,
			      .lane = at->lane,
			      .index = at->index,
			      .what = RECEIVES,
			      .sub = {x->recv.window, x->recv.lane, x->recv.index, m->src},
			      .message = m};
}

static bool is_far(const struct traffic *t, const struct mpix_link *x)
{
	return x->send.window != t->window || received(x)->window != t->window;
}

static int add_far(void *context, const struct mpix_link *link)
{
	struct traffic *t = context;
	struct mpix_link x = *link;
	if (!is_far(t, &x))
		return 0;
	int code = mpix_message_find(t->f, &x, t->e);
	if (code < 0)
		return code;
	struct traffic_message *m = add_message(t, &x);
	if (m == NULL || vec_push(&t->far, (struct far_event){x.send.window, send_of(&x, m)}) < 0 ||
	    vec_push(&t->far, (struct far_event){received(&x)->window, receive_of(&x, m)}) < 0)
		return -ENOMEM;
	return 0;
}

static int add_near(void *context, const struct mpix_link *x)
{
	struct traffic *t = context;
	if (is_far(t, x))
		return 0;
	struct traffic_message *m = add_message(t, x);
	if (m == NULL || vec_push(&t->to->events, send_of(x, m)) < 0 || vec_push(&t->to->events, receive_of(x, m)) < 0)
		return -ENOMEM;
	return 0;
}

static int keep_part(void *context, const struct mpix_collective_part *x)
{
	struct batch *b = ((struct traffic *)context)->to;
	struct event ev = {
		.ns = x->start_ns, .lane = x->at.lane, .index = x->at.index, .what = TAKES_PART, .part_at = b->parts.n};
	return vec_push(&b->parts, *x) < 0 || vec_push(&b->events, ev) < 0 ? -ENOMEM : 0;
}

/* ---- order ---- */

static int in_order(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	for (int i = 0; i < 4; i++)
		if (x->sub[i] != y->sub[i])
			return x->sub[i] < y->sub[i] ? -1 : 1;
	return 0;
}

static int by_window(const void *a, const void *b)
{
	const struct far_event *x = a, *y = b;
	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return in_order(&x->event, &y->event);
}

#define DIGIT_BITS 11u

/* One pass of a radix sort. */
static void sort_digit(struct batch *b, unsigned shift)
{
	uint32_t first[(1u << DIGIT_BITS) + 1] = {0}, mask = (1u << DIGIT_BITS) - 1;
	for (size_t i = 0; i < b->order.n; i++)
		first[((b->order.at[i].ns >> shift) & mask) + 1]++;
	for (uint32_t d = 0; d < mask; d++)
		first[d + 1] += first[d];
	for (size_t i = 0; i < b->order.n; i++)
		b->other.at[first[(b->order.at[i].ns >> shift) & mask]++] = b->order.at[i];
	struct order *swapped = b->order.at;
	size_t cap = b->order.cap;
	b->order.at = b->other.at;
	b->order.cap = b->other.cap;
	b->other.at = swapped;
	b->other.cap = cap;
}

#define FEW 16u

static int by_event(const void *a, const void *b, void *events)
{
	const struct order *x = a, *y = b;
	const struct event *of = events;
	int order = in_order(&of[x->at], &of[y->at]);
	return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

/* Those of one time; mostly there are few. */
static void sort_equal(struct batch *b, size_t from, size_t to)
{
	if (to - from > FEW) {
		qsort_r(b->order.at + from, to - from, sizeof(*b->order.at), by_event, b->events.at);
		return;
	}
	for (size_t i = from + 1; i < to; i++) {
		struct order x = b->order.at[i];
		size_t k = i;
		for (; k > from && in_order(&b->events.at[x.at], &b->events.at[b->order.at[k - 1].at]) < 0; k--)
			b->order.at[k] = b->order.at[k - 1];
		b->order.at[k] = x;
	}
}

/* By time, as numbers of a window differ in few digits; then as in_order() says. */
static int sort_events(struct batch *b)
{
	int64_t first_ns = INT64_MAX;
	uint64_t most = 0;
	b->order.n = 0;
	if (b->events.n == 0)
		return 0;
	if (vec_reach(&b->order, b->events.n - 1) < 0 || vec_reach(&b->other, b->events.n - 1) < 0)
		return -ENOMEM;
	b->order.n = b->events.n;
	for (size_t i = 0; i < b->events.n; i++)
		first_ns = b->events.at[i].ns < first_ns ? b->events.at[i].ns : first_ns;
	for (size_t i = 0; i < b->events.n; i++) {
		b->order.at[i] = (struct order){(uint64_t)b->events.at[i].ns - (uint64_t)first_ns, (uint32_t)i};
		most |= b->order.at[i].ns;
	}
	for (unsigned shift = 0; shift < 64 && most >> shift > 0; shift += DIGIT_BITS)
		sort_digit(b, shift);
	for (size_t i = 0, end; i < b->order.n; i = end) {
		for (end = i + 1; end < b->order.n && b->order.at[end].ns == b->order.at[i].ns;)
			end++;
		sort_equal(b, i, end);
	}
	return 0;
}

/* ---- window by window ---- */

static int visit_end(struct traffic *t, struct traffic_message *m, bool sends)
{
	uint32_t rank = sends ? m->src : m->dst;
	*(sends ? &m->send_event : &m->recv_event) = t->counted[rank]++;
	int code = t->visitor->end(t->visitor->context, m, sends, &t->visit_error);
	if (code == 0 && m->send_event != TRAFFIC_NOT_YET && m->recv_event != TRAFFIC_NOT_YET)
		code = vec_push(&t->from->over, m);
	return code;
}

static int visit_part(struct traffic *t, const struct mpix_collective_part *part)
{
	t->counted[part->rank]++;
	return t->visitor->part(t->visitor->context, part, &t->visit_error);
}

#define AHEAD 8u /* events that are asked for before they are needed */

static void ask_for(const struct batch *b, size_t i)
{
	if (i + AHEAD >= b->events.n)
		return;
	const struct event *near = &b->events.at[b->order.at[i + AHEAD].at];
	if (i + 2 * AHEAD < b->events.n)
		__builtin_prefetch(&b->events.at[b->order.at[i + 2 * AHEAD].at]);
	if (near->what != TAKES_PART)
		__builtin_prefetch(near->message);
}

static int visit_window(struct traffic *t)
{
	const struct batch *b = t->from;
	int code = 0;
	for (size_t i = 0; i < b->events.n && code == 0; i++) {
		ask_for(b, i);
		const struct event *ev = &b->events.at[b->order.at[i].at];
		code = ev->what == TAKES_PART ? visit_part(t, &b->parts.at[ev->part_at])
					      : visit_end(t, ev->message, ev->what == SENDS);
	}
	return code;
}

static int read_window(struct traffic *t)
{
	t->to->events.n = t->to->parts.n = 0;
	int code = mpix_window_messages(t->f, t->window, false, add_near, t, t->e);
	if (code == 0)
		code = mpix_window_parts(t->f, t->window, keep_part, t, t->e);
	for (; t->next_far < t->far.n && t->far.at[t->next_far].window <= t->window && code == 0; t->next_far++)
		code = vec_push(&t->to->events, t->far.at[t->next_far].event);
	return code == 0 ? sort_events(t->to) : code;
}

static void read_or_visit(void *context, size_t i)
{
	struct traffic *t = context;
	if (i == 0 && t->window < mpix_windows(t->f))
		t->code = read_window(t);
	if (i == 1 && t->from != NULL)
		t->visit_code = visit_window(t);
}

static void give_back(struct traffic *t, struct batch *b)
{
	for (size_t i = 0; i < b->over.n; i++)
		slab_give(&t->messages, b->over.at[i]);
	b->over.n = 0;
}

/* What was visited comes before what was read meanwhile: so its error does. */
static int read_and_visit(struct traffic *t, struct pool *pool)
{
	for (t->window = 0; t->window <= mpix_windows(t->f); t->window++) {
		t->to = &t->batches[t->window % 2];
		pool_run(pool, 2, read_or_visit, t);
		if (t->visit_code != 0) {
			*t->e = t->visit_error;
			return t->visit_code;
		}
		if (t->code != 0)
			return t->code;
		if (t->from != NULL)
			give_back(t, t->from);
		t->from = t->to;
	}
	return 0;
}

static int read_all(struct traffic *t)
{
	uint32_t windows = mpix_windows(t->f);
	struct pool *pool = pool_create(2);
	int code = pool == NULL ? -ENOMEM : 0;
	for (t->window = 0; t->window < windows && code == 0; t->window++)
		code = mpix_window_messages(t->f, t->window, true, add_far, t, t->e);
	vec_sort(&t->far, by_window);
	if (code == 0)
		code = read_and_visit(t, pool);
	pool_destroy(pool);
	return code;
}

static void done(struct traffic *t)
{
	for (int i = 0; i < 2; i++) {
		vec_done(&t->batches[i].events);
		vec_done(&t->batches[i].parts);
		vec_done(&t->batches[i].order);
		vec_done(&t->batches[i].other);
		vec_done(&t->batches[i].over);
	}
	slab_done(&t->messages);
	vec_done(&t->far);
	free(t->counted);
}

int traffic_read(struct mpix_file *f, const char *path, const struct traffic_visitor *visitor, struct error *e)
{
	struct traffic t = {.f = f, .visitor = visitor, .messages = SLAB(struct traffic_message), .e = e};
	e->text[0] = 0;
	if (mpix_windows(f) == 0)
		return fail(e, -EBADMSG,
			    "%s: version 1 of .mpix does not say which calls made a message; analyse again", path);
	t.counted = calloc(mpix_info(f)->ranks + 1u, sizeof(*t.counted));
	int code = t.counted == NULL ? -ENOMEM : read_all(&t);
	if (code == -ENOMEM && e->text[0] == 0)
		fail(e, code, "%s: out of memory", path);
	done(&t);
	return code;
}
