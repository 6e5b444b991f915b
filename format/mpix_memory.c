/* mpix_memory.c - see mpix_memory.h. Forgetting is a new age, not a table cleared: that is once a lane, of hundreds a
 * chunk. */
#include "format/mpix_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mpix_memory_begin(struct mpix_memory *m, size_t n)
{
	if (m->cap < 2 * n + 2) {
		size_t cap = 64;
		while (cap < 2 * n + 2)
			cap *= 2;
		free(m->slots);
		m->slots = calloc(cap, sizeof(*m->slots));
		m->cap = m->slots != NULL ? cap : 0;
		m->age = 0;
		if (m->slots == NULL)
			return -ENOMEM;
	}
	if (++m->age == 0) {
		memset(m->slots, 0, m->cap * sizeof(*m->slots));
		m->age = 1;
	}
	return 0;
}

struct mpix_memory_slot *mpix_memory_at(struct mpix_memory *m, uint32_t key, bool *ret_known)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (m->cap - 1);
	while (m->slots[at].age == m->age && m->slots[at].key != key)
		at = (at + 1) & (m->cap - 1);
	struct mpix_memory_slot *slot = &m->slots[at];
	*ret_known = slot->age == m->age;
	if (!*ret_known)
		*slot = (struct mpix_memory_slot){key, m->age, 0, 0};
	return slot;
}

void mpix_memory_done(struct mpix_memory *m)
{
	free(m->slots);
	*m = (struct mpix_memory){0};
}
