/* table.c - rows with one value a run, and what is said of them: both means, the change, how far runs of one side are
 * apart, and whether the change is larger than that explains. Rows that matter little are not judged: the fewer are
 * asked about, the smaller a difference can be told from noise. */
#include "postproc/compare/noise.h"
#include "postproc/compare/parts.h"

#include "base/json.h"

#include <math.h>

#define JUDGED_SHARE_MIN 1e-3 /* of the traced region, a rank, mean of both sides */

struct wanted_key {
	const struct table *t;
	const char *key;
};

static bool same_key(const void *context, uint32_t at)
{
	const struct wanted_key *w = context;
	return strcmp(w->t->keys.at[at], w->key) == 0;
}

static int add_row(struct table *t, uint64_t hash, const char *key)
{
	struct row r = {
		.object = cJSON_CreateObject(), .value = calloc(t->sides->n, sizeof(double)), .added = t->rows.n};
	char *copy = strdup(key);
	if (r.object == NULL || r.value == NULL || copy == NULL || vec_push(&t->keys, copy) < 0) {
		free(copy);
	} else if (vec_push(&t->rows, r) == 0) {
		return index_add(&t->index, hash, (uint32_t)t->rows.n - 1);
	}
	cJSON_Delete(r.object);
	free(r.value);
	return -ENOMEM;
}

struct row *table_row(struct table *t, const char *key, bool *ret_made)
{
	struct wanted_key w = {t, key};
	uint64_t hash = index_hash(INDEX_SEED, key, strlen(key));
	uint32_t at = t->failed ? INDEX_NONE : index_find(&t->index, hash, same_key, &w);
	*ret_made = at == INDEX_NONE;
	if (at != INDEX_NONE)
		return &t->rows.at[at];
	t->failed = t->failed || add_row(t, hash, key) < 0;
	return t->failed ? NULL : &t->rows.at[t->rows.n - 1];
}

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->rows.n; i++) {
		cJSON_Delete(t->rows.at[i].object);
		free(t->rows.at[i].value);
	}
	for (size_t i = 0; i < t->keys.n; i++)
		free(t->keys.at[i]);
	vec_done(&t->rows);
	vec_done(&t->keys);
	index_done(&t->index);
}

/* One row, while it is compared. */
struct compared {
	struct row *row;
	double a, b, spread_a, spread_b; /* as they are shown */
	double rank_a, rank_b, change;	 /* of a rank */
	double p, smallest;		 /* smallest: that could have been seen, as change */
	unsigned runs;			 /* that would show the change */
	bool beyond;
};

/* Values as they are judged: of a rank. */
static void scale(const struct sides *s, enum value_kind kind, const struct row *r, double *ret_values)
{
	for (size_t i = 0; i < s->n; i++)
		ret_values[i] = kind == VALUE_RANK_SECONDS ? r->value[i] / s->seen[i] : r->value[i];
}

static void compare_row(const struct sides *s, enum value_kind kind, struct row *r, double *scratch, struct compared *c)
{
	*c = (struct compared){.row = r, .p = NAN, .smallest = NAN};
	c->a = side_mean(s, 0, r->value);
	c->b = side_mean(s, 1, r->value);
	c->spread_a = noise_spread(r->value, s->na);
	c->spread_b = noise_spread(r->value + s->na, s->nb);
	scale(s, kind, r, scratch);
	c->rank_a = side_mean(s, 0, scratch);
	c->rank_b = side_mean(s, 1, scratch);
	c->change = c->rank_b - c->rank_a;
	if (s->tested && (kind == VALUE_FACTOR || (c->rank_a + c->rank_b) / 2 >= JUDGED_SHARE_MIN * s->region_s))
		c->p = noise_p(scratch, s->na, scratch + s->na, s->nb);
}

/* Of rows that are judged: what they could have shown, if they had to stand out of all of them. */
static void find_detectable(const struct sides *s, enum value_kind kind, struct compared *all, size_t n,
			    double *scratch)
{
	size_t tested = 0;
	for (size_t i = 0; i < n; i++)
		tested += !isnan(all[i].p);
	for (size_t i = 0; i < n; i++) {
		double alpha = NOISE_ALPHA / NOISE_TABLES / (double)(tested > 0 ? tested : 1);
		if (isnan(all[i].p))
			continue;
		scale(s, kind, all[i].row, scratch);
		all[i].smallest = noise_smallest(scratch, s->na, scratch + s->na, s->nb, alpha);
		all[i].runs = noise_runs(scratch, s->na, scratch + s->na, s->nb, alpha);
	}
}

static void put_row(const struct compared *c, enum value_kind kind)
{
	bool factor = kind == VALUE_FACTOR;
	cJSON *o = c->row->object;
	json_put_null_or(o, factor ? "a" : "a_s", c->a);
	json_put_null_or(o, factor ? "b" : "b_s", c->b);
	json_put_null_or(o, factor ? "change" : "change_s", c->b - c->a);
	if (kind == VALUE_RANK_SECONDS) {
		json_put_null_or(o, "a_per_rank_s", c->rank_a);
		json_put_null_or(o, "b_per_rank_s", c->rank_b);
		json_put_null_or(o, "change_per_rank_s", c->change);
	}
	json_put_null_or(o, factor ? "a_spread" : "a_spread_s", c->spread_a);
	json_put_null_or(o, factor ? "b_spread" : "b_spread_s", c->spread_b);
	json_put_null_or(o,
			 factor			 ? "smallest"
			 : kind == VALUE_SECONDS ? "smallest_s"
						 : "smallest_per_rank_s",
			 c->smallest);
	json_put_null_or(o, "runs_needed", c->runs > 0 ? c->runs : NAN);
	json_put_null_or(o, "p", c->p);
	if (isnan(c->p))
		cJSON_AddNullToObject(o, "significant");
	else
		cJSON_AddBoolToObject(o, "significant", c->beyond);
}

static double size_of(double change)
{
	return isnan(change) ? -1 : fabs(change);
}

static int larger_first(const void *a, const void *b)
{
	const struct compared *x = a, *y = b;
	if (x->row->outside != y->row->outside)
		return x->row->outside ? 1 : -1;
	double sx = size_of(x->change), sy = size_of(y->change);
	if (sx != sy)
		return sx < sy ? 1 : -1;
	return (x->row->added > y->row->added) - (x->row->added < y->row->added);
}

static int test_rows(struct compared *all, size_t n)
{
	double *p = calloc(n + 1, sizeof(*p));
	bool *beyond = calloc(n + 1, sizeof(*beyond));
	for (size_t i = 0; p != NULL && i < n; i++)
		p[i] = all[i].p;
	if (p != NULL && beyond != NULL)
		noise_test(p, n, beyond);
	for (size_t i = 0; beyond != NULL && i < n; i++)
		all[i].beyond = beyond[i];
	int code = p == NULL || beyond == NULL ? -ENOMEM : 0;
	free(p);
	free(beyond);
	return code;
}

static int put_rows(struct table *t, struct compared *all, enum value_kind kind, bool sorted, cJSON *array)
{
	size_t n = t->rows.n;
	if (test_rows(all, n) < 0)
		return -ENOMEM;
	if (sorted && n > 1)
		qsort(all, n, sizeof(*all), larger_first);
	for (size_t i = 0; i < n; i++) {
		put_row(&all[i], kind);
		cJSON_AddItemToArray(array, all[i].row->object);
		all[i].row->object = NULL;
	}
	return 0;
}

int table_put(struct table *t, enum value_kind kind, bool sorted, cJSON *array)
{
	struct compared *all = calloc(t->rows.n + 1, sizeof(*all));
	double *scratch = calloc(t->sides->n, sizeof(*scratch));
	int code = t->failed || all == NULL || scratch == NULL || array == NULL ? -ENOMEM : 0;
	for (size_t i = 0; code == 0 && i < t->rows.n; i++)
		compare_row(t->sides, kind, &t->rows.at[i], scratch, &all[i]);
	if (code == 0)
		find_detectable(t->sides, kind, all, t->rows.n, scratch);
	if (code == 0)
		code = put_rows(t, all, kind, sorted, array);
	free(all);
	free(scratch);
	return code;
}
