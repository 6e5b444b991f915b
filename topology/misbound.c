/* misbound.c - ranks that share a core, that may run across sockets, that are not bound, that are far from the network.
 * In: one node with its ranks, topo_node()'s members.  Out: rows for people, see topology.h. */
#include "base/json.h"
#include "topology/cpulist.h"
#include "topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUS_MAX 4096
#define RANKS_MAX_HERE 4096
#define SETS_MAX 1024 /* different bindings on one node; beyond it nothing is said */
#define LISTED_MAX 64 /* ranks, nodes in a row */
#define WORDS (PUS_MAX / 64)

struct pu {
	unsigned core, socket, numa;
};

/* Hardware threads that some ranks may use. */
struct set {
	uint64_t bits[WORDS];
	unsigned pus, cores, sockets, numas;
	unsigned ranks; /* with just this set */
	bool flagged;
};

struct rank {
	unsigned rank, set;
	bool shares; /* said already: sets may overlap */
};

struct machine {
	const char *name;
	struct pu *pu;
	unsigned npu, cores, sockets;
	struct set *set;
	unsigned nset;
	struct rank *rank;
	unsigned nrank;
	struct set all; /* what any rank may use */
	cJSON *misbindings;
	unsigned *seen; /* scratch: by core, socket or NUMA node */
	unsigned round;
};

static bool contains(const struct set *s, unsigned pu)
{
	return (s->bits[pu / 64] >> pu % 64 & 1) != 0;
}

static bool within(const struct set *a, const struct set *b)
{
	for (unsigned i = 0; i < WORDS; i++)
		if ((a->bits[i] & ~b->bits[i]) != 0)
			return false;
	return true;
}

/* ---- reading ---- */

static unsigned small(const cJSON *o, const char *key)
{
	double value = json_number_or(o, key, 0);
	return value >= 0 && value < PUS_MAX ? (unsigned)value : 0;
}

static bool read_pus(struct machine *m, const cJSON *node, unsigned *os)
{
	for (const cJSON *v = json_first(node, "pu"); v != NULL; v = v->next) {
		if (m->npu == PUS_MAX)
			return false;
		double number = json_number_or(v, "os", -1);
		os[m->npu] = number >= 0 && number <= CPULIST_CPU_MAX ? (unsigned)number : CPULIST_CPU_MAX + 1;
		m->pu[m->npu++] = (struct pu){small(v, "core"), small(v, "socket"), small(v, "numa")};
	}
	return m->npu > 0;
}

/* How many different cores (0), sockets (1), NUMA nodes (2) a set covers. */
static unsigned count(struct machine *m, const struct set *s, unsigned what)
{
	unsigned n = 0;
	m->round++;
	for (unsigned i = 0; i < m->npu; i++) {
		const unsigned at[] = {m->pu[i].core, m->pu[i].socket, m->pu[i].numa};
		if (!contains(s, i) || m->seen[at[what]] == m->round)
			continue;
		m->seen[at[what]] = m->round;
		n++;
	}
	return n;
}

static void measure(struct machine *m, struct set *s)
{
	s->pus = 0;
	for (unsigned i = 0; i < WORDS; i++)
		s->pus += (unsigned)__builtin_popcountll(s->bits[i]);
	s->cores = count(m, s, 0);
	s->sockets = count(m, s, 1);
	s->numas = count(m, s, 2);
}

/* The number of an equal set, made new if there is none; SETS_MAX: there is no room. */
static unsigned number_of(struct machine *m, const struct set *s)
{
	for (unsigned i = 0; i < m->nset; i++)
		if (memcmp(m->set[i].bits, s->bits, sizeof(s->bits)) == 0)
			return i;
	if (m->nset == SETS_MAX)
		return SETS_MAX;
	m->set[m->nset] = *s;
	measure(m, &m->set[m->nset]);
	return m->nset++;
}

static bool read_ranks(struct machine *m, const cJSON *node, const unsigned *os, struct cpulist *list)
{
	for (const cJSON *v = json_first(node, "ranks"); v != NULL; v = v->next) {
		struct set s = {.pus = 0};
		const char *cpus = json_text(v, "cpus", "");
		if (*cpus == '\0' || cpulist_parse(cpus, list) < 0)
			continue;
		bool any = false;
		for (unsigned i = 0; i < m->npu; i++)
			if (cpulist_has(list, os[i])) {
				s.bits[i / 64] |= 1ull << i % 64;
				m->all.bits[i / 64] |= 1ull << i % 64;
				any = true;
			}
		unsigned set = any ? number_of(m, &s) : SETS_MAX;
		if (any && (set == SETS_MAX || m->nrank == RANKS_MAX_HERE))
			return false;
		if (!any)
			continue;
		double number = json_number_or(v, "rank", 0);
		m->set[set].ranks++;
		m->rank[m->nrank++] =
			(struct rank){.rank = number >= 0 && number < 4e9 ? (unsigned)number : 0, .set = set};
	}
	measure(m, &m->all);
	return m->nrank > 0;
}

/* ---- saying ---- */

/* "0-3, 8 and 40 more" of the ranks that are marked. */
static void ranks_text(const struct machine *m, const bool *marked, char *text, size_t size)
{
	size_t used = 0;
	unsigned shown = 0;
	text[0] = '\0';
	for (unsigned i = 0; i < m->nrank; i++) {
		unsigned last = i;
		if (!marked[i])
			continue;
		while (last + 1 < m->nrank && marked[last + 1] && m->rank[last + 1].rank == m->rank[last].rank + 1)
			last++;
		if (++shown > 6) {
			snprintf(text + used, size - used, ", ...");
			return;
		}
		used += (size_t)snprintf(text + used, size - used, last > i ? "%s%u-%u" : "%s%u", used > 0 ? ", " : "",
					 m->rank[i].rank, m->rank[last].rank);
		i = last;
	}
}

static cJSON *row_of(cJSON *misbindings, const char *kind)
{
	cJSON *row;
	cJSON_ArrayForEach(row, misbindings) if (strcmp(json_text(row, "kind", ""), kind) == 0) return row;
	return NULL;
}

static void push_bounded(cJSON *row, const char *list, const char *total, cJSON *item)
{
	cJSON *array = cJSON_GetObjectItemCaseSensitive(row, list);
	cJSON *n = cJSON_GetObjectItemCaseSensitive(row, total);
	cJSON_SetNumberValue(n, n->valuedouble + 1);
	if (cJSON_GetArraySize(array) < LISTED_MAX)
		cJSON_AddItemToArray(array, item);
	else
		cJSON_Delete(item);
}

static void say(const struct machine *m, const char *kind, bool avoidable, const bool *marked, const char *what,
		const char *next)
{
	cJSON *row = row_of(m->misbindings, kind);
	if (row == NULL) {
		row = json_row(m->misbindings);
		json_put_text(row, "kind", kind);
		cJSON_AddBoolToObject(row, "avoidable", avoidable);
		json_array(row, "nodes");
		json_put(row, "nodes_total", 0);
		json_array(row, "ranks");
		json_put(row, "ranks_total", 0);
		json_put_text(row, "what", what);
		json_put_text(row, "next", next);
	} else if (avoidable) {
		cJSON_ReplaceItemInObjectCaseSensitive(row, "avoidable", cJSON_CreateTrue());
	}
	cJSON *nodes = cJSON_GetObjectItemCaseSensitive(row, "nodes"), *last = NULL, *n;
	cJSON_ArrayForEach(n, nodes) last = n;
	if (last == NULL || strcmp(last->valuestring, m->name) != 0) /* several sets of one node are one node */
		push_bounded(row, "nodes", "nodes_total", cJSON_CreateString(m->name));
	for (unsigned i = 0; i < m->nrank; i++)
		if (marked[i])
			push_bounded(row, "ranks", "ranks_total", cJSON_CreateNumber(m->rank[i].rank));
}

/* ---- looking ---- */

static unsigned free_cores(struct machine *m, const bool *on_socket)
{
	unsigned n = 0;
	m->round++;
	for (unsigned i = 0; i < m->npu; i++)
		if (contains(&m->all, i))
			m->seen[m->pu[i].core] = m->round;
	for (unsigned i = 0; i < m->npu; i++)
		if (m->seen[m->pu[i].core] != m->round && (on_socket == NULL || on_socket[m->pu[i].socket])) {
			m->seen[m->pu[i].core] = m->round;
			n++;
		}
	return n;
}

static bool smaller_flagged(const struct machine *m, unsigned set)
{
	for (unsigned i = 0; i < m->nset; i++)
		if (i != set && m->set[i].flagged && within(&m->set[i], &m->set[set]))
			return true;
	return false;
}

/* More ranks are confined to these hardware threads than there are: a set in which no smaller one is to blame. */
static void find_shared(struct machine *m, unsigned set, bool *marked)
{
	struct set *s = &m->set[set];
	char what[400], ranks[128];
	unsigned n = 0;
	for (unsigned i = 0; i < m->nrank; i++) {
		marked[i] = within(&m->set[m->rank[i].set], s);
		n += marked[i];
	}
	if (n <= s->cores || smaller_flagged(m, set))
		return;
	s->flagged = true;
	bool turns = n > s->pus;
	unsigned unused = free_cores(m, NULL);
	ranks_text(m, marked, ranks, sizeof(ranks));
	int len = snprintf(what, sizeof(what), "Ranks %s of %.64s %s %u core%s%s", ranks, m->name,
			   turns ? "take turns on" : "share", s->cores, s->cores == 1 ? "" : "s",
			   turns ? "" : ", on different hardware threads");
	snprintf(what + len, sizeof(what) - (size_t)len,
		 unused > 0 ? ", while %u of its cores have no rank." : ". No core is free.", unused);
	for (unsigned i = 0; i < m->nrank; i++) {
		marked[i] &= !m->rank[i].shares;
		m->rank[i].shares |= marked[i];
	}
	say(m, turns ? "shared_pu" : "shared_core", unused > 0, marked, what,
	    unused > 0 ? "Give each rank a core of its own: srun --cpu-bind=cores, or mpirun --map-by core --bind-to "
			 "core; two programs at a time in one job need srun --exact, or mpirun --cpu-set."
		       : "Use fewer ranks a node, or threads instead of ranks.");
}

static void find_unbound(struct machine *m, bool *marked)
{
	char what[400], ranks[128];
	unsigned n = 0;
	for (unsigned i = 0; i < m->nrank; i++) {
		marked[i] = memcmp(m->set[m->rank[i].set].bits, m->all.bits, sizeof(m->all.bits)) == 0;
		n += marked[i];
	}
	if (n == 0 || m->nrank < 2 || m->all.cores < 2)
		return;
	ranks_text(m, marked, ranks, sizeof(ranks));
	snprintf(what, sizeof(what), "Rank%s %s of %.64s may run on any of %u cores; the system can move them.",
		 n == 1 ? "" : "s", ranks, m->name, m->all.cores);
	say(m, "unbound", true, marked, what,
	    "Bind them: srun --cpu-bind=cores (with --cpus-per-task, if they have threads), or mpirun --bind-to core "
	    "(--bind-to socket, or --map-by slot:PE=N, if they have threads).");
}

/* The most cores that one socket (1) or NUMA node (2) has. */
static unsigned most_cores(struct machine *m, unsigned what)
{
	unsigned most = 0;
	for (unsigned at = 0; at < PUS_MAX && at < m->npu; at++) {
		struct set s = {.pus = 0};
		bool any = false;
		for (unsigned i = 0; i < m->npu; i++)
			if ((what == 1 ? m->pu[i].socket : m->pu[i].numa) == at) {
				s.bits[i / 64] |= 1ull << i % 64;
				any = true;
			}
		unsigned cores = any ? count(m, &s, 0) : 0;
		most = cores > most ? cores : most;
		if (!any)
			break;
	}
	return most;
}

/* Ranks whose cores would fit into one socket (or NUMA node) but lie in several. Who is not bound at all is no case. */
static void find_across(struct machine *m, unsigned what, bool *marked)
{
	char text[400], ranks[128];
	unsigned n = 0, most = most_cores(m, what);
	for (unsigned i = 0; i < m->nrank; i++) {
		const struct set *s = &m->set[m->rank[i].set];
		bool all = m->nrank > 1 && s->pus == m->all.pus;
		marked[i] = !all && s->cores <= most && (what == 1 ? s->sockets > 1 : s->sockets == 1 && s->numas > 1);
		n += marked[i];
	}
	if (n == 0)
		return;
	ranks_text(m, marked, ranks, sizeof(ranks));
	snprintf(text, sizeof(text), "Rank%s %s of %.64s may run on several %s, although %s cores fit into one.",
		 n == 1 ? "" : "s", ranks, m->name, what == 1 ? "sockets" : "NUMA nodes", n == 1 ? "its" : "their");
	say(m, what == 1 ? "across_sockets" : "across_numa", true, marked, text,
	    "Memory of the other one is slower. Ask for cores that lie together: srun --distribution=block:block "
	    "--cpu-bind=cores, or mpirun --map-by socket:PE=N (numa:PE=N).");
}

/* The sockets of the network adapters that count: of those that are up, the fastest. False: some hang at no single
 * socket, or there is none. */
static bool adapters(const cJSON *node, bool *ret_on_socket, const char **ret_name)
{
	double fastest = 0;
	bool found = false;
	for (const cJSON *d = json_first(node, "devices"); d != NULL; d = d->next)
		if (strcmp(json_text(d, "kind", ""), "nic") == 0 && json_bool(d, "up", true) &&
		    json_number_or(d, "gbit_s", 0) > fastest)
			fastest = json_number_or(d, "gbit_s", 0);
	for (const cJSON *d = json_first(node, "devices"); d != NULL; d = d->next) {
		double socket = json_number_or(d, "socket", -1);
		if (strcmp(json_text(d, "kind", ""), "nic") != 0 || !json_bool(d, "up", true) ||
		    json_number_or(d, "gbit_s", 0) < fastest / 2)
			continue;
		if (socket < 0 || socket >= PUS_MAX)
			return false;
		ret_on_socket[(unsigned)socket] = true;
		*ret_name = found ? *ret_name : json_text(d, "name", "");
		found = true;
	}
	return found;
}

static void find_far(struct machine *m, const cJSON *node, bool *marked, bool *near)
{
	char what[400], ranks[128];
	const char *name = "";
	unsigned n = 0;
	memset(near, 0, PUS_MAX * sizeof(*near));
	if (!adapters(node, near, &name))
		return;
	for (unsigned i = 0; i < m->nrank; i++) {
		marked[i] = true;
		for (unsigned k = 0; k < m->npu; k++)
			marked[i] &= !contains(&m->set[m->rank[i].set], k) || !near[m->pu[k].socket];
		n += marked[i];
	}
	if (n == 0)
		return;
	unsigned unused = free_cores(m, near);
	ranks_text(m, marked, ranks, sizeof(ranks));
	int len = snprintf(what, sizeof(what),
			   "Rank%s %s of %.64s run%s on another socket than that of its network adapter (%.32s)",
			   n == 1 ? "" : "s", ranks, m->name, n == 1 ? "s" : "", name);
	snprintf(what + len, sizeof(what) - (size_t)len, unused > 0 ? ", where %u cores have no rank." : ".", unused);
	say(m, "far_nic", unused > 0, marked, what,
	    unused > 0 ? "Fill the adapter's socket first: srun --distribution=block:block, or mpirun --map-by core."
		       : "Their messages to other nodes cross the link between the sockets: let ranks of the "
			 "adapter's socket do most of that, if there is a choice.");
}

static void examine_node(struct machine *m, const cJSON *node, bool many_nodes, bool *marked, bool *near)
{
	/* Small sets first: it is they who are to blame for the larger ones. */
	for (unsigned pus = 1; pus <= m->npu; pus++)
		for (unsigned i = 0; i < m->nset; i++)
			if (m->set[i].pus == pus)
				find_shared(m, i, marked);
	find_unbound(m, marked);
	find_across(m, 1, marked);
	find_across(m, 2, marked);
	if (many_nodes)
		find_far(m, node, marked, near);
}

void topo_misbound(const cJSON *node, bool many_nodes, cJSON *misbindings)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct cpulist *list = malloc(sizeof(*list));
	unsigned *os = calloc(PUS_MAX, sizeof(*os));
	bool *marks = calloc(RANKS_MAX_HERE + PUS_MAX, sizeof(*marks));
	if (m != NULL) {
		m->pu = calloc(PUS_MAX, sizeof(*m->pu));
		m->set = calloc(SETS_MAX, sizeof(*m->set));
		m->rank = calloc(RANKS_MAX_HERE, sizeof(*m->rank));
		m->seen = calloc(PUS_MAX, sizeof(*m->seen));
		m->misbindings = misbindings;
		m->name = json_text(node, "name", "");
		if (m->pu != NULL && m->set != NULL && m->rank != NULL && m->seen != NULL && list != NULL &&
		    os != NULL && marks != NULL && read_pus(m, node, os) && read_ranks(m, node, os, list))
			examine_node(m, node, many_nodes, marks, marks + RANKS_MAX_HERE);
		free(m->pu);
		free(m->set);
		free(m->rank);
		free(m->seen);
	}
	free(m);
	free(list);
	free(os);
	free(marks);
}
