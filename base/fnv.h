/* fnv.h - FNV-1a, 64 bits (Fowler, Noll, Vo; http://www.isthe.com/chongo/tech/comp/fnv/). Start with FNV_SEED. */
#pragma once

#include <stdint.h>

#define FNV_SEED 0xcbf29ce484222325ull

static inline uint64_t fnv_byte(uint64_t hash, unsigned char byte)
{
	return (hash ^ byte) * 0x100000001b3ull;
}

static inline uint64_t fnv_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = fnv_byte(hash, (unsigned char)*text);
	return hash;
}
