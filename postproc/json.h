/* json.h - short readers and builders over cJSON. Readers take any node, also NULL, and never fail.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

double meta_number(const cJSON *object, const char *name, double otherwise);
int64_t meta_int(const cJSON *object, const char *name, int64_t otherwise);
/* Valid while object is; otherwise may be NULL. */
const char *meta_text(const cJSON *object, const char *name, const char *otherwise);

/* Ticks are texts, because a JSON number holds 53 bits; 0 when absent or nonsense. */
int64_t meta_tick(const cJSON *object, const char *name);

/* Let what a later META of the same process or node says replace what is known of it. Takes newer over; false, and nothing
 * changes, when it is no object or both together have more than MPIC_META_KEYS_MAX keys. */
bool meta_supersede(cJSON **known, cJSON *newer);

/* Seconds from nanoseconds, cut to what a clock can know. */
void json_put_seconds(cJSON *object, const char *name, int64_t ns);
void json_put(cJSON *object, const char *name, double value);
void json_put_text(cJSON *object, const char *name, const char *text);
void json_put_null_or(cJSON *object, const char *name, double value); /* NaN becomes null */
/* A new array, or object, owned by its parent. */
cJSON *json_array(cJSON *object, const char *name);
cJSON *json_object(cJSON *object, const char *name);
cJSON *json_row(cJSON *array);
void json_push(cJSON *array, double value);
void json_push_text(cJSON *array, const char *text);
/* text with bytes that are not UTF-8, and control characters, replaced by '?'. The caller frees it.
 */
char *json_clean(const void *text, size_t len_bytes);
