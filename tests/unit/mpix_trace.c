/* mpix_trace.c - see mpix_trace.h. */
#include "base/buf_file.h"
#include "tests/unit/mpix_trace.h"

#include "format/mpix_layout.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#define SIGS 11u
#define CLOCKS 3u

static const char *const ops[] = {"MPI_Send", "MPI_Recv", "MPI_Allreduce"};

/* ---- files ---- */

static char directory[64];

void make_directory(void)
{
	snprintf(directory, sizeof(directory), "/tmp/mpix-test-XXXXXX");
	cr_assert_not_null(mkdtemp(directory));
}

void remove_directory(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	cr_assert_eq(system(command), 0);
}

const char *test_directory(void)
{
	return directory;
}

const char *path_of(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

struct buf slurp(const char *path)
{
	struct buf b = {0};
	cr_assert_eq(buf_file(&b, path, SIZE_MAX), 0, "%s", path);
	return b;
}

void spill(const char *path, const void *data, size_t len_bytes)
{
	FILE *out = fopen(path, "wb");
	cr_assert_not_null(out);
	cr_assert_eq(fwrite(data, 1, len_bytes, out), len_bytes);
	fclose(out);
}

/* ---- traces ---- */

uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A trace and all that it points to. */
struct whole {
	struct plain_trace t;
	struct plain_lane *lanes;
	struct mpix_signature **sigs;
	uint32_t *nsigs, *threads, *clock_of_lane, *places, *rank_of_lane;
	struct plain_link *links;
	struct plain_wait *waits;
	struct mpix_clock clocks[CLOCKS];
	struct mpix_clock_knot knots[CLOCKS][3];
	uint32_t nlanes;
};

static void make_clocks(struct whole *x, const struct trace_shape *shape)
{
	static const double rates[CLOCKS] = {0.4081632653, 0.3333333332, 0.5000000011};
	for (uint32_t c = 0; c < CLOCKS; c++) {
		uint64_t base = shape->far_ticks ? 0xf000000000000000ull + c : 0;
		double rate = shape->far_ticks ? rates[c] : 1;
		uint64_t third = (uint64_t)((double)shape->runtime_ns / rate / 3) + 1;
		x->knots[c][0] = (struct mpix_clock_knot){base, 0, rate};
		x->knots[c][1] = (struct mpix_clock_knot){base + third, (double)third * rate, rate * 1.0000003};
		x->knots[c][2] = (struct mpix_clock_knot){
			base + 2 * third, (double)third * rate + (double)third * rate * 1.0000003, rate * 0.9999998};
		if (!shape->far_ticks) /* exactly so */
			for (uint32_t k = 0; k < 3; k++)
				x->knots[c][k] = (struct mpix_clock_knot){k * third, (double)(k * third), 1};
		x->clocks[c] = (struct mpix_clock){base, x->knots[c], 3};
	}
}

static void make_signatures(struct whole *x, uint32_t rank)
{
	uint64_t state = 0x1234567 + rank * 977u;
	x->nsigs[rank] = SIGS;
	x->sigs[rank] = calloc(SIGS, sizeof(**x->sigs));
	for (uint32_t i = 0; i < SIGS; i++)
		x->sigs[rank][i] =
			(struct mpix_signature){.bytes = next_random(&state) >> (i * 5),
						.message_bytes = next_random(&state) >> (i * 4 + 3),
						.peer = i % 4 == 3   ? -2
							: i % 4 == 2 ? -1
								     : (int32_t)(next_random(&state) % x->t.info.ranks),
						.tag = i % 2 ? (int32_t)next_random(&state) : -1,
						.op = i % 3,
						.callsite = i % 4 ? i * 1000 : MPIX_NO_CALLSITE,
						.comm = i % 7,
						.object = i % 5,
						.came_bytes = i % 3,
						.stack = i % 6,
						.class = (uint8_t)(i % 8),
						.flags = i % 3 == 2 ? MPIX_COLLECTIVE : 0};
}

static void make_events(struct whole *x, const struct trace_shape *shape, uint32_t lane)
{
	uint64_t state = 88172645463325252ull + lane * 7919u;
	const struct mpix_clock *clock = &x->clocks[x->clock_of_lane[lane]];
	struct plain_lane *to = &x->lanes[lane];
	uint64_t ticks = (uint64_t)((double)shape->runtime_ns / clock->knots[0].ns_per_tick);
	uint64_t tick = clock->base_tick, step = ticks / (shape->events + 1) + 1;
	if (shape->empty && lane % 3 == 1)
		return;
	to->events = calloc(shape->events + 1u, sizeof(*to->events));
	for (uint32_t i = 0; i < shape->events; i++) {
		uint64_t gap = next_random(&state) % (step / 2 + 1), length = next_random(&state) % (step / 2 + 1);
		length = i % 97 == 13 ? length * 30 : length; /* reaches over windows */
		uint32_t sig = (uint32_t)(next_random(&state) % SIGS);
		if (tick + gap + length - clock->base_tick > ticks)
			break;
		to->events[to->n++] = (struct plain_event){tick + gap, tick + gap + length, sig,
							   i % 5 == 1 ? 1 + next_random(&state) % 1000 : 0,
							   i % 7 == 2 ? next_random(&state) >> 3 : PLAIN_SIG_BYTES};
		tick += gap + length;
	}
}

static bool random_place(const struct whole *x, uint64_t *state, struct plain_place *ret)
{
	ret->lane = (uint32_t)(next_random(state) % x->nlanes);
	ret->event = x->lanes[ret->lane].n > 0 ? (uint32_t)(next_random(state) % x->lanes[ret->lane].n) : 0;
	return x->lanes[ret->lane].n > 0;
}

/* An event of the same lane, or now and then of another thread of the rank, that is not before. */
static struct plain_place later_place(const struct whole *x, uint64_t *state, struct plain_place from)
{
	struct plain_place to = from;
	uint32_t rank = plain_rank(&x->t, from.lane), other = from.lane + 1;
	uint32_t left = x->lanes[from.lane].n - from.event;
	to.event += (uint32_t)(next_random(state) % left) >> (next_random(state) % 12);
	if (other < x->nlanes && plain_rank(&x->t, other) == rank && next_random(state) % 4 == 0 &&
	    x->lanes[other].n > 0) {
		to = (struct plain_place){other, x->lanes[other].n - 1};
		if (plain_position(&x->t, to).window < plain_position(&x->t, from).window)
			to = from;
	}
	return to;
}

static void make_links(struct whole *x, uint32_t n)
{
	uint64_t state = 424242;
	x->links = calloc(n + 1u, sizeof(*x->links));
	for (uint32_t i = 0; i < n; i++) {
		struct plain_link l;
		if (!random_place(x, &state, &l.recv) || !random_place(x, &state, &l.send))
			continue;
		l.completion = later_place(x, &state, l.recv);
		l.sent = later_place(x, &state, l.send);
		if (i % 11 == 5)
			l.completion.event = PLAIN_NONE;
		if (i % 13 == 5)
			l.sent.event = PLAIN_NONE;
		l.signature = i % 6 == 1 ? (uint32_t)(next_random(&state) % SIGS) : MPIX_OF_START;
		x->links[x->t.nlinks++] = l;
	}
}

static void make_waits(struct whole *x, uint32_t n)
{
	uint64_t state = 987654;
	x->waits = calloc(n + 1u, sizeof(*x->waits));
	for (uint32_t i = 0; i < n; i++) {
		struct plain_wait w = {.state = (uint8_t)(i % 11), .how = (uint8_t)(i % 3)};
		if (!random_place(x, &state, &w.at) || !random_place(x, &state, &w.causer))
			continue;
		w.ns = (int64_t)(next_random(&state) >> (1 + i % 60));
		if (i % 6 == 3)
			w.causer.event = PLAIN_NONE;
		if (w.causer.event == PLAIN_NONE)
			w.how = MPIX_WAIT_NS;
		x->waits[x->t.nwaits++] = w;
	}
}

struct plain_trace *trace_make(const struct trace_shape *shape)
{
	struct whole *x = calloc(1, sizeof(*x));
	x->threads = calloc(shape->ranks, sizeof(*x->threads));
	for (uint32_t r = 0; r < shape->ranks; r++) {
		x->threads[r] = shape->threads ? 1 + r % 3 : 1;
		x->nlanes += x->threads[r];
	}
	x->lanes = calloc(x->nlanes, sizeof(*x->lanes));
	x->clock_of_lane = calloc(x->nlanes, sizeof(*x->clock_of_lane));
	x->rank_of_lane = calloc(x->nlanes, sizeof(*x->rank_of_lane));
	for (uint32_t r = 0, l = 0; r < shape->ranks; r++)
		for (uint32_t end = l + x->threads[r]; l < end; l++)
			x->rank_of_lane[l] = r;
	x->places = calloc(shape->ranks, sizeof(*x->places));
	x->sigs = calloc(shape->ranks, sizeof(struct mpix_signature *));
	x->nsigs = calloc(shape->ranks, sizeof(*x->nsigs));
	make_clocks(x, shape);
	x->t = (struct plain_trace){
		.lanes = x->lanes,
		.sigs = (const struct mpix_signature *const *)x->sigs,
		.nsigs = x->nsigs,
		.windows = shape->windows,
		.threads = 1,
		.rank_of_lane = x->rank_of_lane,
		.last_ns = shape->runtime_ns + 1, /* rounding may add one */
	};
	x->t.info = (struct mpix_info){.ranks = shape->ranks,
				       .runtime_ns = shape->runtime_ns,
				       .ops = ops,
				       .nops = 3,
				       .threads = x->threads,
				       .clocks = x->clocks,
				       .nclocks = CLOCKS,
				       .clock_of_lane = x->clock_of_lane,
				       .places = 3,
				       .place_of_rank = x->places,
				       .events_expected = (uint64_t)shape->events * x->nlanes};
	for (uint32_t r = 0; r < shape->ranks; r++) {
		x->places[r] = r * 3 / shape->ranks;
		make_signatures(x, r);
	}
	for (uint32_t l = 0; l < x->nlanes; l++)
		x->clock_of_lane[l] = plain_rank(&x->t, l) * CLOCKS / shape->ranks;
	for (uint32_t l = 0; l < x->nlanes; l++)
		make_events(x, shape, l);
	make_links(x, shape->links);
	make_waits(x, shape->waits);
	x->t.links = x->links;
	x->t.waits = x->waits;
	return &x->t;
}

void trace_done(struct plain_trace *t)
{
	struct whole *x = (struct whole *)t; /* its first member */
	for (uint32_t l = 0; l < x->nlanes; l++)
		free(x->lanes[l].events);
	for (uint32_t r = 0; r < t->info.ranks; r++)
		free(x->sigs[r]);
	free(x->lanes);
	free(x->sigs);
	free(x->nsigs);
	free(x->threads);
	free(x->clock_of_lane);
	free(x->places);
	free(x->rank_of_lane);
	free(x->links);
	free(x->waits);
	free(x);
}
