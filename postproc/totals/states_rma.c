/* states_rma.c - what one-sided calls wait for: see states_calls.h. In: exact totals of calls on windows, and the calls
 * that are open.
 *
 * A rank claims the lock of a target if it has called Lock more often than Unlock. Whether the library gave it that
 * lock at once or puts it off to the first access nobody records, so of several claims any may be the one that is
 * held: a call that waits for a lock goes on as soon as one of those that claim it can. A call to a target that is
 * outside of MPI may wait for that alone; it can go on. */
#include "postproc/totals/states_calls.h"

#include "base/index.h"
#include "base/search.h"

#define LISTED_MAX 256u	 /* claims of one lock: of more it is not said who waits for them */
#define MEMBERS_MAX 256u /* of a group, that are looked at */

struct claim {
	uint32_t window, rank;
	int32_t target; /* world rank; SIG_ANY: all of the window */
	int64_t n;	/* calls of Lock without those of Unlock */
	bool exclusive;
	bool in_use; /* its rank is in an access to that target: it may be about to let go */
};

/* Who claims a lock, of those that hinder. */
enum { ONLY_EXCLUSIVE = 1, ONLY_IDLE = 2, OF_WINDOW = 4 };

struct claims {
	uint32_t window, how;
	int32_t target;
	uint32_t first, n; /* in states.ranks */
};

struct states_locks {
	VEC(struct claim) claims; /* by window, target, rank */
	VEC(struct claims) lists;
	struct index index; /* of lists */
	bool unknown;	    /* of some rank it is not known what it claims */
	bool all_in_mpi;
};

/* ---- what each rank claims ---- */

static bool is_of_window(const struct sig *sig, uint32_t window)
{
	return sig->defined && sig->call.shape == SIG_RMA && sig->object == window;
}

static int by_place(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;
	if (x->window != y->window)
		return (x->window > y->window) - (x->window < y->window);
	if (x->target != y->target)
		return (x->target > y->target) - (x->target < y->target);
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool is_access(const struct sig *sig)
{
	return sig->call.rma == RMA_UNLOCK || sig->call.rma == RMA_FLUSH || sig->call.rma == RMA_FLUSH_LOCAL;
}

static bool is_in_use(const struct process *p, const struct claim *c)
{
	for (size_t i = 0; i < p->open.n; i++) {
		const struct sig *sig = &p->sigs.at[p->open.at[i].sig];
		if (is_of_window(sig, c->window) && is_access(sig) &&
		    (sig->peer == c->target || sig->peer == SIG_ANY || c->target == SIG_ANY))
			return true;
	}
	return false;
}

/* Totals know how often each was called, so what is left over is held. */
static int add_claims(struct states_locks *l, const struct step *s, uint32_t rank)
{
	const struct process *p = s->ranks[rank];
	size_t first = l->claims.n, left = first;
	for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		bool locks = sig->call.rma == RMA_LOCK;
		l->unknown |= states_is_hidden(s, sig);
		if (!sig->defined || sig->literal || sig->calls == 0 || sig->object == NONE ||
		    sig->call.shape != SIG_RMA || (!locks && sig->call.rma != RMA_UNLOCK) || rma_asserts_nocheck(sig) ||
		    (sig->call.flags & SIG_FAILED) != 0)
			continue;
		struct claim c = {.window = sig->object,
				  .rank = rank,
				  .target = sig->peer,
				  .n = locks ? (int64_t)sig->calls : -(int64_t)sig->calls,
				  .exclusive = locks && sig->call.lock_type == 2};
		if (vec_push(&l->claims, c) < 0)
			return -ENOMEM;
	}
	if (l->claims.n > first + 1)
		qsort(&l->claims.at[first], l->claims.n - first, sizeof(l->claims.at[0]), by_place);
	for (size_t i = first; i < l->claims.n; i++) {
		const struct claim *c = &l->claims.at[i];
		if (left > first && by_place(c, &l->claims.at[left - 1]) == 0) {
			l->claims.at[left - 1].n += c->n;
			l->claims.at[left - 1].exclusive |= c->exclusive;
		} else {
			l->claims.at[left++] = *c;
		}
	}
	l->claims.n = left;
	for (size_t i = left = first; i < l->claims.n; i++)
		if (l->claims.at[i].n > 0) {
			l->claims.at[left] = l->claims.at[i];
			l->claims.at[left].in_use = is_in_use(p, &l->claims.at[left]);
			left++;
		}
	l->claims.n = left;
	return 0;
}

/* Whatever a target must do it does, since it is in MPI, and was when the last samples were taken. */
static bool makes_progress(const struct states_of *x, uint32_t rank)
{
	const struct process *p = x->step->ranks[rank];
	for (size_t i = 0; p != NULL && i < p->open.n; i++)
		if (x->from->exact || p->open.at[i].stands)
			return true;
	return false;
}

/* Once for all ranks, when the first one is found that waits for a lock. */
static struct states_locks *locks_of(struct states_of *x)
{
	const struct step *s = x->step;
	if (x->locks != NULL)
		return x->locks;
	x->locks = calloc(1, sizeof(*x->locks));
	if (x->locks == NULL)
		return NULL;
	x->locks->all_in_mpi = true;
	for (uint32_t r = 0; r < s->nranks; r++) {
		x->locks->unknown |= s->ranks[r] == NULL;
		x->locks->all_in_mpi &= makes_progress(x, r);
		if (add_claims(x->locks, s, r) < 0)
			return NULL;
	}
	vec_sort(&x->locks->claims, by_place);
	return x->locks;
}

void states_locks_free(struct states_locks *l)
{
	if (l == NULL)
		return;
	vec_done(&l->claims);
	vec_done(&l->lists);
	index_done(&l->index);
	free(l);
}

/* ---- who hinders a lock ---- */

struct wanted {
	const struct states_locks *l;
	struct claims x;
};

static bool same_list(const void *context, uint32_t at)
{
	const struct wanted *w = context;
	const struct claims *c = &w->l->lists.at[at];
	return c->window == w->x.window && c->target == w->x.target && c->how == w->x.how;
}

static size_t place_of(const struct states_locks *l, uint32_t window, int64_t target)
{
	return search_first(0, l->claims.n, i,
			    l->claims.at[i].window < window ||
				    (l->claims.at[i].window == window && l->claims.at[i].target < target));
}

static int list_range(struct states_of *x, struct claims *c, int64_t from, int64_t to)
{
	const struct states_locks *l = x->locks;
	size_t end = place_of(l, c->window, to);
	for (size_t i = place_of(l, c->window, from); i < end && c->n <= LISTED_MAX; i++) {
		const struct claim *one = &l->claims.at[i];
		if (((c->how & ONLY_EXCLUSIVE) != 0 && !one->exclusive) || ((c->how & ONLY_IDLE) != 0 && one->in_use))
			continue;
		if (vec_push(&x->out.ranks, (int32_t)one->rank) < 0)
			return -ENOMEM;
		c->n++;
	}
	return 0;
}

/* All who wait for the same lock have one list. 0 or -ENOMEM. */
static int find_list(struct states_of *x, uint32_t window, int32_t target, uint32_t how, struct claims *ret_list)
{
	struct states_locks *l = x->locks;
	struct wanted want = {l, {.window = window, .how = how, .target = target}};
	uint64_t hash = index_mix((uint64_t)window << 32 | (uint32_t)target, how);
	uint32_t at = index_find(&l->index, hash, same_list, &want);
	if (at != INDEX_NONE) {
		*ret_list = l->lists.at[at];
		return 0;
	}
	want.x.first = (uint32_t)x->out.ranks.n;
	int code = list_range(x, &want.x, SIG_ANY, (how & OF_WINDOW) != 0 ? INT64_MAX : SIG_ANY + 1ll);
	if (code == 0 && (how & OF_WINDOW) == 0 && target != SIG_ANY)
		code = list_range(x, &want.x, target, target + 1ll);
	if (code == 0)
		code = vec_push(&l->lists, want.x);
	*ret_list = want.x;
	return code == 0 ? index_add(&l->index, hash, (uint32_t)l->lists.n - 1) : code;
}

/* Its own claim of what it accesses; NULL: it has none, or that is not known. */
static const struct claim *own_claim(const struct states_locks *l, uint32_t rank, uint32_t window, int32_t target)
{
	for (int any = 0; any < 2; any++) {
		struct claim want = {.window = window, .rank = rank, .target = any ? SIG_ANY : target};
		size_t at = search_first(0, l->claims.n, i, by_place(&l->claims.at[i], &want) < 0);
		if (at < l->claims.n && by_place(&l->claims.at[at], &want) == 0)
			return &l->claims.at[at];
	}
	return NULL;
}

static bool target_is_in_mpi(const struct states_of *x, uint32_t rank, const struct sig *sig)
{
	if (sig->peer < 0)
		return x->locks->all_in_mpi;
	return (uint32_t)sig->peer == rank ||
	       ((uint32_t)sig->peer < x->step->nranks && makes_progress(x, (uint32_t)sig->peer));
}

/* Which claims hinder it; false: that is not known. */
static bool hindered_by(const struct states_locks *l, uint32_t rank, const struct sig *sig, uint32_t *ret_how)
{
	uint32_t window = sig->peer == SIG_ANY ? OF_WINDOW : 0;
	if (sig->call.rma == RMA_LOCK) {
		*ret_how = window | (sig->call.lock_type == 2 ? 0 : ONLY_EXCLUSIVE);
		return !rma_asserts_nocheck(sig);
	}
	const struct claim *own = own_claim(l, rank, sig->object, sig->peer);
	if (own == NULL || (window != 0 && own->target != SIG_ANY))
		return false;
	*ret_how = window | ONLY_IDLE | (own->exclusive ? 0 : ONLY_EXCLUSIVE);
	return true;
}

static int add_lock(struct states_of *x, struct state *t, const struct sig *sig)
{
	struct states_locks *l = locks_of(x);
	struct claims c = {.n = 0};
	uint32_t how;
	if (l == NULL)
		return -ENOMEM;
	bool known = !l->unknown && hindered_by(l, t->rank, sig, &how) && target_is_in_mpi(x, t->rank, sig);
	int code = known ? find_list(x, sig->object, sig->peer, how, &c) : 0;
	bool others = c.n > 1 || (c.n == 1 && x->out.ranks.at[c.first] != (int32_t)t->rank);
	if (others && c.n <= LISTED_MAX)
		t->kind = STATE_ALL;
	code = code == 0 ? states_add(&x->out, t) : code;
	if (code < 0 || t->kind == STATE_FREE)
		return code;
	return states_want(&x->out,
			   &(struct want){.kind = WANT_RANKS, .object = WANT_UNLOCK, .first = c.first, .n = c.n});
}

/* ---- epochs of groups ---- */

/* What a rank has called on a window. */
struct epoch_calls {
	uint64_t with, all; /* that began an epoch, for the other rank as well, and in all */
	uint64_t ended;
	bool unknown;
};

static bool names(const struct sig *sig, uint32_t rank)
{
	for (uint32_t i = 0; i < sig->call.nlist; i++) {
		int64_t from = (int64_t)rank - (int32_t)sig->call.list[i], n = (int64_t)(sig->call.list[i] >> 48);
		int64_t stride = (int16_t)(sig->call.list[i] >> 32);
		if (n > 0 &&
		    (from == 0 || (stride != 0 && from % stride == 0 && from / stride > 0 && from / stride < n)))
			return true;
	}
	return false;
}

static struct epoch_calls calls_of(const struct step *s, uint32_t rank, uint32_t window, enum sig_rma begins,
				   enum sig_rma ends, uint32_t with)
{
	const struct process *p = s->ranks[rank];
	struct epoch_calls e = {.unknown = p == NULL};
	for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		e.unknown |= states_is_hidden(s, sig);
		if (!is_of_window(sig, window) || sig->literal || (sig->call.flags & (SIG_FAILED | SIG_POLLS)) != 0)
			continue;
		if (sig->call.rma == ends)
			e.ended += sig->calls;
		if (sig->call.rma != begins)
			continue;
		e.unknown |= sig->call.nlist >= SIG_GROUP_WORDS_MAX;
		e.all += sig->calls;
		e.with += names(sig, with) ? sig->calls : 0;
	}
	return e;
}

/* The other one has not done its part of one of the epochs that this rank began with it: `mine` with it, of the call
 * at hand too. */
static bool is_missing(const struct states_of *x, uint32_t rank, const struct sig *sig, uint32_t other, uint64_t mine)
{
	const struct step *s = x->step;
	struct epoch_calls e;
	if (sig->call.rma != RMA_WAIT) {
		e = calls_of(s, other, sig->object, RMA_POST, RMA_WAIT, rank);
		return !e.unknown && e.with < mine;
	}
	e = calls_of(s, other, sig->object, RMA_START, RMA_COMPLETE, rank);
	/* of the epoch that it is in it may be the other's as well, if all of its epochs are */
	return !e.unknown && (e.with < mine || (e.with == e.all && e.ended < mine));
}

/* Each that this signature names, and none before it did. */
static int want_group(struct states_of *x, struct state *t, const struct sig *open, size_t at, const struct sig *group)
{
	uint32_t looks = 0;
	enum sig_rma begins = open->call.rma == RMA_WAIT ? RMA_POST : RMA_START;
	const struct process *p = x->step->ranks[t->rank];
	struct state *added = &x->out.threads.at[x->out.threads.n - 1];
	int code = 0;
	for (uint32_t i = 0; i < group->call.nlist; i++) {
		int64_t rank = (int32_t)group->call.list[i];
		for (uint64_t k = 0; k < group->call.list[i] >> 48 && code == 0 && looks < MEMBERS_MAX;
		     k++, rank += (int16_t)(group->call.list[i] >> 32)) {
			looks++;
			bool before = rank < 0 || rank >= (int64_t)x->step->nranks;
			for (size_t j = 0; j < at && !before; j++)
				before = is_of_window(&p->sigs.at[j], open->object) &&
					 p->sigs.at[j].call.rma == begins && p->sigs.at[j].calls > 0 &&
					 names(&p->sigs.at[j], (uint32_t)rank);
			if (before)
				continue;
			struct epoch_calls mine =
				calls_of(x->step, t->rank, open->object, begins, RMA_OTHER, (uint32_t)rank);
			uint64_t epochs = mine.with + (open->call.rma == RMA_START && names(open, (uint32_t)rank));
			if (mine.unknown || !is_missing(x, t->rank, open, (uint32_t)rank, epochs))
				continue;
			struct want w = {.object = begins == RMA_POST ? WANT_COMPLETE : WANT_POST};
			code = states_want_ranks(&x->out, w, (int32_t[]){(int32_t)rank}, 1);
			added->kind = STATE_ALL;
		}
	}
	return code;
}

static int add_epoch(struct states_of *x, struct state *t, const struct sig *open)
{
	enum sig_rma begins = open->call.rma == RMA_WAIT ? RMA_POST : RMA_START;
	const struct process *p = x->step->ranks[t->rank];
	int code = states_add(&x->out, t);
	if (rma_asserts_nocheck(open))
		return code;
	for (size_t i = 0; i < p->sigs.n && code == 0; i++) {
		const struct sig *sig = &p->sigs.at[i];
		bool began = is_of_window(sig, open->object) && sig->call.rma == begins && !sig->literal &&
			     sig->call.nlist < SIG_GROUP_WORDS_MAX && (sig->calls > 0 || sig == open);
		if (began)
			code = want_group(x, t, open, i, sig);
	}
	return code;
}

int states_rma(struct states_of *x, struct state *t, const struct open_sig *open)
{
	const struct sig *sig = &x->step->ranks[t->rank]->sigs.at[open->sig];
	if (sig->object == NONE || (sig->call.flags & SIG_POLLS) != 0)
		return states_add(&x->out, t);
	switch (sig->call.rma) {
	case RMA_START:
	case RMA_COMPLETE:
	case RMA_WAIT:
		return add_epoch(x, t, sig);
	case RMA_LOCK:
	case RMA_UNLOCK:
	case RMA_FLUSH:
	case RMA_FLUSH_LOCAL:
		return add_lock(x, t, sig);
	default:
		return states_add(&x->out, t);
	}
}
