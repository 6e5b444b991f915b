/* mpix_chunks.h - the chunks of an .mpix file that is being written, and its index: who has bytes for a chunk puts them
 * into raw. Private to format/mpix_*.c. */
#pragma once

#include "base/atomic_file.h"
#include "base/buf.h"
#include "base/error.h"
#include "format/mpix_layout.h"

#define MPIX_LOD_LEVEL 6 /* of deflate: few bytes, packed once */

struct mpix_chunks {
	struct atomic_file file;
	uint64_t offset; /* where the next chunk goes */
	struct mpix_entry *entries;
	size_t nentries, cap_entries;
	struct buf raw, packed; /* of the chunk being built */
	struct libdeflate_compressor *packer;
};

/* Begin the file, with room for the superblock. */
int mpix_chunks_begin(struct mpix_chunks *c, const char *path, struct error *e);
/* Pack c->raw and append it as one chunk; entry says what it is, place and sizes are filled in. Clears c->raw. */
int mpix_write_chunk(struct mpix_chunks *c, struct mpix_entry entry, struct error *e);
/* The bytes of a chunk whose entry is complete but for its place. */
int mpix_append_chunk(struct mpix_chunks *c, struct mpix_entry entry, const struct buf *bytes, struct error *e);
/* Index, trailer, and at last the superblock that makes the file whole. */
int mpix_chunks_seal(struct mpix_chunks *c, struct error *e);
/* Back to where chunks ended before offset: whatever came behind is gone. */
int mpix_chunks_unseal(struct mpix_chunks *c, uint64_t offset, struct error *e);
/* What is not committed (base/atomic_file.h) leaves no file. */
void mpix_chunks_done(struct mpix_chunks *c);
