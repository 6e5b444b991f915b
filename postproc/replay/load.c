/* load.c - from an .mpix to events in a row, what each needs, and who was seen to be waited for.
 * In: cells of the file, window by window.  Out: struct interval. */
#include "postproc/replay/moves.h"
#include "postproc/replay/parts.h"

#include <stdlib.h>

#define CELLS_BYTES (32u << 20) /* of a window: messages whose sends do not say their bytes ask for it once more */
#define LATER_WINDOWS 2u	/* in which messages of an interval's last window may become complete */

struct held_send {
	uint32_t sent, recv;
	uint64_t bytes;
	bool synchronous;
};

struct late_receivers { /* by who waited */
	struct blame *at;
	size_t n, cap;
};

struct loading {
	struct mpix_file *f;
	struct interval *v;
	struct error *e;
	struct op_what {
		uint16_t flags;
		uint8_t gathering;
		bool started; /* what it begins another call completes */
		bool posts;   /* and it is a receive */
	} * ops;
	uint32_t *place; /* of ranks */
	/* sends that may have waited for their receive, until it is known from which size on they do */
	VEC(struct held_send) held;
};

/* ---- what operations are ---- */

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* "MPI_Iallreduce_c" is an allreduce; small letters, since forms differ in the first one. */
static void plain_name(const char *op, char *ret_name, size_t size)
{
	size_t n = 0;
	if (begins(op, "MPI_"))
		op += 4;
	for (; op[n] != '\0' && n + 1 < size; n++)
		ret_name[n] = (char)(op[n] >= 'A' && op[n] <= 'Z' ? op[n] - 'A' + 'a' : op[n]);
	ret_name[n] = '\0';
}

static uint8_t gathering_of(const char *name)
{
	static const struct {
		const char *name;
		uint8_t gathering;
	} kinds[] = {
		{"bcast", GATHER_FROM_ROOT}, {"scatter", GATHER_FROM_ROOT}, {"reduce_scatter", GATHER_ALL},
		{"reduce", GATHER_TO_ROOT},  {"gather", GATHER_TO_ROOT},    {"neighbor", GATHER_NONE},
	};
	name += begins(name, "i") && !begins(name, "inter") ? 1 : 0;
	uint8_t found = GATHER_ALL;
	size_t longest = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (begins(name, kinds[i].name) && strlen(kinds[i].name) > longest) {
			found = kinds[i].gathering;
			longest = strlen(kinds[i].name);
		}
	return found;
}

static struct op_what what_is(const char *op)
{
	char name[64];
	struct op_what x = {0};
	plain_name(op, name, sizeof(name));
	x.gathering = gathering_of(name);
	x.started =
		(begins(name, "i") && !begins(name, "inter")) || begins(name, "start") || strstr(name, "_i") != NULL;
	x.posts = strcmp(name, "irecv") == 0 || strcmp(name, "imrecv") == 0;
	x.flags |= strstr(name, "ssend") != NULL ? EVENT_SYNCHRONOUS : 0;
	x.flags |= strcmp(name, "init") == 0 || strcmp(name, "init_thread") == 0 ? EVENT_INIT : 0;
	x.flags |= strcmp(name, "finalize") == 0 ? EVENT_FINALIZE : 0;
	return x;
}

static int learn_ops(struct loading *l)
{
	const struct mpix_info *info = mpix_info(l->f);
	l->ops = calloc(info->nops + 1u, sizeof(*l->ops));
	for (uint32_t i = 0; l->ops != NULL && i < info->nops; i++)
		l->ops[i] = what_is(info->ops[i]);
	return l->ops != NULL ? 0 : -ENOMEM;
}

/* ---- meetings ---- */

struct meeting_key {
	const struct interval *v;
	uint32_t comm;
	uint64_t number;
};

static bool is_meeting(const void *context, uint32_t at)
{
	const struct meeting_key *k = context;
	const struct meeting *m = &k->v->meetings.at[at];
	return m->comm == k->comm && m->number == k->number;
}

static int meeting_of(struct interval *v, uint32_t comm, uint64_t number, uint32_t *ret_at)
{
	struct meeting_key key = {v, comm, number};
	uint64_t hash = index_mix(comm, number);
	*ret_at = index_find(&v->meeting_index, hash, is_meeting, &key);
	if (*ret_at != INDEX_NONE)
		return 0;
	*ret_at = (uint32_t)v->meetings.n;
	struct meeting m = {
		.comm = comm, .number = number, .last_ns = INT64_MIN, .root_ns = INT64_MIN, .root_event = NO_EVENT};
	return vec_push(&v->meetings, m) < 0 ? -ENOMEM : index_add(&v->meeting_index, hash, *ret_at);
}

/* ---- events ---- */

static uint32_t bits32(uint64_t bytes)
{
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static int take_event(void *context, const struct mpix_event *ev)
{
	struct loading *l = context;
	struct track *t = &l->v->tracks[ev->at.lane];
	struct op_what op = ev->op < mpix_info(l->f)->nops ? l->ops[ev->op] : (struct op_what){0};
	struct event x = {.start_ns = ev->start_ns,
			  .end_ns = ev->end_ns,
			  .callsite = ev->callsite,
			  .sends = bits32(ev->message_bytes),
			  .bytes = bits32(ev->bytes),
			  .distance = NO_DISTANCE,
			  .flags = op.flags};
	x.flags |= op.started ? EVENT_STARTS : 0;
	if ((ev->class == MPIX_OTHER && (op.flags & EVENT_FINALIZE) == 0) || op.posts)
		x.flags |= EVENT_LOCAL;
	if (ev->calls != 1 || (ev->flags & MPIX_POLLS) != 0)
		x.flags |= EVENT_POLLS;
	if (ev->number != MPIX_NO_NUMBER && (ev->flags & MPIX_COLLECTIVE) != 0 && op.gathering != GATHER_NONE) {
		if (meeting_of(l->v, ev->comm, ev->number, &x.meeting) < 0)
			return -ENOMEM;
		x.gathering = op.gathering;
		x.flags |= EVENT_ENTERS | (op.started ? 0 : EVENT_BLOCKS);
		if (op.gathering != GATHER_ALL && ev->peer == (int32_t)t->rank)
			x.flags |= EVENT_ROOT;
	}
	if (t->windows.n == 0 || t->windows.at[t->windows.n - 1].window != ev->at.window)
		if (vec_push(&t->windows, (struct base_of_window){ev->at.window, (uint32_t)t->events.n}) < 0)
			return -ENOMEM;
	return vec_push(&t->events, x);
}

/* A run begins with the end of MPI_Init and ends with the start of MPI_Finalize; of an interval all lanes begin with
 * its window. What is outside of it goes. */
static void cut_to_region(struct track *t)
{
	uint32_t from = 0;
	t->begin_ns = t->events.n > 0 ? t->events.at[0].start_ns : 0;
	for (uint32_t i = 0; i < t->events.n; i++) {
		struct event *x = &t->events.at[i];
		if ((x->flags & EVENT_INIT) != 0) {
			from = i + 1;
			t->begin_ns = x->end_ns;
		} else if ((x->flags & EVENT_FINALIZE) != 0) {
			x->end_ns = x->start_ns;
			x->flags &= (uint16_t) ~(EVENT_ENTERS | EVENT_BLOCKS);
			t->events.n = i + 1;
		}
	}
	t->first = from; /* of its own events, until they stand in the row */
	t->n = (uint32_t)t->events.n - from;
}

/* Behind those of the tracks before. */
static int line_up(struct interval *v, struct track *t)
{
	cut_to_region(t);
	if (vec_grow(&v->events, &v->cap, (size_t)v->n + t->n + 1, sizeof(*v->events)) < 0)
		return -ENOMEM;
	if (t->n > 0)
		memcpy(v->events + v->n, t->events.at + t->first, t->n * sizeof(*v->events));
	for (size_t k = 0; k < t->windows.n; k++)
		t->windows.at[k].first = v->n + t->windows.at[k].first - t->first; /* may wrap: see event_at() */
	t->first = v->n;
	v->n += t->n;
	return 0;
}

/* Memory of what tracks of a group have read is for those of the next. */
static void hand_on(struct track *t, uint32_t n, uint32_t nnext)
{
	for (uint32_t i = 0; i < n; i++) {
		struct track *next = &t[n + i];
		t[i].events.n = 0;
		if (i < nnext)
			memcpy(&next->events, &t[i].events, sizeof(next->events));
		else
			vec_done(&t[i].events);
		memset(&t[i].events, 0, sizeof(t[i].events));
	}
}

static uint32_t lanes_of(const struct mpix_file *f, uint32_t group, uint32_t *ret_first)
{
	uint32_t first = 0, end = 0;
	mpix_group_ranks(f, group, &first, &end);
	*ret_first = mpix_first_lane(f, first);
	return mpix_first_lane(f, end) - *ret_first;
}

/* Group by group, so that events are copied while caches have them. */
static int load_events(struct loading *l, struct error *e)
{
	struct interval *v = l->v;
	uint32_t groups = mpix_groups(l->f), first, next;
	int code = 0;
	for (uint32_t g = 0; g < groups && code == 0; g++) {
		uint32_t n = lanes_of(l->f, g, &first);
		for (uint32_t w = v->first_window; w < v->end_window && code == 0; w++)
			code = mpix_cell_events(l->f, g, w, take_event, l, e);
		for (uint32_t i = first; i < first + n && code == 0; i++)
			code = line_up(v, &v->tracks[i]);
		hand_on(&v->tracks[first], n, g + 1 < groups ? lanes_of(l->f, g + 1, &next) : 0);
	}
	return code;
}

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

static void enter_meetings(struct interval *v)
{
	for (uint32_t i = 0; i < v->n; i++) {
		struct event *x = &v->events[i];
		if ((x->flags & EVENT_ENTERS) == 0)
			continue;
		struct meeting *m = &v->meetings.at[x->meeting];
		m->members++;
		m->gathering = x->gathering;
		m->sum_ns += (double)x->start_ns;
		m->last_ns = x->start_ns > m->last_ns ? x->start_ns : m->last_ns;
		if ((x->flags & EVENT_ROOT) != 0) {
			m->root_ns = x->start_ns;
			m->root_event = i;
		}
	}
	for (size_t i = 0; i < v->meetings.n; i++)
		v->meetings.at[i].everybody = v->meetings.at[i].members == v->ntracks;
}

/* ---- what events need ---- */

static int need_meeting(struct interval *v, uint32_t event, const struct event *part)
{
	const struct meeting *m = &v->meetings.at[part->meeting];
	bool root = (part->flags & EVENT_ROOT) != 0;
	bool free_to_go = (m->gathering == GATHER_TO_ROOT && !root) || (m->gathering == GATHER_FROM_ROOT && root) ||
			  (m->gathering == GATHER_FROM_ROOT && m->root_event == NO_EVENT);
	struct need x = {.event = event,
			 .of = part->meeting,
			 .kind = NEED_MEETING,
			 .gathering = m->gathering,
			 .bytes = part->bytes};
	return free_to_go ? 0 : interval_need(v, x);
}

static int need_meetings(struct interval *v)
{
	int code = 0;
	for (uint32_t i = 0; i < v->n && code == 0; i++)
		if ((v->events[i].flags & EVENT_BLOCKS) != 0)
			code = need_meeting(v, i, &v->events[i]);
	return code;
}

/* The call that sends mostly says it. */
static int bytes_of(struct loading *l, const struct mpix_link *link, uint32_t send, uint64_t *ret_bytes)
{
	const struct event *x = send != NO_EVENT ? &l->v->events[send] : NULL;
	struct mpix_link whole = *link;
	if (x != NULL && link->signature == MPIX_OF_START && (x->flags & EVENT_ENTERS) == 0 && x->sends < UINT32_MAX) {
		*ret_bytes = x->sends;
		return 0;
	}
	int code = mpix_message_find(l->f, &whole, l->e);
	*ret_bytes = whole.message.bytes;
	return code;
}

/* Both sides of a large one: each may need the other inside of MPI to complete it. */
static int take_partners(struct loading *l, const struct mpix_link *link, uint32_t done, uint32_t sent, uint32_t bytes)
{
	struct interval *v = l->v;
	if (done != NO_EVENT && vec_push(&v->partners, (struct partner){done, link->send.lane, bytes}) < 0)
		return -ENOMEM;
	return sent == NO_EVENT ? 0 : vec_push(&v->partners, (struct partner){sent, link->recv.lane, bytes});
}

static int take_message(void *context, const struct mpix_link *link)
{
	struct loading *l = context;
	struct interval *v = l->v;
	uint64_t bytes;
	uint32_t send = event_at(v, &link->send), done = event_at(v, &link->completion);
	uint32_t recv = event_at(v, &link->recv), sent = event_at(v, &link->sent);
	uint32_t src = v->tracks[link->send.lane].rank, dst = v->tracks[link->recv.lane].rank;
	bool may_wait = sent != NO_EVENT && recv != NO_EVENT && v->events[sent].end_ns >= v->events[recv].start_ns;
	if (send == NO_EVENT && !may_wait)
		return 0;
	int code = bytes_of(l, link, send, &bytes);
	if (code < 0)
		return code;
	struct need x = {.event = done,
			 .of = send,
			 .kind = NEED_MESSAGE,
			 .bytes = bits32(bytes),
			 .distance = l->place[src] != l->place[dst]};
	if (send != NO_EVENT)
		v->events[send].distance = x.distance;
	if (send != NO_EVENT && done != NO_EVENT && interval_need(v, x) < 0)
		return -ENOMEM;
	if (bytes > EAGER_BYTES && take_partners(l, link, done, sent, x.bytes) < 0)
		return -ENOMEM;
	if (!may_wait)
		return 0;
	bool synchronous = send != NO_EVENT && (v->events[send].flags & EVENT_SYNCHRONOUS) != 0;
	return vec_push(&l->held, (struct held_send){sent, recv, bytes, synchronous});
}

static int take_completion(struct interval *v, uint32_t event, const struct event *part)
{
	v->events[event].flags |= EVENT_COMPLETES;
	int code = vec_push(&v->completions, (struct completion){event, part->meeting});
	return code < 0 ? code : need_meeting(v, event, part);
}

static int take_wait(void *context, const struct mpix_wait *wait)
{
	struct loading *l = context;
	struct interval *v = l->v;
	uint32_t event = event_at(v, &wait->at), causer = event_at(v, &wait->causer);
	if (event == NO_EVENT || causer == NO_EVENT)
		return 0;
	if (wait->how == MPIX_CAME_BYTES && (v->events[causer].flags & EVENT_ENTERS) != 0)
		return take_completion(v, event, &v->events[causer]);
	if (wait->state == 0 || (wait->how != MPIX_WAIT_UNTIL_START && wait->how != MPIX_WAIT_NS))
		return 0;
	int64_t until = v->events[causer].start_ns < v->events[event].end_ns ? v->events[causer].start_ns
									     : v->events[event].end_ns;
	struct blame b = {event, causer, wait->state - 1u, wait->how == MPIX_WAIT_UNTIL_START,
			  until - v->events[event].start_ns};
	return b.state != MPIX_WRONG_ORDER - 1 && b.ns > 0 ? vec_push(&v->blames, b) : 0;
}

static int load_links(struct loading *l, struct error *e)
{
	uint32_t end = l->v->end_window + LATER_WINDOWS, windows = mpix_windows(l->f);
	int code = 0;
	end = end < windows ? end : windows;
	for (uint32_t w = l->v->first_window; w < end && code == 0; w++) {
		code = mpix_window_messages(l->f, w, true, take_message, l, e);
		if (code == 0)
			code = mpix_window_waits(l->f, w, true, take_wait, l, e);
	}
	return code;
}

static int by_bytes(const void *a, const void *b)
{
	const struct held_send *x = a, *y = b;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool are_in_order(const struct loading *l)
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
static int size_of_waiting(const struct loading *l, uint64_t *ret_bytes)
{
	const struct interval *v = l->v;
	struct late_receivers late = {0};
	int code = 0;
	*ret_bytes = UINT64_MAX;
	for (size_t i = 0; i < v->blames.n && code == 0; i++)
		if (v->blames.at[i].state == LATE_RECEIVER)
			code = vec_push(&late, v->blames.at[i]);
	for (size_t i = 0; i < l->held.n && late.n > 0; i++)
		if (l->held.at[i].bytes < *ret_bytes && was_seen(&late, &l->held.at[i]))
			*ret_bytes = l->held.at[i].bytes;
	vec_done(&late);
	return code;
}

/* Sends of a size at which some were seen to wait for their receive always need it. */
static int need_receives(struct loading *l)
{
	struct interval *v = l->v;
	uint64_t from;
	size_t n = 0;
	if (interval_sort_by_event(v->blames.at, v->blames.n, sizeof(*v->blames.at)) < 0 ||
	    size_of_waiting(l, &from) < 0)
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

/* One-sided calls, probes and others that are no messages: whom they were seen to wait for. */
static int need_causers(struct interval *v)
{
	int code = 0;
	for (size_t i = 0; i < v->blames.n && code == 0; i++) {
		const struct blame *b = &v->blames.at[i];
		bool known = v->needs_of[b->event] < v->needs_of[b->event + 1];
		if (!known && b->needed)
			code = interval_need(v, (struct need){b->event, b->causer, .kind = NEED_START});
	}
	return code;
}

static int load_needs(struct loading *l, struct error *e)
{
	struct interval *v = l->v;
	int code = need_meetings(v);
	if (code == 0)
		code = load_links(l, e);
	if (code == 0)
		code = need_receives(l);
	if (code == 0)
		code = need_completions(v);
	if (code == 0)
		code = interval_sort_needs(v);
	if (code == 0)
		code = need_causers(v);
	if (code == 0)
		code = interval_sort_needs(v);
	if (code == 0)
		code = need_progress(v);
	if (code == 0)
		code = interval_sort_needs(v);
	return code == 0 ? find_order(v) : code;
}

/* ---- all of it ---- */

static int prepare(struct loading *l)
{
	const struct mpix_info *info = mpix_info(l->f);
	struct interval *v = l->v;
	v->ntracks = mpix_first_lane(l->f, info->ranks);
	v->tracks = calloc(v->ntracks + 1u, sizeof(*v->tracks));
	l->place = calloc(info->ranks + 1u, sizeof(*l->place));
	if (v->tracks == NULL || l->place == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->ntracks; i++)
		v->tracks[i].rank = mpix_rank_of_lane(l->f, i);
	for (uint32_t r = 0; info->place_of_rank != NULL && r < info->ranks; r++)
		l->place[r] = info->place_of_rank[r];
	return learn_ops(l);
}

static void find_ends(struct interval *v)
{
	v->from_ns = INT64_MAX;
	v->to_ns = INT64_MIN;
	for (uint32_t i = 0; i < v->ntracks; i++) {
		const struct track *t = &v->tracks[i];
		if (t->n == 0)
			continue;
		int64_t end = v->events[t->first + t->n - 1].end_ns;
		v->from_ns = t->begin_ns < v->from_ns ? t->begin_ns : v->from_ns;
		v->to_ns = end > v->to_ns ? end : v->to_ns;
	}
	v->recorded_ns = v->to_ns > v->from_ns ? v->to_ns - v->from_ns : 0;
}

int interval_load(struct mpix_file *f, struct interval *v, struct error *e)
{
	struct loading l = {.f = f, .v = v, .e = e};
	int code = prepare(&l);
	if (code == 0)
		code = mpix_keep(f, CELLS_BYTES, e);
	if (code == 0)
		code = load_events(&l, e);
	if (code == 0) {
		enter_meetings(v);
		find_ends(v);
		code = load_needs(&l, e);
	}
	vec_done(&l.held);
	free(l.ops);
	free(l.place);
	return code == -ENOMEM ? fail(e, code, "out of memory for the replay") : code;
}

void interval_done(struct interval *v)
{
	for (uint32_t i = 0; v->tracks != NULL && i < v->ntracks; i++) {
		vec_done(&v->tracks[i].events);
		vec_done(&v->tracks[i].windows);
	}
	free(v->tracks);
	free(v->events);
	free(v->needs_of);
	free(v->spent_ns);
	vec_done(&v->needs);
	vec_done(&v->meetings);
	vec_done(&v->blames);
	vec_done(&v->completions);
	vec_done(&v->partners);
	index_done(&v->meeting_index);
	*v = (struct interval){0};
}
