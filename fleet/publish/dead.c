/* dead.c - see dead.h. */
#include "fleet/publish/dead.h"

#include "base/atomic_file.h"
#include "base/json.h"

#include <errno.h>

char *dead_text(const char *destination, const char *reason, const char *record)
{
	cJSON *o = cJSON_CreateObject();
	json_put_text(o, "destination", destination);
	json_put_text(o, "reason", reason);
	cJSON_AddItemToObject(o, "record", cJSON_Parse(record));
	char *line = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	return line;
}

int dead_letter(const char *directory, const char *destination, const struct publish_record *r, const char *reason,
		struct error *e)
{
	struct atomic_file f = {0};
	_cleanup_buf_ struct buf path = {0};
	char *text = dead_text(destination, reason, r->text);
	buf_printf(&path, "%s/", directory);
	publish_percent(&path, destination);
	buf_printf(&path, "-%lld.json", (long long)r->id);
	buf_u8(&path, 0);
	int rc = text != NULL && !buf_failed(&path) ? 0 : fail(e, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = atomic_file_open(&f, (const char *)path.data, e);
	if (rc == 0) {
		fprintf(f.stream, "%s\n", text);
		rc = atomic_file_commit(&f, e);
	}
	cJSON_free(text);
	return rc;
}
