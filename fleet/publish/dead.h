/* dead.h - a directory with what a destination will never take, a file each, for people and scripts. */
#pragma once

#include "fleet/publish/kind.h"

/* A file in it, {"destination", "reason", "record"}, named by destination and number; whole or not at all. 0 or -errno
 * with text. */
int dead_letter(const char *directory, const char *destination, const struct publish_record *r, const char *reason,
		struct error *e);
/* The text of it, one line; NULL without memory, to be freed by cJSON_free(). */
char *dead_text(const char *destination, const char *reason, const char *record);
/* Remove those of a user's records. 0 or -errno with text. */
int dead_forget(const char *directory, const char *user, struct error *e);
