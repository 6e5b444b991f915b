/* json.h - looking into the analysis object, which may come from anyone and lack anything.
 * Absent or of another type: the fallback, or NULL, or an empty list. */
#pragma once

#include <cjson/cJSON.h>
#include <stdio.h>

double json_number(const cJSON *object, const char *name, double fallback);
/* Borrowed from the object. */
const char *json_text(const cJSON *object, const char *name, const char *fallback);
int json_true(const cJSON *object, const char *name);
/* An item that is an object or a list, or NULL. */
const cJSON *json_child(const cJSON *object, const char *name);
int json_count(const cJSON *list);

/* Print text for a terminal: control characters and bytes that are no UTF-8 as \xNN, at most
 * max_bytes of it. */
void put_plain(FILE *to, const char *text, int max_bytes);
/* Print text as a JSON string with its quotes. */
void put_json_text(FILE *to, const char *text);
