/* fleet_outbox.c - what steps leave in an outbox: under which names, how many alerts, and whole or not at all; and
 * how a user is called whose name is not told. */
#include "fleet/alert.h"
#include "fleet/outbox.h"
#include "fleet/user.h"

#include "base/json.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SOMEBODY 12345

static char place[64];
static int dir;

/* In a directory where all may write, as somebody who is not root: root leaves nothing. */
static void begin(void)
{
	snprintf(place, sizeof(place), "/tmp/test_outbox.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
	cr_assert_eq(chmod(place, 0777), 0);
	dir = open(place, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(dir, 0);
	if (geteuid() == 0)
		cr_assert_eq(seteuid(SOMEBODY), 0);
}

static bool is_own(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Files there whose names have both. */
static int count(const char *begin_of, const char *end_of)
{
	int n = 0;
	DIR *all = opendir(place);
	for (const struct dirent *x; (x = readdir(all)) != NULL;) {
		size_t len = strlen(x->d_name), k = strlen(end_of);
		n += is_own(x->d_name) && strncmp(x->d_name, begin_of, strlen(begin_of)) == 0 && len >= k &&
		     strcmp(x->d_name + len - k, end_of) == 0;
	}
	closedir(all);
	return n;
}

/* The only file there. */
static const char *only_one(void)
{
	static char name[256];
	DIR *all = opendir(place);
	cr_assert_eq(count("", ""), 1);
	for (const struct dirent *x; (x = readdir(all)) != NULL;)
		if (is_own(x->d_name))
			snprintf(name, sizeof(name), "%s", x->d_name);
	closedir(all);
	return name;
}

static void end(void)
{
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
	DIR *all = opendir(place);
	for (const struct dirent *x; (x = readdir(all)) != NULL;)
		if (is_own(x->d_name))
			unlinkat(dir, x->d_name, 0);
	closedir(all);
	close(dir);
	cr_expect_eq(rmdir(place), 0);
}

TestSuite(fleet_outbox, .init = begin, .fini = end);

static void expect_text(const char *name, const char *text)
{
	char found[400] = "";
	int fd = openat(dir, name, O_RDONLY);
	cr_assert_geq(fd, 0, "%s", name);
	cr_expect_geq(read(fd, found, sizeof(found) - 1), 0);
	cr_expect_str_eq(found, text);
	close(fd);
}

/* ---- records ---- */

Test(fleet_outbox, a_record_is_one_file_that_its_group_may_read)
{
	struct error e = {""};
	struct stat st;
	umask(077);
	cr_assert_eq(outbox_put(dir, "c:7.0:0", "text", &e), 0, "%s", e.text);
	const char *name = only_one();
	cr_expect_eq(strncmp(name, "jc_7.0_0.", 9), 0, "%s", name);
	cr_expect_eq(strlen(name), strlen("jc_7.0_0.0123456789abcdef" OUTBOX_SUFFIX), "%s", name);
	expect_text(name, "text\n");
	cr_assert_eq(fstatat(dir, name, &st, 0), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	cr_assert_eq(outbox_put(dir, "c:7.0:0", "text", &e), 0, "%s", e.text);
	cr_expect_eq(count("", ""), 1, "the same again is the same");
	cr_assert_eq(outbox_put(dir, "c:7.0:0", "other text", &e), 0, "%s", e.text);
	cr_expect_eq(count("jc_7.0_0.", OUTBOX_SUFFIX), 2);
}

Test(fleet_outbox, a_name_has_letters_digits_and_few_signs_of_the_id)
{
	struct error e = {""};
	char id[200];
	snprintf(id, sizeof(id), "aZ09._-/ :\xc3\xbc%0100d", 0);
	cr_assert_eq(outbox_put(dir, id, "text", &e), 0, "%s", e.text);
	const char *name = only_one();
	cr_expect_eq(strncmp(name, "jaZ09._-_____0", 14), 0, "%s", name);
	cr_expect_eq(strlen(name), 1 + 100 + 1 + 16 + strlen(OUTBOX_SUFFIX), "a hundred bytes of it: %s", name);
}

/* Somebody else may have the name that the text has. */
Test(fleet_outbox, a_name_that_somebody_has_is_passed_over)
{
	struct error e = {""};
	char name[256];
	cr_assert_eq(outbox_put(dir, "x", "text", &e), 0, "%s", e.text);
	snprintf(name, sizeof(name), "%s", only_one());
	cr_assert_eq(unlinkat(dir, name, 0), 0);
	cr_assert_eq(mkdirat(dir, name, 0700), 0);
	cr_assert_eq(outbox_put(dir, "x", "text", &e), 0, "%s", e.text);
	cr_expect_eq(count("jx.", OUTBOX_SUFFIX), 2);
	cr_assert_eq(unlinkat(dir, name, AT_REMOVEDIR), 0);
	expect_text(only_one(), "text\n");
}

Test(fleet_outbox, what_cannot_be_written_leaves_nothing)
{
	struct error e = {""};
	if (geteuid() == 0)
		cr_skip_test("root may write everywhere");
	int nowhere = open("/", O_RDONLY | O_DIRECTORY);
	cr_expect_lt(outbox_put(nowhere, "x", "text", &e), 0);
	cr_expect_not_null(strstr(e.text, "cannot write the record"), "%s", e.text);
	cr_expect_eq(outbox_put_full(nowhere, "what", &e), -EACCES);
	cr_expect_null(strstr(e.text, "counted"), "%s", e.text);
	cr_expect_lt(outbox_put_alert(nowhere, "n", "text", &e), 0);
	close(nowhere);
}

Test(fleet_outbox, one_that_had_no_room_is_counted_once)
{
	struct error e = {""};
	cr_expect_eq(outbox_put_full(dir, "what", &e), -ENOSPC);
	cr_expect_not_null(strstr(e.text, ", which is counted when records are collected"), "%s", e.text);
	expect_text(only_one(), "");
	cr_expect_eq(outbox_put_full(dir, "what", &e), -ENOSPC);
	cr_expect_eq(count("j.", OUTBOX_FULL_SUFFIX), 1);
	cr_expect_eq(outbox_put_full(dir, "other", &e), -ENOSPC);
	cr_expect_eq(count("j.", OUTBOX_FULL_SUFFIX), 2);
}

Test(fleet_outbox, root_leaves_nothing)
{
	struct error e = {""};
	if (getuid() != 0)
		cr_skip_test("this needs root");
	cr_assert_eq(seteuid(0), 0);
	cr_expect_eq(outbox_put(dir, "x", "text", &e), -EPERM);
	cr_expect_eq(outbox_put_full(dir, "x", &e), -EPERM);
	cr_expect_eq(outbox_put_alert(dir, "x", "text", &e), -EPERM);
	cr_expect_eq(count("", ""), 0);
}

/* ---- alerts ---- */

static bool is_same_day(time_t begin_of)
{
	return begin_of / 86400 == time(NULL) / 86400;
}

Test(fleet_outbox, a_user_leaves_eight_alerts_a_day)
{
	time_t began = time(NULL);
	struct error e = {""};
	char name[100], day[16], node[8];
	struct tm tm;
	strftime(day, sizeof(day), "%Y%m%d", gmtime_r(&began, &tm));
	for (unsigned i = 0; i < OUTBOX_ALERTS_USER + 2; i++) {
		snprintf(node, sizeof(node), "n%u", i / 3);
		int rc = outbox_put_alert(dir, node, "text", &e);
		if (!is_same_day(began))
			cr_skip_test("it is another day now");
		cr_expect_eq(rc, i < OUTBOX_ALERTS_USER ? 0 : -EDQUOT, "%u: %s", i, e.text);
		cr_expect_eq(count("alert-", OUTBOX_ALERT_SUFFIX), i < OUTBOX_ALERTS_USER ? (int)i + 1 : 8);
		cr_expect_eq(count("alert-", OUTBOX_SLOT_SUFFIX), i < OUTBOX_ALERTS_USER ? (int)i + 1 : 8);
		cr_expect_eq(count(".", ""), 0, "nothing is left behind");
	}
	cr_expect_not_null(strstr(e.text, "this user has left the alerts of today"), "%s", e.text);
	snprintf(name, sizeof(name), "alert-%s-u%u-7.alert.json", day, (unsigned)geteuid());
	expect_text(name, "text\n");
	snprintf(name, sizeof(name), "alert-%s-nn1-2.alert.slot", day);
	expect_text(name, "");
}

Test(fleet_outbox, of_a_node_there_are_sixteen_a_day)
{
	time_t began = time(NULL);
	struct error e = {""};
	for (unsigned i = 0; i < OUTBOX_ALERTS_NODE + 1; i++) {
		int rc = outbox_put_alert(dir, "n/1", "text", &e);
		if (!is_same_day(began))
			cr_skip_test("it is another day now");
		cr_expect_eq(rc, i < OUTBOX_ALERTS_NODE ? 0 : -EDQUOT, "%u: %s", i, e.text);
		if (getuid() != 0)
			cr_skip_test("this needs several users");
		if (i % 4 == 3) /* of four users */
			cr_assert(seteuid(0) == 0 && seteuid(SOMEBODY + i) == 0);
	}
	cr_expect_not_null(strstr(e.text, "this node has left its alerts of today"), "%s", e.text);
	cr_expect_eq(count("alert-", "-15.alert.slot"), 1);
	cr_expect_eq(count("alert-", OUTBOX_SLOT_SUFFIX), OUTBOX_ALERTS_NODE);
	char name[100], day[16];
	struct tm tm;
	strftime(day, sizeof(day), "%Y%m%d", gmtime_r(&began, &tm));
	snprintf(name, sizeof(name), "alert-%s-nn_1-0", day);
	cr_expect_eq(count(name, OUTBOX_SLOT_SUFFIX), 1);
}

Test(fleet_outbox, a_node_with_a_long_name_has_a_shorter_one_there)
{
	struct error e = {""};
	char node[300];
	snprintf(node, sizeof(node), "%0200d", 0);
	cr_assert_eq(outbox_put_alert(dir, node, "text", &e), 0, "%s", e.text);
	snprintf(node, sizeof(node), "n%0128d-0.alert.slot", 0);
	cr_expect_eq(count("alert-", node), 1);
	snprintf(node, sizeof(node), "%0129d-0.alert.slot", 0);
	cr_expect_eq(count("alert-", node), 0);
}

/* ---- what an alert says ---- */

static const char live[] =
	"{\"schema\":\"mpitrace/live/"
	"1\",\"time\":1735787045,\"job\":{\"cluster\":\"c\",\"job_id\":\"7\",\"step_id\":\"0\","
	"\"restart\":2,\"account\":\"\",\"partition\":\"long\",\"program\":\"/home/ann/x\",\"ranks\":4,\"nodes\":2},"
	"\"deadlock\":[{\"core_ranks\":2,\"why\":\"in /a 0 "
	"waits\",\"core\":[{\"rank\":0,\"op\":\"MPI_Recv\",\"callsite\":\"/home/x.c:7\","
	"\"since_s\":5,\"needs\":1,\"until\":\"it "
	"sends\"},{\"rank\":1,\"op\":\"MPI_Recv\",\"since_s\":6,\"needs\":0}]}]}";

static cJSON *alert_made(const char *text, const struct record_source *source)
{
	struct error e = {""};
	char *made = NULL;
	cr_assert_eq(alert_build(text, source, 1735787020, NULL, &made, &e), 0, "%s", e.text);
	cr_expect_lt(strlen(made), ALERT_BYTES_MAX);
	cJSON *json = cJSON_Parse(made);
	free(made);
	return json;
}

static void expect_json(const cJSON *json, const char *expected)
{
	char *text = cJSON_PrintUnformatted(json);
	cr_expect_str_eq(text, expected, "%s", text);
	free(text);
}

#define ABOUT \
	"{\"schema\":\"mpitrace/alert/" \
	"1\",\"id\":\"c:7.0:2\",\"cluster\":\"c\",\"job_id\":\"7\",\"step_id\":\"0\",\"account\":null," \
	"\"partition\":\"long\",\"restart\":\"2\","

Test(fleet_alert, of_a_deadlock_says_who_waits_for_whom)
{
	struct record_source source = {.user = "ann", .version = "0.1.0"};
	cJSON *json = alert_made(live, &source);
	expect_json(json, ABOUT "\"user\":\"ann\",\"program\":\"/home/ann/"
				"x\",\"nodes\":2,\"ranks\":4,\"time\":\"2025-01-02T03:04:05Z\","
				"\"since\":\"2025-01-02T03:03:40Z\",\"what\":\"deadlock\",\"core_ranks\":2,\"core\":[{"
				"\"rank\":0,\"op\":\"MPI_Recv\","
				"\"callsite\":\"/home/x.c:7\",\"since_s\":5,\"needs\":1,\"until\":\"it "
				"sends\"},{\"rank\":1,\"op\":\"MPI_Recv\","
				"\"callsite\":null,\"since_s\":6,\"needs\":0,\"until\":null}],\"why\":\"in /a 0 "
				"waits\",\"version\":\"0.1.0\"}");
	cJSON_Delete(json);
	source = (struct record_source){.user = "", .without_paths = true};
	json = alert_made(live, &source);
	expect_json(json, ABOUT
		    "\"user\":null,\"program\":\"x\",\"nodes\":2,\"ranks\":4,\"time\":\"2025-01-02T03:04:05Z\","
		    "\"since\":\"2025-01-02T03:03:40Z\",\"what\":\"deadlock\",\"core_ranks\":2,\"core\":[{\"rank\":0,"
		    "\"op\":\"MPI_Recv\","
		    "\"callsite\":\"x.c:7\",\"since_s\":5,\"needs\":1,\"until\":\"it "
		    "sends\"},{\"rank\":1,\"op\":\"MPI_Recv\","
		    "\"callsite\":null,\"since_s\":6,\"needs\":0,\"until\":null}],\"why\":null,\"version\":null}");
	cJSON_Delete(json);
}

static cJSON *hanging(int ranks, int bytes_of_why, const char *place_of)
{
	struct record_source source = {.user = "ann"};
	static char text[20000];
	int n = snprintf(
		text, sizeof(text),
		"{\"schema\":\"mpitrace/live/1\",\"job\":{},\"deadlock\":[{\"why\":\"%0*d\xc3\xbc\",\"core\":[",
		bytes_of_why, 0);
	for (int i = 0; i < ranks; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s{\"rank\":%d,\"callsite\":\"%s\"}",
			      i > 0 ? "," : "", i, place_of);
	snprintf(text + n, sizeof(text) - (size_t)n, "]}]}");
	return alert_made(text, &source);
}

Test(fleet_alert, is_cut_until_it_fits)
{
	char place_of[400];
	static const struct {
		int ranks, why, place;
		size_t members, bytes;
	} rows[] = {{20, 10, 1, 16, 12},    {20, 999, 1, 16, 999},  {20, 998, 1, 16, 1000},
		    {20, 399, 300, 4, 399}, {20, 398, 300, 4, 400}, {20, 2000, 300, 4, 400}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(place_of, sizeof(place_of), "%0*d", rows[i].place, 0);
		cJSON *json = hanging(rows[i].ranks, rows[i].why, place_of);
		cr_expect_eq(json_count(json, "core"), rows[i].members, "row %zu: %zu", i, json_count(json, "core"));
		cr_expect_eq(strlen(json_text(json, "why", "")), rows[i].bytes, "row %zu: %zu", i,
			     strlen(json_text(json, "why", "")));
		cJSON_Delete(json);
	}
}

Test(fleet_alert, where_nobody_advances_those_in_MPI_are_named)
{
	struct record_source source = {.user = "ann"};
	cJSON *json = alert_made(
		"{\"schema\":\"mpitrace/live/1\",\"job\":{},\"ranks\":[{\"rank\":0,\"state\":\"computes\"},{\"rank\":1,"
		"\"state\":\"mpi\"},{\"rank\":2}]}",
		&source);
	cr_expect_str_eq(json_text(json, "what", ""), "nobody advances");
	cr_expect(cJSON_IsNull(json_item(json, "core_ranks")) && cJSON_IsNull(json_item(json, "why")));
	cr_assert_eq(json_count(json, "core"), 2);
	cr_expect_eq(json_number(json_first(json, "core"), "rank"), 1);
	cJSON_Delete(json);
}

Test(fleet_alert, what_is_no_live_state_makes_none)
{
	struct record_source source = {.user = "ann"};
	struct error e = {""};
	char *text = NULL;
	cr_expect_eq(alert_build("{\"schema\":\"mpitrace/live/2\"}", &source, 0, NULL, &text, &e), -EBADMSG);
	cr_expect_eq(alert_build("", &source, 0, NULL, &text, &e), -EBADMSG);
	cr_expect_null(text);
}

Test(fleet_alert, is_read_if_it_has_an_id_times_and_short_names)
{
	char name[520];
	static const struct {
		const char *schema, *id, *since, *time;
		int cluster, partition, user;
		bool good;
	} rows[] = {
		{"mpitrace/alert/1", "x", "2025-01-02T03:04:05Z", "2025-01-02T03:04:05Z", 512, 512, 512, true},
		{"mpitrace/alert/2", "x", "2025-01-02T03:04:05Z", "2025-01-02T03:04:05Z", 1, 1, 1, false},
		{"mpitrace/alert/1", "", "2025-01-02T03:04:05Z", "2025-01-02T03:04:05Z", 1, 1, 1, false},
		{"mpitrace/alert/1", "x", "2025-01-02T03:04:06Z", "2025-01-02T03:04:05Z", 1, 1, 1, false},
		{"mpitrace/alert/1", "x", "", "2025-01-02T03:04:05Z", 1, 1, 1, false},
		{"mpitrace/alert/1", "x", "2025-01-02T03:04:05Z", "", 1, 1, 1, false},
		{"mpitrace/alert/1", "x", "2025-01-02T03:04:05Z", "2025-01-02T03:04:05Z", 513, 1, 1, false},
		{"mpitrace/alert/1", "x", "2025-01-02T03:04:05Z", "2025-01-02T03:04:05Z", 1, 513, 1, false},
		{"mpitrace/alert/1", "x", "2025-01-02T03:04:05Z", "2025-01-02T03:04:05Z", 1, 1, 513, false},
	};
	snprintf(name, sizeof(name), "%0513d", 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct alert a = {0};
		char text[2000];
		snprintf(text, sizeof(text),
			 "{\"schema\":\"%s\",\"id\":\"%s\",\"since\":\"%s\",\"time\":\"%s\",\"cluster\":\"%.*s\","
			 "\"partition\":\"%.*s\","
			 "\"user\":\"%.*s\"}",
			 rows[i].schema, rows[i].id, rows[i].since, rows[i].time, rows[i].cluster, name,
			 rows[i].partition, name, rows[i].user, name);
		cJSON *json = cJSON_Parse(text);
		cr_expect_eq(alert_of(json, &a) == NULL, rows[i].good, "row %zu", i);
		if (rows[i].good) {
			cr_expect_eq(strlen(a.cluster) + strlen(a.partition) + strlen(a.user), 3 * 512);
			cr_expect_eq(a.since, 1735787045);
			cr_expect_eq(a.time, 1735787045);
		}
		cJSON_Delete(json);
	}
}

Test(fleet_alert, an_id_is_shorter_than_those_of_records_may_be)
{
	for (int len = RECORD_ID_MAX - 1; len <= (int)RECORD_ID_MAX; len++) {
		struct alert a;
		char text[500];
		snprintf(text, sizeof(text),
			 "{\"schema\":\"mpitrace/alert/"
			 "1\",\"id\":\"%0*d\",\"since\":\"2025-01-02T03:04:05Z\",\"time\":\"2025-01-02T03:04:05Z\"}",
			 len, 0);
		cJSON *json = cJSON_Parse(text);
		cr_expect_eq(alert_of(json, &a) == NULL, len < (int)RECORD_ID_MAX, "%d", len);
		cJSON_Delete(json);
	}
}

/* ---- users ---- */

/* RFC 4231 has it, as its sixth case: the first half of the digest is what is shown. */
Test(fleet_user, is_the_hash_that_the_rfc_has)
{
	char key[131], text[USER_TEXT_MAX];
	struct error e = {""};
	memset(key, 0xaa, sizeof(key));
	int rc = user_hash(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First", text, &e);
	if (rc == -ENOSYS)
		cr_skip_test("built without nettle");
	cr_assert_eq(rc, 0, "%s", e.text);
	cr_expect_str_eq(text, "h:60e431591ee0b67f0d8a26aacbf5b77f", "%s", text);
	cr_expect_eq(user_hash(key, SITE_KEY_LEAST - 1, "ann", text, &e), -EINVAL);
	cr_expect_eq(user_hash(key, SITE_KEY_LEAST, "ann", text, &e), 0);
}

Test(fleet_user, a_key_in_a_file_is_nobody_elses_to_write_and_of_some_length)
{
	char path[] = "/tmp/test_key.XXXXXX", key[SITE_KEY_MAX + 1], text[USER_TEXT_MAX], same[USER_TEXT_MAX];
	struct error e = {""};
	int fd = mkstemp(path);
	memset(key, 'k', sizeof(key));
	cr_assert_eq(write(fd, key, SITE_KEY_MAX), SITE_KEY_MAX);
	int rc = user_hash(key, SITE_KEY_MAX, "ann", same, &e);
	if (rc == -ENOSYS) {
		unlink(path);
		cr_skip_test("built without nettle");
	}
	cr_expect_eq(user_hash_by(path, "ann", text, &e), 0, "%s", e.text);
	cr_expect_str_eq(text, same);
	cr_assert_eq(write(fd, key, 1), 1);
	cr_expect_eq(user_hash_by(path, "ann", text, &e), -E2BIG);
	cr_assert_eq(ftruncate(fd, 20), 0);
	cr_assert_eq(fchmod(fd, 0666), 0);
	cr_expect_lt(user_hash_by(path, "ann", text, &e), 0);
	cr_expect_not_null(strstr(e.text, "site_key"), "%s", e.text);
	unlink(path);
	cr_expect_eq(user_hash_by(path, "ann", text, &e), -ENOENT);
	close(fd);
}
