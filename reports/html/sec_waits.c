/* sec_waits.c - why ranks waited: wait states added up over ranks, the worst rank and call site of
 * each. In: wait_states.  Out: a table, most time first. */
#include "format/waits.h"
#include "reports/html/section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STATES_MAX 48

struct state {
	const char *name;
	double seconds, count, worst_s, worst_rank, site_s;
	const cJSON *callsite;
};

struct states {
	struct state row[STATES_MAX];
	size_t count, left_out;
};

static struct state *find(struct states *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->row[i].name, name) == 0)
			return &s->row[i];
	if (s->count == STATES_MAX)
		return NULL;
	s->row[s->count] = (struct state){.name = name, .worst_rank = NAN};
	return &s->row[s->count++];
}

static void add(struct states *s, const cJSON *row)
{
	double seconds = fmax(json_number(row, "seconds"), 0), count = fmax(json_number(row, "count"), 0);
	struct state *state = find(s, json_text(row, "state", "unnamed"));
	if (state == NULL) {
		s->left_out++;
		return;
	}
	state->seconds += seconds;
	state->count += count;
	if (seconds > state->worst_s) {
		state->worst_s = seconds;
		state->worst_rank = json_number(row, "rank");
		state->callsite = json_item(row, "callsite");
	}
}

/* The rows may be cut in a very large job; the totals are never. */
static void apply_totals(struct states *s, const cJSON *root)
{
	for (const cJSON *v = json_first(root, "wait_totals"); v != NULL; v = v->next) {
		struct state *state = find(s, json_text(v, "state", "unnamed"));
		if (state != NULL)
			state->seconds = fmax(state->seconds, json_number(v, "seconds"));
	}
}

static int by_seconds(const void *a, const void *b)
{
	const struct state *x = a, *y = b;
	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static void write_name(struct page *p, const char *state)
{
	const struct wait_kind *kind = wait_kind(state);
	if (kind != NULL)
		put(p, "%s<br><small class=\"soft\">%s</small>", kind->title, kind->meaning);
	else
		put_words(p, state);
}

static void write_state(struct page *p, const struct state *s, double most_s)
{
	struct part part = {"wait", s->seconds};
	const cJSON *site = model_callsite(p->model, s->callsite);
	put(p, "<tr><th scope=\"row\">");
	write_name(p, s->name);
	put(p, "</th><td class=\"wide\">");
	put_bar(p, &part, 1, most_s);
	put(p, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>", fmt_time(s->seconds).s,
	    fmt_share(p->model->threads_s > 0 ? s->seconds / p->model->threads_s : NAN).s, fmt_count(s->count).s);
	if (!isnan(s->worst_rank))
		put_rank_link(p, "rank ", s->worst_rank);
	put(p, " ");
	if (site != NULL)
		put_site_of_rank(p, site, s->worst_rank);
	put(p, "</td></tr>\n");
}

static void write_table(struct page *p, const struct states *s)
{
	put(p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><caption>Wait states, total over "
	    "ranks</caption>\n<thead><tr><th "
	    "scope=\"col\">state</th><td></td><th scope=\"col\" class=\"n\">time</th><th scope=\"col\" "
	    "class=\"n\">%s</th><th scope=\"col\" class=\"n\">times</th><th scope=\"col\">worst rank, and "
	    "where</th></tr></thead>\n<tbody>\n",
	    share_title(p->model));
	for (size_t i = 0; i < s->count; i++)
		write_state(p, &s->row[i], s->row[0].seconds);
	put(p, "</tbody></table></div>\n");
	put_left_out(p, s->left_out, "more row");
}

/* Most time first; freed by the caller. NULL: out of memory. */
static struct states *gather(const struct model *m)
{
	struct states *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	for (const cJSON *v = json_first(m->root, "wait_states"); v != NULL; v = v->next)
		if (cJSON_IsObject(v))
			add(s, v);
	apply_totals(s, m->root);
	qsort(s->row, s->count, sizeof(s->row[0]), by_seconds);
	return s;
}

static void write_waits(struct page *p)
{
	struct states *s = gather(p->model);
	if (s != NULL && s->count > 0)
		write_table(p, s);
	free(s);
}

static void result(struct page *p)
{
	struct states *s = gather(p->model);
	const struct wait_kind *kind = s != NULL && s->count > 0 ? wait_kind(s->row[0].name) : NULL;
	if (kind != NULL)
		put(p, "most: %s, %s", kind->title, fmt_time(s->row[0].seconds).s);
	free(s);
}

static bool has_waits(const struct model *m)
{
	return json_count(m->root, "wait_states") > 0;
}

const struct section section_waits = {
	.id = "waits",
	.title = "Why ranks waited",
	.how = "A wait state names the reason for which a call could not end earlier. Definitions "
	       "as in Scalasca.",
	.has = has_waits,
	.result = result,
	.write = write_waits,
};
