/* kind_elasticsearch.c - the _bulk interface of Elasticsearch and OpenSearch: each record is the document of its id and
 * user, so that one which comes again takes its own place, and nobody else's. The answer to a request that was taken
 * says of each document whether it is there. */
#include "fleet/publish/kind.h"

#include "base/index.h"
#include "base/json.h"
#include "fleet/job.h"

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

/* At most 512 bytes there; longer ones are told apart by a hash of what is cut off. */
#define ID_MAX 512

static void make_id(const struct publish_record *r, char ret_id[ID_MAX + 1])
{
	char claim[FLEET_CLAIM_MAX] = "";
	struct fleet_job j;
	if (fleet_job_of(r->json, &j) == NULL) /* state_take() has looked */
		fleet_claim(&j, claim);
	if (strlen(claim) <= ID_MAX) {
		memcpy(ret_id, claim, strlen(claim) + 1);
		return;
	}
	size_t kept = ID_MAX - 17;
	while (kept > 0 && ((unsigned char)claim[kept] & 0xc0) == 0x80) /* inside of a character */
		kept--;
	snprintf(ret_id, ID_MAX + 1, "%.*s %016llx", (int)kept, claim,
		 (unsigned long long)index_hash(INDEX_SEED, claim, strlen(claim)));
}

static void encode(const struct publish_batch *b, struct buf *ret_body)
{
	for (size_t i = 0; i < b->n; i++) {
		char id[ID_MAX + 1];
		cJSON *action = cJSON_CreateObject();
		make_id(&b->records[i], id);
		json_put_text(json_object(action, "index"), "_id", id);
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
static void classify_item(const cJSON *item, struct publish_fate *f)
{
	const cJSON *result = json_item(item, "index"), *error = json_item(result, "error");
	int64_t status = json_int(result, "status", 0);
	if (status >= 200 && status < 300)
		return;
	f->what = status == 429 || status >= 500 || status < 200 ? FATE_LATER : FATE_REFUSED;
	snprintf(f->why, sizeof(f->why), "status %lld: %.100s: %.800s", (long long)status, json_text(error, "type", ""),
		 json_text(error, "reason", ""));
}

static int fates(const char *answer, size_t n, struct publish_fate *ret_fates)
{
	cJSON *a = cJSON_Parse(answer);
	const cJSON *errors = json_item(a, "errors"), *item = json_first(a, "items");
	bool understood = cJSON_IsFalse(errors) || (cJSON_IsTrue(errors) && json_count(a, "items") == n);
	for (size_t i = 0; i < n && understood && cJSON_IsTrue(errors); i++, item = item->next)
		classify_item(item, &ret_fates[i]);
	cJSON_Delete(a);
	return understood ? 0 : -EBADMSG;
}

/* Counting adds up values of the field as well, which is an error where the index template was not put and the field
 * is words: there a user's name would be found in those of others, and nothing is removed. */
static bool forget(const struct destination *d, const char *user, enum publish_step step, struct publish_request *ret_r)
{
	cJSON *top = cJSON_CreateObject();
	json_put_text(json_object(json_object(top, "query"), "term"), "user", user);
	if (step == FORGET_COUNT) {
		cJSON *terms = json_object(json_object(json_object(top, "aggs"), "users"), "terms");
		json_put_text(terms, "field", "user");
		json_put(terms, "size", 1);
		cJSON_AddBoolToObject(top, "track_total_hits", true);
		json_put(top, "size", 0);
	}
	char *text = json_print(top);
	ret_r->content_type = "application/json";
	publish_base(d, &ret_r->url);
	buf_u8(&ret_r->url, '/');
	publish_percent(&ret_r->url, d->index);
	buf_str(&ret_r->url, step == FORGET_COUNT ? "/_search?filter_path=hits.total"
						  : "/_delete_by_query?refresh=true&conflicts=proceed");
	buf_str(&ret_r->body, text != NULL ? text : "");
	ret_r->body.failed |= text == NULL;
	cJSON_free(text);
	cJSON_Delete(top);
	return true;
}

/* {"hits": {"total": {"value": N}}}; before version 7 {"hits": {"total": N}}. */
static int64_t left(const char *answer)
{
	cJSON *a = cJSON_Parse(answer);
	const cJSON *hits = json_item(a, "hits"), *total = json_item(hits, "total");
	int64_t n = cJSON_IsObject(total) ? json_int(total, "value", -1) : json_int(hits, "total", -1);
	cJSON_Delete(a);
	return n;
}

const struct publish_kind publish_elasticsearch = {
	.name = "elasticsearch",
	.content_type = "application/x-ndjson",
	.missing = missing,
	.url = url,
	.encode = encode,
	.headers = headers,
	.fates = fates,
	.forget = forget,
	.left = left,
};
