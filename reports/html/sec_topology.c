/* sec_topology.c - where the ranks ran: switch, node, socket, ranks.
 * In: topology.nodes, and the nodes named in per_rank.  Out: boxes in boxes; a summary when there
 * are many nodes. */
#include "reports/html/section.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MAX 48
#define SOCKETS_MAX 8
#define ANY_SOCKET (-2)

struct node {
	const char *name;
	const cJSON *info; /* of topology.nodes, or NULL */
	const char *under; /* switch, "" when unknown */
	size_t ranks;
};

struct nodes {
	struct node *row;
	size_t count;
};

static const cJSON *find_info(const struct model *m, const char *name)
{
	const cJSON *v = json_first(json_item(m->root, "topology"), "nodes");
	for (; v != NULL; v = v->next)
		if (strcmp(json_text(v, "name", ""), name) == 0)
			return v;
	return NULL;
}

/* The socket of a node's CPU, from its list "pu" of {os, socket}; -1 when not known. */
static int socket_of_cpu(const cJSON *info, long cpu)
{
	for (const cJSON *pu = json_first(info, "pu"); pu != NULL; pu = pu->next)
		if (json_number(pu, "os") == (double)cpu) {
			double socket = json_number(pu, "socket");
			return socket >= 0 && socket < SOCKETS_MAX ? (int)socket : -1;
		}
	return -1;
}

/* The one socket to which all CPUs of a list such as "0-3,8" belong, or -1. The ends of a range
 * stand for it. */
static int socket_of(const cJSON *info, const char *cpus)
{
	int socket = -1;
	while (*cpus != '\0') {
		char *end;
		int next = socket_of_cpu(info, strtol(cpus, &end, 10));
		if (end == cpus || next < 0 || (socket >= 0 && next != socket))
			return -1;
		socket = next;
		cpus = *end == ',' || *end == '-' ? end + 1 : end;
	}
	return socket;
}

/* The switch next to the node: the last of the path from the outermost one. */
static const char *switch_of(const cJSON *info)
{
	const cJSON *last = json_first(json_item(info, "switches"), "path");
	while (last != NULL && last->next != NULL)
		last = last->next;
	return cJSON_IsString(last) ? last->valuestring : "";
}

static int by_name(const void *a, const void *b)
{
	const struct rank_row *x = *(const struct rank_row *const *)a, *y = *(const struct rank_row *const *)b;
	int order = strcmp(x->node, y->node);
	return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_switch(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int order = strcmp(x->under, y->under);
	return order != 0 ? order : strcmp(x->name, y->name);
}

static void fill(const struct model *m, const struct rank_row **sorted, struct nodes *n)
{
	for (size_t i = 0; i < m->nranks; i++) {
		if (*sorted[i]->node == '\0') /* not in the record */
			continue;
		struct node *last = n->count > 0 ? &n->row[n->count - 1] : NULL;
		if (last == NULL || strcmp(last->name, sorted[i]->node) != 0) {
			const cJSON *info = find_info(m, sorted[i]->node);
			last = &n->row[n->count++];
			*last = (struct node){sorted[i]->node, info, switch_of(info), 0};
		}
		last->ranks++;
	}
}

static struct nodes gather(const struct model *m)
{
	struct nodes n = {.row = calloc(m->nranks, sizeof(struct node))};
	const struct rank_row **sorted = calloc(m->nranks, sizeof(struct rank_row *));
	if (n.row != NULL && sorted != NULL) {
		for (size_t i = 0; i < m->nranks; i++)
			sorted[i] = &m->rank[i];
		qsort(sorted, m->nranks, sizeof(*sorted), by_name);
		fill(m, sorted, &n);
		qsort(n.row, n.count, sizeof(*n.row), by_switch);
	}
	free(sorted);
	return n;
}

static void write_ranks(struct page *p, const struct node *node, int socket)
{
	long first = -1, last = -2;
	const char *comma = "";
	const struct model *m = p->model;
	for (size_t i = 0; i <= m->nranks; i++) {
		bool here = i < m->nranks && strcmp(m->rank[i].node, node->name) == 0 &&
			    (socket == ANY_SOCKET || socket_of(node->info, m->rank[i].cpus) == socket);
		if (here && m->rank[i].rank == last + 1) {
			last++;
		} else if (here || i == m->nranks) {
			if (last >= first && first >= 0)
				put(p, last > first ? "%s%ld\xe2\x80\x93%ld" : "%s%ld", comma, first, last);
			comma = first >= 0 ? ", " : "";
			first = last = here ? m->rank[i].rank : -1;
		}
	}
}

/* How many sockets to draw: 0 unless every rank of the node is bound within one. */
static int sockets_used(const struct model *m, const struct node *node)
{
	int sockets = 0;
	for (size_t i = 0; i < m->nranks; i++) {
		if (strcmp(m->rank[i].node, node->name) != 0)
			continue;
		int socket = socket_of(node->info, m->rank[i].cpus);
		if (socket < 0)
			return 0;
		sockets = socket >= sockets ? socket + 1 : sockets;
	}
	return sockets;
}

static void write_sockets(struct page *p, const struct node *node)
{
	int sockets = sockets_used(p->model, node);
	put(p, "<div class=\"sockets\">");
	for (int s = 0; s < sockets; s++) {
		put(p, "<div class=\"socket\"><small>socket %d</small>", s);
		write_ranks(p, node, s);
		put(p, "</div>");
	}
	if (sockets == 0) {
		put(p, "<div class=\"socket\"><small>%s %s</small>", fmt_count((double)node->ranks).s,
		    node->ranks == 1 ? "rank" : "ranks");
		write_ranks(p, node, ANY_SOCKET);
		put(p, "</div>");
	}
	put(p, "</div>");
}

static void write_node(struct page *p, const struct node *node)
{
	double sockets = json_number(node->info, "sockets"), cores = json_number(node->info, "cores");
	put(p, "<div class=\"node\"><b>");
	put_text(p, node->name, NAME_CHARS);
	put(p, "</b>");
	if (cores > 0) {
		put(p, " <span class=\"soft\">%s cores", fmt_count(cores).s);
		put(p, sockets > 1 ? ", %s sockets</span>" : "</span>", fmt_count(sockets).s);
	}
	write_sockets(p, node);
	put(p, "</div>\n");
}

static void write_switch(struct page *p, const struct node *node, size_t count)
{
	put(p, "<div class=\"switch\"><p>");
	put(p, *node->under != '\0' ? "switch " : "switch not known");
	put_text(p, node->under, NAME_CHARS);
	put(p, "</p><div class=\"nodes\">\n");
	for (size_t i = 0; i < count; i++)
		write_node(p, &node[i]);
	put(p, "</div></div>\n");
}

static void write_topology(struct page *p)
{
	struct nodes n = gather(p->model);
	size_t shown = n.count < NODES_MAX ? n.count : NODES_MAX;
	put(p, "<div class=\"switches\">\n");
	for (size_t from = 0, to; from < shown; from = to) {
		for (to = from + 1; to < shown && strcmp(n.row[to].under, n.row[from].under) == 0;)
			to++;
		write_switch(p, &n.row[from], to - from);
	}
	put(p, "</div>\n");
	put_left_out(p, n.count - shown, "more node");
	free(n.row);
}

static void result(struct page *p)
{
	struct nodes n = gather(p->model);
	size_t switches = 0;
	for (size_t i = 0; i < n.count; i++)
		switches += *n.row[i].under != '\0' && (i == 0 || strcmp(n.row[i].under, n.row[i - 1].under) != 0);
	put(p, "%s", fmt_many((double)n.count, "node").s);
	if (switches > 0)
		put(p, ", %s", fmt_many((double)switches, "switch").s);
	free(n.row);
}

static bool has_topology(const struct model *m)
{
	size_t i = 0;
	while (i < m->nranks && *m->rank[i].node == '\0')
		i++;
	return i < m->nranks;
}

const struct section section_topology = {
	.id = "topology",
	.title = "Where the ranks ran",
	.how = "Switch, node, socket, ranks. Partners that exchange much belong close together.",
	.has = has_topology,
	.result = result,
	.write = write_topology,
};
