/* mpic_retime.c FILE STEP NOISE OUT - the events of FILE as another clock would have timed them, into OUT (META
 * and definitions are left behind), and what coding them costs. Each time stamp gets a random part of NOISE ticks
 * and is rounded down to a multiple of STEP/4 ticks; 4 0 changes nothing. A clock with a step of 26 ticks becomes
 * one like Intel's by "8 26". Prints "<calls> <bytes> <ns to pack a call> <ns to read a call>". */
#include "format/mpic.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 5

struct clock {
	uint64_t step, noise, random;
};

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static uint64_t retimed(struct clock *c, uint64_t tick, uint64_t not_before)
{
	c->random = c->random * 6364136223846793005ull + 1442695040888963407ull;
	tick += c->noise > 0 ? (c->random >> 33) % c->noise : 0;
	tick = tick * 4 / c->step * c->step / 4;
	return tick > not_before ? tick : not_before;
}

/* Events of one block into columns; how many. */
static uint32_t retime(struct clock *c, struct cursor payload, struct mpic_columns *columns)
{
	static struct mpic_events it;
	struct mpic_event ev;
	uint32_t count;
	if (mpic_events_begin(&it, payload, &count) < 0)
		return 0;
	mpic_columns_begin(columns, retimed(c, it.clock, 0));
	while (mpic_events_next(&it, &ev) == 1) {
		ev.enter_tick = retimed(c, ev.enter_tick, columns->clock);
		ev.exit_tick = retimed(c, ev.exit_tick, ev.enter_tick);
		mpic_columns_put(columns, &ev);
	}
	return count;
}

/* Both take the best of some rounds. */
static double time_packing(struct mpic_columns *columns, const struct mpic_block *b, struct buf *ret_block)
{
	_cleanup_buf_ struct buf payload = {0};
	double best = 1e30;
	for (int i = 0; i < ROUNDS; i++) {
		double begin = now_ns();
		payload.len_bytes = ret_block->len_bytes = 0;
		mpic_columns_payload(columns, &payload);
		if (mpic_append_block(ret_block, b, payload.data, payload.len_bytes, 6, NULL) < 0)
			exit(3);
		double ns = now_ns() - begin;
		best = ns < best ? ns : best;
	}
	return best;
}

static double time_reading(const char *path, uint64_t *ret_calls)
{
	static struct mpic_events it;
	_cleanup_buf_ struct buf payload = {0};
	double best = 1e30;
	for (int i = 0; i < ROUNDS; i++) {
		struct mpic_file f;
		struct mpic_event ev;
		uint32_t count;
		if (mpic_open(path, &f, NULL) < 0)
			exit(3);
		*ret_calls = 0;
		double begin = now_ns();
		for (size_t k = 0; k < f.nblocks; k++) {
			if (mpic_read(&f, &f.blocks[k], &payload, NULL) < 0 ||
			    mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &count) < 0)
				exit(3);
			while (mpic_events_next(&it, &ev) == 1)
				++*ret_calls;
		}
		double ns = now_ns() - begin;
		best = ns < best ? ns : best;
		mpic_close(&f);
	}
	return best;
}

int main(int argc, char **argv)
{
	_cleanup_buf_ struct buf file = {0}, block = {0}, payload = {0};
	struct mpic_columns columns = {0};
	struct mpic_file f;
	struct error e;
	if (argc != 5 || strtoull(argv[2], NULL, 10) == 0)
		return 2;
	struct clock c = {strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), 1};
	if (mpic_open(argv[1], &f, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		return 3;
	}
	double pack_ns = 0;
	uint64_t calls = 0;
	mpic_append_magic(&file, f.id);
	for (size_t k = 0; k < f.nblocks; k++) {
		if (f.blocks[k].kind != MPIC_EVENTS || mpic_read(&f, &f.blocks[k], &payload, &e) < 0 ||
		    retime(&c, cursor_over(payload.data, payload.len_bytes), &columns) == 0)
			continue;
		pack_ns += time_packing(&columns, &f.blocks[k], &block);
		buf_bytes(&file, block.data, block.len_bytes);
	}
	FILE *out = fopen(argv[4], "w");
	if (out == NULL || fwrite(file.data, 1, file.len_bytes, out) != file.len_bytes || fclose(out) != 0)
		return 3;
	double read_ns = time_reading(argv[4], &calls);
	printf("%llu %zu %.1f %.1f\n", (unsigned long long)calls, file.len_bytes, pack_ns / (double)calls,
	       read_ns / (double)calls);
	mpic_columns_done(&columns);
	mpic_close(&f);
	return 0;
}
