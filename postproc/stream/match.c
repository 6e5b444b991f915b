/* match.c - which send belongs to which receive (MPI 3.1, 3.5, "Order"). Messages of one envelope (communicator,
 * sender, receiver, tag) are received in the order in which they were sent, by the receives that got this envelope in
 * the order in which those were posted. What a receive got is certain when it is completed: wildcards get their source
 * then, and a cancelled one gets nothing. So a receive is met when it is over, those of its envelope posted before it
 * are met, and no earlier wildcard that could have got the same message is still open. */
#include "postproc/stream/check.h"
#include "postproc/stream/envelope.h"
#include "postproc/stream/unmatched.h"

#define OTHERS_MAX 256u /* messages looked at for one that could have been received instead */

/* ---- receives ---- */

/* Look at it again: something has changed for its first receive. */
static int mark_open(struct shard *sh, struct envelope *v)
{
	if (v->open)
		return 0;
	v->open = true;
	return vec_push(&sh->open, v);
}

/* In its envelope, by order of posting. */
static int enlist(struct shard *sh, struct recv *r)
{
	struct envelope *v =
		envelope_of(sh, r->comm, (uint32_t)r->peer, r->rank, r->tag, (r->flags & SENT_PARTITIONED) != 0);
	if (v == NULL)
		return -ENOMEM;
	r->envelope = v;
	r->next = NULL;
	if (v->recv == NULL) {
		v->recv = v->last_recv = r;
	} else if (v->last_recv->order < r->order) {
		v->last_recv->next = r;
		v->last_recv = r;
	} else {
		struct recv **at = &v->recv;
		while ((*at)->order < r->order)
			at = &(*at)->next;
		r->next = *at;
		*at = r;
	}
	return 0;
}

int match_post(struct shard *sh, struct recv *r)
{
	if ((r->flags & RECV_WILD) != 0)
		return vec_push(&sh->stream->ranks[r->rank].wild, r);
	return r->peer >= 0 ? enlist(sh, r) : 0;
}

int edge_drop(struct shard *sh, struct edge *e)
{
	return e != NULL ? vec_push(&sh->dropped, e) : 0;
}

struct edge *edge_share(struct shard *sh, struct edge *e)
{
	if (e == NULL || e->refs == UINT16_MAX || (team_shares(sh->stream) && vec_push(&sh->shared, e->number) < 0))
		return NULL;
	e->refs++;
	return e;
}

int need_resolve(struct shard *sh, struct need *n, struct edge *e)
{
	n->edge = e;
	n->state = e != NULL ? EDGE_KNOWN : EDGE_NONE;
	return n->given_up ? vec_push(&sh->settled, n) : 0;
}

/* Nothing is expected any more: count what has no partner. */
static int give_up(struct shard *sh, struct recv *r)
{
	int code = r->wait != NULL ? wait_close(sh, r->wait) : 0;
	if ((r->need != NULL && need_resolve(sh, r->need, NULL) < 0) || edge_drop(sh, r->edge) < 0)
		code = -ENOMEM;
	slab_give(&sh->recvs, r);
	return code;
}

static int release(struct shard *sh, struct rank_stream *rank)
{
	for (size_t i = 0; i < rank->held.n; i++) {
		rank->held.at[i]->held = false;
		if (mark_open(sh, rank->held.at[i]) < 0)
			return -ENOMEM;
	}
	rank->held.n = 0;
	return 0;
}

static int wild_over(struct shard *sh, struct recv *r)
{
	struct rank_stream *rank = &sh->stream->ranks[r->rank];
	size_t i = 0, n = rank->wild.n;
	while (i < n && rank->wild.at[i] != r)
		i++;
	if (i < n) {
		memmove(rank->wild.at + i, rank->wild.at + i + 1, (n - i - 1) * sizeof(*rank->wild.at));
		rank->wild.n--;
	}
	return release(sh, rank);
}

int match_over(struct shard *sh, struct recv *r)
{
	int code = 0;
	r->over = true;
	if ((r->flags & RECV_WILD) != 0) {
		code = wild_over(sh, r);
		if (code == 0 && !r->cancelled && r->peer >= 0)
			code = enlist(sh, r);
	}
	if (code < 0)
		return code;
	if (r->envelope == NULL) { /* cancelled, or nobody knows from whom */
		if (!r->cancelled && r->peer != SIG_PROC_NULL) {
			sh->unmatched.recvs++;
			sh->unmatched.unknown_source++;
			sh->stream->ranks[r->rank].nameless++;
		}
		return give_up(sh, r);
	}
	return vec_push(&sh->ready, r);
}

/* Is a wildcard posted earlier still open that could have got the message? */
static bool is_held(const struct shard *sh, const struct recv *r)
{
	const struct rank_stream *rank = &sh->stream->ranks[r->rank];
	for (size_t i = 0; i < rank->wild.n && rank->wild.at[i]->order < r->order; i++) {
		const struct recv *w = rank->wild.at[i];
		const struct sig *sig = shard_sig(sh, r->rank, w->sig);
		bool any_tag = (sig->call.flags & SIG_ANY_TAG) != 0,
		     any_source = (sig->call.flags & SIG_ANY_SOURCE) != 0;
		if (w->comm == r->comm && (any_tag || w->tag == r->tag) && (any_source || sig->recv_peer == r->peer))
			return true;
	}
	return false;
}

/* ---- sends ---- */

int match_send(struct shard *sh, struct send *x)
{
	x->slice = sh->stream->slice;
	return vec_push(&mail_to(sh, shard_of(sh->stream, x->peer))->sends, x);
}

int match_send_over(struct shard *sh, struct send *x)
{
	x->over = true;
	if (x->slice == sh->stream->slice)
		return 0;
	return vec_push(&mail_to(sh, shard_of(sh->stream, x->peer))->over, x);
}

static int add_send(struct shard *sh, struct send *x)
{
	struct envelope *v = envelope_of(sh, x->comm, x->rank, x->peer, x->tag, (x->flags & SENT_PARTITIONED) != 0);
	if (v == NULL)
		return -ENOMEM;
	x->next = NULL;
	if (v->send == NULL) {
		struct rank_stream *rank = &sh->stream->ranks[x->peer];
		v->older = rank->newest;
		v->newer = NULL;
		*(rank->newest != NULL ? &rank->newest->newer : &rank->oldest) = v;
		rank->newest = v;
		v->send = x;
	} else {
		v->last_send->next = x;
	}
	v->last_send = x;
	return v->recv != NULL && v->recv->over ? mark_open(sh, v) : 0;
}

/* ---- meeting ---- */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The first send leaves its envelope. */
static struct send *take_send(struct shard *sh, struct envelope *v)
{
	struct send *x = v->send;
	v->send = x->next;
	if (v->send != NULL)
		return x;
	struct rank_stream *rank = &sh->stream->ranks[v->dst];
	*(v->older != NULL ? &v->older->newer : &rank->oldest) = v->newer;
	*(v->newer != NULL ? &v->newer->older : &rank->newest) = v->older;
	return x;
}

/* The first receive of an envelope that takes a message; NULL: none is posted. */
static const struct recv *first_posted(const struct envelope *v)
{
	const struct recv *r = v->recv;
	while (r != NULL && (r->flags & RECV_PROBED) != 0)
		r = r->next;
	return r;
}

/* The first of the messages that could have been received instead: one that waits and for which no receive had been
 * posted when the call that waited ended. */
static struct send *earliest_other(const struct shard *sh, const struct recv *r, struct send *x)
{
	struct send *first = x;
	uint32_t looked = 0;
	for (const struct envelope *v = sh->stream->ranks[r->rank].oldest; v != NULL && looked < OTHERS_MAX;
	     v = v->newer) {
		looked++;
		if (v->send->start.start_ns >= first->start.start_ns)
			continue;
		const struct recv *posted = first_posted(v);
		if (posted == NULL || posted->start.start_ns >= r->done.end_ns)
			first = v->send;
	}
	return first;
}

/* Of a message that is late, the part that another could have had; NULL: none. */
static int claim_other(struct shard *sh, struct recv *r, struct send *x)
{
	struct wait *w = r->wait;
	struct send *other = earliest_other(sh, r, x);
	if (w->claim != NULL) { /* of a message that was less late */
		w->claim->closed = true;
		if (claim_close(sh, w->claim) < 0)
			return -ENOMEM;
	}
	w->claim = NULL;
	w->other_ns = 0;
	if (other == x)
		return 0;
	int64_t from = other->start.start_ns > r->done.start_ns ? other->start.start_ns : r->done.start_ns;
	w->other_ns = least(r->done.end_ns, x->start.start_ns) - from;
	w->claim = slab_take(&sh->claims);
	if (w->claim == NULL)
		return -ENOMEM;
	*w->claim = (struct claim){.next = other->claims};
	other->claims = w->claim;
	return 0;
}

static int claims_received(struct shard *sh, struct send *x)
{
	int code = 0;
	for (struct claim *c = x->claims, *next; c != NULL && code == 0; c = next) {
		next = c->next;
		c->received = true;
		code = claim_close(sh, c);
	}
	x->claims = NULL;
	return code;
}

/* The tests before may have waited for it: the latest counts. */
static int poll_attach_edge(struct shard *sh, struct poll *p, struct edge *e)
{
	int code = edge_drop(sh, p->edge);
	p->edge = p->need != NULL ? edge_share(sh, e) : NULL;
	return code;
}

/* The blocking call that completed the receive began before the message was sent. */
static int late_sender(struct shard *sh, struct recv *r, struct send *x)
{
	struct wait *w = r->wait;
	int64_t ns = least(r->done.end_ns, x->start.start_ns) - w->from_ns;
	if (!wait_is_longer(w, LATE_SENDER, ns))
		return 0;
	if (__builtin_expect(w->poll != NULL, false) && poll_attach_edge(sh, w->poll, x->edge) < 0)
		return -ENOMEM;
	wait_late(w, LATE_SENDER, ns, arrival_of(x->rank, &x->start));
	return claim_other(sh, r, x);
}

static void tally_transfer(struct tally *t, const struct send *x)
{
	struct time_window *now = &t->windows[tally_window_of(t, x->start.start_ns)];
	now->transfers++;
	now->bytes += x->bytes;
	t->transfers++;
	t->bytes += x->bytes;
	t->sent_from_ns = x->start.start_ns < t->sent_from_ns ? x->start.start_ns : t->sent_from_ns;
	t->sent_to_ns = x->start.end_ns > t->sent_to_ns ? x->start.end_ns : t->sent_to_ns;
}

/* Did the send wait for its receive? */
static bool was_blocked(const struct send *x, const struct recv *r)
{
	return (x->flags & SENT_SYNCHRONOUS) != 0 ||
	       (x->done.start_ns < r->start.start_ns && x->done.end_ns >= r->start.start_ns);
}

static int know_receiver(struct shard *sh, struct recv *r, struct send *x)
{
	bool blocked = x->need != NULL && was_blocked(x, r);
	if (blocked && r->edge == NULL && edge_late(sh, &r->start, &r->edge) < 0)
		return -ENOMEM;
	if (blocked && r->edge != NULL)
		return need_resolve(sh, x->need, r->edge);
	if (x->need != NULL && need_resolve(sh, x->need, NULL) < 0)
		return -ENOMEM;
	return edge_drop(sh, r->edge);
}

/* Both ends are over and know each other. */
static int finish(struct shard *sh, struct recv *r, struct send *x)
{
	struct transfer *t = vec_more(&sh->transfers);
	if (t == NULL)
		return -ENOMEM;
	const struct moment *done = r->done.at.window != NONE ? &r->done : &r->start;
	*t = (struct transfer){.send = arrival_of(x->rank, &x->start),
			       .recv = arrival_of(r->rank, &r->start),
			       .send_end_ns = x->start.end_ns,
			       .done_start_ns = done->start_ns,
			       .done_end_ns = done->end_ns,
			       .sent = x->done.at,
			       .done = r->done.at,
			       .bytes = x->bytes,
			       .comm = x->comm,
			       .send_sig = x->sig,
			       .send_site_sig = x->starter != NONE ? x->starter : x->sig,
			       .recv_site_sig = r->starter != NONE ? r->starter : r->sig,
			       .tag = x->tag};
	tally_transfer(&sh->tally, x);
	x->recv_start = t->recv;
	x->matched = true;
	if (know_receiver(sh, r, x) < 0)
		return -ENOMEM;
	slab_give(&sh->recvs, r);
	return vec_push(&mail_to(sh, shard_of(sh->stream, x->rank))->classified, x);
}

static int pair(struct shard *sh, struct recv *r, struct send *x)
{
	int code = 0;
	x->recv = r;
	if (__builtin_expect(x->claims != NULL, false) && claims_received(sh, x) < 0)
		return -ENOMEM;
	if (__builtin_expect(x->bytes > r->bytes || x->type != r->type, false) && check_message(sh, x, r) < 0)
		return -ENOMEM;
	if (r->done.at.window != NONE && late_sender(sh, r, x) < 0)
		return -ENOMEM;
	if (r->need != NULL) {
		if (need_resolve(sh, r->need, x->edge) < 0)
			return -ENOMEM;
		x->edge = NULL;
	}
	if (r->done.at.window != NONE) {
		int64_t back = x->start.start_ns - r->done.end_ns;
		sh->violations += back > 0;
		if (back > 0 && (uint64_t)back > sh->largest_ns)
			sh->largest_ns = (uint64_t)back;
		if (clocks_learn(sh, x->rank, x->start.start_ns, r->rank, r->done.end_ns) < 0)
			return -ENOMEM;
		code = wait_close(sh, r->wait);
		r->wait = NULL;
	}
	return code == 0 && x->over ? finish(sh, r, x) : code;
}

/* What was probed: the message stays, and so does its edge for who receives it. */
static int peek(struct shard *sh, struct recv *r, struct send *x)
{
	int code = late_sender(sh, r, x);
	if (code == 0 && r->need != NULL)
		code = need_resolve(sh, r->need, edge_share(sh, x->edge));
	if (code == 0)
		code = wait_close(sh, r->wait);
	slab_give(&sh->recvs, r);
	return code;
}

/* The first receives of an envelope, as far as they may be met; only those of which the turn has come, so that what
 * else could have been received then is still there. */
static int advance(struct shard *sh, struct envelope *v)
{
	int code = 0;
	while (code == 0 && v->recv != NULL && v->recv->over && v->recv->turn) {
		struct recv *r = v->recv;
		while (v->send != NULL && (v->send->flags & SENT_CANCELLED) != 0 && v->send->over) {
			struct send *x = take_send(sh, v);
			if (vec_push(&mail_to(sh, shard_of(sh->stream, x->rank))->classified, x) < 0)
				return -ENOMEM;
		}
		if (r->cancelled) {
			v->recv = r->next;
			code = give_up(sh, r);
			continue;
		}
		if (v->send == NULL)
			return 0;
		if (is_held(sh, r)) {
			if (v->held)
				return 0;
			v->held = true;
			return vec_push(&sh->stream->ranks[r->rank].held, v);
		}
		v->recv = r->next;
		code = (r->flags & RECV_PROBED) != 0 ? peek(sh, r, v->send) : pair(sh, r, take_send(sh, v));
	}
	return code;
}

static int send_over(struct shard *sh, struct send *x)
{
	if ((x->flags & SENT_CANCELLED) != 0 && x->recv == NULL)
		return 0; /* leaves its envelope when it is the first there */
	return x->recv != NULL ? finish(sh, x->recv, x) : 0;
}

static int take_mail(struct shard *sh)
{
	for (uint32_t from = 0; from < sh->stream->nshards; from++) {
		struct mail *m = mail_from(sh, from);
		for (size_t i = 0; i < m->sends.n; i++) {
			if (i + AHEAD < m->sends.n)
				prefetch(m->sends.at[i + AHEAD], sizeof(struct send));
			if (add_send(sh, m->sends.at[i]) < 0)
				return -ENOMEM;
		}
		m->sends.n = 0;
	}
	return 0;
}

static int take_over_mail(struct shard *sh)
{
	for (uint32_t from = 0; from < sh->stream->nshards; from++) {
		struct mail *m = mail_from(sh, from);
		for (size_t i = 0; i < m->over.n; i++) {
			if (i + AHEAD < m->over.n)
				prefetch(m->over.at[i + AHEAD], sizeof(struct send));
			if (send_over(sh, m->over.at[i]) < 0)
				return -ENOMEM;
		}
		m->over.n = 0;
	}
	return 0;
}

static int advance_open(struct shard *sh)
{
	int code = 0;
	for (size_t i = 0; i < sh->open.n && code == 0; i++) {
		sh->open.at[i]->open = false;
		code = advance(sh, sh->open.at[i]);
	}
	sh->open.n = 0;
	return code;
}

/* Memory of what the receives after one of the list need: they, what they name, what that names. */
static void ask_ready(const struct shard *sh, size_t i)
{
	if (i + AHEAD < sh->ready.n)
		prefetch(sh->ready.at[i + AHEAD], sizeof(struct recv));
	if (i + 2 * AHEAD / 3 < sh->ready.n) {
		const struct recv *r = sh->ready.at[i + 2 * AHEAD / 3];
		prefetch(r->envelope, sizeof(struct envelope));
		prefetch(r->wait, sizeof(struct wait));
	}
	if (i + AHEAD / 3 < sh->ready.n && sh->ready.at[i + AHEAD / 3]->envelope->send != NULL)
		prefetch(sh->ready.at[i + AHEAD / 3]->envelope->send, sizeof(struct send));
}

/* First receives of earlier windows for which something has come, then those of this one as they were completed. */
static int match_all_ready(struct shard *sh)
{
	int code = advance_open(sh);
	for (size_t i = 0; i < sh->ready.n && code == 0; i++) {
		ask_ready(sh, i);
		sh->ready.at[i]->turn = true;
		code = advance(sh, sh->ready.at[i]->envelope);
		if (code == 0)
			code = advance_open(sh); /* a wildcard that is over lets others go on */
	}
	sh->ready.n = 0;
	return code;
}

void match_window(struct shard *sh)
{
	/* A send that was completed in this slice is met as over. Those met before are finished by their mail. */
	int code = take_mail(sh);
	if (code == 0)
		code = take_over_mail(sh);
	if (code == 0)
		code = match_all_ready(sh);
	if (code < 0)
		sh->code = code;
}

/* ---- the end ---- */

bool match_has_send(const struct shard *sh, uint32_t comm, int32_t src, uint32_t dst, int32_t tag)
{
	for (const struct envelope *v = sh->stream->ranks[dst].oldest; v != NULL; v = v->newer)
		if (v->comm == comm && v->dst == dst && (src < 0 || v->src == (uint32_t)src) &&
		    (tag < 0 || v->tag == tag))
			return true;
	return false;
}

bool match_has_recv(const struct shard *sh, uint32_t comm, uint32_t src, uint32_t dst, int32_t tag)
{
	const struct rank_stream *rank = &sh->stream->ranks[dst];
	for (const struct envelope *v = envelope_bucket(sh, comm, src, dst, tag); v != NULL; v = v->link)
		if (v->src == src && v->dst == dst && v->tag == tag && v->comm == comm && first_posted(v) != NULL)
			return true;
	for (size_t i = 0; i < rank->wild.n; i++)
		if (rank->wild.at[i]->comm == comm)
			return true;
	return false;
}

void match_end(struct shard *sh)
{
	/* Nothing comes any more: wildcards that are open hold nobody. */
	for (uint32_t r = sh->first_rank; r < sh->end_rank; r++) {
		struct rank_stream *rank = &sh->stream->ranks[r];
		for (size_t i = 0; i < rank->wild.n; i++) {
			sh->unmatched.recvs++;
			unmatched_explain(sh, r, SIG_ANY);
		}
		rank->wild.n = 0;
		if (release(sh, rank) < 0)
			sh->code = -ENOMEM;
	}
	if (take_mail(sh) < 0 || take_over_mail(sh) < 0)
		sh->code = -ENOMEM;
	/* nor do receives that are never completed */
	for (size_t i = 0; i < sh->envelope_buckets; i++)
		for (struct envelope *v = sh->envelope_table[i]; v != NULL; v = v->link)
			for (struct recv *r = v->recv; r != NULL; r = r->next)
				r->over = r->turn = true;
	int code = match_all_ready(sh);
	for (size_t i = 0; i < sh->envelope_buckets && code == 0; i++)
		for (struct envelope *v = sh->envelope_table[i]; v != NULL && code == 0; v = v->link) {
			code = advance(sh, v);
			if (code == 0)
				code = unmatched_envelope(sh, v);
		}
	if (code < 0)
		sh->code = code;
}

void match_begin(struct shard *sh)
{
	sh->envelopes = SLAB(struct envelope);
}

void match_done(struct shard *sh)
{
	vec_done(&sh->ready);
	vec_done(&sh->open);
	vec_done(&sh->dropped);
	vec_done(&sh->settled);
	vec_done(&sh->shared);
	free(sh->envelope_table);
	slab_done(&sh->envelopes);
}
