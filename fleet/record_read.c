/* record_read.c - see record_read.h. */
#include "fleet/record_read.h"
#include "fleet/hours.h"
#include "fleet/record.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

static void put_text(cJSON *o, const char *name, const char *text)
{
	cJSON_DeleteItemFromObjectCaseSensitive(o, name);
	json_put_text(o, name, text);
}

/* In version 1 `state` was whether all of it is in the trace, which coverage says too; how it ended was `outcome`, and
 * what an issue cost was told in hours of ranks. */
static void upgrade(cJSON *r)
{
	char outcome[32];
	snprintf(outcome, sizeof(outcome), "%s", json_text(r, "outcome", "UNKNOWN"));
	cJSON *coverage = cJSON_GetObjectItemCaseSensitive(r, "coverage");
	if (!cJSON_IsObject(coverage)) {
		cJSON_DeleteItemFromObjectCaseSensitive(r, "coverage");
		coverage = json_object(r, "coverage");
	}
	cJSON_DeleteItemFromObjectCaseSensitive(coverage, "complete");
	cJSON_AddBoolToObject(coverage, "complete", strcmp(json_text(r, "state", ""), "complete") == 0);
	cJSON_DeleteItemFromObjectCaseSensitive(r, "outcome");
	put_text(r, "state", outcome);
	put_text(r, "schema", RECORD_SCHEMA);
	cJSON *issues = cJSON_GetObjectItemCaseSensitive(r, "issues");
	for (cJSON *x = cJSON_IsArray(issues) ? issues->child : NULL; x != NULL; x = x->next)
		if (cJSON_IsObject(x) && json_item(x, "loss_s") == NULL)
			json_put_null_or(x, "loss_s", json_number(x, "loss_core_hours") * 3600);
	double hours = json_number(r, "core_hours");
	record_put_hours(r);
	if (hours >= 0)
		cJSON_ReplaceItemInObjectCaseSensitive(r, "core_hours", cJSON_CreateNumber(hours));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

size_t record_length(const char *text, size_t len_bytes)
{
	while (len_bytes > 0 && is_blank(text[len_bytes - 1]))
		len_bytes--;
	return len_bytes;
}

cJSON *record_json(const char *text, size_t len_bytes)
{
	const char *rest = text;
	cJSON *json = cJSON_ParseWithLengthOpts(text, len_bytes, &rest, false);
	if (json == NULL || rest == text + record_length(text, len_bytes))
		return json;
	cJSON_Delete(json);
	return NULL;
}

cJSON *record_read(const char *text, size_t len_bytes)
{
	cJSON *r = record_json(text, len_bytes);
	if (cJSON_IsObject(r) && strcmp(json_text(r, "schema", ""), RECORD_SCHEMA_1) == 0)
		upgrade(r);
	return r;
}
