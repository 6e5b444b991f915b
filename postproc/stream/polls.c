/* polls.c - tests and probes in vain: whom they waited for. A run of them is one event; it is remembered by its lane
 * until the same call has success, or a probe finds what was probed for, which then knows from when on that was waited
 * for: from the first test in vain. What passes until the other side came is waiting, as far as it was time inside of
 * the tests; the rest is polling alone. */
#include "postproc/stream/walk.h"

static int64_t inside_ns(const struct walk *w)
{
	const struct lane *l = w->lane;
	int64_t ns = w->call.end_ns - w->call.start_ns;
	const struct lane_extra *last = l->extras.n > 0 ? &l->extras.at[l->extras.n - 1] : NULL;
	for (size_t i = l->extras.n; i-- > l->extras_from && last->at > w->at;)
		last = &l->extras.at[i];
	uint64_t ticks = l->leave[w->at] - l->enter[w->at];
	if (last == NULL || last->at != w->at || ticks == 0 || last->inside_ticks >= ticks)
		return ns;
	return (int64_t)((double)ns * ((double)last->inside_ticks / (double)ticks));
}

static int release(struct shard *sh, struct poll *x)
{
	int code = x->need != NULL ? need_resolve(sh, x->need, x->edge) : 0;
	slab_give(&sh->polls, x);
	return code;
}

int poll_run(struct walk *w)
{
	struct lane *l = w->lane;
	uint64_t serials = l->requests.count;
	for (size_t i = 0; i < l->polls.n; i++) {
		struct poll *x = l->polls.at[i];
		if (x->sig != w->sig_at || x->serials != serials)
			continue;
		x->call.end_ns = w->call.end_ns;
		x->inside_ns += inside_ns(w);
		return 0;
	}
	struct poll *x = slab_take(&w->sh->polls);
	if (x == NULL)
		return -ENOMEM;
	*x = (struct poll){.call = w->call, .sig = w->sig_at, .serials = serials, .inside_ns = inside_ns(w)};
	if (walk_need(w, &x->need) < 0)
		return -ENOMEM;
	if (x->need != NULL)
		x->need->optional = true;
	if (l->polls.n == POLLS_MAX) {
		if (release(w->sh, l->polls.at[0]) < 0)
			return -ENOMEM;
		memmove(l->polls.at, l->polls.at + 1, --l->polls.n * sizeof(*l->polls.at));
	}
	return vec_push(&l->polls, x);
}

/* Is the call at hand the same, with success? A test in vain does not say which requests it was about. */
static bool succeeds(const struct walk *w, const struct poll *x)
{
	const struct sig_call *c = &w->p->sigs.at[x->sig].call;
	return c->shape == SIG_COMPLETE && c->op == w->sig->call.op && c->address == w->sig->call.address;
}

/* Would the probe have found the message? */
static bool would_find(const struct walk *w, const struct poll *x, const struct sig *found)
{
	const struct sig *sig = &w->p->sigs.at[x->sig];
	return sig->call.shape == SIG_PROBE && found->call.shape == SIG_PROBE && sig->comm == found->comm &&
	       ((sig->call.flags & SIG_ANY_SOURCE) != 0 || sig->peer == found->peer) &&
	       ((sig->call.flags & SIG_ANY_TAG) != 0 || sig->call.tag == found->call.tag);
}

/* To the wait of the call at hand; a second one for the same is forgotten. */
static int attach(struct walk *w, size_t i, struct wait *wait)
{
	struct lane *l = w->lane;
	struct poll *x = l->polls.at[i];
	memmove(l->polls.at + i, l->polls.at + i + 1, (--l->polls.n - i) * sizeof(*l->polls.at));
	if (wait->poll != NULL)
		return release(w->sh, x);
	wait->poll = x;
	wait->from_ns = x->call.start_ns;
	return 0;
}

int poll_ends(struct walk *w, struct wait *wait)
{
	int code = 0;
	for (size_t i = w->lane->polls.n; i-- > 0 && code == 0;)
		if (succeeds(w, w->lane->polls.at[i]) || would_find(w, w->lane->polls.at[i], w->sig))
			code = attach(w, i, wait);
	return code;
}

int poll_forget(struct walk *w)
{
	struct lane *l = w->lane;
	int code = 0;
	for (size_t i = 0; i < l->polls.n && code == 0; i++)
		code = release(w->sh, l->polls.at[i]);
	l->polls.n = 0;
	return code;
}

int poll_until(struct shard *sh, struct wait *w, const struct arrival *causer)
{
	const struct poll *x = w->poll;
	int64_t whole = x->call.end_ns - x->call.start_ns;
	int64_t until = causer->ns < x->call.end_ns ? causer->ns : x->call.end_ns;
	if (until <= x->call.start_ns || whole <= 0)
		return 0;
	struct wait polls = {.call = x->call, .rank = w->rank, .from_ns = x->call.start_ns};
	polls.site = shard_sig(sh, w->rank, x->sig)->site;
	int64_t ns = (int64_t)((double)x->inside_ns * ((double)(until - x->call.start_ns) / (double)whole));
	size_t before = sh->waited.n;
	int code = wait_note(sh, &polls, POLLING, ns, causer, false);
	if (code == 0 && sh->waited.n > before)
		sh->waited.at[before].until_causer = false; /* tests, not all that was between them */
	return code;
}

int poll_over(struct shard *sh, struct wait *w)
{
	struct poll *x = w->poll;
	w->poll = NULL;
	return x != NULL ? release(sh, x) : 0;
}
