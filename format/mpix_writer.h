/* mpix_writer.h - a writer of .mpix: its parts, each of which owns what its header says. Private to format/mpix_*.c.
 *
 * mpix_pack() turns what one group has of one window into chunks and into its share of the levels of detail, and only
 * reads the writer. Puts append the chunks and add the shares (mpix_writer.c), so the order of puts alone decides the
 * file's bytes. */
#pragma once

#include "format/mpix_chunks.h"
#include "format/mpix_head.h"
#include "format/mpix_lod.h"
#include "format/mpix_pack.h"
#include "format/mpix_samples.h"
#include "format/mpix_summary.h"
#include "format/mpix_syncs.h"

struct mpix_writer {
	struct mpix_chunks out;
	struct mpix_head head;
	struct mpix_summary summary;
	struct mpix_lod lod;
	struct mpix_syncs syncs;
	struct mpix_held_samples samples;
	uint32_t next_window, next_group; /* that may be put */
	int code;			  /* the first failure; everything after it is refused */
};
