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
#define MPIC_VERSION_OLDEST \
	2 /* that can be read: its event blocks write times another way, and any END block ends it */

/* The first bytes of a file: u8[8] magic, u32 version, u32 id (0 in version 2). */
extern const uint8_t mpic_magic[8];
extern const uint8_t mpic_block_magic[4];

struct mpic_head {
	uint32_t version, id;
};

/* 0, or -EBADMSG with text that calls the file `path`. */
int mpic_parse_head(const uint8_t *bytes, size_t len_bytes, const char *path, struct mpic_head *ret_head,
		    struct error *e);
/* Does this block, found in a file with that head, say that the file is finished? */
bool mpic_ends(struct mpic_head head, const struct mpic_block *b);

/* Read exactly that; 0, -EBADMSG when the file is shorter, or -errno. */
int mpic_read_at(int fd, uint64_t offset, void *to, size_t len_bytes);
/* Parse and check a header; 0 or -EBADMSG. *ret_crc = CRC the payload must have. */
int mpic_parse_header(const uint8_t bytes[MPIC_HEADER_BYTES], struct mpic_block *ret_block, uint32_t *ret_crc);
