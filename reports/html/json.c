/* json.c - tolerant readers over cJSON.
 * In: a parsed document that nobody vouches for.  Out: numbers, texts and lists that are safe to
 * use as they are. */
#include "reports/html/json.h"

#include <math.h>
#include <stdlib.h>

#define NUMBER_MAX 1e18

const cJSON *json_get(const cJSON *o, const char *key)
{
	return cJSON_IsObject(o) ? cJSON_GetObjectItemCaseSensitive(o, key) : NULL;
}

double json_value(const cJSON *v)
{
	if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble) || fabs(v->valuedouble) > NUMBER_MAX)
		return NAN;
	return v->valuedouble;
}

double json_number(const cJSON *o, const char *key)
{
	return json_value(json_get(o, key));
}

const char *json_text(const cJSON *o, const char *key, const char *fallback)
{
	const cJSON *v = json_get(o, key);
	return cJSON_IsString(v) && v->valuestring != NULL ? v->valuestring : fallback;
}

bool json_bool(const cJSON *o, const char *key, bool fallback)
{
	const cJSON *v = json_get(o, key);
	return cJSON_IsBool(v) ? cJSON_IsTrue(v) : fallback;
}

const cJSON *json_first(const cJSON *o, const char *key)
{
	const cJSON *v = json_get(o, key);
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
