/* place.c - see place.h. */
#include "reports/text/place.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AROUND 2 /* times as long as what is marked is shown before and after it */
#define NS 1e9
#define RANK_MOST 1e9
#define TIME_MOST_S 1e9

void place_add_ranks(struct place *p, double first, double last)
{
	char text[32];
	size_t len = strlen(p->ranks);
	if (!(first >= 0 && last >= first && last <= RANK_MOST))
		return;
	int n = snprintf(text, sizeof(text), last > first ? "%s%.0f-%.0f" : "%s%.0f", len > 0 ? "," : "", first, last);
	if (len + (size_t)n < sizeof(p->ranks))
		memcpy(p->ranks + len, text, (size_t)n + 1);
}

void place_add_list(struct place *p, const cJSON *ranks)
{
	const cJSON *v = cJSON_IsArray(ranks) ? ranks->child : NULL;
	while (v != NULL) {
		double first = json_number_of(v), last = first;
		for (v = v->next; v != NULL && json_number_of(v) == last + 1; v = v->next)
			last++;
		place_add_ranks(p, first, last);
	}
}

void place_ranks(const struct place *p, uint32_t *ret_first, uint32_t *ret_last)
{
	const char *at = p->ranks;
	*ret_first = *at != '\0' ? UINT32_MAX : 0;
	*ret_last = *at != '\0' ? 0 : UINT32_MAX;
	while (*at != '\0') {
		char *end;
		uint32_t rank = (uint32_t)strtoul(at, &end, 10);
		*ret_first = rank < *ret_first ? rank : *ret_first;
		*ret_last = rank > *ret_last ? rank : *ret_last;
		at = *end != '\0' ? end + 1 : end; /* behind a comma or a dash */
	}
}

bool place_view(const struct place *p, double *ret_from_ns, double *ret_to_ns)
{
	double from = p->from_s * NS, to = p->to_s * NS, around = AROUND * (to - from);
	*ret_from_ns = fmax(from - around, 0);
	*ret_to_ns = p->end_s >= p->to_s ? fmin(to + around, p->end_s * NS) : to + around;
	return p->from_s >= 0 && p->to_s > p->from_s && p->to_s <= TIME_MOST_S;
}

bool place_address(const struct place *p, char ret_text[PLACE_TEXT])
{
	double from, to;
	int at = 0;
	ret_text[0] = '\0';
	if (place_view(p, &from, &to))
		at = snprintf(ret_text, PLACE_TEXT, "t=%.0f~%.0f&mark=%.0f~%.0f", from, to, p->from_s * NS,
			      p->to_s * NS);
	if (p->ranks[0] != '\0')
		at += snprintf(ret_text + at, PLACE_TEXT - (size_t)at, "%sranks=%s", at > 0 ? "&" : "", p->ranks);
	if (p->site >= 0 && p->site <= RANK_MOST)
		at += snprintf(ret_text + at, PLACE_TEXT - (size_t)at, "%sfilter.sites=%.0f", at > 0 ? "&" : "",
			       p->site);
	return at > 0;
}
