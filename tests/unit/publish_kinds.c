/* publish_kinds.c - the requests of each kind of destination: where they go, what authenticates them, what they hold,
 * and how a user's records are counted and removed there. */
#include "fleet/publish/kind.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct publish_kind *kind(const char *name)
{
	const struct publish_kind *k = publish_kind_find(name);
	cr_assert_not_null(k);
	return k;
}

static void expect_text(struct buf *b, const char *text)
{
	buf_u8(b, 0);
	cr_expect_str_eq((const char *)b->data, text, "%s", (const char *)b->data);
	buf_done(b);
}

static void expect_url(const char *name, const struct destination *d, const char *text)
{
	struct buf b = {0};
	kind(name)->url(d, &b);
	expect_text(&b, text);
}

Test(publish_kinds, have_their_urls)
{
	expect_url("influxdb", &(struct destination){.url = "http://x//", .database = "a b"},
		   "http://x/write?precision=s&db=a%20b");
	expect_url("influxdb", &(struct destination){.url = "http://x", .bucket = "b&", .org = "o/"},
		   "http://x/api/v2/write?precision=s&bucket=b%26&org=o%2F");
	expect_url("clickhouse", &(struct destination){.url = "http://x/", .database = "d"},
		   "http://x/"
		   "?input_format_skip_unknown_fields=1&database=d&query=INSERT%20INTO%20%60jobs%60%20FORMAT%"
		   "20JSONEachRow");
	expect_url(
		"clickhouse", &(struct destination){.url = "http://x/", .database = "d", .table = "t`\\"},
		"http://x/"
		"?input_format_skip_unknown_fields=1&database=d&query=INSERT%20INTO%20%60t%5C%60%5C%5C%60%20FORMAT%20"
		"JSONEachRow");
	expect_url("elasticsearch", &(struct destination){.url = "http://x/y/", .index = "i*"},
		   "http://x/y/i%2A/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason");
	expect_url("pushgateway", &(struct destination){.url = "http://x/", .instance = "n-._~Z9"},
		   "http://x/metrics/job/mpitrace/instance/n-._~Z9");
	expect_url("webhook", &(struct destination){.url = "http://x/"}, "http://x/");
}

static void expect_headers(const char *name, const struct destination *d, const char *text)
{
	struct buf b = {0}, body = {0};
	struct error e = {""};
	struct publish_batch batch = {.name = "b-1"};
	buf_str(&body, "what do ya want for nothing?");
	cr_assert_eq(kind(name)->headers(d, &batch, &body, &b, &e), 0, "%s", e.text);
	expect_text(&b, text);
	buf_done(&body);
}

Test(publish_kinds, authenticate_by_headers)
{
	char token[] = "T", secret[] = "Jefe";
	struct destination with = {.token = token}, without = {0};
	expect_headers("influxdb", &with, "Authorization: Token T\n");
	expect_headers("influxdb", &without, "");
	expect_headers("elasticsearch", &with, "Authorization: ApiKey T\n");
	expect_headers("elasticsearch", &without, "");
	expect_headers("webhook", &with, "X-Mpitrace-Batch: b-1\nAuthorization: Bearer T\n");
	struct buf b = {0};
	struct error e = {""};
	struct destination signs = {.secret = secret};
	if (kind("webhook")->headers(&signs, &(struct publish_batch){.name = "b"}, &b, &(struct buf){0}, &e) < 0)
		cr_skip_test("built without nettle");
	/* RFC 4231, its second case. */
	expect_headers("webhook", &signs,
		       "X-Mpitrace-Batch: b-1\nX-Mpitrace-Signature: "
		       "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\n");
}

static char *encoded(const char *name, const char *text)
{
	struct buf b = {0};
	struct publish_record r = {1, text, cJSON_Parse(text), false};
	struct publish_batch batch = {"b-1", &r, 1, NULL};
	cr_assert_not_null(r.json, "%s", text);
	kind(name)->encode(&batch, &b);
	buf_u8(&b, 0);
	cJSON_Delete((cJSON *)r.json);
	return (char *)b.data;
}

static const char whole[] =
	"{\"schema\":\"mpitrace/job/"
	"2\",\"id\":\"c:7.0:0\",\"cluster\":\"c\",\"job_id\":\"7\",\"user\":\"u\",\"account\":\"a\","
	"\"partition\":\"p\",\"program\":\"/x\",\"build_id\":\"b1\",\"report\":\"/r\",\"nodes\":2,\"ranks\":8,"
	"\"start\":\"2025-01-02T03:04:05Z\",\"elapsed_s\":60,\"state\":\"FAILED\",\"core_hours\":4,\"hung_core_hours\":"
	"1,"
	"\"coverage\":{\"complete\":false},\"efficiency\":{\"parallel\":0.5},\"share\":{\"useful\":0.75,\"mpi\":0.25,"
	"\"wait\":0.125},"
	"\"wait_s\":{\"late_sender\":3},\"bytes\":{\"collective\":9},\"overhead\":{\"share\":0.01},\"hours\":{"
	"\"useful\":3,\"wait\":{"
	"\"late_sender\":0.5}},\"issues\":[{\"issue\":\"i0\",\"severity\":\"info\",\"loss_core_hours\":9},{\"issue\":"
	"\"late_sender\","
	"\"severity\":\"high\",\"loss_core_hours\":2}],\"versions\":{\"mpi\":\"M 1\"},\"exit_code\":3,\"qos\":\"q\"}";

Test(publish_kinds, a_point_of_influxdb_has_all_numbers_of_a_record)
{
	char *line = encoded("influxdb", whole);
	cr_expect_str_eq(
		line,
		"mpitrace_job,account=a,cluster=c,id=c:7.0:0,partition=p,program=/x,user=u "
		"elapsed_s=60,core_hours=4,hung_core_hours=1,nodes=2,ranks=8,share_useful=0.75,share_mpi=0.25,share_"
		"wait="
		"0.125,efficiency_parallel=0.5,wait_late_sender_s=3,bytes_collective=9,overhead_share=0.01,issue="
		"\"late_"
		"sender\",loss_core_hours=2,hours_useful=3,hours_wait_late_sender=0.5,state=\"FAILED\",qos=\"q\",exit_"
		"code=3,job=\"7\",build_id=\"b1\",report=\"/r\",mpi=\"M 1\",complete=false 1735787045\n",
		"%s", line);
	free(line);
}

Test(publish_kinds, a_document_of_elasticsearch_is_of_its_id_and_user)
{
	char *lines = encoded("elasticsearch", "{\"schema\":\"mpitrace/job/2\",\"id\":\"i\",\"user\":\"u\",\"start\":"
					       "\"2025-01-02T03:04:05Z\"}");
	cr_expect_str_eq(
		lines,
		"{\"index\":{\"_id\":\"i u\"}}\n{\"schema\":\"mpitrace/job/2\",\"id\":\"i\",\"user\":\"u\",\"start\":"
		"\"2025-01-02T03:04:05Z\"}\n",
		"%s", lines);
	free(lines);
}

/* 512 bytes are what there may be: of more, the last ones tell what was cut off. */
Test(publish_kinds, a_long_id_of_a_document_is_cut_between_characters_and_stays_its_own)
{
	char text[900], first[3][600];
	static const struct {
		int user; /* bytes, behind an id of 200 and a blank */
		const char *end;
	} rows[] = {{311, ""}, {312, ""}, {312, "x"}};
	for (size_t i = 0; i < 3; i++) {
		char id[201], user[400];
		memset(id, 'i', sizeof(id));
		id[200] = '\0';
		for (int k = 0; k < rows[i].user; k += 2) /* in pairs, of two bytes each */
			memcpy(user + k, "\xc3\xbc", 2);
		snprintf(user + rows[i].user / 2 * 2, 10, "%s%s", rows[i].user % 2 != 0 ? "u" : "", rows[i].end);
		snprintf(text, sizeof(text),
			 "{\"schema\":\"mpitrace/job/"
			 "2\",\"id\":\"%s\",\"user\":\"%s\",\"start\":\"2025-01-02T03:04:05Z\"}",
			 id, user);
		char *lines = encoded("elasticsearch", text);
		cr_assert_eq(sscanf(lines, "{\"index\":{\"_id\":\"%599[^\"]", first[i]), 1, "%s", lines);
		free(lines);
	}
	cr_expect_eq(strlen(first[0]), 512, "as it is: %zu", strlen(first[0]));
	cr_expect_eq(first[0][511], 'u');
	for (size_t i = 1; i < 3; i++) {
		cr_expect_eq(strlen(first[i]), 495 - 0 + 17 - (495 - 201) % 2, "%zu", strlen(first[i]));
		cr_expect_eq(first[i][strlen(first[i]) - 17], ' ');
		cr_expect_eq(strspn(first[i] + strlen(first[i]) - 16, "0123456789abcdef"), 16);
	}
	cr_expect_str_neq(first[1], first[2]);
}

Test(publish_kinds, alerts_of_a_webhook_stand_beside_records)
{
	struct publish_record r[3] = {{1, "{\"id\":1}", NULL, false},
				      {2, "{\"schema\":\"mpitrace/alert/1\"}", NULL, false},
				      {3, "{\"id\":3}", NULL, false}};
	struct publish_batch batch = {"b", r, 3, NULL};
	struct buf b = {0};
	for (int i = 0; i < 3; i++)
		r[i].json = cJSON_Parse(r[i].text);
	kind("webhook")->encode(&batch, &b);
	expect_text(
		&b,
		"{\"batch\":\"b\",\"records\":[{\"id\":1},{\"id\":3}],\"alerts\":[{\"schema\":\"mpitrace/alert/1\"}]}");
	for (int i = 0; i < 3; i++)
		cJSON_Delete((cJSON *)r[i].json);
}

Test(publish_kinds, sums_of_a_pushgateway_are_counters)
{
	struct totals t = {0};
	struct buf b = {0};
	struct publish_record r = {1, whole, cJSON_Parse(whole), false};
	const struct publish_kind *k = kind("pushgateway");
	cr_assert_eq(k->add(&r, &t), 0);
	cr_assert_eq(k->add(&r, &t), 0);
	k->encode(&(struct publish_batch){"b", &r, 1, &t}, &b);
	buf_u8(&b, 0);
	static const char *const lines[] = {
		"# HELP mpitrace_jobs_total Steps with a record.\n# TYPE mpitrace_jobs_total counter\n"
		"mpitrace_jobs_total{cluster=\"c\",partition=\"p\",account=\"a\"} 2\n# HELP mpitrace_incomplete",
		"mpitrace_incomplete_jobs_total{cluster=\"c\",partition=\"p\",account=\"a\"} 2\n",
		"mpitrace_core_hours_total{cluster=\"c\",partition=\"p\",account=\"a\"} 8\n",
		"mpitrace_hung_core_hours_total{cluster=\"c\",partition=\"p\",account=\"a\"} 2\n",
		"mpitrace_not_known_core_hours_total{cluster=\"c\",partition=\"p\",account=\"a\"} 0\n",
		"mpitrace_lost_core_hours_total{cluster=\"c\",partition=\"p\",account=\"a\",issue=\"late_sender\"} "
		"4\n"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		cr_expect_not_null(strstr((const char *)b.data, lines[i]), "%s\n%s", lines[i], (const char *)b.data);
	buf_done(&b);
	totals_done(&t);
	cJSON_Delete((cJSON *)r.json);
}

/* ---- what is removed ---- */

static void expect_forget(const char *name, const struct destination *d, const char *user, enum publish_step step,
			  const char *url, const char *body)
{
	struct publish_request r = {0};
	cr_expect_eq(kind(name)->forget(d, user, step, &r), url != NULL);
	if (url != NULL) {
		cr_expect_not_null(r.content_type);
		expect_text(&r.url, url);
		expect_text(&r.body, body);
		return;
	}
	buf_done(&r.url);
	buf_done(&r.body);
}

Test(publish_kinds, count_and_remove_what_a_user_has_and_nobody_elses)
{
	struct destination d1 = {.url = "http://x/", .database = "d&"},
			   d2 = {.url = "http://x/", .bucket = "b&", .org = "o&"},
			   e = {.url = "http://x/", .index = "i"};
	expect_forget(
		"influxdb", &d1, "o'k\\", FORGET_COUNT, "http://x/query?db=d%26",
		"q=SELECT%20count%28complete%29%20FROM%20mpitrace_job%20WHERE%20%22user%22%20%3D%20%27o%5C%27k%2F%27");
	expect_forget("influxdb", &d1, "ann", FORGET_REMOVE, "http://x/query?db=d%26",
		      "q=DELETE%20FROM%20mpitrace_job%20WHERE%20%22user%22%20%3D%20%27ann%27");
	expect_forget("influxdb", &d2, "ann", FORGET_COUNT, NULL, NULL);
	expect_forget("influxdb", &d2, "a\"n", FORGET_REMOVE, "http://x/api/v2/delete?bucket=b%26&org=o%26",
		      "{\"start\":\"1970-01-01T00:00:00Z\",\"stop\":\"2200-01-01T00:00:00Z\",\"predicate\":\"_"
		      "measurement=\\\"mpitrace_job\\\" "
		      "AND user=\\\"a\\\\\\\"n\\\"\"}");
	expect_forget("clickhouse", &d1, "o'k\\", FORGET_COUNT, "http://x/?database=d%26",
		      "SELECT count() FROM `jobs` WHERE user = 'o\\'k\\\\'");
	d1.table = "t";
	expect_forget("clickhouse", &d1, "ann", FORGET_REMOVE, "http://x/?database=d%26",
		      "ALTER TABLE `t` DELETE WHERE user = 'ann'");
	expect_forget("elasticsearch", &e, "ann", FORGET_COUNT, "http://x/i/_search?filter_path=hits.total",
		      "{\"query\":{\"term\":{\"user\":\"ann\"}},\"aggs\":{\"users\":{\"terms\":{\"field\":\"user\","
		      "\"size\":1}}},\"track_total_"
		      "hits\":true,\"size\":0}");
	expect_forget("elasticsearch", &e, "ann", FORGET_REMOVE,
		      "http://x/i/_delete_by_query?refresh=true&conflicts=proceed",
		      "{\"query\":{\"term\":{\"user\":\"ann\"}}}");
}

Test(publish_kinds, understand_how_many_are_left)
{
	static const struct {
		const char *kind, *answer;
		int64_t left;
	} rows[] = {
		{"influxdb", "{\"results\":[{\"series\":[{\"values\":[[0,7]]}]}]}", 7},
		{"influxdb", "{\"results\":[{\"statement_id\":0}]}", 0},
		{"influxdb", "{\"results\":[{\"error\":\"no\"}]}", -1},
		{"influxdb", "{\"results\":[{\"series\":[{\"values\":[[0,\"x\"]]}]}]}", -1},
		{"influxdb", "{\"results\":[]}", -1},
		{"influxdb", "", -1},
		{"clickhouse", "7\n", 7},
		{"clickhouse", "7\r\n", 7},
		{"clickhouse", "7 rows\n", -1},
		{"clickhouse", "\n", -1},
		{"clickhouse", "", -1},
		{"elasticsearch", "{\"hits\":{\"total\":{\"value\":7}}}", 7},
		{"elasticsearch", "{\"hits\":{\"total\":7}}", 7},
		{"elasticsearch", "{\"hits\":{}}", -1},
		{"elasticsearch", "{\"hits\":{\"total\":{}}}", -1},
		{"elasticsearch", "no", -1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(kind(rows[i].kind)->left(rows[i].answer), rows[i].left, "%s: %s: %lld", rows[i].kind,
			     rows[i].answer, (long long)kind(rows[i].kind)->left(rows[i].answer));
}

Test(publish_kinds, are_found_by_name_only)
{
	cr_expect_null(publish_kind_find("Influxdb"));
	cr_expect_null(publish_kind_find(""));
	cr_expect_str_eq(kind("file")->name, "file");
	cr_expect_str_eq(kind("pushgateway")->method, "PUT");
}
