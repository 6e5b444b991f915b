/* mpix_excerpt.c - a part of a file: the bytes of some places are enough to read these places, and say where they are
 * not. */
#include "format/mpix_excerpt.h"
#include "tests/unit/mpix_trace.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 150u /* several groups */
#define WINDOWS 8u
#define RUNTIME 80000000

TestSuite(mpix_excerpt, .init = make_directory, .fini = remove_directory);

static struct mpix_file *whole(uint32_t links)
{
	struct trace_shape shape = {.ranks = RANKS,
				    .events = 40,
				    .links = links,
				    .waits = links,
				    .windows = WINDOWS,
				    .runtime_ns = RUNTIME};
	struct plain_trace *t = trace_make(&shape);
	struct mpix_file *f;
	struct error e = {{0}};
	cr_assert_eq(plain_write(path_of("all.mpix"), t, "{}", &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(path_of("all.mpix"), &f, &e), 0, "%s", e.text);
	trace_done(t);
	return f;
}

/* The file with zeros where nothing was chosen; how many bytes were. */
static struct mpix_file *part_of(const struct mpix_excerpt *x, size_t *ret_bytes)
{
	struct buf all = slurp(path_of("all.mpix"));
	_cleanup_buf_ struct buf part = {0};
	struct mpix_bytes *ranges;
	struct mpix_file *f;
	struct error e = {{0}};
	size_t n, at = 0;
	uint8_t *holes = calloc(all.len_bytes, 1);
	cr_assert_eq(mpix_excerpt_read(x, &part, &ranges, &n), 0);
	for (size_t i = 0; i < n; i++) {
		cr_assert(i == 0 || ranges[i].offset > ranges[i - 1].offset + ranges[i - 1].bytes, "joined, ascending");
		cr_assert_leq(ranges[i].offset + ranges[i].bytes, all.len_bytes);
		memcpy(holes + ranges[i].offset, part.data + at, ranges[i].bytes);
		at += ranges[i].bytes;
	}
	cr_assert_eq(at, part.len_bytes);
	*ret_bytes = at;
	spill(path_of("part.mpix"), holes, all.len_bytes);
	cr_assert_eq(mpix_open(path_of("part.mpix"), &f, &e), 0, "%s", e.text);
	free(ranges);
	free(holes);
	buf_done(&all);
	return f;
}

static size_t bytes_of(const char *name)
{
	struct buf all = slurp(path_of(name));
	size_t bytes = all.len_bytes;
	buf_done(&all);
	return bytes;
}

static int add_event(void *context, const struct mpix_event *event)
{
	buf_u64(context, (uint64_t)event->start_ns);
	buf_u64(context, (uint64_t)event->end_ns);
	buf_u64(context, event->bytes);
	return 0;
}

static int add_link(void *context, const struct mpix_link *link)
{
	buf_u64(context, (uint64_t)link->message.send_start_ns);
	buf_u64(context, (uint64_t)link->message.recv_end_ns);
	return 0;
}

/* What a rank does in an interval; failed: it cannot be read. */
static struct buf calls_in(struct mpix_file *f, uint32_t rank, int64_t from_ns, int64_t to_ns)
{
	struct buf b = {0};
	struct error e;
	b.failed = mpix_each_event(f, rank, from_ns, to_ns, add_event, &b, &e) < 0;
	return b;
}

static bool same_calls(struct mpix_file *f, struct mpix_file *part, uint32_t rank, int64_t from_ns, int64_t to_ns)
{
	struct buf a = calls_in(f, rank, from_ns, to_ns), b = calls_in(part, rank, from_ns, to_ns);
	bool same = !b.failed && a.len_bytes == b.len_bytes &&
		    (a.len_bytes == 0 || memcmp(a.data, b.data, a.len_bytes) == 0);
	cr_assert_not(a.failed);
	buf_done(&a);
	buf_done(&b);
	return same;
}

Test(mpix_excerpt, a_place_that_is_in_it_reads_as_in_the_file_and_others_say_that_they_are_not)
{
	struct mpix_file *f = whole(0), *part; /* waits would be for anybody at any time */
	struct mpix_excerpt *x;
	size_t bytes;
	int64_t from = mpix_window_start(f, 4), to = mpix_window_start(f, 5) - 1;
	uint32_t first, end;
	mpix_group_ranks(f, 1, &first, &end);
	cr_assert_eq(mpix_excerpt_new(f, 1 << 20, &x), 0);
	cr_assert(mpix_excerpt_add(x, from, to, first, end - 1));
	part = part_of(x, &bytes);
	cr_expect_lt(bytes, bytes_of("all.mpix"));
	for (uint32_t rank = first; rank < end; rank++)
		cr_expect(same_calls(f, part, rank, from + 1, to), "rank %u", rank);
	cr_expect_not(same_calls(f, part, 0, from + 1, to), "another group");
	cr_expect_not(same_calls(f, part, first, mpix_window_start(f, 6), mpix_window_start(f, 7)), "another window");
	mpix_close(part);
	mpix_excerpt_free(x);
	mpix_close(f);
}

Test(mpix_excerpt, with_all_places_it_is_the_file)
{
	struct mpix_file *f = whole(900), *part;
	struct mpix_excerpt *x;
	size_t bytes;
	struct buf a = {0}, b = {0};
	struct error e;
	cr_assert_eq(mpix_excerpt_new(f, 1 << 26, &x), 0);
	mpix_excerpt_fill(x, RUNTIME / 2);
	part = part_of(x, &bytes);
	cr_expect_eq(bytes, bytes_of("all.mpix"));
	cr_assert_eq(mpix_each_message(f, INT64_MIN, INT64_MAX, add_link, &a, &e), 0);
	cr_assert_eq(mpix_each_message(part, INT64_MIN, INT64_MAX, add_link, &b, &e), 0, "%s", e.text);
	cr_expect_gt(a.len_bytes, 0);
	cr_expect(a.len_bytes == b.len_bytes && memcmp(a.data, b.data, a.len_bytes) == 0);
	buf_done(&a);
	buf_done(&b);
	mpix_close(part);
	mpix_excerpt_free(x);
	mpix_close(f);
}

Test(mpix_excerpt, however_little_room_there_is_it_takes_no_more)
{
	struct mpix_file *f = whole(900);
	struct mpix_excerpt *x;
	struct buf all = slurp(path_of("all.mpix"));
	size_t bytes, taken = 0, refused = 0;
	for (size_t room = 0; room < all.len_bytes; room += 97) {
		int rc = mpix_excerpt_new(f, room, &x);
		cr_assert(rc == 0 || (rc == -E2BIG && taken == 0), "%zu: %d", room, rc);
		refused += rc < 0;
		if (rc < 0)
			continue;
		bool fits = mpix_excerpt_add(x, 0, RUNTIME, 0, UINT32_MAX);
		if (room % 2 == 0)
			mpix_excerpt_fill(x, (int64_t)(room * 31 % RUNTIME));
		mpix_close(part_of(x, &bytes));
		cr_assert_leq(bytes, room);
		cr_assert_not(fits, "the whole run in %zu of %zu bytes", room, all.len_bytes);
		taken++;
		mpix_excerpt_free(x);
	}
	cr_expect(taken > 5 && refused > 5, "%zu, %zu", taken, refused);
	buf_done(&all);
	mpix_close(f);
}

Test(mpix_excerpt, the_first_version_has_none)
{
	struct mpix_file *f;
	struct mpix_excerpt *x;
	struct error e = {{0}};
	char path[4096];
	snprintf(path, sizeof(path), "%s/version_1.mpix", getenv("MPITRACE_CORPUS"));
	cr_assert_eq(mpix_open(path, &f, &e), 0, "%s", e.text);
	cr_expect_eq(mpix_excerpt_new(f, 1 << 26, &x), -EINVAL);
	mpix_close(f);
}
