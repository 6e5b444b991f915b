/* crc32c.h - CRC-32C (Castagnoli, RFC 3720 appendix B.4). crc32c(0, "123456789", 9) == 0xe3069283. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Continue crc over len_bytes of data; start with 0. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len_bytes);
