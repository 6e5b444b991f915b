/* needs.c - what calls need, by call. In: needs as they are found.  Out: v->needs in order, v->needs_of. */
#include "base/sort.h"
#include "postproc/replay/parts.h"

#include <stdlib.h>

int interval_need(struct interval *v, struct need x)
{
	if (x.kind != NEED_MEETING)
		v->events[x.of].flags |= EVENT_NEEDED;
	return vec_push(&v->needs, x);
}

int interval_count_needs(struct interval *v, const struct need_list *lists, size_t nlists)
{
	free(v->needs_of);
	v->needs_of = calloc(v->n + 2u, sizeof(*v->needs_of));
	if (v->needs_of == NULL)
		return -ENOMEM;
	for (size_t k = 0; k < nlists; k++)
		for (size_t i = 0; i < lists[k].n; i++)
			v->needs_of[lists[k].at[i].event + 1]++;
	return 0;
}

int interval_place_needs(struct interval *v, const struct need_list *lists, size_t nlists)
{
	uint32_t *next = v->needs_of + 1; /* of each event, which is where the one after it begins at last */
	uint32_t n = 0;
	for (uint32_t i = 0, count; i < v->n; i++, n += count) {
		count = next[i];
		next[i] = n;
	}
	struct need *sorted = malloc((n + 1u) * sizeof(*sorted));
	if (sorted == NULL)
		return -ENOMEM;
	for (size_t k = 0; k < nlists; k++)
		for (size_t i = 0; i < lists[k].n; i++)
			sorted[next[lists[k].at[i].event]++] = lists[k].at[i];
	free(v->needs.at);
	v->needs.at = sorted;
	v->needs.n = v->sorted = n;
	v->needs.cap = n + 1u;
	return 0;
}

int interval_sort_needs(struct interval *v)
{
	struct need_list own = {v->needs.at, v->needs.n};
	if (v->needs_of != NULL && v->sorted == own.n)
		return 0;
	int code = interval_count_needs(v, &own, 1);
	return code == 0 ? interval_place_needs(v, &own, 1) : code;
}

/* They come window by window, so they are a few lists in order. */
int interval_sort_by_event(void *at, size_t n, size_t size)
{
	struct sort_key *keys = malloc((2 * n + 1) * sizeof(*keys));
	char *to = at, *from = malloc(n * size + 1);
	uint32_t event;
	if (keys != NULL && from != NULL && n > 0) {
		memcpy(from, at, n * size);
		for (size_t i = 0; i < n; i++) {
			memcpy(&event, from + i * size, sizeof(event));
			keys[i] = (struct sort_key){event, 0, (uint32_t)i};
		}
		sort_keys(keys, keys + n, n);
		for (size_t i = 0; i < n; i++)
			memcpy(to + i * size, from + keys[i].at * size, size);
	}
	int code = keys == NULL || from == NULL ? -ENOMEM : 0;
	free(keys);
	free(from);
	return code;
}
