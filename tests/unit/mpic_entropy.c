/* mpic_entropy.c - how close to the entropy times and words of events are written, whatever the clock; they are read
 * back. */
#include "format/mpic.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- clocks of several kinds, times drawn from what is given ---- */

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((random_state >> 33) % below);
}

/* About normal: the sum of eight. */
static uint64_t noisy(uint64_t least, uint32_t spread)
{
	uint64_t ticks = least;
	for (int i = 0; i < 8; i++)
		ticks += draw(spread);
	return draw(500) == 0 ? ticks * (2 + draw(100)) : ticks; /* now and then something comes between */
}

static uint64_t intel(void) /* even ticks, noise of some */
{
	return noisy(40, 12) / 2 * 2;
}

static uint64_t exact_clock(void) /* every tick, wide noise */
{
	return noisy(3000, 500);
}

static uint64_t zen(void) /* 10 ns at 2.45 GHz */
{
	return noisy(70, 20) * 2 / 49 * 49 / 2 + draw(2) * (draw(2) ? 1 : 0);
}

static uint64_t quiet(void) /* nearly always the same */
{
	return 26 * (2 + (draw(3) == 0) + (draw(400) == 0 ? draw(300) : 0));
}

static uint64_t lockstep(void) /* few values, far out, on steps of 24.5 ticks */
{
	return (57 + draw(3) + draw(3)) * 49 / 2;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

/* Bytes that an ideal coder takes that knows how often each value occurs. */
static double entropy_bytes(uint64_t *values, uint32_t n)
{
	double bits = 0;
	qsort(values, n, sizeof(*values), by_value);
	for (uint32_t i = 0, run; i < n; i += run) {
		for (run = 1; i + run < n && values[i + run] == values[i];)
			run++;
		bits += run * log2((double)n / run);
	}
	return bits / 8;
}

static void expect_close_to_entropy(const char *name, uint64_t (*ticks)(void), double most)
{
	enum { N = 30000, SIGS = 3 };
	static uint64_t gaps[SIGS][N], durations[SIGS][N];
	uint32_t counts[SIGS] = {0};
	struct mpic_columns columns = {0};
	_cleanup_buf_ struct buf payload = {0}, block = {0};
	random_state = 1;
	mpic_columns_begin(&columns, 0);
	for (uint32_t i = 0; i < N; i++) {
		uint64_t gap = ticks(), duration = ticks() + 26 * 49 * (i % SIGS); /* on everybody's steps */
		uint32_t s = i % SIGS, k = counts[s]++;
		uint64_t enter = columns.clock + (gaps[s][k] = gap), exit_tick = enter + (durations[s][k] = duration);
		mpic_columns_put(&columns, &(struct mpic_event){.sig = s, .enter_tick = enter, .exit_tick = exit_tick});
	}
	mpic_columns_payload(&columns, &payload);
	mpic_columns_done(&columns);
	struct mpic_block b = {.kind = MPIC_EVENTS};
	cr_assert_eq(mpic_append_block(&block, &b, payload.data, payload.len_bytes, 6, NULL), 0);
	double least = 0;
	for (int s = 0; s < SIGS; s++)
		least += entropy_bytes(gaps[s], counts[s]) + entropy_bytes(durations[s], counts[s]);
	double ratio = (double)block.len_bytes / least;
	cr_expect_leq(ratio, most, "%s: %zu bytes, %.2f x the entropy", name, block.len_bytes, ratio);
}

Test(mpic, times_take_little_more_than_their_entropy_whatever_the_clock)
{
	expect_close_to_entropy("steps of 2 ticks, some noise", intel, 1.3);
	expect_close_to_entropy("no steps, much noise", exact_clock, 1.3);
	expect_close_to_entropy("steps of 24.5 ticks", zen, 1.3);
	expect_close_to_entropy("hardly any noise", quiet, 1.3);
	expect_close_to_entropy("a few values far out", lockstep, 1.3);
}

/* ---- words of single events ---- */

#define WORDS_EVENTS 2700 /* in a segment of the ring, about */

/* Words of event i, as pmpi/ writes them of a message that came once; returns what they cannot be told from, in bits:
 * the entropy of what was drawn. */
struct told {
	uint64_t words[8];
	uint32_t n;
};

static double any_size(uint32_t i, struct told *t) /* what is sent comes back */
{
	uint64_t size = 1 + draw(20000);
	(void)i;
	*t = (struct told){{0x60003, 0x7f0012345678, 0x100000003, 0x500000007, size, 0x100000003, 0x500000007, size},
			   8};
	return log2(20000);
}

static double particles(uint32_t i, struct told *t) /* of 56 bytes each, as many more or less */
{
	(void)i;
	*t = (struct told){{0x10001, 0x7f0012345678, 0x100000000 | draw(4), 0x500000007, 56ull * (4096 + draw(512))},
			   5};
	return log2(4) + log2(512);
}

static double random_tags(uint32_t i, struct told *t)
{
	(void)i;
	*t = (struct told){{0x10001, 0x7f0012345678, 0x100000001, 0x500000000 | draw(1 << 15), 8}, 5};
	return 15;
}

static double both(uint32_t i, struct told *t)
{
	(void)i;
	*t = (struct told){{0x10001, 0x7f0012345678, 0x100000001, 0x500000000 | draw(32000), 1 + draw(1000000)}, 5};
	return log2(32000) + log2(1000000);
}

static double drifting(uint32_t i, struct told *t) /* each a little more or less than the one before */
{
	static uint32_t size;
	size = (i == 0 ? 1u << 28 : size) + 64 * draw(256) - 64 * 127;
	*t = (struct told){{0x10001, 0x7f0012345678, 0x100000001, 0x500000007, size}, 5};
	return 8;
}

static double counted_tags(uint32_t i, struct told *t)
{
	*t = (struct told){{0x10001, 0x7f0012345678, 0x100000001, 0x500000000 | (i * 3 + 7), 8}, 5};
	return 0;
}

static double only_a_few(uint32_t i, struct told *t) /* of ever other length */
{
	*t = (struct told){{i, 1ull << 40, draw(1 << 30), UINT64_MAX}, 1 + i % 4};
	return 0;
}

/* The size of a block of such events, or of the same without their words; each way they come back as they were. */
static size_t block_of_words(double (*kind)(uint32_t i, struct told *t), uint32_t n, bool with, double *ret_bits)
{
	struct mpic_columns columns = {0};
	static struct mpic_events it;
	_cleanup_buf_ struct buf payload = {0}, block = {0};
	struct told *told = calloc(n, sizeof(*told));
	struct mpic_event ev;
	uint32_t count;
	*ret_bits = 0;
	random_state = 7;
	mpic_columns_begin(&columns, 0);
	for (uint32_t i = 0; i < n; i++) {
		*ret_bits += kind(i, &told[i]);
		uint64_t enter = columns.clock + 26 * (i % 5);
		mpic_columns_put(&columns, &(struct mpic_event){.sig = 9 + i % 2,
								.enter_tick = enter,
								.exit_tick = enter + 52,
								.extra = told[i].words,
								.nextra = with ? told[i].n : 0});
	}
	mpic_columns_payload(&columns, &payload);
	mpic_columns_done(&columns);
	cr_assert_eq(mpic_append_block(&block, &(struct mpic_block){.kind = MPIC_EVENTS}, payload.data,
				       payload.len_bytes, 6, NULL),
		     0);
	cr_assert_eq(mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &count), 0);
	for (uint32_t i = 0; i < n; i++) {
		cr_assert_eq(mpic_events_next(&it, &ev), 1);
		cr_assert_eq(ev.exit_tick - ev.enter_tick, 52);
		cr_assert_eq(ev.nextra, with ? told[i].n : 0);
		cr_assert(!with || memcmp(ev.extra, told[i].words, ev.nextra * sizeof(uint64_t)) == 0);
	}
	cr_assert_eq(mpic_events_next(&it, &ev), 0);
	mpic_events_done(&it);
	free(told);
	return block.len_bytes;
}

Test(mpic, words_that_come_once_take_little_more_than_their_entropy)
{
	static const struct {
		const char *name;
		double (*kind)(uint32_t i, struct told *t);
		double most; /* by the entropy */
	} kinds[] = {
		{"sizes of 20,000", any_size, 1.1},  {"sizes in steps of 56", particles, 1.1},
		{"tags", random_tags, 1.1},	     {"sizes and tags", both, 1.1},
		{"sizes that drift", drifting, 1.2},
	};
	double bits;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		size_t with = block_of_words(kinds[k].kind, WORDS_EVENTS, true, &bits);
		size_t without = block_of_words(kinds[k].kind, WORDS_EVENTS, false, &bits);
		double ratio = 8 * (double)(with - without) / bits;
		cr_expect_leq(ratio, kinds[k].most, "%s: %.2f bytes an event, %.2f x the entropy", kinds[k].name,
			      (double)(with - without) / WORDS_EVENTS, ratio);
	}
	size_t with = block_of_words(counted_tags, WORDS_EVENTS, true, &bits);
	size_t without = block_of_words(counted_tags, WORDS_EVENTS, false, &bits);
	cr_expect_leq(with - without, 100, "tags that count: %zu bytes for all", with - without);
}

Test(mpic, gives_back_words_of_every_length_and_number)
{
	double bits;
	for (uint32_t n = 1; n < 100; n += 1 + n / 4) {
		block_of_words(only_a_few, n, true, &bits);
		block_of_words(any_size, n, true, &bits);
		block_of_words(drifting, n, true, &bits);
	}
}
