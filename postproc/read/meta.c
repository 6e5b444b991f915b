/* meta.c - see meta.h. */
#include "postproc/read/meta.h"

#include "format/limits.h"

cJSON *meta_parse(struct budget *kept, const struct buf *text)
{
	const char *begin = (const char *)text->data;
	return budget_json(kept, begin, text->len_bytes) < 0 ? NULL : cJSON_ParseWithLength(begin, text->len_bytes);
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
