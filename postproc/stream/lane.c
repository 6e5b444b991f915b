/* lane.c - one thread's events, decoded as far as the window goes.
 * Serial numbers of requests count events, so nothing after a hole can be understood: events stop at the first missing
 * or broken block, and what was dropped is counted. */
#include "postproc/stream/stream.h"

#include "format/mpix_layout.h"

#define EVENTS_AHEAD 8u /* of which the place of their times is asked for, and of half as many the times themselves */
#define BACK_NS_MAX 1e8
#define SIGS_ASKED 32u /* signatures of which the next times are asked for ahead */

/* The knot that counts at this tick, and from which tick on another one does. */
static void find_knot(struct lane *l, uint64_t tick)
{
	const struct clock_rule *r = l->rule;
	while (l->knot > 0 && r->knots.at[l->knot].tick > tick)
		l->knot--;
	while (l->knot + 1 < r->knots.n && r->knots.at[l->knot + 1].tick <= tick)
		l->knot++;
	l->at_knot = r->knots.at[l->knot];
	l->knot_from = l->knot > 0 ? l->at_knot.tick : 0;
	l->knot_ticks = (l->knot + 1 < r->knots.n ? r->knots.at[l->knot + 1].tick : UINT64_MAX) - l->knot_from;
}

static inline int64_t ns_of(struct lane *l, uint64_t tick)
{
	if (tick - l->knot_from >= l->knot_ticks)
		find_knot(l, tick);
	double ns = l->at_knot.ns + (double)(int64_t)(tick - l->at_knot.tick) * l->at_knot.rate;
	if (!(ns > -TIME_MAX_NS && ns < TIME_MAX_NS))
		return 0;
	int64_t whole = (int64_t)ns;
	whole -= (double)whole > ns;		    /* the floor, without a call */
	return whole + (ns - (double)whole >= 0.5); /* as readers of the .mpix do it */
}

int64_t lane_ns(struct lane *l, uint64_t tick)
{
	return ns_of(l, tick);
}

static uint64_t count_events(struct lane *l, const struct mpic_block *b)
{
	uint32_t count;
	if (mpic_read(l->file, b, &l->payload, NULL) < 0 ||
	    mpic_events_begin(&l->events, cursor_over(l->payload.data, l->payload.len_bytes), &count) < 0)
		return 0;
	return count;
}

/* Of what comes after a hole only the number is known. */
static void drop_rest(struct lane *l)
{
	l->gap = true;
	for (; l->block < l->last_block; l->block++)
		l->left_out += count_events(l, l->block);
}

/* Begin the next block: 1, 0 at the end, -ENOMEM. */
static int next_block(struct lane *l)
{
	uint32_t count;
	while (l->block < l->last_block) {
		if (l->block->seq != l->seq) {
			drop_rest(l);
			return 0;
		}
		int code = mpic_read(l->file, l->block, &l->payload, NULL);
		if (code == 0)
			code = mpic_events_begin(&l->events, cursor_over(l->payload.data, l->payload.len_bytes),
						 &count);
		if (code == -ENOMEM)
			return code;
		l->block++;
		l->seq++;
		if (code < 0) {
			l->bad_blocks++;
			drop_rest(l);
			return 0;
		}
		if (count > 0)
			return 1;
	}
	return 0;
}

/* The signature of an event: a literal one's own, or that of all events of which the definition was lost. */
static uint32_t sig_of(struct lane *l, const struct mpic_event *ev)
{
	const struct thread *t = &l->process->threads.at[l->thread];
	uint32_t at = ev->sig < t->sig_of.n && t->sig_of.at[ev->sig] != 0 ? t->sig_of.at[ev->sig] - 1 : t->undefined;
	const struct sig *sig = &l->process->sigs.at[at];
	if (sig->defined && sig->call.literal_follows && ev->nextra >= 2 && l->literal < t->literals.n)
		return t->literals.at[l->literal++];
	return at;
}

/* Memory of events to come: of many signatures each lies elsewhere. */
static void ask_events(const struct lane *l)
{
	const struct mpic_events *it = &l->events;
	const struct thread *t = &l->process->threads.at[l->thread];
	if (it->at + EVENTS_AHEAD >= it->count)
		return;
	uint32_t far = it->words[it->at + EVENTS_AHEAD] >> 1, near = it->words[it->at + EVENTS_AHEAD / 2] >> 1;
	__builtin_prefetch(&it->next[far]);
	__builtin_prefetch(&it->times[2 * (size_t)it->next[near]]);
	uint32_t at = near < t->sig_of.n ? t->sig_of.at[near] : 0;
	if (at == 0)
		return;
	prefetch(&l->process->sigs.at[at - 1], 64);
	__builtin_prefetch(&l->seen[at - 1], 1);
}

/* By what the repair found. */
static void move_next(struct lane *l, bool continues)
{
	if (!continues && l->shift < l->shifts.n && l->shifts.at[l->shift].number == l->ordinal) {
		l->next_start_ns += l->shifts.at[l->shift].start_ns;
		l->next_end_ns += l->shifts.at[l->shift++].end_ns;
	}
	l->ordinal += !continues;
	if (l->next_end_ns < l->next_start_ns)
		l->next_end_ns = l->next_start_ns;
}

/* Near enough to its clock for an .mpix, and behind the event before it, which its own block cannot say. Clocks of two
 * sockets, or of two hosts that a virtual machine moved between, are apart by BACK_NS_MAX at most: such an event begins
 * where that one ended. What is further back somebody has written over: a program may write where it has nothing to
 * write. */
static bool is_possible(struct lane *l, uint64_t before_tick)
{
	struct mpic_event *x = &l->next;
	uint64_t base = l->rule->knots.at[0].tick < l->begin_tick ? l->rule->knots.at[0].tick : l->begin_tick;
	if (x->exit_tick < x->enter_tick || x->exit_tick > INT64_MAX || x->exit_tick - base >= MPIX_TICKS_MAX)
		return false;
	if (x->enter_tick >= before_tick)
		return true;
	x->exit_tick = x->exit_tick > before_tick ? x->exit_tick : before_tick;
	double back = (double)(before_tick - x->enter_tick) * l->process->ns_per_tick;
	x->enter_tick = before_tick;
	return back <= BACK_NS_MAX;
}

/* Look at the next event: l->more says whether there is one. */
static int advance(struct lane *l)
{
	uint64_t before_tick = l->next.exit_tick;
	l->more = false;
	ask_events(l);
	for (;;) {
		int code = mpic_events_next(&l->events, &l->next);
		if (code == 1 && !is_possible(l, before_tick))
			code = -EBADMSG;
		if (code == 1) {
			l->read++;
			l->more = true;
			l->next_start_ns = ns_of(l, l->next.enter_tick);
			l->next_end_ns = ns_of(l, l->next.exit_tick);
			l->next_sig = sig_of(l, &l->next);
			const struct sig *sig = &l->process->sigs.at[l->next_sig];
			move_next(l, sig->defined && sig->call.continues);
			return 0;
		}
		if (code == -ENOMEM)
			return code;
		if (code < 0) {
			l->bad_blocks++;
			drop_rest(l);
			return 0;
		}
		code = next_block(l);
		if (code <= 0)
			return code;
	}
}

int lane_begin(struct lane *l)
{
	const struct thread *t = &l->process->threads.at[l->thread];
	const struct mpic_block *b = t->blocks, *end = b + t->nblocks;
	while (b < end && b->kind != MPIC_EVENTS)
		b++;
	l->block = b;
	while (b < end && b->kind == MPIC_EVENTS)
		b++;
	l->last_block = b;
	l->open.window = NONE;
	l->seen = calloc(l->process->sigs.n + 1, sizeof(*l->seen));
	return l->seen == NULL ? -ENOMEM : 0;
}

static int make_room(struct lane *l)
{
	uint32_t cap = l->cap < 256 ? 256 : l->cap * 2;
	size_t caps[5] = {l->cap, l->cap, l->cap, l->cap, l->cap};
	if (vec_grow(&l->enter, &caps[0], cap, sizeof(*l->enter)) < 0 ||
	    vec_grow(&l->leave, &caps[1], cap, sizeof(*l->leave)) < 0 ||
	    vec_grow(&l->start_ns, &caps[2], cap, sizeof(*l->start_ns)) < 0 ||
	    vec_grow(&l->end_ns, &caps[3], cap, sizeof(*l->end_ns)) < 0 ||
	    vec_grow(&l->sig, &caps[4], cap, sizeof(*l->sig)) < 0)
		return -ENOMEM;
	l->cap = cap;
	return 0;
}

static uint64_t calls_of(const struct sig *sig, const struct mpic_event *ev)
{
	uint32_t literal_words = sig->literal ? sig->call.nwords : 0; /* what stands before */
	if (!sig->defined || (sig->call.flags & SIG_POLLS) == 0 || ev->nextra <= literal_words)
		return 1;
	uint64_t calls = ev->extra[literal_words];
	return calls < UINT32_MAX ? calls : UINT32_MAX;
}

/* Of such a run, the ticks inside of its calls. */
static uint64_t inside_of(const struct sig *sig, const struct mpic_event *ev)
{
	uint32_t at = (sig->literal ? sig->call.nwords : 0) + 1;
	return ev->nextra > at ? ev->extra[at] : ev->exit_tick - ev->enter_tick;
}

static int append_event(struct lane *l)
{
	const struct mpic_event *ev = &l->next;
	uint32_t sig_at = l->next_sig;
	const struct sig *sig = &l->process->sigs.at[sig_at];
	uint64_t calls = calls_of(sig, ev);
	if (sig->defined && sig->call.continues) {
		struct lane_more more = {l->n, sig_at, l->next_start_ns, l->next_end_ns};
		l->seen[sig_at].ticks += ev->exit_tick - ev->enter_tick;
		l->seen[sig_at].parts++;
		return vec_push(&l->more_of, more);
	}
	if (calls != 1 && vec_push(&l->extras, (struct lane_extra){l->n, calls, inside_of(sig, ev)}) < 0)
		return -ENOMEM;
	if (l->n == l->cap && make_room(l) < 0)
		return -ENOMEM;
	l->calls++;
	l->seen[sig_at].calls += calls;
	l->seen[sig_at].ticks += ev->exit_tick - ev->enter_tick;
	l->enter[l->n] = ev->enter_tick;
	l->leave[l->n] = ev->exit_tick;
	l->start_ns[l->n] = l->next_start_ns;
	l->end_ns[l->n] = l->next_end_ns;
	l->sig[l->n++] = sig_at;
	return 0;
}

static void lane_slice(struct lane *l)
{
	l->from = l->n;
	l->extras_from = l->extras.n;
	l->actions.n = 0;
	l->more_of.n = l->more_at = 0;
}

void lane_clear(struct lane *l)
{
	if (l->n > 0) {
		uint32_t i = l->n - 1;
		l->open = (struct lane_open){.window = l->window,
					     .at = i,
					     .sig = l->sig[i],
					     .enter = l->enter[i],
					     .leave = l->leave[i],
					     .calls = 1,
					     .start_ns = l->start_ns[i],
					     .end_ns = l->end_ns[i]};
		if (l->extras.n > 0 && l->extras.at[l->extras.n - 1].at == i)
			l->open.calls = l->extras.at[l->extras.n - 1].calls;
	}
	l->n = l->from = 0;
	l->extras.n = l->extras_from = 0;
	l->moved.n = 0;
	l->numbers.n = 0;
	lane_slice(l);
}

void lane_ask(const struct lane *l)
{
	const struct mpic_events *it = &l->events;
	prefetch(&l->process->sigs.at[l->next_sig], 64);
	prefetch(it->words + it->at, 64);
	for (uint32_t i = 0; i < it->nsigs && i < SIGS_ASKED; i++)
		prefetch(it->times + 2 * (size_t)it->next[i], 64);
	prefetch(l->enter + l->n, 64);
	prefetch(l->leave + l->n, 64);
	prefetch(l->start_ns + l->n, 64);
	prefetch(l->end_ns + l->n, 64);
	prefetch(l->sig + l->n, 64);
}

int lane_window(struct lane *l, uint32_t window, int64_t end_ns)
{
	int code = 0;
	if (l->window != window)
		lane_clear(l);
	else
		lane_slice(l);
	l->window = window;
	if (!l->begun) {
		l->begun = true;
		code = advance(l);
	}
	while (code == 0 && l->more && l->next_start_ns < end_ns) {
		code = append_event(l);
		if (code == 0)
			code = advance(l);
	}
	return code;
}

/* Calls that are only counted have no call site (count_call() in pmpi/record.c). */
static bool has_events(const struct sig *sig)
{
	return sig->call.shape != SIG_TIME || sig->call.address != 0;
}

/* Those after the last snapshot of a file that was cut; of a whole one those that its writer did not take. Who dies
 * while a call is recorded, which is counted first, has not returned from it. */
static void count_not_written(const struct process *p, struct thread *t, bool file_is_whole)
{
	uint64_t told = t->lost + thread_unusable(t) + (file_is_whole && !p->finalized);
	t->not_written = t->behind > told ? t->behind - told : 0;
	t->not_taken = file_is_whole && t->not_written > 0;
}

void lane_end(struct lane *l, bool file_is_whole)
{
	struct process *p = l->process;
	struct thread *t = &p->threads.at[l->thread];
	t->gap = l->gap;
	t->events = l->calls;
	t->read = l->read;
	t->last_sig = l->read > 0 ? l->next_sig + 1 : 0;
	t->left_out = l->left_out;
	p->bad_blocks += l->bad_blocks;
	l->bad_blocks = 0;
	t->behind = 0;
	for (size_t i = 0; i < p->sigs.n; i++) {
		struct sig *sig = &p->sigs.at[i];
		if (sig->thread != l->thread)
			continue;
		sig->parts = l->seen[i].parts;
		if (l->seen[i].calls <= sig->calls) { /* a snapshot can be older or newer than the last events */
			t->behind += has_events(sig) ? sig->calls - l->seen[i].calls : 0;
			continue;
		}
		sig->calls = l->seen[i].calls;
		sig->ticks = l->seen[i].ticks;
	}
	count_not_written(p, t, file_is_whole);
}

void lane_done(struct lane *l)
{
	mpic_events_done(&l->events);
	buf_done(&l->payload);
	free(l->enter);
	free(l->leave);
	free(l->start_ns);
	free(l->end_ns);
	free(l->sig);
	free(l->seen);
	vec_done(&l->extras);
	vec_done(&l->polls);
	vec_done(&l->moved);
	vec_done(&l->actions);
	vec_done(&l->more_of);
	vec_done(&l->numbers);
	vec_done(&l->shifts);
	vec_done(&l->requests.pages);
}
