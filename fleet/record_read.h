/* record_read.h - a record as text, of any version, as one of this version. */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

/* NULL when it is no JSON. What version 1 did not have is absent; what is no record stays as it is. */
cJSON *record_read(const char *text, size_t len_bytes);
