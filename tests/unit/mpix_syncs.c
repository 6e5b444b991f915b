/* mpix_syncs.c - locks and groups of one-sided synchronisations come back from an .mpix as they were given. */
#include "format/mpix.h"
#include "tests/unit/mpix_trace.h"

#include <criterion/criterion.h>
#include <errno.h>

#define RANKS 40u /* three groups */
#define SIGS 5u

TestSuite(mpix_syncs, .init = make_directory, .fini = remove_directory);

static struct mpix_writer *begin(const char *path)
{
	static const char *const ops[] = {"MPI_Win_lock"};
	static const struct mpix_clock_knot knot = {0, 0, 1};
	static const struct mpix_clock clock = {0, &knot, 1};
	static const struct mpix_signature sigs[SIGS] = {{.class = MPIX_RMA, .callsite = MPIX_NO_CALLSITE}};
	struct mpix_info info = {
		.ranks = RANKS, .runtime_ns = 1000, .ops = ops, .nops = 1, .clocks = &clock, .nclocks = 1};
	struct mpix_writer *w;
	struct error e = {{0}};
	cr_assert_eq(mpix_writer_create(path, &info, &w, &e), 0, "%s", e.text);
	for (uint32_t r = 0; r < RANKS; r++)
		cr_assert_eq(mpix_writer_signatures(w, r, sigs, SIGS, &e), 0, "%s", e.text);
	return w;
}

/* Every third rank has a shared lock, a group in two runs, of which one goes down, and an exclusive lock. */
static struct mpix_sync sync_of(uint32_t rank, uint32_t signature, struct mpix_sync_run runs[2])
{
	struct mpix_sync s = {.rank = rank, .signature = signature};
	runs[0] = (struct mpix_sync_run){rank % 7, 3, 5};
	runs[1] = (struct mpix_sync_run){RANKS - 1, -2, 4};
	s.lock = signature == 0 ? MPIX_LOCK_SHARED : signature == 4 ? MPIX_LOCK_EXCLUSIVE : MPIX_LOCK_NONE;
	s.nruns = signature == 2 ? 2 : 0;
	s.runs = runs;
	return s;
}

struct expecting {
	uint32_t rank, signature, n;
};

static int expect(void *context, const struct mpix_sync *got)
{
	struct expecting *x = context;
	struct mpix_sync_run runs[2];
	struct mpix_sync want = sync_of(x->rank, x->signature, runs);
	cr_assert_eq(got->rank, want.rank);
	cr_assert_eq(got->signature, want.signature);
	cr_assert_eq(got->lock, want.lock);
	cr_assert_eq(got->nruns, want.nruns);
	for (uint32_t i = 0; i < want.nruns; i++) {
		cr_assert_eq(got->runs[i].first, runs[i].first);
		cr_assert_eq(got->runs[i].stride, runs[i].stride);
		cr_assert_eq(got->runs[i].count, runs[i].count);
	}
	x->n++;
	x->signature += 2;
	if (x->signature >= SIGS) {
		x->signature = 0;
		x->rank += 3;
	}
	return 0;
}

Test(mpix_syncs, come_back_in_order)
{
	struct mpix_writer *w = begin(path_of("s.mpix"));
	struct mpix_sync_run runs[2];
	struct expecting x = {0, 0, 0};
	struct mpix_file *f;
	struct error e = {{0}};
	uint32_t n = 0;
	for (uint32_t r = 0; r < RANKS; r += 3)
		for (uint32_t i = 0; i < SIGS; i += 2, n++) {
			struct mpix_sync s = sync_of(r, i, runs);
			cr_assert_eq(mpix_writer_sync(w, &s, &e), 0, "%s", e.text);
		}
	cr_assert_eq(mpix_writer_finish(w, "{}", &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(path_of("s.mpix"), &f, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_each_sync(f, expect, &x, &e), 0, "%s", e.text);
	cr_assert_eq(x.n, n);
	mpix_close(f);
}

static int write_one(struct mpix_sync s, struct mpix_sync_run run)
{
	struct mpix_writer *w = begin(path_of("bad.mpix"));
	struct error e = {{0}};
	s.runs = &run;
	int rc = mpix_writer_sync(w, &s, &e);
	mpix_writer_abandon(w);
	return rc;
}

Test(mpix_syncs, impossible_ones_are_refused)
{
	const struct mpix_sync_run none = {0, 0, 0};
	cr_assert_eq(write_one((struct mpix_sync){.lock = MPIX_LOCK_SHARED}, none), 0);
	cr_assert_eq(write_one((struct mpix_sync){.lock = 3}, none), -EINVAL);
	cr_assert_eq(write_one((struct mpix_sync){.rank = RANKS}, none), -EINVAL);
	cr_assert_eq(write_one((struct mpix_sync){.signature = SIGS}, none), -EINVAL);
	cr_assert_eq(write_one((struct mpix_sync){.nruns = 1}, none), -EINVAL);
	cr_assert_eq(write_one((struct mpix_sync){.nruns = 1}, (struct mpix_sync_run){0, 1, RANKS}), 0);
	cr_assert_eq(write_one((struct mpix_sync){.nruns = 1}, (struct mpix_sync_run){0, 1, RANKS + 1}), -EINVAL);
	cr_assert_eq(write_one((struct mpix_sync){.nruns = 1}, (struct mpix_sync_run){1, -1, 3}), -EINVAL);
	cr_assert_eq(write_one((struct mpix_sync){.nruns = 1}, (struct mpix_sync_run){RANKS, 0, 1}), -EINVAL);
}
