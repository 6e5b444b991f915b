/* mpic_columns.c FILE... - how the bytes of .mpic files divide, and how few they could be. Prints "<structure bytes>
 * <time bytes> <calls> <entropy bytes> <file bytes>": everything but times, and times, packed each by itself; calls
 * recorded one by one; and the least that their times take. What the agent writes as time goes (samples, clocks, and
 * what it said before anew) is of the file, but not of its structure: how long a run takes, the machine decides.
 *
 * That is the order-0 entropy of the exact times: for the calls of one signature of one thread, over the whole
 * file, n calls times the entropy of how often each gap (in ticks) occurs, and the same for durations. An ideal
 * coder would take that if it knew all these distributions and recorded nothing else, neither which call it was.
 * Two cautions: of n calls whose times nearly all differ it is n log2 n at most, less than their distribution
 * holds: signatures with few calls ask for more than can be done. And gap and duration of one event depend on each
 * other where the clock is coarse: a coder that writes both together may get below. */
#include "format/mpic.h"
#include "format/pack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK_HEADER_BYTES 40

struct timed {
	uint64_t ticks;
	uint32_t process, thread, sig, kind;
};

struct sums {
	size_t structure, times, file;
	struct timed *timed;
	size_t ntimed, cap;
};

static size_t packed(const uint8_t *data, size_t len_bytes, size_t numbers_at, size_t bits_at)
{
	_cleanup_buf_ struct buf out = {0};
	return len_bytes > 0 && pack_deflate_parts(&out, data, len_bytes, numbers_at, bits_at, 6, NULL) == 0
		       ? out.len_bytes
		       : 0;
}

static void add_time(struct sums *s, const struct mpic_block *b, uint32_t sig, uint32_t kind, uint64_t ticks)
{
	if (s->ntimed == s->cap) {
		s->cap = s->cap == 0 ? 1 << 16 : s->cap * 2;
		s->timed = realloc(s->timed, s->cap * sizeof(*s->timed));
		if (s->timed == NULL)
			exit(3);
	}
	s->timed[s->ntimed++] = (struct timed){ticks, b->process, b->thread, sig, kind};
}

static void add_events(struct sums *s, const struct mpic_block *b, struct cursor payload)
{
	static struct mpic_events it;
	struct mpic_event ev;
	uint32_t n;
	if (mpic_events_begin(&it, payload, &n) < 0)
		return;
	uint64_t clock = it.clock;
	while (mpic_events_next(&it, &ev) == 1) {
		add_time(s, b, ev.sig, 0, ev.enter_tick - clock);
		add_time(s, b, ev.sig, 1, ev.exit_tick - ev.enter_tick);
		clock = ev.exit_tick;
	}
}

static bool as_time_goes(const struct mpic_block *b)
{
	return b->kind == MPIC_SAMPLE ||
	       (b->seq > 0 && (b->kind == MPIC_META || b->kind == MPIC_PROFILE || b->kind == MPIC_CLOCK));
}

static void add_block(struct sums *s, const struct mpic_file *f, const struct mpic_block *b)
{
	_cleanup_buf_ struct buf payload = {0};
	size_t at, bits_at;
	if (as_time_goes(b))
		return;
	s->structure += BLOCK_HEADER_BYTES;
	if (b->kind != MPIC_EVENTS) {
		s->structure += b->packed_len_bytes;
		return;
	}
	if (mpic_read(f, b, &payload, NULL) < 0)
		return;
	mpic_events_parts(payload.data, payload.len_bytes, &at, &bits_at);
	s->structure += packed(payload.data, at, at, at);
	s->times += packed(payload.data + at, payload.len_bytes - at, 0, bits_at - at);
	add_events(s, b, cursor_over(payload.data, payload.len_bytes));
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_signature(const void *left, const void *right)
{
	const struct timed *a = left, *b = right;
	int order = compare(a->process, b->process);
	order = order != 0 ? order : compare(a->thread, b->thread);
	order = order != 0 ? order : compare(a->kind, b->kind);
	return order != 0 ? order : compare(a->sig, b->sig);
}

static int by_signature_and_time(const void *left, const void *right)
{
	int order = by_signature(left, right);
	return order != 0 ? order : compare(((const struct timed *)left)->ticks, ((const struct timed *)right)->ticks);
}

/* Of the n times of one kind of one signature, in order. */
static double entropy_bits(const struct timed *timed, size_t n)
{
	double bits = 0;
	for (size_t i = 0, run; i < n; i += run) {
		for (run = 1; i + run < n && timed[i + run].ticks == timed[i].ticks;)
			run++;
		bits += (double)run * log2((double)n / (double)run);
	}
	return bits;
}

static double entropy_bytes(struct sums *s)
{
	double bits = 0;
	if (s->ntimed > 0)
		qsort(s->timed, s->ntimed, sizeof(*s->timed), by_signature_and_time);
	for (size_t i = 0, n; i < s->ntimed; i += n) {
		for (n = 1; i + n < s->ntimed && by_signature(&s->timed[i], &s->timed[i + n]) == 0;)
			n++;
		bits += entropy_bits(s->timed + i, n);
	}
	return bits / 8;
}

int main(int argc, char **argv)
{
	struct sums all = {0};
	double entropy = 0;
	size_t calls = 0;
	for (int i = 1; i < argc; i++) {
		struct mpic_file f;
		struct error e;
		if (mpic_open(argv[i], &f, &e) < 0) {
			fprintf(stderr, "%s\n", e.text);
			return 3;
		}
		all.ntimed = 0; /* processes are numbered in each file */
		for (size_t k = 0; k < f.nblocks; k++)
			add_block(&all, &f, &f.blocks[k]);
		entropy += entropy_bytes(&all);
		calls += all.ntimed / 2;
		all.file += f.len_bytes;
		mpic_close(&f);
	}
	free(all.timed);
	printf("%zu %zu %zu %.0f %zu\n", all.structure, all.times, calls, entropy, all.file);
	return 0;
}
