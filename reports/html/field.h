/* field.h - reading an analysis object whose fields may be absent or of another type: every reader
 * has an answer. Objects and arrays stay owned by the parsed document. */
#pragma once

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stddef.h>

/* The member key of o, or NULL when o is not an object or has none. */
const cJSON *field(const cJSON *o, const char *key);
/* A finite number within +-1e18, else NAN. */
double field_number(const cJSON *o, const char *key);
/* The same for the value itself. */
double number_of(const cJSON *v);
/* A string, else fallback. */
const char *field_text(const cJSON *o, const char *key, const char *fallback);
/* A boolean, else fallback. */
bool field_bool(const cJSON *o, const char *key, bool fallback);
/* The first element of an array member; NULL when it is absent, empty or no array. Go on with
 * ->next. */
const cJSON *field_first(const cJSON *o, const char *key);
/* How many elements an array member has; 0 when it is no array. */
size_t field_count(const cJSON *o, const char *key);
/* The elements of an array member that are objects, as a vector to be freed by the caller; NULL
 * when there are none or memory is short. */
const cJSON **field_objects(const cJSON *o, const char *key, size_t *ret_count);
/* The same, those with the largest number `by` first; those without it last. */
const cJSON **field_objects_by(const cJSON *o, const char *key, const char *by, size_t *ret_count);
