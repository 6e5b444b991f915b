/* mpic_hostile.c - a .mpic that somebody made to be slow to read is read in time that its bytes on disk explain. What
 * is broken here does not fail but run for hours: hence the timeouts. */
#include "base/crc32c.h"
#include "format/mpic.h"
#include "format/mpic_block.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_ID 0x600df11e
#define TIB (1ll << 40)
#define CROWD_BYTES (16u << 20)

static char path[] = "/tmp/mpic-hostile-XXXXXX";
static int fd;

static void make_file(void)
{
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
}

static void remove_file(void)
{
	close(fd);
	unlink(path);
}

static void put_blocks(struct buf *file)
{
	mpic_append_magic(file, FILE_ID);
	for (uint32_t seq = 0; seq < 3; seq++) {
		struct mpic_block b = {.kind = MPIC_META, .process = MPIC_NODE, .seq = seq};
		cr_assert_eq(mpic_append_block(file, &b, "{}", 2, 6, NULL), 0);
	}
}

static void put_file(const struct buf *file)
{
	cr_assert_eq(write(fd, file->data, file->len_bytes), (ssize_t)file->len_bytes);
}

Test(mpic_hostile, a_hole_of_a_tebibyte_is_not_read, .init = make_file, .fini = remove_file, .timeout = 60)
{
	_cleanup_buf_ struct buf file = {0};
	struct mpic_file f;
	struct error e;
	put_blocks(&file);
	put_file(&file);
	cr_assert_eq(ftruncate(fd, TIB), 0);
	cr_assert_eq(mpic_open(path, &f, &e), 0, "%s", e.text);
	cr_assert_eq(f.nblocks, 3);
	cr_assert_eq(f.damaged_bytes, (uint64_t)TIB - file.len_bytes);
	mpic_close(&f);
}

Test(mpic_hostile, a_block_behind_a_hole_is_found, .init = make_file, .fini = remove_file, .timeout = 60)
{
	_cleanup_buf_ struct buf file = {0};
	struct mpic_file f;
	struct error e;
	put_blocks(&file);
	put_file(&file);
	struct mpic_block b = {.kind = MPIC_META, .process = MPIC_NODE, .seq = 3};
	file.len_bytes = 0;
	cr_assert_eq(mpic_append_block(&file, &b, "{}", 2, 6, NULL), 0);
	cr_assert_eq(pwrite(fd, file.data, file.len_bytes, TIB / 2 + 12345), (ssize_t)file.len_bytes);
	cr_assert_eq(mpic_open(path, &f, &e), 0, "%s", e.text);
	cr_assert_eq(f.nblocks, 4);
	mpic_close(&f);
}

/* A header whose own checksum is right, of a block that is none and reaches `beyond` bytes past the end. */
static void put_claim(struct buf *file, uint32_t beyond)
{
	size_t start = file->len_bytes;
	buf_bytes(file, mpic_block_magic, sizeof(mpic_block_magic));
	buf_u8(file, MPIC_EVENTS);
	buf_u8(file, 1);
	buf_u16(file, 0);
	buf_u32(file, 0);
	buf_u32(file, 0);
	buf_u64(file, 0);
	buf_u32(file, 100);
	buf_u32(file, CROWD_BYTES - (uint32_t)start - MPIC_HEADER_BYTES + beyond);
	buf_u32(file, 0x12345678);
	buf_u32(file, crc32c(0, file->data + start, MPIC_HEADER_BYTES - 4));
}

static void open_crowd(uint32_t beyond)
{
	_cleanup_buf_ struct buf file = {0};
	struct mpic_file f;
	struct error e;
	put_blocks(&file);
	while (file.len_bytes + MPIC_HEADER_BYTES <= CROWD_BYTES)
		put_claim(&file, beyond);
	while (file.len_bytes < CROWD_BYTES)
		buf_u8(&file, 0);
	put_file(&file);
	cr_assert_eq(mpic_open(path, &f, &e), 0, "%s", e.text);
	cr_assert_eq(f.nblocks, 3, "what was found before stays");
	cr_assert_gt(f.damaged_bytes, CROWD_BYTES - 1000);
	mpic_close(&f);
}

/* Each would be read to the end: terabytes. */
Test(mpic_hostile, blocks_that_claim_each_other_are_given_up, .init = make_file, .fini = remove_file, .timeout = 60)
{
	open_crowd(0);
}

/* Each is none at a glance, and the next one is close: nothing is to be read for it but that. */
Test(mpic_hostile, a_crowd_of_headers_costs_a_glance_each, .init = make_file, .fini = remove_file, .timeout = 60)
{
	open_crowd(1);
}

Test(mpic_hostile, a_head_claims_no_more_than_its_payload_has_room_for)
{
	_cleanup_buf_ struct buf payload = {0};
	struct mpic_columns columns = {0};
	uint32_t count;
	uint64_t tick;
	mpic_columns_begin(&columns, 7);
	for (unsigned i = 0; i < 100; i++)
		mpic_columns_put(&columns, &(struct mpic_event){.enter_tick = 100 * i + 7, .exit_tick = 100 * i + 9});
	mpic_columns_payload(&columns, &payload);
	mpic_columns_done(&columns);
	cr_assert_eq(mpic_events_peek(payload.data, payload.len_bytes, &count, &tick), 0);
	cr_expect(count == 100 && tick == 7, "%u at %llu", count, (unsigned long long)tick);
	for (size_t len = 0; len < MPIC_EVENTS_HEAD_BYTES + 100; len++)
		cr_expect_eq(mpic_events_peek(payload.data, len, &count, &tick), -EBADMSG, "%zu", len);
}
