/* states.c - see states.h. */
#include "postproc/totals/states.h"
#include "postproc/totals/states_rma.h"

#include <math.h>

static const char *op_of(const struct step *s, const struct sig *sig)
{
	return sig->op == NONE ? "an MPI call" : s->ops.at[sig->op];
}

bool states_is_finalize(const struct step *s, const struct sig *sig)
{
	return strcmp(op_of(s, sig), "MPI_Finalize") == 0;
}

int states_of_step(const struct step *s, const struct states_from *from, struct states_of *ret_x)
{
	*ret_x = (struct states_of){.step = s, .from = from, .out.nranks = s->nranks};
	for (size_t i = 0; i < s->comms.n; i++) {
		const struct comm *c = &s->comms.at[i];
		struct state_comm view = {.group = c->group, .size = c->size, .same = c->same};
		if (c->inter) {
			view.remote = c->remote;
			view.remote_size = c->remote_size;
		}
		if (vec_push(&ret_x->out.comms, view) < 0)
			return -ENOMEM;
	}
	return s->comms.n + s->windows.n > 0 ? vec_reach(&ret_x->use_of, s->comms.n + s->windows.n - 1) : 0;
}

void states_of_done(struct states_of *x)
{
	states_done(&x->out);
	vec_done(&x->use_of);
	states_locks_free(x->locks);
	x->locks = NULL;
}

/* ---- what was begun together ---- */

int states_use(struct states_of *x, uint32_t rank, uint32_t comm, uint32_t channel, uint64_t n)
{
	uint32_t *at =
		&x->use_of.at[channel == CHANNEL_COLLECTIVES ? comm : x->step->comms.n + channel - CHANNEL_WINDOW(0)];
	if (*at > 0 && x->out.uses.at[*at - 1].rank == rank) {
		x->out.uses.at[*at - 1].entered += n;
		return 0;
	}
	*at = (uint32_t)x->out.uses.n + 1;
	return vec_push(&x->out.uses, (struct state_use){rank, comm, channel, n});
}

static uint32_t comm_of_window(const struct step *s, uint32_t window)
{
	uint32_t comm = window != NONE ? s->windows.at[window].comm : NONE;
	return comm != NONE ? s->comms.at[comm].same : NONE;
}

static bool is_together(const struct sig *sig)
{
	return sig->call.shape == SIG_RMA && (sig->call.rma == RMA_FENCE || sig->call.rma == RMA_FREE);
}

/* Operations whose signatures no longer fit the dictionary. */
bool states_is_hidden(const struct step *s, const struct sig *sig)
{
	const char *op = sig->op != NONE ? s->ops.at[sig->op] : "";
	return sig->call.literal_follows && sig->calls > 0 && strncmp(op, "MPI_Comm_", 9) != 0 && !step_is_message(op);
}

int states_count(struct states_of *x, uint32_t rank)
{
	const struct step *s = x->step;
	const struct process *p = s->ranks[rank];
	int code = 0, hidden = 0;
	for (size_t i = 0; p != NULL && i < p->sigs.n && code == 0; i++) {
		const struct sig *sig = &p->sigs.at[i];
		uint32_t comm = is_together(sig) ? comm_of_window(s, sig->object) : NONE;
		hidden |= states_is_hidden(s, sig);
		if (sig->literal || sig->calls == 0 || (sig->call.flags & SIG_PERSISTENT) != 0)
			continue;
		if (sig->call.shape == SIG_COLL && sig->call.coll != COLL_NONE && sig->comm != NONE)
			code = states_use(x, rank, s->comms.at[sig->comm].same, CHANNEL_COLLECTIVES, sig->calls);
		else if (comm != NONE)
			code = states_use(x, rank, comm, CHANNEL_WINDOW(sig->object), sig->calls);
	}
	return code < 0 ? code : hidden;
}

static uint64_t entered(const struct states_of *x, uint32_t rank, uint32_t comm, uint32_t channel)
{
	uint32_t at =
		x->use_of.at[channel == CHANNEL_COLLECTIVES ? comm : x->step->comms.n + channel - CHANNEL_WINDOW(0)];
	return at > 0 && x->out.uses.at[at - 1].rank == rank ? x->out.uses.at[at - 1].entered : 0;
}

int states_set(struct states_of *x, uint32_t rank, uint32_t comm, uint64_t n)
{
	return states_use(x, rank, comm, CHANNEL_COLLECTIVES, n - entered(x, rank, comm, CHANNEL_COLLECTIVES));
}

/* ---- messages ---- */

static bool is_rank(const struct step *s, int32_t peer)
{
	return peer >= 0 && (uint32_t)peer < s->nranks;
}

bool states_message(const struct step *s, const struct sig *sig, struct want *ret_want)
{
	const struct sig_call *c = &sig->call;
	int32_t peer = (c->flags & SIG_ANY_SOURCE) != 0 ? SIG_ANY : c->shape == SIG_PROBE ? sig->peer : sig->recv_peer;
	*ret_want = (struct want){.kind = WANT_MESSAGE,
				  .partitioned = c->partitioned,
				  .comm = sig->comm,
				  .peer = peer,
				  .tag = (c->flags & SIG_ANY_TAG) != 0 ? SIG_ANY
					 : c->shape == SIG_SENDRECV    ? c->recv_tag
								       : c->tag,
				  .bytes = sig->recv_bytes};
	return sig->comm != NONE && (peer == SIG_ANY || is_rank(s, peer));
}

bool states_receiver(const struct step *s, const struct sig *sig, struct want *ret_want)
{
	*ret_want = (struct want){.kind = WANT_RECEIVER,
				  .partitioned = sig->call.partitioned,
				  .comm = sig->comm,
				  .peer = sig->peer,
				  .tag = sig->call.tag,
				  .bytes = sig->bytes};
	return sig->comm != NONE && is_rank(s, sig->peer);
}

/* Of the two halves of a sendrecv either may have ended: it needs one of them. How many it has; 0: not known. */
static uint32_t wants_of_message(const struct step *s, const struct sig *sig, struct want ret_wants[2])
{
	bool both = sig->call.shape == SIG_SENDRECV, any = (sig->call.flags & SIG_ANY_SOURCE) != 0;
	uint32_t n = 0;
	if (strcmp(op_of(s, sig), "MPI_Bsend") == 0)
		return 0;
	if (sig->call.shape == SIG_SEND || (both && sig->peer != SIG_PROC_NULL)) {
		if (!states_receiver(s, sig, &ret_wants[n++]))
			return 0;
	}
	if (sig->call.shape != SIG_SEND && (!both || any || sig->recv_peer != SIG_PROC_NULL)) {
		if (!states_message(s, sig, &ret_wants[n++]))
			return 0;
	}
	return n;
}

/* ---- requests ---- */

struct requests {
	struct want wants[STATE_WANTS_MAX];
	uint32_t n, unknown, more;
};

static const struct open_sig *open_of(const struct process *p, uint32_t thread)
{
	for (size_t i = 0; p != NULL && i < p->open.n; i++)
		if (p->open.at[i].thread == thread)
			return &p->open.at[i];
	return NULL;
}

/* NULL: it is not known, or does not say what it was. */
static const struct sig *started_by(const struct step *s, uint32_t rank, uint32_t thread, uint64_t serial)
{
	const struct process *p = s->ranks[rank];
	const struct open_sig *o = open_of(p, thread);
	if (o == NULL || thread >= p->threads.n || serial >= o->next_serial || o->next_serial - serial > o->nstarted)
		return NULL;
	uint32_t id = p->started.at[o->first_started + (o->next_serial - serial - 1)];
	const struct thread *known = &p->threads.at[thread];
	uint32_t at = id < known->sig_of.n ? known->sig_of.at[id] : 0;
	return at > 0 ? &p->sigs.at[at - 1] : NULL;
}

/* Nobody leaves such a call before all have come to it, and so to all that began before it. */
static bool keeps_all(const struct sig *sig)
{
	static const enum sig_coll kinds[] = {COLL_BARRIER, COLL_ALLREDUCE, COLL_ALLGATHER, COLL_ALLTOALL,
					      COLL_REDUCE_SCATTER_BLOCK};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (sig->call.coll == kinds[i])
			return true;
	return false;
}

static bool is_together_on(const struct step *s, const struct sig *sig, uint32_t comm)
{
	return sig->call.shape == SIG_COLL && sig->call.coll != COLL_NONE && sig->comm != NONE &&
	       s->comms.at[sig->comm].same == comm && (sig->call.flags & SIG_PERSISTENT) == 0;
}

/* A nonblocking collective, by what samples know: its number is that of all that its communicator has seen, less those
 * started later. A blocking one may have been called since; if it keeps all, it does not matter. */
static bool started_together(const struct states_of *x, uint32_t rank, uint32_t thread, uint64_t serial,
			     struct want *ret_want)
{
	const struct step *s = x->step;
	const struct process *p = s->ranks[rank];
	const struct sig *sig = started_by(s, rank, thread, serial), *other;
	if (sig == NULL || p->threads.n != 1 || sig->comm == NONE ||
	    !is_together_on(s, sig, s->comms.at[sig->comm].same))
		return false;
	uint32_t comm = s->comms.at[sig->comm].same;
	uint64_t later = 0, n = entered(x, rank, comm, CHANNEL_COLLECTIVES);
	for (size_t i = 0; i < p->sigs.n; i++)
		if (p->sigs.at[i].calls > 0 && is_together_on(s, &p->sigs.at[i], comm) &&
		    (p->sigs.at[i].call.flags & SIG_STARTS_REQUEST) == 0 && !keeps_all(&p->sigs.at[i]))
			return false;
	for (uint64_t k = serial + 1; k < open_of(p, thread)->next_serial; k++) {
		if ((other = started_by(s, rank, thread, k)) == NULL)
			return false;
		later += is_together_on(s, other, comm);
	}
	*ret_want = (struct want){.kind = WANT_MEETING,
				  .comm = comm,
				  .channel = CHANNEL_COLLECTIVES,
				  .k = n - 1 - later,
				  .op = op_of(s, sig),
				  .coll = (int32_t)sig->call.coll,
				  .root = sig->peer};
	return n > later;
}

static void look_at_request(const struct states_of *x, uint32_t rank, uint32_t thread, uint64_t serial, bool alone,
			    struct requests *r)
{
	struct want want;
	enum request_needs needs = x->from->request(x->from->context, rank, thread, serial, alone, &want);
	if (needs == REQUEST_UNKNOWN && !x->from->exact && started_together(x, rank, thread, serial, &want))
		needs = REQUEST_WANTS;
	if (needs == REQUEST_UNKNOWN)
		r->unknown++;
	else if (needs == REQUEST_WANTS && r->n < STATE_WANTS_MAX)
		r->wants[r->n++] = want;
	else if (needs == REQUEST_WANTS)
		r->more++;
}

static void look_at_requests(const struct states_of *x, uint32_t rank, uint32_t thread, const struct sig_call *call,
			     bool alone, struct requests *r)
{
	struct sig_run run;
	uint32_t index = 0;
	*r = (struct requests){0};
	while (sig_next_run(call, &index, &run) == 1) {
		uint32_t owner = run.other_thread ? run.thread : thread;
		bool absolute = run.absolute || run.other_thread;
		uint64_t next = absolute ? 0 : x->from->next_serial(x->from->context, rank, thread);
		uint64_t serial = absolute ? run.value : next - run.value;
		for (uint32_t k = 0; k < run.count && r->n + r->unknown + r->more <= STATE_WANTS_MAX; k++) {
			look_at_request(x, rank, owner, serial, alone, r);
			serial += run.descending ? -1ull : 1;
		}
	}
}

/* Wait and Waitall need all that they name, Waitany and Waitsome one. Where it is not known which are complete, one of
 * those named is not: it needs that one, whichever it is. */
static int add_requests(struct states_of *x, struct state *t, const struct sig_call *call)
{
	struct requests r;
	bool any = strcmp(t->op, "MPI_Waitany") == 0 || strcmp(t->op, "MPI_Waitsome") == 0;
	bool all = call->requests == 1 || (x->from->exact && !any);
	look_at_requests(x, t->rank, t->thread, call, call->requests == 1 || any, &r);
	if (r.n == 0 && r.unknown == 0 && !x->from->exact) /* all small sends: yet it waits for one */
		look_at_requests(x, t->rank, t->thread, call, true, &r);
	t->left_out = r.unknown + r.more;
	if (r.n > 0 && (all || t->left_out == 0))
		t->kind = all ? STATE_ALL : STATE_ONE;
	int code = states_add(&x->out, t);
	for (uint32_t i = 0; i < r.n && code == 0; i++)
		code = states_want(&x->out, &r.wants[i]);
	return code;
}

bool states_waits_for_any(const struct step *s, const struct sig *sig)
{
	const char *op = op_of(s, sig);
	return sig->call.shape != SIG_COMPLETE && (strcmp(op, "MPI_Waitany") == 0 || strcmp(op, "MPI_Waitsome") == 0);
}

/* Of which requests such a call waits for is not recorded, nor which are complete: one of all that were ever started,
 * if all of these are known. */
static int add_any(struct states_of *x, struct state *t)
{
	uint64_t next = x->from->next_serial(x->from->context, t->rank, t->thread);
	t->kind = next > 0 && next <= STATE_WANTS_MAX ? STATE_ONE : STATE_FREE;
	int code = states_add(&x->out, t);
	for (uint64_t serial = 0; serial < next && next <= STATE_WANTS_MAX && code == 0; serial++) {
		struct want want;
		if (x->from->request(x->from->context, t->rank, t->thread, serial, true, &want) == REQUEST_WANTS)
			code = states_want(&x->out, &want);
		else
			x->out.threads.at[x->out.threads.n - 1].kind = STATE_FREE;
	}
	return code;
}

/* ---- calls ---- */

int states_thread(struct states_of *x, uint32_t rank, uint32_t thread, enum state_kind kind)
{
	return states_add(&x->out, &(struct state){.rank = rank,
						   .thread = thread,
						   .kind = kind,
						   .how = x->from->how,
						   .site = NONE,
						   .since_s = NAN});
}

static int add_meeting(struct states_of *x, struct state *t, const struct sig *sig)
{
	const struct step *s = x->step;
	bool window = is_together(sig);
	uint32_t comm = window ? comm_of_window(s, sig->object) : sig->comm;
	struct want w = {.kind = WANT_MEETING,
			 .comm = comm,
			 .channel = window ? CHANNEL_WINDOW(sig->object) : CHANNEL_COLLECTIVES,
			 .coll = window ? COLL_NONE : (int32_t)sig->call.coll,
			 .root = window ? SIG_NO_ROOT : sig->peer};
	if (comm == NONE)
		return states_add(&x->out, t);
	w.k = entered(x, t->rank, s->comms.at[comm].same, w.channel);
	t->kind = STATE_ALL;
	int code = states_add(&x->out, t);
	return code == 0 ? states_want(&x->out, &w) : code;
}

static int add_creation(struct states_of *x, struct state *t, const struct sig *sig)
{
	t->kind = STATE_ALL;
	int code = states_add(&x->out, t);
	struct want w = {.kind = WANT_MEETING,
			 .comm = sig->comm,
			 .channel = CHANNEL_CREATION,
			 .coll = COLL_NONE,
			 .root = SIG_NO_ROOT};
	return code == 0 ? states_want(&x->out, &w) : code;
}

int states_call(struct states_of *x, uint32_t rank, const struct open_sig *open, double since_s)
{
	const struct sig *sig = &x->step->ranks[rank]->sigs.at[open->sig];
	enum sig_shape shape = sig->call.shape;
	struct state t = {.rank = rank,
			  .thread = open->thread,
			  .kind = STATE_FREE,
			  .how = x->from->how,
			  .op = op_of(x->step, sig),
			  .site = sig->site,
			  .since_s = since_s};
	struct want wants[2];
	uint32_t n = 0;
	if ((sig->call.flags & SIG_STARTS_REQUEST) != 0)
		return states_add(&x->out, &t);
	if (!x->from->exact && states_waits_for_any(x->step, sig))
		return add_any(x, &t);
	if (shape == SIG_COMPLETE && (sig->call.flags & SIG_POLLS) == 0)
		return add_requests(x, &t, &sig->call);
	if ((shape == SIG_COLL && sig->call.coll != COLL_NONE) || is_together(sig))
		return add_meeting(x, &t, sig);
	if (shape == SIG_COMM && sig->open && sig->comm != NONE)
		return add_creation(x, &t, sig);
	if (shape == SIG_RMA)
		return states_rma(x, &t, open);
	if (shape == SIG_SEND || shape == SIG_RECV || shape == SIG_SENDRECV || shape == SIG_PROBE)
		n = wants_of_message(x->step, sig, wants);
	if (n > 0)
		t.kind = n == 1 ? STATE_ALL : STATE_ONE;
	int code = states_add(&x->out, &t);
	for (uint32_t i = 0; i < n && code == 0; i++)
		code = states_want(&x->out, &wants[i]);
	return code;
}

/* ---- what samples know ---- */

static uint64_t next_serial(void *context, uint32_t rank, uint32_t thread)
{
	const struct step *s = context;
	const struct open_sig *o = open_of(s->ranks[rank], thread);
	return o != NULL ? o->next_serial : 0;
}

/* What came in the last interval is not complete everywhere; what did before is. So a small send needs nobody, unless
 * it is all that the call waits for. */
static enum request_needs request_needs(void *context, uint32_t rank, uint32_t thread, uint64_t serial, bool alone,
					struct want *ret_want)
{
	const struct step *s = context;
	const struct sig *sig = started_by(s, rank, thread, serial);
	if (sig == NULL || (sig->call.flags & SIG_STARTS_REQUEST) == 0)
		return REQUEST_UNKNOWN;
	if (sig->call.shape == SIG_RECV && sig->recv_peer != SIG_PROC_NULL)
		return states_message(s, sig, ret_want) ? REQUEST_WANTS : REQUEST_UNKNOWN;
	if (sig->call.shape != SIG_SEND)
		return sig->call.shape == SIG_RECV ? REQUEST_NOBODY : REQUEST_UNKNOWN;
	bool small = sig->bytes <= EAGER_BYTES && (sig->call.flags & SIG_SYNCHRONOUS) == 0;
	if (sig->peer == SIG_PROC_NULL || (small && !alone))
		return REQUEST_NOBODY;
	return states_receiver(s, sig, ret_want) ? REQUEST_WANTS : REQUEST_UNKNOWN;
}

struct states_from states_sampled(enum state_how how, struct step *s)
{
	return (struct states_from){how, s, next_serial, request_needs, .exact = false};
}

/* Nobody counts on one that is held up. */
static int add_standing(struct states_of *x, uint32_t rank, const struct open_sig *open)
{
	int code = states_call(x, rank, open, open->since_s);
	if (code == 0 && open->held_up)
		x->out.threads.at[x->out.threads.n - 1].kind = STATE_FREE;
	return code;
}

/* What it has begun with others it has ended: nobody waits for it there. */
int states_ended(struct states_of *x, uint32_t rank, bool surely)
{
	int code = states_count(x, rank);
	return code < 0 ? code : states_thread(x, rank, 0, surely && code == 0 ? STATE_OVER : STATE_FREE);
}

int states_standing(struct states_of *x, uint32_t rank, uint32_t nthreads,
		    bool (*is_there)(void *context, uint32_t rank, uint32_t thread), void *context)
{
	int code = states_count(x, rank);
	if (code > 0)
		return states_thread(x, rank, 0, STATE_FREE);
	for (uint32_t t = 0; t < nthreads && code == 0; t++) {
		const struct open_sig *open = open_of(x->step->ranks[rank], t);
		if (is_there != NULL && !is_there(context, rank, t))
			continue;
		code = open != NULL && open->stands ? add_standing(x, rank, open)
						    : states_thread(x, rank, t, STATE_FREE);
	}
	return code;
}
