/* show_traffic.c - who sends how much how far, and who makes others wait, in `mpitrace show`: the tables of the page.
 */
#include "cli/print.h"
#include "cli/show_text.h"
#include "reports/text/places.h"
#include "reports/text/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- traffic ---- */

static void put_links(const cJSON *a)
{
	size_t n;
	const cJSON **rows = json_objects_by(json_item(a, "matrix"), "p2p", "bytes", &n);
	while (n > 0 && isnan(json_number(rows[n - 1], "bytes"))) /* they come last */
		n--;
	if (n > 0)
		printf("\nHeaviest links, point-to-point\n  %-24s %11s %9s\n", "from -> to rank", "messages", "data");
	for (size_t i = 0; i < n && i < SHOW_TOP; i++) {
		char pair[48];
		snprintf(pair, sizeof(pair), "%.0f -> %.0f", json_number_or(rows[i], "src", -1),
			 json_number_or(rows[i], "dst", -1));
		printf("  %-24s %11s %9s\n", pair, show_known(rows[i], "messages", count_text).s,
		       show_known(rows[i], "bytes", bytes_text).s);
	}
	free(rows);
}

static void put_places(const cJSON *a)
{
	const cJSON *kinds = json_item(a, "traffic_places");
	if (!places_any(kinds))
		return;
	printf("\nHow far data goes\n  %-34s %11s %9s %11s %9s\n", "", "messages", "data", "collectives", "one-sided");
	for (size_t i = 0; i < TRAFFIC_PLACES; i++) {
		struct place_sums s = place_sums(kinds, i);
		if (s.any)
			printf("  %-34s %11s %9s %11s %9s\n", traffic_places[i].name, count_text(s.messages).s,
			       bytes_text(s.p2p).s, bytes_text(s.collective).s, bytes_text(s.rma).s);
	}
}

static void put_sizes(const cJSON *a)
{
	double most = 0;
	for (const cJSON *v = json_first(a, "message_sizes"); v != NULL; v = v->next)
		most = fmax(most, json_number(v, "messages"));
	if (json_count(a, "message_sizes") > 0)
		printf("\nSizes of messages, and of what a call of a collective moves, from\n  %-12s %13s %9s %13s "
		       "%9s\n",
		       "", "messages", "data", "collectives", "data");
	for (const cJSON *v = json_first(a, "message_sizes"); v != NULL; v = v->next) {
		printf("  %-12s %13s %9s %13s %9s", bytes_text(json_number(v, "from_bytes")).s,
		       show_known(v, "messages", count_text).s, show_known(v, "message_bytes", bytes_text).s,
		       show_known(v, "collectives", count_text).s, show_known(v, "collective_bytes", bytes_text).s);
		int full = most > 0 ? (int)lround(fmax(json_number(v, "messages"), 0) / most * 12) : 0;
		printf("%s%.*s\n", full > 0 ? "  " : "", full, "############");
	}
}

void show_traffic(const cJSON *a)
{
	put_links(a);
	put_places(a);
	put_sizes(a);
}

#define LAST_SHOWN 4

/* ---- who comes last, who makes others wait ---- */

static const cJSON *find_site(const cJSON *a, const cJSON *id)
{
	for (const cJSON *site = json_first(a, "callsites"); site != NULL; site = site->next)
		if (json_number(site, "id") == json_number_of(id))
			return site;
	return NULL;
}

/* On a line of its own: the columns leave no room. */
static void put_site(const cJSON *site)
{
	if (site == NULL) {
		putchar('\n');
		return;
	}
	fputs("\n      ", stdout);
	show_place(site, 74);
}

static void put_last_ranks(const cJSON *arrivals)
{
	size_t shown = 0, n = json_count(arrivals, "last_ranks");
	for (const cJSON *v = json_first(arrivals, "last_ranks"); v != NULL && shown < LAST_SHOWN; v = v->next)
		printf("%s %.0f (%s)", shown++ > 0 ? "," : "  last most often: rank", json_number_or(v, "rank", -1),
		       show_known(v, "times", count_text).s);
	double more = (double)(n - shown) + fmax(json_number(arrivals, "last_ranks_left_out"), 0);
	if (more > 0)
		printf(" and %s more", count_text(more).s);
	if (n > 0)
		putchar('\n');
}

void show_arrivals(const cJSON *a)
{
	const cJSON *arrivals = json_item(a, "collective_arrivals");
	size_t n = json_count(arrivals, "callsites"), shown = 0;
	if (n > 0)
		printf("\nCollectives by call site, longest wait for the last rank first\n  %-18s %11s %9s %9s %9s "
		       "%8s\n",
		       "", "operations", "apart", "at most", "waiting", "last");
	for (const cJSON *row = json_first(arrivals, "callsites"); row != NULL && shown < SHOW_TOP; row = row->next) {
		const cJSON *site = find_site(a, json_item(row, "callsite"));
		printf("  %-18s %11s %11s %11s %11s %8.0f", show_name(json_text(site, "op", "?"), 18, false).s,
		       show_known(row, "operations", count_text).s, show_known(row, "mean_s", seconds_text).s,
		       show_known(row, "max_s", seconds_text).s,
		       site == NULL ? "-" : seconds_text(json_number(site, "wait_s")).s,
		       fmax(json_number(row, "last_rank"), 0));
		put_site(site);
		shown++;
	}
	show_more(n);
	put_last_ranks(arrivals);
}

void show_delays(const cJSON *a)
{
	const cJSON *delays = json_item(a, "delays"), *row = json_first(delays, "callsites");
	double waits_s = fmax(json_number(delays, "waits_s"), 0);
	if (row == NULL || delay_cost(row) <= 0 || delay_cost(row) < DELAY_SHARE_MIN * waits_s)
		return;
	printf("\nDelays: %s of waiting, caused in a call or in the computation before it\n  %-22s %11s %13s %12s\n",
	       seconds_text(waits_s).s, "", "mostly rank", "others waited", "indirectly");
	for (size_t i = 0; row != NULL && i < SHOW_TOP && delay_cost(row) >= DELAY_SHARE_MIN * waits_s;
	     row = row->next, i++) {
		const cJSON *site = find_site(a, json_item(row, "callsite")), *rank = json_item(row, "rank");
		bool before = strcmp(json_text(row, "kind", ""), "computing_before") == 0;
		double indirect = fmax(json_number(row, "indirect_s"), 0);
		char who[16] = "";
		if (cJSON_IsNumber(rank))
			snprintf(who, sizeof(who), "%.0f", fmin(fmax(rank->valuedouble, -1), 1e9));
		printf("  %-6s %-17s %9s %13s %12s", before ? "before" : "in",
		       show_name(json_text(site, "op", "a call"), 17, false).s, who, seconds_text(delay_cost(row)).s,
		       indirect > 0 ? seconds_text(indirect).s : "-");
		put_site(site);
	}
}

void show_correctness(const cJSON *a)
{
	size_t i = 0;
	const cJSON *row = json_first(a, "correctness");
	if (row != NULL)
		puts("\nCorrectness, the worst first (severity, count)");
	for (; row != NULL && i < SHOW_TOP; row = row->next, i++) {
		printf("  - %s (%s, %s)\n    ", show_name(json_text(row, "kind", "?"), 40, true).s,
		       show_name(json_text(row, "severity", "?"), 12, false).s, show_known(row, "count", count_text).s);
		show_words(json_text(row, "what", ""), 4, 4);
	}
	show_more(json_count(a, "correctness"));
}
