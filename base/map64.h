/* map64.h - from a number to a pointer, of what comes and goes. A zeroed struct is empty; map64_done() frees. */
#pragma once

#include "base/index.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

struct map64 {
	struct map64_place {
		uint64_t key;
		void *value; /* NULL: free */
	} * at;
	size_t cap, n; /* cap: 0 or a power of two */
};

static inline size_t map64_home(const struct map64 *m, uint64_t key)
{
	return index_mix(key, 0) & (m->cap - 1);
}

static inline void map64_place_(struct map64 *m, uint64_t key, void *value)
{
	size_t i = map64_home(m, key);
	while (m->at[i].value != NULL)
		i = (i + 1) & (m->cap - 1);
	m->at[i] = (struct map64_place){key, value};
}

/* A key that is not there; value is not NULL. 0 or -ENOMEM. */
static inline int map64_add(struct map64 *m, uint64_t key, void *value)
{
	if (2 * (m->n + 1) > m->cap) {
		struct map64 more = {.cap = m->cap == 0 ? 64 : 2 * m->cap, .n = m->n};
		more.at = calloc(more.cap, sizeof(*more.at));
		if (more.at == NULL)
			return -ENOMEM;
		for (size_t i = 0; i < m->cap; i++)
			if (m->at[i].value != NULL)
				map64_place_(&more, m->at[i].key, m->at[i].value);
		free(m->at);
		*m = more;
	}
	map64_place_(m, key, value);
	m->n++;
	return 0;
}

/* NULL: it is not there. */
static inline void *map64_get(const struct map64 *m, uint64_t key)
{
	if (m->n == 0)
		return NULL;
	size_t i = map64_home(m, key);
	while (m->at[i].value != NULL && m->at[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return m->at[i].value;
}

/* The same, and it is not there any more. What stands behind it moves up. */
static inline void *map64_take(struct map64 *m, uint64_t key)
{
	if (m->n == 0)
		return NULL;
	size_t i = map64_home(m, key);
	while (m->at[i].value != NULL && m->at[i].key != key)
		i = (i + 1) & (m->cap - 1);
	void *value = m->at[i].value;
	if (value == NULL)
		return NULL;
	for (size_t k = (i + 1) & (m->cap - 1); m->at[k].value != NULL; k = (k + 1) & (m->cap - 1)) {
		size_t home = map64_home(m, m->at[k].key);
		if (((k - home) & (m->cap - 1)) < ((k - i) & (m->cap - 1)))
			continue;
		m->at[i] = m->at[k];
		i = k;
	}
	m->at[i].value = NULL;
	m->n--;
	return value;
}

static inline void map64_done(struct map64 *m)
{
	free(m->at);
	*m = (struct map64){0};
}
