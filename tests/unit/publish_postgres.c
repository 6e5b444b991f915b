/* publish_postgres.c - what a real PostgreSQL says of what it was sent, and who may ask it what. One server for all of
 * it, on a socket in a directory that goes away; skipped where there is none. */
#include "fleet/publish/link.h"
#include "fleet/publish/postgres.h"
#include "fleet/publish/question.h"
#include "fleet/publish/send.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char place[64], data[80], programs[PATH_MAX];

/* Of the newest server, or of the one in PATH. */
static bool find_programs(void)
{
	glob_t found = {0};
	bool any = glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0 && found.gl_pathc > 0;
	if (any)
		snprintf(programs, sizeof(programs), "%.*s",
			 (int)(strlen(found.gl_pathv[found.gl_pathc - 1]) - strlen("initdb")),
			 found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
	return any || (system("command -v initdb > /dev/null 2>&1 && command -v pg_ctl > /dev/null 2>&1") == 0);
}

/* PostgreSQL does not run as root: then as nobody. */
static int run_program(const char *name, const char *const *words)
{
	const struct passwd *nobody = getpwnam("nobody");
	char path[PATH_MAX + 20];
	snprintf(path, sizeof(path), "%s%s", programs, name);
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		const char *all[24] = {path};
		for (int i = 0; words[i] != NULL && i < 22; i++)
			all[i + 1] = words[i];
		if (geteuid() == 0 && (setgid(nobody->pw_gid) != 0 || setuid(nobody->pw_uid) != 0))
			_exit(1);
		if (chdir(data) != 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
			_exit(1);
		execvp(path, (char *const *)all);
		_exit(127);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	return status;
}

static void start(void)
{
	char options[200], log[100];
	int status = -1;
	snprintf(options, sizeof(options), "-c listen_addresses= -c unix_socket_directories='%s' -c fsync=off", data);
	snprintf(log, sizeof(log), "%s/log", data);
	for (int i = 0; i < 50 && status != 0; i++) {
		status = run_program("pg_ctl",
				     (const char *const[]){"-D", data, "-w", "-l", log, "-o", options, "start", NULL});
		if (status != 0)
			usleep(100000);
	}
	cr_assert_eq(status, 0, "it does not begin");
}

static void stop(void)
{
	run_program("pg_ctl", (const char *const[]){"-D", data, "-m", "immediate", "stop", NULL});
}

static void begin(void)
{
	const struct passwd *nobody = getpwnam("nobody");
	snprintf(place, sizeof(place), "/tmp/test_pg.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
	cr_assert_eq(chmod(place, 0755), 0);
	snprintf(data, sizeof(data), "%s/data", place);
	cr_assert_eq(mkdir(data, 0700), 0);
	if (geteuid() == 0)
		cr_assert_eq(chown(data, nobody->pw_uid, nobody->pw_gid), 0);
}

static void end(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", place);
	cr_expect_eq(system(command), 0);
}

/* ---- what it is asked ---- */

static struct http_answer asked(struct postgres *p, const char *sql)
{
	struct http_answer a;
	postgres_ask(p, sql, 0, NULL, &a);
	return a;
}

static void expect_body(struct postgres *p, const char *sql, const char *body)
{
	struct http_answer a = asked(p, sql);
	cr_expect_eq(a.status, 200, "%s: %s", sql, a.text);
	cr_expect_str_eq(a.body, body, "%s: %s", sql, a.body);
	cr_expect_str_eq(a.text, "status 200");
}

static void expect_status(struct postgres *p, const char *sql, long status, const char *text)
{
	struct http_answer a = asked(p, sql);
	cr_expect_eq(a.status, status, "%s: %ld %s", sql, a.status, a.text);
	cr_expect_not_null(strstr(a.text, text), "%s: \"%s\" is not in \"%s\"", sql, text, a.text);
	cr_expect_null(strchr(a.text, '\n'));
}

static void expect_answer(const struct destination *d, const char *sql, enum query_form form, int rc, const char *text)
{
	struct postgres *p = postgres_create(d);
	struct error e = {""};
	char *out_text;
	size_t n;
	FILE *out = open_memstream(&out_text, &n);
	cr_expect_eq(postgres_query(p, sql, form, out, &e), rc, "%s: %s", sql, e.text);
	fclose(out);
	if (rc == 0)
		cr_expect_str_eq(out_text, text, "%s: %s", sql, out_text);
	else
		cr_expect_not_null(strstr(e.text, text), "%s: %s", sql, e.text);
	free(out_text);
	postgres_destroy(p);
}

static void one_by_one(const struct destination *d)
{
	struct postgres *p = postgres_create(d);
	expect_body(p, "SELECT version FROM mpitrace.about", "3");
	expect_body(p, "SELECT 7, 8", "7");
	expect_body(p, "SELECT 1 WHERE false", "");
	expect_body(p, "SHOW timezone", "UTC");
	expect_body(p, "SHOW application_name", "mpitrace-publish");
	expect_body(p, "SHOW statement_timeout", "30s");
	expect_body(p, "SHOW default_transaction_read_only", "off");
	expect_body(p, "CREATE TEMP TABLE here(a int UNIQUE)", "");
	expect_body(p, "INSERT INTO here VALUES(1)", "");
	expect_status(p, "SELECT 1/0", 422, "division by zero");
	expect_status(p, "INSERT INTO here VALUES(1)", 422, "duplicate key");
	expect_body(p, "SELECT count(*) FROM here", "1"); /* it is the same connection */
	expect_status(p, "SELECT", 200, "");
	expect_status(p, "SELEKT", 503, "syntax error");
	expect_status(p, "SELECT count(*) FROM here", 503,
		      "does not exist"); /* it was looked anew whether all is there */
	postgres_destroy(p);
}

/* The server says so, or does not answer. */
static void too_long(struct destination d)
{
	d.timeout_s = 2;
	struct postgres *p = postgres_create(&d);
	time_t before = time(NULL);
	struct http_answer a = asked(p, "SELECT pg_sleep(60)");
	cr_expect(a.status == 503 || a.status == 0, "%ld %s", a.status, a.text);
	cr_expect(strstr(a.text, "statement timeout") != NULL || strstr(a.text, "no answer within 2 s") != NULL, "%s",
		  a.text);
	cr_expect_lt(time(NULL) - before, 40);
	postgres_destroy(p);
}

static void questions(const struct destination *d)
{
	static char rows[20000];
	size_t n = (size_t)snprintf(rows, sizeof(rows), "i\r\n");
	for (int i = 1; i <= 2500; i++)
		n += (size_t)snprintf(rows + n, sizeof(rows) - n, "%d\r\n", i);
	expect_answer(d, "SELECT generate_series(1, 2500) AS i", QUERY_CSV, 0, rows);
	expect_answer(d, "SELECT 1 AS a, 2.5::numeric AS b, '7'::text AS c, NULL::int AS d, 1::int8 AS e, true AS f",
		      QUERY_JSON, 0, "[\n{\"a\":1,\"b\":2.5,\"c\":\"7\",\"d\":null,\"e\":1,\"f\":\"t\"}\n]\n");
	expect_answer(d, "SELECT 1 AS a WHERE false", QUERY_CSV, 0, "a\r\n");
	expect_answer(d, "SELECT 1/(i-1500) AS a FROM generate_series(1, 2500) i", QUERY_CSV, -EIO,
		      "d: division by zero");
	expect_answer(d, "SELECT mpitrace.forget('u')", QUERY_CSV, -EIO, "read-only transaction");
	expect_answer(d, "DELETE FROM mpitrace.about", QUERY_CSV, -EIO, "syntax error");
	expect_answer(
		d, "SELECT set_config('statement_timeout', '0', false) AS a, current_setting('statement_timeout') AS b",
		QUERY_CSV, 0, "a,b\r\n0,0\r\n");
	struct destinations all = {0};
	struct error e = {""};
	struct destination other = {.name = "o", .kind = publish_kind_find("file")};
	cr_assert_eq(vec_push(&all.all, other), 0);
	cr_assert_eq(vec_push(&all.all, *d), 0);
	cr_expect_eq(publish_question(&all, "SELECT 1/0", QUERY_CSV, stdout, &e), -EIO);
	cr_expect_not_null(strstr(e.text, "division by zero"), "%s", e.text);
	vec_done(&all.all);
}

static void put(struct link *l, const struct destination *d, const char *id, const char *user, bool again)
{
	char text[200];
	snprintf(text, sizeof(text),
		 "{\"schema\":\"mpitrace/job/2\",\"id\":\"%s\",\"user\":\"%s\",\"start\":\"2025-03-01T10:00:00Z\"}", id,
		 user);
	struct publish_record r = {1, text, cJSON_Parse(text), again};
	struct publish_batch b = {"b", &r, 1, NULL};
	struct buf body = {0};
	struct http_answer a;
	d->kind->encode(&b, &body);
	d->kind->store->put(l->store, d, &b, &body, &a);
	cr_expect_eq(a.status, 200, "%s", a.text);
	buf_done(&body);
	cJSON_Delete((cJSON *)r.json);
}

static void count_is(struct link *l, const struct destination *d, const char *user, enum publish_step step, int64_t n)
{
	struct http_answer a;
	d->kind->store->forget(l->store, user, step, &a);
	cr_expect_eq(a.status, 200, "%s", a.text);
	if (step == FORGET_COUNT)
		cr_expect_eq(d->kind->left(a.body), n, "%s", a.body);
}

static void records(const struct destination *d)
{
	struct link *l = link_create(d);
	char text[256];
	cr_assert_not_null(l);
	cr_expect_eq(publish_reach(d, l, text), 0);
	cr_expect_str_eq(text, "can be reached");
	put(l, d, "1", "ann", false);
	put(l, d, "1", "ann", true);
	put(l, d, "2", "ann", false);
	put(l, d, "2", "bob", false);
	count_is(l, d, "ann", FORGET_COUNT, 2);
	count_is(l, d, "ann", FORGET_REMOVE, 0);
	count_is(l, d, "ann", FORGET_COUNT, 0);
	count_is(l, d, "bob", FORGET_COUNT, 1);
	link_destroy(d, l);
}

static void schemas(const struct destination *d)
{
	struct postgres *p = postgres_create(d), *q = postgres_create(d);
	expect_body(p, "UPDATE mpitrace.about SET version=99", "");
	expect_status(q, "SELECT 1", 503, "made by a newer mpitrace");
	expect_body(p, "DROP SCHEMA mpitrace CASCADE", "");
	expect_answer(d, "SELECT 1 AS a", QUERY_CSV, -EIO, "has no schema mpitrace of this version");
	expect_body(p, "SELECT count(*) FROM pg_namespace WHERE nspname='mpitrace'", "0");
	expect_body(q, "SELECT count(*) FROM pg_namespace WHERE nspname='mpitrace'", "1");
	postgres_destroy(p);
	postgres_destroy(q);
}

Test(publish_postgres, a_real_server, .init = begin, .fini = end, .timeout = 300)
{
	struct destination d = {.name = "d",
				.kind = publish_kind_find("postgresql"),
				.host = data,
				.port = 5432,
				.database = "postgres",
				.user = "fleet",
				.timeout_s = 30};
	struct postgres *p = postgres_create(&d);
	if (p == NULL || !find_programs())
		cr_skip_test("there is no PostgreSQL, or no libpq");
	cr_assert_eq(run_program("initdb", (const char *const[]){"-D", data, "-U", "fleet", "-A", "trust", "--no-sync",
								 "-E", "UTF8", "--locale=C", NULL}),
		     0);
	expect_status(p, "SELECT 1", 0, "No such file or directory");
	start();
	expect_body(p, "SELECT 1", "1");
	one_by_one(&d);
	too_long(d);
	questions(&d);
	records(&d);
	schemas(&d);
	stop();
	expect_status(p, "SELECT 1", 0, "");
	start();
	expect_body(p, "SELECT 1", "1");
	postgres_destroy(p);
	stop();
}
