/* ops.c - see ops.h. Walks each rank's events in order, as the MPI library saw the calls. */
#include "postproc/ops.h"
#include "postproc/comms.h"
#include "postproc/requests.h"

/* The state of one rank's walk. */
struct walk {
	const struct step *s;
	struct ops *o;
	uint32_t rank;
	struct process *p;
	struct requests requests;
	VEC(uint32_t) coll_counts;    /* by comm.same */
	VEC(uint32_t) channel_counts; /* persistent collectives by comm.same */
	VEC(uint32_t) heads;	      /* by thread: the last event that began a call */
	uint32_t at;		      /* the event */
	const struct sig *sig;
	uint32_t status; /* next status of a completion */
};

static uint32_t same_comm(const struct walk *w, uint32_t comm)
{
	return w->s->comms.at[comm].same;
}

/* Does a message go to or come from somebody of this world? Counts if not. */
static bool is_real(struct walk *w, int32_t peer, bool known_comm)
{
	if (peer == SIG_PROC_NULL)
		w->o->counts.proc_null++;
	else if (!known_comm || peer == COMM_OUTSIDE)
		w->o->counts.outside++;
	else
		return peer >= 0 ? (uint32_t)peer < w->s->nranks : peer == SIG_ANY;
	return false;
}

static uint32_t flags_of(const struct sig *sig, bool blocking)
{
	uint32_t flags = blocking ? P2P_BLOCKING : 0;
	if ((sig->call.flags & SIG_SYNCHRONOUS) != 0)
		flags |= P2P_SYNCHRONOUS;
	if (sig->call.partitioned)
		flags |= P2P_PARTITIONED;
	return flags;
}

/* Post the send of sig; its number goes to *ret_at, NONE if there is no message. */
static int start_send(struct walk *w, const struct sig *sig, bool blocking, uint32_t *ret_at)
{
	*ret_at = NONE;
	if (sig->peer == SIG_ANY || !is_real(w, sig->peer, sig->comm != NONE))
		return 0;
	struct p2p_op op = {.rank = w->rank,
			    .comm = same_comm(w, sig->comm),
			    .peer = sig->peer,
			    .tag = sig->call.tag,
			    .bytes = sig->bytes,
			    .start = w->at,
			    .completion = blocking ? w->at : NONE,
			    .flags = flags_of(sig, blocking)};
	*ret_at = (uint32_t)w->o->sends.n;
	return vec_push(&w->o->sends, op);
}

static int start_recv(struct walk *w, const struct sig *sig, bool blocking, uint32_t *ret_at)
{
	bool pair = sig->call.shape == SIG_SENDRECV;
	bool source_known = blocking && (sig->call.flags & SIG_SIZED) != 0;
	bool wild = (sig->call.flags & (SIG_ANY_SOURCE | SIG_ANY_TAG)) != 0;
	*ret_at = NONE;
	if (!is_real(w, sig->recv_peer, sig->comm != NONE))
		return 0;
	struct p2p_op op = {.rank = w->rank,
			    .comm = same_comm(w, sig->comm),
			    .peer = sig->recv_peer,
			    .tag = pair ? sig->call.recv_tag : sig->call.tag,
			    .bytes = sig->recv_bytes,
			    .start = w->at,
			    .completion = blocking ? w->at : NONE,
			    .flags = flags_of(sig, blocking) | (wild ? P2P_WILDCARD : 0) |
				     (source_known ? P2P_SOURCE_KNOWN : 0)};
	if (wild && !source_known)
		op.peer = SIG_ANY;
	*ret_at = (uint32_t)w->o->recvs.n;
	return vec_push(&w->o->recvs, op);
}

static uint32_t next_count(uint32_t *counts, uint32_t comm)
{
	return counts[comm]++;
}

static int start_coll(struct walk *w, uint32_t sig_at, uint32_t channel, uint32_t k, bool blocking, uint32_t *ret_at)
{
	const struct sig *sig = &w->p->sigs.at[sig_at];
	struct coll_op op = {.rank = w->rank,
			     .comm = same_comm(w, sig->comm),
			     .channel = channel,
			     .k = k,
			     .start = w->at,
			     .completion = blocking ? w->at : NONE,
			     .sig = sig_at};
	*ret_at = (uint32_t)w->o->colls.n;
	return vec_push(&w->o->colls, op);
}

static int start_coll_call(struct walk *w, uint32_t sig_at, bool blocking, uint32_t *ret_at)
{
	const struct sig *sig = &w->p->sigs.at[sig_at];
	*ret_at = NONE;
	if (sig->comm == NONE || sig->call.coll == COLL_NONE)
		return 0;
	uint32_t k = next_count(w->coll_counts.at, same_comm(w, sig->comm));
	return start_coll(w, sig_at, 0, k, blocking, ret_at);
}

/* A call that is over when it returns. */
static int do_blocking(struct walk *w, uint32_t sig_at)
{
	const struct sig *sig = w->sig;
	uint32_t at;
	int code = 0;
	if (sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV)
		code = start_send(w, sig, true, &at);
	if (code == 0 && (sig->call.shape == SIG_RECV || sig->call.shape == SIG_SENDRECV))
		code = start_recv(w, sig, true, &at);
	if (code == 0 && sig->call.shape == SIG_COLL)
		code = start_coll_call(w, sig_at, true, &at);
	return code;
}

/* A persistent request's operation begins anew with each start; any other's with the call itself.
 */
static int activate(struct walk *w, struct request *r)
{
	const struct sig *sig = &w->p->sigs.at[r->sig];
	enum sig_shape shape = sig->call.shape;
	int code = 0;
	r->active = true;
	if (shape == SIG_SEND || shape == SIG_SENDRECV)
		code = start_send(w, sig, false, &r->send);
	if (code == 0 && (shape == SIG_RECV || shape == SIG_SENDRECV))
		code = start_recv(w, sig, false, &r->recv);
	if (code == 0 && shape == SIG_COLL && r->persistent && r->channel != 0)
		code = start_coll(w, r->sig, r->channel, r->starts++, false, &r->coll);
	else if (code == 0 && shape == SIG_COLL && !r->persistent)
		code = start_coll_call(w, r->sig, false, &r->coll);
	return code;
}

static int do_start_request(struct walk *w, uint32_t sig_at)
{
	const struct sig *sig = w->sig;
	struct request *r = requests_start(&w->requests, sig->thread);
	if (r == NULL)
		return -ENOMEM;
	r->sig = sig_at;
	r->persistent = (sig->call.flags & SIG_PERSISTENT) != 0;
	if (!r->persistent)
		return activate(w, r);
	if (sig->call.shape == SIG_COLL && sig->comm != NONE)
		r->channel = 1 + next_count(w->channel_counts.at, same_comm(w, sig->comm));
	return 0;
}

static int start_one(void *context, uint32_t i, struct request *r)
{
	struct walk *w = context;
	(void)i;
	if (r == NULL || !r->persistent) {
		w->o->counts.unknown_requests++;
		return 0;
	}
	return activate(w, r);
}

/* Only messages are cancelled: of other requests the flag is what the MPI library happened to leave there (Open
 * MPI does not set that of files). */
static bool is_message(const struct sig *sig)
{
	return sig->call.shape == SIG_SEND || sig->call.shape == SIG_RECV || sig->call.shape == SIG_SENDRECV;
}

/* What the status of a completed receive or read says. */
static void take_status(struct walk *w, struct request *r, const struct sig_status *status)
{
	const struct sig *sig = &w->p->sigs.at[r->sig];
	if (sig->call.shape == SIG_IO && sig->object != NONE && status->bytes < sig->call.bytes)
		w->o->unread[sig->object] += sig->call.bytes - status->bytes;
	if (status->cancelled && is_message(sig)) {
		if (r->send != NONE)
			w->o->sends.at[r->send].flags |= P2P_CANCELLED;
		if (r->recv != NONE)
			w->o->recvs.at[r->recv].flags |= P2P_CANCELLED;
		w->o->counts.cancelled++;
	} else if (r->recv != NONE) {
		struct p2p_op *op = &w->o->recvs.at[r->recv];
		int32_t peer = comms_peer(&w->s->comms.at[sig->comm], status->source);
		op->peer = peer;
		op->tag = status->tag;
		op->bytes = status->bytes;
		op->flags |= P2P_SOURCE_KNOWN;
	}
}

static int complete_one(void *context, uint32_t i, struct request *r)
{
	struct walk *w = context;
	struct sig_status status;
	bool has_status = false;
	if (w->status < w->sig->call.nlist) {
		sig_status_at(&w->sig->call, w->status, &status);
		has_status = status.index == i;
		w->status += has_status;
	}
	if (r == NULL) {
		w->o->counts.unknown_requests++;
		return 0;
	}
	if (has_status)
		take_status(w, r, &status);
	if (r->send != NONE)
		w->o->sends.at[r->send].completion = w->at;
	if (r->recv != NONE)
		w->o->recvs.at[r->recv].completion = w->at;
	if (r->coll != NONE)
		w->o->colls.at[r->coll].completion = w->at;
	r->send = r->recv = r->coll = NONE;
	r->active = r->cancelling = false;
	return 0;
}

/* A receive that was asked to be cancelled and is freed without a wait: no status will say so, but nobody expects a
 * message. */
static int free_one(void *context, uint32_t i, struct request *r)
{
	struct walk *w = context;
	(void)i;
	if (r == NULL)
		return 0;
	if (r->active && r->cancelling && r->recv != NONE) {
		w->o->recvs.at[r->recv].flags |= P2P_CANCELLED;
		w->o->counts.cancelled++;
	}
	r->active = r->persistent = false;
	return 0;
}

static int cancel_one(void *context, uint32_t i, struct request *r)
{
	(void)context, (void)i;
	if (r != NULL)
		r->cancelling = true;
	return 0;
}

/* A long call is recorded as several events; what they complete, the first of them waited for. */
static int find_head(struct walk *w)
{
	if (vec_reach(&w->heads, w->sig->thread) < 0)
		return -ENOMEM;
	if (w->sig->call.continues)
		w->at = w->heads.at[w->sig->thread];
	else
		w->heads.at[w->sig->thread] = w->at;
	return 0;
}

static bool is_call(const struct walk *w, const char *name)
{
	return w->sig->op != NONE && strcmp(w->s->ops.at[w->sig->op], name) == 0;
}

static int do_event(struct walk *w, uint32_t sig_at)
{
	const struct sig_call *c = &w->sig->call;
	if (!w->sig->defined)
		return 0;
	if (find_head(w) < 0)
		return -ENOMEM;
	if ((c->flags & SIG_STARTS_REQUEST) != 0)
		return do_start_request(w, sig_at);
	if ((c->flags & SIG_FAILED) != 0 && c->shape != SIG_COMPLETE) {
		w->o->counts.failed++;
		return 0;
	}
	switch (c->shape) {
	case SIG_START:
		return requests_visit(&w->requests, w->sig->thread, c, start_one, w);
	case SIG_COMPLETE:
		w->status = 0;
		return (c->flags & SIG_POLLS) != 0 ? 0
						   : requests_visit(&w->requests, w->sig->thread, c, complete_one, w);
	case SIG_REQUEST:
		return is_call(w, "MPI_Request_free") ? requests_visit(&w->requests, w->sig->thread, c, free_one, w)
		       : is_call(w, "MPI_Cancel")     ? requests_visit(&w->requests, w->sig->thread, c, cancel_one, w)
						      : 0;
	default:
		return do_blocking(w, sig_at);
	}
}

static void count_leaks(struct walk *w)
{
	uint32_t r = w->rank;
	if (!w->p->finalized)
		return;
	for (size_t t = 0; t < w->requests.threads.n; t++)
		for (size_t i = 0; i < w->requests.threads.at[t].list.n; i++) {
			const struct request *q = &w->requests.threads.at[t].list.at[i];
			if (!q->active && !q->persistent)
				continue;
			w->o->leaked[r]++;
			w->o->leak_site[r] = w->p->sigs.at[q->sig].site;
		}
}

static bool is_whole(const struct process *p)
{
	for (size_t i = 0; i < p->threads.n; i++)
		if (p->threads.at[i].lost > 0 || p->threads.at[i].gap)
			return false;
	return p->bad_blocks == 0;
}

/* Requests and messages are counted, so of nothing that comes after a lost event is it known what it
 * belongs to. */
static bool is_understood(const struct process *p, const struct event *ev, const struct sig *sig)
{
	const struct thread *t = &p->threads.at[sig->thread];
	return t->lost == 0 || t->lost_from_ns == TIME_ABSENT || ev->start_ns < t->lost_from_ns;
}

static int walk_rank(struct walk *w)
{
	int code = 0;
	if (vec_reach(&w->coll_counts, w->s->comms.n) < 0 || vec_reach(&w->channel_counts, w->s->comms.n) < 0)
		return -ENOMEM;
	w->heads.n = 0;
	memset(w->coll_counts.at, 0, w->coll_counts.n * sizeof(uint32_t));
	memset(w->channel_counts.at, 0, w->channel_counts.n * sizeof(uint32_t));
	for (size_t i = 0; i < w->p->events.n && code == 0; i++) {
		uint32_t sig_at = w->p->events.at[i].sig;
		w->at = (uint32_t)i;
		w->sig = &w->p->sigs.at[sig_at];
		if (is_understood(w->p, &w->p->events.at[i], w->sig))
			code = do_event(w, sig_at);
	}
	if (is_whole(w->p))
		count_leaks(w);
	requests_done(&w->requests);
	return code;
}

int ops_replay(const struct step *s, struct ops *ret_ops)
{
	struct ops o = {.leaked = calloc(s->nranks, sizeof(uint64_t)),
			.leak_site = calloc(s->nranks, sizeof(uint32_t)),
			.unread = calloc(s->files.n + 1, sizeof(uint64_t))};
	struct walk w = {.s = s, .o = &o};
	int code = o.leaked == NULL || o.leak_site == NULL || o.unread == NULL ? -ENOMEM : 0;
	for (uint32_t r = 0; r < s->nranks && code == 0; r++) {
		w.rank = r;
		w.p = s->ranks[r];
		if (w.p != NULL)
			code = walk_rank(&w);
	}
	vec_done(&w.coll_counts);
	vec_done(&w.channel_counts);
	vec_done(&w.heads);
	*ret_ops = o;
	return code;
}

void ops_done(struct ops *o)
{
	vec_done(&o->sends);
	vec_done(&o->recvs);
	vec_done(&o->colls);
	free(o->leaked);
	free(o->leak_site);
	free(o->unread);
	memset(o, 0, sizeof(*o));
}
