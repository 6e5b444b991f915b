/* sec_matrix.c - who talks to whom: one map for messages, one for collectives, and the heaviest
 * links by name. In: matrix.p2p and matrix.collective, world ranks.  Out: two heat maps and a
 * table. */
#include "reports/html/heatmap.h"
#include "reports/html/section.h"
#include "reports/text/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX 8
#define PATTERNS_MAX 3
#define NAMES_MAX 16

static const cJSON *entries(const struct model *m, const char *kind)
{
	return json_item(json_item(m->root, "matrix"), kind);
}

static const cJSON *find_level(const struct model *m, const char *name)
{
	for (const cJSON *v = json_first(m->root, "traffic_levels"); v != NULL; v = v->next)
		if (strcmp(json_text(v, "level", ""), name) == 0)
			return v;
	return NULL;
}

/* All of a level's maps that have something. */
static void write_level_maps(struct page *p, const cJSON *level)
{
	static const char *const kinds[][3] = {{"p2p", "Point-to-point", "message"},
					       {"collective", "Collectives, by what they move", "operation"},
					       {"rma", "One-sided, from where the data lay", "operation"}};
	struct heatmap *h = malloc(sizeof(*h));
	put(p, "<div class=\"pair\">\n");
	for (size_t i = 0; i < 3 && h != NULL; i++) {
		heatmap_fill_groups(h, level, kinds[i][0]);
		heatmap_draw(p, h, kinds[i][1], kinds[i][2]);
	}
	put(p, "</div>\n");
	free(h);
}

static void write_names(struct page *p, const cJSON *level)
{
	size_t i = 0, n = json_count(level, "groups");
	put(p, "<p class=\"note\">");
	for (const cJSON *g = json_first(level, "groups"); g != NULL && i < NAMES_MAX; g = g->next, i++) {
		double members = json_number(g, "members");
		put(p, "%s%zu: ", i > 0 ? ", " : "Rows and columns: ", i);
		put_text(p, json_text(g, "name", "?"), NAME_CHARS);
		if (members > 1)
			put(p, " and %s more", fmt_count(members - 1).s);
	}
	put(p, n > NAMES_MAX ? ", and so on.</p>\n" : ".</p>\n");
}

/* From far to near: folded, so that the map of ranks stands first. */
static void write_levels(struct page *p)
{
	static const char *const levels[][2] = {{"switches", "Between switches"}, {"nodes", "Between nodes"}};
	for (size_t i = 0; i < 2; i++) {
		const cJSON *level = find_level(p->model, levels[i][0]);
		if (level == NULL)
			continue;
		put(p, "<details%s><summary>%s</summary>\n", model_nranks(p->model) > HEATMAP_SIDE ? " open" : "",
		    levels[i][1]);
		write_level_maps(p, level);
		write_names(p, level);
		put(p, "</details>\n");
	}
}

/* count_key has how many of what. */
static void write_map(struct page *p, const char *kind, const char *title, const char *count_key, const char *what)
{
	struct heatmap *h = malloc(sizeof(*h));
	if (h == NULL)
		return;
	heatmap_fill(h, entries(p->model, kind), count_key, model_nranks(p->model));
	heatmap_draw(p, h, title, what);
	free(h);
}

/* Keep the PAIRS_MAX entries with most bytes, in order. */
static size_t find_heaviest(const cJSON *list, const cJSON **ret_links)
{
	size_t n = 0;
	for (const cJSON *v = cJSON_IsArray(list) ? list->child : NULL; v != NULL; v = v->next) {
		double bytes = json_number(v, "bytes");
		if (isnan(bytes))
			continue;
		size_t at = n < PAIRS_MAX ? n : PAIRS_MAX;
		while (at > 0 && json_number(ret_links[at - 1], "bytes") < bytes)
			at--;
		if (at == PAIRS_MAX)
			continue;
		n += n < PAIRS_MAX;
		for (size_t i = n - 1; i > at; i--)
			ret_links[i] = ret_links[i - 1];
		ret_links[at] = v;
	}
	return n;
}

static void write_links(struct page *p)
{
	const cJSON *list = entries(p->model, "p2p"), *link[PAIRS_MAX];
	size_t n = find_heaviest(list, link);
	size_t all = json_count(json_item(p->model->root, "matrix"), "p2p");
	if (n == 0)
		return;
	double most = json_number(link[0], "bytes");
	put(p, "<div class=\"scroll\" tabindex=\"0\"><table><caption>Heaviest links, "
	       "point-to-point</caption>\n<thead><tr>"
	       "<th scope=\"col\">from \xe2\x86\x92 to rank</th><td></td><th "
	       "scope=\"col\" class=\"n\">"
	       "data</th><th scope=\"col\" class=\"n\">messages</th><th scope=\"col\" "
	       "class=\"n\">mean size</th></tr>"
	       "</thead>\n<tbody>\n");
	for (size_t i = 0; i < n; i++) {
		double bytes = json_number(link[i], "bytes"), messages = json_number(link[i], "messages");
		struct part part = {"mpi", bytes};
		put(p, "<tr><th scope=\"row\">%.0f \xe2\x86\x92 %.0f</th><td class=\"wide\">",
		    json_number(link[i], "src"), json_number(link[i], "dst"));
		put_bar(p, &part, 1, most);
		put(p,
		    "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
		    "class=\"n\">%s</td></tr>\n",
		    fmt_bytes(bytes).s, fmt_count(messages).s, fmt_bytes(messages > 0 ? bytes / messages : NAN).s);
	}
	put(p, "</tbody></table></div>\n");
	put_left_out(p, all - n, "more link");
}

/* The shape the analysis recognised, best first, in words. */
static void write_patterns(struct page *p)
{
	size_t shown = 0;
	for (const cJSON *v = json_first(p->model->root, "patterns"); v != NULL && shown < PATTERNS_MAX; v = v->next) {
		if (*json_text(v, "pattern", "") == '\0')
			continue;
		put(p, shown++ > 0 ? "<br>Or, less clearly: " : "<p>Pattern: ");
		put(p, "<b>");
		if (strcmp(json_text(v, "pattern", ""), "irregular") == 0) {
			put(p, "no known pattern</b>. ");
		} else {
			put_words(p, json_text(v, "pattern", ""));
			put(p, "</b>, score %s. ", fmt_ratio(json_number(v, "score")).s);
		}
		put_text(p, json_text(v, "evidence", ""), SENTENCE_CHARS);
	}
	if (shown > 0)
		put(p, "</p>\n");
}

static void write_rank_maps(struct page *p)
{
	put(p, "<div class=\"pair\">\n");
	write_map(p, "p2p", "Point-to-point", "messages", "message");
	write_map(p, "collective", "Collectives, by what they move", "operations", "operation");
	if (json_count(json_item(p->model->root, "matrix"), "rma") > 0)
		write_map(p, "rma", "One-sided, from where the data lay", "operations", "operation");
	put(p, "</div>\n");
}

static void write_matrix(struct page *p)
{
	write_patterns(p);
	if (model_nranks(p->model) > HEATMAP_SIDE && find_level(p->model, "ranks") != NULL)
		write_level_maps(
			p, find_level(p->model, "ranks")); /* of all pairs, also of those that the matrix leaves out */
	else
		write_rank_maps(p);
	write_levels(p);
	write_links(p);
}

/* The pattern, if it has a name; else what goes between ranks. */
static void result(struct page *p)
{
	const cJSON *pattern = json_first(p->model->root, "patterns");
	double messages = messages_sent(p->model->summary).n;
	if (pattern != NULL)
		put_words(p, json_text(pattern, "pattern", "?"));
	else
		put(p, "no pattern with a name");
	if (messages > 0)
		put(p, ", %s", fmt_many(messages, "message").s);
}

static bool has_matrix(const struct model *m)
{
	const cJSON *matrix = json_item(m->root, "matrix");
	if (model_nranks(m) > HEATMAP_SIDE && find_level(m, "ranks") != NULL &&
	    json_number(matrix, "p2p_pairs_left_out") + json_number(matrix, "collective_pairs_left_out") > 0)
		return true;
	return json_count(matrix, "rma") > 0 || json_count(matrix, "p2p") > 0 || json_count(matrix, "collective") > 0;
}

const struct section section_matrix = {
	.id = "matrix",
	.title = "Who talks to whom",
	.how = "Ranks of the whole job. Traffic of collectives is attributed by their meaning "
	       "(root to leaves, all "
	       "pairs), not by what the library did.",
	.has = has_matrix,
	.result = result,
	.write = write_matrix,
};
