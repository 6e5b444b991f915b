/* export.c - see export.h. Each window is packed group by group by the stream's threads, then written in order. */
#include "postproc/export_parts.h"

#include <stdio.h>

#define SHIFTED_ZERO (1ull << 40) /* of clocks in nanoseconds, so that times before zero are ticks too */

/* ---- what the file is about ---- */

/* Names of operations, and one more for events whose definition was lost. */
static const char **op_names(const struct step *s)
{
	const char **names = malloc((s->ops.n + 1) * sizeof(*names));
	for (size_t i = 0; names != NULL && i < s->ops.n; i++)
		names[i] = s->ops.at[i];
	if (names != NULL)
		names[s->ops.n] = "(unknown)";
	return names;
}

/* All that create() hands to the writer, which copies it. */
struct about {
	const char **names;
	uint32_t *threads, *places, *clock_of_lane;
	struct mpix_clock *clocks;
	struct mpix_clock_knot *knots;
};

static void about_done(struct about *a)
{
	free(a->names);
	free(a->threads);
	free(a->places);
	free(a->clock_of_lane);
	free(a->clocks);
	free(a->knots);
}

static uint32_t threads_of(const struct process *p)
{
	return p == NULL || p->threads.n == 0 ? 1 : (uint32_t)p->threads.n;
}

static int count_lanes(struct export *x, const struct stream *st)
{
	const struct step *s = x->step;
	free(x->first_lane);
	free(x->lane_of);
	x->first_lane = calloc(s->nranks + 2u, sizeof(*x->first_lane));
	x->lane_of = calloc(st->nlanes + 1, sizeof(*x->lane_of));
	if (x->first_lane == NULL || x->lane_of == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++)
		x->first_lane[r + 1] = x->first_lane[r] + threads_of(s->ranks[r]);
	for (uint32_t i = 0; i < st->nlanes; i++)
		x->lane_of[i] = x->first_lane[st->lanes[i].rank] + st->lanes[i].thread;
	return 0;
}

/* One clock a node, and at last one in nanoseconds for lanes of which times were repaired. */
static int make_clocks(const struct export *x, const struct stream *st, struct about *a)
{
	const struct step *s = x->step;
	size_t nknots = 1, at = 0;
	for (size_t i = 0; i < s->nodes.n; i++)
		nknots += st->rules[i].knots.n;
	a->clocks = calloc(s->nodes.n + 1, sizeof(*a->clocks));
	a->knots = calloc(nknots, sizeof(*a->knots));
	a->clock_of_lane = calloc(x->first_lane[s->nranks] + 1, sizeof(*a->clock_of_lane));
	if (a->clocks == NULL || a->knots == NULL || a->clock_of_lane == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->nodes.n; i++) {
		const struct clock_rule *r = &st->rules[i];
		a->clocks[i] = (struct mpix_clock){r->knots.at[0].tick, a->knots + at, (uint32_t)r->knots.n};
		for (size_t k = 0; k < r->knots.n; k++)
			a->knots[at++] =
				(struct mpix_clock_knot){r->knots.at[k].tick, r->knots.at[k].ns, r->knots.at[k].rate};
	}
	a->knots[at] = (struct mpix_clock_knot){0, -(double)SHIFTED_ZERO, 1};
	a->clocks[s->nodes.n] = (struct mpix_clock){0, a->knots + at, 1};
	for (uint32_t i = 0; i < st->nlanes; i++) {
		const struct lane *l = &st->lanes[i];
		uint32_t node = l->process->node;
		a->clock_of_lane[x->lane_of[i]] = l->shifts.n > 0 ? (uint32_t)s->nodes.n : node;
		if (l->block < l->last_block && l->begin_tick < a->clocks[node].base_tick)
			a->clocks[node].base_tick = l->begin_tick;
	}
	return 0;
}

static int create(struct export *x, const struct stream *st)
{
	const struct step *s = x->step;
	struct about a = {.names = op_names(s)};
	a.threads = calloc(s->nranks + 1u, sizeof(*a.threads));
	a.places = calloc(s->nranks + 1u, sizeof(*a.places));
	int code = a.names == NULL || a.threads == NULL || a.places == NULL ? -ENOMEM : make_clocks(x, st, &a);
	for (uint32_t r = 0; r < s->nranks && code == 0; r++) {
		a.threads[r] = threads_of(s->ranks[r]);
		a.places[r] = s->ranks[r] != NULL ? s->ranks[r]->node : 0;
	}
	struct mpix_info info = {.ranks = s->nranks,
				 .runtime_ns = s->runtime_ns,
				 .ops = a.names,
				 .nops = (uint32_t)s->ops.n + 1,
				 .threads = a.threads,
				 .clocks = a.clocks,
				 .nclocks = (uint32_t)s->nodes.n + 1,
				 .clock_of_lane = a.clock_of_lane,
				 .places = s->nodes.n > 0 ? (uint32_t)s->nodes.n : 1,
				 .place_of_rank = a.places,
				 .events_expected = st->events};
	if (code == 0)
		code = team_is_first(st) ? mpix_writer_create(x->path, &info, &x->w, &x->error)
					 : mpix_packer_create(x->path, &info, &x->w, &x->error);
	about_done(&a);
	return code;
}

/* ---- one group of one window ---- */

static struct mpix_position place(const struct export *x, const struct position *at)
{
	if (at->window == NONE)
		return (struct mpix_position){.window = MPIX_NOWHERE};
	return (struct mpix_position){at->window, x->lane_of[at->lane], at->at};
}

/* Ticks of the nanosecond clock. */
static uint64_t shifted(int64_t ns)
{
	return (uint64_t)(ns + (int64_t)SHIFTED_ZERO);
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

/* Lists that grew have moved: point into them now. Extras stand lane by lane, the carried event's first. */
static void set_pointers(struct gathered *g)
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

static int64_t window_start(const struct stream *st, uint32_t window)
{
	int64_t end = st->step->runtime_ns + 1;
	if (window == 0)
		return 0;
	size_t slice = (size_t)window * st->slices;
	return slice < st->nslices && st->starts[slice] < end ? st->starts[slice] : end;
}

static void room_free(struct gathered *g)
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
		/* Partner: the exchange in take_room(), of whoever takes it next. */
		if (__atomic_compare_exchange_n(&x->rooms[i], &none, g, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return;
	}
	room_free(g);
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
	int code = gather_lanes(x, g, st, first, end, window_start(st, st->window));
	return code == 0 ? gather_found(x, g, st, first, end) : code;
}

static int pack_gathered(struct export *x, struct stream *st, uint32_t number, struct gathered *g)
{
	struct group *group = &x->groups[number];
	int code = export_gather(x, st, number, g);
	for (size_t i = 0; i < group->lent.n && code == 0; i++)
		code = export_take_lent(g, group->lent.at[i]);
	group->lent.n = 0;
	if (code < 0)
		return code;
	set_pointers(g);
	struct mpix_part part = {.window = st->window,
				 .group = number,
				 .start_ns = window_start(st, st->window),
				 .end_ns = window_start(st, st->window + 1),
				 .runs = g->runs.at,
				 .carried = g->carried.at,
				 .links = g->links.at,
				 .waits = g->waits.at,
				 .nruns = (uint32_t)g->runs.n,
				 .ncarried = (uint32_t)g->carried.n,
				 .nlinks = (uint32_t)g->links.n,
				 .nwaits = (uint32_t)g->waits.n};
	return mpix_pack(x->w, &part, g->scratch, group->packed, &group->error);
}

static int on_send(void *context, struct stream *st, struct buf *out)
{
	struct export *x = context;
	for (uint32_t i = 0; i < x->ngroups; i++)
		if (export_packs_here(st, i))
			mpix_packed_send(x->groups[i].packed, out);
	if (st->window == st->nwindows)
		samples_send(x->sampling, out);
	return 0;
}

static int on_take(void *context, struct stream *st, uint32_t from, struct cursor *c)
{
	struct export *x = context;
	int code = 0;
	for (uint32_t i = 0; i < x->ngroups && code == 0; i++)
		if (team_process_of_rank(st, export_first_rank(i)) == from)
			code = mpix_packed_take(x->groups[i].packed, c);
	return code == 0 && st->window == st->nwindows ? samples_take(x->sampling, c) : code;
}

static int pack_group(struct export *x, struct stream *st, uint32_t number)
{
	if (!export_packs_here(st, number))
		return 0;
	struct gathered *g = export_room(x);
	if (g == NULL)
		return -ENOMEM;
	int code = pack_gathered(x, st, number, g);
	export_give_room(x, g);
	return code;
}

/* ---- as the stream's visitor ---- */

static int on_begin(void *context, struct stream *st)
{
	struct export *x = context;
	mpix_writer_abandon(x->w);
	x->w = NULL;
	int code = count_lanes(x, st);
	if (code == 0)
		code = create(x, st);
	if (code == 0)
		code = export_signatures(x->step, x->w, &x->error);
	samples_free(x->sampling);
	x->sampling = code == 0 ? samples_begin(st, x->lane_of) : NULL;
	return code == 0 && x->sampling == NULL ? -ENOMEM : code;
}

static int on_piece(void *context, struct stream *st, uint32_t i)
{
	return pack_group(context, st, i);
}

static int on_window(void *context, struct stream *st)
{
	struct export *x = context;
	int code = 0;
	(void)st;
	for (uint32_t i = 0; i < x->ngroups && code == 0; i++)
		code = mpix_writer_put(x->w, x->groups[i].packed, &x->error);
	return code;
}

const struct error *export_error(const struct export *x)
{
	if (x->error.text[0] != '\0')
		return &x->error;
	for (uint32_t i = 0; i < x->ngroups; i++)
		if (x->groups[i].error.text[0] != '\0')
			return &x->groups[i].error;
	return NULL;
}

struct stream_visitor *export_visitor(struct export *x)
{
	return &x->visitor;
}

static void export_free(struct export *x)
{
	for (uint32_t i = 0; x->groups != NULL && i < x->ngroups; i++)
		mpix_packed_free(x->groups[i].packed);
	for (uint32_t i = 0; x->groups != NULL && i < x->ngroups; i++)
		vec_done(&x->groups[i].lent);
	for (uint32_t i = 0; x->rooms != NULL && i < x->nrooms; i++)
		room_free(x->rooms[i]);
	samples_free(x->sampling);
	free(x->groups);
	free(x->rooms);
	free(x->first_lane);
	free(x->lane_of);
	free(x->path);
	free(x);
}

#define ROOMS_KEPT 64u

struct export *export_create(const char *path, struct step *s)
{
	struct export *x = calloc(1, sizeof(*x));
	if (x == NULL)
		return NULL;
	x->path = strdup(path);
	x->step = s;
	x->ngroups = (s->nranks - 1) / MPIX_GROUP_RANKS + 1;
	x->groups = calloc(x->ngroups, sizeof(*x->groups));
	x->nrooms = ROOMS_KEPT;
	x->rooms = calloc(x->nrooms, sizeof(struct gathered *));
	bool there = x->path != NULL && x->groups != NULL && x->rooms != NULL;
	for (uint32_t i = 0; there && i < x->ngroups; i++)
		there = (x->groups[i].packed = mpix_packed_new()) != NULL;
	x->visitor = (struct stream_visitor){.context = x,
					     .begin = on_begin,
					     .n = x->ngroups,
					     .piece = on_piece,
					     .window = on_window,
					     .lend = export_lend,
					     .borrow = export_borrow,
					     .send = on_send,
					     .take = on_take};
	if (there)
		return x;
	export_free(x);
	return NULL;
}

int export_peek(struct export *x, int (*peek)(void *context, struct mpix_file *f), void *context, struct error *e)
{
	return mpix_writer_peek(x->w, peek, context, e);
}

int export_finish(struct export *x, const char *json, struct error *e)
{
	int code = json != NULL ? samples_write(x->sampling, x->w, e) : 0;
	if (json != NULL && code == 0)
		code = mpix_writer_finish(x->w, json, e);
	else
		mpix_writer_abandon(x->w);
	export_free(x);
	return code;
}
