/* calls.c - what one call does, as the MPI library saw it: requests, messages, collectives. */
#include "postproc/read/comms.h"
#include "postproc/stream/rma.h"
#include "postproc/stream/walk.h"
#include "postproc/totals/states.h"

typedef int (*request_visit)(struct walk *w, uint32_t i, struct request *q);

static struct lane *lane_of_thread(const struct walk *w, uint32_t thread)
{
	struct lane *first = &w->st->lanes[w->rank->first_lane];
	for (uint32_t i = 0; i < w->rank->nlanes; i++)
		if (first[i].thread == thread)
			return &first[i];
	return NULL;
}

static int visit_requests(struct walk *w, request_visit visit, bool ends)
{
	struct sig_run run;
	uint32_t index = 0, i = 0;
	while (sig_next_run(&w->sig->call, &index, &run) == 1) {
		struct lane *owner = run.other_thread ? lane_of_thread(w, run.thread) : w->lane;
		w->owner = owner;
		struct requests_of *r = owner != NULL ? &owner->requests : NULL;
		uint64_t known = r != NULL ? r->count : 0;
		uint64_t serial = run.absolute || run.other_thread ? run.value : w->lane->requests.count - run.value;
		for (uint32_t k = 0; k < run.count && k <= known; k++, i++) {
			struct request *q = r != NULL ? request_find(r, serial) : NULL;
			int code = visit(w, i, q);
			if (code < 0)
				return code;
			if (ends && q != NULL && !q->persistent)
				request_over(w->sh, r, serial, q);
			serial += run.descending ? -1ull : 1;
		}
	}
	return 0;
}

/* ---- messages ---- */

/* Does a message go to or come from somebody of this world? Counts if not. */
static bool is_real(struct walk *w, int32_t peer, bool known_comm)
{
	if (peer == SIG_PROC_NULL)
		w->sh->counts.proc_null++;
	else if (!known_comm || peer == COMM_OUTSIDE)
		w->sh->counts.outside++;
	else
		return peer >= 0 ? (uint32_t)peer < w->st->step->nranks : peer == SIG_ANY;
	return false;
}

/* It stays open until the event is walked: what ends without a partner closes its part at once. */
static struct wait *wait_of(struct walk *w)
{
	if (w->wait != NULL)
		return w->wait;
	uint32_t site = w->sig->call.continues ? w->p->sigs.at[w->lane->head_sig].site : w->sig->site;
	w->wait = wait_begin(w->sh, w->lane->rank, site, &w->call);
	if (w->wait != NULL)
		w->wait->open = 1;
	return w->wait;
}

/* ---- messages, begun and ended ---- */

/* What a request moves goes to the call that starts it. */
static int start_bytes(struct walk *w, uint64_t bytes)
{
	struct lane *l = w->lane;
	w->p->sigs.at[l->head_sig].started_bytes += bytes;
	if (l->moved.n > 0 && l->moved.at[l->moved.n - 1].at == w->at) {
		l->moved.at[l->moved.n - 1].bytes += bytes;
		return 0;
	}
	return vec_push(&l->moved, (struct lane_bytes){w->at, bytes});
}

static int start_send(struct walk *w, const struct sig *sig, uint32_t sig_at, bool started, struct send **ret_send)
{
	*ret_send = NULL;
	if (sig->peer == SIG_ANY || !is_real(w, sig->peer, sig->comm != NONE))
		return 0;
	struct send *x = slab_take(&w->sh->sends);
	if (x == NULL)
		return -ENOMEM;
	*x = (struct send){.start = w->call,
			   .done = {.at = NOWHERE},
			   .bytes = sig->bytes,
			   .rank = w->lane->rank,
			   .peer = (uint32_t)sig->peer,
			   .comm = same_comm(w, sig->comm),
			   .sig = sig_at,
			   .starter = started ? w->lane->head_sig : NONE,
			   .tag = sig->call.tag,
			   .type = sig->type,
			   .flags = (uint16_t)(((sig->call.flags & SIG_SYNCHRONOUS) != 0 ? SENT_SYNCHRONOUS : 0) |
					       (sig->call.partitioned ? SENT_PARTITIONED : 0) |
					       (started ? SENT_STARTED : 0))};
	*ret_send = x;
	if (started && start_bytes(w, x->bytes) < 0)
		return -ENOMEM;
	int code = walk_edge(w, &x->edge);
	return code == 0 ? match_send(w->sh, x) : code;
}

/* It took longer than moving its bytes can, whatever their number. */
static int ask_progress(struct walk *w, const struct send *x)
{
	struct slow_send slow = {.wait = x->wait,
				 .rank = x->rank,
				 .peer = x->peer,
				 .call = w->call,
				 .moves_ns = send_moves_ns(x->bytes)};
	if (x->peer == x->rank || w->st->step->ranks[x->peer] == NULL)
		return 0;
	int code = walk_need(w, &slow.need);
	return code == 0 ? progress_ask(w->sh, &slow) : code;
}

static int end_send(struct walk *w, struct send *x)
{
	x->done = w->call;
	x->wait = wait_of(w);
	if (x->wait == NULL)
		return -ENOMEM;
	x->wait->open++;
	bool may_wait = (x->flags & SENT_SYNCHRONOUS) != 0 || x->bytes > EAGER_BYTES;
	bool slow = w->call.end_ns - w->call.start_ns > send_moves_ns(x->bytes);
	int code = may_wait || slow ? walk_need(w, &x->need) : 0;
	if (x->need != NULL)
		x->need->optional = !may_wait;
	if (slow && code == 0)
		code = ask_progress(w, x);
	return code == 0 ? match_send_over(w->sh, x) : code;
}

static int start_recv(struct walk *w, const struct sig *sig, uint32_t sig_at, bool blocking, struct recv **ret_recv)
{
	bool pair = sig->call.shape == SIG_SENDRECV;
	bool known = blocking && (sig->call.flags & SIG_SIZED) != 0;
	bool wild = (sig->call.flags & (SIG_ANY_SOURCE | SIG_ANY_TAG)) != 0;
	*ret_recv = NULL;
	if (!is_real(w, sig->recv_peer, sig->comm != NONE))
		return 0;
	struct recv *posted = probe_taken(w, sig), *r = posted != NULL ? posted : slab_take(&w->sh->recvs);
	if (r == NULL)
		return -ENOMEM;
	uint32_t starter = sig_at == w->sig_at ? NONE : w->lane->head_sig;
	*r = (struct recv){
		.start = w->call,
		.starter = starter,
		.done = {.at = NOWHERE},
		.bytes = sig->recv_bytes,
		.order = posted != NULL ? posted->order : w->rank->recvs++,
		.envelope = posted != NULL ? posted->envelope : NULL,
		.next = posted != NULL ? posted->next : NULL,
		.rank = w->lane->rank,
		.comm = same_comm(w, sig->comm),
		.sig = sig_at,
		.peer = wild && !known ? SIG_ANY : sig->recv_peer,
		.tag = pair ? sig->call.recv_tag : sig->call.tag,
		.type = sig->recv_type,
		.flags = (uint16_t)((wild && !known ? RECV_WILD : 0) | (sig->call.partitioned ? SENT_PARTITIONED : 0))};
	*ret_recv = r;
	if (starter != NONE && start_bytes(w, r->bytes) < 0)
		return -ENOMEM;
	int code = w->st->any_synchronous || sig->recv_bytes > EAGER_BYTES ? walk_edge(w, &r->edge) : 0;
	return code == 0 && posted == NULL ? match_post(w->sh, r) : code;
}

static int end_recv(struct walk *w, struct recv *r)
{
	r->done = w->call;
	r->wait = wait_of(w);
	if (r->wait == NULL)
		return -ENOMEM;
	r->wait->open++;
	r->wait->receives = true;
	int code = walk_need(w, &r->need);
	return code == 0 ? match_over(w->sh, r) : code;
}

/* A probe that found something is a receive that leaves the message where it is. */
static int do_probe(struct walk *w)
{
	const struct sig *sig = w->sig;
	if ((sig->call.flags & SIG_SIZED) == 0 || sig->comm == NONE || sig->peer < 0 ||
	    (uint32_t)sig->peer >= w->st->step->nranks)
		return 0;
	struct recv *r = slab_take(&w->sh->recvs);
	if (r == NULL)
		return -ENOMEM;
	*r = (struct recv){.start = w->call,
			   .starter = NONE,
			   .order = w->rank->recvs++,
			   .rank = w->lane->rank,
			   .comm = same_comm(w, sig->comm),
			   .sig = w->sig_at,
			   .peer = sig->peer,
			   .tag = sig->call.tag,
			   .flags = RECV_PROBED};
	int code = match_post(w->sh, r);
	if (code == 0)
		code = end_recv(w, r);
	if (code == 0)
		code = probe_posts(w);
	return code == 0 && w->lane->polls.n > 0 ? poll_ends(w, w->wait) : code;
}

/* ---- collectives ---- */

struct wanted_use {
	const struct rank_stream *rank;
	uint32_t comm;
};

static bool same_use(const void *context, uint32_t at)
{
	const struct wanted_use *w = context;
	return w->rank->comms.at[at].comm == w->comm;
}

static struct comm_use *use_of(struct walk *w, uint32_t comm)
{
	struct rank_stream *r = w->rank;
	struct wanted_use want = {r, comm};
	uint64_t hash = index_mix(comm, 0);
	if (r->last_use < r->comms.n && r->comms.at[r->last_use].comm == comm)
		return &r->comms.at[r->last_use];
	r->last_use = index_find(&r->comm_index, hash, same_use, &want);
	if (r->last_use != INDEX_NONE)
		return &r->comms.at[r->last_use];
	r->last_use = (uint32_t)r->comms.n;
	if (vec_push(&r->comms, (struct comm_use){.comm = comm}) < 0 ||
	    index_add(&r->comm_index, hash, r->last_use) < 0)
		return NULL;
	return &r->comms.at[r->last_use];
}

static int start_coll(struct walk *w, const struct sig *sig, uint32_t sig_at, uint32_t channel, uint32_t k,
		      struct part **ret_part)
{
	struct part part = {.start = w->call,
			    .done = {.at = NOWHERE},
			    .rank = w->lane->rank,
			    .sig = sig_at,
			    .starter = sig_at == w->sig_at ? NONE : w->lane->head_sig,
			    .coll = (int32_t)sig->call.coll,
			    .causer = NOBODY};
	if (part.starter != NONE && start_bytes(w, sig->call_bytes) < 0)
		return -ENOMEM;
	if (coll_is_neighborhood(sig->call.coll) && walk_edge(w, &part.edge) < 0)
		return -ENOMEM;
	*ret_part = collective_enter(w->sh, same_comm(w, sig->comm), channel, k, &part);
	return *ret_part == NULL ? -ENOMEM : walk_action(w, *ret_part, ACTION_ENTER);
}

/* In a run of events parts count up by themselves; say where a run begins, or another thread's call came between. */
static int number_part(struct walk *w, struct comm_use *use, uint64_t k)
{
	struct position here = {w->st->window, w->lane->number, w->at}, last = use->last;
	use->last = here;
	if (last.window == here.window && last.lane == here.lane && use->colls > 0)
		return 0;
	return vec_push(&w->lane->numbers, (struct mpix_number){w->at, use->comm, k});
}

static int start_coll_call(struct walk *w, const struct sig *sig, uint32_t sig_at, struct part **ret_part)
{
	*ret_part = NULL;
	if (sig->comm == NONE || sig->call.coll == COLL_NONE)
		return 0;
	struct comm_use *use = use_of(w, same_comm(w, sig->comm));
	if (use == NULL || number_part(w, use, use->colls) < 0)
		return -ENOMEM;
	return start_coll(w, sig, sig_at, 0, use->colls++, ret_part);
}

static int end_part(struct walk *w, struct part *p, bool in_sweep)
{
	p->done = w->call;
	p->wait = wait_of(w);
	if (p->wait == NULL)
		return -ENOMEM;
	p->wait->open++;
	p->tested = (w->sig->call.flags & SIG_POLLS) != 0;
	bool by_others = part_needs_others_to_complete(p); /* else by neighbours, or by nobody */
	int code = by_others && in_sweep ? walk_edge_first(w, &p->edge) : 0;
	if (code == 0 && in_sweep)
		code = walk_action(w, p, ACTION_LEAVE);
	if (code == 0 && p->edge != NULL && (!by_others || part_may_wait_for_others(p)))
		code = walk_need(w, &p->need);
	if (p->need != NULL)
		p->need->level = coll_is_all_for_all(p->coll);
	return code == 0 ? collective_leave(w->sh, p) : code;
}

static int end_coll(struct walk *w, struct part *p)
{
	return end_part(w, p, true);
}

/* What all members do together that is no collective. */
static int enter_sync(struct walk *w, const struct sync_call *x, struct part **ret_part)
{
	struct part part = {.start = w->call,
			    .done = {.at = NOWHERE},
			    .rank = w->lane->rank,
			    .sig = w->sig_at,
			    .starter = NONE,
			    .coll = x->kind,
			    .causer = NOBODY};
	*ret_part = collective_enter(w->sh, x->comm, x->channel, x->k, &part);
	return *ret_part == NULL ? -ENOMEM : x->in_sweep ? walk_action(w, *ret_part, ACTION_ENTER) : 0;
}

/* A call on a window or a file. */
static int do_object(struct walk *w)
{
	struct sync_call x;
	struct part *p;
	int code = rma_call(w->sh, w->lane->rank, w->sig_at, &w->call, &x);
	if (code <= 0)
		return code;
	code = enter_sync(w, &x, &p);
	return code == 0 ? end_part(w, p, x.in_sweep) : code;
}

/* A communicator is made or freed; *ret_part: NULL where that is nobody else's. */
static int start_comm(struct walk *w, struct part **ret_part)
{
	struct sync_call x;
	*ret_part = NULL;
	if (!comm_call(w, &x))
		return 0;
	struct comm_use *use = x.of_members ? NULL : use_of(w, x.comm);
	if (use == NULL && !x.of_members)
		return -ENOMEM;
	x.k = use != NULL ? use->makes++ : 0;
	return enter_sync(w, &x, ret_part);
}

static int do_comm(struct walk *w)
{
	struct part *p;
	int code = start_comm(w, &p);
	return code == 0 && p != NULL ? end_coll(w, p) : code;
}

/* A call that is over when it returns. */
static int do_blocking(struct walk *w)
{
	const struct sig *sig = w->sig;
	struct send *x = NULL;
	struct recv *r = NULL;
	struct part *p = NULL;
	int code = 0;
	if (sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV)
		code = start_send(w, sig, w->sig_at, false, &x);
	if (code == 0 && (sig->call.shape == SIG_RECV || sig->call.shape == SIG_SENDRECV))
		code = start_recv(w, sig, w->sig_at, true, &r);
	if (code == 0 && sig->call.shape == SIG_COLL)
		code = start_coll_call(w, sig, w->sig_at, &p);
	if (code == 0 && x != NULL)
		code = end_send(w, x);
	if (code == 0 && r != NULL)
		code = end_recv(w, r);
	if (code == 0 && p != NULL)
		code = end_coll(w, p);
	return code;
}

/* A persistent request's operation begins anew with each start; any other's with the call itself. */
static int activate(struct walk *w, struct request *q)
{
	const struct sig *sig = &w->p->sigs.at[q->sig];
	enum sig_shape shape = sig->call.shape;
	int code = 0;
	q->active = true;
	q->window = w->call.at.window;
	q->at = w->call.at.at;
	if (q->persistent)
		w->p->sigs.at[q->sig].starts++;
	if (shape == SIG_SEND || shape == SIG_SENDRECV)
		code = start_send(w, sig, q->sig, q->persistent, &q->send);
	if (code == 0 && (shape == SIG_RECV || shape == SIG_SENDRECV))
		code = start_recv(w, sig, q->sig, false, &q->recv);
	if (code == 0 && shape == SIG_COLL && q->persistent && q->channel != 0)
		code = start_coll(w, sig, q->sig, q->channel, q->starts++, &q->part);
	else if (code == 0 && shape == SIG_COLL && !q->persistent)
		code = start_coll_call(w, sig, q->sig, &q->part);
	else if (code == 0 && shape == SIG_COMM)
		code = start_comm(w, &q->part);
	return code;
}

static int do_start_request(struct walk *w)
{
	struct request *q = request_start(w->sh, &w->lane->requests, w->sig_at);
	if (q == NULL)
		return -ENOMEM;
	q->persistent = (w->sig->call.flags & SIG_PERSISTENT) != 0;
	if (!q->persistent)
		return activate(w, q);
	if (w->sig->call.shape != SIG_COLL || w->sig->comm == NONE)
		return 0;
	struct comm_use *use = use_of(w, same_comm(w, w->sig->comm));
	if (use == NULL)
		return -ENOMEM;
	q->channel = 1 + use->channels++;
	return 0;
}

static int start_one(struct walk *w, uint32_t i, struct request *q)
{
	(void)i;
	if (q == NULL || !q->persistent) {
		w->sh->counts.unknown_requests++;
		return 0;
	}
	return activate(w, q);
}

/* Only messages are cancelled: of other requests the flag is what the MPI library happened to leave there (Open
 * MPI does not set that of files). */
static void take_status(struct walk *w, struct request *q, const struct sig_status *status)
{
	const struct sig *sig = q->sig == NONE ? NULL : &w->p->sigs.at[q->sig];
	if (sig == NULL)
		return;
	if (sig->call.shape == SIG_IO && sig->object != NONE && status->bytes < sig->call.bytes)
		w->sh->unread[sig->object] += sig->call.bytes - status->bytes;
	bool message = sig->call.shape == SIG_SEND || sig->call.shape == SIG_RECV || sig->call.shape == SIG_SENDRECV;
	if (status->cancelled && message) {
		if (q->send != NULL)
			q->send->flags |= SENT_CANCELLED;
		if (q->recv != NULL)
			q->recv->cancelled = true;
		w->sh->counts.cancelled++;
	} else if (q->recv != NULL) {
		q->recv->peer = comms_peer(&w->st->step->comms.at[sig->comm], status->source);
		q->recv->tag = status->tag;
		if (q->recv->starter != NONE)
			w->p->sigs.at[q->recv->starter].started_bytes += status->bytes - q->recv->bytes;
		q->recv->bytes = status->bytes;
	}
}

/* Messages say so themselves. */
static int note_completed(struct walk *w, const struct request *q)
{
	enum sig_shape shape = q->sig == NONE ? SIG_TIME : w->p->sigs.at[q->sig].call.shape;
	if (!q->active || (shape != SIG_COLL && shape != SIG_IO && shape != SIG_RMA))
		return 0;
	struct completed c = {w->call, {q->window, w->owner->number, q->at}, w->lane->rank};
	return vec_push(&w->sh->completed, c);
}

static int complete_one(struct walk *w, uint32_t i, struct request *q)
{
	struct sig_status status;
	bool has_status = false;
	int code = 0;
	if (w->status < w->sig->call.nlist) {
		sig_status_at(&w->sig->call, w->status, &status);
		has_status = status.index == i;
		w->status += has_status;
	}
	if (q == NULL || q == &request_gone) {
		w->sh->counts.unknown_requests += q == NULL;
		return 0;
	}
	if (has_status)
		take_status(w, q, &status);
	code = note_completed(w, q);
	if (q->send != NULL && code == 0)
		code = end_send(w, q->send);
	if (q->recv != NULL && code == 0)
		code = end_recv(w, q->recv);
	if (q->part != NULL && code == 0)
		code = end_coll(w, q->part);
	q->send = NULL;
	q->recv = NULL;
	q->part = NULL;
	q->active = q->cancelling = false;
	return code;
}

/* A receive that was asked to be cancelled and is freed without a wait: no status will say so, but nobody expects a
 * message. */
static int free_one(struct walk *w, uint32_t i, struct request *q)
{
	int code = 0;
	(void)i;
	if (q == NULL || q == &request_gone)
		return 0;
	if (q->active && q->cancelling && q->recv != NULL) {
		q->recv->cancelled = true;
		w->sh->counts.cancelled++;
	}
	if (q->send != NULL)
		code = match_send_over(w->sh, q->send);
	if (q->recv != NULL && code == 0)
		code = match_over(w->sh, q->recv);
	q->send = NULL;
	q->recv = NULL;
	q->active = q->persistent = false;
	return code;
}

static int cancel_one(struct walk *w, uint32_t i, struct request *q)
{
	(void)w, (void)i;
	if (q != NULL && q != &request_gone)
		q->cancelling = true;
	return 0;
}

static int do_complete(struct walk *w)
{
	if (w->lane->polls.n > 0 && (wait_of(w) == NULL || poll_ends(w, w->wait) < 0))
		return -ENOMEM;
	return visit_requests(w, complete_one, true);
}

/* A partitioned message goes when its last partition is ready: until then its receiver waits for the sender. */
static int ready_one(struct walk *w, uint32_t i, struct request *q)
{
	struct send *x = q != NULL ? q->send : NULL;
	(void)i;
	if (x == NULL || (x->flags & SENT_PARTITIONED) == 0 || x->recv != NULL || x->start.start_ns >= w->call.start_ns)
		return 0;
	int code = x->edge != NULL ? edge_drop(w->sh, x->edge) : 0;
	x->start = w->call;
	return code == 0 ? walk_edge(w, &x->edge) : code;
}

static int do_request(struct walk *w)
{
	const char *op = w->sig->op != NONE ? w->st->step->ops.at[w->sig->op] : "";
	if (strncmp(op, "MPI_Pready", strlen("MPI_Pready")) == 0)
		return visit_requests(w, ready_one, false);
	return strcmp(op, "MPI_Request_free") == 0 ? visit_requests(w, free_one, true)
	       : strcmp(op, "MPI_Cancel") == 0	   ? visit_requests(w, cancel_one, false)
						   : 0;
}

int calls_event(struct walk *w)
{
	const struct sig_call *c = &w->sig->call;
	if (!w->sig->defined)
		return 0;
	/* A long call is recorded as several events; what they complete, the first of them waited for. */
	if (c->continues)
		w->call = w->lane->head;
	if ((c->flags & SIG_STARTS_REQUEST) != 0)
		return do_start_request(w);
	if ((c->flags & SIG_FAILED) != 0 && c->shape != SIG_COMPLETE) {
		w->sh->counts.failed++;
		return c->shape == SIG_RECV || c->shape == SIG_SENDRECV ? do_blocking(w)
									: 0; /* truncated, so received */
	}
	switch (c->shape) {
	case SIG_START:
		return w->lane->polls.n > 0 && poll_forget(w) < 0 ? -ENOMEM : visit_requests(w, start_one, false);
	case SIG_COMPLETE:
		w->status = 0;
		return (c->flags & SIG_POLLS) != 0 ? poll_run(w) : do_complete(w);
	case SIG_REQUEST:
		return do_request(w);
	case SIG_SEND:
	case SIG_RECV:
	case SIG_SENDRECV:
	case SIG_COLL:
		return do_blocking(w);
	case SIG_PROBE:
		return (c->flags & SIG_POLLS) != 0 ? poll_run(w) : do_probe(w);
	case SIG_COMM:
		return do_comm(w);
	case SIG_RMA:
	case SIG_IO:
		return do_object(w);
	default:
		return 0;
	}
}
