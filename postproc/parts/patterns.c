/* patterns.c - "patterns": the shapes that hold, the clearest first; "irregular" when there is
 * traffic and none does. */
#include "postproc/patterns/patterns.h"

#include <stdio.h>

static const struct {
	const char *name;
	void (*look)(const struct shape *s, struct pattern *p);
} patterns[] = {
#define ROW(name) {#name, pattern_##name},
	PATTERNS(ROW)
#undef ROW
};

#define NPATTERNS (sizeof(patterns) / sizeof(patterns[0]))

bool shape_has(const struct shape *s, uint32_t src, uint32_t dst)
{
	return links_have(s->links, s->nlinks, src, dst);
}

/* A message without bytes still says who talks to whom: it weighs one. */
static int shape_make(const struct analysis *a, struct shape *s)
{
	*s = (struct shape){.a = a, .n = a->step->nranks};
	s->links = malloc((a->p2p.links.n + 1) * sizeof(*s->links));
	if (s->links == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < a->p2p.links.n; i++) {
		struct link c = a->p2p.links.at[i];
		if (c.src == c.dst)
			continue;
		c.bytes += c.count;
		s->links[s->nlinks++] = c;
		s->bytes += (double)c.bytes;
		s->count += (double)c.count;
	}
	shape_find_grid(s);
	return 0;
}

static void traffic_span(const struct analysis *a, int64_t *from, int64_t *to)
{
	*from = a->tally.transfers > 0 ? a->tally.sent_from_ns : 0;
	*to = a->tally.transfers > 0 ? a->tally.sent_to_ns : 0;
}

static void put_grid(cJSON *row, const struct pattern *p)
{
	if (p->ndims == 0)
		return;
	cJSON *grid = json_array(row, "grid"), *periodic = json_array(row, "periodic");
	for (unsigned d = 0; d < p->ndims; d++) {
		json_push(grid, p->grid[d]);
		cJSON_AddItemToArray(periodic, cJSON_CreateBool(p->periodic[d]));
	}
}

static void put_pattern(const struct analysis *a, cJSON *list, const struct pattern *p)
{
	int64_t from, to;
	cJSON *row = json_row(list);
	json_put_text(row, "pattern", p->name);
	json_put(row, "score", p->score > 1 ? 1 : p->score);
	cJSON *ranks = json_array(row, "ranks");
	for (unsigned i = 0; i < p->nranks; i++)
		json_push(ranks, p->ranks[i]);
	for (uint32_t r = 0; p->nranks == 0 && r < a->step->nranks && r < 1024; r++)
		json_push(ranks, r);
	json_put_text(row, "evidence", p->evidence);
	traffic_span(a, &from, &to);
	cJSON *window = json_array(row, "window_s");
	json_push(window, (double)from / 1e9);
	json_push(window, (double)to / 1e9);
	put_grid(row, p);
}

static struct pattern *next_best(struct pattern *all)
{
	struct pattern *best = NULL;
	for (size_t i = 0; i < NPATTERNS; i++)
		if (all[i].score >= PATTERN_SCORE_MIN && (best == NULL || all[i].score > best->score))
			best = &all[i];
	return best;
}

static void put_irregular(const struct shape *s, cJSON *list)
{
	struct pattern p = {.name = "irregular", .score = 1};
	snprintf(p.evidence, sizeof(p.evidence), "%zu pairs exchange messages and no known shape fits", s->nlinks);
	put_pattern(s->a, list, &p);
}

int part_patterns(struct analysis *a)
{
	struct pattern all[NPATTERNS] = {0}, *p;
	struct shape s;
	cJSON *list = json_array(a->root, "patterns");
	if (shape_make(a, &s) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < NPATTERNS; i++) {
		all[i].name = patterns[i].name;
		patterns[i].look(&s, &all[i]);
	}
	while ((p = next_best(all)) != NULL) {
		put_pattern(a, list, p);
		p->score = 0;
	}
	if (s.nlinks > 2 && cJSON_GetArraySize(list) == 0)
		put_irregular(&s, list);
	free(s.links);
	return 0;
}
