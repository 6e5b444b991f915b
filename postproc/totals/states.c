/* states.c - see states.h. */
#include "postproc/totals/states.h"
#include "postproc/totals/states_calls.h"

#include <math.h>

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

static int states_use(struct states_of *x, uint32_t rank, uint32_t comm, uint32_t channel, uint64_t n)
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

static bool is_synchronizing(const struct sig *sig)
{
	return sig->call.shape == SIG_RMA && (sig->call.rma == RMA_FENCE || sig->call.rma == RMA_FREE);
}

/* Operations whose signatures no longer fit the dictionary. */
bool states_is_hidden(const struct step *s, const struct sig *sig)
{
	const char *op = sig_op_or(s, sig, "");
	return sig->call.literal_follows && sig->calls > 0 && strncmp(op, "MPI_Comm_", 9) != 0 && !step_is_message(op);
}

int states_count(struct states_of *x, uint32_t rank)
{
	const struct step *s = x->step;
	const struct process *p = s->ranks[rank];
	int code = 0, hidden = 0;
	for (size_t i = 0; p != NULL && i < p->sigs.n && code == 0; i++) {
		const struct sig *sig = &p->sigs.at[i];
		uint32_t comm = is_synchronizing(sig) ? comm_of_window(s, sig->object) : NONE;
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

uint64_t states_entered(const struct states_of *x, uint32_t rank, uint32_t comm, uint32_t channel)
{
	uint32_t at =
		x->use_of.at[channel == CHANNEL_COLLECTIVES ? comm : x->step->comms.n + channel - CHANNEL_WINDOW(0)];
	return at > 0 && x->out.uses.at[at - 1].rank == rank ? x->out.uses.at[at - 1].entered : 0;
}

int states_set(struct states_of *x, uint32_t rank, uint32_t comm, uint64_t n)
{
	return states_use(x, rank, comm, CHANNEL_COLLECTIVES, n - states_entered(x, rank, comm, CHANNEL_COLLECTIVES));
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
	if (strcmp(sig_op(s, sig), "MPI_Bsend") == 0)
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
	bool window = is_synchronizing(sig);
	uint32_t comm = window ? comm_of_window(s, sig->object) : sig->comm;
	struct want w = {.kind = WANT_MEETING,
			 .comm = comm,
			 .channel = window ? CHANNEL_WINDOW(sig->object) : CHANNEL_COLLECTIVES,
			 .coll = window ? COLL_NONE : (int32_t)sig->call.coll,
			 .root = window ? SIG_NO_ROOT : sig->peer};
	if (comm == NONE)
		return states_add(&x->out, t);
	w.k = states_entered(x, t->rank, s->comms.at[comm].same, w.channel);
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
			  .op = sig_op(x->step, sig),
			  .site = sig->site,
			  .since_s = since_s};
	struct want wants[2];
	uint32_t n = 0;
	if ((sig->call.flags & SIG_STARTS_REQUEST) != 0)
		return states_add(&x->out, &t);
	if (!x->from->exact && states_waits_for_any(x->step, sig))
		return states_any(x, &t);
	if (shape == SIG_COMPLETE && (sig->call.flags & SIG_POLLS) == 0)
		return states_requests(x, &t, &sig->call);
	if ((shape == SIG_COLL && sig->call.coll != COLL_NONE) || is_synchronizing(sig))
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
		const struct open_sig *open = step_open(x->step->ranks[rank], t);
		if (is_there != NULL && !is_there(context, rank, t))
			continue;
		code = open != NULL && open->stands ? add_standing(x, rank, open)
						    : states_thread(x, rank, t, STATE_FREE);
	}
	return code;
}

/* A level at which a thread may call MPI while another one is in a call: MPI_THREAD_MULTIPLE, of the standard's ABI and
 * of the libraries before it. */
static bool may_have_more(const struct process *p)
{
	return (p->thread_level == 3 || p->thread_level == 4096) && p->other_threads != 0;
}

int states_note_more(struct states_of *x)
{
	const struct step *s = x->step;
	if (s->nranks > 0 && vec_reach(&x->out.more, s->nranks - 1) < 0)
		return -ENOMEM;
	for (size_t t = 0; t < x->out.threads.n; t++) {
		const struct state *in = &x->out.threads.at[t];
		if (in->kind != STATE_OVER && s->ranks[in->rank] != NULL)
			x->out.more.at[in->rank] = may_have_more(s->ranks[in->rank]);
	}
	return 0;
}
