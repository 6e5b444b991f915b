/* export.c - see export.h. Each window is packed group by group by the stream's threads, then written in order. */
#include "postproc/export_parts.h"

#include <stdio.h>

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
	a->knots[at] = (struct mpix_clock_knot){0, -(double)EXPORT_TIME_ZERO, 1};
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

static int pack_gathered(struct export *x, struct stream *st, uint32_t number, struct gathered *g)
{
	struct group *group = &x->groups[number];
	int code = export_gather(x, st, number, g);
	for (size_t i = 0; i < group->lent.n && code == 0; i++)
		code = export_take_lent(g, group->lent.at[i]);
	group->lent.n = 0;
	if (code < 0)
		return code;
	export_set_pointers(g);
	struct mpix_part part = {.window = st->window,
				 .group = number,
				 .start_ns = export_window_start(st, st->window),
				 .end_ns = export_window_start(st, st->window + 1),
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
		export_free_room(x->rooms[i]);
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
