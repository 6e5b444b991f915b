/* mpic_sample.c - samples are read as they were written; of damage nothing is believed, and what is not known
 * is passed over. */
#include "format/mpic.h"
#include "format/mpic_sample.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct mpic_sample head = {77, 5, -6, 1000000000, true};
static const struct mpic_system used = {1, 2, 3, 4, 5, 6, 'T', 8};

static const struct mpic_counters counted = {1ull << 40, 2, UINT64_MAX};

static void put_all(struct buf *out)
{
	const uint64_t words[3] = {1, UINT64_MAX, 0};
	const uint32_t started[2] = {7, MPIC_SIGS_MAX - 1};
	mpic_put_sample(out, &head);
	mpic_put_sample_memory(out, 1ull << 33, UINT64_MAX);
	mpic_put_sample_process(out, 3, SAMPLE_LOST, 4096);
	mpic_put_sample_thread(out, 2);
	mpic_put_sample_total(out, 0, 7, 1, 2);
	mpic_put_sample_total(out, 8, 8, UINT64_MAX, 4);
	mpic_put_sample_open(out, 99, 0, words, 3);
	mpic_put_sample_system(out, &used);
	mpic_put_sample_counters(out, &counted);
	mpic_put_sample_thread(out, 3);
	mpic_put_sample_still(out);
	mpic_put_sample_started(out, 70, started, 2);
	mpic_put_sample_others(out, 5);
}

static int read_all(const void *payload, size_t len_bytes, uint32_t *ret_items)
{
	struct mpic_sample s;
	struct mpic_sample_reader r;
	struct mpic_sample_item item;
	int more = mpic_sample_begin(cursor_over(payload, len_bytes), &s, &r);
	*ret_items = 0;
	while (more >= 0 && (more = mpic_sample_next(&r, &item)) == 1) {
		cr_assert(item.process < MPIC_PROCESSES_MAX && item.thread < MPIC_THREADS_MAX);
		cr_assert(item.type != MPIC_SAMPLE_TOTAL || item.sig < MPIC_SIGS_MAX);
		cr_assert(item.type != MPIC_SAMPLE_OPEN || item.nwords <= MPIC_SAMPLE_WORDS_MAX);
		++*ret_items;
	}
	return more;
}

Test(mpic_sample, survives_the_round_trip)
{
	_cleanup_buf_ struct buf out = {0};
	struct mpic_sample s;
	struct mpic_sample_reader r;
	struct mpic_sample_item i;
	put_all(&out);
	cr_assert_eq(mpic_sample_begin(cursor_over(out.data, out.len_bytes), &s, &r), 0);
	cr_assert(s.tick == 77 && s.monotonic_ns == 5 && s.realtime_ns == -6 && s.gap_ns == 1000000000 && s.whole);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_MEMORY);
	cr_assert(i.used_bytes == 1ull << 33 && i.limit_bytes == UINT64_MAX);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_PROCESS && i.process == 3);
	cr_assert(i.state == SAMPLE_LOST && i.resident_bytes == 4096);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_THREAD && i.process == 3 && i.thread == 2);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_TOTAL);
	cr_assert(i.sig == 7 && i.calls == 1 && i.ticks == 2);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.sig == 8 && i.calls == UINT64_MAX && i.ticks == 4);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_OPEN && i.age_ticks == 99);
	cr_assert(i.nwords == 3 && i.words[1] == UINT64_MAX && i.words[2] == 0);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_SYSTEM);
	cr_assert_eq(memcmp(&i.system, &used, sizeof(used)), 0);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_COUNTERS && i.thread == 2);
	cr_assert_eq(memcmp(&i.counters, &counted, sizeof(counted)), 0);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_THREAD && i.thread == 3);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_STILL && i.thread == 3);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_STARTED && i.next_serial == 70);
	cr_assert(i.nstarted == 2 && i.started[0] == 7 && i.started[1] == MPIC_SIGS_MAX - 1);
	cr_assert(mpic_sample_next(&r, &i) == 1 && i.type == MPIC_SAMPLE_OTHERS && i.process == 3 && i.others == 5);
	cr_assert_eq(mpic_sample_next(&r, &i), 0);
}

/* The last record ends there, or it is said that it does not. */
Test(mpic_sample, cut_anywhere_has_fewer_records_or_is_refused)
{
	_cleanup_buf_ struct buf out = {0};
	uint32_t all, items;
	unsigned refused = 0;
	put_all(&out);
	cr_assert_eq(read_all(out.data, out.len_bytes, &all), 0);
	for (size_t len = 0; len < out.len_bytes; len++) {
		uint8_t *copy = malloc(len + 1); /* so that a reader that goes further is seen */
		memcpy(copy, out.data, len);
		int more = read_all(copy, len, &items);
		cr_expect(more == 0 || more == -EBADMSG);
		cr_expect_lt(items, all);
		refused += more < 0;
		free(copy);
	}
	cr_assert_gt(refused, out.len_bytes / 2);
}

Test(mpic_sample, any_byte_may_be_another)
{
	_cleanup_buf_ struct buf out = {0};
	uint32_t items;
	put_all(&out);
	for (size_t at = 0; at < out.len_bytes; at++)
		for (unsigned value = 0; value < 256; value++) {
			uint8_t was = out.data[at];
			out.data[at] = (uint8_t)value;
			int more = read_all(out.data, out.len_bytes, &items);
			cr_assert(more == 0 || more == -EBADMSG);
			out.data[at] = was;
		}
}

Test(mpic_sample, system_records_without_the_state_are_read)
{
	_cleanup_buf_ struct buf out = {0};
	struct mpic_sample s;
	struct mpic_sample_reader r;
	struct mpic_sample_item i = {.system = {.run_state = 'R', .involuntary = 9}};
	mpic_put_sample(&out, &head);
	mpic_put_sample_process(&out, 0, SAMPLE_RUNNING, 0);
	mpic_put_sample_thread(&out, 0);
	buf_varint(&out, MPIC_SAMPLE_SYSTEM);
	buf_varint(&out, 6);
	buf_bytes(&out, "\1\2\3\4\5\6", 6);
	cr_assert_eq(mpic_sample_begin(cursor_over(out.data, out.len_bytes), &s, &r), 0);
	cr_assert(mpic_sample_next(&r, &i) == 1 && mpic_sample_next(&r, &i) == 1 && mpic_sample_next(&r, &i) == 1);
	cr_expect(i.system.cpu == 6 && i.system.run_state == 0 && i.system.involuntary == 0);
}

Test(mpic_sample, a_record_of_an_unknown_type_is_passed_over)
{
	_cleanup_buf_ struct buf out = {0};
	uint32_t items;
	mpic_put_sample(&out, &head);
	buf_varint(&out, 4711);
	buf_varint(&out, 3);
	buf_bytes(&out, "abc", 3);
	mpic_put_sample_process(&out, 0, SAMPLE_RUNNING, 0);
	cr_assert_eq(read_all(out.data, out.len_bytes, &items), 0);
	cr_assert_eq(items, 1);
}

Test(mpic_sample, what_is_of_no_thread_is_refused)
{
	_cleanup_buf_ struct buf total = {0}, thread = {0};
	uint32_t items;
	mpic_put_sample(&total, &head);
	mpic_put_sample_process(&total, 0, SAMPLE_RUNNING, 0);
	mpic_put_sample_total(&total, 0, 0, 1, 1);
	cr_assert_eq(read_all(total.data, total.len_bytes, &items), -EBADMSG);
	mpic_put_sample(&thread, &head);
	mpic_put_sample_thread(&thread, 0);
	cr_assert_eq(read_all(thread.data, thread.len_bytes, &items), -EBADMSG);
}

Test(mpic_sample, one_signature_or_word_too_many_is_refused)
{
	_cleanup_buf_ struct buf out = {0};
	uint32_t items;
	mpic_put_sample(&out, &head);
	mpic_put_sample_process(&out, 0, SAMPLE_RUNNING, 0);
	mpic_put_sample_thread(&out, 0);
	mpic_put_sample_total(&out, 0, MPIC_SIGS_MAX - 1, 1, 1);
	size_t good = out.len_bytes;
	cr_assert_eq(read_all(out.data, out.len_bytes, &items), 0);
	mpic_put_sample_total(&out, MPIC_SIGS_MAX, MPIC_SIGS_MAX, 1, 1);
	cr_assert_eq(read_all(out.data, out.len_bytes, &items), -EBADMSG);
	out.len_bytes = good;
	buf_varint(&out, MPIC_SAMPLE_OPEN);
	buf_varint(&out, 2 + MPIC_SAMPLE_WORDS_MAX + 1);
	for (unsigned i = 0; i < 2 + MPIC_SAMPLE_WORDS_MAX + 1; i++)
		buf_varint(&out, 1);
	cr_assert_eq(read_all(out.data, out.len_bytes, &items), -EBADMSG);
}
