/* on_path.c - see on_path.h. What is decoded once more: ranks of which pieces were no longer at hand. */
#include "postproc/stream/on_path.h"

#include "base/search.h"

struct lane_pieces {
	VEC(struct path_piece) list; /* in order of time */
};

struct path_sites {
	struct stream *st;
	struct lane_pieces *of; /* by lane */
	int64_t *site_ns;	/* integers: in whatever order threads add, the sums are the same */
	int code;
};

/* ---- at hand ---- */

static void add_overlap(const struct lane *l, uint32_t sig, int64_t start_ns, int64_t end_ns,
			const struct path_piece *x, int64_t *site_ns)
{
	uint32_t site = l->process->sigs.at[sig].site;
	int64_t from = x->from_ns > start_ns ? x->from_ns : start_ns, to = x->to_ns < end_ns ? x->to_ns : end_ns;
	if (site != NONE && to > from)
		site_ns[site] += to - from;
}

bool on_path_now(const struct stream *st, const struct path_piece *x, int64_t *site_ns)
{
	const struct rank_stream *rank = &st->ranks[x->rank];
	const struct lane *l = &st->lanes[rank->first_lane];
	if (rank->nlanes != 1 || (l->open.window != NONE && x->from_ns < l->open.start_ns))
		return false;
	if (l->open.window != NONE)
		add_overlap(l, l->open.sig, l->open.start_ns, l->open.end_ns, x, site_ns);
	uint32_t first = (uint32_t)search_first(0, l->n, i, l->end_ns[i] <= x->from_ns);
	for (uint32_t i = first; i < l->n && l->start_ns[i] < x->to_ns; i++)
		add_overlap(l, l->sig[i], l->start_ns[i], l->end_ns[i], x, site_ns);
	return true;
}

/* ---- once more ---- */

/* Events of the lane against its pieces, both in order of time. */
static void add_events(const struct path_sites *x, const struct lane *l, const struct lane_pieces *p, size_t *piece)
{
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t site = l->process->sigs.at[l->sig[i]].site;
		while (*piece < p->list.n && p->list.at[*piece].to_ns <= l->start_ns[i])
			++*piece;
		for (size_t k = *piece; k < p->list.n && p->list.at[k].from_ns < l->end_ns[i]; k++) {
			const struct path_piece *on = &p->list.at[k];
			int64_t from = on->from_ns > l->start_ns[i] ? on->from_ns : l->start_ns[i];
			int64_t to = on->to_ns < l->end_ns[i] ? on->to_ns : l->end_ns[i];
			if (site != NONE && to > from)
				__atomic_fetch_add(&x->site_ns[site], to - from, __ATOMIC_RELAXED);
		}
	}
}

static int walk_lane(struct path_sites *x, uint32_t number)
{
	struct stream *st = x->st;
	const struct lane *like = &st->lanes[number];
	const struct lane_pieces *p = &x->of[number];
	struct lane l = {.process = like->process,
			 .rank = like->rank,
			 .thread = like->thread,
			 .number = number,
			 .rule = like->rule,
			 .file = like->file};
	size_t piece = 0;
	memcpy(&l.shifts, &like->shifts, sizeof(l.shifts));
	int code = lane_begin(&l);
	for (uint32_t i = 0; i < st->nslices && code == 0 && piece < p->list.n; i++) {
		code = lane_window(&l, i, st->starts[i + 1]);
		if (code == 0)
			add_events(x, &l, p, &piece);
	}
	memset(&l.shifts, 0, sizeof(l.shifts));
	lane_done(&l);
	return code;
}

static void walk_one(void *context, size_t i)
{
	struct path_sites *x = context;
	if (x->of[i].list.n > 0 && walk_lane(x, (uint32_t)i) < 0)
		x->code = -ENOMEM;
}

static int sort_pieces(struct path_sites *x)
{
	const struct stream *st = x->st;
	for (size_t i = 0; i < st->swept.unsited.n; i++) {
		const struct path_piece *p = &st->swept.unsited.at[i];
		if (st->ranks[p->rank].nlanes > 0 && vec_push(&x->of[st->ranks[p->rank].first_lane].list, *p) < 0)
			return -ENOMEM;
	}
	return 0;
}

int on_path_sites(struct stream *st, int64_t *site_ns)
{
	struct path_sites x = {.st = st, .site_ns = site_ns};
	x.of = calloc(st->nlanes + 1, sizeof(*x.of));
	x.code = x.of == NULL ? -ENOMEM : sort_pieces(&x);
	for (size_t i = 0; st->swept.site_ns != NULL && i < st->step->sites.n; i++)
		site_ns[i] += st->swept.site_ns[i];
	if (x.code == 0)
		pool_run(st->pool, st->nlanes, walk_one, &x);
	for (uint32_t i = 0; x.of != NULL && i < st->nlanes; i++)
		vec_done(&x.of[i].list);
	free(x.of);
	return x.code;
}
