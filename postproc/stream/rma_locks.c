/* rma_locks.c - passive target epochs. Who gave a lock back, and who was in a call on the same target then, meets in
 * the shard of the target, in order of time: a call is dealt with when it ends, so what it may have waited for has been
 * seen.
 *
 * Two locks conflict if one is exclusive. Whoever called Unlock while another was still in his Lock had it. A library
 * may put the lock off to the first access, a flush or the Unlock. There the holder must have had it for certain while
 * the other had still to call Unlock: an access of his was complete (a flush had returned), or he was all done. */
#include "postproc/stream/rma.h"

#include "base/search.h"

/* Targets of no rank: locks of everybody stand for themselves in each shard, and exclusive ones of anybody at one. */
#define OF_ALL SIG_ANY
#define OF_ANYBODY (-2)

/* ---- the origin ---- */

/* Where the lock of that target stands, or would. */
static size_t place_of(const struct object_use *u, int32_t target)
{
	return search_first(0, u->held.n, i, u->held.at[i].target < target);
}

static struct held *held_of(const struct object_use *u, int32_t target)
{
	size_t at = place_of(u, target);
	if (at < u->held.n && u->held.at[at].target == target)
		return &u->held.at[at];
	return u->held.n > 0 && u->held.at[0].target == OF_ALL ? &u->held.at[0] : NULL;
}

static struct held *hold(struct object_use *u, const struct sig *sig)
{
	size_t at = place_of(u, sig->peer);
	if (at == u->held.n || u->held.at[at].target != sig->peer) {
		if (vec_push(&u->held, (struct held){0}) < 0)
			return NULL;
		memmove(&u->held.at[at + 1], &u->held.at[at], (u->held.n - 1 - at) * sizeof(u->held.at[0]));
	}
	u->held.at[at] = (struct held){.target = sig->peer,
				       .exclusive = sig->call.lock_type == 2,
				       .nocheck = rma_asserts_nocheck(sig),
				       .had_ns = INT64_MAX};
	return &u->held.at[at];
}

static void release_lock(struct object_use *u, const struct held *h)
{
	size_t at = (size_t)(h - u->held.at);
	memmove(&u->held.at[at], &u->held.at[at + 1], (u->held.n - 1 - at) * sizeof(u->held.at[0]));
	u->held.n--;
}

static enum passive_how how_of(enum sig_rma kind)
{
	return kind == RMA_LOCK	      ? HOW_LOCK
	       : kind == RMA_UNLOCK   ? HOW_UNLOCK
	       : rma_moves_data(kind) ? HOW_ACCESS
				      : HOW_FLUSH;
}

/* The call may have waited: for a holder, or for the target itself. */
static int tell_blocked(struct shard *sh, const struct passive *x)
{
	struct passive y = *x;
	uint32_t owner = x->window % sh->stream->nshards;
	y.blocked = true;
	y.time_ns = x->call.end_ns;
	if (x->target == OF_ALL) {
		y.target = OF_ANYBODY;
		return x->contends && x->how == HOW_LOCK ? vec_push(&sh->rma->to[owner].passive, y) : 0;
	}
	y.progresses = (uint32_t)x->target != x->rank && progress_is_known(sh, (uint32_t)x->target);
	return y.contends || y.progresses ? vec_push(&rma_mail_to(sh, (uint32_t)x->target)->passive, y) : 0;
}

static int tell_released(struct shard *sh, const struct passive *x, const struct locks_used *used)
{
	struct passive y = *x;
	int code = 0;
	y.blocked = false;
	y.time_ns = x->call.start_ns;
	if (x->target == OF_ALL) {
		for (uint32_t i = 0; i < sh->stream->nshards && code == 0; i++)
			code = vec_push(&sh->rma->to[i].passive, y);
		return code;
	}
	code = vec_push(&rma_mail_to(sh, (uint32_t)x->target)->passive, y);
	if (code < 0 || !x->exclusive || !used->of_all)
		return code;
	y.target = OF_ANYBODY;
	return vec_push(&sh->rma->to[x->window % sh->stream->nshards].passive, y);
}

static void flushed(struct object_use *u, const struct sig *sig, struct held *h, const struct moment *call)
{
	if (sig->call.rma == RMA_FLUSH) {
		if (h->used && h->target == sig->peer && h->had_ns == INT64_MAX)
			h->had_ns = call->end_ns;
		h->used = false;
	}
	for (size_t i = 0; i < u->held.n && sig->call.rma == RMA_FLUSH && sig->peer == SIG_ANY; i++)
		u->held.at[i].used = false;
}

int locks_call(struct shard *sh, struct object_use *u, uint32_t rank, uint32_t sig_at, const struct moment *call)
{
	const struct sig *sig = shard_sig(sh, rank, sig_at);
	const struct locks_used *used = &sh->stream->locks_used[u->object];
	enum passive_how how = how_of(sig->call.rma);
	if (sig->peer != SIG_ANY && (sig->peer < 0 || (uint32_t)sig->peer >= sh->stream->step->nranks))
		return 0;
	struct held *h = how == HOW_LOCK ? hold(u, sig) : held_of(u, sig->peer);
	if (h == NULL)
		return how == HOW_LOCK ? -ENOMEM : 0;
	struct passive x = {.how = (uint8_t)how,
			    .exclusive = h->exclusive,
			    .contends = used->exclusive && !h->nocheck,
			    .pending = h->used,
			    .window = u->object,
			    .rank = rank,
			    .sig = sig_at,
			    .target = sig->peer,
			    .call = *call,
			    .had_ns = h->had_ns};
	h->used |= how == HOW_ACCESS;
	flushed(u, sig, h, call);
	int code = how == HOW_LOCK && h->nocheck ? 0 : tell_blocked(sh, &x);
	if (how != HOW_UNLOCK)
		return code;
	release_lock(u, h);
	return code == 0 && x.contends ? tell_released(sh, &x, used) : code;
}

/* ---- the target ---- */

struct wanted_lock {
	const struct rma *rma;
	uint32_t window;
	int32_t target;
};

static bool same_lock(const void *context, uint32_t at)
{
	const struct wanted_lock *w = context;
	return w->rma->locks.at[at].window == w->window && w->rma->locks.at[at].target == w->target;
}

/* NULL: nothing known yet, or no memory. */
static struct lock *lock_of(struct rma *x, uint32_t window, int32_t target, bool make)
{
	struct wanted_lock want = {x, window, target};
	uint64_t hash = index_mix(window, (uint32_t)target);
	uint32_t at = index_find(&x->lock_index, hash, same_lock, &want);
	if (at != INDEX_NONE)
		return &x->locks.at[at];
	struct released nobody = {.rank = NONE};
	struct lock fresh = {window, target, {nobody, nobody}, {nobody, nobody}, {false}};
	if (!make || vec_push(&x->locks, fresh) < 0 || index_add(&x->lock_index, hash, (uint32_t)x->locks.n - 1) < 0)
		return NULL;
	return &x->locks.at[x->locks.n - 1];
}

static int release(struct rma *x, const struct passive *p)
{
	struct lock *l = lock_of(x, p->window, p->target, true);
	if (l == NULL)
		return -ENOMEM;
	struct released *r = p->exclusive ? l->exclusive : l->shared;
	if (r[0].rank != p->rank)
		r[1] = r[0];
	r[0] = (struct released){p->rank, p->call, p->had_ns};
	return 0;
}

/* Did that one have it before the call got it? */
static bool had_it_first(const struct released *r, const struct passive *p)
{
	if (p->how == HOW_LOCK)
		return true;
	if (p->how == HOW_UNLOCK)
		return r->had_ns <= p->call.start_ns;
	return r->had_ns != INT64_MAX || r->call.end_ns <= p->call.end_ns;
}

static void later(const struct released **best, const struct released *r, const struct passive *p)
{
	for (int i = 0; i < 2; i++) {
		bool waited = r[i].rank != NONE && r[i].rank != p->rank && r[i].call.start_ns > p->call.start_ns &&
			      had_it_first(&r[i], p);
		if (waited && (*best == NULL || r[i].call.start_ns > (*best)->call.start_ns))
			*best = &r[i];
	}
}

/* The last who gave back what this call could not have beside him. */
static const struct released *holder_of(struct rma *x, const struct passive *p)
{
	const struct released *best = NULL;
	const struct lock *l = lock_of(x, p->window, p->target, false);
	if (l != NULL)
		later(&best, l->exclusive, p);
	if (!p->exclusive)
		return best;
	if (l != NULL)
		later(&best, l->shared, p);
	l = lock_of(x, p->window, OF_ALL, false);
	if (l != NULL)
		later(&best, l->shared, p);
	return best;
}

/* The target came while the call was there, and what was left to do then took no longer than the waiting: a call that
 * only moves much data seldom ends like that. No such call on this target ended while the target computed. */
static int progress_verdict(struct rma *x, const struct passive *p, int64_t since_ns, struct verdict *v)
{
	struct lock *l = p->coming.outside ? lock_of(x, p->window, p->target, true) : NULL;
	if (l == NULL)
		return p->coming.outside ? -ENOMEM : 0;
	if (!p->coming.came || p->coming.at.start_ns >= p->call.end_ns) {
		l->alone[p->how] |= p->how == HOW_LOCK || p->how == HOW_ACCESS || p->pending;
		return 0;
	}
	bool soon = p->call.end_ns - p->coming.at.start_ns <= p->coming.at.start_ns - p->call.start_ns;
	if (soon && !l->alone[p->how] && p->coming.at.start_ns > since_ns) {
		v->outside_ns = p->coming.at.start_ns - since_ns;
		v->target = (uint32_t)p->target;
		v->came_at = p->coming.at;
	}
	return 0;
}

static int classify(struct shard *sh, const struct passive *p)
{
	struct verdict v = {.rank = p->rank, .sig = p->sig, .call = p->call, .holder = NONE, .target = NONE};
	const struct released *r = p->contends ? holder_of(sh->rma, p) : NULL;
	int code = 0;
	if (r != NULL) {
		v.locked_ns = r->call.start_ns - p->call.start_ns;
		v.holder = r->rank;
		v.release = r->call;
	}
	if (p->progresses)
		code = progress_verdict(sh->rma, p, p->call.start_ns + v.locked_ns, &v);
	if (code < 0 || v.locked_ns + v.outside_ns == 0)
		return code;
	return vec_push(&rma_mail_to(sh, p->rank)->verdicts, v);
}

int locks_take(struct shard *sh, const struct passive *x)
{
	struct passive y = *x;
	if (y.blocked && y.progresses)
		progress_after(sh, (uint32_t)y.target, y.call.start_ns, &y.coming);
	return vec_push(&sh->rma->pending, y);
}

static int by_time(const void *a, const void *b)
{
	const struct passive *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->blocked != y->blocked)
		return x->blocked ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->call.at.lane != y->call.at.lane)
		return x->call.at.lane < y->call.at.lane ? -1 : 1;
	if (x->call.at.window != y->call.at.window)
		return x->call.at.window < y->call.at.window ? -1 : 1;
	if (x->call.at.at != y->call.at.at)
		return x->call.at.at < y->call.at.at ? -1 : 1;
	return (x->target > y->target) - (x->target < y->target);
}

int locks_until(struct shard *sh, int64_t end_ns)
{
	struct rma *x = sh->rma;
	size_t i = 0;
	int code = 0;
	vec_sort(&x->pending, by_time);
	for (; i < x->pending.n && x->pending.at[i].time_ns < end_ns && code == 0; i++)
		code = x->pending.at[i].blocked ? classify(sh, &x->pending.at[i]) : release(x, &x->pending.at[i]);
	if (i > 0)
		memmove(x->pending.at, x->pending.at + i, (x->pending.n - i) * sizeof(x->pending.at[0]));
	x->pending.n -= i;
	return code;
}
