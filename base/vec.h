/* vec.h - a growing array. `VEC(T) v = {0}` is empty; elements are v.at[0 .. v.n). */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VEC(T) \
	struct { \
		T *at; \
		size_t n, cap; \
	}

/* Let the pointer at `at` (to any type, so it is copied as bytes) have room for want elements. */
static inline int vec_resize_(void *at, size_t want, size_t *cap, size_t size)
{
	void *old, *grown;
	size_t bytes;
	if (__builtin_mul_overflow(want, size, &bytes))
		return -ENOMEM;
	memcpy(&old, at, sizeof(old));
	grown = realloc(old, bytes);
	if (grown == NULL)
		return -ENOMEM;
	memcpy(at, &grown, sizeof(grown));
	*cap = want;
	return 0;
}

/* Room for want elements of size bytes in the array that the pointer at `at` points to, half as many again when it
 * has to grow: for arrays whose length and capacity stand in places of their own. 0 or -ENOMEM. */
static inline int vec_grow(void *at, size_t *cap, size_t want, size_t size)
{
	if (__builtin_expect(want <= *cap, 1))
		return 0;
	size_t more = *cap < 16 ? 16 : *cap + *cap / 2;
	return vec_resize_(at, want > more ? want : more, cap, size);
}

/* Append one element (any expression of type T, e.g. a compound literal): 0 or -ENOMEM. */
#define vec_push(v, ...) \
	(vec_grow(&(v)->at, &(v)->cap, (v)->n + 1, sizeof(*(v)->at)) < 0 ? -ENOMEM \
									 : ((v)->at[(v)->n++] = (__VA_ARGS__), 0))

/* The same of an element that is filled in then: where it stands, or NULL. */
#define vec_more(v) (vec_grow(&(v)->at, &(v)->cap, (v)->n + 1, sizeof(*(v)->at)) < 0 ? NULL : &(v)->at[(v)->n++])

/* Append all elements of another vector of the same type: 0 or -ENOMEM. */
#define vec_append(v, other) \
	((other)->n == 0 ? 0 \
	 : vec_grow(&(v)->at, &(v)->cap, (v)->n + (other)->n, sizeof(*(v)->at)) < 0 \
		 ? -ENOMEM \
		 : (memcpy((v)->at + (v)->n, (other)->at, (other)->n * sizeof(*(v)->at)), (v)->n += (other)->n, 0))

#define vec_done(v) (free((v)->at), memset((v), 0, sizeof(*(v))))

/* Sort v; also an empty one, whose `at` is NULL. */
#define vec_sort(v, compare) ((v)->n > 1 ? qsort((v)->at, (v)->n, sizeof(*(v)->at), (compare)) : (void)0)

/* Grow v to hold index i, new elements zeroed: 0 or -ENOMEM. */
#define vec_reach(v, i) vec_reach_(&(v)->at, &(v)->n, &(v)->cap, sizeof(*(v)->at), (i))

static inline int vec_reach_(void *at, size_t *n, size_t *cap, size_t size, size_t i)
{
	char *elements;
	if (i < *n)
		return 0;
	if (i >= *cap && vec_resize_(at, i + 1 + i / 2, cap, size) < 0)
		return -ENOMEM;
	memcpy(&elements, at, sizeof(elements));
	memset(elements + *n * size, 0, (i + 1 - *n) * size);
	*n = i + 1;
	return 0;
}
