/* siphash.h - SipHash-2-4, a keyed hash of 64 bits (Aumasson, Bernstein: SipHash: a fast short-input PRF, 2012): who
 * has not the key learns nothing from it of what was hashed, nor what two inputs have in common. */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIPHASH_KEY_BYTES 16

static inline uint64_t siphash_rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void siphash_rounds(uint64_t v[4], unsigned n)
{
	while (n-- > 0) {
		v[0] += v[1];
		v[1] = siphash_rotate(v[1], 13) ^ v[0];
		v[0] = siphash_rotate(v[0], 32);
		v[2] += v[3];
		v[3] = siphash_rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = siphash_rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = siphash_rotate(v[1], 17) ^ v[2];
		v[2] = siphash_rotate(v[2], 32);
	}
}

/* So many bytes as a number, the first one lowest. */
static inline uint64_t siphash_word(const void *bytes, size_t n)
{
	uint64_t word = 0;
	memcpy(&word, bytes, n);
	return le64toh(word);
}

static inline uint64_t siphash(const uint8_t key[SIPHASH_KEY_BYTES], const void *data, size_t len_bytes)
{
	const uint8_t *at = data;
	uint64_t a = siphash_word(key, 8), b = siphash_word(key + 8, 8), m;
	uint64_t v[4] = {a ^ 0x736f6d6570736575ull, b ^ 0x646f72616e646f6dull, a ^ 0x6c7967656e657261ull,
			 b ^ 0x7465646279746573ull};
	for (size_t left = len_bytes;; left -= 8, at += 8) {
		m = siphash_word(at, left < 8 ? left : 8) | (left < 8 ? (uint64_t)len_bytes << 56 : 0);
		v[3] ^= m;
		siphash_rounds(v, 2);
		v[0] ^= m;
		if (left < 8)
			break;
	}
	v[2] ^= 0xff;
	siphash_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
