/* patterns.c - "patterns": the shapes that hold, the clearest first; "irregular" when there is
 * traffic and none does. */
#include "postproc/patterns/shape.h"
#include "base/units.h"

#include <stdio.h>

static const struct {
	const char *name;
	enum traffic_kind kinds;
	void (*match)(const struct shape *s, struct pattern *p);
} patterns[] = {
#define ROW(name, kinds) {#name, kinds, pattern_##name},
	PATTERNS(ROW)
#undef ROW
};

#define NPATTERNS (sizeof(patterns) / sizeof(patterns[0]))

/* A message without bytes still says who talks to whom: it weighs one. */
static void add_link(struct shape *s, const struct link *c)
{
	struct link *last = s->nlinks > 0 ? &s->links[s->nlinks - 1] : NULL;
	if (c->src == c->dst || c->bytes + c->count == 0)
		return;
	if (last == NULL || last->src != c->src || last->dst != c->dst) {
		last = &s->links[s->nlinks++];
		*last = (struct link){.src = c->src, .dst = c->dst};
	}
	last->bytes += c->bytes + c->count;
	last->count += c->count;
	s->bytes += (double)(c->bytes + c->count);
	s->count += (double)c->count;
}

static bool comes_before(const struct link *a, const struct link *b)
{
	return a->src != b->src ? a->src < b->src : a->dst < b->dst;
}

/* Both ascending, as one. */
static int add_traffic(struct shape *s, const struct traffic *a, const struct traffic *b)
{
	struct link_walk first = {a, 0, 0}, second = {b, 0, 0};
	struct link x, y;
	uint64_t n = a->nlinks + (b != NULL ? b->nlinks : 0);
	n = n < TRAFFIC_LINKS_MAX ? n : TRAFFIC_LINKS_MAX;
	s->links = malloc((n + 1) * sizeof(*s->links));
	if (s->links == NULL)
		return -ENOMEM;
	bool has_x = link_next(&first, &x), has_y = b != NULL && link_next(&second, &y);
	for (; (has_x || has_y) && n > 0; n--) {
		bool other = !has_x || (has_y && comes_before(&y, &x));
		add_link(s, other ? &y : &x);
		if (other)
			has_y = link_next(&second, &y);
		else
			has_x = link_next(&first, &x);
	}
	return 0;
}

/* How many ranks take part. */
static double ranks_of(const struct shape *s)
{
	bool *in = calloc(s->n + 1u, sizeof(*in));
	double n = 0;
	for (size_t i = 0; in != NULL && i < s->nlinks; i++) {
		n += !in[s->links[i].src];
		in[s->links[i].src] = true;
		n += !in[s->links[i].dst];
		in[s->links[i].dst] = true;
	}
	free(in);
	return n;
}

/* Messages have two ends; of collectives calls count, each moves data between many. */
static double exchanges_of(const struct shape *s)
{
	double calls = 0;
	for (uint32_t r = 0; r < s->n; r++)
		calls += (double)s->a->ranks[r].collectives;
	return s->kind == MESSAGES ? 2 * s->count : calls;
}

/* Is there enough of it to have a shape? */
static bool is_enough(const struct shape *s)
{
	double ranks = ranks_of(s);
	return s->nlinks > 0 && s->share >= PATTERN_SHARE_MIN &&
	       (exchanges_of(s) >= PATTERN_MESSAGES_MIN * ranks || 2 * s->bytes >= PATTERN_BYTES_MIN * ranks);
}

static void clear_shape(struct shape *s)
{
	s->nlinks = 0;
	s->bytes = s->count = 0;
}

static int shape_make(const struct analysis *a, enum traffic_kind kind, struct shape *s)
{
	double all = (double)a->p2p.bytes + (double)a->rma.bytes + (double)a->coll.bytes;
	*s = (struct shape){.a = a, .kind = kind, .n = a->step->nranks};
	double mine = kind == MESSAGES ? (double)a->p2p.bytes + (double)a->rma.bytes : (double)a->coll.bytes;
	s->share = all > 0 ? mine / all : kind == MESSAGES;
	if (s->share < PATTERN_SHARE_MIN) /* has no shape, whatever it is */
		return 0;
	int code = kind == MESSAGES ? add_traffic(s, &a->p2p, &a->rma) : add_traffic(s, &a->coll, NULL);
	if (code == 0 && !is_enough(s))
		clear_shape(s);
	if (code == 0)
		shape_find_grid(s);
	return code;
}

/* Messages were sent; of other traffic the whole run is named. */
static void traffic_span(const struct shape *s, int64_t *from, int64_t *to)
{
	bool known = s->kind == MESSAGES && s->a->tally.transfers > 0 && s->a->rma.count == 0;
	*from = known ? s->a->tally.sent_from_ns : 0;
	*to = known ? s->a->tally.sent_to_ns : s->a->step->runtime_ns;
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

static void put_pattern(const struct shape *s, cJSON *list, const struct pattern *p)
{
	int64_t from, to;
	cJSON *row = json_row(list);
	json_put_text(row, "pattern", p->name);
	json_put(row, "score", p->score > 1 ? 1 : p->score);
	cJSON *ranks = json_array(row, "ranks");
	for (unsigned i = 0; i < p->nranks; i++)
		json_push(ranks, p->ranks[i]);
	for (uint32_t r = 0; p->nranks == 0 && r < s->n && r < 1024; r++)
		json_push(ranks, r);
	json_put_text(row, "evidence", p->evidence);
	json_put_text(row, "traffic", s->kind == MESSAGES ? "messages" : "collectives");
	json_put(row, "share", s->share);
	traffic_span(s, &from, &to);
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
	snprintf(p.evidence, sizeof(p.evidence), "%s pairs exchange messages", fmt_count((double)s->nlinks).s);
	put_pattern(s, list, &p);
}

static int match_kind(struct analysis *a, enum traffic_kind kind, cJSON *list)
{
	struct pattern all[NPATTERNS] = {0}, *p;
	struct shape s;
	int before = cJSON_GetArraySize(list), code = shape_make(a, kind, &s);
	for (size_t i = 0; i < NPATTERNS && code == 0; i++) {
		all[i].name = patterns[i].name;
		if (s.nlinks > 0 && (patterns[i].kinds & kind) != 0)
			patterns[i].match(&s, &all[i]);
	}
	while ((p = next_best(all)) != NULL) {
		put_pattern(&s, list, p);
		p->score = 0;
	}
	if (kind == MESSAGES && s.nlinks > 2 && cJSON_GetArraySize(list) == before)
		put_irregular(&s, list);
	free(s.links);
	return code;
}

/* The kind with more bytes first. */
int analysis_patterns(struct analysis *a)
{
	bool collectives = a->coll.bytes > a->p2p.bytes + a->rma.bytes;
	cJSON *list = json_array(a->root, "patterns");
	int code = match_kind(a, collectives ? COLLECTIVES : MESSAGES, list);
	return code == 0 ? match_kind(a, collectives ? MESSAGES : COLLECTIVES, list) : code;
}
