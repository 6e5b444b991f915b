/* rma_epochs.c - general active target synchronisation: the n-th access epoch of an origin that names a target belongs
 * to the n-th exposure epoch of that target which names the origin (MPI 4.0, section 12.5.2). The origin's shard hears
 * of posts, the target's of completes; each classifies its own calls when its epoch is closed and all partners have
 * come. */
#include "postproc/stream/rma.h"

/* ---- groups ---- */

/* Of how many ranks of this world, or 0 if not all are known. */
static uint32_t group_size(const struct shard *sh, const struct sig *sig)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < sig->call.nlist; i++)
		n += sig->call.list[i] >> 48;
	return sig->call.nlist >= SIG_GROUP_WORDS_MAX || n > sh->stream->step->nranks ? 0 : (uint32_t)n;
}

static int by_rank(const void *a, const void *b)
{
	const struct partner *x = a, *y = b;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Those of the group that are in the record, each once. */
static uint32_t group_partners(const struct shard *sh, const struct sig *sig, struct partner *at)
{
	const struct step *s = sh->stream->step;
	uint32_t n = 0, distinct = 0;
	for (uint32_t i = 0; i < sig->call.nlist; i++) {
		int64_t rank = (int32_t)sig->call.list[i];
		for (uint64_t k = 0; k < sig->call.list[i] >> 48; k++, rank += (int16_t)(sig->call.list[i] >> 32))
			if (rank >= 0 && rank < s->nranks && s->ranks[rank] != NULL)
				at[n++] = (struct partner){.rank = (uint32_t)rank, .longest_sig = NONE};
	}
	if (n > 1)
		qsort(at, n, sizeof(*at), by_rank);
	for (uint32_t i = 0; i < n; i++)
		if (distinct == 0 || at[distinct - 1].rank != at[i].rank)
			at[distinct++] = at[i];
	return distinct;
}

static struct partner *partner_of(struct epoch *e, uint32_t rank)
{
	struct partner want = {.rank = rank};
	return e->n == 0 ? NULL : bsearch(&want, e->at, e->n, sizeof(want), by_rank);
}

/* ---- what an epoch waited for ---- */

/* The latest partner that came while the call was there. */
static const struct partner *latest_in(const struct epoch *e, const struct moment *call)
{
	const struct partner *best = NULL;
	for (uint32_t i = 0; i < e->n; i++) {
		const struct partner *p = &e->at[i];
		if (p->matched && p->call.start_ns > call->start_ns && p->call.start_ns <= call->end_ns &&
		    (best == NULL || p->call.start_ns > best->call.start_ns))
			best = p;
	}
	return best;
}

static int wait_until_post(struct shard *sh, uint32_t rank, uint32_t sig, const struct moment *call,
			   enum wait_state state, const struct partner *p)
{
	struct wait w = {.call = *call, .rank = rank, .site = shard_sig(sh, rank, sig)->site};
	struct arrival causer = arrival_of(p->rank, &p->call);
	int code = wait_note(sh, &w, state, p->call.start_ns - call->start_ns, &causer, false);
	histogram_add(&sh->tally.waited, w.wait_ns);
	return code;
}

static int classify_access(struct shard *sh, uint32_t rank, const struct epoch *e)
{
	const struct partner *first = latest_in(e, &e->open), *last = latest_in(e, &e->close);
	int code = 0;
	if (first != NULL)
		code = wait_until_post(sh, rank, e->open_sig, &e->open, LATE_POST, first);
	for (uint32_t i = 0; i < e->n && code == 0; i++) {
		const struct partner *p = &e->at[i];
		if (p->matched && p->longest_sig != NONE && p->call.start_ns > p->longest.start_ns &&
		    p->call.start_ns <= p->longest.end_ns)
			code = wait_until_post(sh, rank, p->longest_sig, &p->longest, EARLY_TRANSFER, p);
	}
	if (last != NULL && code == 0)
		code = wait_until_post(sh, rank, e->close_sig, &e->close, LATE_POST, last);
	return code;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int classify_exposure(struct shard *sh, uint32_t rank, const struct epoch *e)
{
	const struct partner *last = NULL;
	for (uint32_t i = 0; i < e->n; i++)
		if (e->at[i].matched && (last == NULL || e->at[i].call.start_ns > last->call.start_ns))
			last = &e->at[i];
	if (last == NULL)
		return 0;
	struct wait w = {.call = e->close, .rank = rank, .site = shard_sig(sh, rank, e->close_sig)->site};
	int64_t until = least(e->close.end_ns, last->call.start_ns);
	int64_t since = last->its_access_ns > e->close.start_ns ? last->its_access_ns : e->close.start_ns;
	struct arrival causer = arrival_of(last->rank, &last->call);
	int code = wait_note(sh, &w, EARLY_WAIT, until - e->close.start_ns, &causer, false);
	if (code == 0)
		code = wait_note(sh, &w, LATE_COMPLETE, until - since, &causer, true);
	histogram_add(&sh->tally.waited, w.wait_ns);
	return code;
}

/* ---- epochs ---- */

static void append(struct epochs *es, struct epoch *e)
{
	if (es->newest == NULL)
		es->oldest = e;
	else
		es->newest->next = e;
	es->newest = e;
}

static void take_out(struct epochs *es, struct epoch *e)
{
	struct epoch *before = NULL;
	for (struct epoch *x = es->oldest; x != e; x = x->next)
		before = x;
	if (before == NULL)
		es->oldest = e->next;
	else
		before->next = e->next;
	if (es->newest == e)
		es->newest = before;
	free(e);
}

static void pair(struct epoch *e, struct partner *p, const struct arrived *x)
{
	p->matched = true;
	p->call = x->call;
	p->its_access_ns = x->access_ns;
	e->nmet++;
}

static int by_sender(const void *a, const void *b)
{
	const struct arrived *x = a, *y = b;
	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
				  : (x->order > y->order) - (x->order < y->order);
}

/* Those that came before the epoch began: of each partner the first. */
static void take_early(struct epochs *es, struct epoch *e)
{
	size_t left = 0;
	vec_sort(&es->early, by_sender);
	for (size_t i = 0; i < es->early.n; i++) {
		struct partner *p = partner_of(e, es->early.at[i].rank);
		if (p != NULL && !p->matched)
			pair(e, p, &es->early.at[i]);
		else
			es->early.at[left++] = es->early.at[i];
	}
	es->early.n = left;
}

static int begin(const struct shard *sh, struct epochs *es, uint32_t rank, uint32_t sig_at, const struct moment *call)
{
	const struct sig *sig = shard_sig(sh, rank, sig_at);
	struct epoch *e = calloc(1, sizeof(*e) + group_size(sh, sig) * sizeof(e->at[0]));
	if (e == NULL)
		return -ENOMEM;
	e->open = *call;
	e->open_sig = sig_at;
	if (group_size(sh, sig) > 0)
		e->n = group_partners(sh, sig, e->at);
	append(es, e);
	es->now = e;
	take_early(es, e);
	return 0;
}

/* Of a rank whose record ended before, nothing will be heard. */
static bool is_cut(const struct process *p, int64_t ns)
{
	for (size_t i = 0; i < p->threads.n; i++) {
		const struct thread *t = &p->threads.at[i];
		if (t->lost > 0 && t->lost_from_ns != TIME_ABSENT && t->lost_from_ns <= ns)
			return true;
	}
	return false;
}

static void give_up(const struct shard *sh, struct epoch *e)
{
	for (uint32_t i = 0; i < e->n; i++) {
		struct partner *p = &e->at[i];
		p->given_up = !p->matched && is_cut(sh->stream->step->ranks[p->rank], e->close.end_ns);
		e->nmet += p->given_up;
	}
}

static int end_if_matched(struct shard *sh, struct epochs *es, struct epoch *e, uint32_t rank, bool access)
{
	if (!e->closed || e->nmet < e->n)
		return 0;
	int code = access ? classify_access(sh, rank, e) : classify_exposure(sh, rank, e);
	take_out(es, e);
	return code;
}

static int end(struct shard *sh, struct epochs *es, uint32_t rank, uint32_t sig_at, const struct moment *call,
	       bool access)
{
	struct epoch *e = es->now;
	if (e == NULL)
		return 0;
	e->closed = true;
	e->close = *call;
	e->close_sig = sig_at;
	es->now = NULL;
	give_up(sh, e);
	return end_if_matched(sh, es, e, rank, access);
}

/* Tell the partners of the epoch. */
static int notify_partners(const struct shard *sh, const struct epoch *e, uint32_t rank, uint32_t window,
			   const struct moment *call, bool complete)
{
	for (uint32_t i = 0; i < e->n; i++) {
		const struct partner *p = &e->at[i];
		struct arrived x = {.rank = rank, .to = p->rank, .window = window, .complete = complete, .call = *call};
		x.access_ns = p->longest_sig != NONE ? p->access_ns : e->open.end_ns;
		if (vec_push(&rma_mail_to(sh, p->rank)->arrived, x) < 0)
			return -ENOMEM;
	}
	return 0;
}

int epochs_call(struct shard *sh, struct object_use *u, uint32_t rank, uint32_t sig_at, const struct moment *call)
{
	enum sig_rma kind = shard_sig(sh, rank, sig_at)->call.rma;
	int code = 0;
	if (kind == RMA_START)
		return begin(sh, &u->accesses, rank, sig_at, call);
	if (kind == RMA_WAIT)
		return end(sh, &u->exposures, rank, sig_at, call, false);
	if (kind == RMA_POST)
		code = begin(sh, &u->exposures, rank, sig_at, call);
	const struct epoch *e = kind == RMA_POST ? u->exposures.now : u->accesses.now;
	if (code == 0 && e != NULL)
		code = notify_partners(sh, e, rank, u->object, call, kind == RMA_COMPLETE);
	return code < 0 || kind == RMA_POST ? code : end(sh, &u->accesses, rank, sig_at, call, true);
}

int epochs_access(struct object_use *u, const struct sig *sig, uint32_t sig_at, const struct moment *call)
{
	struct epoch *e = u->accesses.now;
	struct partner *p = e != NULL && sig->peer >= 0 ? partner_of(e, (uint32_t)sig->peer) : NULL;
	if (p == NULL)
		return e != NULL;
	if (p->longest_sig == NONE || call->end_ns - call->start_ns > p->longest.end_ns - p->longest.start_ns) {
		p->longest = *call;
		p->longest_sig = sig_at;
	}
	p->access_ns = call->end_ns;
	return 1;
}

int epochs_arrive(struct shard *sh, const struct arrived *x)
{
	struct object_use *u = rma_use(sh, x->to, x->window, false);
	if (u == NULL)
		return -ENOMEM;
	struct epochs *es = x->complete ? &u->exposures : &u->accesses;
	for (struct epoch *e = es->oldest; e != NULL; e = e->next) {
		struct partner *p = partner_of(e, x->rank);
		if (p == NULL || p->matched || p->given_up)
			continue;
		pair(e, p, x);
		return end_if_matched(sh, es, e, x->to, !x->complete);
	}
	struct arrived early = *x;
	early.order = es->arrivals++;
	return vec_push(&es->early, early);
}

static void drop(struct epochs *es)
{
	for (struct epoch *e = es->oldest, *next; e != NULL; e = next) {
		next = e->next;
		free(e);
	}
	vec_done(&es->early);
}

void epochs_done(struct object_use *u)
{
	drop(&u->accesses);
	drop(&u->exposures);
}
