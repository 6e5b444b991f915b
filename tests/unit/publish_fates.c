/* publish_fates.c - what becomes of records that a server took in part, refused or could not take: each is owed, dead
 * or gone, once, and counted. */
#include "fleet/publish/state.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char place[64], db[96];
static struct destinations all;
static struct state s;
static struct destination *d;

static void begin(void)
{
	struct destination one = {.name = "d", .kind = publish_kind_find("file"), .batch = 4, .queue = 100};
	struct error e = {""};
	snprintf(place, sizeof(place), "/tmp/test_fates.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
	snprintf(db, sizeof(db), "%s/p.db", place);
	cr_assert_eq(vec_push(&all.all, one), 0);
	cr_assert_eq(state_open(db, &s, &e), 0, "%s", e.text);
	cr_assert_eq(state_destinations(&s, &all, &e), 0, "%s", e.text);
	d = &all.all.at[0];
}

static void end(void)
{
	char command[128];
	state_close(&s);
	destinations_done(&all);
	snprintf(command, sizeof(command), "rm -rf %s", place);
	cr_expect_eq(system(command), 0);
}

static void take(const char *id)
{
	char text[256];
	struct take_counts counts = {0};
	struct error e = {""};
	const char *why = NULL;
	int len = snprintf(
		text, sizeof(text),
		"{\"schema\":\"mpitrace/job/1\",\"id\":\"%s\",\"user\":\"u\",\"start\":\"2025-03-01T10:00:00Z\"}\n",
		id);
	cr_assert_eq(state_take(&s, &all, text, (size_t)len, NULL, &counts, &why, &e), 0, "%s", e.text);
	cr_assert_null(why);
}

static struct batch next_batch(size_t n)
{
	struct batch b = {0};
	struct error e = {""};
	cr_assert_eq(state_batch(&s, d, &b, &e), 0, "%s", e.text);
	cr_assert_eq(b.records.n, n, "%zu records", b.records.n);
	return b;
}

static bool holds(const struct batch *b, size_t i, const char *id)
{
	char member[64];
	snprintf(member, sizeof(member), "\"id\":\"%s\"", id);
	return strstr(b->records.at[i].text, member) != NULL;
}

static void counts_are(int64_t waiting, int64_t done, int64_t dead, int64_t dropped)
{
	struct state_counts c = {0};
	cr_assert_eq(state_counts(&s, d, &c, NULL), 0);
	cr_expect_eq(c.waiting, waiting, "%lld wait", (long long)c.waiting);
	cr_expect_eq(c.done, done, "%lld are done", (long long)c.done);
	cr_expect_eq(c.dead, dead, "%lld are dead", (long long)c.dead);
	cr_expect_eq(c.dropped, dropped, "%lld were dropped", (long long)c.dropped);
}

TestSuite(publish_fates, .init = begin, .fini = end);

Test(publish_fates, of_a_batch_taken_in_part_only_those_for_later_go_out_again)
{
	take("1");
	take("2");
	take("3");
	struct batch b = next_batch(3);
	struct publish_fate fates[3] = {
		{.what = FATE_ARRIVED}, {.what = FATE_LATER}, {.what = FATE_REFUSED, .why = "no such field"}};
	cr_assert_eq(state_apply(&s, d, &b, fates, NULL), 0);
	counts_are(1, 1, 1, 0);
	struct batch again = next_batch(1);
	cr_expect(holds(&again, 0, "2"));
	cr_expect_str_neq(again.name, b.name, "what it holds is another");
	cr_assert_eq(state_arrived(&s, d, &again, -1, NULL, NULL), 0);
	counts_are(0, 2, 1, 0);
	batch_done(&b);
	batch_done(&again);
}

Test(publish_fates, one_where_nothing_arrived_counts_nothing)
{
	take("1");
	struct batch b = next_batch(1);
	struct publish_fate later = {.what = FATE_LATER};
	cr_assert_eq(state_postpone(&s, d, 500, "busy", NULL), 0);
	cr_assert_eq(state_apply(&s, d, &b, &later, NULL), 0);
	struct state_counts c = {0};
	cr_assert_eq(state_counts(&s, d, &c, NULL), 0);
	cr_expect_eq(c.done, 0);
	cr_expect_eq(c.failures, 1, "nothing that arrived ended the failures");
	cr_expect_eq(c.next, 500);
	cr_expect_str_eq(c.said, "busy");
	batch_done(&b);
}

Test(publish_fates, what_arrives_ends_a_row_of_failures)
{
	take("1");
	struct batch b = next_batch(1);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(state_postpone(&s, d, 500 + i, "refused", NULL), 0);
	struct state_counts c = {0};
	cr_assert_eq(state_counts(&s, d, &c, NULL), 0);
	cr_expect_eq(c.failures, 3);
	cr_assert_eq(state_arrived(&s, d, &b, 77, NULL, NULL), 0);
	cr_assert_eq(state_counts(&s, d, &c, NULL), 0);
	cr_expect_eq(c.failures, 0);
	cr_expect_eq(c.next, 0);
	cr_expect_str_eq(c.said, "");
	char which[64];
	int64_t bytes = -1;
	cr_assert_eq(state_file(&s, d, which, &bytes, NULL), 0);
	cr_expect_eq(bytes, 77, "the length of the file with it");
	batch_done(&b);
}

static void bury(const char *id)
{
	take(id);
	struct batch b = next_batch(1);
	cr_assert_eq(state_bury(&s, d, &b, "too large", NULL), 0);
	batch_done(&b);
}

Test(publish_fates, the_dead_are_shown_with_their_reason)
{
	char *text = NULL;
	size_t len;
	bury("1");
	counts_are(0, 0, 1, 0);
	FILE *to = open_memstream(&text, &len);
	cr_assert_eq(state_print_dead(&s, to, NULL), 0);
	fclose(to);
	cr_expect_not_null(strstr(text, "\"destination\":\"d\""), "%s", text);
	cr_expect_not_null(strstr(text, "\"reason\":\"too large\""));
	cr_expect_not_null(strstr(text, "\"id\":\"1\""));
	free(text);
}

Test(publish_fates, the_dead_wait_again_when_they_are_revived)
{
	bury("1");
	cr_assert_eq(state_postpone(&s, d, 4000000000, "down", NULL), 0);
	take("2");
	cr_assert_eq(state_dead(&s, true, NULL), 0);
	counts_are(2, 0, 0, 0);
	struct state_counts c = {0};
	cr_assert_eq(state_counts(&s, d, &c, NULL), 0);
	cr_expect_eq(c.next, 0, "and at once");
	struct batch b = next_batch(2);
	cr_expect(holds(&b, 0, "1") && holds(&b, 1, "2"), "the oldest first");
	batch_done(&b);
}

/* Given up: counted, and nothing of their text stays; they are still known. */
Test(publish_fates, the_dead_that_are_given_up_are_counted_and_not_taken_again)
{
	struct take_counts counts = {0};
	const char *why = NULL;
	static const char text[] =
		"{\"schema\":\"mpitrace/job/1\",\"id\":\"1\",\"user\":\"u\",\"start\":\"2025-03-01T10:00:00Z\"}\n";
	bury("1");
	take("2");
	cr_assert_eq(state_dead(&s, false, NULL), 0);
	counts_are(1, 0, 0, 1);
	cr_assert_eq(state_take(&s, &all, text, strlen(text), NULL, &counts, &why, NULL), 0);
	cr_expect_eq(counts.known, 1);
	cr_expect_eq(counts.added, 0);
	char *shown = NULL;
	size_t len;
	FILE *to = open_memstream(&shown, &len);
	cr_assert_eq(state_print_dead(&s, to, NULL), 0);
	fclose(to);
	cr_expect_str_eq(shown, "");
	free(shown);
}

Test(publish_fates, a_batch_holds_as_many_as_it_may_the_oldest_first)
{
	static const char *const ids[] = {"1", "2", "3", "4", "5"};
	for (int i = 0; i < 5; i++)
		take(ids[i]);
	struct batch b = next_batch(4);
	for (size_t i = 0; i < 4; i++)
		cr_expect(holds(&b, i, ids[i]));
	cr_assert_eq(state_arrived(&s, d, &b, -1, NULL, NULL), 0);
	counts_are(1, 4, 0, 0);
	batch_done(&b);
	b = next_batch(1);
	cr_expect(holds(&b, 0, "5"));
	cr_expect(!b.records.at[0].again);
	batch_done(&b);
}

Test(publish_fates, a_second_record_of_a_step_says_that_it_is_one)
{
	struct take_counts counts = {0};
	const char *why = NULL;
	static const char more[] =
		"{\"schema\":\"mpitrace/job/1\",\"id\":\"1\",\"user\":\"u\",\"start\":\"2025-03-01T10:00:00Z\","
		"\"state\":\"complete\"}\n";
	take("1");
	cr_assert_eq(state_take(&s, &all, more, strlen(more), NULL, &counts, &why, NULL), 0);
	cr_expect_eq(counts.added, 1);
	struct batch b = next_batch(2);
	cr_expect(!b.records.at[0].again);
	cr_expect(b.records.at[1].again);
	batch_done(&b);
}

static double total_of(struct totals *t, const char *metric, const char *labels)
{
	return totals_has(t, metric, labels) ? totals_at(t, metric, labels)->value : -1;
}

/* Sums change with the batch that they count, and only those of this destination. */
Test(publish_fates, sums_that_a_batch_changed_are_there_when_it_has_arrived)
{
	struct totals t = {0}, read = {0};
	struct destination other = {.id = d->id + 1};
	take("1");
	struct batch b = next_batch(1);
	totals_at(&t, "jobs", "a")->value = 3;
	totals_at(&t, "jobs", "b")->value = 4;
	totals_at(&t, "hours", "a")->value = 0.5;
	cr_assert_eq(state_arrived(&s, d, &b, -1, &t, NULL), 0);
	cr_assert_eq(state_totals_read(&s, d, &read, NULL), 0);
	cr_expect_eq(read.all.n, 3);
	cr_expect_eq(total_of(&read, "jobs", "a"), 3);
	cr_expect_eq(total_of(&read, "jobs", "b"), 4);
	cr_expect_eq(total_of(&read, "hours", "a"), 0.5);
	totals_at(&read, "jobs", "b")->value += 1;
	cr_assert_eq(state_totals_write(&s, d, &read, NULL), 0);
	totals_done(&t);
	cr_assert_eq(state_totals_read(&s, d, &t, NULL), 0);
	cr_expect_eq(total_of(&t, "jobs", "b"), 5);
	cr_expect_eq(total_of(&t, "jobs", "a"), 3);
	totals_done(&t);
	cr_assert_eq(state_totals_read(&s, &other, &t, NULL), 0);
	cr_expect_eq(t.all.n, 0);
	totals_done(&read);
	batch_done(&b);
}

Test(publish_fates, a_file_of_a_newer_program_or_of_another_is_left_as_it_is)
{
	static const struct {
		const char *sql;
		int rc;
	} cases[] = {{"PRAGMA user_version=999", -EPROTO},
		     {"PRAGMA user_version=-1", -EPROTO},
		     {"PRAGMA application_id=5", -EBADMSG}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error e = {""};
		state_close(&s);
		cr_assert_eq(unlink(db), 0);
		cr_assert_eq(state_open(db, &s, &e), 0, "%s", e.text);
		cr_assert_eq(fleet_run(&s.f, cases[i].sql, &e), 0);
		state_close(&s);
		cr_expect_eq(state_open(db, &s, &e), cases[i].rc, "%s", e.text);
		cr_expect_not_null(strstr(e.text, db), "%s", e.text);
	}
}
