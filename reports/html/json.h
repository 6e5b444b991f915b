/* json.h - reading an analysis object whose fields may be absent or of another type: every reader
 * has an answer. Objects and arrays stay owned by the parsed document. */
#pragma once

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stddef.h>

/* The member key of o, or NULL when o is not an object or has none. */
const cJSON *json_get(const cJSON *o, const char *key);
/* A finite number within +-1e18, else NAN. */
double json_number(const cJSON *o, const char *key);
/* The same for the value itself. */
double json_value(const cJSON *v);
/* A string, else fallback. */
const char *json_text(const cJSON *o, const char *key, const char *fallback);
/* A boolean, else fallback. */
bool json_bool(const cJSON *o, const char *key, bool fallback);
/* The first element of an array member; NULL when it is absent, empty or no array. Go on with
 * ->next. */
const cJSON *json_first(const cJSON *o, const char *key);
/* How many elements an array member has; 0 when it is no array. */
size_t json_count(const cJSON *o, const char *key);
/* The elements of an array member that are objects, as a vector to be freed by the caller; NULL
 * when there are none or memory is short. */
const cJSON **json_objects(const cJSON *o, const char *key, size_t *ret_count);
