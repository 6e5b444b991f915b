/* mpix_top.c - which messages stand for all where not all can be shown. */
#include "format/mpix_reader.h"
#include "mpix_trace.h"

#include <criterion/criterion.h>
#include <inttypes.h>

TestSuite(mpix_top, .init = make_directory, .fini = remove_directory);

#define EVENTS 3000u
#define MANY 2000u /* in the first window, from rank 0 */
#define FEW 600u   /* in the second, from rank 1: calls take half of the time that the run has */

static struct plain_trace *halves(struct plain_link *links)
{
	struct trace_shape shape = {.ranks = 2, .events = EVENTS, .windows = 4, .runtime_ns = 1000000000};
	struct plain_trace *t = trace_make(&shape);
	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t i = 0; i < t->nsigs[r]; i++)
			((struct mpix_signature *)t->sigs[r])[i].message_bytes = 4096;
	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t i = 0; i < t->lanes[r].n; i++)
			t->lanes[r].events[i].bytes = PLAIN_SIG_BYTES;
	for (uint32_t i = 0; i < MANY + FEW; i++) {
		uint32_t from = i < MANY ? 0 : 1, third = t->lanes[0].n / 3, base = from * 2 * third;
		links[i] = (struct plain_link){{1 - from, base + i % third},
					       {1 - from, PLAIN_NONE},
					       {from, base + i * 7 % third},
					       {from, PLAIN_NONE},
					       MPIX_OF_START};
	}
	t->links = links;
	t->nlinks = MANY + FEW;
	return t;
}

/* Shown of all: how many, and how many of them rank 0 sent. */
static uint32_t shown(const char *path, uint32_t *ret_from_0)
{
	struct error e = {{0}};
	struct mpix_file *f;
	uint8_t *raw;
	uint64_t n = 0;
	struct cursor columns[MPIX_MESSAGE_COLUMNS];
	struct mpix_message m;
	int64_t clock = 0;
	cr_assert_eq(mpix_open(path, &f, &e), 0, "%s", e.text);
	const struct mpix_entry *x = mpix_find(f, MPIX_TOP, 0, 0);
	cr_assert_not_null(x);
	cr_assert_eq(mpix_read_chunk(f, x, &raw, &e), 0, "%s", e.text);
	cr_assert_eq(x->records, MANY + FEW);
	struct cursor c = cursor_over(raw, x->raw_bytes);
	cr_assert_eq(rd_varint(&c, &n), 0);
	cr_assert_eq(mpix_split_columns(&c, columns, MPIX_MESSAGE_COLUMNS), 0);
	*ret_from_0 = 0;
	for (uint64_t i = 0; i < n; i++) {
		int64_t before = clock;
		cr_assert_eq(mpix_get_message(columns, &m, &clock), 0);
		cr_assert_geq(clock, before, "in the order of their sends");
		cr_assert_eq(m.bytes, 4096);
		*ret_from_0 += m.src == 0;
	}
	free(raw);
	mpix_close(f);
	return (uint32_t)n;
}

/* Else the busiest part of a run would be the one that is not seen. */
Test(mpix_top, of_messages_of_one_size_each_is_as_likely_to_be_shown)
{
	struct plain_link *links = calloc(MANY + FEW, sizeof(*links));
	struct plain_trace *t = halves(links);
	struct error e = {{0}};
	uint32_t from_0;
	cr_assert_eq(plain_write(path_of("t.mpix"), t, "{}", &e), 0, "%s", e.text);
	uint32_t n = shown(path_of("t.mpix"), &from_0);
	cr_assert_eq(n, MPIX_TOP_RECORDS);
	cr_assert(from_0 > n * 65 / 100 && from_0 < n * 88 / 100, "%u of %u are of the %u of %u", from_0, n, MANY,
		  MANY + FEW);
	trace_done(t);
	free(links);
}

/* Between places: how many messages and bytes of the one tile that all are in at last. */
static void sum_flows(const char *path, uint64_t sums[2][2][2])
{
	struct error e = {{0}};
	struct mpix_file *f;
	uint8_t *raw;
	uint64_t n = 0, row[4];
	cr_assert_eq(mpix_open(path, &f, &e), 0, "%s", e.text);
	const struct mpix_entry *x = mpix_find(f, MPIX_FLOW, 0, 0);
	cr_assert_not_null(x);
	cr_assert_eq(mpix_read_chunk(f, x, &raw, &e), 0, "%s", e.text);
	struct cursor c = cursor_over(raw, x->raw_bytes);
	cr_assert_eq(rd_varint(&c, &n), 0);
	cr_assert_eq(n, x->records);
	while (n-- > 0) {
		for (int i = 0; i < 4; i++)
			cr_assert_eq(rd_varint(&c, &row[i]), 0);
		cr_assert(row[0] < 2 && row[1] < 2);
		sums[row[0]][row[1]][0] += row[2];
		sums[row[0]][row[1]][1] += row[3];
	}
	free(raw);
	mpix_close(f);
}

/* How fine the finest tiles are follows from how many events are expected; the coarsest is made of them. */
Test(mpix_top, sums_between_places_are_those_of_all_messages_however_fine_the_tiles_were)
{
	for (uint64_t expected = 1000; expected < 100000000; expected *= 8) {
		struct plain_link *links = calloc(MANY + FEW, sizeof(*links));
		struct plain_trace *t = halves(links);
		struct error e = {{0}};
		uint64_t sums[2][2][2] = {{{0}}};
		uint32_t from_0;
		t->info.events_expected = expected;
		cr_assert_eq(plain_write(path_of("t.mpix"), t, "{}", &e), 0, "%s", e.text);
		sum_flows(path_of("t.mpix"), sums);
		cr_assert_eq(sums[0][1][0], MANY, "of %lu: %lu", expected, sums[0][1][0]);
		cr_assert_eq(sums[0][1][1], MANY * 4096ull);
		cr_assert_eq(sums[1][0][0], FEW);
		cr_assert_eq(sums[1][0][1], FEW * 4096ull);
		cr_assert_eq(sums[0][0][0] + sums[1][1][0], 0);
		cr_assert_eq(shown(path_of("t.mpix"), &from_0), MPIX_TOP_RECORDS);
		trace_done(t);
		free(links);
	}
}
