/* memory.c - malloc() and its like in the browser: one block behind the other, the last one grown and freed in place;
 * others that are freed wait, by size, for who wants one. memory_reset() forgets all at once. Pages come from the
 * browser, which may refuse. */
#include "reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 16u
#define PAGE_BYTES 65536u
#define BYTES_MAX (1u << 30) /* more the module does not get */
#define SIZES 32u

extern uint8_t __heap_base[]; /* of the linker */

/* Before each block; the block is as long as there is room. */
struct head {
	size_t room_bytes;
	struct head *next_free;
};

static uint8_t *next, *kept;
static struct head *free_of[SIZES]; /* by the power of two that a block has room for */

static struct head *head_of(const void *block)
{
	return (struct head *)((uintptr_t)block - ALIGN);
}

static uint8_t *end_of(const void *block)
{
	return (uint8_t *)block + head_of(block)->room_bytes;
}

static size_t rounded(size_t len_bytes)
{
	return len_bytes > 0 ? (len_bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
}

/* Memory up to there. */
static int reach(uintptr_t end)
{
	size_t pages = __builtin_wasm_memory_size(0), wanted = (end + PAGE_BYTES - 1) / PAGE_BYTES;
	return wanted <= pages || __builtin_wasm_memory_grow(0, wanted - pages) != SIZE_MAX ? 0 : -1;
}

/* One that is free and large enough: of the next power of two any is. */
static void *pop_free(size_t len_bytes)
{
	struct head **at = &free_of[32u - (unsigned)__builtin_clz((unsigned)rounded(len_bytes) - 1)], *h = *at;
	if (h == NULL)
		return NULL;
	*at = h->next_free;
	return (uint8_t *)h + ALIGN;
}

void *malloc(size_t len_bytes)
{
	if (next == NULL)
		next = kept = (uint8_t *)(((uintptr_t)__heap_base + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
	uint8_t *block = len_bytes <= BYTES_MAX ? pop_free(len_bytes) : NULL;
	if (block != NULL)
		return block;
	block = next + ALIGN;
	if (len_bytes > BYTES_MAX || (uintptr_t)block > UINTPTR_MAX - 2 * ALIGN - len_bytes ||
	    reach((uintptr_t)block + rounded(len_bytes) + ALIGN) < 0)
		return NULL;
	*head_of(block) = (struct head){rounded(len_bytes), NULL};
	next = end_of(block);
	return block;
}

void free(void *block)
{
	if (block == NULL)
		return;
	struct head *h = head_of(block);
	if (end_of(block) == next) {
		next = (uint8_t *)h;
	} else {
		struct head **of = &free_of[31u - (unsigned)__builtin_clz((unsigned)h->room_bytes)];
		h->next_free = *of;
		*of = h;
	}
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
	struct head *h = head_of(block);
	if (len_bytes <= h->room_bytes)
		return block;
	if (end_of(block) == next && len_bytes <= BYTES_MAX &&
	    reach((uintptr_t)block + rounded(len_bytes) + ALIGN) == 0) {
		h->room_bytes = rounded(len_bytes);
		next = end_of(block);
		return block;
	}
	void *moved = malloc(len_bytes);
	if (moved != NULL) {
		memcpy(moved, block, h->room_bytes);
		free(block);
	}
	return moved;
}

void memory_keep(void)
{
	kept = next;
}

void memory_reset(void)
{
	if (kept == NULL)
		return;
	next = kept;
	memset(free_of, 0, sizeof(free_of));
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

/* Shifts of 128 bits. */
__int128 __lshrti3(__int128 value, int by);
__int128 __ashlti3(__int128 value, int by);

__int128 __lshrti3(__int128 value, int by)
{
	uint64_t low = (uint64_t)value, high = (uint64_t)((unsigned __int128)value >> 64);
	if (by == 0)
		return value;
	low = by < 64 ? low >> by | high << (64 - by) : high >> (by - 64);
	high = by < 64 ? high >> by : 0;
	return (__int128)((unsigned __int128)high << 64 | low);
}

__int128 __ashlti3(__int128 value, int by)
{
	uint64_t low = (uint64_t)value, high = (uint64_t)((unsigned __int128)value >> 64);
	if (by == 0)
		return value;
	high = by < 64 ? high << by | low >> (64 - by) : low << (by - 64);
	low = by < 64 ? low << by : 0;
	return (__int128)((unsigned __int128)high << 64 | low);
}
