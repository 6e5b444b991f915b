/* states_requests.c - what Wait, Waitall, Waitany and Waitsome wait for, and by samples what the requests are that a
 * thread started last. See states.h. */
#include "postproc/totals/states_calls.h"

static uint64_t next_serial(void *context, uint32_t rank, uint32_t thread)
{
	const struct step *s = context;
	const struct open_sig *o = step_open(s->ranks[rank], thread);
	return o != NULL ? o->next_serial : 0;
}

struct requests {
	struct want wants[STATE_WANTS_MAX];
	uint32_t n, unknown, more;
};

/* NULL: it is not known, or does not say what it was. */
static const struct sig *started_by(const struct step *s, uint32_t rank, uint32_t thread, uint64_t serial)
{
	const struct process *p = s->ranks[rank];
	const struct open_sig *o = step_open(p, thread);
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

static bool is_collective_on(const struct step *s, const struct sig *sig, uint32_t comm)
{
	return sig->call.shape == SIG_COLL && sig->call.coll != COLL_NONE && sig->comm != NONE &&
	       s->comms.at[sig->comm].same == comm && (sig->call.flags & SIG_PERSISTENT) == 0;
}

/* A nonblocking collective, by what samples know: its number is that of all that its communicator has seen, less those
 * started later. A blocking one may have been called since; if it keeps all, it does not matter. */
static bool started_collective(const struct states_of *x, uint32_t rank, uint32_t thread, uint64_t serial,
			       struct want *ret_want)
{
	const struct step *s = x->step;
	const struct process *p = s->ranks[rank];
	const struct sig *sig = started_by(s, rank, thread, serial), *other;
	if (sig == NULL || p->threads.n != 1 || sig->comm == NONE ||
	    !is_collective_on(s, sig, s->comms.at[sig->comm].same))
		return false;
	uint32_t comm = s->comms.at[sig->comm].same;
	uint64_t later = 0, n = states_entered(x, rank, comm, CHANNEL_COLLECTIVES);
	for (size_t i = 0; i < p->sigs.n; i++)
		if (p->sigs.at[i].calls > 0 && is_collective_on(s, &p->sigs.at[i], comm) &&
		    (p->sigs.at[i].call.flags & SIG_STARTS_REQUEST) == 0 && !keeps_all(&p->sigs.at[i]))
			return false;
	for (uint64_t k = serial + 1; k < step_open(p, thread)->next_serial; k++) {
		if ((other = started_by(s, rank, thread, k)) == NULL)
			return false;
		later += is_collective_on(s, other, comm);
	}
	*ret_want = (struct want){.kind = WANT_MEETING,
				  .comm = comm,
				  .channel = CHANNEL_COLLECTIVES,
				  .k = n - 1 - later,
				  .op = sig_op(s, sig),
				  .coll = (int32_t)sig->call.coll,
				  .root = sig->peer};
	return n > later;
}

static void inspect_request(const struct states_of *x, uint32_t rank, uint32_t thread, uint64_t serial, bool alone,
			    struct requests *r)
{
	struct want want;
	enum request_needs needs = x->from->request(x->from->context, rank, thread, serial, alone, &want);
	if (needs == REQUEST_UNKNOWN && !x->from->exact && started_collective(x, rank, thread, serial, &want))
		needs = REQUEST_WANTS;
	if (needs == REQUEST_UNKNOWN)
		r->unknown++;
	else if (needs == REQUEST_WANTS && r->n < STATE_WANTS_MAX)
		r->wants[r->n++] = want;
	else if (needs == REQUEST_WANTS)
		r->more++;
}

static void inspect_requests(const struct states_of *x, uint32_t rank, uint32_t thread, const struct sig_call *call,
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
			inspect_request(x, rank, owner, serial, alone, r);
			serial += run.descending ? -1ull : 1;
		}
	}
}

/* Wait and Waitall need all that they name, Waitany and Waitsome one. Where it is not known which are complete, one of
 * those named is not: it needs that one, whichever it is. */
int states_requests(struct states_of *x, struct state *t, const struct sig_call *call)
{
	struct requests r;
	bool any = strcmp(t->op, "MPI_Waitany") == 0 || strcmp(t->op, "MPI_Waitsome") == 0;
	bool all = call->requests == 1 || (x->from->exact && !any);
	inspect_requests(x, t->rank, t->thread, call, call->requests == 1 || any, &r);
	if (r.n == 0 && r.unknown == 0 && !x->from->exact) /* all small sends: yet it waits for one */
		inspect_requests(x, t->rank, t->thread, call, true, &r);
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
	const char *op = sig_op(s, sig);
	return sig->call.shape != SIG_COMPLETE && (strcmp(op, "MPI_Waitany") == 0 || strcmp(op, "MPI_Waitsome") == 0);
}

/* Of which requests such a call waits for is not recorded, nor which are complete: one of all that were ever started,
 * if all of these are known. */
int states_any(struct states_of *x, struct state *t)
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

/* ---- what samples know ---- */

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
