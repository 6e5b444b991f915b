/* search.h - where in something sorted. */
#pragma once

#include <stddef.h>

/* The first index i from first up to end (without it) for which `before`, an expression of i, is false; end if there
 * is none. Where it is true once, it is so for all smaller ones. */
#define search_first(first, end, i, before) \
	({ \
		size_t from_ = (first), to_ = (end); \
		while (from_ < to_) { \
			size_t i = from_ + (to_ - from_) / 2; \
			if (before) \
				from_ = i + 1; \
			else \
				to_ = i; \
		} \
		from_; \
	})
