/* postproc_hostile.c - files of a few bytes that claim much: they are read within the budget of their size, and what is
 * left out is said. */
#include "step_analysis.h"
#include "base/json.h"
#include "format/limits.h"
#include "postproc/postproc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void write_small(const char *dir)
{
	struct program *p = program_create(4, 2);
	for (unsigned r = 0; r < 4; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = 1000 + r,
					   .to_us = 1010,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_BARRIER});
	program_write(p, dir, 1100, -1);
	program_destroy(p);
}

static char *written(void)
{
	char *dir = make_directory();
	write_small(dir);
	return dir;
}

/* Is there a reason with this text? */
static bool says(const cJSON *root, const char *text)
{
	for (const cJSON *r = json_first(node_at(root, "coverage"), "reasons"); r != NULL; r = r->next)
		if (strstr(cJSON_GetStringValue(r), text) != NULL)
			return true;
	return false;
}

static void put_words(struct buf *out, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_u32(out, words[i]);
}

static void put_type(struct buf *out, uint32_t i)
{
	put_words(out, (uint32_t[]){MPIC_DEF_DATATYPE, 32, (1u << 22) - 1 - i, 0, 8, 0, 0, 0, 0, 0}, 10);
}

/* 16 million members, each of another world. */
static void put_comm(struct buf *out, uint32_t i)
{
	put_words(out, (uint32_t[]){MPIC_DEF_COMM, 52, 1000 + i, UINT32_MAX, 1000 + i, 0, 1, 1u << 24}, 8);
	put_words(out, (uint32_t[]){0, 0, 1, 0, UINT32_MAX, 0, 1u << 24, 0}, 8);
}

static void put_meta(struct buf *out, uint32_t i)
{
	char text[64];
	snprintf(text, sizeof(text), "{\"seq\":%u,\"threads\":[{\"thread\":4095}]}", i);
	buf_str(out, text);
}

static void put_total(struct buf *out, uint32_t i)
{
	mpic_put_total(out, &(struct mpic_total){.sig = MPIC_SIGS_MAX - 1 - i % 2, .calls = 1});
}

static void put_numbers(struct buf *out, uint32_t i)
{
	buf_str(out, "{\"numbers\":[");
	for (uint32_t k = 0; k < 4u << 20; k++)
		buf_str(out, "0,");
	buf_str(out, i > 0 ? "0]}" : "1]}");
}

struct claim {
	enum mpic_kind kind;
	uint32_t blocks, processes, threads;
	void (*put)(struct buf *out, uint32_t i);
};

static void write_bytes(const char *path, const struct buf *bytes)
{
	FILE *to = fopen(path, "w");
	fwrite(bytes->data, 1, bytes->len_bytes, to);
	fclose(to);
}

/* The file as it is, its blocks followed by those of the claim. */
static void add_claims(const char *path, const struct claim *c)
{
	struct mpic_file f;
	struct error e = {0};
	_cleanup_buf_ struct buf out = {0};
	cr_assert_eq(mpic_open(path, &f, &e), 0);
	mpic_append_magic(&out, f.id);
	for (size_t b = 0; b < f.nblocks; b++) {
		_cleanup_buf_ struct buf raw = {0};
		cr_assert_eq(mpic_read(&f, &f.blocks[b], &raw, &e), 0);
		cr_assert_eq(mpic_append_block(&out, &f.blocks[b], raw.data, raw.len_bytes, 1, &e), 0);
	}
	mpic_close(&f);
	for (uint32_t i = 0; i < c->blocks; i++) {
		_cleanup_buf_ struct buf raw = {0};
		struct mpic_block b = {
			.kind = c->kind, .process = i % c->processes, .thread = i % c->threads, .seq = 1000 + i};
		c->put(&raw, i);
		cr_assert_eq(mpic_append_block(&out, &b, raw.data, raw.len_bytes, 9, &e), 0);
	}
	write_bytes(path, &out);
}

/* Blocks of a few bytes whose contents claim gigabytes. */
Test(hostile, a_small_file_that_claims_much_is_read_without_it)
{
	setenv("MPITRACE_PROCESSES", "1", 1); /* memory of one is what is measured */
	static const struct claim claims[] = {
		{MPIC_DEFS, 12, 2, 1, put_type},      {MPIC_DEFS, 12, 1, 1, put_comm},
		{MPIC_META, 2000, 2000, 1, put_meta}, {MPIC_PROFILE, 300, 1, 300, put_total},
		{MPIC_META, 2, 2, 1, put_numbers},
	};
	char *dir = make_directory();
	for (size_t c = 0; c < sizeof(claims) / sizeof(claims[0]); c++) {
		write_small(dir);
		add_claims(file_in(dir, "n0.mpic"), &claims[c]);
		add_claims(file_in(dir, "n1.mpic"), &claims[c]);
		cJSON *root = analyse(dir);
		cr_expect(says(root, "no file of this size has"), "claim %zu", c);
		cJSON_Delete(root);
	}
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	cr_expect_lt(used.ru_maxrss, 1 << 20, "%ld KiB", used.ru_maxrss);
	remove_directory(dir);
}

static void put_size(struct buf *out, uint32_t i)
{
	(void)i;
	buf_str(out, "{\"size\":1048576}");
}

Test(hostile, a_world_of_which_next_to_nothing_is_recorded_is_refused)
{
	static const struct claim claim = {MPIC_META, 2, 2, 1, put_size};
	struct error e;
	char *dir = written();
	add_claims(file_in(dir, "n0.mpic"), &claim);
	add_claims(file_in(dir, "n1.mpic"), &claim);
	struct postproc_result result = {0};
	cr_expect_eq(postproc_analyze(&dir, 1, NULL, 1, &result, &e), -EBADMSG);
	cr_expect_not_null(strstr(e.text, "of an MPI_COMM_WORLD of 1048576 ranks"), "%s", e.text);
	remove_directory(dir);
}

static void put_losses(struct buf *out, uint32_t i)
{
	buf_printf(out, "{\"size\":4,\"threads\":[");
	for (uint32_t t = 0; t < 20 && i == 0; t++)
		buf_printf(out, "%s{\"thread\":%u,\"lost\":5}", t > 0 ? "," : "", t);
	buf_str(out, "]}");
}

/* One rank has 20 of them. */
Test(hostile, of_more_reasons_than_are_said_their_ranks_are_counted)
{
	static const struct claim claim = {MPIC_META, 2, 2, 1, put_losses};
	char *dir = written();
	add_claims(file_in(dir, "n0.mpic"), &claim);
	cJSON *root = analyse(dir);
	cr_expect(says(root, "more such reasons, of 1 rank that lost single events"));
	cJSON_Delete(root);
	remove_directory(dir);
}

/* The first block of events claims to have so many, late, and has so many bytes for them. */
static void claim_events(const char *path, uint32_t count, uint32_t more_bytes, uint64_t late_ticks)
{
	struct mpic_file f;
	struct error e = {0};
	_cleanup_buf_ struct buf out = {0};
	cr_assert_eq(mpic_open(path, &f, &e), 0);
	mpic_append_magic(&out, f.id);
	for (size_t b = 0; b < f.nblocks; b++) {
		_cleanup_buf_ struct buf raw = {0};
		cr_assert_eq(mpic_read(&f, &f.blocks[b], &raw, &e), 0);
		if (f.blocks[b].kind == MPIC_EVENTS && late_ticks > 0) {
			uint64_t tick;
			memcpy(&tick, raw.data + 32, sizeof(tick));
			tick += late_ticks;
			late_ticks = 0;
			memcpy(raw.data, &count, sizeof(count));
			memcpy(raw.data + 8, &count, sizeof(count)); /* bytes of signatures */
			memcpy(raw.data + 32, &tick, sizeof(tick));
			memset(buf_reserve(&raw, more_bytes), 0, more_bytes);
			raw.len_bytes += more_bytes;
		}
		cr_assert_eq(mpic_append_block(&out, &f.blocks[b], raw.data, raw.len_bytes, 1, &e), 0);
	}
	mpic_close(&f);
	write_bytes(path, &out);
}

/* So late that a nanosecond is too coarse for where they would be cut. */
Test(hostile, events_that_a_head_claims_are_cut_in_an_end, .timeout = 60)
{
	static const struct {
		uint32_t count, more_bytes;
	} claims[] = {{UINT32_MAX, 0}, {8u << 20, 8u << 20}};
	for (size_t c = 0; c < sizeof(claims) / sizeof(claims[0]); c++) {
		char *dir = written();
		claim_events(file_in(dir, "n0.mpic"), claims[c].count, claims[c].more_bytes, UINT64_C(1) << 51);
		cJSON *root = analyse(dir);
		cr_expect(cJSON_IsFalse(node_at(root, "coverage.complete")), "claim %zu", c);
		cJSON_Delete(root);
		remove_directory(dir);
	}
}

/* Block seq of events of a process begins earlier or later. */
static void move_block(const char *path, uint32_t process, uint64_t seq, int64_t ticks)
{
	struct mpic_file f;
	struct error e = {0};
	uint64_t tick;
	_cleanup_buf_ struct buf out = {0};
	cr_assert_eq(mpic_open(path, &f, &e), 0);
	mpic_append_magic(&out, f.id);
	for (size_t i = 0; i < f.nblocks; i++) {
		const struct mpic_block *b = &f.blocks[i];
		_cleanup_buf_ struct buf raw = {0};
		cr_assert_eq(mpic_read(&f, b, &raw, &e), 0);
		if (b->kind == MPIC_EVENTS && b->process == process && b->seq == seq) {
			memcpy(&tick, raw.data + 32, sizeof(tick));
			tick += (uint64_t)ticks;
			memcpy(raw.data + 32, &tick, sizeof(tick));
		}
		cr_assert_eq(mpic_append_block(&out, b, raw.data, raw.len_bytes, 1, &e), 0);
	}
	mpic_close(&f);
	write_bytes(path, &out);
}

/* Two calls are in each block, and the last block of rank 1 begins elsewhere. */
static cJSON *analysed_in_blocks(int64_t moved_ticks)
{
	char *dir = make_directory(), out[512];
	struct program *p = program_create(2, 1);
	struct postproc_result result = {0};
	struct error e = {0};
	for (unsigned block = 0; block < 3; block++)
		for (unsigned r = 0; r < 2; r++) {
			for (unsigned i = 0; i < 2; i++)
				program_coll(p, r,
					     (struct call){.op = "MPI_Barrier",
							   .from_us = 1000 + 100 * block + 20 * i,
							   .to_us = 1010 + 100 * block + 20 * i,
							   .peer = SIG_NO_ROOT,
							   .coll = COLL_BARRIER});
			program_end_block(p, r, 0, BLOCK_WHOLE);
		}
	program_write(p, dir, 1500, -1);
	program_destroy(p);
	move_block(file_in(dir, "n0.mpic"), 1, 2, moved_ticks);
	snprintf(out, sizeof(out), "%s/job.mpix", dir);
	cr_assert_eq(postproc_analyze(&dir, 1, out, 2, &result, &e), 0, "%lld: %s", (long long)moved_ticks, e.text);
	cJSON *root = cJSON_Parse(result.json);
	free(result.json);
	remove_directory(dir);
	return root;
}

/* A program that writes where it has nothing to write changes what we recorded of it, and no more than that is lost. */
Test(hostile, a_block_at_an_impossible_time_ends_its_own_thread_only)
{
	static const int64_t moved[] = {-(INT64_C(1) << 50), INT64_C(1) << 60, INT64_C(1) << 54};
	for (size_t m = 0; m < sizeof(moved) / sizeof(moved[0]); m++) {
		cJSON *root = analysed_in_blocks(moved[m]);
		cr_expect(says(root, "rank 1: left out, because a block before them is missing: 2 events"), "%zu", m);
		cr_expect(!says(root, "rank 0"), "%zu", m);
		cJSON_Delete(root);
	}
}

static void put_wild_totals(struct buf *out, uint32_t i)
{
	static const uint64_t wild[][2] = {{0x6161616161616161, 1}, {1, 0x7f0000001000}};
	mpic_put_total(out, &(struct mpic_total){.sig = 0, .calls = wild[i % 2][0], .ticks = wild[i % 2][1]});
}

Test(hostile, totals_that_cannot_be_are_left_out_and_counted)
{
	static const struct claim claim = {MPIC_PROFILE, 2, 2, 1, put_wild_totals};
	char *dir = written();
	add_claims(file_in(dir, "n0.mpic"), &claim);
	cJSON *root = analyse(dir);
	const cJSON *op = json_first(root, "operations");
	cr_expect(says(root, "2 impossible totals left out"));
	cr_expect(cJSON_IsFalse(node_at(root, "coverage.complete")));
	cr_assert_not_null(op);
	cr_expect_eq(cJSON_GetObjectItem(op, "calls")->valuedouble, 4);
	cJSON_Delete(root);
	remove_directory(dir);
}

/* Of two sockets, or hosts: the block begins a little before the one before it ended. */
Test(hostile, a_clock_that_is_a_little_behind_loses_nothing)
{
	for (int64_t ticks = 1 << 10; ticks <= 1 << 20; ticks <<= 5) {
		cJSON *root = analysed_in_blocks(-ticks);
		const cJSON *coverage = cJSON_GetObjectItem(root, "coverage");
		cr_expect(cJSON_IsTrue(cJSON_GetObjectItem(coverage, "complete")));
		cr_expect_eq(cJSON_GetObjectItem(coverage, "events")->valuedouble, 12);
		cJSON_Delete(root);
	}
}
