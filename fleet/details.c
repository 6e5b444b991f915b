/* details.c - see details.h. Nobody vouches for a record: lists are joined as far as there is room. */
#include "fleet/details.h"

#include "base/json.h"

#include <math.h>
#include <stdio.h>

const char *details_joined(const cJSON *record, const char *name, char room[DETAILS_LIST_ROOM])
{
	const cJSON *list = json_item(record, name), *item;
	size_t used = 0;
	room[0] = '\0';
	if (!cJSON_IsArray(list))
		return NULL;
	cJSON_ArrayForEach(item, list)
	{
		const char *text = cJSON_GetStringValue(item);
		int n = text != NULL
				? snprintf(room + used, DETAILS_LIST_ROOM - used, "%s%s", used > 0 ? "," : "", text)
				: 0;
		if (n < 0 || (size_t)n >= DETAILS_LIST_ROOM - used) {
			room[used] = '\0';
			break;
		}
		used += (size_t)n;
	}
	return room;
}

static void bind_number(sqlite3_stmt *s, int at, double value)
{
	if (value >= 0 && value < 1e18)
		sqlite3_bind_double(s, at, value);
	else
		sqlite3_bind_null(s, at);
}

int details_put(struct fleet *f, sqlite3_stmt *insert, sqlite3_int64 job, const cJSON *record, struct error *e)
{
	static const char *const io_fields[] = {"read_bytes", "written_bytes", "time_s"};
	const cJSON *mpi = json_item(record, "mpi"), *io = json_item(record, "io");
	char transports[DETAILS_LIST_ROOM], modules[DETAILS_LIST_ROOM];
	const char *texts[] = {json_text(mpi, "implementation", NULL), json_text(mpi, "version", NULL),
			       details_joined(record, "transports", transports),
			       details_joined(record, "modules", modules)};
	if (texts[0] == NULL && texts[2] == NULL && texts[3] == NULL && !(json_number(io, "time_s") > 0))
		return 0; /* nothing is known, as of records of before */
	int at = 0;
	sqlite3_bind_int64(insert, ++at, job);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) /* NULL is null */
		sqlite3_bind_text(insert, ++at, texts[i], -1, SQLITE_STATIC);
	for (size_t i = 0; i < sizeof(io_fields) / sizeof(io_fields[0]); i++)
		bind_number(insert, ++at, json_number(io, io_fields[i]));
	int rc = sqlite3_step(insert) == SQLITE_DONE ? 0 : fleet_fail(f, e);
	sqlite3_reset(insert);
	return rc;
}
