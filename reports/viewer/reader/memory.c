/* memory.c - malloc() and its like for the reader in the browser: one block behind the other, the last one grown and
 * freed in place, all others when memory_reset() forgets them. Pages come from the browser, which may refuse. */
#include "reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 16u
#define PAGE_BYTES 65536u
#define BYTES_MAX (1u << 31)

extern uint8_t __heap_base[]; /* of the linker */

static uint8_t *next, *kept;

/* Before each block: its length. */
static size_t *length_of(const void *block)
{
	return (size_t *)((uintptr_t)block - ALIGN);
}

static uint8_t *end_of(const void *block)
{
	return (uint8_t *)(((uintptr_t)block + *length_of(block) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
}

/* Memory up to there. */
static int reach(uintptr_t end)
{
	size_t pages = __builtin_wasm_memory_size(0), wanted = (end + PAGE_BYTES - 1) / PAGE_BYTES;
	return wanted <= pages || __builtin_wasm_memory_grow(0, wanted - pages) != SIZE_MAX ? 0 : -1;
}

void *malloc(size_t len_bytes)
{
	if (next == NULL)
		next = kept = (uint8_t *)(((uintptr_t)__heap_base + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
	uint8_t *block = next + ALIGN;
	if (len_bytes > BYTES_MAX || (uintptr_t)block > UINTPTR_MAX - ALIGN - len_bytes ||
	    reach((uintptr_t)block + len_bytes + ALIGN) < 0)
		return NULL;
	*length_of(block) = len_bytes;
	next = end_of(block);
	return block;
}

void free(void *block)
{
	if (block != NULL && end_of(block) == next)
		next = (uint8_t *)length_of(block);
}

void *calloc(size_t n, size_t size)
{
	size_t len_bytes;
	void *block = __builtin_mul_overflow(n, size, &len_bytes) ? NULL : malloc(len_bytes);
	if (block != NULL)
		memset(block, 0, len_bytes);
	return block;
}

void *realloc(void *block, size_t len_bytes)
{
	if (block == NULL)
		return malloc(len_bytes);
	size_t before = *length_of(block);
	if (end_of(block) == next && len_bytes <= BYTES_MAX && reach((uintptr_t)block + len_bytes + ALIGN) == 0) {
		*length_of(block) = len_bytes;
		next = end_of(block);
		return block;
	}
	void *moved = malloc(len_bytes);
	if (moved != NULL)
		memcpy(moved, block, before < len_bytes ? before : len_bytes);
	return moved;
}

void memory_keep(void)
{
	kept = next;
}

void memory_reset(void)
{
	if (kept != NULL)
		next = kept;
}

/* ---- of the compiler's runtime ---- */

/* The product of two numbers of 128 bits, of which clang wants the upper half to see an overflow of 64. */
__int128 __multi3(__int128 a, __int128 b);

__int128 __multi3(__int128 a, __int128 b)
{
	uint64_t al = (uint64_t)a, bl = (uint64_t)b, low = (al & UINT32_MAX) * (bl & UINT32_MAX);
	uint64_t one = (al >> 32) * (bl & UINT32_MAX) + (low >> 32);
	uint64_t other = (al & UINT32_MAX) * (bl >> 32) + (one & UINT32_MAX);
	uint64_t high = (al >> 32) * (bl >> 32) + (one >> 32) + (other >> 32);
	high += al * (uint64_t)(b >> 64) + bl * (uint64_t)(a >> 64);
	return (__int128)((unsigned __int128)high << 64 | other << 32 | (low & UINT32_MAX));
}
