/* slab.h - many small things of one size that come and go. Freed ones are used again, memory goes back by slab_done().
 * One thread at a time. A slab is made by SLAB(T). */
#pragma once

#include "base/vec.h"

#define SLAB_BYTES 65536u
#define SLAB_LINE_BYTES 64u
#define SLAB_AHEAD 6u /* things taken before the one of which memory is asked for */

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
	size_t size;	  /* of one */
	VEC(void *) free; /* room for all there are; the last is taken first */
	VEC(char *) blocks;
	size_t used; /* bytes of the last block */
	size_t live; /* things in use */
};

/* Larger things begin with a cache line, so that they lie in as few as they can. */
#define SLAB_ROUND(size) ((size) > SLAB_LINE_BYTES / 2 ? SLAB_LINE_BYTES : 16u)
#define SLAB_SIZE(size) (((size) + SLAB_ROUND(size) - 1) / SLAB_ROUND(size) * SLAB_ROUND(size))
#define SLAB(T) ((struct slab){.size = SLAB_SIZE(sizeof(T)), .used = SLAB_BYTES})

/* Memory of one that is taken soon: what was given back lies anywhere. */
static inline void slab_ask(const struct slab *s)
{
	if (s->free.n < SLAB_AHEAD)
		return;
	const char *next = s->free.at[s->free.n - SLAB_AHEAD];
	for (size_t at = 0; at < s->size; at += SLAB_LINE_BYTES)
		__builtin_prefetch(next + at, 1);
}

/* One more block, and room to give back what is in it: 0 or -ENOMEM. */
static inline int slab_grow(struct slab *s)
{
	size_t things = (s->blocks.n + 1) * (SLAB_BYTES / s->size);
	char *block = aligned_alloc(SLAB_LINE_BYTES, SLAB_BYTES);
	if (block == NULL || vec_grow(&s->free.at, &s->free.cap, things, sizeof(*s->free.at)) < 0 ||
	    vec_push(&s->blocks, block) < 0) {
		free(block);
		return -ENOMEM;
	}
	s->used = 0;
	return 0;
}

/* Not cleared; NULL without memory. */
static inline void *slab_take(struct slab *s)
{
	void *x;
	if (s->free.n > 0) {
		x = s->free.at[--s->free.n];
		SLAB_SHOW(x, s->size);
		slab_ask(s);
	} else {
		if (s->used + s->size > SLAB_BYTES && slab_grow(s) < 0)
			return NULL;
		x = s->blocks.at[s->blocks.n - 1] + s->used;
		s->used += s->size;
	}
	s->live++;
	return x;
}

static inline void slab_give(struct slab *s, void *x)
{
	SLAB_HIDE(x, s->size);
	s->free.at[s->free.n++] = x;
	s->live--;
}

static inline void slab_done(struct slab *s)
{
	for (size_t i = 0; i < s->blocks.n; i++)
		free(s->blocks.at[i]);
	vec_done(&s->blocks);
	vec_done(&s->free);
}
