/* page_nodes.c - nodes that are suspected of being slow, how sure that is, and which jobs show it. */
#include "fleet/page.h"
#include "fleet/nodes.h"

#define BINS 41
#define BIN 0.0025 /* share, of the picture of all nodes */

struct counts {
	double nodes, judged, suspected;
};

static struct counts count(struct fleet_page *g)
{
	struct counts c = {0};
	sqlite3_stmt *row = ask(g, "SELECT count(*), total(jobs>=5), total(suspected) FROM node_effects", 0);
	if (next(g, row))
		c = (struct counts){sqlite3_column_double(row, 0), sqlite3_column_double(row, 1),
				    sqlite3_column_double(row, 2)};
	sqlite3_finalize(row);
	return c;
}

static void put_masthead(struct fleet_page *g, const struct counts *c)
{
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet</p>\n<h1>");
	if (c->suspected > 0)
		put(&g->p, "%s of %s nodes %s suspected of being slow.", fmt_count(c->suspected).s,
		    fmt_count(c->nodes).s, c->suspected == 1 ? "is" : "are");
	else
		put(&g->p, "No node is suspected of being slow.");
	put(&g->p,
	    "</h1>\n<p class=\"cause\">Ranks there computed longer than the other ranks of the same jobs, whichever "
	    "program it was and "
	    "whoever ran it.</p>\n<dl class=\"figures\"><div><dt>nodes in at least %d jobs that show "
	    "it</dt><dd>%s</dd></div>"
	    "<div><dt>nodes of which too little is known</dt><dd>%s</dd></div></dl></div>\n",
	    NODE_JOBS, fmt_count(c->judged).s, fmt_count(c->nodes - c->judged).s);
}

static double place(double value, double least, double most)
{
	return fmax(0, fmin(100, (value - least) / (most - least) * 100));
}

static void put_effect(struct fleet_page *g, sqlite3_stmt *row, double most)
{
	double effect = sqlite3_column_double(row, 2), low = sqlite3_column_double(row, 3),
	       high = sqlite3_column_double(row, 4);
	double least = -most / 10;
	most *= 1.05;
	put(&g->p, "<div class=\"effect\"><a href=\"#n%lld\">", (long long)sqlite3_column_int64(row, 0));
	put_text(&g->p, text_of(row, 1), 40);
	put(&g->p,
	    "</a><svg aria-hidden=\"true\"><line class=\"zero\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"14\"/>"
	    "<line class=\"range\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"7\" y2=\"7\"/><circle class=\"point\" "
	    "cx=\"%.2f%%\" cy=\"7\" r=\"4\"/></svg>",
	    place(0, least, most), place(0, least, most), place(low, least, most), place(high, least, most),
	    place(effect, least, most));
	put(&g->p, "<span>%.1f %% slower <small class=\"soft\">(%.1f to %.1f, %s jobs)</small></span></div>\n",
	    effect * 100, low * 100, high * 100, fmt_count(sqlite3_column_double(row, 5)).s);
}

static void put_suspects(struct fleet_page *g)
{
	double most = fleet_number(g->site->f, "SELECT max(high) FROM node_effects WHERE suspected", 0.1);
	sqlite3_stmt *row = ask(
		g,
		"SELECT e.node, n.name, e.effect, e.low, e.high, e.jobs FROM node_effects e JOIN names n ON n.id=e.node"
		" WHERE e.suspected ORDER BY e.effect DESC LIMIT 200",
		0);
	section_begin(g, "suspected", "Suspected nodes",
		      "How much longer ranks compute there than on the ordinary node: the estimate, and between which "
		      "values it lies with 95 % "
		      "confidence. Of a thousand nodes on this list one is there by chance.");
	put(&g->p, "<div class=\"effects\">\n");
	while (next(g, row))
		put_effect(g, row, fmin(most, 2));
	put(&g->p, "</div>\n");
	put_data_links(g, "nodes");
	section_end(g);
	sqlite3_finalize(row);
}

/* How the machine's nodes differ: a crowd around 0, and those that stand apart. */
static void put_all(struct fleet_page *g)
{
	double bins[BINS] = {0}, most = 1;
	sqlite3_stmt *row = ask(g, "SELECT effect FROM node_effects WHERE jobs>=5", 0);
	while (next(g, row)) {
		long at = lround(sqlite3_column_double(row, 0) / BIN) + BINS / 2;
		double *bin = &bins[at < 0 ? 0 : at >= BINS ? BINS - 1 : at];
		most = fmax(most, ++*bin);
	}
	sqlite3_finalize(row);
	section_begin(g, "all", "All nodes",
		      "How many nodes have which effect. The height is by logarithm, so that single nodes can be seen "
		      "beside thousands.");
	put(&g->p, "<figure><figcaption><b>Nodes by how much longer ranks compute there</b></figcaption><div "
		   "class=\"chart-box\">"
		   "<svg class=\"chart\" aria-hidden=\"true\">");
	for (int i = 0; i < BINS; i++) {
		double height = bins[i] > 0 ? 150 * log2(1 + bins[i]) / log2(1 + most) : 0;
		if (height > 0)
			put(&g->p,
			    "<rect class=\"few\" x=\"%.2f%%\" width=\"%.2f%%\" y=\"%.1f\" height=\"%.1f\"><title>%.2f "
			    "%%: %.0f</title></rect>",
			    100.0 * i / BINS, 90.0 / BINS, 150 - height, height, (i - BINS / 2) * BIN * 100, bins[i]);
	}
	put(&g->p,
	    "</svg></div><div class=\"axis\"><span>%.0f %% or faster</span><span>the ordinary node</span><span>%.0f %% "
	    "or slower</span></div>"
	    "</figure>\n",
	    BINS / 2 * BIN * 100, BINS / 2 * BIN * 100);
	section_end(g);
}

static void put_evidence_head(struct fleet_page *g, sqlite3_int64 node, const char *name, bool first)
{
	put(&g->p, "%s<details class=\"shows\"><summary>", first ? "" : "</tbody></table></div></details>\n");
	put_text(&g->p, name, 60);
	put(&g->p,
	    "</summary><div class=\"scroll\" id=\"n%lld\"><table><thead><tr><th scope=\"col\">job</th><th "
	    "scope=\"col\">began</th>"
	    "<th scope=\"col\">user</th><th scope=\"col\">program</th><th scope=\"col\" class=\"n\">nodes</th>"
	    "<th scope=\"col\" class=\"n\">longer than its other ranks by</th></tr></thead><tbody>\n",
	    (long long)node);
}

static void put_evidence_row(struct fleet_page *g, sqlite3_stmt *row)
{
	sqlite3_int64 id = sqlite3_column_int64(row, 3);
	const char *job = text_of(row, 5);
	if (!g->site->sealed)
		(void)vec_push(&g->site->linked, id);
	put(&g->p, "<tr><th scope=\"row\"><a href=\"job-%lld.html\">", (long long)id);
	put_text(&g->p, *job != '\0' ? job : text_of(row, 4), 40);
	put(&g->p, "</a></th><td class=\"keep\">%s</td><td>", fmt_moment(sqlite3_column_double(row, 10)).s);
	put_named(g, "user", sqlite3_column_int64(row, 19), text_of(row, 6));
	put(&g->p, "</td><td>");
	put_named(g, "program", sqlite3_column_int64(row, 20), text_of(row, 7));
	put(&g->p, "</td><td class=\"n\">%s</td><td class=\"n\">%.1f %%</td></tr>\n",
	    fmt_count(sqlite3_column_double(row, 8)).s, sqlite3_column_double(row, 2) * 100);
}

static void put_evidence(struct fleet_page *g)
{
	sqlite3_stmt *row =
		ask(g,
		    "SELECT e.node, n.name, k.deviation, " JOB_COLUMNS " FROM " JOB_TABLES
		    " JOIN node_jobs k ON k.job=j.id JOIN node_effects e ON e.node=k.node"
		    " JOIN names n ON n.id=e.node WHERE e.suspected ORDER BY e.effect DESC, e.node, k.place",
		    0);
	sqlite3_int64 last = 0;
	section_begin(g, "evidence", "Jobs that show it",
		      "Of each node those jobs in which it stands out most, measured by how even that program of that "
		      "user is otherwise.");
	while (next(g, row)) {
		sqlite3_int64 node = sqlite3_column_int64(row, 0);
		if (node != last)
			put_evidence_head(g, node, text_of(row, 1), last == 0);
		last = node;
		put_evidence_row(g, row);
	}
	put(&g->p, last != 0 ? "</tbody></table></div></details>\n" : "");
	section_end(g);
	sqlite3_finalize(row);
}

void page_nodes(struct fleet_page *g)
{
	struct counts c = count(g);
	fleet_begin(g, "Nodes", PAGE_NODES, false);
	put_masthead(g, &c);
	if (c.suspected > 0)
		put_suspects(g);
	if (c.judged > 0)
		put_all(g);
	if (c.suspected > 0)
		put_evidence(g);
	section_begin(g, "method", "How this is found", "What it can and cannot tell.");
	put(&g->p, "<p>Each job on two nodes or more says how much longer the ranks of each node computed than the "
		   "mean of its ranks. Over all "
		   "jobs, node by node, that is fitted with the programs and users as factors: a program that is "
		   "uneven says less, and a rank 0 "
		   "that is a master is no slow node. A node that is slow for every job, such as one with a hot or "
		   "throttled processor, a "
		   "disturbing daemon or memory in the wrong place, stands apart; a slow network or file system does "
		   "not, because that is not "
		   "time outside MPI. Jobs on one node, and jobs with missing ranks, say nothing here.</p>\n");
	section_end(g);
	fleet_end(g, false);
}
