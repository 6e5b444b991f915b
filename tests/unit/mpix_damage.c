/* mpix_damage.c - an .mpix that is damaged is refused, wherever the damage is, or read within its bounds. */
#include "base/crc32c.h"
#include "format/mpix_layout.h"
#include "format/pack.h"
#include "tests/unit/mpix_trace.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(mpix_damage, .init = make_directory, .fini = remove_directory);

/* A few of everything: three windows, a rank with two threads, carried events, messages and waits across windows. */
static int write_small(const char *path)
{
	struct trace_shape shape = {.ranks = 2,
				    .events = 16,
				    .links = 14,
				    .waits = 9,
				    .windows = 3,
				    .threads = true,
				    .far_ticks = true,
				    .runtime_ns = 100000};
	struct error e = {{0}};
	struct plain_trace *t = trace_make(&shape);
	for (uint32_t i = 0; i < t->lanes[1].n; i++)
		t->lanes[1].events[i].sig = 1 + i % 3;
	int rc = plain_write(path, t, "{}", &e);
	trace_done(t);
	return rc;
}

static int count_event(void *context, const struct mpix_event *event)
{
	*(uint64_t *)context += 1 + (uint64_t)event->start_ns * 31 + (uint64_t)event->end_ns * 17 + event->bytes;
	return 0;
}

static int count_link(void *context, const struct mpix_link *x)
{
	*(uint64_t *)context += 1 + (uint64_t)x->message.recv_end_ns * 7 + x->message.bytes;
	return 0;
}

static int count_wait(void *context, const struct mpix_wait *x)
{
	*(uint64_t *)context += 1 + (uint64_t)x->ns * 3 + x->state;
	return 0;
}

/* Everything in a file as one number; -EBADMSG for what cannot be read. */
static int read_all(const char *path, uint64_t *ret_sum, struct error *e)
{
	struct mpix_file *f;
	*ret_sum = 0;
	int rc = mpix_open(path, &f, e);
	if (rc < 0)
		return rc;
	for (uint32_t r = 0; r < mpix_info(f)->ranks && r < 4 && rc == 0; r++)
		rc = mpix_each_event(f, r, INT64_MIN, INT64_MAX, count_event, ret_sum, e);
	if (rc == 0)
		rc = mpix_each_message(f, INT64_MIN, INT64_MAX, count_link, ret_sum, e);
	if (rc == 0)
		rc = mpix_each_wait(f, INT64_MIN, INT64_MAX, count_wait, ret_sum, e);
	mpix_close(f);
	return rc;
}

Test(mpix_damage, truncated_anywhere_says_so)
{
	struct error e;
	struct mpix_file *f;
	cr_assert_eq(write_small(path_of("w.mpix")), 0);
	struct buf whole = slurp(path_of("w.mpix"));
	for (size_t n = 0; n < whole.len_bytes; n++) {
		spill(path_of("cut.mpix"), whole.data, n);
		cr_assert_eq(mpix_open(path_of("cut.mpix"), &f, &e), -EBADMSG, "accepted %zu bytes", n);
		cr_assert_not_null(strstr(e.text, "cut"), "%zu bytes: %s", n, e.text);
	}
	buf_done(&whole);
}

Test(mpix_damage, one_damaged_byte_is_found_or_harms_nothing)
{
	struct error e = {{0}};
	uint64_t whole_sum, sum, refused = 0;
	cr_assert_eq(write_small(path_of("w.mpix")), 0);
	cr_assert_eq(read_all(path_of("w.mpix"), &whole_sum, &e), 0, "%s", e.text);
	struct buf whole = slurp(path_of("w.mpix"));
	for (size_t n = 0; n < whole.len_bytes; n++) {
		whole.data[n] ^= 0x41;
		spill(path_of("bad.mpix"), whole.data, whole.len_bytes);
		whole.data[n] ^= 0x41;
		int rc = read_all(path_of("bad.mpix"), &sum, &e);
		cr_assert(rc == 0 || rc == -EBADMSG, "byte %zu: %d", n, rc);
		if (rc == 0)
			cr_assert_eq(sum, whole_sum, "byte %zu changed what is read", n);
		refused += rc < 0;
	}
	cr_assert_gt(refused, whole.len_bytes / 2);
	buf_done(&whole);
}

Test(mpix_damage, a_file_of_another_format_is_called_that)
{
	struct error e;
	struct mpix_file *f;
	char text[200];
	memset(text, 'x', sizeof(text));
	spill(path_of("x.mpix"), text, sizeof(text));
	cr_assert_eq(mpix_open(path_of("x.mpix"), &f, &e), -EBADMSG);
	cr_assert_not_null(strstr(e.text, "not an .mpix"));
	cr_assert_eq(mpix_open(path_of("none.mpix"), &f, &e), -ENOENT);
	cr_assert_eq(mpix_open(test_directory(), &f, &e), -EBADMSG);
}

/* Rewrite the index of a small file with one entry changed and every checksum right. */
static int open_with_entry(const struct buf *whole, const struct mpix_entry *forged)
{
	struct mpix_super s;
	struct error e;
	struct mpix_file *f;
	_cleanup_buf_ struct buf out = {0}, super = {0};
	cr_assert_eq(mpix_get_super(cursor_over(whole->data, whole->len_bytes), whole->len_bytes, &s, &e), 0);
	buf_bytes(&out, whole->data, s.index_offset);
	for (uint32_t i = 0; i < s.entries; i++)
		mpix_put_entry(&out, forged);
	s.index_crc = crc32c(0, out.data + s.index_offset, out.len_bytes - s.index_offset);
	mpix_put_super(&super, &s);
	memcpy(out.data, super.data, super.len_bytes);
	mpix_put_trailer(&out, s.file_bytes, crc32c(0, super.data, super.len_bytes));
	spill(path_of("forged.mpix"), out.data, out.len_bytes);
	int rc = mpix_open(path_of("forged.mpix"), &f, &e);
	if (rc == 0)
		mpix_close(f);
	return rc;
}

Test(mpix_damage, an_entry_past_any_limit_is_refused)
{
	cr_assert_eq(write_small(path_of("w.mpix")), 0);
	struct buf whole = slurp(path_of("w.mpix"));
	const struct mpix_entry forged[] = {
		{.kind = 0, .offset = 64, .packed_bytes = 10, .raw_bytes = 10},
		{.kind = MPIX_META, .offset = 0, .packed_bytes = 10, .raw_bytes = 10},
		{.kind = MPIX_META, .offset = 64, .packed_bytes = UINT32_MAX, .raw_bytes = 10},
		{.kind = MPIX_META, .offset = UINT64_MAX, .packed_bytes = 10, .raw_bytes = 10},
		{.kind = MPIX_META, .offset = 64, .packed_bytes = 10, .raw_bytes = MPIX_CHUNK_RAW_MAX + 1},
		{.kind = MPIX_META, .offset = 64, .packed_bytes = 10, .raw_bytes = 1u << 20},
		{.kind = MPIX_META, .offset = 64, .packed_bytes = 0, .raw_bytes = 0},
		{.kind = MPIX_ANALYSIS, .offset = 64, .packed_bytes = 10, .raw_bytes = 10},
	};
	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++)
		cr_assert_eq(open_with_entry(&whole, &forged[i]), -EBADMSG, "entry %zu accepted", i);
	buf_done(&whole);
}

/* The same file with the contents of its first chunk of one kind replaced and every checksum right.
 */
static void write_forged(const struct buf *whole, enum mpix_kind kind, const void *raw, size_t raw_bytes)
{
	struct mpix_super s;
	struct error e;
	struct mpix_entry x;
	_cleanup_buf_ struct buf out = {0}, index = {0}, super = {0};
	cr_assert_eq(mpix_get_super(cursor_over(whole->data, whole->len_bytes), whole->len_bytes, &s, &e), 0);
	struct cursor c = cursor_over(whole->data + s.index_offset, s.entries * MPIX_ENTRY_BYTES);
	buf_bytes(&out, whole->data, MPIX_SUPERBLOCK_BYTES);
	for (uint32_t i = 0; i < s.entries; i++) {
		cr_assert_eq(mpix_get_entry(&c, &x), 0);
		size_t begin = out.len_bytes;
		if (x.kind == kind && raw != NULL) {
			struct libdeflate_compressor *packer = NULL;
			cr_assert_eq(pack_deflate(&packer, &out, raw, raw_bytes, 6, NULL), 0);
			pack_done(&packer);
			x.raw_bytes = (uint32_t)raw_bytes;
			raw = NULL;
		} else {
			buf_bytes(&out, whole->data + x.offset, x.packed_bytes);
		}
		x.offset = begin;
		x.packed_bytes = (uint32_t)(out.len_bytes - begin);
		x.crc = crc32c(0, out.data + begin, x.packed_bytes);
		mpix_put_entry(&index, &x);
	}
	s.index_offset = out.len_bytes;
	s.file_bytes = out.len_bytes + index.len_bytes + MPIX_TRAILER_BYTES;
	s.index_crc = crc32c(0, index.data, index.len_bytes);
	buf_bytes(&out, index.data, index.len_bytes);
	mpix_put_super(&super, &s);
	memcpy(out.data, super.data, super.len_bytes);
	mpix_put_trailer(&out, s.file_bytes, crc32c(0, super.data, super.len_bytes));
	spill(path_of("forged.mpix"), out.data, out.len_bytes);
}

static struct buf contents_of(const struct buf *whole, enum mpix_kind kind)
{
	struct mpix_super s;
	struct error e;
	struct mpix_entry x;
	struct buf raw = {0};
	cr_assert_eq(mpix_get_super(cursor_over(whole->data, whole->len_bytes), whole->len_bytes, &s, &e), 0);
	struct cursor c = cursor_over(whole->data + s.index_offset, s.entries * MPIX_ENTRY_BYTES);
	do
		cr_assert_eq(mpix_get_entry(&c, &x), 0);
	while (x.kind != kind);
	uint8_t *to = buf_reserve(&raw, x.raw_bytes);
	cr_assert_eq(pack_inflate_to(to, x.raw_bytes, (struct span){whole->data + x.offset, x.packed_bytes}, NULL), 0);
	raw.len_bytes = x.raw_bytes;
	return raw;
}

/* 64 MiB of text that a cJSON of 2 GiB would become. */
Test(mpix_damage, an_analysis_of_more_values_than_the_file_has_room_for_is_refused)
{
	struct error e;
	struct mpix_file *f;
	_cleanup_buf_ struct buf json = {0};
	cr_assert_eq(write_small(path_of("w.mpix")), 0);
	struct buf whole = slurp(path_of("w.mpix"));
	for (uint32_t i = 0; i < 32u << 20; i++)
		buf_bytes(&json, i == 0 ? "[0" : ",0", 2);
	buf_str(&json, "]");
	write_forged(&whole, MPIX_ANALYSIS, json.data, json.len_bytes);
	cr_assert_eq(mpix_open(path_of("forged.mpix"), &f, &e), -EBADMSG);
	buf_done(&whole);
}

/* Whatever a chunk says: refused, or read within bounds. Worth most under
 * -Db_sanitize=address,undefined. */
static void try_every_byte(enum mpix_kind kind)
{
	static const uint8_t changes[] = {0x01, 0x80, 0xff};
	struct error e;
	int refused = 0;
	uint64_t sum;
	cr_assert_eq(write_small(path_of("w.mpix")), 0);
	struct buf whole = slurp(path_of("w.mpix")), raw = contents_of(&whole, kind);
	for (size_t n = 0; n < raw.len_bytes * sizeof(changes); n++) {
		uint8_t *byte = &raw.data[n / sizeof(changes)], old = *byte;
		*byte ^= changes[n % sizeof(changes)];
		write_forged(&whole, kind, raw.data, raw.len_bytes);
		*byte = old;
		e.text[0] = '\0';
		int rc = read_all(path_of("forged.mpix"), &sum, &e);
		cr_assert(rc == 0 || rc == -EBADMSG, "byte %zu: %d %s", n / sizeof(changes), rc, e.text);
		cr_assert(rc == 0 || strstr(e.text, "forged.mpix") != NULL, "which file it is: %s", e.text);
		refused += rc < 0;
	}
	for (size_t n = 0; n < raw.len_bytes; n++) { /* cut, with a length that agrees */
		write_forged(&whole, kind, raw.data, n);
		cr_assert_eq(read_all(path_of("forged.mpix"), &sum, &e), -EBADMSG, "%zu of %zu bytes", n,
			     raw.len_bytes);
	}
	cr_assert_gt(refused, 0);
	buf_done(&raw);
	buf_done(&whole);
}

Test(mpix_damage, a_forged_event_chunk_stays_within_bounds)
{
	try_every_byte(MPIX_EVENTS);
}

Test(mpix_damage, a_forged_message_chunk_stays_within_bounds)
{
	try_every_byte(MPIX_MESSAGES);
}

Test(mpix_damage, a_forged_description_stays_within_bounds)
{
	try_every_byte(MPIX_META);
}

Test(mpix_damage, forged_waits_stay_within_bounds)
{
	try_every_byte(MPIX_WAITS);
}

Test(mpix_damage, forged_signatures_stay_within_bounds)
{
	try_every_byte(MPIX_SIGNATURES);
}

Test(mpix_damage, forged_objects_stay_within_bounds)
{
	try_every_byte(MPIX_OBJECTS);
}

Test(mpix_damage, forged_stacks_stay_within_bounds)
{
	try_every_byte(MPIX_STACKS);
}

Test(mpix_damage, a_forged_clock_stays_within_bounds)
{
	try_every_byte(MPIX_CLOCK);
}

/* The same with chunks of one kind called another. */
Test(mpix_damage, chunks_of_an_unknown_kind_are_skipped)
{
	struct error e = {{0}};
	uint64_t sum, other;
	cr_assert_eq(write_small(path_of("w.mpix")), 0);
	cr_assert_eq(read_all(path_of("w.mpix"), &sum, &e), 0, "%s", e.text);
	struct buf whole = slurp(path_of("w.mpix"));
	struct mpix_super s;
	cr_assert_eq(mpix_get_super(cursor_over(whole.data, whole.len_bytes), whole.len_bytes, &s, &e), 0);
	_cleanup_buf_ struct buf out = {0}, super = {0};
	buf_bytes(&out, whole.data, s.index_offset);
	buf_bytes(&out, whole.data + s.index_offset, s.entries * MPIX_ENTRY_BYTES);
	struct mpix_entry future = {.kind = 77, .group = 5, .offset = 64, .packed_bytes = 10, .raw_bytes = 10};
	mpix_put_entry(&out, &future);
	s.entries++;
	s.file_bytes += MPIX_ENTRY_BYTES;
	s.index_crc = crc32c(0, out.data + s.index_offset, out.len_bytes - s.index_offset);
	mpix_put_super(&super, &s);
	memcpy(out.data, super.data, super.len_bytes);
	mpix_put_trailer(&out, s.file_bytes, crc32c(0, super.data, super.len_bytes));
	spill(path_of("future.mpix"), out.data, out.len_bytes);
	cr_assert_eq(read_all(path_of("future.mpix"), &other, &e), 0, "%s", e.text);
	cr_assert_eq(other, sum);
	buf_done(&whole);
}
