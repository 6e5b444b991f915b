/* wait_sums.c - waiting by state, rank and call site. */
#include "postproc/stream/wait_sums.h"

struct wanted_row {
	const struct waits *w;
	enum wait_state state;
	uint32_t rank, site;
};

static bool same_row(const void *context, uint32_t at)
{
	const struct wanted_row *want = context;
	const struct wait_row *r = &want->w->rows.at[at];
	return r->state == want->state && r->rank == want->rank && r->site == want->site;
}

static struct wait_row *row_of(struct waits *w, enum wait_state state, uint32_t rank, uint32_t site)
{
	struct wanted_row want = {w, state, rank, site};
	uint64_t hash = index_mix((uint64_t)rank << 32 | site, state);
	uint32_t at = index_find(&w->index, hash, same_row, &want);
	if (at != INDEX_NONE)
		return &w->rows.at[at];
	struct wait_row fresh = {
		.state = state, .rank = rank, .site = site, .causer = NONE, .from_ns = INT64_MAX, .to_ns = INT64_MIN};
	if (vec_push(&w->rows, fresh) < 0 || index_add(&w->index, hash, (uint32_t)w->rows.n - 1) < 0)
		return NULL;
	return &w->rows.at[w->rows.n - 1];
}

int waits_note(struct waits *w, const struct wait_case *x, bool part)
{
	struct wait_row *r = row_of(w, x->state, x->rank, x->site);
	if (r == NULL)
		return -ENOMEM;
	r->from_ns = x->start_ns < r->from_ns ? x->start_ns : r->from_ns;
	r->to_ns = x->end_ns > r->to_ns ? x->end_ns : r->to_ns;
	r->count++;
	add_ns(&r->ns, x->ns);
	add_ns(&w->total_ns[x->state], x->ns);
	if (x->ns > r->worst_ns) {
		r->worst_ns = x->ns;
		r->worst_from_ns = x->start_ns;
		r->worst_to_ns = x->end_ns;
	}
	if (x->causer != NONE && x->ns > r->causer_ns) {
		r->causer = x->causer;
		r->causer_ns = x->ns;
	}
	if (part)
		return 0;
	add_ns(&w->by_rank[x->rank], x->ns);
	add_ns(&w->all_ns, x->ns);
	if (x->causer != NONE)
		add_ns(&w->caused[x->causer], x->ns);
	return 0;
}

int waits_begin(struct waits *w, const struct step *s)
{
	*w = (struct waits){.by_rank = calloc(s->nranks, sizeof(int64_t)),
			    .caused = calloc(s->nranks, sizeof(int64_t))};
	return w->by_rank == NULL || w->caused == NULL ? -ENOMEM : 0;
}

int waits_merge(struct waits *into, const struct waits *from, const struct step *s)
{
	for (size_t i = 0; i < from->rows.n; i++)
		if (vec_push(&into->rows, from->rows.at[i]) < 0)
			return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++) {
		add_ns(&into->by_rank[r], from->by_rank[r]);
		add_ns(&into->caused[r], from->caused[r]);
	}
	for (unsigned i = 0; i < WAIT_STATES; i++)
		add_ns(&into->total_ns[i], from->total_ns[i]);
	add_ns(&into->all_ns, from->all_ns);
	return 0;
}

void waits_done(struct waits *w)
{
	vec_done(&w->rows);
	index_done(&w->index);
	free(w->by_rank);
	free(w->caused);
	memset(w, 0, sizeof(*w));
}
