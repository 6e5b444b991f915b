/* seen.h - files that this process has taken before, so that looking again does not read them again. */
#pragma once

#include "base/index.h"
#include "base/vec.h"

#include <stdbool.h>
#include <sys/stat.h>

struct seen_file {
	uint64_t device, inode, size_bytes, changed; /* changed: both times, mixed */
};

struct seen {
	VEC(struct seen_file) files;
	struct index by_key;
};

/* Was it here before, unchanged? If not, it will have been. Without memory: not. */
bool seen_before(struct seen *s, const struct stat *st);
/* Harmless for a zeroed one. */
void seen_done(struct seen *s);
