/* totals.c - see totals.h. */
#include "fleet/publish/totals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sought {
	const struct totals *t;
	const char *metric, *labels;
};

static bool is_it(const void *context, uint32_t at)
{
	const struct sought *s = context;
	const struct total *x = &s->t->all.at[at];
	return strcmp(x->metric, s->metric) == 0 && strcmp(x->labels, s->labels) == 0;
}

static uint64_t hash_of(const char *metric, const char *labels)
{
	return index_hash(index_hash(INDEX_SEED, metric, strlen(metric)), labels, strlen(labels));
}

bool totals_has(const struct totals *t, const char *metric, const char *labels)
{
	struct sought s = {t, metric, labels};
	return index_find(&t->by_name, hash_of(metric, labels), is_it, &s) != INDEX_NONE;
}

static int add(struct totals *t, uint64_t hash, const char *metric, const char *labels)
{
	struct total x = {strdup(metric), strdup(labels), 0, NAN};
	if (x.metric != NULL && x.labels != NULL && vec_push(&t->all, x) == 0)
		return index_add(&t->by_name, hash, (uint32_t)t->all.n - 1);
	free(x.metric);
	free(x.labels);
	return -ENOMEM;
}

struct total *totals_at(struct totals *t, const char *metric, const char *labels)
{
	struct sought s = {t, metric, labels};
	uint64_t hash = hash_of(metric, labels);
	uint32_t at = index_find(&t->by_name, hash, is_it, &s);
	if (at != INDEX_NONE)
		return &t->all.at[at];
	return add(t, hash, metric, labels) == 0 ? &t->all.at[t->all.n - 1] : NULL;
}

void totals_done(struct totals *t)
{
	for (size_t i = 0; i < t->all.n; i++) {
		free(t->all.at[i].metric);
		free(t->all.at[i].labels);
	}
	vec_done(&t->all);
	index_done(&t->by_name);
}
