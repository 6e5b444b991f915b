/* place.h - where an export goes: a file or a directory under a temporary name beside it, which appears whole or not at
 * all. */
#pragma once

#include "base/atomic_file.h"

#include <stdbool.h>
#include <stdint.h>

struct place {
	struct atomic_file file;
	char *path, *directory; /* of a directory: its name, and its temporary one */
	char *beside;		/* directory in which it is */
};

/* A directory must not be there yet, or be empty. 0 or -errno with text. */
int place_open(struct place *ret_place, const char *path, bool directory, struct error *e);
int place_commit(struct place *p, uint64_t *ret_bytes, struct error *e);
void place_abandon(struct place *p);
