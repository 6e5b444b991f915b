/* json.c - see json.h. */
#include "postproc/json.h"
#include "format/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double meta_number(const cJSON *object, const char *name, double otherwise)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	return cJSON_IsNumber(item) && isfinite(item->valuedouble) ? item->valuedouble : otherwise;
}

int64_t meta_int(const cJSON *object, const char *name, int64_t otherwise)
{
	double value = meta_number(object, name, NAN);
	return value > -9.2e18 && value < 9.2e18 ? (int64_t)value : otherwise;
}

const char *meta_text(const cJSON *object, const char *name, const char *otherwise)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
	return text != NULL ? text : otherwise;
}

int64_t meta_tick(const cJSON *object, const char *name)
{
	const char *text = meta_text(object, name, NULL);
	if (text == NULL)
		return meta_int(object, name, 0);
	long long tick = strtoll(text, NULL, 10);
	return tick < 0 ? 0 : tick;
}

bool meta_supersede(cJSON **known, cJSON *newer)
{
	if (!cJSON_IsObject(newer) ||
	    cJSON_GetArraySize(newer) + cJSON_GetArraySize(*known) > (int)MPIC_META_KEYS_MAX) {
		cJSON_Delete(newer);
		return false;
	}
	while (*known != NULL && newer->child != NULL) {
		cJSON *item = cJSON_DetachItemViaPointer(newer, newer->child);
		cJSON_DeleteItemFromObjectCaseSensitive(*known, item->string);
		cJSON_AddItemToObject(*known, item->string, item);
	}
	if (*known == NULL)
		*known = newer;
	else
		cJSON_Delete(newer);
	return true;
}

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
	char *clean = text == NULL ? NULL : json_clean(text, strlen(text));
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

void json_push_text(cJSON *array, const char *text)
{
	char *clean = json_clean(text, strlen(text));
	append(array, cJSON_CreateString(clean != NULL ? clean : "?"));
	free(clean);
}

/* Length of the well-formed UTF-8 sequence at p (RFC 3629), 0 if there is none. */
static size_t sequence(const uint8_t *p, size_t left)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	if (n == 0 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

char *json_clean(const void *text, size_t len_bytes)
{
	const uint8_t *p = text;
	char *clean = malloc(len_bytes + 1);
	size_t n = 0;
	if (clean == NULL)
		return NULL;
	for (size_t i = 0; i < len_bytes;) {
		size_t step = sequence(p + i, len_bytes - i);
		if (step == 0 || p[i] < 0x20 || p[i] == 0x7f) {
			clean[n++] = '?';
			i++;
			continue;
		}
		memcpy(clean + n, p + i, step);
		n += step;
		i += step;
	}
	clean[n] = '\0';
	return clean;
}
