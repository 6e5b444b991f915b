/* postproc_syncs.c - what an .mpix that was written of a program says of its locks and groups. */
#include "one_sided.h"

#include "format/mpix.h"
#include "postproc/postproc.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define SYNCS_MAX 16

static struct said {
	uint32_t rank, lock, nruns;
	struct mpix_sync_run runs[4];
} said[SYNCS_MAX];
static unsigned nsaid;

static int keep(void *context, const struct mpix_sync *s)
{
	(void)context;
	cr_assert_lt(nsaid, SYNCS_MAX);
	struct said *x = &said[nsaid++];
	*x = (struct said){s->rank, s->lock, s->nruns, {{0}}};
	for (uint32_t i = 0; i < s->nruns && i < 4; i++)
		x->runs[i] = s->runs[i];
	return 0;
}

/* Into `said`, by rank. */
static void read_syncs(struct program *p)
{
	struct postproc_result result = {0};
	struct error e = {0};
	char *dir = make_directory(), path[512];
	struct mpix_file *f;
	program_write(p, dir, 200, -1);
	program_destroy(p);
	snprintf(path, sizeof(path), "%s/out.mpix", dir);
	cr_assert_eq(postproc_analyze(&dir, 1, path, 1, &result, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(path, &f, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_each_sync(f, keep, NULL, &e), 0, "%s", e.text);
	mpix_close(f);
	free(result.json);
	remove_directory(dir);
}

Test(syncs, of_a_post_and_a_start_name_their_group)
{
	static const int others[] = {0, 3}, beyond[] = {0, 4};
	struct program *p = program_create(4, 1);
	program_window(p, 0);
	rma_start(p, 0, 10, 20, 2);
	rma_complete(p, 0, 30, 31);
	rma_group(p, 1, "MPI_Win_post", RMA_POST, 10, 11, beyond, 2);
	rma_group(p, 2, "MPI_Win_post", RMA_POST, 10, 11, others, 2);
	rma_start(p, 3, 10, 20, 2);
	rma_complete(p, 3, 30, 31);
	read_syncs(p);
	cr_assert_eq(nsaid, 3, "%u: of a group of which one is unknown nothing is told", nsaid);
	for (unsigned i = 0; i < 3; i++) {
		cr_expect_eq(said[i].rank, i == 0 ? 0 : i + 1);
		cr_expect_eq(said[i].lock, MPIX_LOCK_NONE);
	}
	cr_assert_eq(said[0].nruns, 1);
	cr_expect_eq(said[0].runs[0].first, 2);
	cr_expect_eq(said[0].runs[0].count, 1);
	cr_assert_eq(said[1].nruns, 2);
	cr_expect_eq(said[1].runs[0].first, 0);
	cr_expect_eq(said[1].runs[1].first, 3);
}

Test(syncs, of_a_lock_say_which)
{
	struct program *p = program_create(4, 1);
	program_window(p, 0);
	for (unsigned r = 0; r < 2; r++) {
		rma_lock(p, r, 10 + 50 * r, 11 + 50 * r, 2, r == 0 ? MPIX_LOCK_SHARED : MPIX_LOCK_EXCLUSIVE, 0);
		rma_unlock(p, r, 20 + 50 * r, 21 + 50 * r, 2);
	}
	read_syncs(p);
	cr_assert_eq(nsaid, 2);
	cr_expect(said[0].lock == MPIX_LOCK_SHARED && said[0].nruns == 0);
	cr_expect(said[1].lock == MPIX_LOCK_EXCLUSIVE && said[1].nruns == 0);
}
