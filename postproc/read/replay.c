/* replay.c - see replay.h. In: SAMPLE blocks of one file, of which any may be missing or hostile.  Out: sums. */
#include "postproc/read/replay.h"

/* Who was ready to run and hardly did cannot have taken what came. */
#define STARVED_SHARE 0.1
#define STARVED_NS 1000000u

static int thread_at(struct live_node *live, const struct mpic_sample_item *item, struct live_thread **ret_thread)
{
	int code = budget_reach(&live->kept, &live->processes, item->process);
	if (code < 0)
		return code;
	struct live_process *p = &live->processes.at[item->process];
	code = budget_reach(&live->kept, &p->threads, item->thread);
	if (code == 0)
		*ret_thread = &p->threads.at[item->thread];
	return code;
}

/* The last sample's totals become those before it. A whole one counts from nothing: who is not in it has lost all. */
static int turn_totals(struct live_thread *t, bool whole)
{
	for (size_t i = 0; i < t->came.n; i++) {
		struct live_total *x = &t->totals.at[t->came.at[i]];
		x->before = x->calls;
		x->before_ticks = x->ticks;
		x->came = false;
	}
	t->came.n = 0;
	for (size_t id = 0; id < t->totals.n && whole; id++) {
		struct live_total *x = &t->totals.at[id];
		x->calls = x->ticks = 0;
		x->came = true;
		if (vec_push(&t->came, (uint32_t)id) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Before a sample is added: what is now becomes what was before. */
static int turn(struct live_node *live, const struct mpic_sample *head, bool follows)
{
	int code = 0;
	for (size_t i = 0; i < live->processes.n; i++) {
		struct live_process *p = &live->processes.at[i];
		p->seen = false;
		for (size_t k = 0; k < p->threads.n && code == 0; k++) {
			struct live_thread *t = &p->threads.at[k];
			t->known_before = true;
			t->open_before = t->open && follows;
			t->age_before = t->open ? t->age_ticks : 0;
			t->open = t->has_system = false;
			code = turn_totals(t, head->whole);
		}
	}
	return code;
}

static int add_total(struct live_node *live, struct live_thread *t, const struct mpic_sample_item *item)
{
	int code = budget_reach(&live->kept, &t->totals, item->sig);
	if (code < 0)
		return code;
	struct live_total *x = &t->totals.at[item->sig];
	if ((!x->came && vec_push(&t->came, item->sig) < 0) || (!x->untaken && vec_push(&t->untaken, item->sig) < 0))
		return -ENOMEM;
	x->came = x->untaken = true;
	x->calls += item->calls;
	x->ticks += item->ticks;
	return 0;
}

bool replay_take(struct live_thread *t, struct live_came *ret)
{
	while (t->ntaken < t->untaken.n) {
		uint32_t sig = t->untaken.at[t->ntaken++];
		struct live_total *x = &t->totals.at[sig];
		x->untaken = false;
		*ret = (struct live_came){sig, x->calls > x->taken ? x->calls - x->taken : 0,
					  x->ticks > x->taken_ticks ? x->ticks - x->taken_ticks : 0, x->taken_ticks};
		x->taken += ret->calls;
		x->taken_ticks += ret->ticks;
		if (ret->calls > 0 || ret->ticks > 0)
			return true;
	}
	t->untaken.n = t->ntaken = 0;
	return false;
}

/* A new agent says it anew, of a call that began when it did: as old as before and the time since, but for rounding. */
static bool is_same_call(const struct live_thread *t, const struct live_node *live, const struct mpic_sample_item *item)
{
	return t->open_before && item->age_ticks == t->age_before + live->interval_ticks;
}

static void open_call(struct live_thread *t, const struct live_node *live, const struct mpic_sample_item *item)
{
	t->still = is_same_call(t, live, item) ? t->still + 1 : 0;
	t->nstarted = t->still > 0 ? t->nstarted : 0;
	t->open = true;
	t->age_ticks = item->age_ticks;
	t->sig = item->sig;
	t->nwords = item->nwords;
	memcpy(t->words, item->words, item->nwords * sizeof(*item->words));
}

bool replay_holds_up(const struct live_thread *t, const struct live_node *n)
{
	bool starved = (double)t->system.wait_ns > STARVED_SHARE * (double)n->interval_ns && t->known_before &&
		       t->system.cpu_ns < STARVED_NS;
	return starved || t->system.run_state == 'T' || t->system.run_state == 't';
}

/* Of a whole sample it counts from the thread's birth. */
static void add_system(struct live_node *live, struct live_thread *t, struct mpic_system system)
{
	if (live->whole) {
		system.cpu_ns -= system.cpu_ns < t->all_cpu_ns ? system.cpu_ns : t->all_cpu_ns;
		system.wait_ns -= system.wait_ns < t->all_wait_ns ? system.wait_ns : t->all_wait_ns;
	}
	t->has_system = true;
	t->system = system;
	t->held_up = replay_holds_up(t, live);
	if (!t->held_up && t->known_before)
		t->served_tick = live->tick - live->interval_ticks;
	t->all_cpu_ns += system.cpu_ns;
	t->all_wait_ns += system.wait_ns;
	t->cpu_ns += system.cpu_ns;
	t->wait_ns += system.wait_ns;
}

static int add_to_thread(struct live_node *live, struct live_thread *t, const struct mpic_sample_item *item)
{
	switch (item->type) {
	case MPIC_SAMPLE_TOTAL:
		return add_total(live, t, item);
	case MPIC_SAMPLE_OPEN:
		open_call(t, live, item);
		return 0;
	case MPIC_SAMPLE_STILL: /* says nothing when the one before it could not be read */
		t->open = t->open_before;
		t->still += t->open;
		t->age_ticks = t->age_before + live->interval_ticks;
		return 0;
	case MPIC_SAMPLE_SYSTEM:
		add_system(live, t, item->system);
		return 0;
	case MPIC_SAMPLE_COUNTERS:
		t->counters = item->counters;
		return 0;
	case MPIC_SAMPLE_STARTED:
		t->next_serial = item->next_serial;
		t->nstarted = item->nstarted;
		memcpy(t->started, item->started, item->nstarted * sizeof(*item->started));
		return 0;
	default:
		return 0;
	}
}

static int add_item(struct live_node *live, const struct mpic_sample_item *item)
{
	if (item->type == MPIC_SAMPLE_PROCESS) {
		int code = budget_reach(&live->kept, &live->processes, item->process);
		if (code < 0)
			return code;
		struct live_process *p = &live->processes.at[item->process];
		p->seen = true;
		if (p->ran == 0 || item->state == SAMPLE_RUNNING || item->state == SAMPLE_STARTING)
			p->ran = live->samples;
		if (p->first_ns == 0) {
			p->first_ns = live->realtime_ns;
			p->other_threads = -1;
		}
		p->state = item->state;
		p->resident_bytes = item->resident_bytes;
		return 0;
	}
	if (item->type == MPIC_SAMPLE_OTHERS) {
		live->processes.at[item->process].other_threads = (int64_t)item->others;
		return 0;
	}
	if (item->type == MPIC_SAMPLE_MEMORY) {
		live->memory_used_bytes = item->used_bytes;
		live->memory_limit_bytes = item->limit_bytes;
		return 0;
	}
	struct live_thread *t;
	int code = thread_at(live, item, &t);
	return code < 0 ? code : add_to_thread(live, t, item);
}

/* Who was in a call, or ended one, was active. */
static void note_activity(struct live_node *live)
{
	for (size_t i = 0; i < live->processes.n; i++)
		for (size_t k = 0; k < live->processes.at[i].threads.n; k++) {
			struct live_thread *t = &live->processes.at[i].threads.at[k];
			bool active = t->open || t->active_ns == 0;
			for (size_t s = 0; s < t->came.n && !active; s++)
				active = t->totals.at[t->came.at[s]].calls != t->totals.at[t->came.at[s]].before;
			if (active)
				t->active_ns = live->realtime_ns;
		}
}

/* From the first clock reading of the file to the last sample. */
static double ns_per_tick(const struct node *n, uint64_t tick, int64_t monotonic_ns)
{
	if (n->monotonic)
		return 1;
	const struct mpic_clock *c = n->clock.at;
	return n->clock.n > 0 && tick > c->tick && monotonic_ns > c->monotonic_ns
		       ? (double)((uint64_t)monotonic_ns - (uint64_t)c->monotonic_ns) / (double)(tick - c->tick)
		       : 0;
}

static int add_sample(struct live_node *live, const struct node *n, const struct mpic_block *b,
		      const struct buf *payload)
{
	struct mpic_sample head;
	struct mpic_sample_reader r;
	struct mpic_sample_item item;
	int more = mpic_sample_begin(cursor_over(payload->data, payload->len_bytes), &head, &r), code = 0;
	if (more < 0)
		return more;
	if (live->samples == 0 || __builtin_sub_overflow(head.realtime_ns, live->realtime_ns, &live->interval_ns))
		live->interval_ns = 0;
	live->interval_ticks = live->samples > 0 && head.tick > live->tick ? head.tick - live->tick : 0;
	live->tick = head.tick;
	live->ns_per_tick = ns_per_tick(n, head.tick, head.monotonic_ns);
	live->whole = head.whole;
	bool follows = head.whole || b->seq == live->seq + 1; /* what it says of the one before is of that one */
	if (turn(live, &head, follows) < 0)
		return -ENOMEM;
	live->samples++;
	live->seq = b->seq;
	live->realtime_ns = head.realtime_ns;
	live->gap_ns = (int64_t)head.gap_ns;
	while (code != -ENOMEM && (more = mpic_sample_next(&r, &item)) == 1) {
		int added = add_item(live, &item); /* one that is too much takes no other away */
		code = added < 0 ? added : code;
	}
	note_activity(live);
	return code < 0 ? code : more;
}

int replay_add(struct live_node *live, const struct node *n, const struct mpic_block *b)
{
	_cleanup_buf_ struct buf payload = {0};
	live->kept.max_bytes = budget_for(n->file.len_bytes).max_bytes;
	int code = mpic_read(&n->file, b, &payload, NULL);
	code = code == 0 ? add_sample(live, n, b, &payload) : code;
	live->bad += code < 0 && code != -ENOMEM;
	return code;
}

int replay_node(const struct node *n, struct live_node *ret_live)
{
	struct live_node live = {0};
	int code = 0;
	for (size_t i = 0; i < n->file.nblocks && code != -ENOMEM; i++) {
		const struct mpic_block *b = &n->file.blocks[i];
		if (b->kind == MPIC_SAMPLE && b->process == MPIC_NODE)
			code = replay_add(&live, n, b);
	}
	if (code == -ENOMEM)
		replay_done(&live);
	else
		*ret_live = live;
	return code == -ENOMEM ? code : 0;
}

void replay_done(struct live_node *live)
{
	for (size_t i = 0; i < live->processes.n; i++) {
		struct live_process *p = &live->processes.at[i];
		for (size_t k = 0; k < p->threads.n; k++) {
			vec_done(&p->threads.at[k].totals);
			vec_done(&p->threads.at[k].came);
			vec_done(&p->threads.at[k].untaken);
		}
		vec_done(&p->threads);
	}
	vec_done(&live->processes);
}
