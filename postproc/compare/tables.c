/* tables.c - times and factors of both sides: the run as a whole, efficiencies, MPI functions, waiting.
 * In: efficiency, per_rank, phases, operations, wait_totals.  Out: a member each. */
#include "postproc/compare/parts.h"

#include "base/json.h"
#include "format/efficiencies.h"
#include "format/sig.h"

#include <math.h>
#include <stdio.h>

#define COUNT(x) (sizeof(x) / sizeof((x)[0]))

/* The row of a metric, named by it. */
static struct row *metric(struct table *t, const char *name)
{
	bool made;
	struct row *r = table_row(t, name, &made);
	if (r != NULL && made)
		json_put_text(r->object, "metric", name);
	return r;
}

/* That of a rank or an iteration of this number, where all sides have the same. */
static struct row *numbered(struct table *t, const char *what, double number, bool *ret_made)
{
	char key[32];
	snprintf(key, sizeof(key), "%.0f", number);
	struct row *r = table_row(t, key, ret_made);
	if (r != NULL && *ret_made)
		json_put(r->object, what, number);
	return r;
}

static int put_factors(const struct sides *s, cJSON *array)
{
	struct table t = {.sides = s};
	for (size_t k = 0; k < efficiency_count; k++) {
		const char *name = efficiency_rows[k].name;
		struct row *r = metric(&t, name);
		for (size_t i = 0; r != NULL && i < s->n; i++)
			r->value[i] = json_number(json_item(s->run[i]->analysis, "efficiency"), name);
	}
	int code = table_put(&t, VALUE_FACTOR, false, array);
	table_done(&t);
	return code;
}

static int put_region(const struct sides *s, cJSON *array)
{
	struct table t = {.sides = s};
	static const char *const times[][3] = {{"region", "efficiency", "region_s"},
					       {"iteration", "phases", "iteration_s"}};
	for (size_t k = 0; k < COUNT(times); k++) {
		struct row *r = metric(&t, times[k][0]);
		for (size_t i = 0; r != NULL && i < s->n; i++)
			r->value[i] = json_number(json_item(s->run[i]->analysis, times[k][1]), times[k][2]);
	}
	int code = table_put(&t, VALUE_SECONDS, false, array);
	table_done(&t);
	return code;
}

/* One second less here is one less of the run only if all ranks have it. */
static int put_rank_times(const struct sides *s, cJSON *array)
{
	static const struct {
		const char *metric, *key;
		bool of_events;
	} sums[] = {{"useful", "useful_s", false},
		    {"mpi", "mpi_s", false},
		    {"wait", "wait_s", true},
		    {"startup", "startup_s", false}};
	struct table t = {.sides = s};
	for (size_t k = 0; k < COUNT(sums); k++) {
		struct row *r = metric(&t, sums[k].metric);
		for (size_t i = 0; r != NULL && i < s->n; i++) {
			for (const cJSON *v = json_first(s->run[i]->analysis, "per_rank"); v != NULL; v = v->next)
				r->value[i] += fmax(json_number_or(v, sums[k].key, 0), 0);
			if (sums[k].of_events && !s->has_events[i])
				r->value[i] = NAN;
		}
	}
	int code = table_put(&t, VALUE_RANK_SECONDS, false, array);
	table_done(&t);
	return code;
}

static void add_operation(struct table *t, size_t i, const cJSON *v, double seconds)
{
	bool made;
	const char *op = json_text(v, "op", "?");
	struct row *r = table_row(t, op, &made);
	if (r == NULL)
		return;
	if (made)
		json_put_text(r->object, "op", op);
	r->outside = op_is_outside_region(op);
	r->value[i] += seconds;
}

/* Calls that ranks never came back from are in the time in MPI, and in no operation's. When nobody advanced any more is
 * in no time of the rank. */
static void add_open(struct table *t, size_t i, const cJSON *rank)
{
	for (const cJSON *v = json_first(rank, "open"); v != NULL; v = v->next) {
		double seconds = json_number(v, "to_s") - json_number(v, "from_s") - json_number_or(rank, "hung_s", 0);
		if (seconds > 0) /* not for NaN */
			add_operation(t, i, v, seconds);
	}
}

static int put_operations(const struct sides *s, cJSON *array)
{
	struct table t = {.sides = s};
	for (size_t i = 0; i < s->n; i++) {
		for (const cJSON *v = json_first(s->run[i]->analysis, "operations"); v != NULL; v = v->next)
			add_operation(&t, i, v, json_number_or(v, "time_s", 0));
		for (const cJSON *v = json_first(s->run[i]->analysis, "per_rank"); v != NULL; v = v->next)
			add_open(&t, i, v);
	}
	int code = table_put(&t, VALUE_RANK_SECONDS, true, array);
	table_done(&t);
	return code;
}

static int put_waits(const struct sides *s, cJSON *array)
{
	struct table t = {.sides = s};
	for (size_t i = 0; i < s->n; i++)
		for (const cJSON *v = json_first(s->run[i]->analysis, "wait_totals"); v != NULL; v = v->next) {
			bool made;
			struct row *r = table_row(&t, json_text(v, "state", "?"), &made);
			if (r == NULL)
				break;
			if (made)
				json_put_text(r->object, "state", json_text(v, "state", "?"));
			r->value[i] += json_number_or(v, "seconds", 0);
		}
	for (size_t k = 0; k < t.rows.n; k++)
		for (size_t i = 0; i < s->n; i++)
			if (!s->has_events[i])
				t.rows.at[k].value[i] = NAN;
	int code = table_put(&t, VALUE_RANK_SECONDS, true, array);
	table_done(&t);
	return code;
}

/* ---- rank by rank ---- */

#define RANKS_SHOWN 64 /* of those, the largest changes */

static double mean_useful(const struct compare_run *r)
{
	double sum = 0;
	size_t n = 0;
	for (const cJSON *v = json_first(r->analysis, "per_rank"); v != NULL; v = v->next, n++)
		sum += fmax(json_number_or(v, "useful_s", 0), 0);
	return n > 0 ? sum / (double)n : 0;
}

/* A rank's computation against the mean of its run: what makes all of a run slower is no difference of ranks, and so
 * what one rank does otherwise stands out after few runs. */
static void add_ranks(struct table *t, size_t i, double mean)
{
	for (const cJSON *v = json_first(t->sides->run[i]->analysis, "per_rank"); v != NULL; v = v->next) {
		bool made;
		struct row *r = numbered(t, "rank", json_number_or(v, "rank", -1), &made);
		if (r == NULL)
			return;
		r->value[i] = mean > 0 ? fmax(json_number_or(v, "useful_s", 0), 0) / mean : NAN;
	}
}

static int put_ranks(const struct sides *s, cJSON *array)
{
	struct table t = {.sides = s};
	bool alike = s->run[0]->ranks == s->run[s->na]->ranks;
	for (size_t i = 0; alike && i < s->n; i++)
		add_ranks(&t, i, mean_useful(s->run[i]));
	int code = table_put(&t, VALUE_FACTOR, true, array);
	table_done(&t);
	while (cJSON_GetArraySize(array) > RANKS_SHOWN)
		cJSON_DeleteItemFromArray(array, RANKS_SHOWN);
	return code;
}

/* ---- iteration by iteration ---- */

static const cJSON *phases_of(const struct sides *s, size_t i)
{
	return json_item(s->run[i]->analysis, "phases");
}

/* Loops that go around as often, cut into the same pieces. */
static bool same_pieces(const cJSON *a, const cJSON *b)
{
	const cJSON *x = json_first(a, "pieces"), *y = json_first(b, "pieces");
	for (; x != NULL && y != NULL; x = x->next, y = y->next)
		if (json_number_or(x, "iterations", -1) != json_number_or(y, "iterations", -2))
			return false;
	return x == NULL && y == NULL;
}

/* The time of these iterations against the mean of their run: what makes all of a run slower is no difference of
 * iterations. */
static void add_pieces(struct table *t, size_t i, double mean_s)
{
	for (const cJSON *v = json_first(phases_of(t->sides, i), "pieces"); v != NULL; v = v->next) {
		bool made;
		struct row *r = numbered(t, "from", json_number_or(v, "from", 0), &made);
		if (r == NULL)
			return;
		if (made)
			json_put(r->object, "iterations", json_number_or(v, "iterations", 0));
		r->value[i] = mean_s > 0 ? json_number(v, "iteration_s") / mean_s : NAN;
	}
}

static int put_iterations(const struct sides *s, cJSON *array)
{
	struct table t = {.sides = s};
	bool alike = true;
	for (size_t i = 1; i < s->n; i++)
		alike &= same_pieces(phases_of(s, 0), phases_of(s, i));
	for (size_t i = 0; alike && i < s->n; i++)
		add_pieces(&t, i, json_number_or(phases_of(s, i), "iteration_s", 0));
	int code = table_put(&t, VALUE_FACTOR, false, array);
	table_done(&t);
	return code;
}

int tables_put(const struct sides *s, cJSON *diff)
{
	cJSON *time = json_array(diff, "time");
	int code = put_region(s, time);
	if (code == 0)
		code = put_rank_times(s, time);
	if (code == 0)
		code = put_factors(s, json_array(diff, "efficiency"));
	if (code == 0)
		code = put_operations(s, json_array(diff, "operations"));
	if (code == 0)
		code = put_waits(s, json_array(diff, "wait_states"));
	if (code == 0)
		code = put_ranks(s, json_array(diff, "ranks"));
	return code == 0 ? put_iterations(s, json_array(diff, "iterations")) : code;
}
