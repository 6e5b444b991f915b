/* json.c - see json.h. */
#include "base/json.h"

#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 9.2e18 /* what an int64_t holds */

/* ---- readers ---- */

const cJSON *json_item(const cJSON *o, const char *key)
{
	return cJSON_IsObject(o) ? cJSON_GetObjectItemCaseSensitive(o, key) : NULL;
}

double json_number_of(const cJSON *v)
{
	if (!cJSON_IsNumber(v) || !(fabs(v->valuedouble) <= NUMBER_MAX))
		return NAN;
	return v->valuedouble;
}

double json_number(const cJSON *o, const char *key)
{
	return json_number_of(json_item(o, key));
}

double json_number_or(const cJSON *o, const char *key, double fallback)
{
	double value = json_number(o, key);
	return isnan(value) ? fallback : value;
}

int64_t json_int(const cJSON *o, const char *key, int64_t fallback)
{
	double value = json_number(o, key);
	return isnan(value) ? fallback : (int64_t)value;
}

const char *json_text(const cJSON *o, const char *key, const char *fallback)
{
	const cJSON *v = json_item(o, key);
	return cJSON_IsString(v) && v->valuestring != NULL ? v->valuestring : fallback;
}

int64_t json_tick(const cJSON *o, const char *key)
{
	const char *text = json_text(o, key, NULL);
	if (text == NULL)
		return json_int(o, key, 0);
	long long tick = strtoll(text, NULL, 10);
	return tick < 0 ? 0 : tick;
}

bool json_bool(const cJSON *o, const char *key, bool fallback)
{
	const cJSON *v = json_item(o, key);
	return cJSON_IsBool(v) ? cJSON_IsTrue(v) : fallback;
}

const cJSON *json_first(const cJSON *o, const char *key)
{
	const cJSON *v = json_item(o, key);
	return cJSON_IsArray(v) ? v->child : NULL;
}

size_t json_count(const cJSON *o, const char *key)
{
	size_t n = 0;
	for (const cJSON *v = json_first(o, key); v != NULL; v = v->next)
		n++;
	return n;
}

const cJSON **json_objects(const cJSON *o, const char *key, size_t *ret_count)
{
	*ret_count = 0;
	size_t n = json_count(o, key);
	const cJSON **list = n > 0 ? calloc(n, sizeof(const cJSON *)) : NULL;
	if (list == NULL)
		return NULL;
	for (const cJSON *v = json_first(o, key); v != NULL; v = v->next)
		if (cJSON_IsObject(v))
			list[(*ret_count)++] = v;
	return list;
}

struct ranked {
	const cJSON *object;
	double value;
	size_t at; /* as given: equal ones stay in order */
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	return a->at < b->at ? -1 : 1;
}

const cJSON **json_objects_by(const cJSON *o, const char *key, const char *by, size_t *ret_count)
{
	const cJSON **list = json_objects(o, key, ret_count);
	struct ranked *ranked = list != NULL ? calloc(*ret_count + 1, sizeof(*ranked)) : NULL;
	for (size_t i = 0; ranked != NULL && i < *ret_count; i++) {
		double value = json_number(list[i], by);
		ranked[i] = (struct ranked){list[i], isnan(value) ? -INFINITY : value, i};
	}
	if (ranked != NULL)
		qsort(ranked, *ret_count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; ranked != NULL && i < *ret_count; i++)
		list[i] = ranked[i].object;
	free(ranked);
	return list;
}

/* ---- builders ---- */

void json_put_seconds(cJSON *object, const char *name, int64_t ns)
{
	json_put(object, name, (double)ns / 1e9);
}

void json_put(cJSON *object, const char *name, double value)
{
	cJSON_AddNumberToObject(object, name, value);
}

void json_put_text(cJSON *object, const char *name, const char *text)
{
	char *clean = text == NULL ? NULL : utf8_clean(text, strlen(text));
	if (clean == NULL)
		cJSON_AddNullToObject(object, name);
	else
		cJSON_AddStringToObject(object, name, clean);
	free(clean);
}

void json_put_null_or(cJSON *object, const char *name, double value)
{
	if (isnan(value))
		cJSON_AddNullToObject(object, name);
	else
		json_put(object, name, value);
}

cJSON *json_array(cJSON *object, const char *name)
{
	return cJSON_AddArrayToObject(object, name);
}

cJSON *json_object(cJSON *object, const char *name)
{
	return cJSON_AddObjectToObject(object, name);
}

static cJSON *append(cJSON *array, cJSON *item)
{
	if (!cJSON_AddItemToArray(array, item)) {
		cJSON_Delete(item);
		return NULL;
	}
	return item;
}

cJSON *json_row(cJSON *array)
{
	return append(array, cJSON_CreateObject());
}

void json_push(cJSON *array, double value)
{
	append(array, cJSON_CreateNumber(value));
}

void json_push_seconds(cJSON *array, int64_t ns)
{
	json_push(array, (double)ns / 1e9);
}

void json_push_text(cJSON *array, const char *text)
{
	char *clean = utf8_clean(text, strlen(text));
	append(array, cJSON_CreateString(clean != NULL ? clean : "?"));
	free(clean);
}
