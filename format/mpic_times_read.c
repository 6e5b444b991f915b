/* mpic_times_read.c - reads what mpic_times.c codes; nothing of it is trusted.
 *
 * In: columns of an event block.  Out: gaps and durations of its calls, and other numbers. */
#include "format/mpic_times.h"

#include <stdbool.h>

#define SYMBOL_OTHER 0xfe /* in place of bits */
#define SYMBOL_NONE 0xff

struct meaning {
	uint32_t first;
	uint8_t bits;
};

/* Of the n ranges of a table, and of symbol n. -EBADMSG. */
static int rd_table(struct cursor *c, struct meaning meanings[MPIC_RANGES_MAX + 1], uint32_t *ret_n)
{
	uint64_t n, skip, first = 0;
	uint8_t bits;
	if (rd_varint(c, &n) < 0 || n > MPIC_RANGES_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		if (rd_varint(c, &skip) < 0 || rd_u8(c, &bits) < 0 || skip > UINT32_MAX || bits > MPIC_RANGE_BITS_MAX)
			return -EBADMSG;
		first += skip;
		if (first + (1ull << bits) > 1ull << MPIC_RANGE_BITS_MAX)
			return -EBADMSG;
		meanings[i] = (struct meaning){(uint32_t)first, bits};
		first += 1ull << bits;
	}
	meanings[n] = (struct meaning){0, SYMBOL_OTHER};
	*ret_n = (uint32_t)n;
	return 0;
}

struct reader {
	struct mpic_time_cursors *in;
	uint64_t pending; /* bits taken from in->bits */
	unsigned npending;
	uint32_t nresidues, residues[MPIC_RESIDUES_MAX];
};

static int rd_place(struct reader *r, unsigned bits, uint32_t *ret_place)
{
	uint32_t word;
	uint8_t byte;
	while (r->npending < bits) {
		bool whole = cursor_left(&r->in->bits) >= sizeof(word);
		if (whole && rd_u32(&r->in->bits, &word) == 0)
			r->pending |= (uint64_t)word << r->npending;
		else if (rd_u8(&r->in->bits, &byte) == 0)
			r->pending |= (uint64_t)byte << r->npending;
		else
			return -EBADMSG;
		r->npending += whole ? 32 : 8;
	}
	*ret_place = (uint32_t)(r->pending & ((1ull << bits) - 1));
	r->pending >>= bits;
	r->npending -= bits;
	return 0;
}

/* Every stride-th of ret_times. */
static int rd_column(struct reader *r, const uint8_t *symbols, uint32_t n, const struct meaning meanings[256],
		     uint32_t stride, uint64_t *ret_times)
{
	for (uint32_t i = 0; i < n; i++) {
		struct meaning m = meanings[symbols[i]];
		uint64_t *to = &ret_times[stride * (size_t)i];
		uint32_t place = 0;
		if (m.bits == SYMBOL_OTHER) {
			if (rd_varint(&r->in->others, to) < 0)
				return -EBADMSG;
			continue;
		}
		if (m.bits == SYMBOL_NONE || rd_place(r, m.bits, &place) < 0)
			return -EBADMSG;
		uint32_t number = m.first + place;
		uint32_t periods = r->nresidues == 1 ? number : number / r->nresidues;
		*to = (uint64_t)periods * r->in->period + r->residues[number - periods * r->nresidues];
	}
	return 0;
}

/* Events with one pair of tables. */
static int rd_part(struct reader *r, uint32_t n, bool joined, uint64_t *ret_times)
{
	struct meaning gaps[MPIC_RANGES_MAX + 1], durations[MPIC_RANGES_MAX + 1], of_byte[2][MPIC_RANGES_MAX + 1];
	uint32_t ngaps, ndurations;
	struct span s[2];
	if (rd_table(&r->in->tables, gaps, &ngaps) < 0 || rd_table(&r->in->tables, durations, &ndurations) < 0 ||
	    rd_bytes(&r->in->symbols, n, &s[0]) < 0 || (!joined && rd_bytes(&r->in->symbols, n, &s[1]) < 0))
		return -EBADMSG;
	if (joined)
		s[1] = s[0];
	for (uint32_t byte = 0; byte <= MPIC_RANGES_MAX; byte++) {
		uint32_t gap = joined ? byte % (ngaps + 1) : byte, duration = joined ? byte / (ngaps + 1) : byte;
		of_byte[0][byte] = gap <= ngaps ? gaps[gap] : (struct meaning){0, SYMBOL_NONE};
		of_byte[1][byte] = duration <= ndurations ? durations[duration] : (struct meaning){0, SYMBOL_NONE};
	}
	int rc = rd_column(r, s[0].data, n, of_byte[0], 2, ret_times);
	return rc < 0 ? rc : rd_column(r, s[1].data, n, of_byte[1], 2, ret_times + 1);
}

static int rd_steps(struct reader *r)
{
	uint64_t n, residue;
	if (r->in->period < 1 || r->in->period > MPIC_PERIOD_MAX || rd_varint(&r->in->tables, &n) < 0 || n < 1 ||
	    n > MPIC_RESIDUES_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		if (rd_varint(&r->in->tables, &residue) < 0 || residue >= r->in->period)
			return -EBADMSG;
		r->residues[i] = (uint32_t)residue;
	}
	r->nresidues = (uint32_t)n;
	return 0;
}

int mpic_times_read(struct mpic_time_cursors *in, uint32_t count, uint64_t *ret_times)
{
	struct reader r = {.in = in};
	if (rd_steps(&r) < 0)
		return -EBADMSG;
	for (uint32_t done = 0; done < count;) {
		uint64_t part;
		if (rd_varint(&in->tables, &part) < 0 || part >> 1 == 0 || part >> 1 > count - done ||
		    rd_part(&r, (uint32_t)(part >> 1), (part & 1) != 0, ret_times + 2 * (size_t)done) < 0)
			return -EBADMSG;
		done += (uint32_t)(part >> 1);
	}
	bool all = cursor_left(&in->tables) == 0 && cursor_left(&in->symbols) == 0 && cursor_left(&in->others) == 0 &&
		   cursor_left(&in->bits) == 0 && r.npending < 8;
	return all ? 0 : -EBADMSG;
}

/* The ranges that n numbers are in, and those numbers; where there is one range only it is in no symbols. */
static int rd_numbers(struct reader *r, const struct meaning meanings[MPIC_RANGES_MAX + 1], bool one, uint32_t n,
		      uint64_t *ret_numbers)
{
	static const uint8_t first[256];
	struct span s;
	if (!one)
		return rd_bytes(&r->in->symbols, n, &s) < 0 ? -EBADMSG
							    : rd_column(r, s.data, n, meanings, 1, ret_numbers);
	for (uint32_t done = 0, some; done < n; done += some) {
		some = n - done < sizeof(first) ? n - done : (uint32_t)sizeof(first);
		if (rd_column(r, first, some, meanings, 1, ret_numbers + done) < 0)
			return -EBADMSG;
	}
	return 0;
}

int mpic_numbers_read(struct mpic_time_cursors *in, uint32_t n, uint64_t *ret_numbers)
{
	struct mpic_time_cursors own = *in; /* of bits only its own, which end with a byte */
	struct reader r = {.in = &own};
	struct meaning meanings[MPIC_RANGES_MAX + 1];
	uint64_t period, bits_len;
	struct span bits;
	uint32_t nranges;
	uint8_t one;
	if (rd_varint(&own.tables, &period) < 0 || period > MPIC_PERIOD_MAX)
		return -EBADMSG;
	own.period = (uint32_t)period;
	if (rd_steps(&r) < 0 || rd_table(&own.tables, meanings, &nranges) < 0 || rd_u8(&own.tables, &one) < 0 ||
	    rd_varint(&own.tables, &bits_len) < 0 || bits_len > cursor_left(&own.bits) ||
	    rd_bytes(&own.bits, (size_t)bits_len, &bits) < 0)
		return -EBADMSG;
	for (uint32_t i = nranges + 1; i <= MPIC_RANGES_MAX; i++)
		meanings[i] = (struct meaning){0, SYMBOL_NONE};
	in->bits = own.bits;
	own.bits = cursor_over(bits.data, bits.len_bytes);
	if (rd_numbers(&r, meanings, one != 0, n, ret_numbers) < 0 || cursor_left(&own.bits) > 0 || r.npending > 7)
		return -EBADMSG;
	in->tables = own.tables;
	in->symbols = own.symbols;
	in->others = own.others;
	return 0;
}
