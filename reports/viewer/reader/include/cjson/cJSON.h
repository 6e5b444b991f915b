/* cJSON.h - for reader/: of cJSON's interface what builds and prints a value (cjson.c); no package has the library for
 * a browser. */
#pragma once
#include <stdbool.h>

typedef struct cJSON {
	struct cJSON *next, *prev, *child; /* prev of the first: the last */
	int type;
	char *valuestring;
	double valuedouble;
	char *string; /* its name in an object */
} cJSON;

enum { cJSON_False, cJSON_True, cJSON_NULL, cJSON_Number, cJSON_String, cJSON_Array, cJSON_Object };

#define cJSON_IsFalse(v) ((v) != NULL && (v)->type == cJSON_False)
#define cJSON_IsTrue(v) ((v) != NULL && (v)->type == cJSON_True)
#define cJSON_IsBool(v) (cJSON_IsFalse(v) || cJSON_IsTrue(v))
#define cJSON_IsNumber(v) ((v) != NULL && (v)->type == cJSON_Number)
#define cJSON_IsString(v) ((v) != NULL && (v)->type == cJSON_String)
#define cJSON_IsArray(v) ((v) != NULL && (v)->type == cJSON_Array)
#define cJSON_IsObject(v) ((v) != NULL && (v)->type == cJSON_Object)

cJSON *cJSON_CreateObject(void);
cJSON *cJSON_CreateNumber(double value);
cJSON *cJSON_CreateString(const char *text);
bool cJSON_AddItemToArray(cJSON *array, cJSON *item);
cJSON *cJSON_AddNullToObject(cJSON *object, const char *name);
cJSON *cJSON_AddFalseToObject(cJSON *object, const char *name);
cJSON *cJSON_AddNumberToObject(cJSON *object, const char *name, double value);
cJSON *cJSON_AddStringToObject(cJSON *object, const char *name, const char *text);
cJSON *cJSON_AddArrayToObject(cJSON *object, const char *name);
cJSON *cJSON_AddObjectToObject(cJSON *object, const char *name);
char *cJSON_PrintUnformatted(const cJSON *value);
void cJSON_Delete(cJSON *value);
void cJSON_free(void *text);

/* in no code that is kept */
cJSON *cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name);
