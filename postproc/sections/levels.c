/* levels.c - "traffic_levels": the traffic matrix in groups of ranks, of nodes and of switches, at most 64 x 64
 * each, so that it can be looked at however many ranks there are; and "traffic_places": how much stays inside nodes
 * and switches. Of all links, also of those that "matrix" has no room for. */
#include "postproc/analysis.h"
#include "postproc/sections/switches.h"

#include <stdio.h>

#define SIDE 64u

enum { INSIDE_NODE, INSIDE_SWITCH, BETWEEN_SWITCHES, BETWEEN_NODES, NO_RECORD, PLACES };

static const char *const place_names[PLACES] = {"inside_node", "inside_switch", "between_switches", "between_nodes",
						"no_record"};

struct sums {
	uint64_t count, bytes;
};

struct group {
	const char *name; /* of its first node or switch */
	uint32_t first_rank, ranks, things;
};

struct level {
	const char *name;
	uint32_t *of; /* by rank: its group, or NONE */
	struct group groups[SIDE];
	uint32_t n;
};

enum { BY_RANK, BY_NODE, BY_SWITCH, LEVELS };

struct places {
	const struct step *s;
	uint32_t *leaf;	  /* by node: its number among the leaf switches, or NONE */
	uint32_t *order;  /* by node: its place in order of switches */
	uint32_t *until;  /* by rank: the next one that sits elsewhere, or is in another group */
	char **leaf_name; /* by number */
	uint32_t nleaves;
	struct level levels[LEVELS];
};

/* ---- who sits where ---- */

static char *path_text(const cJSON *switches)
{
	char text[1024] = "";
	size_t at = 0;
	for (const cJSON *x = json_first(switches, "path"); x != NULL && at < sizeof(text) - 1; x = x->next)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at > 0 ? " / " : "",
				       cJSON_IsString(x) ? x->valuestring : "?");
	return at > 0 ? strdup(text) : NULL;
}

struct named {
	char *path; /* NULL: not known */
	uint32_t node;
};

static int by_path(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order =
		x->path == NULL || y->path == NULL ? (x->path == NULL) - (y->path == NULL) : strcmp(x->path, y->path);
	return order != 0 ? order : (x->node > y->node) - (x->node < y->node);
}

/* Nodes below one switch get the same number, and stand one behind the other. */
static int find_leaves(struct places *p)
{
	uint32_t n = (uint32_t)p->s->nodes.n;
	struct named *nodes = calloc(n + 1u, sizeof(*nodes));
	if (nodes == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		cJSON *switches = switches_of(p->s, i);
		nodes[i] = (struct named){path_text(switches), i};
		cJSON_Delete(switches);
	}
	qsort(nodes, n, sizeof(*nodes), by_path);
	for (uint32_t i = 0; i < n; i++) {
		char *path = nodes[i].path;
		bool same = i > 0 && path != NULL && strcmp(path, p->leaf_name[p->nleaves - 1]) == 0;
		p->order[nodes[i].node] = i;
		p->leaf[nodes[i].node] = path == NULL ? NONE : same ? p->nleaves - 1 : p->nleaves;
		if (path != NULL && !same)
			p->leaf_name[p->nleaves++] = path;
		else
			free(path);
	}
	free(nodes);
	return 0;
}

static void join_group(struct level *l, uint32_t rank, uint32_t at, const char *name)
{
	struct group *g = &l->groups[at];
	if (g->ranks++ == 0) {
		g->first_rank = rank;
		g->name = name;
	}
	l->of[rank] = at;
	l->n = at + 1 > l->n ? at + 1 : l->n;
}

/* Which of at most SIDE groups the i-th of n is in. */
static uint32_t share_of(uint32_t i, uint32_t n)
{
	uint32_t each = (n + SIDE - 1) / SIDE;
	return i / each;
}

static void make_groups(struct places *p)
{
	const struct step *s = p->s;
	uint32_t nnodes = (uint32_t)s->nodes.n;
	for (uint32_t i = 0; i < nnodes; i++)
		p->levels[BY_NODE].groups[share_of(p->order[i], nnodes)].things++;
	for (uint32_t i = 0; i < p->nleaves; i++)
		p->levels[BY_SWITCH].groups[share_of(i, p->nleaves)].things++;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *x = s->ranks[r];
		join_group(&p->levels[BY_RANK], r, share_of(r, s->nranks), NULL);
		p->levels[BY_NODE].of[r] = p->levels[BY_SWITCH].of[r] = NONE;
		if (x == NULL)
			continue;
		join_group(&p->levels[BY_NODE], r, share_of(p->order[x->node], nnodes), s->nodes.at[x->node].name);
		if (p->leaf[x->node] != NONE)
			join_group(&p->levels[BY_SWITCH], r, share_of(p->leaf[x->node], p->nleaves),
				   p->leaf_name[p->leaf[x->node]]);
	}
}

static uint32_t node_of(const struct step *s, uint32_t rank)
{
	return s->ranks[rank] != NULL ? s->ranks[rank]->node : NONE;
}

static void find_runs(struct places *p)
{
	const uint32_t *group = p->levels[BY_RANK].of;
	for (uint32_t r = p->s->nranks; r-- > 0;)
		p->until[r] =
			r + 1 < p->s->nranks && group[r] == group[r + 1] && node_of(p->s, r) == node_of(p->s, r + 1)
				? p->until[r + 1]
				: r + 1;
}

/* ---- traffic ---- */

struct cells {
	struct sums at[LEVELS][SIDE][SIDE], places[PLACES];
};

static unsigned place_of(const struct places *p, uint32_t src, uint32_t dst)
{
	uint32_t a = node_of(p->s, src), b = node_of(p->s, dst);
	if (a == NONE || b == NONE)
		return NO_RECORD;
	if (a == b)
		return INSIDE_NODE;
	if (p->leaf[a] == NONE || p->leaf[b] == NONE)
		return BETWEEN_NODES;
	return p->leaf[a] == p->leaf[b] ? INSIDE_SWITCH : BETWEEN_SWITCHES;
}

static void add(struct sums *to, uint64_t n, uint64_t count, uint64_t bytes)
{
	to->count += n * count;
	to->bytes += n * bytes;
}

/* From src to n ranks that sit on one node and are in one group. */
static void add_run(const struct places *p, struct cells *c, uint32_t src, uint32_t dst, uint32_t n,
		    const struct link_run *r)
{
	add(&c->places[place_of(p, src, dst)], n, r->count, r->bytes);
	for (unsigned l = 0; l < LEVELS; l++) {
		uint32_t from = p->levels[l].of[src], to = p->levels[l].of[dst];
		if (from != NONE && to != NONE)
			add(&c->at[l][from][to], n, r->count, r->bytes);
	}
}

static void add_traffic(const struct places *p, struct cells *c, const struct traffic *t)
{
	for (size_t i = 0; i < t->links.n; i++) {
		const struct link *x = &t->links.at[i];
		add_run(p, c, x->src, x->dst, 1, &(struct link_run){.count = x->count, .bytes = x->bytes});
	}
	for (size_t i = 0; t->links.n == 0 && i < t->runs.n; i++) {
		const struct link_run *r = &t->runs.at[i];
		for (uint32_t dst = r->dst, end = r->dst + r->n, next; dst < end; dst = next) {
			next = p->until[dst] < end ? p->until[dst] : end;
			add_run(p, c, r->src, dst, next - dst, r);
		}
	}
}

/* ---- what is written ---- */

static void put_cells(cJSON *row, const char *name, const struct level *l, struct sums at[SIDE][SIDE])
{
	cJSON *list = json_array(row, name);
	for (uint32_t src = 0; src < l->n; src++)
		for (uint32_t dst = 0; dst < l->n; dst++) {
			if (at[src][dst].count == 0)
				continue;
			cJSON *cell = json_row(list);
			json_put(cell, "src", src);
			json_put(cell, "dst", dst);
			json_put(cell, "count", (double)at[src][dst].count);
			json_put(cell, "bytes", (double)at[src][dst].bytes);
		}
}

static cJSON *put_level(cJSON *list, const struct level *l)
{
	cJSON *row = json_row(list);
	json_put_text(row, "level", l->name);
	cJSON *groups = json_array(row, "groups");
	for (uint32_t i = 0; i < l->n; i++) {
		cJSON *group = json_row(groups);
		json_put_text(group, "name", l->groups[i].name);
		json_put(group, "members", l->groups[i].things > 0 ? l->groups[i].things : l->groups[i].ranks);
		json_put(group, "first_rank", l->groups[i].first_rank);
		json_put(group, "ranks", l->groups[i].ranks);
	}
	return row;
}

static void put_places(cJSON *places, const char *name, const struct cells *c)
{
	cJSON *of = json_object(places, name);
	for (unsigned i = 0; i < PLACES; i++) {
		cJSON *place = json_object(of, place_names[i]);
		json_put(place, "count", (double)c->places[i].count);
		json_put(place, "bytes", (double)c->places[i].bytes);
	}
}

static int put_all(struct analysis *a, const struct places *p)
{
	const struct {
		const char *name;
		const struct traffic *traffic;
	} kinds[] = {{"p2p", &a->p2p}, {"collective", &a->coll}, {"rma", &a->rma}};
	struct cells *c = malloc(sizeof(*c));
	cJSON *list = json_array(a->root, "traffic_levels"), *places = json_object(a->root, "traffic_places");
	cJSON *rows[LEVELS] = {NULL};
	for (unsigned l = 0; l < LEVELS; l++)
		if (p->levels[l].n > 1)
			rows[l] = put_level(list, &p->levels[l]);
	for (size_t k = 0; k < 3 && c != NULL; k++) {
		memset(c, 0, sizeof(*c));
		add_traffic(p, c, kinds[k].traffic);
		put_places(places, kinds[k].name, c);
		for (unsigned l = 0; l < LEVELS; l++)
			if (rows[l] != NULL)
				put_cells(rows[l], kinds[k].name, &p->levels[l], c->at[l]);
	}
	free(c);
	return c == NULL ? -ENOMEM : 0;
}

int analysis_levels(struct analysis *a)
{
	const struct step *s = a->step;
	size_t n = s->nranks, nodes = s->nodes.n;
	uint32_t *memory = calloc((LEVELS + 1) * n + 2 * nodes + 1, sizeof(*memory));
	struct places *p = calloc(1, sizeof(*p));
	int code = -ENOMEM;
	if (memory != NULL && p != NULL && (p->leaf_name = calloc(nodes + 1, sizeof(char *))) != NULL) {
		static const char *const names[LEVELS] = {"ranks", "nodes", "switches"};
		p->s = s;
		for (unsigned l = 0; l < LEVELS; l++)
			p->levels[l] = (struct level){.name = names[l], .of = memory + l * n};
		p->until = memory + LEVELS * n;
		p->leaf = p->until + n;
		p->order = p->leaf + nodes;
		code = find_leaves(p);
	}
	if (code == 0) {
		make_groups(p);
		find_runs(p);
		code = put_all(a, p);
	}
	for (uint32_t i = 0; p != NULL && p->leaf_name != NULL && i < p->nleaves; i++)
		free(p->leaf_name[i]);
	free(p != NULL ? p->leaf_name : NULL);
	free(p);
	free(memory);
	return code;
}
