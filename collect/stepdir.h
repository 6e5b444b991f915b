/* stepdir.h - the step directory as the agent and the finisher see it (docs/STEPDIR.md). */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define LAYOUT_KEYS_MAX 64
#define LAYOUT_BYTES_MAX (1u << 20)

/* Lines key=value, read once. Values are owned by the struct. */
struct layout {
	char *text;
	char *keys[LAYOUT_KEYS_MAX];
	char *values[LAYOUT_KEYS_MAX];
	unsigned n;
};

/* Read STEPDIR/layout. 0, or -errno with text. */
int layout_read(struct layout *ret_layout, const char *stepdir, struct error *e);
void layout_done(struct layout *l);
/* The value of a key, or fallback. */
const char *layout_get(const struct layout *l, const char *key, const char *fallback);
uint64_t layout_number(const struct layout *l, const char *key, uint64_t fallback);

/* Is there an entry of that name in dir? */
bool stepdir_has(const char *dir, const char *name);
/* Create an empty file; 0 or -errno. */
int stepdir_mark(const char *dir, const char *name);
