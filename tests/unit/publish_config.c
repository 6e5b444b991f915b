/* publish_config.c - sections [destination NAME] of a configuration: what they may say, and what is said of those that
 * say something else. */
#include "fleet/publish/config.h"
#include "fleet/publish/kind.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct policy *policy;

static int read_text(const char *text, struct destinations *all, struct error *e)
{
	struct policy_errors errors = {.say = NULL};
	*all = (struct destinations){0};
	cr_assert_eq(policy_parse("a.conf", text, strlen(text), &policy, &errors), 0, "%s: %s", text,
		     errors.first.text);
	return destinations_read(policy, all, e);
}

static void done(struct destinations *all)
{
	destinations_done(all);
	policy_free(policy);
}

static void refused(const char *text, const char *wanted)
{
	struct destinations all;
	struct error e = {""};
	cr_expect_lt(read_text(text, &all, &e), 0, "%s", text);
	cr_expect_not_null(strstr(e.text, wanted), "%s: \"%s\" is not in \"%s\"", text, wanted, e.text);
	cr_expect_eq(all.all.n, 0);
	policy_free(policy);
}

static void taken(const char *text)
{
	struct destinations all;
	struct error e = {""};
	cr_expect_eq(read_text(text, &all, &e), 0, "%s: %s", text, e.text);
	done(&all);
}

#define HOOK "[destination a]\ntype = webhook\nurl = http://x\n"

Test(publish_config, what_is_not_said_has_a_value)
{
	struct destinations all;
	struct error e = {""};
	cr_assert_eq(read_text(HOOK, &all, &e), 0, "%s", e.text);
	cr_assert_eq(all.all.n, 1);
	const struct destination *d = &all.all.at[0];
	cr_expect_str_eq(d->name, "a");
	cr_expect_str_eq(d->url, "http://x");
	cr_expect_eq(d->kind, publish_kind_find("webhook"));
	cr_expect(d->port == 5432 && d->batch == 500 && d->timeout_s == 30 && d->queue == 1000000 &&
		  d->backoff_s == 5 && d->backoff_max_s == 3600 && d->retention == 0 && d->gzip);
	cr_expect_null(d->token);
	done(&all);
}

Test(publish_config, each_key_has_its_place)
{
	struct destinations all;
	struct error e = {""};
	static const char text[] = HOOK
		"host = H\nport = 1\nsslmode = S\nretention = 2\npath = /P\ndatabase = D\norg = O\nbucket = B\ntable = "
		"T\n"
		"index = I\ninstance = N\nuser = U\nca = /A\ncertificate = /C\nkey = /K\nproxy = X\ndead_letters = /L\n"
		"batch = 3\ntimeout = 4\nqueue = 5\nbackoff = 6\nbackoff_max = 7\ngzip = no\n";
	cr_assert_eq(read_text(text, &all, &e), 0, "%s", e.text);
	const struct destination *d = &all.all.at[0];
	const char *const texts[][2] = {
		{d->host, "H"},	  {d->sslmode, "S"},	  {d->path, "/P"}, {d->database, "D"}, {d->org, "O"},
		{d->bucket, "B"}, {d->table, "T"},	  {d->index, "I"}, {d->instance, "N"}, {d->user, "U"},
		{d->ca, "/A"},	  {d->certificate, "/C"}, {d->key, "/K"},  {d->proxy, "X"},    {d->dead_letters, "/L"}};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect_str_eq(texts[i][0], texts[i][1]);
	cr_expect(d->port == 1 && d->retention == 2 && d->batch == 3 && d->timeout_s == 4 && d->queue == 5 &&
		  d->backoff_s == 6 && d->backoff_max_s == 7 && !d->gzip);
	done(&all);
}

Test(publish_config, numbers_have_bounds)
{
	static const struct {
		const char *key;
		unsigned long long least, most;
	} rows[] = {{"port", 1, 65535},	     {"retention", 1, 1200}, {"batch", 1, 10000},      {"timeout", 1, 3600},
		    {"queue", 1, 100000000}, {"backoff", 0, 86400},  {"backoff_max", 0, 86400}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[200], wanted[100];
		snprintf(wanted, sizeof(wanted), "a.conf:4: %s takes a number from %llu to %llu", rows[i].key,
			 rows[i].least, rows[i].most);
		snprintf(text, sizeof(text), HOOK "%s = %llu\n", rows[i].key, rows[i].most);
		taken(text);
		snprintf(text, sizeof(text), HOOK "%s = %llu\n", rows[i].key, rows[i].most + 1);
		refused(text, wanted);
		snprintf(text, sizeof(text), HOOK "%s = %llu\n", rows[i].key, rows[i].least);
		taken(text);
		if (rows[i].least > 0) {
			snprintf(text, sizeof(text), HOOK "%s = %llu\n", rows[i].key, rows[i].least - 1);
			refused(text, wanted);
		}
	}
	refused(HOOK "batch = 5x\n", "takes a number");
	refused(HOOK "batch = -5\n", "takes a number");
	refused(HOOK "batch = :\n", "takes a number");
	refused(HOOK "batch = 99999999999999999999\n", "takes a number");
	taken(HOOK "batch = 9\n");
}

Test(publish_config, what_is_wrong_is_said_with_its_line)
{
	refused(HOOK "batsch = 5\n", "a.conf:4: unknown key of a destination");
	refused(HOOK "batch = 5\n\nbatch = 6\n", "a.conf:6: this key stands twice in its section");
	refused(HOOK "url = http://y\n", "a.conf:4: this key stands twice");
	refused(HOOK "type = webhook\n", "a.conf:4: this key stands twice");
	refused("[destination a]\ntype = hook\n", "a.conf:2: unknown type; known: influxdb, clickhouse, elasticsearch");
	refused(HOOK "gzip = maybe\n", "a.conf:4: gzip is yes or no");
	refused(HOOK "ca = x\n", "a.conf:4: ca must be an absolute path");
	refused(HOOK "token_file = x\n", "a.conf:4: token_file must be an absolute path");
	refused(HOOK "token_file = /nowhere/x\n", "/nowhere/x");
	taken(HOOK "gzip = yes\n");
}

Test(publish_config, each_section_is_a_destination_of_its_own)
{
	struct destinations all;
	struct error e = {""};
	cr_assert_eq(read_text(HOOK "batch = 7\n[destination b]\ntype = file\npath = /b\nbatch = 8\n", &all, &e), 0,
		     "%s", e.text);
	cr_assert_eq(all.all.n, 2);
	cr_expect(all.all.at[0].batch == 7 && all.all.at[1].batch == 8);
	cr_expect_str_eq(all.all.at[1].name, "b");
	cr_expect_null(all.all.at[0].path);
	done(&all);
}

Test(publish_config, a_destination_has_what_its_type_needs)
{
	refused("[destination a]\nurl = http://x\n", "[destination a] needs type = influxdb");
	refused("[destination a]\ntype = webhook\n", "needs url");
	refused("[destination a]\ntype = webhook\nurl = ftp://x\n", "needs url");
	refused("[destination a]\ntype = webhook\nurl = http:/x\n", "needs url");
	refused("[destination a]\ntype = webhook\nurl = https:/x\n", "needs url");
	taken("[destination a]\ntype = webhook\nurl = https://x\n");
	refused("[destination a]\ntype = webhook\nurl = https://u:p@x\n", "they belong into user and password_file");
	refused(HOOK "certificate = /c\n", "needs certificate and key, or none of them");
	refused(HOOK "key = /c\n", "needs certificate and key, or none of them");
	taken(HOOK "certificate = /c\nkey = /k\n");
	refused("[destination a]\ntype = file\n", "needs path");
	taken("[destination a]\ntype = file\npath = /p\n");
	refused("[destination a]\ntype = clickhouse\nurl = http://x\n", "needs database");
	taken("[destination a]\ntype = clickhouse\nurl = http://x\ndatabase = d\n");
	refused("[destination a]\ntype = elasticsearch\nurl = http://x\n", "needs index");
	taken("[destination a]\ntype = elasticsearch\nurl = http://x\nindex = i\n");
	refused("[destination a]\ntype = influxdb\nurl = http://x\n", "needs database = NAME (InfluxDB 1.x)");
	refused("[destination a]\ntype = influxdb\nurl = http://x\ndatabase = d\nbucket = b\n",
		"needs database = NAME (InfluxDB 1.x)");
	refused("[destination a]\ntype = influxdb\nurl = http://x\nbucket = b\norg = o\n", "needs org and token_file");
	taken("[destination a]\ntype = influxdb\nurl = http://x\ndatabase = d\n");
	refused("[destination a]\ntype = pushgateway\nurl = http://x\ninstance = a/b\n", "has an instance");
	taken("[destination a]\ntype = pushgateway\nurl = http://x\ninstance = ab\n");
}

Test(publish_config, there_are_32_at_most)
{
	char text[4000] = "";
	for (unsigned i = 0, n = 0; i < DESTINATIONS_MAX + 1; i++) {
		n += (unsigned)snprintf(text + n, sizeof(text) - n, "[destination d%u]\ntype = file\npath = /p%u\n", i,
					i);
		if (i + 1 == DESTINATIONS_MAX)
			taken(text);
	}
	refused(text, "more than 32 destinations");
}

/* ---- files ---- */

static char place[64];

static const char *path_of(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

static void write_file(const char *name, const void *bytes, size_t n, mode_t mode)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
	cr_assert_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void begin(void)
{
	snprintf(place, sizeof(place), "/tmp/test_config.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
}

static void end(void)
{
	static const char *const made[] = {"a", "b", "secret", "token"};
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		unlink(path_of(made[i]));
	cr_expect_eq(rmdir(place), 0);
}

TestSuite(publish_config_files, .init = begin, .fini = end);

Test(publish_config_files, no_two_append_to_one_file)
{
	char text[600];
	write_file("a", "", 0, 0600);
	snprintf(text, sizeof(text),
		 "[destination x]\ntype = file\npath = /p\n[destination y]\ntype = file\npath = /p\n");
	refused(text, "[destination y] has the path of [destination x]");
	char a[128];
	snprintf(a, sizeof(a), "%s", path_of("a"));
	cr_assert_eq(link(a, path_of("b")), 0);
	snprintf(text, sizeof(text),
		 "[destination x]\ntype = file\npath = %s\n[destination y]\ntype = file\npath = %s\n", a, path_of("b"));
	refused(text, "[destination y] has the path of [destination x]");
	unlink(path_of("b"));
	write_file("b", "", 0, 0600);
	taken(text);
	taken("[destination x]\ntype = file\npath = /dev/null\n[destination y]\ntype = file\npath = "
	      "/dev/../dev/null\n");
}

static int read_secret(const void *bytes, size_t n, mode_t mode, struct destinations *all, struct error *e)
{
	char text[300];
	write_file("secret", bytes, n, mode);
	snprintf(text, sizeof(text), HOOK "secret_file = %s\n", path_of("secret"));
	return read_text(text, all, e);
}

Test(publish_config_files, a_secret_is_one_line_of_text)
{
	struct destinations all;
	struct error e = {""};
	static char large[SECRET_BYTES_MAX + 1];
	static const struct {
		const char *bytes, *secret;
	} good[] = {{"key", "key"}, {"key\n", "key"}, {"key \r\n\n", "key "}, {"k\xc3\xbcy~", "k\xc3\xbcy~"}};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert_eq(read_secret(good[i].bytes, strlen(good[i].bytes), 0600, &all, &e), 0, "%s", e.text);
		cr_expect_str_eq(all.all.at[0].secret, good[i].secret);
		cr_expect_null(all.all.at[0].token);
		done(&all);
	}
	static const struct {
		const char *bytes, *why;
	} wrong[] = {{"", "is empty"},
		     {"\n\r\n", "is empty"},
		     {"a\nb", "holds a control character"},
		     {"a\x7f", "holds a control character"},
		     {"\x1f"
		      "a",
		      "holds a control character"}};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_expect_lt(read_secret(wrong[i].bytes, strlen(wrong[i].bytes), 0600, &all, &e), 0);
		cr_expect_not_null(strstr(e.text, wrong[i].why), "%s", e.text);
		policy_free(policy);
	}
	memset(large, 'x', sizeof(large));
	cr_expect_eq(read_secret(large, SECRET_BYTES_MAX, 0600, &all, &e), 0, "%s", e.text);
	done(&all);
	cr_expect_lt(read_secret(large, SECRET_BYTES_MAX + 1, 0600, &all, &e), 0);
	cr_expect_not_null(strstr(e.text, "is longer than 4,096 bytes"), "%s", e.text);
	policy_free(policy);
	cr_expect_lt(read_secret("key", 3, 0644, &all, &e), 0, "others may read it");
	policy_free(policy);
}

Test(publish_config_files, each_secret_has_its_place)
{
	struct destinations all;
	struct error e = {""};
	char text[400], a[128];
	write_file("a", "A", 1, 0600);
	write_file("b", "B", 1, 0600);
	write_file("token", "T", 1, 0600);
	snprintf(a, sizeof(a), "%s", path_of("a"));
	snprintf(text, sizeof(text), HOOK "secret_file = %s\npassword_file = %s/b\ntoken_file = %s/token\n", a, place,
		 place);
	cr_assert_eq(read_text(text, &all, &e), 0, "%s", e.text);
	cr_expect_str_eq(all.all.at[0].secret, "A");
	cr_expect_str_eq(all.all.at[0].password, "B");
	cr_expect_str_eq(all.all.at[0].token, "T");
	done(&all);
}
