/* traffic.c - see traffic.h. A first look finds messages of which a call is of an earlier window than the one where
 * they become complete; the second goes window by window. */
#include "protocol/traffic.h"

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

struct traffic {
	struct mpix_file *f;
	const struct traffic_visitor *visitor;
	uint32_t window;
	struct slab messages;
	VEC(struct far_event) far; /* by window */
	size_t next_far;
	VEC(struct event) events; /* of the window */
	VEC(struct mpix_collective_part) parts;
	VEC(struct order) order, other;
	uint64_t *counted; /* by rank */
	struct error *e;
};

/* ---- messages to events ---- */

static const struct mpix_position *received(const struct mpix_link *x)
{
	return x->completion.window == MPIX_NOWHERE ? &x->recv : &x->completion;
}

static struct traffic_message *keep(struct traffic *t, const struct mpix_link *x)
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

static int keep_far(void *context, const struct mpix_link *link)
{
	struct traffic *t = context;
	struct mpix_link x = *link;
	if (!is_far(t, &x))
		return 0;
	int code = mpix_message_find(t->f, &x, t->e);
	if (code < 0)
		return code;
	struct traffic_message *m = keep(t, &x);
	if (m == NULL || vec_push(&t->far, (struct far_event){x.send.window, send_of(&x, m)}) < 0 ||
	    vec_push(&t->far, (struct far_event){received(&x)->window, receive_of(&x, m)}) < 0)
		return -ENOMEM;
	return 0;
}

static int keep_near(void *context, const struct mpix_link *x)
{
	struct traffic *t = context;
	if (is_far(t, x))
		return 0;
	struct traffic_message *m = keep(t, x);
	if (m == NULL || vec_push(&t->events, send_of(x, m)) < 0 || vec_push(&t->events, receive_of(x, m)) < 0)
		return -ENOMEM;
	return 0;
}

static int keep_part(void *context, const struct mpix_collective_part *x)
{
	struct traffic *t = context;
	struct event ev = {
		.ns = x->start_ns, .lane = x->at.lane, .index = x->at.index, .what = TAKES_PART, .part_at = t->parts.n};
	return vec_push(&t->parts, *x) < 0 || vec_push(&t->events, ev) < 0 ? -ENOMEM : 0;
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

static int visit_end(struct traffic *t, struct traffic_message *m, bool sends, struct error *e)
{
	uint32_t rank = sends ? m->src : m->dst;
	*(sends ? &m->send_event : &m->recv_event) = t->counted[rank]++;
	int code = t->visitor->end(t->visitor->context, m, sends, e);
	if (m->send_event != TRAFFIC_NOT_YET && m->recv_event != TRAFFIC_NOT_YET)
		slab_give(&t->messages, m);
	return code;
}

#define DIGIT_BITS 11u

/* One pass of a radix sort. */
static void sort_digit(struct traffic *t, unsigned shift)
{
	uint32_t first[(1u << DIGIT_BITS) + 1] = {0}, mask = (1u << DIGIT_BITS) - 1;
	for (size_t i = 0; i < t->order.n; i++)
		first[((t->order.at[i].ns >> shift) & mask) + 1]++;
	for (uint32_t d = 0; d < mask; d++)
		first[d + 1] += first[d];
	for (size_t i = 0; i < t->order.n; i++)
		t->other.at[first[(t->order.at[i].ns >> shift) & mask]++] = t->order.at[i];
	struct order *swapped = t->order.at;
	size_t cap = t->order.cap;
	t->order.at = t->other.at;
	t->order.cap = t->other.cap;
	t->other.at = swapped;
	t->other.cap = cap;
}

/* Those of one time; there are few. */
static void sort_equal(struct traffic *t, size_t from, size_t to)
{
	for (size_t i = from + 1; i < to; i++) {
		struct order x = t->order.at[i];
		size_t k = i;
		for (; k > from && in_order(&t->events.at[x.at], &t->events.at[t->order.at[k - 1].at]) < 0; k--)
			t->order.at[k] = t->order.at[k - 1];
		t->order.at[k] = x;
	}
}

/* By time, as numbers of a window differ in few digits; then as in_order() says. */
static int sort_events(struct traffic *t)
{
	int64_t first_ns = INT64_MAX;
	uint64_t most = 0;
	t->order.n = 0;
	if (t->events.n == 0)
		return 0;
	if (vec_reach(&t->order, t->events.n - 1) < 0 || vec_reach(&t->other, t->events.n - 1) < 0)
		return -ENOMEM;
	t->order.n = t->events.n;
	for (size_t i = 0; i < t->events.n; i++)
		first_ns = t->events.at[i].ns < first_ns ? t->events.at[i].ns : first_ns;
	for (size_t i = 0; i < t->events.n; i++) {
		t->order.at[i] = (struct order){(uint64_t)t->events.at[i].ns - (uint64_t)first_ns, (uint32_t)i};
		most |= t->order.at[i].ns;
	}
	for (unsigned shift = 0; shift < 64 && most >> shift > 0; shift += DIGIT_BITS)
		sort_digit(t, shift);
	for (size_t i = 0, end; i < t->order.n; i = end) {
		for (end = i + 1; end < t->order.n && t->order.at[end].ns == t->order.at[i].ns;)
			end++;
		sort_equal(t, i, end);
	}
	return 0;
}

static int visit_events(struct traffic *t, struct error *e)
{
	int code = sort_events(t);
	for (size_t i = 0; i < t->events.n && code == 0; i++) {
		const struct event *ev = &t->events.at[t->order.at[i].at];
		if (ev->what == TAKES_PART) {
			const struct mpix_collective_part *part = &t->parts.at[ev->part_at];
			t->counted[part->rank]++;
			code = t->visitor->part(t->visitor->context, part, e);
		} else {
			code = visit_end(t, ev->message, ev->what == SENDS, e);
		}
	}
	return code;
}

static int visit_window(struct traffic *t, struct error *e)
{
	t->events.n = t->parts.n = 0;
	int code = mpix_window_messages(t->f, t->window, false, keep_near, t, e);
	if (code == 0)
		code = mpix_window_parts(t->f, t->window, keep_part, t, e);
	for (; t->next_far < t->far.n && t->far.at[t->next_far].window <= t->window && code == 0; t->next_far++)
		code = vec_push(&t->events, t->far.at[t->next_far].event);
	return code == 0 ? visit_events(t, e) : code;
}

static int read_all(struct traffic *t, struct error *e)
{
	uint32_t windows = mpix_windows(t->f);
	int code = 0;
	for (t->window = 0; t->window < windows && code == 0; t->window++)
		code = mpix_window_messages(t->f, t->window, true, keep_far, t, e);
	vec_sort(&t->far, by_window);
	for (t->window = 0; t->window < windows && code == 0; t->window++)
		code = visit_window(t, e);
	return code;
}

int traffic_read(struct mpix_file *f, const char *path, const struct traffic_visitor *visitor, struct error *e)
{
	struct traffic t = {.f = f, .visitor = visitor, .messages = SLAB(struct traffic_message), .e = e};
	e->text[0] = 0;
	if (mpix_windows(f) == 0)
		return fail(e, -EBADMSG,
			    "%s: version 1 of .mpix does not say which calls made a message; analyse again", path);
	t.counted = calloc(mpix_info(f)->ranks + 1u, sizeof(*t.counted));
	int code = t.counted == NULL ? -ENOMEM : read_all(&t, e);
	if (code == -ENOMEM && e->text[0] == 0)
		fail(e, code, "%s: out of memory", path);
	slab_done(&t.messages);
	vec_done(&t.far);
	vec_done(&t.events);
	vec_done(&t.parts);
	vec_done(&t.order);
	vec_done(&t.other);
	free(t.counted);
	return code;
}
