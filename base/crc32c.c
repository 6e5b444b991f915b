/* crc32c.c - see crc32c.h. The SSE4.2 instruction where the processor has it, a table elsewhere. */
#include "base/crc32c.h"

#include <string.h>

static uint32_t table[256];

__attribute__((constructor)) static void fill_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t r = i;
		for (int bit = 0; bit < 8; bit++)
			r = (r >> 1) ^ (r & 1 ? 0x82f63b78u : 0);
		table[i] = r;
	}
}

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t n)
{
	while (n-- > 0)
		crc = (crc >> 8) ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t n)
{
	uint64_t wide = crc;
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	while (n-- > 0)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len_bytes)
{
	crc = ~crc;
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~by_instruction(crc, data, len_bytes);
#endif
	return ~by_table(crc, data, len_bytes);
}
