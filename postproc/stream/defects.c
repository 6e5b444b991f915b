/* defects.c - see defects.h. */
#include "postproc/stream/defects.h"

struct wanted {
	const struct defects *f;
	enum defect_kind kind;
	uint32_t site, other_site;
};

static bool same(const void *context, uint32_t at)
{
	const struct wanted *w = context;
	const struct defect *x = &w->f->rows.at[at];
	return x->kind == w->kind && x->site == w->site && x->other_site == w->other_site;
}

static uint64_t hash_of(enum defect_kind kind, uint32_t site, uint32_t other_site)
{
	return index_mix((uint64_t)site << 32 | other_site, kind);
}

struct defect *defects_row(struct defects *f, enum defect_kind kind, uint32_t site, uint32_t other_site)
{
	struct wanted w = {f, kind, site, other_site};
	uint32_t at = index_find(&f->index, hash_of(kind, site, other_site), same, &w);
	return at == INDEX_NONE ? NULL : &f->rows.at[at];
}

/* Added if new and if there is room; *ret_row NULL: there was none. */
static int reach(struct defects *f, enum defect_kind kind, uint32_t site, uint32_t other_site, struct defect **ret_row)
{
	*ret_row = defects_row(f, kind, site, other_site);
	if (*ret_row != NULL || f->rows.n >= DEFECTS_MAX)
		return 0;
	struct defect fresh = {.kind = kind, .site = site, .other_site = other_site};
	if (vec_push(&f->rows, fresh) < 0 ||
	    index_add(&f->index, hash_of(kind, site, other_site), (uint32_t)f->rows.n - 1) < 0)
		return -ENOMEM;
	*ret_row = &f->rows.at[f->rows.n - 1];
	return 0;
}

void defect_add_rank(struct defect *row, uint32_t rank)
{
	uint32_t at = row->nranks;
	while (at > 0 && row->ranks[at - 1] > rank)
		at--;
	if (at > 0 && row->ranks[at - 1] == rank)
		return;
	bool full = row->nranks == DEFECT_RANKS_MAX;
	row->more_ranks |= full;
	if (at == DEFECT_RANKS_MAX)
		return;
	memmove(row->ranks + at + 1, row->ranks + at, (row->nranks - full - at) * sizeof(*row->ranks));
	row->ranks[at] = rank;
	row->nranks += !full;
}

static bool is_before(const struct defect_case *a, const struct defect_case *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	return a->rank != b->rank ? a->rank < b->rank : a->peer < b->peer;
}

static void keep_case(struct defect *row, const struct defect_case *x)
{
	uint32_t at = row->ncases;
	while (at > 0 && is_before(x, &row->cases[at - 1]))
		at--;
	if (at == DEFECT_CASES_MAX)
		return;
	bool full = row->ncases == DEFECT_CASES_MAX;
	memmove(row->cases + at + 1, row->cases + at, (row->ncases - full - at) * sizeof(*row->cases));
	row->cases[at] = *x;
	row->ncases += !full;
}

int defects_note(struct defects *f, enum defect_kind kind, uint32_t site, uint32_t other_site,
		 const struct defect_case *x)
{
	struct defect *row;
	if (reach(f, kind, site, other_site, &row) < 0)
		return -ENOMEM;
	if (row == NULL) {
		f->left_out++;
		return 0;
	}
	row->count++;
	defect_add_rank(row, x->rank);
	if (x->peer != NONE)
		defect_add_rank(row, x->peer);
	keep_case(row, x);
	return 0;
}

int defects_merge(struct defects *into, const struct defects *from)
{
	into->left_out += from->left_out;
	for (size_t i = 0; i < from->rows.n; i++) {
		const struct defect *x = &from->rows.at[i];
		struct defect *row;
		if (reach(into, x->kind, x->site, x->other_site, &row) < 0)
			return -ENOMEM;
		if (row == NULL) {
			into->left_out += x->count;
			continue;
		}
		row->count += x->count;
		row->more_ranks |= x->more_ranks;
		for (uint32_t k = 0; k < x->nranks; k++)
			defect_add_rank(row, x->ranks[k]);
		for (uint32_t k = 0; k < x->ncases; k++)
			keep_case(row, &x->cases[k]);
	}
	return 0;
}

void defects_done(struct defects *f)
{
	vec_done(&f->rows);
	index_done(&f->index);
}
