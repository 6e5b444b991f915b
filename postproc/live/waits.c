/* waits.c - the states of ranks that have been in the same call at the last two samples, for postproc/state: who can
 * never go on, and who waits for those outside of MPI.
 *
 * No events are needed: a message that was sent, or a collective that all have entered, would have ended the call long
 * before the second sample. Where it is not certain what a call waits for, its thread can go on, so that what is called
 * a deadlock is one. A thread outside of MPI can go on as well: nobody can tell an endless loop from a long one, but
 * who waits for its rank is said. */
#include "postproc/live/snapshot.h"
#include "postproc/read/comms.h"
#include "postproc/read/ends.h"

#include <math.h>

#define STALL_S 60.0  /* all inside of MPI so long, each in one call: nothing moves, whatever they wait for */
#define WAITED_MAX 64 /* ranks of which it is said who waits for them */

/* ---- states ---- */

static bool has_left(const struct snapshot *l, uint32_t rank)
{
	const struct process *p = l->step.ranks[rank];
	return l->ranks.at[rank].state == LIVE_ENDED || (p != NULL && ends_left(&l->step, p));
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

static int note_open(struct snapshot *l, uint32_t rank)
{
	const struct live_rank *x = &l->ranks.at[rank];
	struct process *p = l->step.ranks[rank];
	int code = 0;
	p->other_threads = x->process->other_threads;
	for (size_t i = 0; i < p->open.n && code == 0; i++) {
		struct open_sig *o = &p->open.at[i];
		const struct live_thread *t = &x->process->threads.at[o->thread];
		code = open_note_sample(p, o, x->node, t);
		o->stands &= stood_then(l, x, o->since_s);
		o->held_up = t->has_system && replay_holds_up(t, x->node);
	}
	return code;
}

/* A thread that the kernel no longer knows has ended. */
static bool is_there(void *context, uint32_t rank, uint32_t thread)
{
	const struct snapshot *l = context;
	const struct live_process *p = l->ranks.at[rank].process;
	const struct live_thread *t = &p->threads.at[thread];
	return thread == 0 || t->open || t->has_system || !p->threads.at[0].has_system;
}

static bool is_heard(const struct live_rank *x)
{
	return x->state != LIVE_SILENT && x->process != NULL && x->process->threads.n > 0;
}

static int add_rank(struct snapshot *l, struct states_of *s, uint32_t rank)
{
	const struct live_rank *x = &l->ranks.at[rank];
	if (has_left(l, rank)) /* what it sent last may be under way until the next sample */
		return states_ended(s, rank, x->still);
	if (!is_heard(x))
		return 0;
	return states_standing(s, rank, (uint32_t)x->process->threads.n, is_there, l);
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

/* Nobody is outside of MPI, each has been in its call for long, and in none that goes on without others. */
static bool nobody_advances(const struct snapshot *l)
{
	uint32_t waiting = 0;
	for (uint32_t r = 0; r < l->step.nranks; r++) {
		const struct live_rank *x = &l->ranks.at[r];
		if (has_left(l, r) && x->still)
			continue;
		if (x->state != LIVE_MPI || x->sig == NULL || !x->still || !(x->since_s >= STALL_S) ||
		    ends_works(&l->step, x->sig))
			return false;
		waiting++;
	}
	return waiting > 0;
}

int snapshot_waits(struct snapshot *l)
{
	struct states_from from = states_sampled(STATE_SAMPLE, &l->step);
	struct graph g = {0};
	for (uint32_t r = 0; r < l->step.nranks; r++)
		l->ranks.at[r].still &= stood_then(l, &l->ranks.at[r], l->ranks.at[r].since_s);
	int code = states_of_step(&l->step, &from, &l->states);
	for (uint32_t r = 0; r < l->step.nranks && code == 0; r++) /* of all, before one is judged by others */
		code = is_heard(&l->ranks.at[r]) ? note_open(l, r) : 0;
	for (uint32_t r = 0; r < l->step.nranks && code == 0; r++)
		code = add_rank(l, &l->states, r);
	if (code == 0)
		code = states_note_more(&l->states);
	if (code == 0)
		code = graph_make(&l->states.out, &g);
	if (code == 0)
		code = cores_find(&g, &l->cores);
	if (code == 0)
		code = cores_part(&l->states.out, &l->cores, &l->possible);
	if (code == 0)
		code = note_all_waited(l, &g);
	l->stuck = !l->over && (l->cores.at.n > 0 || nobody_advances(l));
	graph_done(&g);
	return code;
}
