/* graph_alive.c - see graph.h. In: nodes, and edges as they were made.  Out: edges by both ends, who can go on, and who
 * waits for a rank. */
#include "postproc/state/graph.h"

#include "base/sort.h"

/* Edges by where they come from, and who needs a node. */
static void sort_edges(struct graph *g)
{
	size_t nodes = g->nodes.n, n = g->edges.n;
	struct graph_edge *sorted = malloc((n + 1) * sizeof(*sorted));
	g->out = calloc(nodes + 2, sizeof(*g->out));
	g->in = calloc(nodes + 2, sizeof(*g->in));
	g->back = malloc((n + 1) * sizeof(*g->back));
	if (sorted == NULL || g->out == NULL || g->in == NULL || g->back == NULL) {
		g->code = -ENOMEM;
		free(sorted);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		g->out[g->edges.at[i].from + 2]++;
		g->in[g->edges.at[i].to + 2]++;
	}
	for (size_t i = 2; i < nodes + 2; i++) {
		g->out[i] += g->out[i - 1];
		g->in[i] += g->in[i - 1];
	}
	for (size_t i = 0; i < n; i++)
		sorted[g->out[g->edges.at[i].from + 1]++] = g->edges.at[i];
	for (size_t i = 0; i < n; i++)
		g->back[g->in[sorted[i].to + 1]++] = sorted[i].from;
	free(g->edges.at);
	g->edges.at = sorted;
	g->edges.cap = n + 1;
}

/* Who can go on lets those go on who need it. */
static void spread(struct graph *g)
{
	size_t n = g->nodes.n, todo = 0;
	uint32_t *left = malloc((2 * n + 1) * sizeof(*left)), *list = left + n;
	if (left == NULL) {
		g->code = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct graph_node *x = &g->nodes.at[i];
		left[i] = x->kind == NODE_ONE ? 1 : g->out[i + 1] - g->out[i];
		x->alive = x->kind == NODE_FREE || (x->kind == NODE_ALL && left[i] == 0);
		if (x->alive)
			list[todo++] = i;
	}
	while (todo > 0) {
		uint32_t at = list[--todo];
		g->work += 1 + g->in[at + 1] - g->in[at];
		for (uint32_t i = g->in[at]; i < g->in[at + 1]; i++) {
			struct graph_node *x = &g->nodes.at[g->back[i]];
			if (x->alive || x->kind == NODE_OVER || --left[g->back[i]] > 0)
				continue;
			x->alive = true;
			list[todo++] = g->back[i];
		}
	}
	free(left);
}

void graph_solve(struct graph *g)
{
	sort_edges(g);
	if (g->code == 0)
		spread(g);
}

int graph_waiters(struct graph *g, uint32_t rank, uint8_t *seen, struct graph_ranks *ret_ranks)
{
	VEC(uint32_t) todo = {0};
	int code = vec_push(&todo, rank);
	seen[rank] = 1;
	for (size_t at = 0; at < todo.n && code == 0; at++)
		for (uint32_t i = g->in [todo.at[at]]; i < g->in[todo.at[at] + 1] && code == 0; i++) {
			uint32_t from = g->back[i];
			if (seen[from] || g->nodes.at[from].kind == NODE_FREE)
				continue;
			seen[from] = 1;
			code = vec_push(&todo, from);
			if (code == 0 && from < g->nranks)
				code = vec_push(ret_ranks, from);
		}
	for (size_t i = 0; i < todo.n; i++)
		seen[todo.at[i]] = 0;
	g->work += todo.n;
	vec_done(&todo);
	vec_sort(ret_ranks, sort_by_u32);
	return code;
}
