/* waits.c - the states of ranks that have been in the same call at the last two samples, for postproc/state: who can
 * never go on, and who waits for those outside of MPI.
 *
 * No events are needed: a message that was sent, or a collective that all have entered, would have ended the call long
 * before the second sample. Where it is not certain what a call waits for, its thread can go on, so that what is called
 * a deadlock is one. A thread outside of MPI can go on as well: nobody can tell an endless loop from a long one, but
 * who waits for its rank is said. */
#include "postproc/live/snapshot.h"
#include "postproc/read/comms.h"

#include <math.h>

#define STALL_S 60.0  /* all inside of MPI so long, each in one call: nothing moves, whatever they wait for */
#define WAITED_MAX 64 /* ranks of which it is said who waits for them */
/* Who was ready to run and hardly did cannot have taken what came. */
#define STARVED_SHARE 0.1
#define STARVED_NS 1000000u

/* ---- requests: what the tracer keeps of those that a thread started last ---- */

static const struct live_thread *thread_of(const struct snapshot *l, uint32_t rank, uint32_t thread)
{
	const struct live_process *p = l->ranks.at[rank].process;
	return p != NULL && thread < p->threads.n ? &p->threads.at[thread] : NULL;
}

static uint64_t next_serial(void *context, uint32_t rank, uint32_t thread)
{
	const struct live_thread *t = thread_of(context, rank, thread);
	return t != NULL ? t->next_serial : 0;
}

/* NULL: it is not known, or does not say what it was. */
static const struct sig *started_by(const struct snapshot *l, uint32_t rank, uint32_t thread, uint64_t serial)
{
	const struct live_thread *t = thread_of(l, rank, thread);
	const struct process *p = l->step.ranks[rank];
	if (t == NULL || p == NULL || thread >= p->threads.n || serial >= t->next_serial ||
	    t->next_serial - serial > t->nstarted)
		return NULL;
	uint32_t id = t->started[t->next_serial - serial - 1];
	const struct thread *known = &p->threads.at[thread];
	uint32_t at = id < known->sig_of.n ? known->sig_of.at[id] : 0;
	return at > 0 ? &p->sigs.at[at - 1] : NULL;
}

/* What came in the last interval is not complete everywhere; what did before is. So a small send needs nobody, unless
 * it is all that the call waits for. */
static enum request_needs request_needs(void *context, uint32_t rank, uint32_t thread, uint64_t serial, bool alone,
					struct want *ret_want)
{
	const struct snapshot *l = context;
	const struct sig *sig = started_by(l, rank, thread, serial);
	if (sig == NULL || (sig->call.flags & SIG_STARTS_REQUEST) == 0)
		return REQUEST_UNKNOWN;
	if (sig->call.shape == SIG_RECV && sig->recv_peer != SIG_PROC_NULL)
		return states_message(&l->step, sig, ret_want) ? REQUEST_WANTS : REQUEST_UNKNOWN;
	if (sig->call.shape != SIG_SEND)
		return sig->call.shape == SIG_RECV ? REQUEST_NOBODY : REQUEST_UNKNOWN;
	bool small = sig->bytes <= EAGER_BYTES && (sig->call.flags & SIG_SYNCHRONOUS) == 0;
	if (sig->peer == SIG_PROC_NULL || (small && !alone))
		return REQUEST_NOBODY;
	return states_receiver(&l->step, sig, ret_want) ? REQUEST_WANTS : REQUEST_UNKNOWN;
}

/* ---- states ---- */

static bool in_finalize(const struct snapshot *l, const struct live_rank *r)
{
	return r->state == LIVE_MPI && r->sig != NULL && states_is_finalize(&l->step, r->sig);
}

/* It sends nothing any more. */
static bool has_left(const struct snapshot *l, const struct live_rank *r)
{
	return r->state == LIVE_ENDED || in_finalize(l, r);
}

/* The last moment that all nodes which speak have sampled. */
static int64_t common_ns(const struct snapshot *l)
{
	int64_t common = l->realtime_ns;
	for (size_t i = 0; i < l->nodes.n; i++)
		if (l->node_states.at[i] == NODE_SAMPLED && l->nodes.at[i].realtime_ns < common)
			common = l->nodes.at[i].realtime_ns;
	return common;
}

/* Nodes write one after the other, so that some are a sample ahead of others. All are judged as of the last moment that
 * all have sampled: who is ahead was still in its call then, and at the sample before, if it is in it for long enough.
 * Who cannot go on at one moment never can, so nothing is lost by that. */
static bool stood_then(const struct snapshot *l, const struct live_rank *x, double since_s)
{
	int64_t ahead_ns = x->node != NULL ? x->node->realtime_ns - common_ns(l) : 0;
	int64_t interval_ns = x->node != NULL ? x->node->interval_ns : 0;
	if (ahead_ns <= interval_ns / 2) /* of that moment, or its node has ended before */
		return true;
	if (x->state != LIVE_ENDED)
		return since_s * 1e9 >= (double)(ahead_ns + interval_ns);
	return interval_ns <= 0 || x->node->samples >= 2 + (x->process != NULL ? x->process->ran : 0) +
							       (uint64_t)(ahead_ns / interval_ns + 1);
}

/* Its message may lie there since long: it takes it when it has a processor again. */
static bool is_held_up(const struct live_thread *t, const struct live_node *n)
{
	if (!t->has_system)
		return false;
	bool starved = n != NULL && (double)t->system.wait_ns > STARVED_SHARE * (double)n->interval_ns &&
		       t->known_before && t->system.cpu_ns < STARVED_NS;
	return starved || t->system.run_state == 'T' || t->system.run_state == 't';
}

static const struct open_sig *open_of(const struct process *p, uint32_t thread)
{
	for (size_t i = 0; p != NULL && i < p->open.n; i++)
		if (p->open.at[i].thread == thread)
			return &p->open.at[i];
	return NULL;
}

double live_since(const struct live_rank *x, const struct live_thread *t)
{
	return x->node != NULL && x->node->ns_per_tick > 0 ? (double)t->age_ticks * x->node->ns_per_tick / 1e9 : NAN;
}

static int add_thread(const struct snapshot *l, struct states_of *s, uint32_t rank, uint32_t thread)
{
	const struct live_rank *x = &l->ranks.at[rank];
	const struct live_thread *t = &x->process->threads.at[thread];
	const struct open_sig *open = open_of(l->step.ranks[rank], thread);
	double since_s = live_since(x, t);
	if (!t->open || t->still == 0 || open == NULL || !stood_then(l, x, since_s))
		return states_thread(s, rank, thread, STATE_FREE);
	int code = states_call(s, rank, open, since_s);
	if (code == 0 && is_held_up(t, x->node))
		s->out.threads.at[s->out.threads.n - 1].kind = STATE_FREE;
	return code;
}

/* A thread that the kernel no longer knows has ended. */
static bool is_there(const struct live_process *p, uint32_t thread)
{
	const struct live_thread *t = &p->threads.at[thread];
	return thread == 0 || t->open || t->has_system || !p->threads.at[0].has_system;
}

static int add_rank(const struct snapshot *l, struct states_of *s, uint32_t rank)
{
	const struct live_rank *x = &l->ranks.at[rank];
	if (has_left(l, x)) /* what it sent last may be under way until the next sample */
		return states_thread(s, rank, 0, x->still ? STATE_OVER : STATE_FREE);
	if (x->state == LIVE_SILENT || x->process == NULL || x->process->threads.n == 0)
		return 0;
	int code = states_count(s, rank);
	if (code > 0)
		return states_thread(s, rank, 0, STATE_FREE);
	for (uint32_t t = 0; t < x->process->threads.n && code == 0; t++)
		if (is_there(x->process, t))
			code = add_thread(l, s, rank, t);
	return code;
}

/* ---- who waits for those outside of MPI ---- */

static int note_all_waited(struct snapshot *l, struct graph *g)
{
	uint8_t *seen = calloc(g->nodes.n + 1, 1);
	int code = seen == NULL ? -ENOMEM : 0;
	for (uint32_t r = 0; r < l->step.nranks && code == 0 && l->waited_for.n < WAITED_MAX; r++) {
		struct live_group group = {.rank = r};
		if (l->ranks.at[r].state != LIVE_USEFUL || g->in[r] == g->in[r + 1])
			continue;
		code = graph_waiters(g, r, seen, &group.ranks);
		if (code == 0 && group.ranks.n > 0)
			code = vec_push(&l->waited_for, group);
		else
			vec_done(&group.ranks);
	}
	free(seen);
	return code;
}

/* ---- all ---- */

/* Nobody is outside of MPI, each has been in its call for long, and none of these may take as long as it likes. */
static bool has_stalled(const struct snapshot *l)
{
	uint32_t waiting = 0;
	for (uint32_t r = 0; r < l->step.nranks; r++) {
		const struct live_rank *x = &l->ranks.at[r];
		if (has_left(l, x) && x->still)
			continue;
		if (x->state != LIVE_MPI || x->sig == NULL || !x->still || !(x->since_s >= STALL_S))
			return false;
		enum sig_shape shape = x->sig->call.shape;
		if (shape != SIG_SEND && shape != SIG_RECV && shape != SIG_SENDRECV && shape != SIG_PROBE &&
		    shape != SIG_COLL && shape != SIG_COMPLETE)
			return false;
		waiting++;
	}
	return waiting > 0;
}

int snapshot_waits(struct snapshot *l)
{
	struct states_from from = {STATE_SAMPLE, l, next_serial, request_needs, .exact = false};
	struct graph g = {0};
	for (uint32_t r = 0; r < l->step.nranks; r++)
		l->ranks.at[r].still &= stood_then(l, &l->ranks.at[r], l->ranks.at[r].since_s);
	int code = states_of_step(&l->step, &from, &l->states);
	for (uint32_t r = 0; r < l->step.nranks && code == 0; r++)
		code = add_rank(l, &l->states, r);
	if (code == 0)
		code = graph_make(&l->states.out, &g);
	if (code == 0)
		code = cores_find(&g, &l->cores);
	if (code == 0)
		code = note_all_waited(l, &g);
	l->stuck = !l->over && (l->cores.at.n > 0 || has_stalled(l));
	graph_done(&g);
	return code;
}
