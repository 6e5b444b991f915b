/* crc32c.c - see crc32c.h. The instruction (SSE4.2, aarch64: CRC32) where the processor has it, else a table. */
#include "base/crc32c.h"

#include <stdbool.h>
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

#ifdef __wasm__ /* which has no such instruction */

uint32_t crc32c(uint32_t crc, const void *data, size_t len_bytes)
{
	return ~by_table(~crc, data, len_bytes);
}

#else

#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define WITH_INSTRUCTION "+crc"
#define CRC_OF_WORD(crc, word) __builtin_aarch64_crc32cx((uint32_t)(crc), (word))
#define CRC_OF_BYTE __builtin_aarch64_crc32cb
#else
#define WITH_INSTRUCTION "sse4.2"
#define CRC_OF_WORD __builtin_ia32_crc32di
#define CRC_OF_BYTE __builtin_ia32_crc32qi
#endif

static bool has_instruction(void)
{
#ifdef __aarch64__
	return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#else
	return __builtin_cpu_supports("sse4.2") != 0;
#endif
}

__attribute__((target(WITH_INSTRUCTION))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t n)
{
	uint64_t wide = crc;
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		wide = CRC_OF_WORD(wide, word);
	}
	crc = (uint32_t)wide;
	while (n-- > 0)
		crc = CRC_OF_BYTE(crc, *p++);
	return crc;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len_bytes)
{
	crc = ~crc;
	return has_instruction() ? ~by_instruction(crc, data, len_bytes) : ~by_table(crc, data, len_bytes);
}

#endif
