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

/* By event; those of one stay as they are. v->needs_of: where those of each event begin. */
int interval_sort_needs(struct interval *v)
{
	size_t n = v->needs.n;
	if (v->needs_of != NULL && v->sorted == n)
		return 0;
	struct need *sorted = malloc((n + 1) * sizeof(*sorted));
	free(v->needs_of);
	v->needs_of = calloc(v->n + 2u, sizeof(*v->needs_of));
	if (sorted == NULL || v->needs_of == NULL) {
		free(sorted);
		return -ENOMEM;
	}
	uint32_t *next = v->needs_of + 1; /* of each event, which is where the one after it begins at last */
	for (size_t i = 0; i < n; i++)
		next[v->needs.at[i].event]++;
	for (uint32_t i = 0, first = 0, count; i < v->n; i++, first += count) {
		count = next[i];
		next[i] = first;
	}
	for (size_t i = 0; i < n; i++)
		sorted[next[v->needs.at[i].event]++] = v->needs.at[i];
	free(v->needs.at);
	v->needs.at = sorted;
	v->needs.cap = n + 1;
	v->sorted = n;
	return 0;
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
