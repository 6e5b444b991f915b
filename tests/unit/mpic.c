/* mpic.c - a .mpic written is read back; damaged anywhere it loses only what was damaged, and says so. */
#include "format/mpic.h"
#include "format/pack.h"
#include "format/sig.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS 1000
#define FILE_ID 0x600df11e

static void build(struct buf *file, bool end)
{
	struct mpic_columns columns = {0};
	_cleanup_buf_ struct buf payload = {0};
	struct error e;

	mpic_append_magic(file, FILE_ID);
	for (uint32_t seq = 0; seq < 3; seq++) {
		mpic_columns_begin(&columns, 1000000ull * seq);
		for (uint64_t i = 0; i < EVENTS; i++) {
			uint64_t polls[2] = {i, 1ull << 40};
			struct mpic_event ev = {.sig = (uint32_t)(i % 3),
						.enter_tick = columns.clock + 100 + i,
						.exit_tick = columns.clock + 100 + 3 * i + (i == 7 ? 1ull << 35 : 0),
						.extra = polls,
						.nextra = i == 5 ? 2 : 0};
			mpic_columns_put(&columns, &ev);
		}
		payload.len_bytes = 0;
		mpic_columns_payload(&columns, &payload);
		struct mpic_block b = {.kind = MPIC_EVENTS, .process = 2, .thread = 1, .seq = seq};
		cr_assert_eq(mpic_append_block(file, &b, payload.data, payload.len_bytes, 6, &e), 0);
	}
	struct mpic_block last = {.kind = MPIC_END, .process = MPIC_NODE, .seq = FILE_ID};
	if (end)
		cr_assert_eq(mpic_append_block(file, &last, "{}", 2, 6, &e), 0);
	mpic_columns_done(&columns);
}

static int open_bytes(const void *bytes, size_t len, struct mpic_file *f, struct error *e)
{
	char path[] = "/tmp/mpic-test-XXXXXX";
	int fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
	int rc = mpic_open(path, f, e);
	unlink(path);
	return rc;
}

Test(pack, gives_back_exactly_what_was_put_in)
{
	static const size_t lengths[] = {0, 1, 300, 100000};
	static uint8_t data[100000];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i >> 7);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		_cleanup_buf_ struct buf packed = {0}, raw = {0};
		struct error e;
		size_t n = lengths[i];
		struct libdeflate_compressor *packer = NULL;
		cr_assert_eq(pack_deflate(&packer, &packed, data, n, 6, &e), 0);
		pack_done(&packer);
		cr_assert_eq(pack_inflate(&raw, packed.data, packed.len_bytes, n, &e), 0);
		cr_assert(raw.len_bytes == n && (n == 0 || memcmp(raw.data, data, n) == 0));
		cr_assert_eq(pack_inflate(&raw, packed.data, packed.len_bytes, n + 1, &e), -EBADMSG, "shorter");
		cr_assert_eq(pack_inflate(&raw, packed.data, packed.len_bytes - 1, n, &e), -EBADMSG, "cut");
		cr_assert(n == 0 || pack_inflate(&raw, packed.data, packed.len_bytes, n - 1, &e) == -EBADMSG, "longer");
		buf_u8(&packed, 0);
		cr_assert_eq(pack_inflate(&raw, packed.data, packed.len_bytes, n, &e), -EBADMSG, "bytes behind it");
		cr_assert_eq(pack_inflate(&raw, packed.data, packed.len_bytes, SIZE_MAX / 2, &e), -EBADMSG, "too good");
		cr_assert_eq(raw.len_bytes, n);
	}
}

Test(mpic, gives_back_every_tick_that_was_written)
{
	_cleanup_buf_ struct buf file = {0}, payload = {0};
	struct mpic_file f;
	static struct mpic_events it;
	struct mpic_event ev;
	struct error e;
	uint32_t n;

	build(&file, true);
	cr_assert_eq(open_bytes(file.data, file.len_bytes, &f, &e), 0, "%s", e.text);
	cr_assert(f.finished);
	cr_assert_eq(f.damaged_bytes, 0);
	cr_assert_eq(f.nblocks, 4);
	cr_assert_eq(mpic_read(&f, &f.blocks[1], &payload, &e), 0);
	cr_assert_eq(mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &n), 0);
	cr_assert_eq(n, EVENTS);
	uint64_t clock = 1000000;
	for (uint64_t i = 0; i < EVENTS; i++) {
		cr_assert_eq(mpic_events_next(&it, &ev), 1);
		cr_assert_eq(ev.sig, i % 3);
		cr_assert_eq(ev.enter_tick, clock + 100 + i);
		cr_assert_eq(ev.exit_tick, clock + 100 + 3 * i + (i == 7 ? 1ull << 35 : 0));
		cr_assert_eq(ev.nextra, i == 5 ? 2u : 0u);
		if (i == 5)
			cr_assert(ev.extra[0] == 5 && ev.extra[1] == 1ull << 40);
		clock = ev.exit_tick;
	}
	cr_assert_eq(mpic_events_next(&it, &ev), 0);
	mpic_events_done(&it);
	mpic_close(&f);
}

/* Times of every kind there and back: clocks with a step, without one, and events that miss theirs. */
static void there_and_back(uint32_t n, uint64_t (*ticks)(uint32_t i))
{
	struct mpic_columns columns = {0};
	static struct mpic_events it;
	_cleanup_buf_ struct buf payload = {0}, packed = {0}, unpacked = {0};
	struct mpic_event ev;
	uint32_t count;

	mpic_columns_begin(&columns, 77);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t enter = columns.clock + ticks(2 * i);
		mpic_columns_put(&columns, &(struct mpic_event){.sig = i * i % 7,
								.enter_tick = enter,
								.exit_tick = enter + ticks(2 * i + 1)});
	}
	mpic_columns_payload(&columns, &payload);
	mpic_columns_done(&columns);
	size_t numbers_at, bits_at;
	mpic_events_parts(payload.data, payload.len_bytes, &numbers_at, &bits_at);
	cr_assert(numbers_at < bits_at && bits_at <= payload.len_bytes);
	cr_assert_eq(pack_deflate_parts(&packed, payload.data, payload.len_bytes, numbers_at, bits_at, 6, NULL), 0);
	cr_assert_eq(pack_inflate(&unpacked, packed.data, packed.len_bytes, payload.len_bytes, NULL), 0);
	cr_assert_eq(mpic_events_begin(&it, cursor_over(unpacked.data, payload.len_bytes), &count), 0);
	cr_assert_eq(count, n);
	uint64_t clock = 77;
	for (uint32_t i = 0; i < n; i++) {
		cr_assert_eq(mpic_events_next(&it, &ev), 1);
		cr_assert_eq(ev.sig, i * i % 7);
		cr_assert_eq(ev.enter_tick, clock + ticks(2 * i));
		cr_assert_eq(ev.exit_tick, ev.enter_tick + ticks(2 * i + 1));
		clock = ev.exit_tick;
	}
	cr_assert_eq(mpic_events_next(&it, &ev), 0);
	mpic_events_done(&it);
}

static uint64_t stepped(uint32_t i)
{
	return 26ull * (i * 2654435761u >> 24);
}

static uint64_t stepless(uint32_t i)
{
	return (i * 2654435761u >> 20) + (i % 100 == 0 ? 1ull << 40 : 0);
}

static uint64_t now_and_then_off(uint32_t i)
{
	return stepped(i) + (i % 97 == 3) - (i % 89 == 5 && stepped(i) > 0);
}

static uint64_t nothing(uint32_t i)
{
	(void)i;
	return 0;
}

Test(mpic, gives_back_times_of_clocks_with_a_step_and_without)
{
	there_and_back(3000, stepped);
	there_and_back(3000, stepless);
	there_and_back(3000, now_and_then_off);
	there_and_back(3000, nothing);
	there_and_back(1, stepless);
}

/* What version 2 wrote, kept by the code that wrote it: 500 events a block of the three kinds above. */
Test(mpic, gives_back_every_tick_of_a_file_of_version_2)
{
	uint64_t (*const kinds[])(uint32_t) = {stepped, stepless, now_and_then_off};
	_cleanup_buf_ struct buf payload = {0};
	static struct mpic_events it;
	struct mpic_file f;
	struct mpic_event ev;
	struct error e;
	uint32_t count;
	char path[4096];
	snprintf(path, sizeof(path), "%s/events_v2.mpic", getenv("MPITRACE_CORPUS"));
	cr_assert_eq(mpic_open(path, &f, &e), 0, "%s", e.text);
	cr_assert(f.finished && f.nblocks == 4 && f.damaged_bytes == 0);
	for (uint32_t k = 0; k < 3; k++) {
		cr_assert_eq(mpic_read(&f, &f.blocks[k], &payload, &e), 0);
		cr_assert_eq(mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &count), 0);
		cr_assert_eq(count, 500);
		uint64_t clock = 77;
		for (uint32_t i = 0; i < count; i++) {
			cr_assert_eq(mpic_events_next(&it, &ev), 1);
			cr_assert_eq(ev.sig, i * i % 7);
			cr_assert_eq(ev.enter_tick, clock + kinds[k](2 * i));
			cr_assert_eq(ev.exit_tick, ev.enter_tick + kinds[k](2 * i + 1));
			cr_assert_eq(ev.nextra, i % 50 == 5 ? 2u : 0u);
			cr_assert(ev.nextra == 0 || (ev.extra[0] == i && ev.extra[1] == 1ull << 40));
			clock = ev.exit_tick;
		}
		for (size_t len = 0; len < payload.len_bytes; len += 1 + len / 97)
			cr_assert_lt(mpic_events_begin(&it, cursor_over(payload.data, len), &count), 0);
	}
	mpic_events_done(&it);
	mpic_close(&f);
}

Test(mpic, a_version_that_is_not_known_is_named)
{
	uint8_t magic[24] = {'m', 'p', 'i', 'c', '\r', '\n', 0x1a, '\n', 4};
	struct mpic_file f;
	struct error e;
	cr_assert_eq(open_bytes(magic, sizeof(magic), &f, &e), -EBADMSG);
	cr_assert(strstr(e.text, "version 4") != NULL && strstr(e.text, "2 to 3") != NULL, "%s", e.text);
	magic[8] = 1;
	cr_assert_eq(open_bytes(magic, sizeof(magic), &f, &e), -EBADMSG);
	magic[8] = 3;
	magic[9] = 1;
	cr_assert_eq(open_bytes(magic, sizeof(magic), &f, &e), -EBADMSG);
}

/* Whatever bytes a payload holds: an error or events, never a read outside of it (run with sanitizers). */
static void damage_everywhere(uint32_t n, uint64_t (*ticks)(uint32_t i), bool joined, bool wordy)
{
	struct mpic_columns columns = {0};
	static struct mpic_events it;
	_cleanup_buf_ struct buf payload = {0};
	mpic_columns_begin(&columns, 5);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t enter = columns.clock + ticks(i), words[3] = {i, ticks(i) << 20, 7 * i};
		mpic_columns_put(&columns, &(struct mpic_event){.sig = i % 5,
								.enter_tick = enter,
								.exit_tick = enter + (joined ? ticks(i + 1) : 1000 * i),
								.extra = words,
								.nextra = wordy ? 3 : i % 7 == 0});
	}
	mpic_columns_payload(&columns, &payload);
	mpic_columns_done(&columns);
	uint32_t head[7];
	memcpy(head, payload.data, sizeof(head));
	cr_assert(wordy || head[5] == (joined ? n : 2 * n)); /* symbols */
	unsigned refused = 0;
	for (size_t at = 0; at < payload.len_bytes; at++)
		for (unsigned value = 0; value < 256; value += 51) {
			struct mpic_event ev;
			uint32_t count;
			uint8_t was = payload.data[at];
			payload.data[at] = (uint8_t)(was ^ (value + 1));
			int rc = mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &count);
			while (rc == 0 && (rc = mpic_events_next(&it, &ev)) == 1)
				rc = 0;
			refused += rc < 0;
			payload.data[at] = was;
		}
	cr_assert_gt(refused, 100);
	for (size_t len = 0; len < payload.len_bytes; len++) {
		uint32_t count;
		uint8_t *alone = malloc(len + 1); /* so that a sanitizer sees where it ends */
		memcpy(alone, payload.data, len);
		cr_assert_lt(mpic_events_begin(&it, cursor_over(alone, len), &count), 0);
		free(alone);
	}
	mpic_events_done(&it);
}

static uint64_t two_values(uint32_t i)
{
	return 52 + 26 * (i * 2654435761u >> 31);
}

Test(mpic, an_event_payload_damaged_anywhere_is_refused_or_read)
{
	damage_everywhere(40, now_and_then_off, false, false);
	damage_everywhere(300, stepless, false, false);
	damage_everywhere(300, stepless, false, true);
	damage_everywhere(300, two_values, true, false);
}

Test(mpic, truncated_anywhere_keeps_every_whole_block_and_is_not_finished)
{
	_cleanup_buf_ struct buf file = {0};
	struct error e;
	build(&file, true);
	for (size_t len = 0; len < file.len_bytes; len += 1 + len / 97) {
		struct mpic_file f;
		int rc = open_bytes(file.data, len, &f, &e);
		if (rc < 0) {
			cr_assert_eq(rc, -EBADMSG);
			continue;
		}
		cr_assert(!f.finished);
		uint64_t whole = 16;
		for (size_t i = 0; i < f.nblocks; i++)
			whole += 40 + f.blocks[i].packed_len_bytes;
		cr_assert_eq(whole + f.damaged_bytes, len);
		mpic_close(&f);
	}
}

/* ---- the end, found from the last bytes ---- */

static int temporary(const void *bytes, size_t len)
{
	char path[] = "/tmp/mpic-test-XXXXXX";
	int fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	unlink(path);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	return fd;
}

static int end_of(const void *bytes, size_t len)
{
	_cleanup_buf_ struct buf json = {0};
	int fd = temporary(bytes, len), rc = mpic_read_end(fd, &json, NULL);
	close(fd);
	cr_assert(rc != 1 || (json.len_bytes == 2 && memcmp(json.data, "{}", 2) == 0));
	return rc;
}

static bool finished_when_read_whole(const void *bytes, size_t len)
{
	struct mpic_file f;
	struct error e;
	cr_assert_eq(open_bytes(bytes, len, &f, &e), 0, "%s", e.text);
	bool finished = f.finished;
	mpic_close(&f);
	return finished;
}

Test(end, truncated_anywhere_a_file_is_not_finished)
{
	_cleanup_buf_ struct buf file = {0};
	build(&file, true);
	cr_assert_eq(end_of(file.data, file.len_bytes), 1);
	for (size_t len = file.len_bytes - 200; len < file.len_bytes; len++)
		cr_assert_eq(end_of(file.data, len), 0, "%zu", len);
	for (size_t len = 0; len < 100; len++)
		cr_assert_eq(end_of(file.data, len), len < 16 ? -EBADMSG : 0, "%zu", len);
}

/* Bytes that this process has read so far, or 0 where the kernel does not count them (proc(5), /proc/PID/io). */
static long long bytes_read(void)
{
	long long n = 0;
	FILE *f = fopen("/proc/self/io", "re");
	if (f != NULL) {
		if (fscanf(f, "rchar: %lld", &n) != 1)
			n = 0;
		fclose(f);
	}
	return n;
}

Test(end, is_found_behind_a_gibibyte_by_reading_four_kibibytes)
{
	_cleanup_buf_ struct buf file = {0}, end = {0}, json = {0};
	struct mpic_block last = {.kind = MPIC_END, .process = MPIC_NODE, .seq = FILE_ID};
	const off_t far = 1 << 30;
	build(&file, false);
	cr_assert_eq(mpic_append_block(&end, &last, "{}", 2, 6, NULL), 0);
	int fd = temporary(file.data, file.len_bytes);
	cr_assert_eq(pwrite(fd, end.data, end.len_bytes, far), (ssize_t)end.len_bytes);
	bytes_read();
	long long nothing = bytes_read(), before = bytes_read();
	cr_assert_eq(mpic_read_end(fd, &json, NULL), 1);
	long long overhead = before - nothing, all = bytes_read() - before;
	cr_assert_leq(all - overhead, 2ll * MPIC_TAIL_BYTES);
	cr_assert_eq(ftruncate(fd, far + (off_t)end.len_bytes + 1), 0);
	cr_assert_eq(mpic_read_end(fd, &json, NULL), 0);
	close(fd);
}

Test(end, damage_before_it_changes_nothing)
{
	_cleanup_buf_ struct buf file = {0};
	build(&file, true);
	for (size_t at = 16; at < file.len_bytes - 60; at += 7)
		file.data[at] ^= 0x55;
	cr_assert_eq(end_of(file.data, file.len_bytes), 1);
	file.data[file.len_bytes - 1] ^= 0x55;
	cr_assert_eq(end_of(file.data, file.len_bytes), 0);
}

/* A program may name a communicator as it likes: here after a whole END block, at the very end of a payload that
 * deflate cannot make shorter, and the agent dies behind it, or in it. */
Test(end, one_that_stands_in_a_payload_is_none)
{
	_cleanup_buf_ struct buf file = {0}, fake = {0}, payload = {0};
	struct mpic_block last = {.kind = MPIC_END, .process = MPIC_NODE, .seq = 0}, defs = {.kind = MPIC_DEFS};
	build(&file, false);
	cr_assert_eq(mpic_append_block(&fake, &last, "{}", 2, 6, NULL), 0);
	for (int i = 0; i < 2000; i++)
		buf_u8(&payload, (uint8_t)rand());
	buf_bytes(&payload, fake.data, fake.len_bytes);
	cr_assert_eq(mpic_append_block(&file, &defs, payload.data, payload.len_bytes, 6, NULL), 0);
	cr_assert_eq(memcmp(file.data + file.len_bytes - fake.len_bytes, fake.data, fake.len_bytes), 0);
	cr_assert_eq(end_of(file.data, file.len_bytes), 0);
	cr_assert_not(finished_when_read_whole(file.data, file.len_bytes));
	file.data[file.len_bytes - fake.len_bytes - 1] ^= 1; /* the block around it is lost */
	cr_assert_eq(end_of(file.data, file.len_bytes), 0);
	cr_assert_not(finished_when_read_whole(file.data, file.len_bytes));
}

Test(end, of_version_2_is_known_when_the_file_is_read_whole)
{
	_cleanup_buf_ struct buf file = {0};
	build(&file, true);
	memcpy(file.data + 8, (uint8_t[8]){2}, 8);
	cr_assert_eq(end_of(file.data, file.len_bytes), -ENOTSUP);
	cr_assert(finished_when_read_whole(file.data, file.len_bytes));
	cr_assert_not(finished_when_read_whole(file.data, file.len_bytes - 1));
	file.data[8] = 4;
	cr_assert_eq(end_of(file.data, file.len_bytes), -EBADMSG);
}

Test(mpic, one_flipped_byte_costs_one_block)
{
	_cleanup_buf_ struct buf file = {0};
	struct error e;
	build(&file, true);
	for (size_t at = 16; at < file.len_bytes; at += 61) {
		struct mpic_file f;
		file.data[at] ^= 0x55;
		cr_assert_eq(open_bytes(file.data, file.len_bytes, &f, &e), 0, "%s", e.text);
		cr_assert_eq(f.nblocks, 3);
		cr_assert_gt(f.damaged_bytes, 0);
		mpic_close(&f);
		file.data[at] ^= 0x55;
	}
}

Test(mpic, names_a_file_of_another_format)
{
	struct mpic_file f;
	struct error e;
	cr_assert_eq(open_bytes("MPICv002 and more bytes", 23, &f, &e), -EBADMSG);
	cr_assert(strstr(e.text, "Pyrite") != NULL);
	cr_assert_eq(open_bytes("#!/bin/sh\necho hello\n", 21, &f, &e), -EBADMSG);
	cr_assert(strstr(e.text, "not a .mpic") != NULL);
}

static bool is_same(const struct mpic_block *a, const struct mpic_block *b)
{
	return a->kind == b->kind && a->process == b->process && a->thread == b->thread && a->seq == b->seq &&
	       a->raw_len_bytes == b->raw_len_bytes && a->packed_len_bytes == b->packed_len_bytes &&
	       a->payload_offset == b->payload_offset;
}

/* What was written so far, then all: at every cut the same blocks are found as by reading it at once. */
Test(mpic_file, one_that_grows_is_read_on_from_where_it_was)
{
	_cleanup_buf_ struct buf all = {0};
	build(&all, true);
	for (size_t cut = 17; cut < all.len_bytes; cut += 97) {
		char path[] = "/tmp/mpic-test-XXXXXX";
		struct mpic_file f, at_once;
		struct error e;
		int fd = mkstemp(path);
		cr_assert_eq(write(fd, all.data, cut), (ssize_t)cut);
		int code = mpic_open(path, &f, &e);
		cr_assert_eq(write(fd, all.data + cut, all.len_bytes - cut), (ssize_t)(all.len_bytes - cut));
		if (code == 0) { /* else there was no block yet */
			size_t before = f.nblocks;
			cr_assert(!f.finished);
			cr_assert_eq(mpic_update(&f, &e), 1);
			cr_assert_eq(mpic_open(path, &at_once, &e), 0);
			cr_assert(f.nblocks == at_once.nblocks && f.nblocks > before && f.finished);
			cr_assert_eq(f.damaged_bytes, 0);
			for (size_t i = 0; i < f.nblocks; i++)
				cr_assert(is_same(&f.blocks[i], &at_once.blocks[i]), "%zu", i);
			cr_assert_eq(mpic_update(&f, &e), 0, "nothing new");
			cr_assert_eq(ftruncate(fd, 40), 0);
			cr_assert_eq(mpic_update(&f, &e), -ESTALE, "shorter than what is known of it");
			mpic_close(&at_once);
			mpic_close(&f);
		}
		close(fd);
		unlink(path);
	}
}

Test(mpic_file, another_of_its_name_is_not_read_on)
{
	_cleanup_buf_ struct buf all = {0};
	char path[] = "/tmp/mpic-test-XXXXXX", other[] = "/tmp/mpic-other-XXXXXX";
	struct mpic_file f;
	struct error e;
	build(&all, true);
	int fd = mkstemp(path), fd2 = mkstemp(other);
	cr_assert_eq(write(fd, all.data, all.len_bytes), (ssize_t)all.len_bytes);
	cr_assert_eq(write(fd2, all.data, all.len_bytes), (ssize_t)all.len_bytes);
	cr_assert_eq(mpic_open(path, &f, &e), 0);
	cr_assert_eq(rename(other, path), 0);
	cr_assert_eq(mpic_update(&f, &e), -ESTALE);
	mpic_close(&f);
	close(fd);
	close(fd2);
	unlink(path);
}

/* Blocks of events are passed over by their headers: spoilt ones are no damage. */
Test(mpic_file, totals_pass_over_events_and_count_their_bytes)
{
	_cleanup_buf_ struct buf all = {0};
	struct mpic_file whole, totals;
	struct error e;
	char path[] = "/tmp/mpic-test-XXXXXX";
	int fd = mkstemp(path);
	build(&all, true);
	cr_assert_eq(open_bytes(all.data, all.len_bytes, &whole, &e), 0);
	for (size_t i = 0; i < whole.nblocks; i++)
		for (uint32_t k = 0; whole.blocks[i].kind == MPIC_EVENTS && k < whole.blocks[i].packed_len_bytes; k++)
			all.data[whole.blocks[i].payload_offset + k] ^= 0xff;
	cr_assert_eq(write(fd, all.data, all.len_bytes), (ssize_t)all.len_bytes);
	cr_assert_eq(mpic_open_totals(path, &totals, &e), 0);
	uint64_t others = 16 + 40 + (uint64_t)totals.blocks[totals.nblocks - 1].packed_len_bytes; /* head, END */
	cr_assert(totals.finished && totals.damaged_bytes == 0 && totals.nblocks == 1 && whole.nblocks > 1);
	cr_assert_eq(totals.passed_bytes, all.len_bytes - others);
	mpic_close(&totals);
	cr_assert_eq(ftruncate(fd, (off_t)(all.len_bytes - others)), 0);
	cr_assert_eq(mpic_open_totals(path, &totals, &e), -EBADMSG, "nothing but events");
	mpic_close(&whole);
	close(fd);
	unlink(path);
}
