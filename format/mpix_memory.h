/* mpix_memory.h - numbers by a key, forgotten all at once: what was seen last of a lane, for the columns that tell
 * differences. Private to format/mpix_*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mpix_memory {
	struct mpix_memory_slot {
		uint32_t key, age, window, index;
	} * slots;
	size_t cap; /* a power of two */
	uint32_t age;
};

/* Forget everything and have room for n different keys: 0 or -ENOMEM. */
int mpix_memory_begin(struct mpix_memory *m, size_t n);
/* The slot of key; *ret_known: it was asked for since mpix_memory_begin(). */
struct mpix_memory_slot *mpix_memory_at(struct mpix_memory *m, uint32_t key, bool *ret_known);
void mpix_memory_done(struct mpix_memory *m);
