/* publish_send.c - what a server says decides what becomes of a batch: a server of its own that says it, and what was
 * sent, waits and is dead then. */
#include "publishing.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>
#include <time.h>

TestSuite(publish_send, .init = begin, .fini = end, .timeout = 60);

static void use(const char *kind, answering_say say)
{
	use_for(kind, say, 30);
}

static void take(const char *id, const char *user)
{
	take_record(id, user, ",\"core_hours\":2");
}

static struct state_counts counts(void)
{
	struct state_counts c;
	cr_assert_eq(state_counts(&s, d, &c, NULL), 0);
	return c;
}

/* Until it is asked again. */
static const char *said_last(void)
{
	static struct state_counts c;
	c = counts();
	return c.said;
}

static void counts_are(int64_t waiting, int64_t done, int64_t dead)
{
	struct state_counts c = counts();
	cr_expect(c.waiting == waiting && c.done == done && c.dead == dead, "%lld wait, %lld are done, %lld dead",
		  (long long)c.waiting, (long long)c.done, (long long)c.dead);
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;
	for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
		n++;
	return n;
}

static size_t records_in(int request)
{
	return count_of(server.bodies[request], "\"schema\"");
}

/* ---- what is sent ---- */

static const char *good(int n, const char *head, const char *body, const char **ret_body)
{
	(void)n, (void)head, (void)body, (void)ret_body;
	return "200 OK";
}

Test(publish_send, all_that_waits_goes_out_in_batches)
{
	char id[2] = "a";
	use("webhook", good);
	for (int i = 0; i < 7; i++, id[0]++)
		take(id, "u");
	send_it();
	cr_assert_eq(server.n, 3);
	cr_expect(records_in(0) == 3 && records_in(1) == 3 && records_in(2) == 1);
	cr_expect_eq(strncmp(server.heads[0], "POST / HTTP/1.1\r\n", 17), 0, "%s", server.heads[0]);
	cr_expect_not_null(strstr(server.heads[0], "Content-Type: application/json"));
	cr_expect_null(strstr(server.heads[0], "Content-Encoding"));
	cr_expect_null(strstr(server.heads[0], "Expect"));
	cr_expect_not_null(strstr(server.heads[0], "User-Agent: mpitrace-publish/"));
	counts_are(0, 7, 0);
	send_it();
	cr_expect_eq(server.n, 3, "nothing waits");
}

Test(publish_send, a_body_may_be_packed)
{
	char plain[2000] = "";
	size_t n = 0;
	use("webhook", good);
	d->gzip = true;
	take("a", "u");
	send_it();
	cr_assert_eq(server.n, 1);
	cr_expect_not_null(strstr(server.heads[0], "Content-Encoding: gzip"));
	struct libdeflate_decompressor *p = libdeflate_alloc_decompressor();
	cr_expect_eq((int)libdeflate_gzip_decompress(p, server.bodies[0], server.sizes[0], plain, sizeof(plain), &n),
		     LIBDEFLATE_SUCCESS);
	libdeflate_free_decompressor(p);
	cr_expect_eq(strncmp(plain, "{\"batch\":\"", 10), 0);
}

Test(publish_send, who_has_a_name_says_it)
{
	char password[] = "open";
	use("webhook", good);
	link_destroy(d, l);
	d->user = "Aladdin";
	d->password = password;
	l = link_create(d);
	take("a", "u");
	send_it();
	cr_expect_not_null(strstr(server.heads[0], "Authorization: Basic QWxhZGRpbjpvcGVu"), "%s", server.heads[0]);
	d->password = NULL;
}

Test(publish_send, nothing_goes_out_when_it_is_to_end)
{
	static const volatile sig_atomic_t stop = 1;
	struct error e = {""};
	use("webhook", good);
	take("a", "u");
	cr_expect_eq(publish_send(&s, d, l, &stop, &e), 0);
	cr_expect_eq(server.n, 0);
	counts_are(1, 0, 0);
}

Test(publish_send, what_would_be_sent_is_shown)
{
	char *text;
	size_t n;
	struct error e = {""};
	use("webhook", good);
	take("a", "u");
	take("b", "u");
	FILE *out = open_memstream(&text, &n);
	cr_expect_eq(publish_show(&s, d, out, &e), 0, "%s", e.text);
	fclose(out);
	cr_expect_eq(strncmp(text, "# d: 2 records in the next batch\n{\"batch\":\"", 43), 0, "%s", text);
	cr_expect_eq(count_of(text, "\"schema\""), 2);
	cr_expect_eq(server.n, 0);
	free(text);
}

/* ---- what fails ---- */

static const char *busy_once(int n, const char *head, const char *body, const char **ret_body)
{
	(void)head, (void)body;
	*ret_body = "busy";
	return n == 0 ? "503 No" : "204 Good";
}

Test(publish_send, a_server_that_fails_gets_the_same_batch_again)
{
	use("webhook", busy_once);
	take("a", "u");
	send_it();
	counts_are(1, 0, 0);
	cr_expect_str_eq(said_last(), "status 503: busy");
	cr_expect_eq(counts().failures, 1);
	take("b", "u");
	send_it();
	cr_assert_eq(server.n, 3);
	cr_expect_str_eq(server.bodies[1], server.bodies[0]);
	counts_are(0, 2, 0);
	cr_expect_eq(counts().failures, 0);
}

static const char *later, *later_body = "";

static const char *say_later(int n, const char *head, const char *body, const char **ret_body)
{
	(void)n, (void)head, (void)body;
	*ret_body = later_body;
	return later;
}

/* In how many seconds it is tried again. */
static int64_t wait_after(const char *status)
{
	time_t before = time(NULL);
	later = status;
	cr_assert_eq(state_postpone(&s, d, 0, "", NULL), 0);
	send_it();
	return counts().next - before;
}

Test(publish_send, a_server_may_say_when)
{
	use("webhook", say_later);
	take("a", "u");
	int64_t wait = wait_after("429 Later\r\nRetry-After: 500");
	cr_expect(wait >= 500 && wait <= 530, "%lld", (long long)wait);
	int sent = server.n;
	send_it();
	cr_expect_eq(server.n, sent, "not before that");
	wait = wait_after("429 Later\r\nRetry-After: 99999");
	int64_t most = wait < 86400 ? 21600 : 86400; /* libcurl 8 itself waits for six hours at most */
	cr_expect(wait >= most && wait <= most + 30, "a day at most: %lld", (long long)wait);
}

Test(publish_send, the_time_until_the_next_try_doubles_up_to_the_most)
{
	use("webhook", say_later);
	d->backoff_s = 100;
	take("a", "u");
	for (int failures = 1; failures < 8; failures++) { /* state_postpone() of wait_after() counts, too */
		int64_t wait = wait_after("503 No"), most = 100 << (2 * failures - 1);
		most = most < 1000 ? most : 1000;
		cr_expect(wait >= most / 2 && wait <= most + 30, "%d: %lld", failures, (long long)wait);
	}
}

Test(publish_send, what_a_server_says_is_not_repeated_with_a_secret_in_it)
{
	char token[] = "sesame";
	use("webhook", say_later);
	d->token = token;
	take("a", "u");
	later_body = "no sesame here";
	wait_after("403 No");
	cr_expect_str_eq(said_last(), "status 403: (its text is left out)");
	later_body = "no \x1b[1m here";
	wait_after("403 No");
	cr_expect_str_eq(said_last(), "status 403: no ?[1m here");
	cr_expect_not_null(strstr(server.heads[0], "Authorization: Bearer sesame"));
	d->token = NULL;
}

Test(publish_send, who_is_not_there_is_tried_later)
{
	char text[256];
	use("webhook", good);
	cr_expect_eq(publish_reach(d, l, text), 0);
	cr_expect_str_eq(text, "can be reached");
	answering_end();
	take("a", "u");
	send_it();
	counts_are(1, 0, 0);
	cr_expect_eq(counts().failures, 1);
	cr_expect_neq(said_last()[0], '\0');
	cr_expect_eq(publish_reach(d, l, text), -EIO);
	cr_expect_str_neq(text, "can be reached");
}

/* ---- what is refused ---- */

static const char *one_at_a_time(int n, const char *head, const char *body, const char **ret_body)
{
	(void)n, (void)head, (void)ret_body;
	return count_of(body, "\"schema\"") > 1 ? "413 Large" : "200 OK";
}

Test(publish_send, one_that_is_too_large_is_two)
{
	use("webhook", one_at_a_time);
	take("a", "u");
	take("b", "u");
	take("c", "u");
	send_it();
	counts_are(0, 3, 0);
	cr_expect_eq(server.n, 5, "3, 1, 2, 1, 1 records: %d", server.n);
}

static const char *poison_status;

static const char *no_poison(int n, const char *head, const char *body, const char **ret_body)
{
	(void)n, (void)head;
	*ret_body = "why";
	return strstr(body, "poison") != NULL ? poison_status : "200 OK";
}

static char *text_of(const char *path)
{
	char *text = calloc(1, 4096);
	FILE *in = fopen(path, "r");
	if (in != NULL) {
		cr_expect_geq(fread(text, 1, 4095, in), 0);
		fclose(in);
	}
	return text;
}

static void expect_only_poison_is_dead(const char *status, int rounds)
{
	char expected[200], name[40];
	use("webhook", no_poison);
	d->dead_letters = place;
	poison_status = status;
	take("a", "u");
	take("poison", "u");
	for (int i = 0; i < rounds; i++) {
		char id[20];
		snprintf(id, sizeof(id), "x%d", i);
		take(id, "u");
		send_it();
	}
	counts_are(0, rounds + 1, 1);
	snprintf(name, sizeof(name), "d-2.json"); /* the second record */
	char *letter = text_of(path_of(name));
	snprintf(expected, sizeof(expected),
		 "{\"destination\":\"d\",\"reason\":\"status %.3s: "
		 "why\",\"record\":{\"schema\":\"mpitrace/job/2\",\"id\":\"poison\",",
		 status);
	cr_expect_eq(strncmp(letter, expected, strlen(expected)), 0, "%s", letter);
	free(letter);
}

Test(publish_send, a_record_that_is_refused_alone_is_dead_and_laid_out)
{
	expect_only_poison_is_dead("400 Bad", 1);
}

Test(publish_send, so_is_one_that_cannot_be_understood)
{
	expect_only_poison_is_dead("422 Bad", 1);
}

Test(publish_send, one_of_which_nobody_knows_lets_others_go_first_and_is_dead_after_three_times)
{
	expect_only_poison_is_dead("500 Bad", 9);
}

Test(publish_send, one_that_cannot_be_laid_out_waits)
{
	use("webhook", no_poison);
	d->dead_letters = "/dev/null/x";
	poison_status = "400 Bad";
	take("poison", "u");
	send_it();
	counts_are(1, 0, 0);
	cr_expect_eq(counts().failures, 1);
}

static const char *each_fate(int n, const char *head, const char *body, const char **ret_body)
{
	(void)head, (void)body;
	*ret_body = n == 0   ? "nonsense"
		    : n == 1 ? "{\"errors\":true,\"items\":[{\"index\":{\"status\":201}},{\"index\":{\"status\":429,"
			       "\"error\":{\"type\":"
			       "\"t\",\"reason\":\"busy\"}}},{\"index\":{\"status\":400,\"error\":{\"type\":\"t\","
			       "\"reason\":\"r\"}}}]}"
			     : "{\"errors\":false}";
	return "200 OK";
}

Test(publish_send, where_the_answer_names_records_each_has_its_fate)
{
	use("elasticsearch", each_fate);
	d->dead_letters = place;
	take("a", "u");
	take("b", "u");
	take("c", "u");
	send_it();
	counts_are(3, 0, 0);
	cr_expect_str_eq(said_last(), "the answer does not give the result of each record");
	send_it();
	counts_are(1, 1, 1);
	cr_expect_str_eq(said_last(), "status 429: t: busy");
	cr_expect_eq(access(path_of("d-3.json"), F_OK), 0);
	send_it();
	counts_are(0, 2, 1);
	cr_expect_eq(records_in(2), 1);
	cr_expect_not_null(strstr(server.bodies[2], "\"id\":\"b\""));
}

Test(publish_send, a_step_counts_once_in_sums_however_often_it_comes)
{
	use("pushgateway", good);
	take("a", "u");
	take("b", "u");
	send_it();
	take("a", "u"); /* known */
	take("c", "u");
	send_it();
	cr_assert_eq(server.n, 2);
	cr_expect_eq(strncmp(server.heads[0], "PUT /metrics/job/mpitrace/instance/", 35), 0, "%s", server.heads[0]);
	cr_expect_not_null(
		strstr(server.bodies[1], "mpitrace_jobs_total{cluster=\"\",partition=\"\",account=\"\"} 3\n"));
	cr_expect_not_null(
		strstr(server.bodies[1], "mpitrace_core_hours_total{cluster=\"\",partition=\"\",account=\"\"} 6\n"));
}
