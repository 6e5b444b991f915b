/* kind_elasticsearch.c - the _bulk interface of Elasticsearch and OpenSearch: each record is the document of its id, so
 * that one which comes again takes its own place. The answer to a request that was taken says of each document
 * whether it is there. */
#include "publish/kind.h"

#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *missing(const struct destination *d)
{
	return d->index == NULL ? "needs index = NAME" : NULL;
}

static void url(const struct destination *d, struct buf *ret_url)
{
	publish_base(d, ret_url);
	buf_u8(ret_url, '/');
	publish_percent(ret_url, d->index);
	buf_str(ret_url, "/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason");
}

static int headers(const struct destination *d, const struct publish_batch *b, const struct buf *body,
		   struct buf *ret_lines, struct error *e)
{
	(void)b, (void)body, (void)e;
	if (d->token != NULL)
		buf_printf(ret_lines, "Authorization: ApiKey %s\n", d->token);
	return 0;
}

static void encode(const struct publish_batch *b, struct buf *ret_body)
{
	for (size_t i = 0; i < b->n; i++) {
		cJSON *action = cJSON_CreateObject();
		json_put_text(json_object(action, "index"), "_id", json_text(b->records[i].json, "id", ""));
		char *line = json_print(action);
		if (line == NULL)
			ret_body->failed = true;
		else
			buf_printf(ret_body, "%s\n%s\n", line, b->records[i].text);
		cJSON_free(line);
		cJSON_Delete(action);
	}
}

/* Too many requests, or a shard that is not there now: later. What else is no success is the document's fault. */
static void judge(const cJSON *item, struct publish_fate *f)
{
	const cJSON *result = json_item(item, "index"), *error = json_item(result, "error");
	int64_t status = json_int(result, "status", 0);
	if (status >= 200 && status < 300)
		return;
	f->what = status == 429 || status >= 500 || status < 200 ? FATE_LATER : FATE_REFUSED;
	snprintf(f->why, sizeof(f->why), "status %lld: %.40s: %.140s", (long long)status, json_text(error, "type", ""),
		 json_text(error, "reason", ""));
}

static int fates(const char *answer, size_t n, struct publish_fate *ret_fates)
{
	cJSON *a = cJSON_Parse(answer);
	const cJSON *errors = json_item(a, "errors"), *item = json_first(a, "items");
	bool understood = cJSON_IsFalse(errors) || (cJSON_IsTrue(errors) && json_count(a, "items") == n);
	for (size_t i = 0; i < n && understood && cJSON_IsTrue(errors); i++, item = item->next)
		judge(item, &ret_fates[i]);
	cJSON_Delete(a);
	return understood ? 0 : -EBADMSG;
}

const struct publish_kind publish_elasticsearch = {
	.name = "elasticsearch",
	.content_type = "application/x-ndjson",
	.missing = missing,
	.url = url,
	.encode = encode,
	.headers = headers,
	.fates = fates,
};
