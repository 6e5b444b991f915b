/* epochs.c - the decomposition into epochs, against an oracle that tries all cuts: prefixes of all processes that hold
 * both ends of each of their messages. Two events belong to one epoch if no such cut divides them. */
#include "base/vec.h"
#include "postproc/protocol/epochs.h"

#include <criterion/criterion.h>

#define RANKS 4u
#define EVENTS 8u /* of a process, at most */
#define MESSAGES 64u
#define PROGRAMS 10000u

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- programs ---- */

struct step {
	uint32_t rank, thing; /* a message, or MESSAGES + a collective */
	bool receives;
};

struct program {
	struct step steps[RANKS * EVENTS * 2];
	uint32_t nsteps, src[MESSAGES], dst[MESSAGES], nmessages, ncollectives, ranks;
	uint64_t bytes[MESSAGES];
	uint32_t list[RANKS][EVENTS * 2], length[RANKS]; /* things in program order */
};

static void put(struct program *p, uint32_t rank, uint32_t thing, bool receives)
{
	p->steps[p->nsteps++] = (struct step){rank, thing, receives};
	p->list[rank][p->length[rank]++] = thing;
}

static void put_send(struct program *p, uint32_t src, uint32_t dst, uint64_t bytes)
{
	p->src[p->nmessages] = src;
	p->dst[p->nmessages] = dst;
	p->bytes[p->nmessages] = bytes;
	put(p, src, p->nmessages++, false);
}

/* Any order of receives, any number in flight; now and then all meet. */
static struct program random_program(uint64_t seed)
{
	uint64_t state = seed * 2654435761u + 88172645463325252ull;
	struct program p = {.ranks = 2 + (uint32_t)(next_random(&state) % (RANKS - 1))};
	uint32_t flying[MESSAGES], nflying = 0, most = 2 + (uint32_t)(next_random(&state) % 5);
	uint32_t total = 4 + (uint32_t)(next_random(&state) % (p.ranks * 3));
	for (uint32_t i = 0; i < total || nflying > 0; i++) {
		uint32_t rank = (uint32_t)(next_random(&state) % p.ranks);
		bool room = p.length[rank] + 3 < EVENTS;
		if (i < total && nflying < most && room && next_random(&state) % 2 == 0) {
			flying[nflying++] = p.nmessages;
			put_send(&p, rank, (uint32_t)(next_random(&state) % p.ranks), 1 + next_random(&state) % 100);
		} else if (nflying > 0) {
			uint32_t k = (uint32_t)(next_random(&state) % nflying), m = flying[k];
			flying[k] = flying[--nflying];
			if (p.length[p.dst[m]] == EVENTS * 2)
				return random_program(seed + 1000003);
			put(&p, p.dst[m], m, true);
		} else if (next_random(&state) % 4 == 0 && p.ncollectives < 2 && room) {
			for (uint32_t r = 0; r < p.ranks; r++)
				put(&p, r, MESSAGES + p.ncollectives, false);
			p.ncollectives++;
		}
	}
	return p;
}

/* ---- the oracle ---- */

static bool inside(const struct program *p, const uint32_t *cut, uint32_t rank, uint32_t thing, bool last)
{
	for (uint32_t i = 0; i < p->length[rank]; i++) {
		uint32_t at = last ? p->length[rank] - 1 - i : i;
		if (p->list[rank][at] == thing)
			return at < cut[rank];
	}
	return false;
}

static bool is_closed(const struct program *p, const uint32_t *cut)
{
	for (uint32_t m = 0; m < p->nmessages; m++)
		if (inside(p, cut, p->src[m], m, false) != inside(p, cut, p->dst[m], m, true))
			return false;
	for (uint32_t c = 0; c < p->ncollectives; c++)
		for (uint32_t r = 1; r < p->ranks; r++)
			if (inside(p, cut, r, MESSAGES + c, false) != inside(p, cut, 0, MESSAGES + c, false))
				return false;
	return true;
}

static bool next_cut(const struct program *p, uint32_t *cut)
{
	for (uint32_t r = 0; r < p->ranks; r++) {
		if (++cut[r] <= p->length[r])
			return true;
		cut[r] = 0;
	}
	return false;
}

/* Of each event a hash of the closed cuts that hold it, equal for those that no cut divides; how many differ. */
static uint32_t oracle(const struct program *p, uint64_t class[RANKS][EVENTS * 2])
{
	uint32_t cut[RANKS] = {0}, n = 0;
	uint64_t word = 1, seen[RANKS * EVENTS * 2];
	memset(class, 0, sizeof(uint64_t[RANKS][EVENTS * 2]));
	do {
		if (!is_closed(p, cut))
			continue;
		word = word * 6364136223846793005ull + 1442695040888963407ull;
		for (uint32_t r = 0; r < p->ranks; r++)
			for (uint32_t i = 0; i < cut[r]; i++)
				class[r][i] += word;
	} while (next_cut(p, cut));
	for (uint32_t r = 0; r < p->ranks; r++)
		for (uint32_t i = 0; i < p->length[r]; i++) {
			uint32_t k = 0;
			while (k < n && seen[k] != class[r][i])
				k++;
			if (k == n)
				seen[n++] = class[r][i];
		}
	return n;
}

/* ---- what is under test ---- */

struct found {
	const struct program *program;
	uint64_t class[RANKS][EVENTS * 2];
	uint32_t cut[RANKS];
	uint32_t n;
	uint64_t messages, collectives;
};

static uint64_t most_in_flight(const struct epoch *x, uint32_t rank)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < x->nmessage; i++) {
		uint64_t n = 0;
		for (uint32_t k = 0; k < x->nmessage; k++)
			n += x->message[k].from_ns <= x->message[i].from_ns &&
			     x->message[k].to_ns > x->message[i].from_ns &&
			     (rank == UINT32_MAX || x->message[k].dst == rank);
		most = n > most ? n : most;
	}
	return most;
}

static int check_epoch(void *context, const struct epoch *x)
{
	struct found *f = context;
	uint64_t class = 0;
	cr_assert_eq(x->number, ++f->n);
	for (uint32_t i = 0; i < x->nspans; i++) {
		const struct epoch_span *s = &x->spans[i];
		cr_assert_eq(s->first, f->cut[s->rank], "epoch %u is not consecutive on rank %u", f->n, s->rank);
		f->cut[s->rank] = (uint32_t)s->last + 1;
		for (uint64_t k = s->first; k <= s->last; k++) {
			class = class == 0 ? f->class[s->rank][k] : class;
			cr_assert_eq(f->class[s->rank][k], class, "a cut divides epoch %u", f->n);
		}
	}
	cr_assert(is_closed(f->program, f->cut), "what comes until epoch %u is no cut", f->n);
	cr_assert_eq(x->messages, x->nmessage);
	cr_assert_eq(x->total.messages, most_in_flight(x, UINT32_MAX));
	for (uint32_t i = 0; i < x->nreceivers; i++)
		cr_assert_eq(x->receiver[i].messages, most_in_flight(x, x->receiver[i].rank));
	f->messages += x->messages;
	f->collectives += x->collectives;
	return 0;
}

static void feed(struct epochs *x, const struct program *p)
{
	uint32_t id[MESSAGES + 2];
	struct error e = {{0}};
	for (uint32_t c = 0; c < p->ncollectives; c++)
		cr_assert_eq(epochs_collective(x, p->ranks, &id[MESSAGES + c], &e), 0);
	for (uint32_t i = 0; i < p->nsteps; i++) {
		const struct step *s = &p->steps[i];
		int rc = s->thing >= MESSAGES ? epochs_enter(x, id[s->thing], s->rank, i, &e)
			 : s->receives
				 ? epochs_receive(x, id[s->thing], i, &e)
				 : epochs_send(x, s->rank, p->dst[s->thing], p->bytes[s->thing], i, &id[s->thing], &e);
		cr_assert_eq(rc, 0, "%s", e.text);
	}
	cr_assert_eq(epochs_finish(x, &e), 0, "%s", e.text);
}

static void check_program(const struct program *p, uint32_t batch)
{
	struct found f = {.program = p};
	uint32_t n = oracle(p, f.class);
	struct epochs *x = epochs_create(p->ranks, batch, check_epoch, &f);
	feed(x, p);
	epochs_destroy(x);
	cr_assert_eq(f.n, n, "%u epochs, the oracle says %u", f.n, n);
	cr_assert_eq(f.messages, p->nmessages);
	cr_assert_eq(f.collectives, p->ncollectives);
	for (uint32_t r = 0; r < p->ranks; r++)
		cr_assert_eq(f.cut[r], p->length[r], "events of rank %u are missing", r);
}

Test(epochs, of_ten_thousand_random_programs_are_those_that_no_cut_divides)
{
	uint32_t several = 0;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		struct program p = random_program(seed);
		uint64_t class[RANKS][EVENTS * 2];
		several += oracle(&p, class) > 2;
		for (uint32_t batch = 1; batch <= 64; batch *= 4)
			check_program(&p, batch);
	}
	cr_assert_gt(several, PROGRAMS / 3, "the programs are too simple: %u", several);
}

Test(epochs, the_example_of_three_processes_has_two)
{
	struct program p = {.ranks = 3};
	put_send(&p, 0, 1, 1);
	put(&p, 1, 0, true);
	put_send(&p, 2, 1, 1);
	put(&p, 1, 1, true);
	uint64_t class[RANKS][EVENTS * 2];
	cr_assert_eq(oracle(&p, class), 2);
	check_program(&p, 1);
	check_program(&p, 0);
}

Test(epochs, messages_that_cross_are_one)
{
	struct program p = {.ranks = 2};
	put_send(&p, 0, 1, 1);
	put_send(&p, 1, 0, 1);
	put(&p, 0, 1, true);
	put(&p, 1, 0, true);
	uint64_t class[RANKS][EVENTS * 2];
	cr_assert_eq(oracle(&p, class), 1);
	check_program(&p, 1);
}

/* ---- size ---- */

struct sum {
	uint64_t epochs, messages, worst;
	uint32_t most_spans;
};

static int add_epoch(void *context, const struct epoch *x)
{
	struct sum *s = context;
	s->epochs++;
	s->messages += x->messages;
	s->worst = x->total.messages > s->worst ? x->total.messages : s->worst;
	s->most_spans = x->nspans > s->most_spans ? x->nspans : s->most_spans;
	return 0;
}

Test(epochs, a_message_in_flight_from_begin_to_end_holds_only_what_lies_between)
{
	struct sum s = {0};
	struct epochs *x = epochs_create(4, 64, add_epoch, &s);
	uint32_t long_one, m;
	struct error e;
	epochs_send(x, 0, 1, 1, 0, &long_one, &e);
	for (int i = 0; i < 10000; i++) {
		epochs_send(x, 2, 3, 1, i, &m, &e);
		epochs_receive(x, m, i + 1, &e);
	}
	cr_assert_gt(s.epochs, 9000, "nothing that ranks 2 and 3 do depends on it: %lu", s.epochs);
	for (int i = 0; i < 10000; i++) {
		epochs_send(x, 0, 1, 1, i, &m, &e);
		epochs_receive(x, m, i + 1, &e);
	}
	cr_assert_leq(s.epochs, 10000);
	epochs_receive(x, long_one, 20000, &e);
	cr_assert_eq(epochs_finish(x, &e), 0);
	epochs_destroy(x);
	cr_assert_eq(s.epochs, 10001, "the long one encloses all between the same ranks: %lu", s.epochs);
	cr_assert_eq(s.worst, 2);
}

Test(epochs, of_an_epoch_with_very_many_messages_sums_are_kept)
{
	struct sum s = {0};
	struct epochs *x = epochs_create(2, 0, add_epoch, &s);
	uint32_t m, before;
	struct error e;
	uint64_t n = EPOCH_MESSAGES_MAX * 3ull;
	epochs_send(x, 0, 1, 1, 0, &before, &e);
	for (uint64_t i = 1; i < n; i++) { /* each overlaps the one before */
		epochs_send(x, (uint32_t)(i % 2), (uint32_t)(1 - i % 2), 1, (int64_t)i, &m, &e);
		epochs_receive(x, before, (int64_t)i, &e);
		before = m;
	}
	epochs_receive(x, before, (int64_t)n, &e);
	cr_assert_eq(epochs_finish(x, &e), 0);
	epochs_destroy(x);
	cr_assert_eq(s.messages, n);
	cr_assert_eq(s.epochs, 1, "%lu", s.epochs);
}
