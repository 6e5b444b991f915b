/* slab.h - many small things of one size that come and go. Freed ones are used again, memory goes back by slab_done().
 * One thread at a time. A slab is made by SLAB(T). */
#pragma once

#include "base/vec.h"

#define SLAB_BYTES 65536u

/* For the address sanitizer what is free is no memory. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define SLAB_HIDE(x, bytes) __asan_poison_memory_region(x, bytes)
#define SLAB_SHOW(x, bytes) __asan_unpoison_memory_region(x, bytes)
#else
#define SLAB_HIDE(x, bytes) ((void)(x), (void)(bytes))
#define SLAB_SHOW(x, bytes) ((void)(x), (void)(bytes))
#endif

struct slab {
	size_t size; /* of one, at least that of a pointer */
	void *free;  /* each points to the next */
	VEC(char *) blocks;
	size_t used; /* bytes of the last block */
	size_t live; /* things in use */
};

#define SLAB(T) ((struct slab){.size = (sizeof(T) + 15) / 16 * 16, .used = SLAB_BYTES})

/* Not cleared; NULL without memory. */
static inline void *slab_take(struct slab *s)
{
	void *x = s->free;
	if (x != NULL) {
		SLAB_SHOW(x, s->size);
		memcpy(&s->free, x, sizeof(s->free));
		__builtin_prefetch(s->free); /* the next that is taken */
	} else {
		if (s->used + s->size > SLAB_BYTES) {
			char *block = malloc(SLAB_BYTES);
			if (block == NULL || vec_push(&s->blocks, block) < 0) {
				free(block);
				return NULL;
			}
			s->used = 0;
		}
		x = s->blocks.at[s->blocks.n - 1] + s->used;
		s->used += s->size;
	}
	s->live++;
	return x;
}

static inline void slab_give(struct slab *s, void *x)
{
	memcpy(x, &s->free, sizeof(s->free));
	SLAB_HIDE(x, s->size);
	s->free = x;
	s->live--;
}

static inline void slab_done(struct slab *s)
{
	for (size_t i = 0; i < s->blocks.n; i++)
		free(s->blocks.at[i]);
	vec_done(&s->blocks);
	s->free = NULL;
}
