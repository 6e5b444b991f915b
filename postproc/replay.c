/* replay.c - see replay.h. Each rank walks its events until it needs a time that another rank has
 * not reached yet; then it queues up there and is woken when that rank, or collective, gets on.
 * Every event is visited once, every dependence looked at about twice. */
#include "postproc/replay.h"

/* An event cannot end before an event of another rank has begun. */
struct need {
	uint32_t at; /* event of this rank */
	uint32_t rank, event;
};

struct actor {
	const struct process *p;
	VEC(struct need) needs;		/* ascending at */
	VEC(uint32_t) coll_starts;	/* coll ops in order of start */
	VEC(uint32_t) coll_completions; /* coll ops in order of completion */
	size_t need, next_start, next_completion;
	uint32_t at;	  /* the event that is under way or next */
	bool begun;	  /* its start is known */
	double now;	  /* end of what is done, then start of the event, then what it waits for */
	double *start;	  /* ideal starts, by event */
	uint32_t waiters; /* first rank that waits for this one to get on, plus 1 */
};

struct meeting {
	uint32_t parts, entered, waiters;
	double last, root;
	bool root_entered;
};

struct replay {
	const struct analysis *a;
	const struct replay_rule *rule;
	struct actor *actors;
	struct meeting *meetings; /* by collective */
	uint32_t *meeting_of;	  /* by coll op */
	uint32_t *next_waiter;	  /* by rank, plus 1 */
	VEC(uint32_t) ready;
};

static int by_at(const void *a, const void *b)
{
	const struct need *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

#define EAGER_BYTES 4096 /* MPI libraries send at least these without asking */

/* Did the send wait for its receive? */
static bool was_blocked(const struct step *s, const struct p2p_op *send, const struct p2p_op *recv)
{
	const struct event *completion = op_event(s, send->rank, send->completion);
	const struct event *start = op_event(s, recv->rank, recv->start);
	return (send->flags & P2P_SYNCHRONOUS) != 0 ||
	       (send->bytes > EAGER_BYTES && completion->start_ns < start->start_ns &&
		completion->end_ns >= start->start_ns);
}

static int add_message(struct replay *r, const struct message *m)
{
	const struct p2p_op *send = &r->a->ops.sends.at[m->send], *recv = &r->a->ops.recvs.at[m->recv];
	int code = 0;
	if (recv->completion != NONE)
		code = vec_push(&r->actors[recv->rank].needs, (struct need){recv->completion, send->rank, send->start});
	if (code == 0 && r->rule->rendezvous && send->completion != NONE && was_blocked(r->a->step, send, recv))
		code = vec_push(&r->actors[send->rank].needs, (struct need){send->completion, recv->rank, recv->start});
	return code;
}

/* Operations of one rank stand in order of their starts; completions may come in another order. */
static void sort_completions(const struct ops *o, struct actor *actor)
{
	uint32_t *b = actor->coll_completions.at;
	for (size_t i = 1; i < actor->coll_completions.n; i++) /* nearly sorted: insertion */
		for (size_t k = i; k > 0 && o->colls.at[b[k - 1]].completion > o->colls.at[b[k]].completion; k--) {
			uint32_t t = b[k];
			b[k] = b[k - 1];
			b[k - 1] = t;
		}
}

static int add_collectives(struct replay *r)
{
	const struct analysis *a = r->a;
	for (uint32_t i = 0; i < a->ops.colls.n; i++) {
		const struct coll_op *op = &a->ops.colls.at[i];
		struct actor *actor = &r->actors[op->rank];
		if (vec_push(&actor->coll_starts, i) < 0 ||
		    (op->completion != NONE && vec_push(&actor->coll_completions, i) < 0))
			return -ENOMEM;
	}
	for (size_t c = 0; c < a->matching.colls.n; c++) {
		r->meetings[c].parts = a->matching.colls.at[c].parts;
		for (uint32_t i = a->matching.colls.at[c].first; i != NONE; i = a->matching.coll_next[i])
			r->meeting_of[i] = (uint32_t)c;
	}
	return 0;
}

static int prepare(struct replay *r)
{
	const struct analysis *a = r->a;
	int code = add_collectives(r);
	for (size_t i = 0; i < a->matching.messages.n && code == 0; i++)
		code = add_message(r, &a->matching.messages.at[i]);
	for (uint32_t i = 0; i < a->step->nranks && code == 0; i++) {
		struct actor *actor = &r->actors[i];
		actor->p = a->step->ranks[i];
		if (actor->p == NULL)
			continue;
		vec_sort(&actor->needs, by_at);
		sort_completions(&a->ops, actor);
		actor->start = malloc((actor->p->events.n + 1) * sizeof(double));
		code = actor->start == NULL ? -ENOMEM : vec_push(&r->ready, i);
	}
	return code;
}

static void wake(struct replay *r, uint32_t *waiters)
{
	while (*waiters != 0) {
		uint32_t rank = *waiters - 1;
		*waiters = r->next_waiter[rank];
		r->ready.at[r->ready.n++] = rank; /* room for all ranks was made once */
	}
}

static void queue_up(struct replay *r, uint32_t rank, uint32_t *waiters)
{
	r->next_waiter[rank] = *waiters;
	*waiters = rank + 1;
}

static bool is_root(const struct replay *r, const struct coll_op *op)
{
	int32_t peer = r->a->step->ranks[op->rank]->sigs.at[op->sig].peer;
	return peer == SIG_ROOT || (!r->a->step->comms.at[op->comm].inter && peer == (int32_t)op->rank);
}

static void enter_collectives(struct replay *r, struct actor *actor)
{
	for (; actor->next_start < actor->coll_starts.n; actor->next_start++) {
		uint32_t i = actor->coll_starts.at[actor->next_start];
		const struct coll_op *op = &r->a->ops.colls.at[i];
		struct meeting *m = &r->meetings[r->meeting_of[i]];
		if (op->start != actor->at)
			return;
		m->entered++;
		if (actor->now > m->last)
			m->last = actor->now;
		if (is_root(r, op)) {
			m->root = actor->now;
			m->root_entered = true;
		}
		wake(r, &m->waiters);
	}
}

static void begin(struct replay *r, struct actor *actor)
{
	actor->now = r->rule->start(actor->p, actor->at, actor->now);
	actor->start[actor->at] = actor->now;
	actor->begun = true;
	enter_collectives(r, actor);
	wake(r, &actor->waiters);
}

static bool have_begun(const struct actor *actor, uint32_t event)
{
	return event < actor->at || (event == actor->at && actor->begun);
}

/* False: this rank now waits in somebody's queue. */
static bool meet_needs(struct replay *r, uint32_t rank, struct actor *actor)
{
	for (; actor->need < actor->needs.n && actor->needs.at[actor->need].at == actor->at; actor->need++) {
		const struct need *n = &actor->needs.at[actor->need];
		struct actor *other = &r->actors[n->rank];
		if (!have_begun(other, n->event)) {
			queue_up(r, rank, &other->waiters);
			return false;
		}
		if (other->start[n->event] > actor->now)
			actor->now = other->start[n->event];
	}
	return true;
}

static bool from_root(enum sig_coll kind)
{
	return kind == COLL_BCAST || kind == COLL_SCATTER || kind == COLL_SCATTERV;
}

static bool to_root(enum sig_coll kind)
{
	return kind == COLL_REDUCE || kind == COLL_GATHER || kind == COLL_GATHERV;
}

/* When may this member leave? False: not known yet. Scans are taken as all-to-all: an upper bound.
 */
static bool may_leave(const struct replay *r, const struct coll_op *op, const struct meeting *m, double *ret_when)
{
	enum sig_coll kind = r->a->step->ranks[op->rank]->sigs.at[op->sig].call.coll;
	*ret_when = 0;
	if (coll_is_neighborhood(kind) || (to_root(kind) && !is_root(r, op)))
		return true;
	if (from_root(kind)) {
		*ret_when = m->root;
		return m->root_entered || m->entered == m->parts;
	}
	*ret_when = m->last;
	return m->entered == m->parts;
}

static bool leave_collectives(struct replay *r, uint32_t rank, struct actor *actor)
{
	for (; actor->next_completion < actor->coll_completions.n; actor->next_completion++) {
		uint32_t i = actor->coll_completions.at[actor->next_completion];
		const struct coll_op *op = &r->a->ops.colls.at[i];
		struct meeting *m = &r->meetings[r->meeting_of[i]];
		double when;
		if (op->completion != actor->at)
			return true;
		if (!may_leave(r, op, m, &when)) {
			queue_up(r, rank, &m->waiters);
			return false;
		}
		if (when > actor->now)
			actor->now = when;
	}
	return true;
}

static void run(struct replay *r, uint32_t rank)
{
	struct actor *actor = &r->actors[rank];
	while (actor->at < actor->p->events.n) {
		if (!actor->begun)
			begin(r, actor);
		if (!meet_needs(r, rank, actor) || !leave_collectives(r, rank, actor))
			return;
		actor->now = r->rule->end(actor->p, actor->at, actor->now);
		if (r->rule->visit != NULL)
			r->rule->visit(r->rule->context, rank, actor->at, actor->start[actor->at], actor->now);
		actor->at++;
		actor->begun = false;
	}
}

/* The end of the last rank. */
static int result(const struct replay *r, double *ret_ns)
{
	double longest = 0;
	for (uint32_t i = 0; i < r->a->step->nranks; i++) {
		const struct actor *actor = &r->actors[i];
		if (actor->p == NULL)
			continue;
		if (actor->at < actor->p->events.n)
			return -EDEADLK;
		longest = actor->now > longest ? actor->now : longest;
	}
	*ret_ns = longest;
	return 0;
}

static void replay_done(struct replay *r)
{
	for (uint32_t i = 0; r->actors != NULL && i < r->a->step->nranks; i++) {
		vec_done(&r->actors[i].needs);
		vec_done(&r->actors[i].coll_starts);
		vec_done(&r->actors[i].coll_completions);
		free(r->actors[i].start);
	}
	free(r->actors);
	free(r->meetings);
	free(r->meeting_of);
	free(r->next_waiter);
	vec_done(&r->ready);
}

int replay_run(const struct analysis *a, const struct replay_rule *rule, double *ret_ns)
{
	uint32_t n = a->step->nranks;
	struct replay r = {.a = a, .rule = rule};
	r.actors = calloc(n, sizeof(*r.actors));
	r.meetings = calloc(a->matching.colls.n + 1, sizeof(*r.meetings));
	r.meeting_of = calloc(a->ops.colls.n + 1, sizeof(*r.meeting_of));
	r.next_waiter = calloc(n, sizeof(*r.next_waiter));
	int code = r.actors == NULL || r.meetings == NULL || r.meeting_of == NULL || r.next_waiter == NULL ||
				   vec_reach(&r.ready, n) < 0
			   ? -ENOMEM
			   : 0;
	r.ready.n = 0;
	if (code == 0)
		code = prepare(&r);
	while (code == 0 && r.ready.n > 0)
		run(&r, r.ready.at[--r.ready.n]);
	if (code == 0)
		code = result(&r, ret_ns);
	replay_done(&r);
	return code;
}
