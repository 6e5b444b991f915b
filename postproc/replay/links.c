/* links.c - what each event needs, and who was seen to be waited for.
 * In: messages and waits of the file, window by window, which threads share; events that are there.
 * Out: v->needs, v->blames, v->completions. */
#include "postproc/replay/loading.h"
#include "postproc/replay/moves.h"

#include <stdlib.h>

#define LATER_WINDOWS 2u /* in which messages of an interval's last window may become complete */

/* A send that may have waited for its receive, until it is known from which size on they do. */
struct held_send {
	uint32_t sent, recv;
	uint64_t bytes;
	bool synchronous;
};

/* What one window tells. */
struct window_links {
	VEC(struct need) needs;
	VEC(struct held_send) held;
	VEC(struct blame) blames;
	VEC(struct completion) completions;
	VEC(struct partner) partners;
};

struct linking {
	const struct loading *l;
	struct window_links *windows;
	uint32_t nwindows;
	VEC(struct held_send) held;
};

/* One window, by one thread. */
struct taking {
	const struct loading *l;
	struct window_links *to;
	struct mpix_file *f;
	struct error *e;
};

struct late_receivers { /* by who waited */
	struct blame *at;
	size_t n, cap;
};

/* Where the event at a position stands, or NO_EVENT. */
static uint32_t event_at(const struct interval *v, const struct mpix_position *at)
{
	if (at->window == MPIX_NOWHERE || at->lane >= v->ntracks)
		return NO_EVENT;
	const struct track *t = &v->tracks[at->lane];
	size_t i = at->window - v->first_window; /* mostly there are events in each window */
	if (i >= t->windows.n || t->windows.at[i].window != at->window)
		i = search_first(0, t->windows.n, k, t->windows.at[k].window < at->window);
	if (i == t->windows.n || t->windows.at[i].window != at->window)
		return NO_EVENT;
	uint32_t event = t->windows.at[i].first + at->index;
	return event - t->first < t->n ? event : NO_EVENT;
}

/* Several threads may look at one call. */
static unsigned flags_of(const struct event *x)
{
	return __atomic_load_n(&x->flags, __ATOMIC_RELAXED);
}

static void set_flag(struct event *x, uint16_t flag)
{
	if ((flags_of(x) & flag) == 0)
		__atomic_fetch_or(&x->flags, flag, __ATOMIC_RELAXED);
}

/* Of what goes to both, the farther. */
static void set_distance(struct event *x, uint8_t distance)
{
	uint8_t none = NO_DISTANCE;
	if (distance > 0)
		__atomic_store_n(&x->distance, distance, __ATOMIC_RELAXED);
	else
		__atomic_compare_exchange_n(&x->distance, &none, distance, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* ---- meetings ---- */

/* What a call needs of the operation that part is of; NEED_NOTHING: it is free to go. */
static struct need need_of_meeting(const struct interval *v, uint32_t event, const struct event *part)
{
	const struct meeting *m = &v->meetings.at[part->meeting];
	bool root = (flags_of(part) & EVENT_ROOT) != 0;
	bool free_to_go = (m->gathering == GATHER_TO_ROOT && !root) || (m->gathering == GATHER_FROM_ROOT && root) ||
			  (m->gathering == GATHER_FROM_ROOT && m->root_event == NO_EVENT);
	return (struct need){.event = event,
			     .of = part->meeting,
			     .kind = free_to_go ? NEED_NOTHING : NEED_MEETING,
			     .gathering = m->gathering,
			     .bytes = part->bytes};
}

static int need_meetings(const struct loading *l, const enterings *parts)
{
	struct interval *v = l->v;
	int code = 0;
	for (size_t i = 0; i < parts->n && code == 0; i++) {
		uint32_t event = parts->at[i].event;
		struct need x = need_of_meeting(v, event, &v->events[event]);
		if ((v->events[event].flags & EVENT_BLOCKS) != 0 && x.kind != NEED_NOTHING)
			code = interval_need(v, x);
	}
	return code;
}

/* ---- messages and waits of one window ---- */

/* The call that sends mostly says it. */
static int bytes_of(const struct taking *t, const struct mpix_link *link, uint32_t send, uint64_t *ret_bytes)
{
	const struct event *x = send != NO_EVENT ? &t->l->v->events[send] : NULL;
	struct mpix_link whole = *link;
	if (x != NULL && link->signature == MPIX_OF_START && (flags_of(x) & EVENT_ENTERS) == 0 &&
	    x->sends < UINT32_MAX) {
		*ret_bytes = x->sends;
		return 0;
	}
	int code = mpix_message_find(t->f, &whole, t->e);
	*ret_bytes = whole.message.bytes;
	return code;
}

/* Both sides of a large one: each may need the other inside of MPI to complete it. */
static int take_partners(struct window_links *to, const struct mpix_link *link, uint32_t done, uint32_t sent,
			 uint32_t bytes)
{
	if (done != NO_EVENT && vec_push(&to->partners, (struct partner){done, link->send.lane, bytes}) < 0)
		return -ENOMEM;
	return sent == NO_EVENT ? 0 : vec_push(&to->partners, (struct partner){sent, link->recv.lane, bytes});
}

static int take_message(void *context, const struct mpix_link *link)
{
	struct taking *t = context;
	const struct loading *l = t->l;
	struct interval *v = l->v;
	uint64_t bytes;
	uint32_t send = event_at(v, &link->send), done = event_at(v, &link->completion);
	uint32_t recv = event_at(v, &link->recv), sent = event_at(v, &link->sent);
	uint32_t src = v->tracks[link->send.lane].rank, dst = v->tracks[link->recv.lane].rank;
	bool may_wait = sent != NO_EVENT && recv != NO_EVENT && v->events[sent].end_ns >= v->events[recv].start_ns;
	if (send == NO_EVENT && !may_wait)
		return 0;
	int code = bytes_of(t, link, send, &bytes);
	if (code < 0)
		return code;
	struct need x = {.event = done,
			 .of = send,
			 .kind = NEED_MESSAGE,
			 .bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
			 .distance = l->place[src] != l->place[dst]};
	if (send != NO_EVENT)
		set_distance(&v->events[send], x.distance);
	if (send != NO_EVENT && done != NO_EVENT) {
		set_flag(&v->events[send], EVENT_NEEDED);
		code = vec_push(&t->to->needs, x);
	}
	if (code < 0 || (bytes > EAGER_BYTES && take_partners(t->to, link, done, sent, x.bytes) < 0))
		return -ENOMEM;
	if (!may_wait)
		return 0;
	bool synchronous = send != NO_EVENT && (flags_of(&v->events[send]) & EVENT_SYNCHRONOUS) != 0;
	return vec_push(&t->to->held, (struct held_send){sent, recv, bytes, synchronous});
}

static int take_completion(struct taking *t, uint32_t event, const struct event *part)
{
	struct need x = need_of_meeting(t->l->v, event, part);
	set_flag(&t->l->v->events[event], EVENT_COMPLETES);
	int code = vec_push(&t->to->completions, (struct completion){event, part->meeting});
	return code < 0 || x.kind == NEED_NOTHING ? code : vec_push(&t->to->needs, x);
}

static int take_wait(void *context, const struct mpix_wait *wait)
{
	struct taking *t = context;
	const struct interval *v = t->l->v;
	uint32_t event = event_at(v, &wait->at), causer = event_at(v, &wait->causer);
	if (event == NO_EVENT || causer == NO_EVENT)
		return 0;
	if (wait->how == MPIX_CAME_BYTES && (flags_of(&v->events[causer]) & EVENT_ENTERS) != 0)
		return take_completion(t, event, &v->events[causer]);
	if (wait->state == 0 || (wait->how != MPIX_WAIT_UNTIL_START && wait->how != MPIX_WAIT_NS))
		return 0;
	int64_t until = v->events[causer].start_ns < v->events[event].end_ns ? v->events[causer].start_ns
									     : v->events[event].end_ns;
	struct blame b = {event, causer, wait->state - 1u, wait->how == MPIX_WAIT_UNTIL_START,
			  until - v->events[event].start_ns};
	return b.state != MPIX_WRONG_ORDER - 1 && b.ns > 0 ? vec_push(&t->to->blames, b) : 0;
}

static int take_window(void *context, uint32_t i, unsigned file, struct error *e)
{
	const struct linking *x = context;
	struct taking t = {x->l, &x->windows[i], x->l->from->files[file], e};
	uint32_t window = x->l->v->first_window + i;
	size_t messages = 0;
	for (uint32_t g = 0; g < x->l->ngroups; g++)
		messages += load_records(mpix_cell_count(t.f, g, window).messages);
	if (vec_grow(&t.to->needs.at, &t.to->needs.cap, messages, sizeof(struct need)) < 0)
		return -ENOMEM;
	int code = mpix_window_messages(t.f, window, true, take_message, &t, e);
	return code < 0 ? code : mpix_window_waits(t.f, window, true, take_wait, &t, e);
}

/* ---- all windows together ---- */

static int join(struct linking *x)
{
	struct interval *v = x->l->v;
	int code = 0;
	for (uint32_t i = 0; i < x->nwindows && code == 0; i++) {
		const struct window_links *w = &x->windows[i];
		if (vec_append(&x->held, &w->held) < 0 || vec_append(&v->blames, &w->blames) < 0 ||
		    vec_append(&v->completions, &w->completions) < 0 || vec_append(&v->partners, &w->partners) < 0)
			code = -ENOMEM;
	}
	return code;
}

static int load_links(struct linking *x, struct error *e)
{
	const struct interval *v = x->l->v;
	uint32_t end = v->end_window + LATER_WINDOWS, windows = mpix_windows(x->l->from->files[0]);
	end = end < windows ? end : windows;
	x->nwindows = end - v->first_window;
	x->windows = calloc(x->nwindows + 1u, sizeof(*x->windows));
	int code = x->windows != NULL ? replay_share(x->l->from, x->nwindows, take_window, x, e) : -ENOMEM;
	return code == 0 ? join(x) : code;
}

static void links_done(struct linking *x)
{
	for (uint32_t i = 0; x->windows != NULL && i < x->nwindows; i++) {
		vec_done(&x->windows[i].needs);
		vec_done(&x->windows[i].held);
		vec_done(&x->windows[i].blames);
		vec_done(&x->windows[i].completions);
		vec_done(&x->windows[i].partners);
	}
	free(x->windows);
	vec_done(&x->held);
}

static int by_bytes(const void *a, const void *b)
{
	const struct held_send *x = a, *y = b;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool are_in_order(const struct linking *l)
{
	for (size_t i = 1; i < l->held.n; i++)
		if (l->held.at[i - 1].bytes > l->held.at[i].bytes)
			return false;
	return true;
}

/* Was the send seen to wait for its receive? */
static bool was_seen(const struct late_receivers *late, const struct held_send *h)
{
	size_t at = search_first(0, late->n, k, late->at[k].event < h->sent);
	for (; at < late->n && late->at[at].event == h->sent; at++)
		if (late->at[at].causer == h->recv)
			return true;
	return false;
}

/* From which size on some were; UINT64_MAX: none was. */
static int size_of_waiting(const struct linking *l, uint64_t *ret_bytes)
{
	const struct interval *v = l->l->v;
	struct late_receivers late = {0};
	int code = 0;
	*ret_bytes = UINT64_MAX;
	for (size_t i = 0; i < v->blames.n && code == 0; i++)
		if (v->blames.at[i].state == LATE_RECEIVER)
			code = vec_push(&late, v->blames.at[i]);
	if (code == 0)
		code = interval_sort_by_event(late.at, late.n, sizeof(*late.at));
	for (size_t i = 0; i < l->held.n && late.n > 0 && code == 0; i++)
		if (l->held.at[i].bytes < *ret_bytes && was_seen(&late, &l->held.at[i]))
			*ret_bytes = l->held.at[i].bytes;
	vec_done(&late);
	return code;
}

/* Sends of a size at which some were seen to wait for their receive always need it. */
static int need_receives(struct linking *l)
{
	struct interval *v = l->l->v;
	uint64_t from;
	size_t n = 0;
	if (size_of_waiting(l, &from) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < l->held.n; i++)
		if (l->held.at[i].bytes >= from || l->held.at[i].synchronous)
			l->held.at[n++] = l->held.at[i];
	l->held.n = n;
	if (!are_in_order(l)) /* mostly all are of one size */
		vec_sort(&l->held, by_bytes);
	int code = 0;
	for (size_t i = 0; i < n && code == 0; i++)
		code = interval_need(v, (struct need){l->held.at[i].sent, l->held.at[i].recv, .kind = NEED_START});
	return code;
}

/* One-sided calls, probes and others that are no messages: whom they were seen to wait for. Needs are counted. */
static int need_causers(struct interval *v)
{
	size_t before = v->needs.n;
	int code = 0;
	for (size_t i = 0; i < v->blames.n && code == 0; i++) {
		const struct blame *b = &v->blames.at[i];
		if (b->needed && v->needs_of[b->event + 1] == 0)
			code = interval_need(v, (struct need){b->event, b->causer, .kind = NEED_START});
	}
	for (size_t i = before; i < v->needs.n; i++)
		v->needs_of[v->needs.at[i].event + 1]++;
	return code;
}

/* What windows told of, what followed from that, and what neither says. */
static int sort_all(struct linking *x)
{
	struct interval *v = x->l->v;
	struct need_list *lists = malloc((x->nwindows + 1u) * sizeof(*lists));
	for (uint32_t i = 0; lists != NULL && i < x->nwindows; i++)
		lists[i] = (struct need_list){x->windows[i].needs.at, x->windows[i].needs.n};
	if (lists == NULL)
		return -ENOMEM;
	struct need_list *own = &lists[x->nwindows];
	*own = (struct need_list){v->needs.at, v->needs.n};
	int code = interval_count_needs(v, lists, x->nwindows + 1u);
	if (code == 0)
		code = need_causers(v);
	*own = (struct need_list){v->needs.at, v->needs.n};
	if (code == 0)
		code = interval_place_needs(v, lists, x->nwindows + 1u);
	free(lists);
	return code;
}

int load_needs(const struct loading *l, struct error *e)
{
	struct linking x = {.l = l};
	struct interval *v = l->v;
	int code = 0;
	for (uint32_t g = 0; g < l->ngroups && code == 0; g++)
		code = need_meetings(l, &l->parts[g]);
	if (code == 0)
		code = load_links(&x, e);
	if (code == 0)
		code = need_receives(&x);
	if (code == 0)
		code = need_completions(v);
	if (code == 0)
		code = sort_all(&x);
	links_done(&x);
	if (code == 0)
		code = need_progress(v);
	if (code == 0)
		code = interval_sort_needs(v);
	return code == 0 ? find_order(v) : code;
}
