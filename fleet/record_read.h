/* record_read.h - a record as text, of any version, as one of this version. */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

/* Without the blanks behind it, a line's end among them. */
size_t record_length(const char *text, size_t len_bytes);
/* Of a record or an alert. NULL when it is no JSON, or anything but blanks stands behind it: the bytes are kept as they
 * came, and nobody else reads more than one value. */
cJSON *record_json(const char *text, size_t len_bytes);
/* Likewise. What version 1 did not have is absent; what is no record stays as it is. */
cJSON *record_read(const char *text, size_t len_bytes);
