/* export_calls.c - see export_samples.h. Signatures of a process in order of operation and address. */
#include "base/search.h"
#include "postproc/export_samples.h"

struct sorted {
	VEC(const struct sig *) sigs;
	bool is_sorted;
};

struct calls {
	uint32_t nranks;
	struct sorted of[]; /* by rank */
};

struct calls *calls_of(const struct step *s)
{
	struct calls *c = calloc(1, sizeof(*c) + s->nranks * sizeof(*c->of));
	if (c != NULL)
		c->nranks = s->nranks;
	return c;
}

void calls_free(struct calls *c)
{
	for (uint32_t r = 0; c != NULL && r < c->nranks; r++)
		vec_done(&c->of[r].sigs);
	free(c);
}

static int compare(const struct sig *a, uint16_t op, uint64_t address)
{
	if (a->call.op != op)
		return a->call.op < op ? -1 : 1;
	return (a->call.address > address) - (a->call.address < address);
}

static int by_call(const void *left, const void *right)
{
	const struct sig *a = *(const struct sig *const *)left, *b = *(const struct sig *const *)right;
	int order = compare(a, b->call.op, b->call.address);
	return order != 0 ? order : (a > b) - (a < b);
}

static bool sort(struct sorted *x, const struct process *p)
{
	for (size_t i = 0; i < p->sigs.n; i++)
		if (p->sigs.at[i].defined && vec_push(&x->sigs, &p->sigs.at[i]) < 0)
			return false;
	vec_sort(&x->sigs, by_call);
	return x->is_sorted = true;
}

const struct sig *calls_find(struct calls *c, const struct process *p, uint16_t op, uint64_t address)
{
	if (p->rank >= c->nranks)
		return NULL;
	struct sorted *x = &c->of[p->rank];
	if (!x->is_sorted && !sort(x, p))
		return NULL;
	size_t at = search_first(0, x->sigs.n, i, compare(x->sigs.at[i], op, address) < 0);
	return at < x->sigs.n && compare(x->sigs.at[at], op, address) == 0 ? x->sigs.at[at] : NULL;
}
