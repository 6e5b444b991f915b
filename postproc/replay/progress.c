/* progress.c - large messages of which both sides have begun, and which are moved on only while both are in MPI.
 * In: events and what they needed, which messages they complete.  Out: needs: of a call that took longer than that
 * explains, the call with which a partner came to MPI shortly before its end. What the analysis says of sends alone
 * (postproc/stream/progress.c) is there already; here it is of calls that complete receives, and of leaves whose part
 * of a collective is a send to the root. */
#include "postproc/replay/moves.h"
#include "postproc/replay/parts.h"

/* What the event needed had all begun. */
static int64_t began_ns(const struct interval *v, uint32_t event)
{
	int64_t began = v->events[event].start_ns;
	for (uint32_t k = v->needs_of[event]; k < v->needs_of[event + 1]; k++) {
		const struct need *n = &v->needs.at[k];
		int64_t ns;
		if (n->kind == NEED_MEETING)
			ns = n->gathering == GATHER_FROM_ROOT ? v->meetings.at[n->of].root_ns
							      : v->meetings.at[n->of].last_ns;
		else
			ns = v->events[n->of].start_ns;
		began = ns > began && ns <= v->events[event].end_ns ? ns : began;
	}
	return began;
}

/* The last call with which the rank came to MPI in that time; NO_EVENT: none. */
static uint32_t came(const struct interval *v, uint32_t track, int64_t from_ns, int64_t to_ns)
{
	const struct track *t = &v->tracks[track];
	uint32_t end = t->first + t->n;
	uint32_t i = (uint32_t)search_first(t->first, end, k, v->events[k].start_ns <= to_ns);
	for (; i > t->first && v->events[i - 1].start_ns > from_ns; i--)
		if ((v->events[i - 1].flags & EVENT_LOCAL) == 0)
			return i - 1;
	return NO_EVENT;
}

/* A sign, no proof: it was over no longer after that than it had waited before. */
static int need_partner(struct interval *v, const struct partner *p, size_t n)
{
	const struct event *x = &v->events[p->event];
	int64_t began = began_ns(v, p->event);
	uint32_t last = NO_EVENT;
	uint64_t bytes = 0;
	for (size_t i = 0; i < n; i++)
		bytes = p[i].bytes > bytes ? p[i].bytes : bytes;
	if (x->end_ns - began <= send_moves_ns(bytes))
		return 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t at = came(v, p[i].track, began, x->end_ns);
		if (at != NO_EVENT && (last == NO_EVENT || v->events[at].start_ns > v->events[last].start_ns))
			last = at;
	}
	if (last == NO_EVENT || x->end_ns - v->events[last].start_ns > v->events[last].start_ns - began)
		return 0;
	return interval_need(v, (struct need){p->event, last, .kind = NEED_START});
}

static bool has_leaves(const struct interval *v)
{
	for (size_t i = 0; i < v->meetings.n; i++)
		if (v->meetings.at[i].gathering == GATHER_TO_ROOT)
			return true;
	return false;
}

static int add_leaves(struct interval *v)
{
	int code = 0;
	for (uint32_t k = 0; k < v->ntracks && code == 0; k++)
		for (uint32_t i = v->tracks[k].first; i < v->tracks[k].first + v->tracks[k].n && code == 0; i++) {
			const struct event *x = &v->events[i];
			bool leaf = (x->flags & (EVENT_BLOCKS | EVENT_ROOT)) == EVENT_BLOCKS;
			if (!leaf || x->gathering != GATHER_TO_ROOT || x->end_ns - x->start_ns <= SEND_FIRST_NS ||
			    v->meetings.at[x->meeting].root_event == NO_EVENT)
				continue;
			uint32_t root = track_of(v, v->meetings.at[x->meeting].root_event);
			code = vec_push(&v->partners, (struct partner){i, root, x->bytes});
		}
	return code;
}

int need_progress(struct interval *v)
{
	int code = has_leaves(v) ? add_leaves(v) : 0;
	if (code == 0)
		code = interval_sort_by_event(v->partners.at, v->partners.n, sizeof(*v->partners.at));
	for (size_t i = 0, n; i < v->partners.n && code == 0; i += n) {
		for (n = 1; i + n < v->partners.n && v->partners.at[i + n].event == v->partners.at[i].event;)
			n++;
		code = need_partner(v, &v->partners.at[i], n);
	}
	vec_done(&v->partners);
	return code;
}
