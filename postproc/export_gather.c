/* export_gather.c - what one group of ranks has of a window. In: lanes and what shards found.  Out: the lists of struct
 * gathered, of positions and ticks of the file. */
#include "postproc/export_parts.h"

static struct mpix_position place(const struct export *x, const struct position *at)
{
	if (at->window == NONE)
		return (struct mpix_position){.window = MPIX_NOWHERE};
	return (struct mpix_position){at->window, x->lane_of[at->lane], at->at};
}

/* Ticks of the nanosecond clock. */
static uint64_t shifted(int64_t ns)
{
	return (uint64_t)(ns + (int64_t)EXPORT_TIME_ZERO);
}

static int add_run(const struct export *x, struct gathered *g, const struct lane *l)
{
	struct mpix_run run = {.lane = x->lane_of[l->number],
			       .n = l->n,
			       .begin_tick = l->begin_tick < l->enter[0] ? l->begin_tick : l->enter[0],
			       .enter = l->enter,
			       .leave = l->leave,
			       .start_ns = l->start_ns,
			       .end_ns = l->end_ns,
			       .sig = l->sig,
			       .numbers = l->numbers.at,
			       .nextras = (uint32_t)(l->extras.n + l->moved.n),
			       .nnumbers = (uint32_t)l->numbers.n};
	for (size_t i = 0, k = 0; i < l->extras.n || k < l->moved.n;) {
		bool calls = i < l->extras.n && (k == l->moved.n || l->extras.at[i].at <= l->moved.at[k].at);
		struct mpix_extra extra = {calls ? l->extras.at[i].at : l->moved.at[k].at,
					   calls ? MPIX_EXTRA_CALLS : MPIX_EXTRA_BYTES,
					   calls ? l->extras.at[i].calls : l->moved.at[k].bytes};
		if (vec_push(&g->extras, extra) < 0)
			return -ENOMEM;
		*(calls ? &i : &k) += 1;
	}
	for (uint32_t i = 0; i < l->n && l->shifts.n > 0; i++)
		if (vec_push(&g->enter, shifted(l->start_ns[i])) < 0 || vec_push(&g->leave, shifted(l->end_ns[i])) < 0)
			return -ENOMEM;
	if (l->shifts.n > 0) {
		run.enter = run.leave = NULL; /* see set_pointers() */
		run.begin_tick = shifted(l->start_ns[0]);
	}
	return vec_push(&g->runs, run);
}

static int add_carried(const struct export *x, struct gathered *g, const struct lane *l, int64_t start_ns)
{
	const struct lane_open *o = &l->open;
	if (o->window == NONE || o->end_ns <= start_ns)
		return 0;
	bool repaired = l->shifts.n > 0;
	struct mpix_carried c = {.at = {o->window, x->lane_of[l->number], o->at},
				 .sig = o->sig,
				 .enter = repaired ? shifted(o->start_ns) : o->enter,
				 .leave = repaired ? shifted(o->end_ns) : o->leave,
				 .nextras = o->calls != 1};
	if (c.nextras > 0 && vec_push(&g->extras, (struct mpix_extra){0, MPIX_EXTRA_CALLS, o->calls}) < 0)
		return -ENOMEM;
	return vec_push(&g->carried, c);
}

/* Extras stand lane by lane, the carried event's first. */
void export_set_pointers(struct gathered *g)
{
	const struct mpix_extra *extra = g->extras.at;
	size_t run = 0, carried = 0;
	while (run < g->runs.n || carried < g->carried.n) {
		if (carried < g->carried.n &&
		    (run == g->runs.n || g->carried.at[carried].at.lane <= g->runs.at[run].lane)) {
			g->carried.at[carried].extras = extra;
			extra += g->carried.at[carried++].nextras;
			continue;
		}
		struct mpix_run *r = &g->runs.at[run++];
		r->extras = extra;
		extra += r->nextras;
	}
	size_t tick = 0;
	for (size_t i = 0; i < g->runs.n; i++) {
		struct mpix_run *r = &g->runs.at[i];
		if (r->enter != NULL)
			continue;
		r->enter = g->enter.at + tick;
		r->leave = g->leave.at + tick;
		tick += r->n;
	}
}

/* What MPI_Start's own signature does not say, that of the request does. */
static uint32_t send_signature(const struct step *s, const struct transfer *t)
{
	bool persistent = (s->ranks[t->send.rank]->sigs.at[t->send_sig].call.flags & SIG_PERSISTENT) != 0;
	return persistent ? t->send_sig : MPIX_OF_START;
}

static int add_link(const struct export *x, struct gathered *g, const struct transfer *t)
{
	const struct step *s = x->step;
	uint32_t send_site = s->ranks[t->send.rank]->sigs.at[t->send_site_sig].site;
	uint32_t recv_site = s->ranks[t->recv.rank]->sigs.at[t->recv_site_sig].site;
	struct mpix_link *link = vec_more(&g->links);
	if (link == NULL)
		return -ENOMEM;
	*link = (struct mpix_link){.recv = place(x, &t->recv.at),
				   .completion = place(x, &t->done),
				   .send = place(x, &t->send.at),
				   .sent = place(x, &t->sent),
				   .signature = send_signature(s, t),
				   .message = {.send_start_ns = t->send.ns,
					       .send_end_ns = t->send_end_ns,
					       .recv_start_ns = t->recv.ns,
					       .completion_start_ns = t->done_start_ns,
					       .recv_end_ns = t->done_end_ns,
					       .bytes = t->bytes,
					       .src = t->send.rank,
					       .dst = t->recv.rank,
					       .tag = t->tag,
					       .comm = t->comm,
					       .send_callsite = send_site == NONE ? MPIX_NO_CALLSITE : send_site,
					       .recv_callsite = recv_site == NONE ? MPIX_NO_CALLSITE : recv_site}};
	return 0;
}

static int add_wait(const struct export *x, struct gathered *g, const struct waited *w)
{
	struct mpix_wait *wait = vec_more(&g->waits);
	if (wait == NULL)
		return -ENOMEM;
	*wait = (struct mpix_wait){.at = place(x, &w->call.at),
				   .causer = {.window = MPIX_NOWHERE},
				   .state = (uint8_t)(1 + w->state),
				   .how = w->until_causer ? MPIX_WAIT_UNTIL_START
					  : w->since	  ? MPIX_WAIT_SINCE_END
							  : MPIX_WAIT_NS,
				   .ns = w->ns,
				   .start_ns = w->call.start_ns,
				   .end_ns = w->call.end_ns};
	if (w->causer != NONE || w->since)
		wait->causer = place(x, &w->causer_at);
	if (!w->part && w->call.at.window != NONE &&
	    samples_wait(x->sampling, x->lane_of[w->call.at.lane], w->call.start_ns, w->ns, w->site) < 0)
		return -ENOMEM;
	return 0;
}

static int add_came(const struct export *x, struct gathered *g, const struct came *c)
{
	struct mpix_wait wait = {.at = place(x, &c->call.at),
				 .causer = {.window = MPIX_NOWHERE},
				 .how = MPIX_CAME_BYTES,
				 .ns = (int64_t)(c->bytes & INT64_MAX),
				 .start_ns = c->call.start_ns,
				 .end_ns = c->call.end_ns};
	return vec_push(&g->waits, wait);
}

static int add_completed(const struct export *x, struct gathered *g, const struct completed *c)
{
	struct mpix_wait wait = {.at = place(x, &c->call.at),
				 .causer = place(x, &c->start),
				 .how = MPIX_CAME_BYTES,
				 .start_ns = c->call.start_ns,
				 .end_ns = c->call.end_ns};
	return vec_push(&g->waits, wait);
}

static int gather_lanes(const struct export *x, struct gathered *g, const struct stream *st, uint32_t first,
			uint32_t end, int64_t start_ns)
{
	int code = 0;
	for (uint32_t r = first; r < end && code == 0; r++)
		for (uint32_t i = 0; i < st->ranks[r].nlanes && code == 0 && team_has_rank(st, r); i++) {
			const struct lane *l = &st->lanes[st->ranks[r].first_lane + i];
			code = add_carried(x, g, l, start_ns);
			if (code == 0 && l->n > 0)
				code = add_run(x, g, l);
		}
	return code;
}

static int gather_found(const struct export *x, struct gathered *g, const struct stream *st, uint32_t first,
			uint32_t end)
{
	int code = 0;
	for (uint32_t i = shard_of(st, first); i <= shard_of(st, end - 1) && code == 0; i++) {
		const struct shard *sh = &st->shards[i];
		for (size_t k = 0; k < sh->transfers.n && code == 0; k++)
			if (sh->transfers.at[k].recv.rank >= first && sh->transfers.at[k].recv.rank < end)
				code = add_link(x, g, &sh->transfers.at[k]);
		for (size_t k = 0; k < sh->waited.n && code == 0; k++)
			if (sh->waited.at[k].rank >= first && sh->waited.at[k].rank < end)
				code = add_wait(x, g, &sh->waited.at[k]);
		for (size_t k = 0; k < sh->came.n && code == 0; k++)
			if (sh->came.at[k].rank >= first && sh->came.at[k].rank < end)
				code = add_came(x, g, &sh->came.at[k]);
		for (size_t k = 0; k < sh->completed.n && code == 0; k++)
			if (sh->completed.at[k].rank >= first && sh->completed.at[k].rank < end)
				code = add_completed(x, g, &sh->completed.at[k]);
	}
	return code;
}

int64_t export_window_start(const struct stream *st, uint32_t window)
{
	int64_t end = st->step->runtime_ns + 1;
	if (window == 0)
		return 0;
	size_t slice = (size_t)window * st->slices;
	return slice < st->nslices && st->starts[slice] < end ? st->starts[slice] : end;
}

void export_free_room(struct gathered *g)
{
	if (g == NULL)
		return;
	vec_done(&g->runs);
	vec_done(&g->carried);
	vec_done(&g->links);
	vec_done(&g->waits);
	vec_done(&g->extras);
	vec_done(&g->enter);
	vec_done(&g->leave);
	mpix_scratch_free(g->scratch);
	free(g);
}

/* For one group at a time; as many come to be as threads pack. */
struct gathered *export_room(struct export *x)
{
	uint32_t n = __atomic_load_n(&x->nrooms, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++) {
		/* Partner: the exchange in export_give_room(). */
		struct gathered *g = __atomic_exchange_n(&x->rooms[i], NULL, __ATOMIC_ACQ_REL);
		if (g != NULL)
			return g;
	}
	struct gathered *g = calloc(1, sizeof(*g));
	if (g != NULL && (g->scratch = mpix_scratch_new()) != NULL)
		return g;
	free(g);
	return NULL;
}

void export_give_room(struct export *x, struct gathered *g)
{
	for (uint32_t i = 0; i < x->nrooms; i++) {
		struct gathered *none = NULL;
		/* Partner: the exchange in export_room(), of whoever takes it next. */
		if (__atomic_compare_exchange_n(&x->rooms[i], &none, g, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return;
	}
	export_free_room(g);
}

uint32_t export_first_rank(uint32_t group)
{
	return group * MPIX_GROUP_RANKS;
}

uint32_t export_end_rank(const struct export *x, uint32_t group)
{
	uint32_t first = export_first_rank(group), ranks = x->step->nranks;
	return ranks - first < MPIX_GROUP_RANKS ? ranks : first + MPIX_GROUP_RANKS;
}

int export_gather(struct export *x, struct stream *st, uint32_t number, struct gathered *g)
{
	uint32_t first = export_first_rank(number), end = export_end_rank(x, number);
	g->runs.n = g->carried.n = g->links.n = g->waits.n = g->extras.n = g->enter.n = g->leave.n = 0;
	int code = gather_lanes(x, g, st, first, end, export_window_start(st, st->window));
	return code == 0 ? gather_found(x, g, st, first, end) : code;
}
