/* replayed.h - a program written, analysed and replayed: what the tests of the replay share. */
#pragma once

#include "step_analysis.h"

#include "postproc/postproc.h"
#include "postproc/replay/replay.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 50
#define FILES 3u       /* and threads */
#define LATE_SENDER 1u /* bits of enum wait_state */
#define WAIT_AT_BARRIER (1u << 3)
#define WAIT_AT_NXN (1u << 5)

enum { SENDS = 20, WAITS = 30, MEETS = 50 }; /* lines */

static const struct replay_change as_it_was = {.bandwidth = 1, .latency = 1, .causer_site = REPLAY_ANY};

/* The same replay by one thread says the same, to the last bit. */
static void same_by_one(struct mpix_file *f, uint64_t max_events, struct replay *r)
{
	const struct replay_change changes[] = {
		as_it_was,
		{.bandwidth = 2, .latency = 0.5, .causer_site = REPLAY_ANY},
		{.bandwidth = 1, .latency = 1, .causer_site = REPLAY_ANY, .balance = true},
		{.bandwidth = 1, .latency = 1, .causer_site = REPLAY_ANY, .without_states = UINT32_MAX},
	};
	struct replay *one;
	struct error e;
	cr_assert_eq(replay_create(&f, 1, max_events, &one, &e), 0, "%s", e.text);
	cr_expect_eq(replay_events(one), replay_events(r));
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct replay_result a, b;
		cr_assert_eq(replay_predict(one, &changes[i], &a), 0);
		cr_assert_eq(replay_predict(r, &changes[i], &b), 0);
		const double of_one[] = {a.replayed_s, a.predicted_s, a.gain_low, a.gain_high, a.covered, a.polls};
		const double of_all[] = {b.replayed_s, b.predicted_s, b.gain_low, b.gain_high, b.covered, b.polls};
		cr_expect_arr_eq(of_one, of_all, sizeof(of_one), "change %zu by one thread and by %u", i, FILES);
		cr_expect_eq(a.given_up, b.given_up);
	}
	replay_destroy(one);
}

/* Write p, analyse it, replay at most max_events of it; destroys p. The caller destroys both. */
static struct replay *replay_of(struct program *p, double end_us, uint64_t max_events, cJSON **ret_root)
{
	char *dir = make_directory(), mpix[256];
	char *paths[] = {dir};
	struct postproc_result result = {0};
	struct replay *r = NULL;
	struct mpix_file *files[FILES];
	struct error e;
	program_write(p, dir, end_us, -1);
	program_destroy(p);
	snprintf(mpix, sizeof(mpix), "%s/job.mpix", dir);
	cr_assert_eq(postproc_analyze(paths, 1, mpix, 1, &result, &e), 0, "%s", e.text);
	if (ret_root != NULL)
		*ret_root = cJSON_Parse(result.json);
	free(result.json);
	for (unsigned i = 0; i < FILES; i++)
		cr_assert_eq(mpix_open(mpix, &files[i], &e), 0, "%s", e.text);
	cr_assert_eq(replay_create(files, FILES, max_events, &r, &e), 0, "%s", e.text);
	same_by_one(files[0], max_events, r);
	for (unsigned i = 0; i < FILES; i++)
		mpix_close(files[i]);
	remove_directory(dir);
	return r;
}

static struct replay_result predict(struct replay *r, struct replay_change change)
{
	struct replay_result result;
	cr_assert_eq(replay_predict(r, &change, &result), 0);
	return result;
}

static void near(double got, double wanted, double by, const char *what)
{
	cr_assert(fabs(got - wanted) <= by * wanted, "%s: got %g, not %g", what, got, wanted);
}
