/* index.h - a hash index over an array that somebody else owns: finds the number of an equal
 * element. A zeroed struct is empty; index_done() frees. */
#pragma once

#include "base/fnv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index {
	uint32_t *slots; /* element number plus 1; 0: free */
	size_t cap, n;
	uint64_t *hashes; /* beside slots */
};

/* Does element number `at` equal what is looked for? */
typedef bool (*index_equal)(const void *context, uint32_t at);

#define INDEX_NONE 0xffffffffu

/* The number of an element with this hash for which equal() says yes, or INDEX_NONE. */
uint32_t index_find(const struct index *x, uint64_t hash, index_equal equal, const void *context);
/* Enter element number `at`: 0 or -ENOMEM. */
int index_add(struct index *x, uint64_t hash, uint32_t at);
/* Forget all elements, keep the room. */
void index_clear(struct index *x);
void index_done(struct index *x);

/* FNV-1a, finished with a multiply-shift; start with INDEX_SEED. */
#define INDEX_SEED FNV_SEED
uint64_t index_hash(uint64_t seed, const void *data, size_t len_bytes);
/* The same quality for two words, faster. */
static inline uint64_t index_mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6))) * 0xff51afd7ed558ccdull;
	h = (h ^ (h >> 32) ^ b) * 0xc4ceb9fe1a85ec53ull;
	return h ^ (h >> 29);
}
