/* field.c - tolerant readers over cJSON.
 * In: a parsed document that nobody vouches for.  Out: numbers, texts and lists that are safe to
 * use as they are. */
#include "reports/html/field.h"

#include <math.h>
#include <stdlib.h>

#define NUMBER_MAX 1e18

const cJSON *field(const cJSON *o, const char *key)
{
	return cJSON_IsObject(o) ? cJSON_GetObjectItemCaseSensitive(o, key) : NULL;
}

double number_of(const cJSON *v)
{
	if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble) || fabs(v->valuedouble) > NUMBER_MAX)
		return NAN;
	return v->valuedouble;
}

double field_number(const cJSON *o, const char *key)
{
	return number_of(field(o, key));
}

const char *field_text(const cJSON *o, const char *key, const char *fallback)
{
	const cJSON *v = field(o, key);
	return cJSON_IsString(v) && v->valuestring != NULL ? v->valuestring : fallback;
}

bool field_bool(const cJSON *o, const char *key, bool fallback)
{
	const cJSON *v = field(o, key);
	return cJSON_IsBool(v) ? cJSON_IsTrue(v) : fallback;
}

const cJSON *field_first(const cJSON *o, const char *key)
{
	const cJSON *v = field(o, key);
	return cJSON_IsArray(v) ? v->child : NULL;
}

size_t field_count(const cJSON *o, const char *key)
{
	size_t n = 0;
	for (const cJSON *v = field_first(o, key); v != NULL; v = v->next)
		n++;
	return n;
}

const cJSON **field_objects(const cJSON *o, const char *key, size_t *ret_count)
{
	*ret_count = 0;
	size_t n = field_count(o, key);
	const cJSON **list = n > 0 ? calloc(n, sizeof(const cJSON *)) : NULL;
	if (list == NULL)
		return NULL;
	for (const cJSON *v = field_first(o, key); v != NULL; v = v->next)
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

const cJSON **field_objects_by(const cJSON *o, const char *key, const char *by, size_t *ret_count)
{
	const cJSON **list = field_objects(o, key, ret_count);
	struct ranked *ranked = list != NULL ? calloc(*ret_count + 1, sizeof(*ranked)) : NULL;
	for (size_t i = 0; ranked != NULL && i < *ret_count; i++) {
		double value = field_number(list[i], by);
		ranked[i] = (struct ranked){list[i], isnan(value) ? -INFINITY : value, i};
	}
	if (ranked != NULL)
		qsort(ranked, *ret_count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; ranked != NULL && i < *ret_count; i++)
		list[i] = ranked[i].object;
	free(ranked);
	return list;
}
