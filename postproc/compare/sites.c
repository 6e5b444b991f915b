/* sites.c - time and waiting of each call site on both sides.
 * In: callsites and wait_states, matched by sites_match.c.  Out: callsites, and wait_sites: waiting by state and call
 * site. */
#include "postproc/compare/sites.h"

#include "base/json.h"
#include "format/sig.h"

#include <math.h>
#include <stdio.h>

/* A table beside the list of matched sites. */
struct places {
	struct table time, wait; /* the same rows */
	VEC(struct both) both;	 /* beside the rows */
};

/* The places of one row. */
struct both {
	const struct site *first[2]; /* of each side */
	size_t sites[2];	     /* in its first run */
	double calls[2];	     /* mean of runs */
	bool many;		     /* several in one run */
};

static int slot_key(const struct site *x, char **ret_key)
{
	return asprintf(ret_key, "%s\x1e%s", x->key, x->slot) < 0 ? -ENOMEM : 0;
}

static struct row *row_of(struct places *p, const struct site *x, struct row **ret_wait)
{
	char *key;
	bool made;
	if (slot_key(x, &key) < 0)
		return NULL;
	struct row *r = table_row(&p->time, key, &made);
	*ret_wait = table_row(&p->wait, key, &made);
	free(key);
	if (r == NULL || *ret_wait == NULL || (made && vec_push(&p->both, (struct both){.many = false}) < 0))
		return NULL;
	return r;
}

static void note_site(const struct sides *s, struct both *b, const struct site *x)
{
	unsigned side = x->run < s->na ? 0 : 1;
	if (b->first[side] == NULL)
		b->first[side] = x;
	b->sites[side] += x->run == side_first(s, side);
	b->many = b->many || (b->first[side] != x && b->first[side]->run == x->run);
	b->calls[side] += json_number_or(x->row, "calls", 0) / (double)side_count(s, side);
}

static int fill(const struct sides *s, const struct matched_sites *x, struct places *p)
{
	for (size_t i = 0; i < x->list.n; i++) {
		const struct site *site = &x->list.at[i];
		struct row *wait, *r = row_of(p, site, &wait);
		if (r == NULL)
			return -ENOMEM;
		note_site(s, &p->both.at[r->added], site);
		r->outside = op_is_outside_region(json_text(site->row, "op", "?"));
		r->value[site->run] += json_number_or(site->row, "time_s", 0);
		wait->value[site->run] += json_number_or(site->row, "wait_s", 0);
	}
	return 0;
}

static const char *how_matched(const struct both *b)
{
	if (b->first[0] == NULL || b->first[1] == NULL)
		return b->first[0] == NULL ? "only_b" : "only_a";
	if (b->many)
		return "together";
	return b->first[0]->line == b->first[1]->line && strcmp(b->first[0]->file, b->first[1]->file) == 0 ? "line"
													   : "order";
}

static void copy_text(cJSON *to, const cJSON *from, const char *key, bool always)
{
	const char *text = json_text(from, key, NULL);
	if (text != NULL || always)
		json_put_text(to, key, text);
}

/* Where it is, as an analysis says it. */
static void put_place(cJSON *o, const struct site *x)
{
	json_put_text(o, "op", json_text(x->row, "op", "?"));
	copy_text(o, x->row, "function", true);
	copy_text(o, x->row, "function_short", false);
	copy_text(o, x->row, "file", true);
	json_put_null_or(o, "line", x->line);
	copy_text(o, x->row, "module", true);
	copy_text(o, x->row, "module_short", false);
	copy_text(o, x->row, "address", true);
}

static double line_of(const struct site *x)
{
	return x == NULL ? NAN : x->line;
}

static void describe(cJSON *o, const struct both *b, size_t id)
{
	json_put(o, "id", (double)id);
	put_place(o, b->first[1] != NULL ? b->first[1] : b->first[0]);
	json_put_text(o, "matched", how_matched(b));
	json_put_null_or(o, "a_line", line_of(b->first[0]));
	json_put_null_or(o, "b_line", line_of(b->first[1]));
	json_put(o, "a_sites", (double)b->sites[0]);
	json_put(o, "b_sites", (double)b->sites[1]);
	json_put(o, "a_calls", b->calls[0]);
	json_put(o, "b_calls", b->calls[1]);
}

static void forget_waits(const struct sides *s, struct table *t)
{
	for (size_t k = 0; k < t->rows.n; k++)
		for (size_t i = 0; i < s->n; i++)
			if (!s->has_events[i])
				t->rows.at[k].value[i] = NAN;
}

static int put_sites(const struct sides *s, struct places *p, cJSON *array)
{
	cJSON *waits = cJSON_CreateArray();
	forget_waits(s, &p->wait);
	int code = waits == NULL ? -ENOMEM : table_put(&p->wait, VALUE_RANK_SECONDS, false, waits);
	for (size_t k = 0; code == 0 && k < p->time.rows.n; k++) {
		cJSON *o = p->time.rows.at[k].object;
		describe(o, &p->both.at[k], k);
		cJSON_AddItemToObject(o, "wait", cJSON_DetachItemFromArray(waits, 0));
	}
	cJSON_Delete(waits);
	return code == 0 ? table_put(&p->time, VALUE_RANK_SECONDS, true, array) : code;
}

static int add_wait(struct table *t, const struct matched_sites *x, struct places *p, size_t run, const cJSON *v)
{
	const struct site *site = matched_sites_find(x, run, json_number(v, "callsite"));
	const char *state = json_text(v, "state", "?");
	struct row *wait, *place = site == NULL ? NULL : row_of(p, site, &wait);
	char *key;
	bool made;
	if (asprintf(&key, "%s\x1f%zd", state, place == NULL ? (ssize_t)-1 : (ssize_t)place->added) < 0)
		return -ENOMEM;
	struct row *r = table_row(t, key, &made);
	free(key);
	if (r == NULL)
		return -ENOMEM;
	if (made) {
		json_put_text(r->object, "state", state);
		json_put_null_or(r->object, "callsite", place == NULL ? NAN : (double)place->added);
	}
	r->value[run] += json_number_or(v, "seconds", 0);
	return 0;
}

static int put_waits(const struct sides *s, const struct matched_sites *x, struct places *p, cJSON *array)
{
	struct table t = {.sides = s};
	int code = 0;
	for (size_t i = 0; i < s->n; i++)
		for (const cJSON *v = json_first(s->run[i]->analysis, "wait_states"); code == 0 && v != NULL;
		     v = v->next)
			code = add_wait(&t, x, p, i, v);
	forget_waits(s, &t);
	if (code == 0)
		code = table_put(&t, VALUE_RANK_SECONDS, true, array);
	table_done(&t);
	return code;
}

int callsites_put(const struct sides *s, cJSON *diff)
{
	struct matched_sites x;
	struct places p = {.time = {.sides = s}, .wait = {.sides = s}};
	cJSON *callsites = json_array(diff, "callsites"), *waits = json_array(diff, "wait_sites");
	int code = matched_sites_make(s, &x);
	if (code == 0)
		code = fill(s, &x, &p);
	if (code == 0)
		code = put_waits(s, &x, &p, waits);
	if (code == 0)
		code = put_sites(s, &p, callsites);
	table_done(&p.time);
	table_done(&p.wait);
	vec_done(&p.both);
	matched_sites_done(&x);
	return code;
}
