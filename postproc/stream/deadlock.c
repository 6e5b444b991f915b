/* deadlock.c - the states of ranks that died inside of MPI calls, for postproc/state: who could not have gone on
 * whatever the others did, and because of whom.
 *
 * A rank that died by itself (a crash, MPI_Abort), of which nothing or not all is known, or in a call of which it is
 * not certain what it waits for, can go on, and so can a thread outside of MPI. One that exited out of the call in
 * which it had stood (the library does so when its launcher is gone) gave up if it could not have gone on. One in
 * MPI_Finalize, or behind it, never helps anybody. What had been sent or posted and had not met its partner is under
 * way. Where events are missing, those who stood in their calls at the last samples are judged as those of a step that
 * runs. */
#include "postproc/stream/deadlock.h"
#include "postproc/read/ends.h"
#include "postproc/read/exits.h"
#include "postproc/read/sites.h"
#include "postproc/state/graph.h"
#include "postproc/totals/states.h"

#include <math.h>
#include <stdio.h>

#define ERROR_NS 5000000000 /* an error ends a run sooner, however busy the host is */

/* Of a file that was cut, single calls end before what its last sample saw. */
static bool is_whole(const struct process *p)
{
	for (size_t i = 0; i < p->open.n; i++)
		if (p->open.at[i].sampled &&
		    p->threads.at[p->open.at[i].thread].read < p->threads.at[p->open.at[i].thread].calls)
			return false;
	return process_is_whole(p);
}

static bool died(const struct process *p)
{
	return exits_by_itself(p) || exits_by_timer(p);
}

/* In order: are those who exited out of their calls stuck in them? Is who died over? Could who died have gone on? */
enum pass { PASS_INSIDE, PASS_DEATHS, PASS_ENDS };

struct asking {
	enum pass pass;
	const struct process *first; /* of those who died, the one that is told of; or NULL */
};

/* Who was ended in a call by a timer, as others were at about the same time, had waited there until then. */
static bool is_over(const struct process *p, const struct asking *q)
{
	return q->pass == PASS_DEATHS && died(p) && (p == q->first || exits_by_itself(p) || p->open.n == 0);
}

static bool is_in_its_call(const struct step *s, const struct process *p, const struct asking *q)
{
	return p->open.n > 0 && (!exits_by_itself(p) || (q->pass == PASS_INSIDE && ends_inside(s, p)));
}

/* ---- messages and requests ---- */

static bool is_under_way(const struct stream *st, uint32_t rank, const struct want *w)
{
	uint32_t comm = w->kind == WANT_MESSAGE || w->kind == WANT_RECEIVER ? st->step->comms.at[w->comm].same : NONE;
	if (w->kind == WANT_MESSAGE)
		return match_has_send(&st->shards[shard_of(st, rank)], comm, w->peer, rank, w->tag);
	return w->kind == WANT_RECEIVER &&
	       match_has_recv(&st->shards[shard_of(st, (uint32_t)w->peer)], comm, rank, (uint32_t)w->peer, w->tag);
}

static uint64_t next_serial(void *context, uint32_t rank, uint32_t thread)
{
	const struct lane *l = stream_lane(context, rank, thread);
	return l != NULL ? l->requests.count : 0;
}

static enum request_needs needs_part(const struct stream *st, uint32_t rank, const struct part *part,
				     struct want *ret_want)
{
	const struct collective *whole = part->collective;
	if (whole->channel != 0) /* persistent: counted on its own */
		return REQUEST_UNKNOWN;
	*ret_want = (struct want){.kind = WANT_MEETING,
				  .comm = whole->comm,
				  .channel = CHANNEL_COLLECTIVES,
				  .k = whole->k,
				  .op = sig_op_or(st->step, &st->step->ranks[rank]->sigs.at[part->sig], NULL),
				  .coll = part->coll,
				  .root = st->step->ranks[rank]->sigs.at[part->sig].peer};
	return REQUEST_WANTS;
}

static enum request_needs needs_of(const struct stream *st, uint32_t rank, const struct request *q, bool alone,
				   struct want *ret_want)
{
	const struct step *s = st->step;
	const struct process *p = s->ranks[rank];
	bool wants = false, sends = q->send != NULL && q->send->recv == NULL;
	if (q->part != NULL)
		return needs_part(st, rank, q->part, ret_want);
	if (q->recv != NULL && !q->recv->over)
		wants = states_message(s, &p->sigs.at[q->recv->sig], ret_want);
	else if (sends && (alone || q->send->bytes > EAGER_BYTES || (q->send->flags & SENT_SYNCHRONOUS) != 0))
		wants = states_receiver(s, &p->sigs.at[q->send->sig], ret_want);
	if (wants)
		return is_under_way(st, rank, ret_want) ? REQUEST_NOBODY : REQUEST_WANTS;
	return q->send != NULL || q->recv != NULL || !q->active ? REQUEST_NOBODY : REQUEST_UNKNOWN;
}

static enum request_needs request_needs(void *context, uint32_t rank, uint32_t thread, uint64_t serial, bool alone,
					struct want *ret_want)
{
	const struct lane *l = stream_lane(context, rank, thread);
	const struct request *q = l != NULL ? request_find(&l->requests, serial) : NULL;
	if (q == NULL)
		return REQUEST_UNKNOWN;
	return q == &request_gone || q->sig == NONE ? REQUEST_NOBODY : needs_of(context, rank, q, alone, ret_want);
}

/* ---- states ---- */

/* Of which requests Waitany and Waitsome wait for is not recorded: any that is active. */
static int add_any(const struct stream *st, struct states_of *x, uint32_t rank, uint32_t thread)
{
	const struct lane *l = stream_lane(st, rank, thread);
	const struct requests_of *r = l != NULL ? &l->requests : NULL;
	struct state *t = &x->out.threads.at[x->out.threads.n - 1];
	int code = 0;
	t->kind = STATE_ONE;
	for (size_t i = 0; r != NULL && i < r->pages.n; i++)
		for (uint32_t k = 0; r->pages.at[i] != NULL && k < REQUESTS_PAGE && code == 0; k++) {
			const struct request *q = &r->pages.at[i]->at[k];
			struct want want;
			if (i * REQUESTS_PAGE + k >= r->count || q->sig == NONE || !q->active)
				continue;
			if (needs_of(st, rank, q, true, &want) == REQUEST_WANTS)
				code = states_want(&x->out, &want);
			else
				t->kind = STATE_FREE;
		}
	return code;
}

static int add_call(const struct stream *st, struct states_of *x, uint32_t rank, const struct open_sig *open)
{
	int code = states_call(x, rank, open, NAN);
	if (code < 0)
		return code;
	const struct state *t = &x->out.threads.at[x->out.threads.n - 1];
	if (states_waits_for_any(st->step, &st->step->ranks[rank]->sigs.at[open->sig]))
		return add_any(st, x, rank, open->thread);
	for (uint32_t i = t->first_want; i < t->first_want + t->nwants; i++)
		x->out.wants.at[i].there = is_under_way(st, rank, &x->out.wants.at[i]);
	return 0;
}

/* The totals may not say on which communicators the last collectives were; the events of a whole record do. */
static int count(const struct stream *st, struct states_of *x, uint32_t rank)
{
	const struct rank_stream *r = &st->ranks[rank];
	int code = states_count(x, rank);
	for (size_t i = 0; i < r->comms.n && code >= 0; i++)
		if (states_set(x, rank, r->comms.at[i].comm, r->comms.at[i].colls) < 0)
			code = -ENOMEM;
	return code < 0 ? code : 0;
}

static int add_rank(const struct stream *st, struct states_of *x, uint32_t rank, const struct asking *q)
{
	const struct process *p = st->step->ranks[rank];
	if (p == NULL || !is_whole(p))
		return 0;
	bool ended = ends_left(st->step, p) || is_over(p, q);
	if (!ended && !is_in_its_call(st->step, p, q))
		return 0;
	int code = count(st, x, rank);
	if (ended)
		return code == 0 ? states_thread(x, rank, 0, STATE_OVER) : code;
	for (uint32_t t = 0; t < p->threads.n && code == 0; t++) {
		const struct open_sig *open = step_open(p, t);
		code = open != NULL ? add_call(st, x, rank, open) : states_thread(x, rank, t, STATE_FREE);
	}
	return code;
}

/* ---- without all events ---- */

/* By then all that was under way has come, for who had a processor. */
#define STOOD_NS 2000000000

static bool stood(const struct step *s, int64_t since_ns, const struct process *p)
{
	int64_t end_ns = p->end_ns != TIME_ABSENT ? p->end_ns : s->runtime_ns;
	return since_ns != TIME_ABSENT && end_ns - since_ns >= STOOD_NS;
}

/* As `mpitrace live` has it, with all the time that there was. */
static int add_sampled(struct step *s, struct states_of *x, uint32_t rank, const struct asking *q)
{
	struct process *p = s->ranks[rank];
	if (p == NULL)
		return 0;
	if (is_over(p, q))
		return states_ended(x, rank, true);
	if (ends_left(s, p))
		return states_ended(x, rank, stood(s, p->finalize_enter_ns, p));
	if (!is_in_its_call(s, p, q))
		return 0;
	return states_standing(x, rank, (uint32_t)p->threads.n, NULL, NULL);
}

/* Of all, before one is judged by others. Who was held up at the last sample, but not in one since all stand, has taken
 * what had come. */
static void note_standing(struct step *s)
{
	int64_t last_ns = 0;
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->open.n; i++)
			if (s->ranks[r]->open.at[i].enter_ns > last_ns)
				last_ns = s->ranks[r]->open.at[i].enter_ns;
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->open.n; i++) {
			struct open_sig *o = &s->ranks[r]->open.at[i];
			o->stands = stood(s, o->enter_ns, s->ranks[r]);
			if (o->served_s >= 0 && (double)o->enter_ns + o->served_s * 1e9 >= (double)last_ns)
				o->held_up = false;
		}
}

static bool all_whole(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && !is_whole(s->ranks[r]))
			return false;
	return true;
}

/* ---- what is found ---- */

static void put_until(const struct states *s, const struct core *c, struct defect_case *x)
{
	_cleanup_buf_ struct buf b = {0};
	const struct core_member *m = &c->members.at[0];
	if (m->want == STATE_NONE)
		return;
	state_put_want(&b, &s->wants.at[m->want], s->threads.at[m->thread].op, m->needs);
	buf_u8(&b, '\0');
	if (!buf_failed(&b))
		snprintf(x->until, sizeof(x->until), "%s", (const char *)b.data);
}

static void put_members(const struct core *c, struct defect_case *x)
{
	for (size_t i = 0; i < c->members.n; i++) {
		const struct core_member *m = &c->members.at[i];
		if (i > 0 && c->members.at[i - 1].rank == m->rank)
			continue;
		if (x->nmembers < DEFECT_MEMBERS_MAX) {
			x->members[x->nmembers] = m->rank;
			x->needs[x->nmembers] = m->needs;
		}
		x->nmembers++;
	}
	if (c->over == STATE_NONE)
		return;
	if (x->nmembers < DEFECT_MEMBERS_MAX)
		x->members[x->nmembers] = c->over;
	x->nmembers++;
}

static void keep_needs(struct step *s, uint32_t rank, uint32_t thread, uint32_t needs)
{
	struct process *p = s->ranks[rank];
	for (size_t i = 0; i < p->open.n; i++)
		if (p->open.at[i].thread == thread) {
			p->open.at[i].waits = true;
			p->open.at[i].needs = needs != STATE_NONE ? needs : NONE;
		}
}

/* For all who show what a rank was in at its end. */
static void keep_all_needs(struct step *s, const struct graph *g, const struct core *c)
{
	const struct states *x = g->states;
	for (size_t i = 0; i < c->members.n; i++) {
		const struct core_member *m = &c->members.at[i];
		keep_needs(s, m->rank, x->threads.at[m->thread].thread, m->needs);
	}
	for (size_t i = 0; i < c->waiting.n; i++)
		for (uint32_t t = g->thread_of[c->waiting.at[i]]; t < g->thread_of[c->waiting.at[i] + 1]; t++)
			keep_needs(s, c->waiting.at[i], x->threads.at[t].thread, graph_needs(g, t));
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* When the last of them came to its call, or to MPI_Finalize; 0: nobody knows. */
static int64_t last_came_ns(const struct step *s, const struct states *x, const struct core *c)
{
	const struct process *over = c->over != STATE_NONE ? s->ranks[c->over] : NULL;
	int64_t last_ns = over != NULL && over->open.n == 0 ? later(0, over->finalize_enter_ns) : 0;
	for (size_t k = 0; over != NULL && k < over->open.n; k++)
		last_ns = later(last_ns, over->open.at[k].enter_ns);
	for (size_t i = 0; i < c->members.n; i++) {
		const struct core_member *m = &c->members.at[i];
		const struct process *p = s->ranks[m->rank];
		for (size_t k = 0; k < p->open.n; k++)
			if (p->open.at[k].thread == x->threads.at[m->thread].thread)
				last_ns = later(last_ns, p->open.at[k].enter_ns);
	}
	return last_ns;
}

/* Where nobody knows when they came: behind the last call that was recorded. */
static int64_t began_ns(const struct step *s, const struct states *x, const struct core *c)
{
	int64_t came_ns = last_came_ns(s, x, c);
	return came_ns > 0 ? came_ns : later(0, s->ranks[c->members.at[0].rank]->last_ns);
}

static int note(struct stream *st, const struct states *states, const struct core *c, bool possible)
{
	const struct step *s = st->step;
	struct defects *f = &st->shards[0].tally.defects;
	const struct core_member *m = &c->members.at[0];
	const struct process *p = s->ranks[m->rank];
	const struct sig *sig = &p->sigs.at[p->open.at[0].sig];
	uint32_t peer = m->needs != STATE_NONE ? m->needs : NONE;
	const struct process *other = peer != NONE ? s->ranks[peer] : NULL;
	struct defect_case x = {.at_ns = began_ns(s, states, c),
				.rank = m->rank,
				.sig = p->open.at[0].sig,
				.peer = peer,
				.peer_sig = NONE,
				.waiting = (uint32_t)c->waiting.n,
				.possible = possible,
				.comm = sig->comm == NONE ? NONE : s->comms.at[sig->comm].same};
	uint32_t other_site = other != NULL && other->open.n > 0 ? other->sigs.at[other->open.at[0].sig].site : NONE;
	put_members(c, &x);
	put_until(states, c, &x);
	int code = defects_note(f, DEFECT_DEADLOCK, sig->site, other_site, &x);
	struct defect *row = defects_row(f, DEFECT_DEADLOCK, sig->site, other_site);
	for (size_t i = 0; i < c->members.n && row != NULL; i++)
		defect_add_rank(row, c->members.at[i].rank);
	for (size_t i = 0; i < c->waiting.n && row != NULL; i++)
		defect_add_rank(row, c->waiting.at[i]);
	return code;
}

static bool any_open(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && s->ranks[r]->open.n > 0)
			return true;
	return false;
}

/* Who waits for one that died by itself: no deadlock, but it is known for whom. */
static bool is_of_a_death(const struct step *s, const struct core *c)
{
	return c->over != STATE_NONE && s->ranks[c->over] != NULL && died(s->ranks[c->over]);
}

/* In MPI_Finalize, where nobody waits for one rank alone: also who is of no core. */
static void note_given_up(struct step *s, const struct core *c)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && ends_left(s, s->ranks[r]))
			s->ranks[r]->gave_up |= ends_inside(s, s->ranks[r]);
	for (size_t i = 0; i < c->members.n; i++)
		s->ranks[c->members.at[i].rank]->gave_up |= ends_inside(s, s->ranks[c->members.at[i].rank]);
	for (size_t i = 0; i < c->waiting.n; i++)
		s->ranks[c->waiting.at[i]]->gave_up |= ends_inside(s, s->ranks[c->waiting.at[i]]);
}

/* MPI ends a program at once for a fatal error: whoever was in the call that erred only seems to wait. */
static bool is_of_an_error(const struct step *s, const struct states *x, const struct core *c)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && died(s->ranks[r])) /* as of a time limit that it set itself */
			return false;
	return outcome_is_failure(&s->outcome) && !exits_killed_alone(s) &&
	       s->runtime_ns - began_ns(s, x, c) < ERROR_NS;
}

static int note_core(struct stream *st, const struct graph *g, const struct core *c, bool possible, enum pass pass)
{
	int code = 0;
	if (pass == PASS_ENDS && is_of_an_error(st->step, g->states, c))
		return 0;
	if (pass == PASS_INSIDE) {
		note_given_up(st->step, c);
	} else if (pass == PASS_ENDS || is_of_a_death(st->step, c)) {
		code = pass == PASS_ENDS ? note(st, g->states, c, possible) : 0;
		keep_all_needs(st->step, g, c);
	}
	return code;
}

/* exact: by all events; else by samples. Returns if there are any. */
static int find(struct stream *st, bool exact, const struct asking *q)
{
	struct states_from from = exact ? (struct states_from){STATE_END, st, next_serial, request_needs, .exact = true}
					: states_sampled(STATE_END, st->step);
	struct states_of x;
	struct graph g = {0};
	struct cores cores = {0}, possible = {0};
	int code = states_of_step(st->step, &from, &x), n = 0;
	if (!exact)
		note_standing(st->step);
	for (uint32_t r = 0; r < st->step->nranks && code == 0; r++)
		code = exact ? add_rank(st, &x, r, q) : add_sampled(st->step, &x, r, q);
	if (code == 0)
		code = states_note_more(&x);
	if (code == 0)
		code = graph_make(&x.out, &g);
	if (code == 0)
		code = cores_find(&g, &cores);
	if (code == 0)
		code = cores_part(&x.out, &cores, &possible);
	for (size_t i = 0; i < cores.at.n && code == 0; i++)
		code = note_core(st, &g, &cores.at.at[i], false, q->pass);
	for (size_t i = 0; i < possible.at.n && code == 0; i++)
		code = note_core(st, &g, &possible.at.at[i], true, q->pass);
	n = cores.at.n > 0 || possible.at.n > 0;
	cores_done(&cores);
	cores_done(&possible);
	graph_done(&g);
	states_of_done(&x);
	return code < 0 ? code : n;
}

static bool is_asked(const struct step *s, enum pass pass)
{
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		if (p != NULL && (pass == PASS_ENDS || (pass == PASS_DEATHS ? died(p) : ends_inside(s, p))))
			return true;
	}
	return false;
}

int deadlock_find(struct stream *st)
{
	int code = 0;
	if (!any_open(st->step))
		return 0;
	ends_resolve(st->step); /* who exited inside of a call asks since when nobody advanced */
	for (enum pass pass = PASS_INSIDE; pass <= PASS_ENDS && code >= 0; pass++) {
		if (!is_asked(st->step, pass))
			continue;
		uint32_t early, first = exits_first(st->step, &early); /* behind PASS_INSIDE: it says who gave up */
		struct asking q = {pass, first != NONE ? st->step->ranks[first] : NULL};
		code = find(st, true, &q);
		if (code == 0 && !all_whole(st->step))
			code = find(st, false, &q);
	}
	return code < 0 ? code : 0;
}
