/* mpic_block.h - the header in front of every block, shared by the writer and the scanner. */
#pragma once

#include "base/cursor.h"
#include "format/mpic.h"

/* offset  size
 *      0     4  magic "MPBK"
 *      4     1  kind
 *      5     1  codec: 1 = raw deflate
 *      6     2  zero
 *      8     4  process
 *     12     4  thread
 *     16     8  seq
 *     24     4  raw length
 *     28     4  packed length
 *     32     4  CRC-32C of the packed payload
 *     36     4  CRC-32C of bytes 0-35
 *     40        packed payload
 */
#define MPIC_HEADER_BYTES 40
#define MPIC_MAGIC_BYTES 16
#define MPIC_VERSION 3
#define MPIC_VERSION_OLDEST 2 /* that can be read: its event blocks tell times another way */

extern const uint8_t mpic_magic[MPIC_MAGIC_BYTES];
extern const uint8_t mpic_block_magic[4];

/* Parse and check a header; 0 or -EBADMSG. *ret_crc = CRC the payload must have. */
int mpic_parse_header(const uint8_t bytes[MPIC_HEADER_BYTES], struct mpic_block *ret_block, uint32_t *ret_crc);
