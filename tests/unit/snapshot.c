/* snapshot.c - what a reader finds of a trace that was cut at any time. In: a segment file, and time that is counted.
 * Out: .mpic files, read back with format/mpic.h. */
#include "collect/sample.h"
#include "collect/snapshot.h"
#include "tests/unit/step_files.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SECOND 1000000000ll
#define DAY (86400 * SECOND)

TestSuite(snapshot, .init = make_dir, .fini = remove_dir);

Test(backoff, a_day_has_at_most_a_hundred_and_a_cut_misses_at_most_an_eighth)
{
	const int64_t start = 7 * SECOND;
	struct backoff b = {0};
	unsigned n = 0;
	for (int64_t now = start; now <= start + DAY; now += SECOND / 20) {
		if (backoff_is_due(&b, SNAPSHOT_SHARE, now)) {
			backoff_written(&b, now);
			n++;
		}
		int64_t age = now - start, missed = now - b.last_ns;
		cr_assert(missed <= SECOND || missed <= age / SNAPSHOT_SHARE, "%lld of %lld", (long long)missed,
			  (long long)age);
	}
	cr_assert_leq(n, 100);
	cr_assert_geq(n, 50);
}

struct simulated {
	struct segfile *file;
	struct process p;
	struct output o;
	struct snapshots s;
	struct layout layout;
};

static void simulate(struct simulated *x)
{
	*x = (struct simulated){.file = make_segfile(), .o = output_to(dir)};
	x->s.node = (struct node_meta){.layout = &x->layout, .exits_fd = -1};
	snprintf(x->file->exe, sizeof(x->file->exe), "/the/program");
	x->file->pid = 77;
	x->file->rank = x->file->size = -1;
	cr_assert_eq(process_open(&x->p, segfile_path, 0, NULL), 0);
	process_refresh(&x->p);
	cr_assert_eq(output_open(&x->o, NULL), 0);
}

static void simulated_done(struct simulated *x)
{
	process_close(&x->p);
	munmap(x->file, FILE_BYTES);
	cr_assert_eq(output_close(&x->o), 0);
	snapshots_done(&x->s);
	free(x->o.path);
}

/* In the file as it is on disk: blocks of that kind whose payload has that text (METAs), or any. */
static unsigned blocks_with(const struct mpic_file *f, uint32_t process, const char *text)
{
	_cleanup_buf_ struct buf payload = {0};
	unsigned n = 0;
	for (size_t i = 0; i < f->nblocks; i++) {
		if (f->blocks[i].kind != MPIC_META || f->blocks[i].process != process)
			continue;
		cr_assert_eq(mpic_read(f, &f->blocks[i], &payload, NULL), 0);
		n += memmem(payload.data, payload.len_bytes, text, strlen(text)) != NULL;
	}
	return n;
}

/* The calls of signature 0 in the newest PROFILE. */
static uint64_t calls_on_disk(const struct mpic_file *f)
{
	_cleanup_buf_ struct buf payload = {0};
	struct mpic_total t = {0};
	for (size_t i = 0; i < f->nblocks; i++) { /* sorted by seq */
		if (f->blocks[i].kind != MPIC_PROFILE)
			continue;
		cr_assert_eq(mpic_read(f, &f->blocks[i], &payload, NULL), 0);
		struct cursor c = cursor_over(payload.data, payload.len_bytes);
		cr_assert_eq(mpic_next_total(&c, &t), 1);
	}
	return t.calls;
}

Test(snapshot, a_file_cut_at_any_time_of_a_day_has_all_but_an_eighth_and_says_who_it_was)
{
	struct simulated x;
	struct mpic_file f;
	simulate(&x);
	struct segment_total *totals = at(x.file, TOTALS_AT);
	x.file->rank = 3;
	x.file->size = 4;
	for (int64_t now = SECOND; now <= DAY; now += SECOND) {
		totals[0].calls = (uint64_t)(now / SECOND);
		snapshot_round(&x.s, &x.o, &x.p, 1, now);
		if (now / SECOND % 997 != 1)
			continue;
		cr_assert_eq(mpic_open(x.o.path, &f, NULL), 0);
		cr_assert_geq(calls_on_disk(&f) + totals[0].calls / SNAPSHOT_SHARE + 1, totals[0].calls);
		cr_assert_eq(blocks_with(&f, 0, "/the/program"), 1);
		cr_assert_eq(blocks_with(&f, MPIC_NODE, "topology"), 1);
		mpic_close(&f);
	}
	cr_assert_eq(mpic_open(x.o.path, &f, NULL), 0);
	cr_assert_leq(blocks_of(x.o.path, MPIC_PROFILE), 100);
	cr_assert_leq(blocks_of(x.o.path, MPIC_META), 101);
	cr_assert_leq(blocks_of(x.o.path, MPIC_CLOCK), 1000);
	/* Each of them says whose it is: one damaged block does not make a stranger of it. */
	cr_assert_eq(blocks_with(&f, 0, "\"rank\":3") + 1, blocks_of(x.o.path, MPIC_META));
	cr_assert_eq(blocks_with(&f, 0, "\"pid\":77") + 1, blocks_of(x.o.path, MPIC_META));
	mpic_close(&f);
	simulated_done(&x);
}

static uint64_t topologies(const struct simulated *x)
{
	struct mpic_file f;
	cr_assert_eq(output_flush((struct output *)&x->o), 0);
	cr_assert_eq(mpic_open(x->o.path, &f, NULL), 0);
	uint64_t n = blocks_with(&f, MPIC_NODE, "topology");
	mpic_close(&f);
	return n;
}

Test(snapshot, the_hardware_is_not_looked_at_beside_MPI_Init)
{
	struct simulated x;
	simulate(&x);
	snapshot_round(&x.s, &x.o, &x.p, 1, SECOND);
	snapshot_round(&x.s, &x.o, &x.p, 1, SECOND + NODE_PATIENCE_NS - 1);
	cr_assert_eq(topologies(&x), 0);
	x.file->size = 4;
	snapshot_round(&x.s, &x.o, &x.p, 1, SECOND + NODE_PATIENCE_NS);
	cr_assert_eq(topologies(&x), 1);
	simulated_done(&x);
	simulate(&x);
	snapshot_round(&x.s, &x.o, &x.p, 1, SECOND);
	snapshot_round(&x.s, &x.o, &x.p, 1, SECOND + NODE_PATIENCE_NS);
	cr_assert_eq(topologies(&x), 1, "but for one that takes very long");
	simulated_done(&x);
}

Test(snapshot, a_rank_and_an_end_are_written_when_they_are_known)
{
	struct simulated x;
	struct mpic_file f;
	simulate(&x);
	snapshot_round(&x.s, &x.o, &x.p, 1, SECOND);
	x.p.snapshots.last_ns = DAY; /* the next is hours away */
	x.file->rank = 3;
	x.file->size = 4;
	snapshot_round(&x.s, &x.o, &x.p, 1, DAY + 1);
	cr_assert_eq(mpic_open(x.o.path, &f, NULL), 0);
	cr_assert_eq(blocks_with(&f, 0, "\"rank\":3"), 1);
	cr_assert_eq(blocks_with(&f, 0, "/the/program"), 2, "whole again, since it changed");
	mpic_close(&f);
	x.file->state = SEGFILE_FINALIZED;
	x.p.gone = true;
	for (int i = 2; i < 10; i++)
		snapshot_round(&x.s, &x.o, &x.p, 1, DAY + i);
	snapshot_round(&x.s, &x.o, &x.p, 1, 2 * DAY);
	cr_assert_eq(mpic_open(x.o.path, &f, NULL), 0);
	cr_assert_eq(blocks_with(&f, 0, "finalized"), 1, "once: it does not change any more");
	mpic_close(&f);
	simulated_done(&x);
}

Test(snapshot, what_is_written_once_is_written_again_when_it_did_not_reach_the_file)
{
	struct simulated x;
	struct mpic_file f;
	simulate(&x);
	limit_file(100);
	snapshot_round(&x.s, &x.o, &x.p, 1, SECOND);
	limit_file(1 << 20);
	snapshot_round(&x.s, &x.o, &x.p, 1, 10 * SECOND);
	snapshot_round(&x.s, &x.o, &x.p, 1, 100 * SECOND);
	cr_assert_eq(mpic_open(x.o.path, &f, NULL), 0);
	cr_assert_eq(blocks_with(&f, 0, "/the/program"), 1, "and then not once more");
	cr_assert_eq(blocks_with(&f, MPIC_NODE, "topology"), 1);
	mpic_close(&f);
	simulated_done(&x);
}

Test(snapshot, totals_have_their_definitions_though_no_event_was_drained)
{
	struct simulated x;
	simulate(&x);
	((struct defs_area *)at(x.file, DEFS_AT))->committed = 64;
	for (int i = 1; i < 100; i++)
		snapshot_round(&x.s, &x.o, &x.p, 1, i * SECOND);
	cr_assert_eq(blocks_of(x.o.path, MPIC_DEFS), 1);
	simulated_done(&x);
}

Test(snapshot, the_end_has_everything_once_more)
{
	struct simulated x;
	struct mpic_file f;
	simulate(&x);
	x.file->size = 4;
	snapshot_round(&x.s, &x.o, &x.p, 1, SECOND);
	cr_assert_eq(snapshot_end(&x.s, &x.o, &x.p, 1, 2 * SECOND), 0);
	cr_assert_eq(output_flush(&x.o), 0);
	cr_assert_eq(mpic_open(x.o.path, &f, NULL), 0);
	cr_assert_eq(blocks_with(&f, 0, "/the/program"), 2);
	cr_assert_eq(blocks_with(&f, MPIC_NODE, "topology"), 2);
	mpic_close(&f);
	simulated_done(&x);
}

/* As the agent does: a look every 50 ms for ten minutes, then every second. */
Test(sample, a_month_has_some_two_thousand_a_minute_has_sixty)
{
	const int64_t month = 30 * DAY;
	unsigned minute = 0, all = 0;
	int64_t last = 0;
	for (int64_t age = 0; age < month; age += age < 600 * SECOND ? SECOND / 20 : SECOND) {
		int64_t gap = sample_gap_ns(SAMPLE_GAP_NS, age), now = 1000 * month + age; /* the time of day */
		if (last / gap == now / gap)
			continue;
		last = now;
		all++;
		minute += age < 60 * SECOND;
		cr_assert_leq(gap, age / SAMPLE_SHARE > SECOND ? age / SAMPLE_SHARE : SECOND);
	}
	cr_assert_eq(minute, 60);
	cr_assert(all > 1900 && all <= 2000, "%u", all);
}

/* Of a process in another time namespace CLOCK_MONOTONIC is another, of which the times of all others would come out
 * wrong: its readings are not taken. */
Test(snapshot, clocks_of_another_time_namespace_are_not_taken)
{
	struct simulated x;
	struct mpic_clock read;
	simulate(&x);
	x.file->clock_start = (struct tick_sample){1000, 5 * SECOND, DAY + 5 * SECOND};
	x.file->clock_end = (struct tick_sample){9000, 9 * SECOND + 1000 * SECOND, DAY + 9 * SECOND};
	const struct tick_sample now = {10000, 10 * SECOND, DAY + 10 * SECOND + SECOND / 100};
	snapshot_clocks_of(&x.s, &now, &x.p, 1);
	struct cursor c = cursor_over(x.s.clocks.data, x.s.clocks.len_bytes);
	cr_assert_eq(mpic_next_clock(&c, &read), 1);
	cr_expect_eq(read.tick, 1000);
	cr_expect_eq(mpic_next_clock(&c, &read), 0);
	simulated_done(&x);
}
