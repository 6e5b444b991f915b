/* json.h - reading and building cJSON objects. What is read may come from anyone and lack anything: readers take any
 * node, also NULL, and every one has an answer. What they return belongs to the parsed document. */
#pragma once

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- readers ---- */

/* The member key of o, or NULL when o is not an object or has none. */
const cJSON *json_item(const cJSON *o, const char *key);
/* A number that an int64_t can hold, else NAN. */
double json_number(const cJSON *o, const char *key);
/* The same for the value itself. */
double json_number_of(const cJSON *value);
double json_number_or(const cJSON *o, const char *key, double fallback);
int64_t json_int(const cJSON *o, const char *key, int64_t fallback);
/* Ticks are texts, because a JSON number holds 53 bits; 0 when absent or nonsense. */
int64_t json_tick(const cJSON *o, const char *key);
const char *json_text(const cJSON *o, const char *key, const char *fallback);
bool json_bool(const cJSON *o, const char *key, bool fallback);
/* The first element of an array member; NULL when it is absent, empty or no array. Go on with ->next. */
const cJSON *json_first(const cJSON *o, const char *key);
/* How many elements an array member has; 0 when it is no array. */
size_t json_count(const cJSON *o, const char *key);
/* The elements of an array member that are objects, as a vector to be freed by the caller; NULL when there are none
 * or memory is short. */
const cJSON **json_objects(const cJSON *o, const char *key, size_t *ret_count);
/* The same, those with the largest number `by` first, as given among equals; those without it last. */
const cJSON **json_objects_by(const cJSON *o, const char *key, const char *by, size_t *ret_count);

/* ---- builders ---- */

/* Seconds from nanoseconds, cut to what a clock can know. */
void json_put_seconds(cJSON *object, const char *name, int64_t ns);
void json_put(cJSON *object, const char *name, double value);
/* text as UTF-8 (utf8_clean), null for NULL. */
void json_put_text(cJSON *object, const char *name, const char *text);
void json_put_null_or(cJSON *object, const char *name, double value); /* NaN becomes null */
/* A new array, or object, owned by its parent. */
cJSON *json_array(cJSON *object, const char *name);
cJSON *json_object(cJSON *object, const char *name);
cJSON *json_row(cJSON *array);
void json_push(cJSON *array, double value);
void json_push_seconds(cJSON *array, int64_t ns);
void json_push_text(cJSON *array, const char *text);
/* The text that cJSON_PrintUnformatted() would make, of any value without raw members; to be freed by free() or
 * cJSON_free(). NULL without memory. */
char *json_print(const cJSON *value);
