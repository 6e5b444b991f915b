/* page_nodes.c - nodes that are suspected of being slow, how sure that is, and which jobs show it. */
#include "fleet/page.h"
#include "fleet/nodes.h"

#define BINS 81 /* of the picture of all nodes; the ordinary node is in the middle */
#define REACH_LEAST 0.02
#define REACH_MOST 0.5

struct counts {
	double nodes, estimated, suspected;
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
		put(&g->p, c->estimated > 0 ? "No node is suspected of being slow."
					    : "There are too few jobs to judge any node.");
	put(&g->p,
	    "</h1>\n<p class=\"cause\">%s computed longer than the other ranks of the same jobs, by what neither "
	    "programs nor users have of their own.</p>\n<dl class=\"figures\"><div><dt>nodes in at least %d jobs that "
	    "show "
	    "it</dt><dd>%s</dd></div><div><dt>nodes with too few jobs to judge</dt><dd>%s</dd></div></dl></div>\n",
	    c->suspected > 0 ? "Ranks there" : "A slow node is one whose ranks", NODE_JOBS, fmt_count(c->estimated).s,
	    fmt_count(c->nodes - c->estimated).s);
}

static double place(double value, double least, double most)
{
	return fmax(0, fmin(100, (value - least) / (most - least) * 100));
}

static void put_effect(struct fleet_page *g, sqlite3_stmt *row, double most)
{
	double effect = sqlite3_column_double(row, 2), low = sqlite3_column_double(row, 3),
	       high = sqlite3_column_double(row, 4);
	put(&g->p, "<div class=\"effect\"><a href=\"#n%lld\">", (long long)sqlite3_column_int64(row, 0));
	put_text(&g->p, text_of(row, 1), 40);
	put(&g->p,
	    "</a><svg aria-hidden=\"true\"><rect class=\"reach\" x=\"0\" width=\"%.2f%%\" y=\"5\" height=\"6\"/><line "
	    "class=\"range\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"8\" y2=\"8\"/><circle class=\"point\" "
	    "cx=\"%.2f%%\" cy=\"8\" r=\"4\"/></svg>",
	    place(effect, 0, most), place(low, 0, most), place(high, 0, most), place(effect, 0, most));
	put(&g->p,
	    "<span>%.1f %% slower <small class=\"soft\">(%.1f to %.1f)</small></span><span>up to %s core-hours lost "
	    "<small class=\"soft\">in %s</small></span></div>\n",
	    effect * 100, low * 100, high * 100, fmt_hours(sqlite3_column_double(row, 6)).s,
	    fmt_many(sqlite3_column_double(row, 5), "job").s);
	if (sqlite3_column_double(row, 7) > 0)
		put(&g->p,
		    "<p class=\"since\">since %s <small class=\"soft\">(most likely from %s to %s; until then %.1f %% "
		    "%s)</small></p>\n",
		    fmt_moment(sqlite3_column_double(row, 7)).s, fmt_moment(sqlite3_column_double(row, 8)).s,
		    fmt_moment(sqlite3_column_double(row, 9)).s, fabs(sqlite3_column_double(row, 10)) * 100,
		    sqlite3_column_double(row, 10) < 0 ? "faster than others" : "slower than others");
	if (sqlite3_column_double(row, 11) > 0)
		put(&g->p,
		    "<p class=\"since\">jobs of %s show it, those of %s others do not; the effect is the mean over "
		    "all</p>\n",
		    fmt_many(sqlite3_column_double(row, 11), "program").s, fmt_count(sqlite3_column_double(row, 12)).s);
}

static void put_suspects(struct fleet_page *g)
{
	double most = ask_number(g, "SELECT max(high) FROM node_effects WHERE suspected", 0.1);
	sqlite3_stmt *row = ask(g,
				"SELECT e.node, n.name, e.effect, e.low, e.high, e.jobs, e.lost, e.since, e.since_low, "
				"e.since_high, e.before, e.programs, e.others FROM node_effects e JOIN names n ON "
				"n.id=e.node WHERE e.suspected ORDER BY e.effect DESC LIMIT 200",
				0);
	most = fmin(most, 2) * 1.03;
	section_begin_wide(
		g, "suspected", "Suspected nodes",
		"How much longer ranks compute there than on an ordinary node, which is at the left edge: the estimate "
		"with its 95 % interval. One node in a thousand on this list is there by chance. Lost is what the jobs "
		"would have saved if all their other ranks had to wait for this node: at most that.");
	put(&g->p, "<div class=\"effects\">\n");
	while (next(g, row))
		put_effect(g, row, most);
	put(&g->p,
	    "<div class=\"effect\" aria-hidden=\"true\"><span></span><div class=\"axis\"><span>as "
	    "ordinary</span><span>%.0f %% slower</span></div></div></div>\n",
	    most * 100);
	put_data_links(g, "nodes");
	section_end(g);
	sqlite3_finalize(row);
}

/* How far the picture reaches on either side: to the furthest node, so that none stands in the last column for many. */
static double reach_of(struct fleet_page *g)
{
	double most = ask_number(g, "SELECT max(abs(effect)) FROM node_effects WHERE jobs>=5", 0);
	return fmax(REACH_LEAST, fmin(REACH_MOST, most * 1.05));
}

static double count_bins(struct fleet_page *g, double reach, double bins[BINS])
{
	double most = 1;
	sqlite3_stmt *row = ask(g, "SELECT effect FROM node_effects WHERE jobs>=5", 0);
	while (next(g, row)) {
		long at = lround(sqlite3_column_double(row, 0) / reach * (BINS / 2)) + BINS / 2;
		double *bin = &bins[at < 0 ? 0 : at >= BINS ? BINS - 1 : at];
		most = fmax(most, ++*bin);
	}
	sqlite3_finalize(row);
	return most;
}

/* How the machine's nodes differ: a crowd around 0, and those that stand apart. */
static void put_all(struct fleet_page *g)
{
	double bins[BINS] = {0}, reach = reach_of(g), most = count_bins(g, reach, bins);
	section_begin(g, "all", "All nodes",
		      "How many nodes are how slow. The height is by logarithm, so that single nodes can be seen "
		      "beside thousands.");
	put(&g->p,
	    "<figure><figcaption><b>Nodes by how much longer ranks compute there</b> at most %s in one "
	    "column</figcaption><div class=\"chart-box\"><svg class=\"chart\" aria-hidden=\"true\">",
	    fmt_count(most).s);
	for (int i = 0; i < BINS; i++) {
		double height = bins[i] > 0 ? 150 * log2(1 + bins[i]) / log2(1 + most) : 0;
		double at = (i - BINS / 2) * reach / (BINS / 2) * 100;
		if (height > 0)
			put(&g->p,
			    "<rect class=\"few\" x=\"%.2f%%\" width=\"%.2f%%\" y=\"%.1f\" height=\"%.1f\"><title>%+.2f "
			    "%%: %s</title></rect>",
			    100.0 * i / BINS, 90.0 / BINS, 150 - height, height, at, fmt_many(bins[i], "node").s);
	}
	put(&g->p,
	    "</svg></div><div class=\"axis\"><span>%.0f %% faster</span><span>ordinary</span><span>%.0f %% "
	    "slower%s</span></div></figure>\n",
	    reach * 100, reach * 100, reach >= REACH_MOST ? " or more" : "");
	section_end(g);
}

static void put_evidence_head(struct fleet_page *g, sqlite3_int64 node, const char *name, bool first)
{
	put(&g->p, "%s<details class=\"shows\"%s><summary>", first ? "" : "</tbody></table></div></details>\n",
	    first ? " open" : "");
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
	put(&g->p, "<tr><th scope=\"row\">");
	put_job_named(g, sqlite3_column_int64(row, 3), text_of(row, 4), text_of(row, 5));
	put(&g->p, "</th><td class=\"keep\">%s</td><td>", fmt_moment(sqlite3_column_double(row, 10)).s);
	put_named(g, "user", sqlite3_column_int64(row, 19), text_of(row, 6));
	put(&g->p, "</td><td>");
	put_named(g, "program", sqlite3_column_int64(row, 20), text_of(row, 7));
	put(&g->p, "</td>");
	put_cell(g, fmt_count(sqlite3_column_double(row, 8)), sqlite3_column_double(row, 8));
	put(&g->p, "<td class=\"n\" data-v=\"%.6g\">%.1f %%</td></tr>\n", sqlite3_column_double(row, 2),
	    sqlite3_column_double(row, 2) * 100);
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
		      "For each node the jobs in which it stands out most, relative to how even that program of that "
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
	fleet_begin(g, "Nodes", PAGE_NODES);
	put_masthead(g, &c);
	if (c.suspected > 0)
		put_suspects(g);
	if (c.estimated > 0)
		put_all(g);
	put_links(g);
	if (c.suspected > 0)
		put_evidence(g);
	section_begin(g, "method", "How this is computed", "What it can and cannot show.");
	put(&g->p,
	    "<p>Each job on two nodes or more says how much longer the ranks of each node computed than the mean of "
	    "its ranks. Over all jobs, node by node, that is fitted with the programs and users as factors, before and "
	    "since "
	    "each node's last change: a program "
	    "that is uneven says less, and a rank 0 that is a master is not a slow node. A node that is slow for every "
	    "job, such as one with a hot or throttled processor, a disturbing daemon or memory in the wrong place, "
	    "stands apart, also where only some programs show it, two at least; a slow network or file system does "
	    "not, because that is not time outside MPI. Jobs on one "
	    "node, and jobs with missing ranks, say nothing here.</p>\n");
	put_basis(g);
	section_end(g);
	fleet_end(g);
}
