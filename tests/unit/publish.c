/* publish.c - what goes over the wire when names are hostile, and what the state does with batches. */
#include "base/json.h"
#include "fleet/publish/state.h"
#include "format/issues.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char place[64], db[96];

static void begin(void)
{
	snprintf(place, sizeof(place), "/tmp/test_publish.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
	snprintf(db, sizeof(db), "%s/p.db", place);
}

static void end(void)
{
	static const char *const made[] = {"p.db", "p.db-wal", "p.db-shm", "p.db.lock"};
	char path[128];
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", place, made[i]);
		unlink(path);
	}
	cr_expect_eq(rmdir(place), 0, "nothing else was made");
}

static char *encoded(const char *kind, const char *text)
{
	struct buf b = {0};
	struct publish_record r = {1, text, cJSON_Parse(text), false};
	struct publish_batch batch = {"b-1", &r, 1, NULL};
	const struct publish_kind *k = publish_kind_find(kind);
	cr_assert_not_null(r.json);
	(k->append != NULL ? k->append : k->encode)(&batch, &b);
	buf_u8(&b, 0);
	cJSON_Delete((cJSON *)r.json);
	return (char *)b.data;
}

Test(influxdb, hostile_names_stay_in_their_tag)
{
	char *line = encoded("influxdb", "{\"id\":\"a,b=c d\\\\\",\"user\":\"x\\ny \\\\,z=1\",\"account\":\"\","
					 "\"start\":\"1970-01-01T00:00:09Z\",\"coverage\":{\"complete\":true},"
					 "\"build_id\":\"q\\\"u\\\\\\n\"}");
	cr_expect_str_eq(line, "mpitrace_job,id=a\\,b\\=c\\ d/,user=x?y\\ /\\,z\\=1 build_id=\"q\\\"u\\\\?\","
			       "complete=true 9\n");
	free(line);
}

Test(influxdb, names_of_fields_are_escaped_and_numbers_without_value_left_out)
{
	char *line = encoded("influxdb", "{\"id\":\"i\",\"start\":\"1970-01-01T00:00:01Z\",\"elapsed_s\":1e999,"
					 "\"wait_s\":{\"a b,c=\\n\":0.5,\"none\":null}}");
	cr_expect_str_eq(line, "mpitrace_job,id=i wait_a\\ b\\,c\\=?_s=0.5,complete=false 1\n");
	free(line);
}

Test(postgresql, rows_have_the_columns_of_the_table)
{
	char *rows = encoded("postgresql",
			     "{\"schema\":\"mpitrace/job/2\",\"id\":\"a'\\\"\\\\\",\"user\":\"x\\ny\",\"start\":"
			     "\"2025-01-02T03:04:05Z\",\"exit_code\":9e17,\"energy_j\":0.5,\"end\":"
			     "\"2025-01-02T03:04:06Z\",\"gpus\":null}");
	cJSON *all = cJSON_Parse(rows), *row = cJSON_GetArrayItem(all, 0);
	cr_assert_eq(cJSON_GetArraySize(all), 1, "%s", rows);
	cr_expect_str_eq(json_text(row, "key", ""), "a'\"\\");
	cr_expect_str_eq(json_text(row, "user", ""), "x?y", "as everywhere: fit for a terminal");
	cr_expect_str_eq(json_text(row, "start", ""), "2025-01-02T03:04:05", "without a zone: the column has none");
	cr_expect_str_eq(json_text(row, "end", ""), "2025-01-02T03:04:06");
	cr_expect(cJSON_IsNull(json_item(row, "submit")));
	cr_expect_str_eq(json_text(row, "exit_code", ""), "900000000000000000", "an integer has no exponent");
	cr_expect(cJSON_IsNull(json_item(row, "gpus")));
	cr_expect_eq(json_number(row, "energy_j"), 0.5);
	cr_expect_null(json_item(row, "id"), "the server gives numbers");
	cJSON_Delete(all);
	free(rows);
}

Test(clickhouse, a_row_a_line_has_the_record_s_own_id_and_numbers)
{
	char *rows = encoded("clickhouse", "{\"schema\":\"mpitrace/job/2\",\"id\":\"a\",\"start\":"
					   "\"2025-01-02T03:04:05Z\",\"exit_code\":3}");
	cJSON *row = cJSON_Parse(rows);
	cr_expect_str_eq(json_text(row, "id", ""), "a");
	cr_expect_null(json_item(row, "key"));
	cr_expect_eq(json_number(row, "start"), 1735787045);
	cr_expect_eq(json_number(row, "exit_code"), 3);
	cr_expect_eq(strcspn(rows, "\n") + 1, strlen(rows), "one line, with its end");
	cJSON_Delete(row);
	free(rows);
}

Test(postgresql, what_a_destination_lacks_is_said)
{
	const struct publish_kind *k = publish_kind_find("postgresql");
	struct destination d = {.kind = k};
	if (strstr(k->missing(&d), "without libpq") != NULL)
		cr_skip_test("built without libpq");
	cr_expect_not_null(strstr(k->missing(&d), "host"));
	d.host = "db.example.org";
	cr_expect_not_null(strstr(k->missing(&d), "database"));
	d.database = d.user = "x";
	cr_expect_not_null(strstr(k->missing(&d), "ca ="), "over a network the server proves who it is");
	d.sslmode = "require";
	cr_expect_null(k->missing(&d));
	d.sslmode = "prefer";
	cr_expect_not_null(strstr(k->missing(&d), "sslmode"));
	d.sslmode = NULL;
	d.host = "/run/postgresql";
	cr_expect_null(k->missing(&d));
}

Test(webhook, body_is_an_object_with_the_batch_and_its_records)
{
	char *body = encoded("webhook", "{\"id\":\"\\\"]}\"}");
	cr_expect_str_eq(body, "{\"batch\":\"b-1\",\"records\":[{\"id\":\"\\\"]}\"}]}");
	free(body);
}

/* ---- what an answer says of each record ---- */

static struct publish_fate fate_of(const char *answer, size_t n, size_t which, int *ret_rc)
{
	struct publish_fate fates[4] = {{0}};
	*ret_rc = publish_kind_find("elasticsearch")->fates(answer, n, fates);
	return fates[which];
}

Test(elasticsearch, fates_are_read_one_by_one)
{
	static const char answer[] = "{\"errors\":true,\"items\":[{\"index\":{\"status\":201}},{\"index\":{\"status\":"
				     "429,\"error\":{\"type\":"
				     "\"busy\"}}},{\"index\":{\"status\":400,\"error\":{\"type\":\"t\",\"reason\":"
				     "\"r\"}}},{\"index\":{\"status\":"
				     "503}}]}";
	static const int want[] = {FATE_ARRIVED, FATE_LATER, FATE_REFUSED, FATE_LATER};
	int rc = -1;
	for (size_t i = 0; i < 4; i++) {
		struct publish_fate f = fate_of(answer, 4, i, &rc);
		cr_expect_eq((int)f.what, want[i], "%zu", i);
		cr_expect_eq(rc, 0);
	}
	struct publish_fate refused = fate_of(answer, 4, 2, &rc);
	cr_expect_str_eq(refused.why, "status 400: t: r");
}

Test(elasticsearch, answer_that_does_not_fit_is_none)
{
	static const char *const odd[] = {"",
					  "no JSON",
					  "[]",
					  "{}",
					  "{\"errors\":0,\"items\":[]}",
					  "{\"errors\":true}",
					  "{\"errors\":true,\"items\":[{\"index\":{\"status\":201}}]}"};
	int rc = 0;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		fate_of(odd[i], 2, 0, &rc);
		cr_expect_lt(rc, 0, "%s", odd[i]);
	}
	fate_of("{\"errors\":true,\"items\":[{},7]}", 2, 1, &rc);
	cr_expect_eq(rc, 0);
	cr_expect_eq((int)fate_of("{\"errors\":true,\"items\":[{},7]}", 2, 1, &rc).what, FATE_LATER);
	cr_expect_eq((int)fate_of("{\"errors\":false,\"took\":3}", 2, 1, &rc).what, FATE_ARRIVED);
	cr_expect_eq(rc, 0);
}

/* ---- sums ---- */

static int add_job(struct totals *t, const char *account, const char *issue)
{
	char text[400];
	snprintf(text, sizeof(text),
		 "{\"schema\":\"mpitrace/job/2\",\"id\":\"i\",\"start\":\"2025-03-01T10:00:00Z\",\"core_hours\":2,"
		 "\"account\":\"%s\",\"issues\":[{\"issue\":\"%s\",\"severity\":\"high\",\"loss_core_hours\":1}]}",
		 account, issue);
	struct publish_record r = {1, text, cJSON_Parse(text), false};
	int rc = publish_kind_find("pushgateway")->add(&r, t);
	cJSON_Delete((cJSON *)r.json);
	return rc;
}

static double sum_of(const struct totals *t, const char *metric)
{
	double sum = 0;
	for (size_t i = 0; i < t->all.n; i++)
		sum += strcmp(t->all.at[i].metric, metric) == 0 ? t->all.at[i].value : 0;
	return sum;
}

Test(pushgateway, series_are_bounded_and_nothing_is_left_out)
{
	struct totals t = {0};
	char account[32];
	for (int i = 0; i < 6000; i++) {
		snprintf(account, sizeof(account), "a%d", i);
		cr_assert_eq(add_job(&t, account, ""), 0);
	}
	cr_expect_leq(t.all.n, 20016u);
	cr_expect(totals_has(&t, "mpitrace_jobs_total",
			     "cluster=\"(others)\",partition=\"(others)\",account=\"(others)\""));
	cr_expect_eq(sum_of(&t, "mpitrace_jobs_total"), 6000);
	cr_expect_eq(sum_of(&t, "mpitrace_core_hours_total"), 12000);
	cr_expect_eq(sum_of(&t, "mpitrace_not_known_core_hours_total"), 12000); /* the records have no share */
	cr_expect_eq(sum_of(&t, "mpitrace_useful_core_hours_total"), 0);
	totals_done(&t);
}

Test(pushgateway, issues_are_those_of_the_table_and_within_the_bound)
{
	struct totals t = {0};
	char name[32];
	for (int i = 0; i < 30000; i++) {
		snprintf(name, sizeof(name), "i%d", i);
		cr_assert_eq(add_job(&t, "a", name), 0);
	}
	cr_expect_eq(t.all.n, 9u, "%zu: any name is one of others", t.all.n);
	for (int i = 0; i < 2600; i++) {
		snprintf(name, sizeof(name), "a%d", i);
		cr_assert_eq(add_job(&t, name, i < 2400 ? "" : issue_rows[0].name), 0);
	}
	for (size_t k = 0; k < issue_count; k++)
		for (int i = 0; i < 2400; i++) {
			snprintf(name, sizeof(name), "a%d", i);
			cr_assert_eq(add_job(&t, name, issue_rows[k].name), 0);
		}
	cr_expect_leq(t.all.n, 20016u, "%zu", t.all.n);
	cr_expect_eq(sum_of(&t, "mpitrace_lost_core_hours_total"), 30000 + 200 + 2400 * (double)issue_count);
	totals_done(&t);
}

Test(pushgateway, hostile_names_stay_in_their_label)
{
	struct totals t = {0};
	cr_assert_eq(add_job(&t, "a\\\"b\\\\\\n c} 1", ""), 0); /* JSON of: a"b\, a line feed, c} 1 */
	cr_expect(totals_has(&t, "mpitrace_jobs_total", "cluster=\"\",partition=\"\",account=\"a\\\"b\\\\\\n c} 1\""));
	totals_done(&t);
}

/* ---- the state ---- */

static struct destinations one_destination(uint64_t batch, uint64_t queue)
{
	struct destinations all = {0};
	struct destination d = {.name = "d", .kind = publish_kind_find("file"), .batch = batch, .queue = queue};
	cr_assert_eq(vec_push(&all.all, d), 0);
	return all;
}

static const char *take(struct state *s, struct destinations *all, const char *id, const char *user, const char *owner)
{
	char text[256];
	struct take_counts counts = {0};
	struct error e = {""};
	const char *why = NULL;
	int len = snprintf(text, sizeof(text),
			   "{\"schema\":\"mpitrace/job/1\",\"id\":\"%s\",\"user\":\"%s\","
			   "\"start\":\"2025-03-01T10:00:00Z\"}\n",
			   id, user);
	cr_assert_eq(state_take(s, all, text, (size_t)len, owner, &counts, &why, &e), 0, "%s", e.text);
	return why;
}

static struct state opened(struct destinations *all)
{
	struct state s = {.lock_fd = -1};
	struct error e = {""};
	cr_assert_eq(state_open(db, &s, &e), 0, "%s", e.text);
	cr_assert_eq(state_destinations(&s, all, &e), 0, "%s", e.text);
	return s;
}

TestSuite(publish_state, .init = begin, .fini = end);

Test(publish_state, damaged_bytes_become_text)
{
	struct destinations all = one_destination(10, 10);
	struct state s = opened(&all);
	struct batch b = {0};
	cr_expect_null(take(&s, &all, "a\xff\xc3", "u", NULL));
	cr_assert_eq(state_batch(&s, &all.all.at[0], &b, NULL), 0);
	cr_assert_eq(b.records.n, 1u);
	cr_expect_not_null(strstr(b.records.at[0].text, "\"a??\""));
	batch_done(&b);
	state_close(&s);
	destinations_done(&all);
}

Test(publish_state, others_files_and_other_texts_are_refused)
{
	struct destinations all = one_destination(10, 10);
	struct state s = opened(&all);
	struct take_counts counts = {0};
	const char *why = NULL;
	cr_expect_not_null(take(&s, &all, "a", "alice", "bob"));
	cr_expect_null(take(&s, &all, "b", "alice", "alice"));
	cr_expect_not_null(take(&s, &all, "", "alice", NULL));
	state_take(&s, &all, "[1]", 3, NULL, &counts, &why, NULL);
	cr_expect_not_null(why);
	state_close(&s);
	destinations_done(&all);
}

Test(publish_state, batch_is_the_same_after_a_restart_until_it_has_arrived)
{
	struct destinations all = one_destination(2, 10);
	struct state s = opened(&all);
	struct batch a = {0}, b = {0};
	take(&s, &all, "1", "u", NULL);
	cr_assert_eq(state_batch(&s, &all.all.at[0], &a, NULL), 0);
	take(&s, &all, "2", "u", NULL);
	take(&s, &all, "1", "u", NULL);
	state_close(&s);
	s = opened(&all);
	cr_assert_eq(state_batch(&s, &all.all.at[0], &b, NULL), 0);
	cr_expect_str_eq(a.name, b.name);
	cr_expect_eq(b.records.n, 1u);
	cr_expect_eq(state_arrived(&s, &all.all.at[0], &b, -1, NULL, NULL), 0);
	batch_done(&a);
	batch_done(&b);
	cr_assert_eq(state_batch(&s, &all.all.at[0], &b, NULL), 0);
	cr_expect_eq(b.records.n, 1u, "the known one is not owed again");
	batch_done(&b);
	state_close(&s);
	destinations_done(&all);
}

Test(publish_state, two_records_of_a_step_are_each_known_afterwards)
{
	struct destinations all = one_destination(9, 10);
	struct state s = opened(&all);
	struct state_counts c = {0};
	for (int i = 0; i < 3; i++) {
		take(&s, &all, "1", "alice", NULL);
		take(&s, &all, "1", "bob", NULL);
	}
	cr_assert_eq(state_counts(&s, &all.all.at[0], &c, NULL), 0);
	cr_expect_eq(c.waiting, 2);
	state_close(&s);
	destinations_done(&all);
}

Test(publish_state, split_halves_hold_each_record_once)
{
	struct destinations all = one_destination(5, 10);
	struct state s = opened(&all);
	struct batch b = {0};
	static const char *const ids[] = {"1", "2", "3", "4", "5"};
	size_t sizes[] = {2, 3};
	for (size_t i = 0; i < 5; i++)
		take(&s, &all, ids[i], "u", NULL);
	cr_assert_eq(state_batch(&s, &all.all.at[0], &b, NULL), 0);
	cr_assert_eq(state_split(&s, &all.all.at[0], &b, NULL), 0);
	batch_done(&b);
	for (size_t i = 0; i < 2; i++) {
		cr_assert_eq(state_batch(&s, &all.all.at[0], &b, NULL), 0);
		cr_expect_eq(b.records.n, sizes[i]);
		cr_expect_eq(state_arrived(&s, &all.all.at[0], &b, -1, NULL, NULL), 0);
		batch_done(&b);
	}
	state_close(&s);
	destinations_done(&all);
}

/* Two destinations set the same record aside: each counts for itself, and only when others arrived between. */
Test(publish_state, refusals_are_counted_by_destination)
{
	struct destinations all = {0};
	for (int i = 0; i < 2; i++) {
		struct destination d = {
			.name = i == 0 ? "a" : "b", .kind = publish_kind_find("file"), .batch = 1, .queue = 10};
		cr_assert_eq(vec_push(&all.all, d), 0);
	}
	struct state s = opened(&all);
	struct destination *a = &all.all.at[0], *b = &all.all.at[1];
	struct batch poison = {0}, other = {0};
	int64_t tries = -1;
	take(&s, &all, "1", "u", NULL);
	take(&s, &all, "2", "u", NULL);
	take(&s, &all, "3", "u", NULL);
	cr_assert_eq(state_batch(&s, a, &poison, NULL), 0);
	cr_assert_eq(state_aside(&s, a, &poison, &tries, NULL), 0);
	cr_expect_eq(tries, 1);
	cr_assert_eq(state_aside(&s, a, &poison, &tries, NULL), 0);
	cr_expect_eq(tries, 1, "nothing arrived between");
	for (int64_t k = 2; k <= 3; k++) {
		cr_assert_eq(state_batch(&s, a, &other, NULL), 0);
		cr_expect_neq(other.records.at[0].id, poison.records.at[0].id, "others go first");
		cr_assert_eq(state_arrived(&s, a, &other, -1, NULL, NULL), 0);
		batch_done(&other);
		cr_assert_eq(state_aside(&s, a, &poison, &tries, NULL), 0);
		cr_expect_eq(tries, k);
	}
	cr_assert_eq(state_aside(&s, b, &poison, &tries, NULL), 0);
	cr_expect_eq(tries, 1, "this destination refused it once");
	batch_done(&poison);
	state_close(&s);
	destinations_done(&all);
}

Test(publish_state, oldest_beyond_the_queue_are_dropped_and_counted)
{
	struct destinations all = one_destination(5, 2);
	struct state s = opened(&all);
	struct state_counts c = {0};
	struct batch b = {0};
	take(&s, &all, "1", "u", NULL);
	take(&s, &all, "2", "u", NULL);
	take(&s, &all, "3", "u", NULL);
	cr_assert_eq(state_bound(&s, &all.all.at[0], NULL), 0);
	cr_assert_eq(state_counts(&s, &all.all.at[0], &c, NULL), 0);
	cr_expect_eq(c.dropped, 1);
	cr_expect_eq(c.waiting, 2);
	cr_assert_eq(state_batch(&s, &all.all.at[0], &b, NULL), 0);
	cr_expect_not_null(strstr(b.records.at[0].text, "\"2\""));
	batch_done(&b);
	state_close(&s);
	destinations_done(&all);
}

Test(publish_state, second_user_of_it_is_told_so)
{
	struct destinations all = one_destination(5, 2);
	struct state s = opened(&all), other = {.lock_fd = -1};
	struct error e = {""};
	cr_expect_lt(state_open(db, &other, &e), 0);
	cr_expect_not_null(strstr(e.text, "another"));
	state_close(&s);
	destinations_done(&all);
}
