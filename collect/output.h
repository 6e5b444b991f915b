/* output.h - the node's .mpic: made when the first process appears, appended block by block. */
#pragma once

#include "base/buf.h"
#include "format/mpic.h"

#include <stdbool.h>
#include <stdint.h>

struct output {
	const char *wanted_dir;	  /* of the step, in the user's file system */
	const char *fallback_dir; /* node-local */
	const char *node;
	char *path; /* NULL until opened */
	int fd;
	uint64_t len_bytes; /* of whole blocks */
	uint64_t blocks;
	uint64_t failed_blocks;
	struct buf pending; /* packed blocks, written together */
	bool broken;
};

/* Open on first use: wanted_dir (made if missing), else fallback_dir. 0 or -errno with text. */
int output_open(struct output *o, struct error *e);
/* Pack one block and queue it. Returns packed bytes, or -errno. */
int64_t output_block(struct output *o, const struct mpic_block *block, const void *payload, size_t len_bytes);
/* Write what is queued. A write that fails is cut back to the last whole block and counted. 0 or -errno. */
int output_flush(struct output *o);
/* Flush, fsync, close. */
int output_close(struct output *o);
