/* show_topology.c - `topology` for people: switches, nodes, sockets, NUMA nodes, cores and the ranks on them, what
 * hangs where, and what is odd. In: the member `topology` of an analysis.  Out: stdout, 80 columns. */
#include "base/json.h"
#include "base/units.h"
#include "cli/print.h"
#include "cli/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 80
#define NODES_SHOWN 16
#define CORES_MAX 4096
#define NAME_SHOWN 40
#define MODEL_SHOWN 44
#define DEPTH_MAX 32

static void put_indent(int columns)
{
	printf("%*s", columns, "");
}

/* Words, broken at 80 columns; the cursor stands at column `at` already. */
static void put_wrapped(const char *text, int at, int indent)
{
	bool first = true;
	while (*text != '\0') {
		int len = (int)strcspn(text, " ");
		char word[256];
		if (!first && at + 1 + len > COLUMNS) {
			putchar('\n');
			put_indent(indent);
			at = indent;
		} else if (!first) {
			putchar(' ');
			at++;
		}
		snprintf(word, sizeof(word), "%.*s", len, text);
		put_plain(stdout, word, 255);
		at += len;
		text += len + (text[len] == ' ');
		first = false;
	}
	putchar('\n');
}

static const char *plural(double n)
{
	return n == 1 ? "" : "s";
}

/* ---- cores ---- */

/* One core, and who may run on it. */
struct core {
	bool there;
	int socket, numa;
	unsigned ranks;
	long rank; /* one of them */
};

struct map {
	struct core *core;
	unsigned n;
	int width; /* of a cell */
};

static void add_pus(struct map *m, const cJSON *node)
{
	for (const cJSON *v = json_first(node, "pu"); v != NULL; v = v->next) {
		double core = json_number_or(v, "core", -1);
		if (core < 0 || core >= CORES_MAX)
			continue;
		struct core *c = &m->core[(unsigned)core];
		*c = (struct core){true, (int)json_number_or(v, "socket", 0), (int)json_number_or(v, "numa", 0), 0, -1};
		m->n = core >= m->n ? (unsigned)core + 1 : m->n;
	}
}

static void add_ranks(struct map *m, const cJSON *node)
{
	for (const cJSON *r = json_first(node, "ranks"); r != NULL; r = r->next)
		for (const cJSON *v = json_first(r, "cores"); v != NULL; v = v->next) {
			double core = json_number_of(v);
			if (!(core >= 0) || core >= m->n)
				continue;
			m->core[(unsigned)core].ranks++;
			m->core[(unsigned)core].rank = (long)json_number_or(r, "rank", -1);
		}
}

/* "." nobody, a rank's number, "x3" three ranks. */
static int cell(const struct core *c, char text[16])
{
	if (c->ranks == 0)
		return snprintf(text, 16, ".");
	return c->ranks == 1 ? snprintf(text, 16, "%ld", c->rank) : snprintf(text, 16, "x%u", c->ranks);
}

static struct map map_of(const cJSON *node)
{
	struct map m = {.core = calloc(CORES_MAX, sizeof(*m.core))};
	char text[16];
	if (m.core == NULL)
		return m;
	add_pus(&m, node);
	add_ranks(&m, node);
	for (unsigned i = 0; i < m.n; i++) {
		int width = cell(&m.core[i], text);
		m.width = width > m.width ? width : m.width;
	}
	return m;
}

/* Cores of one socket and NUMA node, from *at on, as many as fit into a line. */
static void put_cores(const struct map *m, unsigned from, unsigned to, int indent)
{
	char label[48], text[16];
	snprintf(label, sizeof(label), from == to - 1 ? "core %u" : "cores %u-%u", from, to - 1);
	put_indent(indent);
	printf("%-17s", label);
	for (unsigned i = from; i < to; i++) {
		cell(&m->core[i], text);
		printf(" %*s", m->width, text);
	}
	putchar('\n');
}

static bool alike(const struct core *a, const struct core *b)
{
	return a->there == b->there && a->socket == b->socket && a->numa == b->numa;
}

/* As many as fit, but eights if they fit: they are easier to count. */
static int a_line(const struct map *m, int indent)
{
	int fit = (COLUMNS - indent - 17) / (m->width + 1);
	return fit >= 8 ? fit / 8 * 8 : fit;
}

static void put_numa(const struct map *m, int socket, int numa, int indent)
{
	int line = a_line(m, indent);
	for (unsigned from = 0, to; from < m->n; from = to) {
		to = from + 1; /* one, however narrow it is */
		if (!m->core[from].there || m->core[from].socket != socket || m->core[from].numa != numa)
			continue;
		while (to < m->n && (int)(to - from) < line && alike(&m->core[from], &m->core[to]))
			to++;
		put_cores(m, from, to, indent);
	}
}

/* ---- devices ---- */

static void put_device(const cJSON *d, int indent)
{
	double speed = json_number_or(d, "gbit_s", 0);
	put_indent(indent);
	fputs(strcmp(json_text(d, "kind", ""), "gpu") == 0 ? "GPU " : "NIC ", stdout);
	put_plain(stdout, json_text(d, "name", "?"), NAME_SHOWN);
	const char *name = json_text(d, "name", "");
	for (const cJSON *x = json_first(d, "names"); x != NULL; x = x->next)
		if (cJSON_IsString(x) && strcmp(x->valuestring, name) != 0) {
			putchar(' ');
			put_plain(stdout, x->valuestring, 16);
		}
	if (speed > 0)
		printf(", %g Gbit/s", speed);
	if (!json_bool(d, "up", true))
		fputs(", down", stdout);
	if (*json_text(d, "model", "") != '\0') {
		fputs(", ", stdout);
		put_plain(stdout, json_text(d, "model", ""), MODEL_SHOWN);
	}
	putchar('\n');
}

static void put_devices(const cJSON *node, int socket, int numa, int indent)
{
	for (const cJSON *d = json_first(node, "devices"); d != NULL; d = d->next)
		if ((int)json_number_or(d, "socket", -1) == socket && (int)json_number_or(d, "numa", -1) == numa)
			put_device(d, indent);
}

/* ---- a node ---- */

/* How many NUMA nodes a socket has, and one of them. */
static int numas_of(const struct map *m, int socket, int *ret_numa)
{
	int n = 0, last = -1;
	for (unsigned i = 0; i < m->n; i++)
		if (m->core[i].there && m->core[i].socket == socket && m->core[i].numa != last) {
			last = m->core[i].numa;
			*ret_numa = last;
			n++;
		}
	return n;
}

static void put_socket(const cJSON *node, const struct map *m, int socket, int indent)
{
	int numa = 0, numas = numas_of(m, socket, &numa), last = -1;
	put_indent(indent);
	printf(numas == 1 ? "socket %d, NUMA node %d\n" : "socket %d\n", socket, numa);
	indent += 2;
	for (unsigned i = 0; i < m->n; i++) {
		const struct core *c = &m->core[i];
		if (!c->there || c->socket != socket || c->numa == last)
			continue;
		last = c->numa;
		if (numas > 1) {
			put_indent(indent);
			printf("NUMA node %d\n", last);
		}
		put_numa(m, socket, last, numas > 1 ? indent + 2 : indent);
		put_devices(node, socket, last, numas > 1 ? indent + 2 : indent);
	}
	put_devices(node, socket, -1, indent);
}

static void put_number(const cJSON *node, const char *key, const char *what, const char **comma)
{
	double n = json_number_or(node, key, 0);
	if (n <= 0)
		return;
	printf("%s%.0f %s%s", *comma, n, what, plural(n));
	*comma = ", ";
}

static void put_node_line(const cJSON *node, int indent)
{
	const char *comma = "  ";
	put_indent(indent);
	put_plain(stdout, json_text(node, "name", "?"), NAME_SHOWN);
	put_number(node, "sockets", "socket", &comma);
	put_number(node, "cores", "core", &comma);
	put_number(node, "pus", "hardware thread", &comma);
	double memory = json_number_or(node, "memory_bytes", 0);
	if (memory > 0)
		printf(", %s", fmt_plain(fmt_bytes(memory)).s);
	putchar('\n');
	if (*json_text(node, "cpu", "") != '\0') {
		put_indent(indent + 2);
		put_plain(stdout, json_text(node, "cpu", ""), COLUMNS - 12);
		putchar('\n');
	}
}

/* Those of which the cores are not known: "ranks 0-3: cores not known". */
static void put_unplaced(const cJSON *node, int indent)
{
	char text[256];
	size_t used = 0;
	unsigned n = 0, unsaid = 0;
	for (const cJSON *r = json_first(node, "ranks"); r != NULL; r = r->next) {
		if (json_first(r, "cores") != NULL)
			continue;
		if (used + 64 < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, n > 0 ? ", %.0f" : "%.0f",
						 json_number_or(r, "rank", 0));
		else
			unsaid++;
		n++;
	}
	if (n == 0)
		return;
	if (unsaid > 0)
		snprintf(text + used, sizeof(text) - used, " and %u more", unsaid);
	put_indent(indent);
	fputs("cores not known: ranks ", stdout);
	put_wrapped(text, indent + 23, indent + 2);
}

static void put_node(const cJSON *node, int indent)
{
	struct map m = map_of(node);
	put_node_line(node, indent);
	int sockets = (int)fmin(json_number_or(node, "sockets", 0), CORES_MAX);
	for (int s = 0; m.core != NULL && m.n > 0 && s < sockets; s++)
		put_socket(node, &m, s, indent + 2);
	put_devices(node, -1, -1, indent + 2);
	put_unplaced(node, indent + 2);
	free(m.core);
}

/* ---- switches ---- */

static int compare_paths(const cJSON *a, const cJSON *b)
{
	const cJSON *x = json_first(json_item(a, "switches"), "path"),
		    *y = json_first(json_item(b, "switches"), "path");
	for (; cJSON_IsString(x) && cJSON_IsString(y); x = x->next, y = y->next) {
		int order = strcmp(x->valuestring, y->valuestring);
		if (order != 0)
			return order;
	}
	return (x != NULL) - (y != NULL);
}

struct placed {
	const cJSON *node;
	size_t at;
};

static int by_path(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int order = compare_paths(x->node, y->node);
	return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

/* The switches above a node that were not above the one before it. How many there are in all. */
static int put_switches(const cJSON *node, const cJSON *before)
{
	const cJSON *path = json_first(json_item(node, "switches"), "path");
	const cJSON *kind = json_first(json_item(node, "switches"), "kinds");
	const cJSON *old = json_first(json_item(before, "switches"), "path");
	bool same = before != NULL;
	int depth = 0;
	for (; cJSON_IsString(path) && depth < DEPTH_MAX; path = path->next, depth++) {
		same = same && cJSON_IsString(old) && strcmp(old->valuestring, path->valuestring) == 0;
		if (!same) {
			put_indent(2 * depth);
			put_plain(stdout, cJSON_IsString(kind) ? kind->valuestring : "switch", 16);
			putchar(' ');
			put_plain(stdout, path->valuestring, NAME_SHOWN);
			putchar('\n');
		}
		old = same && old != NULL ? old->next : NULL;
		kind = kind != NULL ? kind->next : NULL;
	}
	return depth;
}

static void put_nodes(const cJSON *topology, bool all)
{
	size_t n, shown;
	const cJSON **nodes = json_objects(topology, "nodes", &n);
	struct placed *placed = calloc(n + 1, sizeof(*placed));
	for (size_t i = 0; placed != NULL && i < n; i++)
		placed[i] = (struct placed){nodes[i], i};
	if (placed != NULL)
		qsort(placed, n, sizeof(*placed), by_path);
	shown = placed == NULL ? 0 : all || n < NODES_SHOWN ? n : NODES_SHOWN;
	for (size_t i = 0; i < shown; i++)
		put_node(placed[i].node, 2 * put_switches(placed[i].node, i > 0 ? placed[i - 1].node : NULL));
	if (n > shown)
		printf("%s: --all\n", fmt_many((double)(n - shown), "more node").s);
	free(placed);
	free(nodes);
}

/* ---- head and end ---- */

static void put_known(const cJSON *job, const char *key, const char *before)
{
	const char *text = json_text(job, key, "");
	if (*text == '\0')
		return;
	fputs(before, stdout);
	put_plain(stdout, text, NAME_SHOWN);
}

/* "pml ob1, btl vader, btl tcp"; of some ranks only: "(3 ranks)". */
static void put_transports(const cJSON *topology, double ranks)
{
	char text[1024];
	size_t used = 0;
	text[0] = '\0';
	for (const cJSON *t = json_first(topology, "transports"); t != NULL && used + 128 < sizeof(text); t = t->next) {
		double n = json_number_or(t, "ranks", 0);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.48s", used > 0 ? ", " : "",
					 json_text(t, "transport", "?"));
		if (n < ranks)
			used += (size_t)snprintf(text + used, sizeof(text) - used, " (%.0f rank%s)", n, plural(n));
	}
	if (used == 0)
		return;
	fputs("Loaded to carry messages: ", stdout);
	put_wrapped(text, 26, 2);
}

static void put_head(const cJSON *topology, const cJSON *job)
{
	size_t nodes = json_count(topology, "nodes");
	double ranks = json_number_or(job, "ranks", 0);
	put_plain(stdout, json_text(job, "program", "a program"), NAME_SHOWN);
	printf(": %.0f rank%s on %zu node%s", ranks, plural(ranks), nodes, plural((double)nodes));
	put_known(job, "mpi", "\n");
	put_known(job, "slurm", ", Slurm ");
	const cJSON *versions = json_item(json_first(topology, "nodes"), "versions");
	put_known(versions, "kernel", ", Linux ");
	putchar('\n');
	put_transports(topology, ranks);
	fputs("Cores: the rank that may run there, xN: N ranks, a dot: none\n\n", stdout);
}

static void put_misbindings(const cJSON *topology)
{
	for (const cJSON *row = json_first(topology, "misbindings"); row != NULL; row = row->next) {
		double more = json_number_or(row, "nodes_total", 1) - 1;
		char text[1200];
		int len = snprintf(text, sizeof(text), "%.400s", json_text(row, "what", ""));
		if (more > 0)
			len += snprintf(text + len, sizeof(text) - (size_t)len, " The same on %.0f more node%s.", more,
					plural(more));
		if (json_number_or(row, "ranks_total", 0) > 2)
			snprintf(text + len, sizeof(text) - (size_t)len, " In total: %.0f ranks.",
				 json_number_or(row, "ranks_total", 0));
		fputs("\n! ", stdout);
		put_wrapped(text, 2, 2);
		fputs("  -> ", stdout);
		put_wrapped(json_text(row, "next", ""), 5, 5);
	}
}

/* Only what is known can be as it should be. */
static void put_no_misbindings(const cJSON *topology)
{
	double known = 0, unknown = 0;
	for (const cJSON *node = json_first(topology, "nodes"); node != NULL; node = node->next)
		for (const cJSON *r = json_first(node, "ranks"); r != NULL; r = r->next)
			*(json_first(r, "cores") != NULL ? &known : &unknown) += 1;
	if (known == 0)
		puts("\nWhether bindings are as they should be is not known.");
	else if (unknown > 0)
		printf("\nAll bindings that are known are as they should be; not known: %s.\n",
		       fmt_many(unknown, "rank").s);
	else
		puts("\nAll bindings are as they should be.");
}

void show_topology(const cJSON *topology, const cJSON *job, bool all)
{
	if (job != NULL)
		put_head(topology, job);
	put_nodes(topology, all);
	put_misbindings(topology);
	if (job != NULL && json_first(topology, "misbindings") == NULL)
		put_no_misbindings(topology);
}
