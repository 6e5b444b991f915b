/* cjson.c - values of JSON, built and printed: see include/cjson/cJSON.h. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static cJSON *create(int type)
{
	cJSON *v = calloc(1, sizeof(*v));
	if (v != NULL)
		v->type = type;
	return v;
}

cJSON *cJSON_CreateObject(void)
{
	return create(cJSON_Object);
}

cJSON *cJSON_CreateNumber(double value)
{
	cJSON *v = create(cJSON_Number);
	if (v != NULL)
		v->valuedouble = value;
	return v;
}

cJSON *cJSON_CreateString(const char *text)
{
	cJSON *v = create(cJSON_String);
	if (v != NULL)
		v->valuestring = strdup(text);
	return v;
}

bool cJSON_AddItemToArray(cJSON *array, cJSON *item)
{
	if (array == NULL || item == NULL)
		return false;
	cJSON *first = array->child, *last = first != NULL ? first->prev : NULL;
	*(last != NULL ? &last->next : &array->child) = item;
	item->prev = last;
	array->child->prev = item;
	return true;
}

/* item belongs to object, or is gone. */
static cJSON *add(cJSON *object, const char *name, cJSON *item)
{
	if (item != NULL)
		item->string = strdup(name);
	if (item != NULL && item->string != NULL && cJSON_AddItemToArray(object, item))
		return item;
	cJSON_Delete(item);
	return NULL;
}

cJSON *cJSON_AddNullToObject(cJSON *object, const char *name)
{
	return add(object, name, create(cJSON_NULL));
}

cJSON *cJSON_AddFalseToObject(cJSON *object, const char *name)
{
	return add(object, name, create(cJSON_False));
}

cJSON *cJSON_AddNumberToObject(cJSON *object, const char *name, double value)
{
	return add(object, name, cJSON_CreateNumber(value));
}

cJSON *cJSON_AddStringToObject(cJSON *object, const char *name, const char *text)
{
	return add(object, name, cJSON_CreateString(text));
}

cJSON *cJSON_AddArrayToObject(cJSON *object, const char *name)
{
	return add(object, name, create(cJSON_Array));
}

cJSON *cJSON_AddObjectToObject(cJSON *object, const char *name)
{
	return add(object, name, create(cJSON_Object));
}

char *cJSON_PrintUnformatted(const cJSON *value)
{
	return json_print(value);
}

void cJSON_Delete(cJSON *value)
{
	while (value != NULL) {
		cJSON *next = value->next;
		cJSON_Delete(value->child);
		free(value->valuestring);
		free(value->string);
		free(value);
		value = next;
	}
}

void cJSON_free(void *text)
{
	free(text);
}
