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
#define LATE_SENDER 1u /* bits of enum wait_state */
#define WAIT_AT_BARRIER (1u << 3)
#define WAIT_AT_NXN (1u << 5)

enum { SENDS = 20, WAITS = 30, MEETS = 50 }; /* lines */

static const struct replay_change as_it_was = {.bandwidth = 1, .latency = 1, .causer_site = REPLAY_ANY};

/* Write p, analyse it, replay at most max_events of it; destroys p. The caller destroys both. */
static struct replay *replay_of(struct program *p, double end_us, uint64_t max_events, cJSON **ret_root)
{
	char *dir = make_directory(), mpix[256];
	char *paths[] = {dir};
	struct postproc_result result = {0};
	struct replay *r = NULL;
	struct mpix_file *f;
	struct error e;
	program_write(p, dir, end_us, -1);
	program_destroy(p);
	snprintf(mpix, sizeof(mpix), "%s/job.mpix", dir);
	cr_assert_eq(postproc_analyze(paths, 1, mpix, 1, &result, &e), 0, "%s", e.text);
	if (ret_root != NULL)
		*ret_root = cJSON_Parse(result.json);
	free(result.json);
	cr_assert_eq(mpix_open(mpix, &f, &e), 0, "%s", e.text);
	cr_assert_eq(replay_create(f, max_events, &r, &e), 0, "%s", e.text);
	mpix_close(f);
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
