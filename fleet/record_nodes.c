/* record_nodes.c - see record_nodes.h. In: per_rank of an analysis.  Out: a list of names and a number for each. */
#include "fleet/record_nodes.h"
#include "fleet/record.h"

#include "base/buf.h"
#include "base/index.h"
#include "base/json.h"
#include "base/vec.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 9u /* of a number in a name, as base/hostlist.h reads it */
#define CPUS_MOST 4096u
#define DEVIATION_UNIT 1e4 /* what is kept of a deviation: a hundredth of a percent */

struct node {
	const char *name;
	double useful_s;
	unsigned ranks;
};

struct nodes {
	VEC(struct node) list;
	struct index by_name;
	double useful_s;
	unsigned ranks;
};

/* ---- Slurm's form ---- */

/* Length of the name without the digits at its end. */
static size_t stem(const char *name)
{
	size_t len = strlen(name), digits = 0;
	while (digits < len && digits < DIGITS_MAX && isdigit((unsigned char)name[len - digits - 1]))
		digits++;
	return len - digits;
}

static bool same_stem(const char *a, const char *b)
{
	size_t len = stem(a);
	return a[len] != '\0' && stem(b) == len && b[len] != '\0' && strncmp(a, b, len) == 0;
}

/* Does b come right after a, in as many digits? */
static bool follows(const char *a, const char *b)
{
	const char *x = a + stem(a), *y = b + stem(b);
	return strlen(x) == strlen(y) && strtoul(y, NULL, 10) == strtoul(x, NULL, 10) + 1;
}

/* Names i .. end of one stem, as "n[01-03,7]". */
static void put_stem(struct buf *b, const char *const *names, size_t i, size_t end)
{
	size_t len = stem(names[i]);
	if (end == i + 1) {
		buf_str(b, names[i]);
		return;
	}
	buf_printf(b, "%.*s[", (int)len, names[i]);
	while (i < end) {
		size_t last = i;
		while (last + 1 < end && follows(names[last], names[last + 1]))
			last++;
		buf_printf(b, last > i ? "%s-%s" : "%s", names[i] + len, names[last] + len);
		i = last + 1;
		buf_str(b, i < end ? "," : "]");
	}
}

char *record_nodelist(const char *const *names, size_t n)
{
	struct buf b = {0};
	for (size_t i = 0; i < n;) {
		size_t end = i + 1;
		while (end < n && same_stem(names[i], names[end]))
			end++;
		buf_str(&b, i > 0 ? "," : "");
		put_stem(&b, names, i, end);
		i = end;
	}
	buf_u8(&b, 0);
	if (buf_failed(&b)) {
		buf_done(&b);
		return NULL;
	}
	return (char *)b.data;
}

/* ---- what they did ---- */

struct sought {
	const struct nodes *nodes;
	const char *name;
};

static bool is_name(const void *context, uint32_t at)
{
	const struct sought *s = context;
	return strcmp(s->nodes->list.at[at].name, s->name) == 0;
}

/* A name that would be read back as several, or as another one, makes a list that lies. */
static bool is_plain(const char *name)
{
	size_t len = strlen(name);
	return len > 0 && len < 128 && strpbrk(name, "[], \t\n") == NULL;
}

static bool add_rank(struct nodes *n, const cJSON *rank)
{
	struct sought s = {n, json_text(rank, "node", "")};
	double useful_s = json_number(rank, "useful_s");
	if (!is_plain(s.name) || !(useful_s >= 0))
		return false;
	uint64_t hash = index_hash(INDEX_SEED, s.name, strlen(s.name));
	uint32_t at = index_find(&n->by_name, hash, is_name, &s);
	if (at == INDEX_NONE) {
		at = (uint32_t)n->list.n;
		if (vec_push(&n->list, (struct node){.name = s.name}) < 0 || index_add(&n->by_name, hash, at) < 0)
			return false;
	}
	n->list.at[at].useful_s += useful_s;
	n->list.at[at].ranks++;
	n->useful_s += useful_s;
	n->ranks++;
	return true;
}

static void put_list(cJSON *record, const struct nodes *n, size_t max)
{
	size_t kept = n->list.n < max ? n->list.n : max;
	const char **names = calloc(kept, sizeof(*names));
	cJSON *values = cJSON_CreateArray();
	double mean_s = n->useful_s / n->ranks;
	for (size_t i = 0; names != NULL && i < kept; i++) {
		const struct node *x = &n->list.at[i * n->list.n / kept];
		names[i] = x->name;
		json_push(values, round((x->useful_s / x->ranks / mean_s - 1) * DEVIATION_UNIT) / DEVIATION_UNIT);
	}
	char *list = names != NULL ? record_nodelist(names, kept) : NULL;
	if (list != NULL)
		json_put_text(record, "nodelist", list);
	cJSON_AddItemToObject(record, "deviation", values);
	json_put(record, "nodes_left_out", (double)(n->list.n - kept));
	free(list);
	free(names);
}

void record_put_nodes(cJSON *record, const cJSON *analysis, size_t max)
{
	struct nodes n = {0};
	bool whole = json_bool(json_item(analysis, "coverage"), "complete", false);
	for (const cJSON *r = json_first(analysis, "per_rank"); r != NULL && whole; r = r->next)
		whole = add_rank(&n, r);
	if (whole && n.list.n > 1 && n.useful_s > 0 && max > 0)
		put_list(record, &n, max);
	vec_done(&n.list);
	index_done(&n.by_name);
}

/* ---- what they had ---- */

/* Processors in a list as 0-3,8; and which, below CPUS_MOST. 0: no list. */
static unsigned count_cpus(const char *list, uint64_t *ret_mask)
{
	unsigned n = 0;
	while (isdigit((unsigned char)*list)) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
		if (last >= CPUS_MOST || first > last)
			return 0;
		for (unsigned long i = first; i <= last; i++, n++)
			ret_mask[i / 64] |= UINT64_C(1) << (i % 64);
		if (*end == '\0')
			return n;
		if (*end != ',')
			return 0;
		list = end + 1;
	}
	return 0;
}

/* Marks them as those of a rank; false: another one has one of them. */
static bool claim(uint64_t *of_node, const uint64_t *mask)
{
	bool free_all = true;
	for (unsigned i = 0; i < CPUS_MOST / 64; i++) {
		free_all &= (of_node[i] & mask[i]) == 0;
		of_node[i] |= mask[i];
	}
	return free_all;
}

/* Ranks of a node stand together in most steps; where they do not, a node is met again, and its ranks are counted all
 * the same: only that two of them share a processor may then be missed. */
static double bound_cpus(const cJSON *analysis)
{
	uint64_t of_node[CPUS_MOST / 64] = {0};
	const char *node = "";
	double all = 0;
	for (const cJSON *r = json_first(analysis, "per_rank"); r != NULL; r = r->next) {
		uint64_t mask[CPUS_MOST / 64] = {0};
		const char *name = json_text(r, "node", "");
		unsigned n = count_cpus(json_text(r, "cpus", ""), mask);
		if (strcmp(name, node) != 0)
			memset(of_node, 0, sizeof(of_node));
		node = name;
		if (n == 0 || *name == '\0' || !claim(of_node, mask))
			return NAN;
		all += n;
	}
	return all > 0 ? all : NAN;
}

void record_put_processors(cJSON *record, const cJSON *analysis)
{
	double all = bound_cpus(analysis), ranks = (double)json_count(analysis, "per_rank");
	json_put_null_or(record, "alloc_cpus", all);
	json_put_null_or(record, "cpus_per_rank", all / ranks);
}
