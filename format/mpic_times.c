/* mpic_times.c - gaps and durations of calls, coded close to their entropy.
 *
 * In: times of events that are alike (of one signature, or of a few).  Out: columns of an event block.
 *
 * Times are what a trace is made of, and they are noise: all that can be saved is what their distribution tells. So a
 * table divides the values that occur into ranges, each of a power of two of values. A time is the symbol of its
 * range, which pack_deflate_parts() gives a Huffman code, and its place in the range, stored as it is. Where few values
 * repeat a range is one value; where a thousand values are equally likely they are one range and ten bits. Which is
 * cheapest is estimated from what occurs, so nothing here knows how any processor's clock ticks, but for one thing:
 *
 * Many clocks advance in steps (10 ns on AMD Zen: 24.5 ticks at 2.45 GHz, read as 24 or 25; 2 ticks on some of
 * Intel's). Then times, modulo some period, have a few residues only, and what is divided into ranges is not the time
 * but its number among the times that are possible. Times that miss the steps stand by themselves. */
#include "format/mpic_times.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_TICKS_MAX (1u << 30)
#define NO_NUMBER UINT32_MAX
#define RESIDUE_NONE 0xff

/* Numbers are counted in leaves: those below 256 each by itself, then 128 leaves an octave. */
#define LEAF_BITS 7
#define LEAVES ((33u - LEAF_BITS) << LEAF_BITS)
#define OCTAVES (32u - LEAF_BITS)
#define USED_BITS 3

#define TABLE_ENTRY_BITS 14.0f /* what a range costs in the table and in Huffman's */
#define JOINED_BITS_MAX 6.0f   /* where gap and duration take more, joining them gains nothing */
#define JOINED_TRIES 3
#define OTHER_BITS 40.0f /* of a number that is in no range, about */

struct range {
	uint32_t first;
	uint8_t bits; /* it has 1 << bits numbers */
};

struct table {
	struct range ranges[LEAVES]; /* while they are chosen there may be more than MPIC_RANGES_MAX */
	uint32_t n;
	uint32_t events[MPIC_RANGES_MAX + 1]; /* of each symbol */
};

struct column {
	struct table table;
	uint32_t *numbers;
	uint8_t *symbols;
	size_t cap;
};

struct mpic_time_coder {
	struct column columns[2]; /* gaps, durations */
	uint32_t counts[LEAVES];
	bool used[LEAVES >> USED_BITS]; /* of so many leaves: any is not 0 */
	uint8_t symbol_of[LEAVES];
	float entry_bits;
	uint32_t events;
	uint32_t octaves; /* bit set: there are numbers in it */
	uint32_t period, nresidues;
	uint8_t residues[MPIC_RESIDUES_MAX];
	uint8_t residue_index[MPIC_PERIOD_MAX];
	uint64_t pending; /* bits not yet in the column */
	unsigned npending;
};

/* ---- the steps of the clock ---- */

#define SAMPLE_VALUES_MAX 128u
#define VALUES_PER_RESIDUE 10u /* so many different ones, or it may be chance */
#define CHANCE_BITS 30.0f      /* or so improbable: of few values that lie on wide steps */
#define MISSES_SHARE 32u       /* one time in so many may miss the steps */

/* Different values of a sample, and how often each is there. */
struct sample {
	uint64_t values[SAMPLE_VALUES_MAX];
	uint32_t times[SAMPLE_VALUES_MAX], n, all;
};

static void take_sample(struct sample *s, const uint64_t *times, uint32_t n)
{
	uint8_t slots[4 * SAMPLE_VALUES_MAX] = {0}; /* index in values, from 1 */
	s->n = s->all = 0;
	for (uint32_t i = 0; i < n && s->n < SAMPLE_VALUES_MAX; i++) {
		uint32_t slot = (uint32_t)(times[i] * 0x9e3779b97f4a7c15ull >> 32) % sizeof(slots);
		while (slots[slot] != 0 && s->values[slots[slot] - 1] != times[i])
			slot = (slot + 1) % sizeof(slots);
		if (slots[slot] == 0) {
			s->values[s->n] = times[i];
			s->times[s->n] = 0;
			slots[slot] = (uint8_t)++s->n;
		}
		s->times[slots[slot] - 1]++;
		s->all++;
	}
}

/* How many residues modulo period nearly all times have, and which; more than MPIC_RESIDUES_MAX: too many. */
static uint32_t residues_of(const struct sample *s, uint32_t period, uint8_t *ret_residues)
{
	uint32_t times[MPIC_PERIOD_MAX] = {0}, nseen = 0, covered = 0, chosen = 0;
	uint8_t seen[4 * MPIC_RESIDUES_MAX];
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t residue = (uint32_t)(s->values[i] % period);
		if (times[residue] == 0) {
			if (nseen == sizeof(seen))
				return MPIC_RESIDUES_MAX + 1;
			seen[nseen++] = (uint8_t)residue;
		}
		times[residue] += s->times[i];
	}
	while (covered < s->all - s->all / MISSES_SHARE) {
		uint32_t most = 0;
		for (uint32_t i = 1; i < nseen; i++)
			most = times[seen[i]] > times[seen[most]] ? i : most;
		if (chosen == MPIC_RESIDUES_MAX)
			return MPIC_RESIDUES_MAX + 1;
		ret_residues[chosen++] = seen[most];
		covered += times[seen[most]];
		times[seen[most]] = 0;
	}
	return chosen;
}

/* log2 within 0.01, without libm: a parabola between powers of two. */
static float log2_of(uint32_t x)
{
	unsigned whole = 31 - (unsigned)__builtin_clz(x);
	float part = (float)x / (float)(1u << whole) - 1;
	return (float)whole + part * (1.34f - 0.34f * part);
}

/* Would n different values have so few residues by chance? */
static bool may_be_chance(uint32_t n, uint32_t nresidues, uint32_t period)
{
	float bits = log2_of(period) - log2_of(nresidues); /* of each value but the first of a residue */
	return n < nresidues * VALUES_PER_RESIDUE && (n < nresidues || (float)(n - nresidues) * bits < CHANCE_BITS);
}

static void find_steps(struct mpic_time_coder *c, const uint64_t *times, uint32_t n)
{
	struct sample sample;
	uint8_t residues[MPIC_RESIDUES_MAX];
	take_sample(&sample, times, n);
	c->period = c->nresidues = 1;
	c->residues[0] = 0;
	for (uint32_t period = 2; sample.n > MPIC_RESIDUES_MAX && period <= MPIC_PERIOD_MAX; period++) {
		uint32_t nresidues = residues_of(&sample, period, residues);
		if (nresidues > MPIC_RESIDUES_MAX || may_be_chance(sample.n, nresidues, period) ||
		    nresidues * c->period >= c->nresidues * period)
			continue;
		c->period = period;
		c->nresidues = nresidues;
		memcpy(c->residues, residues, sizeof(residues));
	}
	memset(c->residue_index, RESIDUE_NONE, sizeof(c->residue_index));
	for (uint32_t i = 0; i < c->nresidues; i++)
		c->residue_index[c->residues[i]] = (uint8_t)i;
}

static uint32_t number_of(const struct mpic_time_coder *c, uint64_t ticks)
{
	if (ticks >= NUMBER_TICKS_MAX) /* seldom; what follows is arithmetic in 32 bits */
		return NO_NUMBER;
	uint32_t periods = (uint32_t)ticks / c->period;
	uint8_t index = c->residue_index[(uint32_t)ticks - periods * c->period];
	return index == RESIDUE_NONE ? NO_NUMBER : periods * c->nresidues + index;
}

/* ---- choosing ranges ---- */

static uint32_t leaf_of(uint32_t number)
{
	if (number < 2u << LEAF_BITS)
		return number;
	unsigned octave = 31 - LEAF_BITS - (unsigned)__builtin_clz(number);
	return (octave << LEAF_BITS) + (number >> octave);
}

static unsigned octave_of(uint32_t leaf)
{
	return leaf < 2u << LEAF_BITS ? 0 : (leaf >> LEAF_BITS) - 1;
}

static uint32_t first_of(uint32_t leaf)
{
	unsigned octave = octave_of(leaf);
	return (leaf - (octave << LEAF_BITS)) << octave;
}

/* Bits of one symbol, whatever a Huffman code cannot reach. */
static float symbol_bits(uint32_t events, uint32_t all)
{
	return log2_of(all) - log2_of(events);
}

/* Append to t the cheapest ranges over 1 << bits leaves from leaf on: one, or those of both halves. What they cost in
 * bits; *ret_events = how many events they hold. */
static float cover(struct mpic_time_coder *c, struct table *t, uint32_t leaf, unsigned bits, uint32_t *ret_events)
{
	uint32_t mark = t->n, left = 0, right = 0;
	float parts = 0;
	if (bits == USED_BITS && !c->used[leaf >> USED_BITS]) {
		*ret_events = 0;
		return 0;
	}
	if (bits > 0) {
		parts = cover(c, t, leaf, bits - 1, &left) + cover(c, t, leaf + (1u << (bits - 1)), bits - 1, &right);
	} else {
		left = c->counts[leaf];
	}
	uint32_t events = *ret_events = left + right;
	if (events == 0)
		return 0;
	unsigned range_bits = bits + octave_of(leaf);
	float one = (float)events * (symbol_bits(events, c->events) + (float)range_bits) + c->entry_bits;
	if (bits > 0 && one > parts)
		return parts;
	t->ranges[mark] = (struct range){first_of(leaf), (uint8_t)range_bits};
	t->n = mark + 1;
	return one;
}

static void count_leaves(struct mpic_time_coder *c, const uint32_t *numbers)
{
	memset(c->counts, 0, sizeof(c->counts));
	memset(c->used, 0, sizeof(c->used));
	c->octaves = 0;
	for (uint32_t i = 0; i < c->events; i++) {
		if (numbers[i] == NO_NUMBER)
			continue;
		uint32_t leaf = leaf_of(numbers[i]);
		c->counts[leaf]++;
		c->used[leaf >> USED_BITS] = true;
		c->octaves |= 1u << octave_of(leaf);
	}
}

/* What they take, in bits, but for what is in none. */
static float choose_ranges(struct mpic_time_coder *c, struct column *column, float entry_bits)
{
	struct table *t = &column->table;
	uint32_t events;
	float bits;
	count_leaves(c, column->numbers);
	c->entry_bits = entry_bits;
	do { /* an octave is one range at last, so they become few enough */
		t->n = 0;
		bits = 0;
		for (unsigned octave = 0; octave < OCTAVES; octave++)
			if ((c->octaves >> octave & 1) != 0)
				bits += cover(c, t, octave == 0 ? 0 : (octave + 1) << LEAF_BITS,
					      LEAF_BITS + (octave == 0), &events);
		c->entry_bits *= 4;
	} while (t->n > MPIC_RANGES_MAX);
	return bits;
}

static void find_symbols(struct mpic_time_coder *c, struct column *column)
{
	struct table *t = &column->table;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t leaf = leaf_of(t->ranges[i].first);
		memset(c->symbol_of + leaf, (int)i, (size_t)1 << (t->ranges[i].bits - octave_of(leaf)));
	}
	memset(t->events, 0, sizeof(t->events));
	for (uint32_t i = 0; i < c->events; i++) {
		uint32_t number = column->numbers[i];
		uint32_t symbol = number == NO_NUMBER ? t->n : c->symbol_of[leaf_of(number)];
		column->symbols[i] = (uint8_t)symbol;
		t->events[symbol]++;
	}
}

/* ---- writing ---- */

/* What Huffman coding of symbols takes: no symbol is shorter than a bit. */
static float coded_bits(const uint32_t *events, uint32_t nsymbols, uint32_t all)
{
	float bits = 0;
	for (uint32_t i = 0; i < nsymbols; i++) {
		if (events[i] == 0)
			continue;
		float one = symbol_bits(events[i], all);
		bits += (float)events[i] * (one < 1 ? 1 : one) + TABLE_ENTRY_BITS / 2;
	}
	return bits;
}

static float place_bits(const struct table *t)
{
	float bits = 0;
	for (uint32_t i = 0; i < t->n; i++)
		bits += (float)t->events[i] * (float)t->ranges[i].bits;
	return bits;
}

/* Ranges and symbols of both columns; what the places take, in bits. */
static float choose_both(struct mpic_time_coder *c, float entry_bits)
{
	float bits = 0;
	for (int k = 0; k < 2; k++) {
		choose_ranges(c, &c->columns[k], entry_bits);
		find_symbols(c, &c->columns[k]);
		bits += place_bits(&c->columns[k].table);
	}
	return bits;
}

static bool can_join(const struct mpic_time_coder *c)
{
	return (c->columns[0].table.n + 1) * (c->columns[1].table.n + 1) <= MPIC_RANGES_MAX + 1;
}

static float joined_bits(const struct mpic_time_coder *c)
{
	const struct column *gaps = &c->columns[0], *durations = &c->columns[1];
	uint32_t ngaps = gaps->table.n + 1, events[MPIC_RANGES_MAX + 1] = {0};
	for (uint32_t i = 0; i < c->events; i++)
		events[gaps->symbols[i] + ngaps * durations->symbols[i]]++;
	return coded_bits(events, MPIC_RANGES_MAX + 1, c->events);
}

/* Choose the ranges, and whether one symbol is both times of an event: where they hardly vary that takes less than a
 * bit each. There must be few ranges then, so rare times share wide ones. True: joined. */
static bool choose(struct mpic_time_coder *c)
{
	const struct table *gaps = &c->columns[0].table, *durations = &c->columns[1].table;
	float places = choose_both(c, TABLE_ENTRY_BITS),
	      coded = coded_bits(gaps->events, gaps->n + 1, c->events) +
		      coded_bits(durations->events, durations->n + 1, c->events);
	if (coded > JOINED_BITS_MAX * (float)c->events)
		return false;
	float joined_places = places, entry_bits = TABLE_ENTRY_BITS;
	for (int tries = 0; tries < JOINED_TRIES && !can_join(c); tries++) {
		entry_bits *= 8;
		joined_places = choose_both(c, entry_bits);
	}
	if (can_join(c) && joined_bits(c) + joined_places < coded + places)
		return true;
	if (entry_bits > TABLE_ENTRY_BITS)
		choose_both(c, TABLE_ENTRY_BITS);
	return false;
}

static void put_table(struct buf *out, const struct table *t)
{
	uint32_t end = 0; /* of the range before; wraps behind the last number only */
	buf_varint(out, t->n);
	for (uint32_t i = 0; i < t->n; i++) {
		buf_varint(out, t->ranges[i].first - end);
		buf_u8(out, t->ranges[i].bits);
		end = t->ranges[i].first + (uint32_t)(1ull << t->ranges[i].bits);
	}
}

/* Places in ranges, and what is in none. */
static int put_rest(struct mpic_time_coder *c, const struct column *column, const uint64_t *times,
		    struct mpic_time_columns *out)
{
	const struct table *t = &column->table;
	uint8_t *to = buf_reserve(&out->bits, (size_t)c->events * sizeof(uint32_t) + sizeof(uint64_t));
	if (to == NULL)
		return -ENOMEM;
	uint8_t *begin = to;
	for (uint32_t i = 0; i < c->events; i++) {
		uint32_t symbol = column->symbols[i];
		if (symbol == t->n) {
			buf_varint(&out->others, times[i]);
			continue;
		}
		const struct range *r = &t->ranges[symbol];
		c->pending |= (uint64_t)(column->numbers[i] - r->first) << c->npending;
		c->npending += r->bits;
		if (c->npending >= 32) {
			uint32_t word = (uint32_t)c->pending;
			memcpy(to, &word, sizeof(word));
			to += sizeof(word);
			c->pending >>= 32;
			c->npending -= 32;
		}
	}
	out->bits.len_bytes += (size_t)(to - begin);
	return 0;
}

static void put_symbols(const struct mpic_time_coder *c, bool joined, struct buf *out)
{
	const uint8_t *gaps = c->columns[0].symbols, *durations = c->columns[1].symbols;
	uint32_t ngaps = c->columns[0].table.n + 1;
	uint8_t *to = joined ? buf_reserve(out, c->events) : NULL;
	if (!joined) {
		buf_bytes(out, gaps, c->events);
		buf_bytes(out, durations, c->events);
	} else if (to != NULL) {
		for (uint32_t i = 0; i < c->events; i++)
			to[i] = (uint8_t)(gaps[i] + ngaps * durations[i]);
		out->len_bytes += c->events;
	}
}

static bool make_room(struct column *column, uint32_t n)
{
	if (n <= column->cap)
		return true;
	free(column->numbers);
	free(column->symbols);
	column->numbers = malloc((size_t)n * 2 * sizeof(*column->numbers));
	column->symbols = malloc((size_t)n * 2);
	column->cap = column->numbers != NULL && column->symbols != NULL ? (size_t)n * 2 : 0;
	return column->cap > 0;
}

static void put_steps(const struct mpic_time_coder *c, struct buf *out)
{
	buf_varint(out, c->nresidues);
	for (uint32_t i = 0; i < c->nresidues; i++)
		buf_varint(out, c->residues[i]);
}

struct mpic_time_coder *mpic_times_begin(struct mpic_time_coder *c, const uint64_t *sample, uint32_t nsamples,
					 struct mpic_time_columns *out)
{
	if (c == NULL)
		c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	find_steps(c, sample, nsamples);
	c->pending = 0;
	c->npending = 0;
	out->period = c->period;
	put_steps(c, &out->tables);
	return c;
}

int mpic_times_put(struct mpic_time_coder *c, const uint64_t *gaps, const uint64_t *durations, uint32_t n,
		   struct mpic_time_columns *out)
{
	const uint64_t *const times[2] = {gaps, durations};
	c->events = n;
	for (int k = 0; k < 2; k++) {
		struct column *column = &c->columns[k];
		if (!make_room(column, n))
			return -ENOMEM;
		for (uint32_t i = 0; i < n; i++)
			column->numbers[i] = number_of(c, times[k][i]);
	}
	bool joined = choose(c);
	buf_varint(&out->tables, (uint64_t)n << 1 | joined);
	put_table(&out->tables, &c->columns[0].table);
	put_table(&out->tables, &c->columns[1].table);
	put_symbols(c, joined, &out->symbols);
	return put_rest(c, &c->columns[0], gaps, out) < 0 ? -ENOMEM : put_rest(c, &c->columns[1], durations, out);
}

void mpic_times_end(struct mpic_time_coder *c, struct mpic_time_columns *out)
{
	for (unsigned written = 0; written < c->npending; written += 8)
		buf_u8(&out->bits, (uint8_t)(c->pending >> written));
}

/* Steps and numbers of one column; false without memory. */
static bool begin_numbers(struct mpic_time_coder **coder, const uint64_t *numbers, uint32_t n)
{
	if (*coder == NULL)
		*coder = calloc(1, sizeof(**coder));
	struct mpic_time_coder *c = *coder;
	if (c == NULL || !make_room(&c->columns[0], n))
		return false;
	find_steps(c, numbers, n);
	c->events = n;
	for (uint32_t i = 0; i < n; i++)
		c->columns[0].numbers[i] = number_of(c, numbers[i]);
	return true;
}

float mpic_numbers_bits(struct mpic_time_coder **coder, const uint64_t *numbers, uint32_t n)
{
	if (!begin_numbers(coder, numbers, n))
		return -1;
	struct column *column = &(*coder)->columns[0];
	float bits = choose_ranges(*coder, column, TABLE_ENTRY_BITS);
	for (uint32_t i = 0; i < n; i++)
		bits += column->numbers[i] == NO_NUMBER ? OTHER_BITS : 0;
	return bits;
}

int mpic_numbers_put(struct mpic_time_coder **coder, const uint64_t *numbers, uint32_t n, struct mpic_time_columns *out)
{
	size_t bits_before = out->bits.len_bytes;
	if (!begin_numbers(coder, numbers, n))
		return -ENOMEM;
	struct mpic_time_coder *c = *coder;
	struct column *column = &c->columns[0];
	choose_ranges(c, column, TABLE_ENTRY_BITS);
	find_symbols(c, column);
	bool one = column->table.n == 1 && column->table.events[0] == n;
	buf_varint(&out->tables, c->period);
	put_steps(c, &out->tables);
	put_table(&out->tables, &column->table);
	buf_u8(&out->tables, one);
	if (!one)
		buf_bytes(&out->symbols, column->symbols, n);
	c->pending = 0;
	c->npending = 0;
	if (put_rest(c, column, numbers, out) < 0)
		return -ENOMEM;
	mpic_times_end(c, out);
	buf_varint(&out->tables, out->bits.len_bytes - bits_before);
	return 0;
}

void mpic_times_done(struct mpic_time_coder *c)
{
	for (int k = 0; c != NULL && k < 2; k++) {
		free(c->columns[k].numbers);
		free(c->columns[k].symbols);
	}
	free(c);
}
