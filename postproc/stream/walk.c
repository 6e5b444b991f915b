/* walk.c - walks each rank's events in order: decodes, counts, and hands them to calls.c. */
#include "postproc/stream/threads.h"
#include "postproc/stream/walk.h"

/* Requests and messages are counted, so of nothing that comes after a lost event is it known what it belongs to. */
static bool is_understood(const struct lane *l, int64_t start_ns)
{
	const struct thread *t = &l->process->threads.at[l->thread];
	return t->lost == 0 || t->lost_from_ns == TIME_ABSENT || start_ns < t->lost_from_ns;
}

/* How an event counts, whatever it means. */
static void tally_event(struct walk *w, int64_t start_ns, int64_t end_ns)
{
	struct tally *t = &w->sh->tally;
	unsigned i = tally_window_of(t, start_ns);
	struct time_window *now = &t->windows[i];
	bool counts = !w->sig->call.continues;
	now->events += counts;
	now->completions += w->sig->call.shape == SIG_COMPLETE && (w->sig->call.flags & SIG_POLLS) == 0;
	now->barriers += w->sig->class == MPIX_SYNC;
	now->collectives += w->sig->class == MPIX_COLL;
	if (w->p->first_ns == TIME_ABSENT || start_ns < w->p->first_ns)
		w->p->first_ns = start_ns;
	if (w->p->last_ns == TIME_ABSENT || end_ns > w->p->last_ns)
		w->p->last_ns = end_ns;
	if (w->lane->thread != 0)
		return;
	w->p->calls_in[i] += counts;
	bool run = w->sig->defined && (w->sig->call.flags & SIG_POLLS) != 0;
	tally_stretch(t, start_ns, end_ns, (run ? t->windows[0].runs_ns : t->windows[0].class_ns) + w->sig->class);
}

bool calls_numbered(const struct sig *sig)
{
	return sig->defined && sig->call.shape == SIG_COLL && sig->call.coll != COLL_NONE && sig->comm != NONE &&
	       (sig->call.flags & (SIG_PERSISTENT | SIG_FAILED)) == 0;
}

/* What goes on with it later is its doing. Not copied from w->call: what was written a moment ago in parts is not read
 * as a whole without waiting. */
static void begins_call(const struct walk *w, struct lane *l, uint32_t at)
{
	l->head.start_ns = l->start_ns[at];
	l->head.end_ns = l->end_ns[at];
	l->head.at.window = w->st->window;
	l->head.at.lane = l->number;
	l->head.at.at = at;
	l->head_sig = w->sig_at;
}

/* Is the next event of the lane, of which next is its number in the window, more of this one? */
static bool goes_on(const struct walk *w, const struct lane *l, uint32_t next)
{
	if (l->more_at < l->more_of.n)
		return l->more_of.at[l->more_at].before == next;
	const struct sig *sig = l->more ? &w->p->sigs.at[l->next_sig] : NULL; /* behind the window */
	return sig != NULL && next == l->n && sig->defined && sig->call.continues;
}

/* What it waited for is known with the last of its parts. */
static int call_over(struct walk *w, struct lane *l, uint32_t next)
{
	l->held = w->wait != NULL && goes_on(w, l, next) ? w->wait : NULL;
	return w->wait != NULL && l->held == NULL ? wait_close(w->sh, w->wait) : 0;
}

static int walk_event(struct walk *w, struct lane *l, uint32_t at)
{
	w->lane = l;
	w->at = at;
	w->sig_at = l->sig[at];
	w->sig = &w->p->sigs.at[w->sig_at];
	w->wait = NULL;
	w->call = (struct moment){l->start_ns[at], l->end_ns[at], {w->st->window, l->number, at}};
	tally_event(w, l->start_ns[at], l->end_ns[at]);
	if (is_understood(l, l->start_ns[at])) {
		if (w->sig->defined)
			begins_call(w, l, at);
		int code = calls_event(w);
		return code == 0 ? call_over(w, l, at + 1) : code;
	}
	l->process->threads.at[l->thread].apart += !w->sig->call.continues;
	if (!calls_numbered(w->sig))
		return 0;
	return vec_push(&l->numbers, (struct mpix_number){at, same_comm(w, w->sig->comm), MPIX_NO_NUMBER});
}

/* Parts of the event before: what they start and complete is its doing. */
static int walk_more(struct walk *w, struct lane *l, uint32_t before)
{
	int code = 0;
	while (l->more_at < l->more_of.n && l->more_of.at[l->more_at].before == before && code == 0) {
		const struct lane_more *x = &l->more_of.at[l->more_at++];
		w->lane = l;
		w->at = before > 0 ? before - 1 : 0;
		w->sig_at = x->sig;
		w->sig = &w->p->sigs.at[x->sig];
		w->wait = l->held;
		tally_event(w, x->start_ns, x->end_ns);
		if (is_understood(l, x->start_ns))
			code = calls_event(w);
		if (code == 0)
			code = call_over(w, l, before);
	}
	return code;
}

static int walk_last_more(struct walk *w)
{
	int code = 0;
	for (uint32_t i = 0; i < w->rank->nlanes && code == 0; i++) {
		struct lane *l = &w->st->lanes[w->rank->first_lane + i];
		code = walk_more(w, l, l->n);
	}
	return code;
}

/* Several threads make one line of events, in order of their starts. */
static int walk_merged(struct walk *w)
{
	struct lane *lanes = &w->st->lanes[w->rank->first_lane];
	for (uint32_t i = 0; i < w->rank->nlanes; i++)
		lanes[i].at = lanes[i].from;
	for (;;) {
		struct lane *best = NULL;
		for (uint32_t i = 0; i < w->rank->nlanes; i++) {
			struct lane *l = &lanes[i];
			if (l->at < l->n && (best == NULL || l->start_ns[l->at] < best->start_ns[best->at]))
				best = l;
		}
		if (best == NULL)
			return walk_last_more(w);
		int code = walk_more(w, best, best->at);
		threads_saw(w->p, best, best->at);
		if (code == 0)
			code = walk_event(w, best, best->at++);
		if (code < 0)
			return code;
	}
}

/* Calls that stand for many, which count as such in their time window. */
static void tally_extras(struct walk *w, const struct lane *l)
{
	for (size_t i = l->extras_from; i < l->extras.n && l->thread == 0; i++)
		if (l->extras.at[i].calls > 0)
			w->p->calls_in[tally_window_of(&w->sh->tally, l->start_ns[l->extras.at[i].at])] +=
				l->extras.at[i].calls - 1;
}

static int walk_rank(struct shard *sh, uint32_t rank)
{
	struct stream *st = sh->stream;
	struct walk w = {.sh = sh, .st = st, .rank = &st->ranks[rank], .p = st->step->ranks[rank]};
	int64_t end = st->starts[st->slice + 1];
	for (uint32_t i = 0; i < w.rank->nlanes; i++) {
		struct lane *l = &st->lanes[w.rank->first_lane + i];
		int code = lane_window(l, sh->stream->window, end);
		if (code < 0)
			return code;
		tally_extras(&w, l);
	}
	if (threads_several(st, rank))
		return walk_merged(&w);
	struct lane *l = &st->lanes[w.rank->first_lane];
	for (uint32_t i = w.rank->nlanes == 1 ? l->from : l->n; i < l->n; i++) {
		int code = l->more_at < l->more_of.n ? walk_more(&w, l, i) : 0;
		if (code == 0)
			code = walk_event(&w, l, i);
		if (code < 0)
			return code;
	}
	return walk_last_more(&w);
}

/* A rank is come to after all others: memory of the next is asked for, of the one after it what names that. */
static void ask_ahead(const struct shard *sh, uint32_t rank)
{
	const struct stream *st = sh->stream;
	if (rank + 2 < sh->end_rank && st->ranks[rank + 2].nlanes > 0)
		prefetch(&st->lanes[st->ranks[rank + 2].first_lane], sizeof(struct lane));
	if (rank + 1 < sh->end_rank && st->ranks[rank + 1].nlanes > 0)
		lane_ask(&st->lanes[st->ranks[rank + 1].first_lane]);
}

void calls_window(struct shard *sh)
{
	for (uint32_t r = sh->first_rank; r < sh->end_rank && sh->code == 0; r++) {
		ask_ahead(sh, r);
		if (sh->stream->step->ranks[r] != NULL)
			sh->code = walk_rank(sh, r);
	}
}

/* Requests that were neither completed nor freed: nothing more will be heard of their messages. */
static int end_requests(struct shard *sh, uint32_t rank)
{
	struct rank_stream *r = &sh->stream->ranks[rank];
	const struct process *p = sh->stream->step->ranks[rank];
	bool leaks = p->finalized && process_is_known(p);
	for (uint32_t t = 0; t < r->nlanes; t++) {
		struct requests_of *q = &sh->stream->lanes[r->first_lane + t].requests;
		for (uint64_t i = 0; i < q->count; i++) {
			struct request_page *page = q->pages.at[i / REQUESTS_PAGE];
			struct request *at = page == NULL ? NULL : &page->at[i % REQUESTS_PAGE];
			if (at == NULL || at->sig == NONE)
				continue;
			if (at->send != NULL && match_send_over(sh, at->send) < 0)
				return -ENOMEM;
			if (!leaks || (!at->active && !at->persistent))
				continue;
			r->leaked++;
			r->leak_site = p->sigs.at[at->sig].site;
		}
	}
	return 0;
}

void calls_end(struct shard *sh)
{
	for (uint32_t r = sh->first_rank; r < sh->end_rank && sh->code == 0; r++)
		if (sh->stream->step->ranks[r] != NULL)
			sh->code = end_requests(sh, r);
}
