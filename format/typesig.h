/* typesig.h - signatures of datatypes as numbers (MPI 4.0, 5.1: the sequence of basic types, without displacements),
 * so that a send and a receive can be compared (3.3.1) without knowing how their types were made.
 *
 * The sequence b1 ... bn is the number b1 r^(n-1) + ... + bn modulo the prime 2^61 - 1 (Karp and Rabin 1987): of a
 * concatenation it follows from those of the parts. Equal sequences have equal numbers; two different ones agree
 * by chance once in 10^16 or so. */
#pragma once

#include "base/fnv.h"

#include <stdint.h>

#define TYPESIG_PRIME ((1ull << 61) - 1)
#define TYPESIG_RADIX 0x0d4c9a6b3f27e851ull

/* elements = 0: the empty sequence, or, if the type has a size, not known or fitting everything (MPI_PACKED). */
struct typesig {
	uint64_t hash;
	uint64_t elements; /* basic types */
};

static inline uint64_t typesig_multiply(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	uint64_t sum = (uint64_t)(product & TYPESIG_PRIME) + (uint64_t)(product >> 61);
	return sum >= TYPESIG_PRIME ? sum - TYPESIG_PRIME : sum;
}

/* One basic type, recognised by its name in the standard. */
static inline struct typesig typesig_basic(const char *name, uint64_t len)
{
	uint64_t h = FNV_SEED;
	for (uint64_t i = 0; i < len; i++)
		h = fnv_byte(h, (unsigned char)name[i]);
	return (struct typesig){h % (TYPESIG_PRIME - 1) + 1, 1};
}

static inline uint64_t typesig_add(uint64_t a, uint64_t b)
{
	return a + b >= TYPESIG_PRIME ? a + b - TYPESIG_PRIME : a + b;
}

/* The radix to the power of n. */
static inline uint64_t typesig_power(uint64_t n)
{
	uint64_t power = 1, square = TYPESIG_RADIX;
	for (; n != 0; n >>= 1) {
		if ((n & 1) != 0)
			power = typesig_multiply(power, square);
		square = typesig_multiply(square, square);
	}
	return power;
}

static inline struct typesig typesig_concat(struct typesig a, struct typesig b)
{
	uint64_t hash = typesig_add(typesig_multiply(a.hash, typesig_power(b.elements)), b.hash);
	return (struct typesig){hash, a.elements + b.elements};
}

/* count times the same: the signature of a message of count elements of a type. With R = radix^elements it is
 * hash (R^(count-1) + ... + R + 1); sum and power of the first n bits of count give those of one bit more. */
static inline struct typesig typesig_repeat(struct typesig one, uint64_t count)
{
	uint64_t sum = 0, power = 1, radix = count > 1 ? typesig_power(one.elements) : 1;
	for (int bit = count != 0 ? 63 - __builtin_clzll(count) : -1; bit >= 0; bit--) {
		sum = typesig_multiply(sum, typesig_add(power, 1));
		power = typesig_multiply(power, power);
		if ((count >> bit & 1) != 0) {
			sum = typesig_add(typesig_multiply(sum, radix), 1);
			power = typesig_multiply(power, radix);
		}
	}
	return (struct typesig){typesig_multiply(one.hash, sum), one.elements * count};
}
