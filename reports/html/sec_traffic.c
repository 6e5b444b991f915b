/* sec_traffic.c - how large messages are, and how far they go: inside nodes, below one switch, beyond.
 * In: message_sizes, traffic_places.  Out: two tables with bars. */
#include "reports/text/places.h"
#include "reports/html/section.h"

#include <math.h>

static void write_place(struct page *p, const char *name, const struct place_sums *s, double all)
{
	struct part part = {"mpi", s->p2p + s->collective + s->rma};
	put(p, "<tr><th scope=\"row\">%s</th><td class=\"wide\">", name);
	put_bar(p, &part, 1, all);
	put(p,
	    "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
	    fmt_count(s->messages).s, fmt_bytes(s->p2p).s, fmt_bytes(s->collective).s, fmt_bytes(s->rma).s);
}

static void write_places(struct page *p)
{
	const cJSON *kinds = json_item(p->model->root, "traffic_places");
	struct place_sums sums[TRAFFIC_PLACES];
	double all = 0;
	for (size_t i = 0; i < TRAFFIC_PLACES; i++) {
		sums[i] = place_sums(kinds, i);
		all += sums[i].p2p + sums[i].collective + sums[i].rma;
	}
	if (!places_any(kinds))
		return;
	put(p, "<div class=\"scroll\" tabindex=\"0\"><table><caption>How far data goes</caption>\n<thead><tr><th "
	       "scope=\"col\">where</th>"
	       "<td></td><th scope=\"col\" class=\"n\">messages</th><th scope=\"col\" class=\"n\">their "
	       "data</th><th scope=\"col\" class=\"n\">collectives\xe2\x80\x99</th><th scope=\"col\" "
	       "class=\"n\">one-sided</th></tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < TRAFFIC_PLACES; i++)
		if (sums[i].any)
			write_place(p, traffic_places[i].name, &sums[i], all);
	put(p, "</tbody></table></div>\n");
}

static void write_size(struct page *p, const cJSON *row, double most)
{
	double from = json_number(row, "from_bytes"), messages = json_number(row, "messages");
	struct part part = {"mpi", messages};
	put(p, "<tr><th scope=\"row\">%s%s</th><td class=\"wide\">", from > 1 ? "from " : "", fmt_bytes(from).s);
	put_bar(p, &part, 1, most);
	put(p,
	    "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
	    fmt_count(messages).s, fmt_bytes(json_number(row, "message_bytes")).s,
	    fmt_count(json_number(row, "collectives")).s, fmt_bytes(json_number(row, "collective_bytes")).s);
}

static void write_sizes(struct page *p)
{
	double most = 0;
	if (json_count(p->model->root, "message_sizes") == 0)
		return;
	for (const cJSON *v = json_first(p->model->root, "message_sizes"); v != NULL; v = v->next)
		most = fmax(most, json_number(v, "messages"));
	put(p, "<div class=\"scroll\" tabindex=\"0\"><table><caption>Sizes of messages, and of what a call of a "
	       "collective "
	       "moves</caption>\n"
	       "<thead><tr><th scope=\"col\">size</th><td></td><th scope=\"col\" class=\"n\">messages</th>"
	       "<th scope=\"col\" class=\"n\">their data</th><th scope=\"col\" class=\"n\">collective calls</th>"
	       "<th scope=\"col\" class=\"n\">their data</th></tr></thead>\n<tbody>\n");
	for (const cJSON *v = json_first(p->model->root, "message_sizes"); v != NULL; v = v->next)
		write_size(p, v, most);
	put(p, "</tbody></table></div>\n");
}

static void write_traffic(struct page *p)
{
	write_places(p);
	write_sizes(p);
}

static void result(struct page *p)
{
	struct messages sent = messages_sent(p->model->summary);
	put(p, "%s in %s", fmt_bytes(fmax(sent.bytes, 0)).s, fmt_many(fmax(sent.n, 0), "message").s);
}

static bool has_traffic(const struct model *m)
{
	return json_count(m->root, "message_sizes") > 0 || places_any(json_item(m->root, "traffic_places"));
}

const struct section section_traffic = {
	.id = "traffic",
	.title = "How far, how large",
	.how = "What stays inside a node is fast; what crosses switches is shared by all. Many messages below a few "
	       "KiB "
	       "cost more in starting than in moving. A size goes up to the next one.",
	.has = has_traffic,
	.result = result,
	.write = write_traffic,
};
