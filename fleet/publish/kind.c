/* kind.c - see kind.h. */
#include "fleet/publish/kind.h"

#include "base/json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct publish_kind *const kinds[] = {
#define ROW(name) &publish_##name,
	PUBLISH_KINDS(ROW)
#undef ROW
};

const struct publish_kind *publish_kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

void publish_base(const struct destination *d, struct buf *b)
{
	size_t len = strlen(d->url);
	while (len > 0 && d->url[len - 1] == '/')
		len--;
	buf_bytes(b, d->url, len);
}

void publish_percent(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		if (isalnum((unsigned char)*text) || strchr("-._~", *text) != NULL)
			buf_u8(b, (uint8_t)*text);
		else
			buf_printf(b, "%%%02X", (unsigned char)*text);
}

int64_t publish_number(const char *answer)
{
	char *end;
	long long n = strtoll(answer, &end, 10);
	return end != answer && strspn(end, "\r\n") == strlen(end) ? n : -1;
}

void publish_label(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '\n')
			buf_str(b, "\\n");
		else if (*text == '"' || *text == '\\')
			buf_printf(b, "\\%c", *text);
		else
			buf_u8(b, (uint8_t)*text);
}

bool publish_row(const struct publish_record *r, const char *id_name,
		 void (*put_number)(cJSON *row, const struct fleet_column *c), const char *before, const char *after,
		 struct buf *b)
{
	struct fleet_job j;
	struct fleet_column columns[FLEET_COLUMNS];
	if (fleet_job_of(r->json, &j) != NULL)
		return false;
	cJSON *row = cJSON_CreateObject();
	fleet_columns(&j, columns);
	columns[0].name = id_name;
	for (size_t i = 0; i < FLEET_COLUMNS; i++)
		if (columns[i].text != NULL)
			json_put_text(row, columns[i].name, columns[i].text);
		else
			put_number(row, &columns[i]);
	json_put_text(row, "record", r->text);
	char *line = json_print(row);
	cJSON_Delete(row);
	if (line == NULL)
		b->failed = true;
	else
		buf_printf(b, "%s%s%s", before, line, after);
	cJSON_free(line);
	return true;
}
