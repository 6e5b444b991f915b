/* place.c - links into the trace: of a page that carries it, what open.js makes links of; of others nothing but the
 * command that opens the place. */
#include "reports/html/page.h"

#include <math.h>

#define MOMENT_S 1e-5
#define MOMENT_SHARE 1e-4 /* of the run */

static bool address_of(const struct page *p, struct place at, char ret_text[PLACE_TEXT])
{
	at.end_s = p->model->runtime_s;
	if (p->model->carried == NULL || !place_address(&at, ret_text))
		return false;
	double from, to;
	if (p->places != NULL && p->places->n < PLACES_MAX && place_view(&at, &from, &to))
		p->places->at[p->places->n++] = at;
	return true;
}

bool begin_place(struct page *p, const struct place *at)
{
	char address[PLACE_TEXT];
	if (!address_of(p, *at, address))
		return false;
	put(p, "<a class=\"place\" data-at=\"");
	put_text(p, address, PLACE_TEXT);
	put(p, "\">");
	return true;
}

void end_place(struct page *p, bool begun)
{
	put(p, begun ? "</a>" : "");
}

void end_sentence(struct page *p, bool begun)
{
	put(p, begun ? " <span class=\"go\">see\xc2\xa0it\xc2\xa0\xe2\x96\xb8</span></a>" : "");
}

void put_place_data(struct page *p, const struct place *at)
{
	char address[PLACE_TEXT];
	if (!address_of(p, *at, address))
		return;
	put(p, " data-at=\"");
	put_text(p, address, PLACE_TEXT);
	put(p, "\"");
}

struct place place_of_issue(const cJSON *issue)
{
	struct place at = PLACE_ANYWHERE;
	const cJSON *worst = json_item(issue, "worst"), *from = json_first(issue, "window_s");
	double rank = json_number(worst, "rank");
	at.from_s = json_number(worst, "from_s");
	at.to_s = json_number(worst, "to_s");
	if (rank >= 0 && at.to_s > at.from_s) {
		place_add_ranks(&at, rank, rank);
		return at;
	}
	place_add_list(&at, json_item(issue, "ranks"));
	at.from_s = from != NULL ? json_number_of(from) : NAN;
	at.to_s = from != NULL && from->next != NULL ? json_number_of(from->next) : NAN;
	return at;
}

struct place place_of_ranks(double first, double last)
{
	struct place at = PLACE_ANYWHERE;
	place_add_ranks(&at, first, last);
	return at;
}

struct place place_of_site(const cJSON *callsite)
{
	struct place at = PLACE_ANYWHERE;
	at.site = json_number_or(callsite, "id", -1);
	return at;
}

void put_site_of_rank(struct page *p, const cJSON *callsite, double rank)
{
	struct place at = place_of_site(callsite);
	place_add_ranks(&at, rank, rank);
	bool link = begin_place(p, &at);
	put_callsite(p, callsite);
	end_place(p, link);
}

void put_rank_link(struct page *p, const char *before, double rank)
{
	struct place at = place_of_ranks(rank, rank);
	bool link = begin_place(p, &at);
	put(p, "%s%.0f", before, rank);
	end_place(p, link);
}

struct place place_of_moment(const struct model *m, double at_s)
{
	struct place at = PLACE_ANYWHERE;
	at.from_s = at_s;
	at.to_s = at_s + fmax(MOMENT_S, m->runtime_s * MOMENT_SHARE);
	return at;
}

void put_site_link(struct page *p, const cJSON *callsite)
{
	put_site_of_rank(p, callsite, NAN);
}
