/* index.c - see index.h. Open addressing, linear probing, at most two thirds full. */
#include "base/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t index_hash(uint64_t seed, const void *data, size_t len_bytes)
{
	const uint8_t *p = data;
	uint64_t h = seed;
	for (size_t i = 0; i < len_bytes; i++)
		h = fnv_byte(h, p[i]);
	return index_mix(h, len_bytes);
}

uint32_t index_find(const struct index *x, uint64_t hash, index_equal equal, const void *context)
{
	if (x->cap == 0)
		return INDEX_NONE;
	for (size_t i = hash & (x->cap - 1); x->slots[i] != 0; i = (i + 1) & (x->cap - 1))
		if (x->hashes[i] == hash && equal(context, x->slots[i] - 1))
			return x->slots[i] - 1;
	return INDEX_NONE;
}

static void place(struct index *x, uint64_t hash, uint32_t slot)
{
	size_t i = hash & (x->cap - 1);
	while (x->slots[i] != 0)
		i = (i + 1) & (x->cap - 1);
	x->slots[i] = slot;
	x->hashes[i] = hash;
}

static int grow(struct index *x)
{
	struct index big = {.cap = x->cap == 0 ? 64 : x->cap * 2, .n = x->n};
	big.slots = calloc(big.cap, sizeof(*big.slots));
	big.hashes = malloc(big.cap * sizeof(*big.hashes));
	if (big.slots == NULL || big.hashes == NULL) {
		index_done(&big);
		return -ENOMEM;
	}
	for (size_t i = 0; i < x->cap; i++)
		if (x->slots[i] != 0)
			place(&big, x->hashes[i], x->slots[i]);
	index_done(x);
	*x = big;
	return 0;
}

int index_add(struct index *x, uint64_t hash, uint32_t at)
{
	if (3 * (x->n + 1) > 2 * x->cap && grow(x) < 0)
		return -ENOMEM;
	place(x, hash, at + 1);
	x->n++;
	return 0;
}

void index_clear(struct index *x)
{
	if (x->n > 0)
		memset(x->slots, 0, x->cap * sizeof(*x->slots));
	x->n = 0;
}

void index_done(struct index *x)
{
	free(x->slots);
	free(x->hashes);
	memset(x, 0, sizeof(*x));
}
