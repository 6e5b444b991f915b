/* mpic_words.c - words of single events, coded close to their entropy.
 *
 * In: the words of events of one signature, mostly messages of sizes and tags that came once.  Out: columns of an event
 * block.
 *
 * Words are few numbers side by side (format/sig.h), so halves of words are columns, down all the events. Most of them
 * are the same in all, or go up by the same, or are what another column says: the size that is sent is the size that
 * comes back. The others are coded as times are: the numbers, or how far each is from the one before. */
#include "format/mpic_words.h"

#include "base/vec.h"
#include "format/limits.h"
#include "format/mpic.h"

#include <stdbool.h>
#include <string.h>

#define COLUMNS_EVENTS_MIN 16u /* fewer do not pay for their tables */
#define COLUMNS_MAX 32u	       /* halves of words */

/* How a column is coded: the rest says how much another one is behind, from HOW_AS on. */
enum how { HOW_STEPS = 0, HOW_NUMBERS, HOW_DIFFERENCES, HOW_AS };

static uint32_t zigzag(uint32_t difference)
{
	return difference << 1 ^ (uint32_t) - (int32_t)(difference >> 31);
}

static uint32_t unzigzag(uint32_t coded)
{
	return coded >> 1 ^ (uint32_t) - (int32_t)(coded & 1);
}

/* ---- writing ---- */

struct columns {
	const uint64_t *words;
	const uint32_t *at;
	uint32_t n, ncolumns;
	uint64_t *numbers; /* of the column that is coded, and behind them their differences */
};

static uint32_t half(const struct columns *c, uint32_t column, uint32_t i)
{
	return (uint32_t)(c->words[c->at[i] + 1 + column / 2] >> 32 * (column & 1));
}

static uint32_t columns_of(const uint64_t *words, const uint32_t *at, uint32_t n)
{
	uint64_t nwords = words[at[0]];
	if (n < COLUMNS_EVENTS_MIN || 2 * nwords > COLUMNS_MAX)
		return 0;
	for (uint32_t i = 1; i < n; i++)
		if (words[at[i]] != nwords)
			return 0;
	return 2 * (uint32_t)nwords;
}

/* The same step from each to the next? */
static bool is_stepping(const struct columns *c, uint32_t column)
{
	uint32_t step = half(c, column, 1) - half(c, column, 0);
	for (uint32_t i = 2; i < c->n; i++)
		if (half(c, column, i) - half(c, column, i - 1) != step)
			return false;
	return true;
}

/* Another column, the same but for a number; `column` if none is. */
static uint32_t same_as(const struct columns *c, uint32_t column)
{
	for (uint32_t k = 0; k < column; k++) {
		uint32_t i = 1, behind = half(c, column, 0) - half(c, k, 0);
		while (i < c->n && half(c, column, i) - half(c, k, i) == behind)
			i++;
		if (i == c->n)
			return k;
	}
	return column;
}

static int put_numbers(struct mpic_time_coder **coder, const struct columns *c, uint32_t column,
		       struct mpic_time_columns *out)
{
	uint64_t *differences = c->numbers + c->n;
	uint32_t before = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t number = half(c, column, i);
		c->numbers[i] = number;
		differences[i] = zigzag(number - before);
		before = number;
	}
	float plain = mpic_numbers_bits(coder, c->numbers, c->n);
	bool far = mpic_numbers_bits(coder, differences, c->n) < plain;
	buf_varint(&out->tables, far ? HOW_DIFFERENCES : HOW_NUMBERS);
	return mpic_numbers_put(coder, far ? differences : c->numbers, c->n, out);
}

static int put_column(struct mpic_time_coder **coder, const struct columns *c, uint32_t column,
		      struct mpic_time_columns *out)
{
	uint32_t first = half(c, column, 0);
	if (is_stepping(c, column)) {
		buf_varint(&out->tables, HOW_STEPS);
		buf_varint(&out->tables, first);
		buf_varint(&out->tables, zigzag(half(c, column, 1) - first));
		return 0;
	}
	uint32_t as = same_as(c, column);
	if (as == column)
		return put_numbers(coder, c, column, out);
	buf_varint(&out->tables, HOW_AS + as);
	buf_varint(&out->tables, zigzag(first - half(c, as, 0)));
	return 0;
}

int mpic_words_put(struct mpic_time_coder **coder, const uint64_t *words, const uint32_t *at, uint32_t n,
		   struct mpic_time_columns *out)
{
	struct columns c = {words, at, n, columns_of(words, at, n), NULL};
	int rc = 0;
	buf_varint(&out->tables, c.ncolumns);
	for (uint32_t i = 0; c.ncolumns == 0 && i < n; i++)
		for (uint64_t k = 0; k <= words[at[i]]; k++)
			buf_varint(&out->tables, words[at[i] + k]);
	if (c.ncolumns > 0 && (c.numbers = malloc(2 * (size_t)n * sizeof(*c.numbers))) == NULL)
		return -ENOMEM;
	for (uint32_t k = 0; rc == 0 && k < c.ncolumns; k++)
		rc = put_column(coder, &c, k, out);
	free(c.numbers);
	return rc;
}

/* ---- reading ---- */

static int make_room(struct mpic_words *w, uint64_t more)
{
	if (more > MPIC_BLOCK_WORDS_MAX - w->n)
		return -EBADMSG;
	return vec_grow(&w->at, &w->cap, w->n + more, sizeof(*w->at));
}

/* Each event for itself. */
static int rd_single(struct cursor *c, uint32_t n, struct mpic_words *w)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t nwords;
		if (rd_varint(c, &nwords) < 0 || nwords > MPIC_EXTRA_MAX)
			return -EBADMSG;
		int rc = make_room(w, nwords + 1);
		if (rc < 0)
			return rc;
		w->at[w->n++] = nwords;
		for (uint64_t k = 0; k < nwords; k++)
			if (rd_varint(c, &w->at[w->n++]) < 0)
				return -EBADMSG;
	}
	return 0;
}

static int rd_u32_varint(struct cursor *c, uint32_t *ret_number)
{
	uint64_t number;
	if (rd_varint(c, &number) < 0 || number > UINT32_MAX)
		return -EBADMSG;
	*ret_number = (uint32_t)number;
	return 0;
}

/* Of n events from `to` on, `stride` words each, of which `numbers` become half of one. */
struct into {
	uint64_t *to;
	uint64_t *numbers;
	uint32_t n, stride;
};

static uint64_t *word_of(const struct into *into, uint32_t column, uint32_t i)
{
	return &into->to[(size_t)i * into->stride + 1 + column / 2];
}

/* 0, -EBADMSG: into->numbers have the column. */
static int rd_column(struct mpic_time_cursors *in, uint32_t column, const struct into *into)
{
	uint32_t how, first = 0, step, before = 0;
	if (rd_u32_varint(&in->tables, &how) < 0 || how >= HOW_AS + column)
		return -EBADMSG;
	if (how == HOW_NUMBERS || how == HOW_DIFFERENCES) {
		int rc = mpic_numbers_read(in, into->n, into->numbers);
		for (uint32_t i = 0; rc == 0 && how == HOW_DIFFERENCES && i < into->n; i++)
			into->numbers[i] = before += unzigzag((uint32_t)into->numbers[i]);
		return rc;
	}
	if ((how == HOW_STEPS && rd_u32_varint(&in->tables, &first) < 0) || rd_u32_varint(&in->tables, &step) < 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < into->n; i++)
		into->numbers[i] = how == HOW_STEPS
					   ? first + i * unzigzag(step)
					   : (uint32_t)(*word_of(into, how - HOW_AS, i) >> 32 * ((how - HOW_AS) & 1)) +
						     unzigzag(step);
	return 0;
}

static int rd_columns(struct mpic_time_cursors *in, uint32_t ncolumns, const struct into *into)
{
	for (uint32_t i = 0; i < into->n; i++)
		into->to[(size_t)i * into->stride] = ncolumns / 2;
	for (uint32_t column = 0; column < ncolumns; column++) {
		if (rd_column(in, column, into) < 0)
			return -EBADMSG;
		for (uint32_t i = 0; i < into->n; i++) {
			uint64_t *word = word_of(into, column, i);
			*word = (column & 1) != 0 ? *word | into->numbers[i] << 32 : (uint32_t)into->numbers[i];
		}
	}
	return 0;
}

int mpic_words_read(struct mpic_time_cursors *in, uint32_t n, struct mpic_words *w)
{
	uint32_t ncolumns;
	if (rd_u32_varint(&in->tables, &ncolumns) < 0 || ncolumns > COLUMNS_MAX || ncolumns % 2 != 0)
		return -EBADMSG;
	if (ncolumns == 0)
		return rd_single(&in->tables, n, w);
	struct into into = {.n = n, .stride = ncolumns / 2 + 1};
	int rc = make_room(w, (uint64_t)n * into.stride);
	if (rc < 0)
		return rc;
	into.to = w->at + w->n;
	into.numbers = malloc(n * sizeof(*into.numbers));
	if (into.numbers == NULL)
		return -ENOMEM;
	rc = rd_columns(in, ncolumns, &into);
	free(into.numbers);
	w->n += (size_t)n * into.stride;
	return rc;
}
