/* wait_states.c - what each call waited for, by Scalasca's definitions (docs/SEMANTICS.md, wait states). One call that
 * completes many messages waits for the latest, not for their sum; a late receiver counts where no sender was late. */
#include "postproc/totals/bytes.h"
#include "postproc/stream/rma.h"
#include "postproc/stream/stream.h"
#include "postproc/stream/last.h"
#include "postproc/stream/threads.h"

struct wait *wait_begin(struct shard *sh, uint32_t rank, uint32_t site, const struct moment *call)
{
	struct wait *w = slab_take(&sh->waits);
	if (w != NULL)
		*w = (struct wait){.call = *call, .rank = rank, .site = site, .from_ns = call->start_ns};
	return w;
}

/* call: the causer's, or that of which the end counts; NULL: none. */
static int note(struct shard *sh, struct wait *w, enum wait_state state, int64_t ns, uint32_t causer,
		const struct position *call, bool part)
{
	bool clipped = false;
	int64_t left = w->call.end_ns - w->call.start_ns - w->wait_ns; /* no call waits longer than it lasts */
	if (ns > left && !part) {
		clipped = true;
		ns = left;
	}
	if (ns <= 0)
		return 0;
	struct waited *x = vec_more(&sh->waited);
	if (x == NULL)
		return -ENOMEM;
	*x = (struct waited){.call = w->call,
			     .rank = w->rank,
			     .site = w->site,
			     .state = state,
			     .ns = ns,
			     .causer = causer,
			     .until_causer = !clipped && !part && w->wait_ns == 0 && causer != NONE,
			     .since = !clipped && causer == NONE && call != NULL,
			     .part = part};
	if (call != NULL)
		x->causer_at = *call;
	struct tally *t = &sh->tally;
	struct wait_case c = {state, w->rank, w->site, w->call.start_ns, w->call.end_ns, ns, causer};
	if (waits_note(&t->waits, &c, part) < 0)
		return -ENOMEM;
	if (!part) {
		int64_t from = w->call.start_ns + w->wait_ns;
		if (sh->stream->lanes[w->call.at.lane].thread == 0)
			tally_stretch(t, from, from + ns, &t->windows[0].wait_ns);
		threads_waited(sh->stream, w, ns);
		last_note(sh->stream, w, state, ns, causer);
		w->wait_ns += ns;
	}
	return 0;
}

int wait_note(struct shard *sh, struct wait *w, enum wait_state state, int64_t ns, const struct arrival *causer,
	      bool part)
{
	bool known = causer->rank != NONE;
	if (__builtin_expect(w->poll != NULL, false) && known && !part) {
		int code = poll_until(sh, w, causer);
		if (code < 0 || (code = poll_over(sh, w)) < 0)
			return code;
	}
	return note(sh, w, state, ns, causer->rank, known ? &causer->at : NULL, part);
}

/* The same from when the call at *end was over: nobody caused that. */
static int wait_note_since(struct shard *sh, struct wait *w, enum wait_state state, int64_t ns,
			   const struct position *end)
{
	return note(sh, w, state, ns, NONE, end, false);
}

int claim_close(struct shard *sh, struct claim *c)
{
	int code = 0;
	if (!c->closed || !c->received)
		return 0;
	struct wait w = {.call = c->call, .rank = c->rank, .site = c->site, .from_ns = c->call.start_ns};
	if (c->ns > 0)
		code = wait_note(sh, &w, LATE_SENDER_WRONG_ORDER, c->ns, &c->sender, true);
	slab_give(&sh->claims, c);
	return code;
}

static int close_claim(struct shard *sh, struct wait *w)
{
	struct claim *c = w->claim;
	c->call = w->call;
	c->rank = w->rank;
	c->site = w->site;
	c->sender = w->causer;
	c->ns = w->other_ns;
	c->closed = true;
	return claim_close(sh, c);
}

int wait_close(struct shard *sh, struct wait *w)
{
	int code = 0;
	int64_t before = w->call.start_ns - w->from_ns; /* that it was tested for */
	if (--w->open > 0)
		return 0;
	if (w->late_ns > 0)
		code = wait_note(sh, w, w->state, w->late_ns - (w->state != LATE_PROGRESS ? before : 0), &w->causer,
				 false);
	if (code == 0 && w->claim != NULL)
		code = close_claim(sh, w);
	if (code == 0 && w->poll != NULL)
		code = poll_over(sh, w);
	histogram_add(&sh->tally.waited, w->wait_ns);
	slab_give(&sh->waits, w);
	return code;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Only a send that was still there when the receive was started can have waited for it. */
static void late_receiver(const struct send *x)
{
	struct wait *w = x->wait;
	if (!x->matched || x->done.end_ns < x->recv_start.ns)
		return;
	int64_t ns = least(x->done.end_ns, x->recv_start.ns) - w->from_ns;
	if (wait_is_longer(w, LATE_RECEIVER, ns))
		wait_late(w, LATE_RECEIVER, ns, x->recv_start);
}

static int classify_send(struct shard *sh, struct send *x)
{
	int code = 0;
	if (x->wait != NULL) {
		late_receiver(x);
		code = wait_close(sh, x->wait);
	}
	if (x->edge != NULL && vec_push(&sh->dropped, x->edge) < 0) /* nobody waited for it */
		code = -ENOMEM;
	slab_give(&sh->sends, x);
	return code;
}

/* ---- collectives ---- */

static int64_t clip(const struct part *p, int64_t until_ns)
{
	return least(p->done.end_ns, until_ns) - p->done.start_ns;
}

static int all_for_all(struct shard *sh, const struct collective *m, struct part *p, enum wait_state waiting,
		       enum wait_state completion)
{
	bool completes = p->causer.rank != NONE; /* who came last to complete it, and not who came last to start it */
	const struct arrival *last = completes ? &p->causer : &m->last;
	int64_t out_ns = m->first_out.rank != NONE ? m->first_out.ns : INT64_MAX;
	int64_t from = out_ns > p->done.start_ns ? out_ns : p->done.start_ns;
	int code = wait_note(sh, p->wait, waiting, clip(p, last->ns), last, false);
	if (code == 0 && completes && last->ns > from)
		return wait_note(sh, p->wait, completion, p->done.end_ns - last->ns, &NOBODY, false);
	return code < 0 ? code : wait_note_since(sh, p->wait, completion, p->done.end_ns - from, &m->first_out.at);
}

/* The root cannot begin before the first member has come, nor end before the last. */
static int at_root(struct shard *sh, const struct collective *m, const struct part *p)
{
	const struct arrival *first = &m->first_leaf, *last = &m->last_leaf;
	int64_t from = first->ns > p->done.start_ns ? first->ns : p->done.start_ns;
	if (p->rank != m->root_arrival.rank || first->rank == NONE)
		return 0;
	int code = wait_note(sh, p->wait, EARLY_REDUCE, clip(p, first->ns), first, false);
	return code < 0 ? code
			: wait_note(sh, p->wait, LATE_REDUCE, least(p->done.end_ns, last->ns) - from, last, false);
}

static int at_leaf(struct shard *sh, const struct collective *m, const struct part *p)
{
	const struct arrival *root = &m->root_arrival;
	bool waits =
		p->rank != root->rank && root->rank != NONE && shard_sig(sh, p->rank, p->sig)->peer != SIG_PROC_NULL;
	return waits ? wait_note(sh, p->wait, LATE_BROADCAST, clip(p, root->ns), root, false) : 0;
}

/* As others come late to their part, beside what was waited for root or leaves. */
static int for_member(struct shard *sh, const struct part *p)
{
	int64_t from = p->done.start_ns + p->wait->wait_ns;
	return p->causer.rank == NONE ? 0
				      : wait_note(sh, p->wait, WAIT_FOR_MEMBER, p->causer.ns - from, &p->causer, false);
}

/* A neighbourhood's member waits for those who send to it, a scan's for those before it. */
static int for_some(struct shard *sh, const struct part *p, enum wait_state state)
{
	return p->causer.rank == NONE ? 0 : wait_note(sh, p->wait, state, clip(p, p->causer.ns), &p->causer, false);
}

/* Where a call need not wait for all, only one that was still there when the last came can have waited. */
static int classify_sync(struct shard *sh, const struct collective *whole, const struct part *p)
{
	static const enum wait_state states[] = {WAIT_AT_CREATE,	WAIT_AT_FENCE,	     WAIT_AT_FREE,
						 WAIT_AT_COLLECTIVE_IO, WAIT_AT_COMM_CREATE, WAIT_AT_COMM_FREE};
	const struct arrival *last = &whole->last;
	bool may_leave = sync_may_leave(whole->coll) || rma_asserts_noprecede(shard_sig(sh, p->rank, p->sig));
	if (whole->coll < SYNC_CREATE || (may_leave && p->done.end_ns < last->ns))
		return 0;
	return wait_note(sh, p->wait, states[whole->coll - SYNC_CREATE], clip(p, last->ns), last, false);
}

static int classify_part(struct shard *sh, const struct collective *m, struct part *p)
{
	int code;
	switch (m->coll) {
	case COLL_BARRIER:
		return all_for_all(sh, m, p, WAIT_AT_BARRIER, BARRIER_COMPLETION);
	case COLL_ALLREDUCE:
	case COLL_ALLGATHER:
	case COLL_ALLGATHERV:
	case COLL_ALLTOALL:
	case COLL_ALLTOALLV:
	case COLL_REDUCE_SCATTER:
	case COLL_REDUCE_SCATTER_BLOCK:
		return all_for_all(sh, m, p, WAIT_AT_NXN, NXN_COMPLETION);
	case COLL_BCAST:
	case COLL_SCATTER:
	case COLL_SCATTERV:
		code = at_leaf(sh, m, p);
		return code < 0 ? code : for_member(sh, p);
	case COLL_REDUCE:
	case COLL_GATHER:
	case COLL_GATHERV:
		code = at_root(sh, m, p);
		return code < 0 ? code : for_member(sh, p);
	case COLL_SCAN:
	case COLL_EXSCAN:
		return for_some(sh, p, EARLY_SCAN);
	case COLL_NEIGHBOR:
	case COLL_NEIGHBOR_ALLGATHERV:
	case COLL_NEIGHBOR_ALLTOALLV:
		return for_some(sh, p, WAIT_AT_NEIGHBORS);
	default:
		return classify_sync(sh, m, p);
	}
}

/* To the call that moved them: a persistent operation's to its start. */
static int move_bytes(struct shard *sh, const struct collective *whole, const struct part *p)
{
	struct process *process = sh->stream->step->ranks[p->rank];
	struct sig *sig = &process->sigs.at[p->sig];
	if (p->starter != NONE) {
		process->sigs.at[p->starter].started_bytes += p->came;
	} else if (whole->entered == sh->stream->step->comms.at[whole->comm].here &&
		   bytes_need_partners(sh->stream->step, sig)) {
		sig->came_bytes += p->came;
		sig->came_calls++;
	}
	return p->came > 0 ? vec_push(&sh->came, (struct came){p->start, p->rank, p->came}) : 0;
}

static int classify_collective(struct shard *sh, struct collective *m)
{
	const struct collective *whole = m->whole;
	bool whole_is_known =
		!whole->differs && whole->entered > 1 && whole->entered == sh->stream->step->comms.at[whole->comm].here;
	int code = 0;
	for (struct part *p = m->parts, *next; p != NULL && code == 0; p = next) {
		next = p->next;
		if (p->wait != NULL && whole_is_known)
			code = classify_part(sh, whole, p);
		if (p->wait != NULL && code == 0)
			code = wait_close(sh, p->wait);
		if (code == 0)
			code = move_bytes(sh, whole, p);
		slab_give(&sh->parts, p);
	}
	return code;
}

static void unlink_local(struct shard *sh, struct collective *m)
{
	uint64_t hash = collective_hash(m->comm, m->channel, m->k);
	struct collective **at = &sh->collective_table[hash & (sh->collective_buckets - 1)];
	while (*at != m)
		at = &(*at)->link;
	*at = m->link;
	sh->nmeets--;
	slab_give(&sh->collectives, m);
}

/* Memory of what the operations after one of the list need: they, their parts, what those name. */
static void ask_decided(const struct mail *m, size_t i)
{
	struct collective *const *at = m->decided.at + i;
	size_t left = m->decided.n - i;
	if (left > 2 * AHEAD)
		prefetch(at[2 * AHEAD], sizeof(struct collective));
	if (left > 3 * AHEAD / 2) {
		prefetch(at[3 * AHEAD / 2]->whole, sizeof(struct collective));
		prefetch(at[3 * AHEAD / 2]->parts, sizeof(struct part));
	}
	if (left > AHEAD)
		prefetch(at[AHEAD]->parts->next, sizeof(struct part));
	for (const struct part *p = left > AHEAD / 2 ? at[AHEAD / 2]->parts : NULL; p != NULL; p = p->next) {
		prefetch(p->next, sizeof(struct part));
		prefetch(p->wait, sizeof(struct wait));
	}
}

void classify_window(struct shard *sh)
{
	for (uint32_t from = 0; from < sh->stream->nshards; from++) {
		struct mail *m = mail_from(sh, from);
		for (size_t i = 0; i < m->classified.n && sh->code == 0; i++) {
			if (i + AHEAD < m->classified.n)
				prefetch(m->classified.at[i + AHEAD], sizeof(struct send));
			if (i + AHEAD / 2 < m->classified.n && m->classified.at[i + AHEAD / 2]->wait != NULL)
				prefetch(m->classified.at[i + AHEAD / 2]->wait, sizeof(struct wait));
			sh->code = classify_send(sh, m->classified.at[i]);
		}
		m->classified.n = 0;
	}
	for (uint32_t from = 0; from < sh->stream->nshards; from++) {
		struct mail *m = mail_from(sh, from);
		for (size_t i = 0; i < m->decided.n && sh->code == 0; i++) {
			ask_decided(m, i);
			sh->code = classify_collective(sh, m->decided.at[i]);
			if (sh->code == 0)
				unlink_local(sh, m->decided.at[i]);
		}
		m->decided.n = 0;
	}
}
