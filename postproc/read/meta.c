/* meta.c - see meta.h. */
#include "postproc/read/meta.h"

#include "format/limits.h"

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
