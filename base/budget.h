/* budget.h - how much memory what stands in a file may cost: a few bytes there may claim that there are millions. What
 * would exceed it is damage. Several threads may take at once. */
#pragma once

#include "base/vec.h"

#include <stdbool.h>

/* For each byte of a file: a definition, a thread or a member of an object is some bytes there, and in memory more. */
#define BUDGET_SHARE 64u
#define BUDGET_BYTES (256ull << 20)
#define BUDGET_JSON_NODE_BYTES 80u /* a cJSON and its share of the heap */

struct budget {
	uint64_t kept_bytes, max_bytes;
	uint64_t refused; /* how often there was no room */
};

static inline struct budget budget_for(uint64_t file_bytes)
{
	return (struct budget){.max_bytes = BUDGET_SHARE * file_bytes + BUDGET_BYTES};
}

/* 0, or -EBADMSG when no honest file needs so many more. */
static inline int budget_take(struct budget *b, uint64_t bytes)
{
	if (bytes <= b->max_bytes && __atomic_add_fetch(&b->kept_bytes, bytes, __ATOMIC_RELAXED) <= b->max_bytes)
		return 0;
	if (bytes <= b->max_bytes)
		__atomic_sub_fetch(&b->kept_bytes, bytes, __ATOMIC_RELAXED);
	__atomic_add_fetch(&b->refused, 1, __ATOMIC_RELAXED);
	return -EBADMSG;
}

/* vec_reach() within it: 0, -ENOMEM or -EBADMSG. */
#define budget_reach(b, v, i) budget_reach_((b), &(v)->at, &(v)->n, &(v)->cap, sizeof(*(v)->at), (i))

static inline int budget_reach_(struct budget *b, void *at, size_t *n, size_t *cap, size_t size, size_t i)
{
	int code = i < *n ? 0 : budget_take(b, (i + 1 - *n) * size);
	return code < 0 ? code : vec_reach_(at, n, cap, size, i);
}

/* What the values of a JSON text take when they are parsed: each stands behind a bracket or a comma. */
static inline int budget_json(struct budget *b, const char *text, size_t len_bytes)
{
	uint64_t nodes = 1;
	bool quoted = false;
	for (size_t i = 0; i < len_bytes; i++) {
		if (text[i] == '\\' && quoted)
			i++;
		else if (text[i] == '"')
			quoted = !quoted;
		else
			nodes += !quoted && (text[i] == ',' || text[i] == '[' || text[i] == '{');
	}
	return budget_take(b, nodes * BUDGET_JSON_NODE_BYTES + len_bytes);
}
