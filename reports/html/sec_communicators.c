/* sec_communicators.c - the groups of ranks the program made.
 * In: communicators.  Out: a table, biggest first as given. */
#include "reports/html/section.h"

#include <math.h>
#include <stdlib.h>

#define COMMUNICATORS_MAX 16
#define RUNS_MAX 8

static void write_parent(struct page *p, const cJSON *comm)
{
	double parent = json_number(comm, "parent");
	if (parent >= 0)
		put(p, "#%.0f", parent);
}

static void write_communicator(struct page *p, const cJSON *comm)
{
	const char *name = json_text(comm, "name", "");
	put(p, "<tr><th scope=\"row\">#%.0f ", json_number(comm, "id"));
	put_text(p, *name != '\0' ? name : "unnamed", NAME_CHARS);
	put(p, "</th><td class=\"n\">%s</td><td>", fmt_count(json_number(comm, "size")).s);
	put_ranks(p, json_item(comm, "ranks"), RUNS_MAX);
	put(p, "</td><td>");
	put_text(p, json_text(comm, "created_by", ""), NAME_CHARS);
	put(p, "</td><td>");
	write_parent(p, comm);
	put(p, "</td></tr>\n");
}

static void write_communicators(struct page *p)
{
	size_t n;
	const cJSON **comm = json_objects(p->model->root, "communicators", &n);
	size_t shown = n < COMMUNICATORS_MAX ? n : COMMUNICATORS_MAX;
	put(p, "<div class=\"scroll\" tabindex=\"0\"><table><caption>Communicators</caption>\n<thead><tr><th "
	       "scope=\"col\">name</th>"
	       "<th scope=\"col\" class=\"n\">size</th><th scope=\"col\">world ranks</th><th "
	       "scope=\"col\">made by</th>"
	       "<th scope=\"col\">from</th></tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < shown; i++)
		write_communicator(p, comm[i]);
	put(p, "</tbody></table></div>\n");
	put_left_out(p, n - shown, "more communicator");
	free(comm);
}

static void result(struct page *p)
{
	put(p, "%s", fmt_count((double)json_count(p->model->root, "communicators")).s);
}

static bool has_communicators(const struct model *m)
{
	return json_count(m->root, "communicators") > 0;
}

const struct section section_communicators = {
	.id = "communicators",
	.title = "Communicators",
	.how = "The groups in which the program communicates, in ranks of the whole job.",
	.has = has_communicators,
	.result = result,
	.write = write_communicators,
};
