/* odd_mpix.c - write an .mpix of whatever the format can hold, however odd: `odd_mpix FILE SEED`. Ranks with several
 * threads, three clocks that change their rates, calls open over several windows, messages and wait states between any
 * two calls, words and numbers of single events, samples. Nothing in it makes sense; all follows from the seed. */
#include "format/mpix.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define RANKS 20u
#define LANES_MAX (2 * RANKS)
#define CLOCKS 3u
#define KNOTS 4u
#define WINDOWS 4u
#define WINDOW_NS 60000
#define EVENTS 40u /* of a lane */
#define SIGS 9u
#define OPS 5u
#define COMMS 2u
#define LINKS 150u
#define WAITS 100u
#define SAMPLES 6u
#define GROUPS ((RANKS + MPIX_GROUP_RANKS - 1) / MPIX_GROUP_RANKS)

struct call {
	uint64_t enter, leave;
	int64_t start_ns, end_ns;
	uint32_t sig;
	struct mpix_position at;
};

struct lane {
	uint32_t rank, n, first[WINDOWS + 1]; /* calls of each window */
	struct call calls[EVENTS];
};

static const char *const op_names[OPS] = {"MPI_Isend", "MPI_Waitall", "MPI_Allreduce", "MPI_Test", "MPI_Barrier"};
static struct mpix_clock_knot knots[CLOCKS][KNOTS];
static struct mpix_clock clocks[CLOCKS];
static struct mpix_signature sigs[RANKS][SIGS];
static struct lane lanes[LANES_MAX];
static struct mpix_link links[LINKS];
static struct mpix_wait waits[WAITS];
static uint32_t threads[RANKS], places[RANKS], clock_of_lane[LANES_MAX], nlanes;
static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % n);
}

/* ---- what there is ---- */

static void make_clocks(void)
{
	for (uint32_t c = 0; c < CLOCKS; c++) {
		double ns = -1000.0 * c;
		uint64_t tick = 1000000007ull * (c + 1);
		clocks[c] = (struct mpix_clock){.base_tick = tick - 500, .knots = knots[c], .nknots = KNOTS};
		for (uint32_t k = 0; k < KNOTS; k++) {
			double rate = 0.4 + 0.01 * (double)below(10);
			knots[c][k] = (struct mpix_clock_knot){tick, ns, rate};
			ns += 600000 * rate;
			tick += 600000;
		}
	}
}

static int64_t ns_of(uint32_t clock, uint64_t tick)
{
	const struct mpix_clock_knot *k = knots[clock];
	for (uint32_t i = 1; i < KNOTS && knots[clock][i].tick <= tick; i++)
		k = &knots[clock][i];
	double ticks = (double)((int64_t)tick - (int64_t)k->tick), product = ticks * k->ns_per_tick,
	       x = k->ns + product;
	int64_t whole = (int64_t)x - (x < (double)(int64_t)x);
	return whole + (x - (double)whole >= 0.5);
}

static void make_signatures(uint32_t rank)
{
	for (uint32_t i = 0; i < SIGS; i++) {
		uint32_t op = i % OPS;
		sigs[rank][i] = (struct mpix_signature){
			.bytes = i * 1000ull * rank,
			.message_bytes = below(100000),
			.peer = i % 4 == 0   ? -1
				: i % 4 == 1 ? -2
					     : (int32_t)below(RANKS),
			.tag = (int32_t)below(2000000000) - 1000000000,
			.op = op,
			.callsite = i % 3 == 0 ? MPIX_NO_CALLSITE : i,
			.comm = i % COMMS,
			.class = (uint8_t)(i % MPIX_CLASSES),
			.flags = (uint8_t)(op == 2 || op == 4 ? MPIX_COLLECTIVE
					   : op == 3	      ? MPIX_POLLS
							      : 0),
		};
	}
}

static void make_calls(uint32_t number)
{
	struct lane *l = &lanes[number];
	uint32_t clock = clock_of_lane[number], index = 0, window = 0;
	uint64_t tick = clocks[clock].base_tick + 400 + below(5000);
	l->n = EVENTS - below(10);
	for (uint32_t i = 0; i < l->n; i++) {
		struct call *x = &l->calls[i];
		x->enter = tick + 25ull * below(300);
		x->leave = x->enter + (below(40) == 0 ? 500000 : 25ull * below(700));
		tick = x->leave;
		x->sig = below(SIGS);
		x->start_ns = ns_of(clock, x->enter);
		x->end_ns = ns_of(clock, x->leave);
		for (; window + 1 < WINDOWS && x->start_ns >= (int64_t)(window + 1) * WINDOW_NS; index = 0)
			l->first[++window] = i;
		x->at = (struct mpix_position){window, number, index++};
	}
	while (window < WINDOWS)
		l->first[++window] = l->n;
}

static const struct call *any_call(void)
{
	const struct lane *l = &lanes[below(nlanes)];
	return &l->calls[below(l->n)];
}

/* A call not before x in its lane. */
static const struct call *later(const struct call *x)
{
	const struct lane *l = &lanes[x->at.lane];
	return x + below((uint32_t)(l->calls + l->n - x));
}

static void make_link(struct mpix_link *to)
{
	const struct call *recv = any_call(), *send = any_call(), *completion = later(recv), *sent = later(send);
	const struct mpix_signature *of_recv = &sigs[lanes[recv->at.lane].rank][recv->sig];
	uint32_t src = lanes[send->at.lane].rank;
	to->recv = recv->at;
	to->completion = completion->at;
	to->send = send->at;
	to->sent = sent->at;
	if (below(8) == 0) {
		to->completion.window = MPIX_NOWHERE;
		completion = recv;
	}
	if (below(8) == 0)
		to->sent.window = MPIX_NOWHERE;
	to->signature = below(4) == 0 ? below(SIGS) : MPIX_OF_START;
	const struct mpix_signature *own = &sigs[src][send->sig],
				    *of = to->signature == MPIX_OF_START ? own : &sigs[src][to->signature];
	to->message = (struct mpix_message){
		.send_start_ns = send->start_ns,
		.send_end_ns = send->end_ns,
		.recv_start_ns = recv->start_ns,
		.completion_start_ns = completion->start_ns,
		.recv_end_ns = completion->end_ns,
		.bytes = of->message_bytes,
		.src = src,
		.dst = lanes[recv->at.lane].rank,
		.tag = of->tag,
		.comm = of->comm,
		.send_callsite = own->callsite,
		.recv_callsite = of_recv->callsite,
	};
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void make_wait(struct mpix_wait *to)
{
	const struct call *own = any_call(), *causer = any_call();
	int64_t until = causer->start_ns < own->end_ns ? causer->start_ns : own->end_ns;
	*to = (struct mpix_wait){.at = own->at,
				 .causer = causer->at,
				 .state = (uint8_t)below(11),
				 .how = (uint8_t)below(3),
				 .ns = below(5000),
				 .start_ns = own->start_ns,
				 .end_ns = own->end_ns};
	if (to->how == MPIX_WAIT_UNTIL_START)
		to->ns = larger(0, until - own->start_ns);
	else if (to->how == MPIX_WAIT_SINCE_END)
		to->ns = larger(0, own->end_ns - larger(causer->end_ns, own->start_ns));
	else if (below(2) == 0)
		to->causer.window = MPIX_NOWHERE;
}

static void make_all(void)
{
	make_clocks();
	for (uint32_t r = 0; r < RANKS; r++) {
		threads[r] = r % 5 == 3 ? 2 : 1;
		places[r] = r / 7;
		make_signatures(r);
		for (uint32_t t = 0; t < threads[r]; t++) {
			clock_of_lane[nlanes] = r / 7;
			lanes[nlanes++].rank = r;
		}
	}
	for (uint32_t l = 0; l < nlanes; l++)
		make_calls(l);
	for (uint32_t i = 0; i < LINKS; i++)
		make_link(&links[i]);
	for (uint32_t i = 0; i < WAITS; i++)
		make_wait(&waits[i]);
}

/* ---- writing a group's part of a window ---- */

struct part_memory {
	struct mpix_run runs[LANES_MAX];
	struct mpix_carried carried[LANES_MAX];
	struct mpix_link links[LINKS];
	struct mpix_wait waits[WAITS];
	struct {
		uint64_t enter[EVENTS], leave[EVENTS];
		uint32_t sig[EVENTS];
		struct mpix_extra extras[EVENTS + 1];
		struct mpix_number numbers[EVENTS];
	} of[LANES_MAX];
	struct mpix_extra open;
};

static void put_run(struct mpix_part *p, struct part_memory *m, uint32_t number)
{
	const struct lane *l = &lanes[number];
	uint32_t first = l->first[p->window], n = l->first[p->window + 1] - first, nextras = 0, nnumbers = 0;
	if (n == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct call *x = &l->calls[first + i];
		const struct mpix_signature *s = &sigs[l->rank][x->sig];
		m->of[number].enter[i] = x->enter;
		m->of[number].leave[i] = x->leave;
		m->of[number].sig[i] = x->sig;
		if ((s->flags & MPIX_POLLS) != 0)
			m->of[number].extras[nextras++] = (struct mpix_extra){i, MPIX_EXTRA_CALLS, 2 + x->enter % 99};
		else if (x->enter % 11 == 0)
			m->of[number].extras[nextras++] = (struct mpix_extra){i, MPIX_EXTRA_BYTES, x->leave * 1000};
		if ((s->flags & MPIX_COLLECTIVE) != 0 && x->enter % 3 == 0)
			m->of[number].numbers[nnumbers++] =
				(struct mpix_number){i, s->comm, x->enter % 2 == 0 ? MPIX_NO_NUMBER : x->enter % 1000};
	}
	m->runs[p->nruns++] = (struct mpix_run){.lane = number,
						.n = n,
						.begin_tick = first > 0 ? l->calls[first - 1].leave : l->calls[0].enter,
						.enter = m->of[number].enter,
						.leave = m->of[number].leave,
						.sig = m->of[number].sig,
						.extras = m->of[number].extras,
						.numbers = m->of[number].numbers,
						.nextras = nextras,
						.nnumbers = nnumbers};
}

static void put_carried(struct mpix_part *p, struct part_memory *m, uint32_t number)
{
	const struct lane *l = &lanes[number];
	uint32_t first = l->first[p->window];
	const struct call *x = first > 0 ? &l->calls[first - 1] : NULL;
	if (x == NULL || x->end_ns <= p->start_ns)
		return;
	bool counted = (sigs[l->rank][x->sig].flags & MPIX_COLLECTIVE) != 0 && x->enter % 2 == 0;
	m->open = (struct mpix_extra){0, MPIX_EXTRA_CALLS, 7};
	m->carried[p->ncarried++] = (struct mpix_carried){.at = x->at,
							  .sig = x->sig,
							  .nextras = x->sig == 3,
							  .enter = x->enter,
							  .leave = x->leave,
							  .extras = &m->open,
							  .k = counted ? x->enter % 100 : MPIX_NO_NUMBER};
}

static bool is_of(const struct mpix_part *p, uint32_t lane, uint32_t window)
{
	return lanes[lane].rank / MPIX_GROUP_RANKS == p->group && window == p->window;
}

static struct mpix_part part_of(uint32_t window, uint32_t group, struct part_memory *m)
{
	struct mpix_part p = {.window = window,
			      .group = group,
			      .start_ns = (int64_t)window * WINDOW_NS,
			      .end_ns = window + 1 < WINDOWS ? (int64_t)(window + 1) * WINDOW_NS : 100 * WINDOW_NS,
			      .runs = m->runs,
			      .carried = m->carried,
			      .links = m->links,
			      .waits = m->waits};
	p.start_ns -= window == 0 ? 100000 : 0;
	for (uint32_t l = 0; l < nlanes; l++)
		if (lanes[l].rank / MPIX_GROUP_RANKS == group) {
			put_run(&p, m, l);
			put_carried(&p, m, l);
		}
	for (uint32_t i = 0; i < LINKS; i++) {
		bool open = links[i].completion.window == MPIX_NOWHERE;
		if (is_of(&p, links[i].recv.lane, open ? links[i].recv.window : links[i].completion.window))
			m->links[p.nlinks++] = links[i];
	}
	for (uint32_t i = 0; i < WAITS; i++) {
		uint32_t known = waits[i].at.window + i % 2; /* when it became known */
		if (is_of(&p, waits[i].at.lane, known < WINDOWS ? known : WINDOWS - 1))
			m->waits[p.nwaits++] = waits[i];
	}
	return p;
}

static int put_parts(struct mpix_writer *w, struct error *e)
{
	struct mpix_scratch *scratch = mpix_scratch_new();
	struct mpix_packed *packed = mpix_packed_new();
	struct part_memory *m = malloc(sizeof(*m));
	int rc = scratch == NULL || packed == NULL || m == NULL ? -ENOMEM : 0;
	for (uint32_t i = 0; i < WINDOWS * GROUPS && rc == 0; i++) {
		struct mpix_part p = part_of(i / GROUPS, i % GROUPS, m);
		rc = mpix_pack(w, &p, scratch, packed, e);
		if (rc == 0)
			rc = mpix_writer_put(w, packed, e);
	}
	free(m);
	mpix_packed_free(packed);
	mpix_scratch_free(scratch);
	return rc;
}

/* ---- samples ---- */

static uint64_t any_number(void)
{
	return below(3) == 0 ? (1ull << 53) - 1 - below(9) : below(3) == 0 ? 0 : below(100000);
}

static uint32_t make_cells(struct mpix_sample_cell *to)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < 2 * OPS; i++)
		if (below(3) == 0)
			to[n++] = (struct mpix_sample_cell){.op = i / 2,
							    .callsite = i % 2 == 0 ? MPIX_NO_CALLSITE : below(1000),
							    .calls = any_number(),
							    .ticks = any_number(),
							    .bytes = any_number(),
							    .wait_ns = any_number()};
	return n;
}

static int put_samples(struct mpix_writer *w, struct error *e)
{
	static struct mpix_sample_cell cells[LANES_MAX][2 * OPS];
	static struct mpix_sample_thread of[LANES_MAX];
	uint64_t number = 1;
	int rc = 0;
	for (uint32_t i = 0; i < SAMPLES && rc == 0; i++) {
		struct mpix_sample s = {.number = number,
					.samples = 1 + below(3),
					.start_ns = i * 1000,
					.end_ns = i * 1000 + below(2) * 1000,
					.threads = of};
		for (uint32_t l = 0; l < nlanes; l++) {
			struct mpix_sample_thread *t = &of[s.nthreads];
			uint8_t known = (uint8_t)below(8);
			if (below(4) == 0)
				continue;
			*t = (struct mpix_sample_thread){.lane = l, .known = known, .cells = cells[s.nthreads]};
			t->cpu_ns = (known & MPIX_SAMPLE_SYSTEM) != 0 ? any_number() : 0;
			t->ready_ns = (known & MPIX_SAMPLE_SYSTEM) != 0 ? any_number() : 0;
			t->resident_bytes = (known & MPIX_SAMPLE_RESIDENT) != 0 ? any_number() : 0;
			t->ncells = make_cells(cells[s.nthreads++]);
		}
		number += s.samples + below(2);
		rc = mpix_writer_sample(w, &s, e);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct mpix_info info = {.ranks = RANKS,
				 .runtime_ns = WINDOWS * WINDOW_NS,
				 .ops = op_names,
				 .nops = OPS,
				 .threads = threads,
				 .clocks = clocks,
				 .nclocks = CLOCKS,
				 .clock_of_lane = clock_of_lane,
				 .places = 3,
				 .place_of_rank = places};
	struct mpix_writer *w;
	struct error e = {{0}};
	if (argc != 3)
		return fprintf(stderr, "usage: odd_mpix FILE SEED\n"), 2;
	seed = (uint64_t)atoi(argv[2]);
	make_all();
	int rc = mpix_writer_create(argv[1], &info, &w, &e);
	for (uint32_t r = 0; r < RANKS && rc == 0; r++)
		rc = mpix_writer_signatures(w, r, sigs[r], SIGS, &e);
	if (rc == 0)
		rc = put_parts(w, &e);
	if (rc == 0)
		rc = put_samples(w, &e);
	if (rc == 0)
		rc = mpix_writer_finish(w, "{\"schema\":\"mpitrace/analysis/1\"}", &e);
	if (rc < 0)
		fprintf(stderr, "odd_mpix: %s\n", e.text);
	return rc < 0;
}
