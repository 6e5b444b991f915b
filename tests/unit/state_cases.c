/* state_cases.c - see state_cases.h. */
#include "state_cases.h"

#include "format/sig.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 20) % n);
}

static bool one_in(uint32_t n)
{
	return below(n) == 0;
}

#define COMMS_MAX 5

static int32_t groups[COMMS_MAX][STATE_CASE_RANKS];

/* The world, parts of it in any order, and at times two that talk to each other, each seen from both sides. */
static void add_comms(struct states *s)
{
	uint32_t n = s->nranks;
	for (uint32_t r = 0; r < n; r++)
		groups[0][r] = (int32_t)r;
	cr_assert_eq(vec_push(&s->comms, (struct state_comm){.group = groups[0], .size = n}), 0);
	while (s->comms.n < 3) {
		uint32_t k = 0, at = (uint32_t)s->comms.n, first = below(n);
		for (uint32_t i = 0; i < n; i++)
			if (one_in(2))
				groups[at][k++] = (int32_t)((first + i) % n);
		if (one_in(40) && k > 0)
			groups[at][k - 1] = -9; /* of another world */
		cr_assert_eq(vec_push(&s->comms, (struct state_comm){.group = groups[at], .size = k, .same = at}), 0);
	}
	if (n < 2 || one_in(2))
		return;
	uint32_t half = n / 2;
	struct state_comm a = {groups[0], groups[0] + half, half, n - half, 3},
			  b = {groups[0] + half, groups[0], n - half, half, 3};
	cr_assert_eq(vec_push(&s->comms, a), 0);
	cr_assert_eq(vec_push(&s->comms, b), 0);
}

static bool is_member(const struct state_comm *c, uint32_t rank)
{
	for (uint32_t i = 0; i < c->size; i++)
		if (c->group[i] == (int32_t)rank)
			return true;
	return false;
}

static uint64_t entered[STATE_CASE_RANKS][COMMS_MAX];
static bool in_call[STATE_CASE_RANKS][COMMS_MAX];

static uint32_t comm_of(const struct states *s, uint32_t rank)
{
	for (int tries = 0; tries < 20; tries++) {
		uint32_t comm = below((uint32_t)s->comms.n);
		if (is_member(&s->comms.at[comm], rank))
			return comm;
	}
	return 0;
}

static void add_message(struct states *s, uint32_t rank)
{
	struct want w = {
		.kind = one_in(3) ? WANT_RECEIVER : WANT_MESSAGE, .comm = comm_of(s, rank), .tag = (int32_t)below(2)};
	const struct state_comm *c = &s->comms.at[w.comm];
	const int32_t *ranks = c->remote != NULL ? c->remote : c->group;
	w.peer = ranks[below(c->remote != NULL ? c->remote_size : c->size)];
	if (w.peer < 0)
		w.peer = 0;
	if (w.kind == WANT_MESSAGE && one_in(6))
		w.peer = SIG_ANY;
	if (w.kind == WANT_MESSAGE && one_in(5))
		w.tag = SIG_ANY;
	w.there = one_in(25);
	w.partitioned = one_in(10);
	cr_assert_eq(states_want(s, &w), 0);
}

/* It is in the call that follows those which it has begun, or waits for one of these. */
static void add_meeting(struct states *s, uint32_t rank)
{
	static const int32_t kinds[] = {COLL_BARRIER, COLL_BARRIER, COLL_BARRIER, COLL_BCAST,
					COLL_REDUCE,  COLL_SCAN,    COLL_NEIGHBOR};
	struct want w = {.kind = WANT_MEETING, .comm = comm_of(s, rank), .root = -1};
	uint32_t same = s->comms.at[w.comm].same;
	w.coll = kinds[below(sizeof(kinds) / sizeof(kinds[0]))];
	w.k = entered[rank][same];
	if ((w.coll == COLL_BCAST || w.coll == COLL_REDUCE) && s->comms.at[w.comm].group[0] >= 0)
		w.root = s->comms.at[w.comm].group[0];
	if (in_call[rank][same] && w.k == 0) {
		add_message(s, rank);
		return;
	}
	if (in_call[rank][same] || (w.k > 0 && one_in(4)))
		w.k--;
	else
		in_call[rank][same] = true;
	cr_assert_eq(states_want(s, &w), 0);
}

static void add_listed(struct states *s)
{
	int32_t ranks[3];
	uint32_t n = 1 + below(3);
	for (uint32_t i = 0; i < n; i++)
		ranks[i] = (int32_t)below(s->nranks);
	cr_assert_eq(states_want_ranks(s, (struct want){.object = WANT_UNLOCK}, ranks, n), 0);
}

static void add_thread(struct states *s, uint32_t rank, uint32_t thread, uint32_t free_one_in)
{
	struct state t = {.rank = rank, .thread = thread, .op = "MPI_X", .site = below(3), .since_s = NAN};
	uint32_t wants = one_in(3) ? 1 + below(3) : 1;
	t.kind = one_in(free_one_in) ? STATE_FREE : wants > 1 && one_in(2) ? STATE_ONE : STATE_ALL;
	t.left_out = one_in(60);
	if (t.kind == STATE_FREE)
		wants = 0;
	cr_assert_eq(states_add(s, &t), 0);
	for (uint32_t i = 0; i < wants; i++)
		switch (below(5)) {
		case 0:
		case 1:
			add_meeting(s, rank);
			break;
		case 2:
			if (one_in(3)) {
				add_listed(s);
				break;
			} /* fall through */
		default:
			add_message(s, rank);
		}
}

/* Most are small, for the definition is slow. */
static uint32_t how_many(void)
{
	static const struct {
		uint32_t one_in, most;
	} sizes[] = {{50000, STATE_CASE_RANKS}, {4000, 2000}, {500, 200}, {10, 14}};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (one_in(sizes[i].one_in))
			return 1 + below(sizes[i].most);
	return 1 + below(6);
}

void state_case(struct states *s, uint64_t number)
{
	seed = (number + 1) * 0x9e3779b97f4a7c15ull;
	*s = (struct states){.nranks = how_many()};
	uint32_t free_one_in = 3 + below(40);
	memset(in_call, 0, sizeof(in_call));
	add_comms(s);
	for (uint32_t r = 0; r < s->nranks; r++)
		for (uint32_t c = 0; c < COMMS_MAX; c++) {
			entered[r][c] = one_in(4) ? below(3) : 1;
			if (c < s->comms.n && s->comms.at[c].same == c && entered[r][c] > 0)
				cr_assert_eq(vec_push(&s->uses,
						      (struct state_use){r, c, CHANNEL_COLLECTIVES, entered[r][c]}),
					     0);
		}
	for (uint32_t r = 0; r < s->nranks; r++) {
		uint32_t threads = one_in(6) ? 2 : one_in(50) ? 0 : 1;
		bool over = one_in(15);
		for (uint32_t t = 0; t < threads; t++)
			if (over)
				cr_assert_eq(states_add(s, &(struct state){.rank = r,
									   .thread = t,
									   .kind = STATE_OVER,
									   .site = STATE_NONE}),
					     0);
			else
				add_thread(s, r, t, free_one_in);
	}
}
