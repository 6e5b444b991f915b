/* live.c - samples of one file, added up: what is open, since when, what is missing; and files that somebody made. */
#include "postproc/live/feed.h"
#include "postproc/live/snapshot.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS 1000000000ll
#define TICKS_PER_S 2000000000ull

static char path[] = "/tmp/live-XXXXXX";
static struct buf file;

static void begin(void)
{
	file = (struct buf){0};
	mpic_append_magic(&file, 1);
}

/* A sample at second s, whole if it is the first; its payload is continued by the caller. */
static struct buf sample_at(unsigned s, bool whole)
{
	struct buf b = {0};
	mpic_put_sample(&b, &(struct mpic_sample){s * TICKS_PER_S, s * NS, s * NS, NS, whole});
	mpic_put_sample_process(&b, 0, SAMPLE_RUNNING, 0);
	mpic_put_sample_thread(&b, 0);
	return b;
}

static void append(struct buf *payload, uint64_t seq)
{
	struct mpic_block block = {.kind = MPIC_SAMPLE, .process = MPIC_NODE, .seq = seq};
	cr_assert_eq(mpic_append_block(&file, &block, payload->data, payload->len_bytes, 1, NULL), 0);
	buf_done(payload);
}

static int replay(struct live_node *ret_live)
{
	struct node n = {0};
	int fd = mkstemp(path);
	cr_assert_eq(write(fd, file.data, file.len_bytes), (ssize_t)file.len_bytes);
	close(fd);
	int code = mpic_open(path, &n.file, NULL);
	cr_assert_eq(code, 0);
	code = replay_node(&n, ret_live);
	mpic_close(&n.file);
	unlink(path);
	buf_done(&file);
	return code;
}

static void put_open(struct buf *b, uint64_t age_ticks)
{
	const uint64_t words[2] = {5, 6};
	mpic_put_sample_open(b, age_ticks, 0, words, 2);
}

Test(live, a_call_that_stays_open_grows_older, .init = begin)
{
	struct live_node live;
	struct buf b = sample_at(10, true);
	put_open(&b, 0); /* it began when the sample was taken */
	append(&b, 0);
	for (unsigned s = 11; s < 14; s++) {
		b = sample_at(s, false);
		mpic_put_sample_still(&b);
		append(&b, s - 10);
	}
	cr_assert_eq(replay(&live), 0);
	const struct live_thread *t = &live.processes.at[0].threads.at[0];
	cr_assert(t->open && t->still == 3 && t->nwords == 2);
	cr_assert_eq(t->age_ticks, 3 * TICKS_PER_S);
	cr_assert(live.seq == 3 && live.interval_ns == NS && live.interval_ticks == TICKS_PER_S);
	replay_done(&live);
}

Test(live, an_agent_that_comes_back_goes_on_in_the_same_call, .init = begin)
{
	struct live_node live;
	struct buf b = sample_at(10, true);
	mpic_put_sample_total(&b, 0, 1, 4, 40);
	put_open(&b, 5);
	append(&b, 0);
	b = sample_at(15, true); /* of its successor: totals from the start */
	mpic_put_sample_total(&b, 0, 1, 4, 40);
	put_open(&b, 5 + 5 * TICKS_PER_S);
	append(&b, 1);
	cr_assert_eq(replay(&live), 0);
	const struct live_thread *t = &live.processes.at[0].threads.at[0];
	cr_assert(t->open && t->still == 1);
	cr_assert(t->totals.at[1].calls == 4 && t->totals.at[1].before == 4 && t->totals.at[1].ticks == 40);
	replay_done(&live);
}

Test(live, another_call_is_not_the_one_before, .init = begin)
{
	struct live_node live;
	struct buf b = sample_at(10, true);
	put_open(&b, 5);
	append(&b, 0);
	b = sample_at(11, false);
	mpic_put_sample_total(&b, 0, 1, 1, 10);
	put_open(&b, 7);
	append(&b, 1);
	cr_assert_eq(replay(&live), 0);
	cr_assert(live.processes.at[0].threads.at[0].open && live.processes.at[0].threads.at[0].still == 0);
	replay_done(&live);
}

/* What a process has sent may be under way at the first sample that sees it ended, not at the second. */
Test(live, a_process_ran_in_the_last_sample_that_saw_it_run, .init = begin)
{
	struct live_node live;
	struct buf b = sample_at(10, true);
	append(&b, 0);
	for (unsigned s = 11; s < 13; s++) {
		b = (struct buf){0};
		mpic_put_sample(&b, &(struct mpic_sample){s * TICKS_PER_S, s * NS, s * NS, NS, false});
		mpic_put_sample_process(&b, 0, SAMPLE_FINALIZED, 0);
		mpic_put_sample_process(&b, 1, SAMPLE_FINALIZED, 0); /* came and went between two samples */
		append(&b, s - 10);
	}
	cr_assert_eq(replay(&live), 0);
	cr_assert_eq(live.samples, 3);
	cr_assert_eq(live.processes.at[0].ran, 1);
	cr_assert_eq(live.processes.at[1].ran, 2);
	replay_done(&live);
}

Test(live, a_sample_that_cannot_be_read_is_counted, .init = begin)
{
	struct live_node live;
	struct buf b = sample_at(10, true);
	append(&b, 0);
	buf_str(&b, "no sample");
	append(&b, 1);
	cr_assert_eq(replay(&live), 0);
	cr_assert(live.samples == 1 && live.bad == 1);
	replay_done(&live);
}

Test(live, a_small_file_that_claims_much_is_given_up, .init = begin)
{
	struct live_node live;
	struct buf b = {0};
	mpic_put_sample(&b, &(struct mpic_sample){1, 1, 1, NS, true});
	for (uint32_t p = 0; p < 1000; p++) {
		mpic_put_sample_process(&b, p, SAMPLE_RUNNING, 0);
		mpic_put_sample_thread(&b, MPIC_THREADS_MAX - 1);
		mpic_put_sample_total(&b, 0, MPIC_SIGS_MAX - 1, 1, 1);
	}
	append(&b, 0);
	cr_assert_eq(replay(&live), 0);
	cr_assert_eq(live.bad, 1);
	cr_assert_leq(live.kept.kept_bytes, live.kept.max_bytes);
	replay_done(&live);
}

/* Whoever has not called it may come yet, and then all go on. */
Test(verdict, who_is_in_MPI_Init_hangs_when_all_tasks_have_called_it_for_long)
{
	const struct starting all = {.called = 4, .inside = 2, .wanted = 4, .since = 100, .now = 120};
	struct starting x = all;
	cr_expect(verdict_starts_not(&x, 20));
	cr_expect(!verdict_starts_not(&x, 20.5));
	x.called = 3;
	cr_expect(!verdict_starts_not(&x, 20), "one has not called it");
	x = all;
	x.wanted = 0;
	cr_expect(!verdict_starts_not(&x, 20), "nobody knows how many there are");
	x = all;
	x.inside = 0;
	cr_expect(!verdict_starts_not(&x, 20), "all have come out");
	x = all;
	x.held = true;
	cr_expect(!verdict_starts_not(&x, 20), "one is stopped");
}

Test(live, what_job_it_is_the_first_node_says)
{
	struct snapshot l = {.step = {.nranks = 4, .nnodes = 1}};
	for (int known = 0; known < 2; known++) {
		struct node node = {.meta = cJSON_Parse("{\"job_id\":\"77\",\"restart\":2}")};
		if (known)
			cr_assert_eq(vec_push(&l.step.nodes, node), 0);
		char *text = live_json(&l);
		cJSON *root = cJSON_Parse(text), *job = cJSON_GetObjectItem(root, "job");
		cr_assert_not_null(job);
		cr_expect_str_eq(cJSON_GetObjectItem(job, "job_id")->valuestring, known ? "77" : "");
		cr_expect_eq(cJSON_GetObjectItem(job, "restart")->valuedouble, known ? 2 : 0);
		cr_expect_eq(cJSON_GetObjectItem(job, "ranks")->valuedouble, 4);
		cJSON_Delete(root);
		cJSON_Delete(node.meta);
		free(text);
	}
	vec_done(&l.step.nodes);
}

Test(feed, listens_on_both_where_both_are_asked_for)
{
	char dir[] = "/tmp/mpitrace-feed-XXXXXX", name[64];
	struct error e = {0};
	struct feed *f = NULL;
	cr_assert_not_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/socket", dir);
	for (int i = 0; i < 2; i++) { /* the second time it is another one that listens on the name */
		cr_assert_eq(feed_create(&(struct feed_options){.socket_path = name, .tcp = true}, &f, &e), 0, "%s",
			     e.text);
		cr_expect_gt(feed_port(f), 0);
		cr_expect_eq(strlen(feed_token(f)), FEED_TOKEN_CHARS);
		cr_expect_eq(access(name, F_OK), 0);
		feed_destroy(f);
		cr_expect_neq(access(name, F_OK), 0, "the name goes");
	}
	rmdir(dir);
}
