/* state_graph.c - the wait-for graph: what it says of random situations is what the definition says (state_truth.c),
 * whom it names can never go on even if all others can, and it takes no more steps than there is to look at. */
#include "postproc/state/graph.h"
#include "state_cases.h"
#include "state_truth.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#define CASES 20000	/* unless STATE_CASES says how many */
#define CORES_CHECKED 4 /* of a large one */

static uint64_t smallest; /* how often it was looked for one that is smaller */

/* ---- what must hold ---- */

static bool is_over(const struct states *s, uint32_t rank)
{
	bool any = false;
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.at[i].rank == rank) {
			any = true;
			if (s->threads.at[i].kind != STATE_OVER)
				return false;
		}
	return any;
}

/* Let all go on who are not of it: still none of them can, so it needs no other reason. */
static void check_core(const struct states *s, const struct core *c, uint64_t number)
{
	static uint8_t others[STATE_CASE_RANKS], goes[STATE_CASE_RANKS];
	for (uint32_t r = 0; r < s->nranks; r++)
		others[r] = !is_over(s, r);
	for (size_t i = 0; i < c->members.n; i++)
		others[c->members.at[i].rank] = 0;
	truth(s, others, goes);
	for (size_t i = 0; i < c->members.n; i++)
		cr_assert(!goes[c->members.at[i].rank], "case %llu: rank %u is of a core and could go on",
			  (unsigned long long)number, c->members.at[i].rank);
	for (size_t i = 0; c->cycle && i < c->members.n; i++) {
		const struct core_member *m = &c->members.at[i];
		cr_assert_eq(m->needs, c->members.at[(i + 1) % c->members.n].rank, "case %llu",
			     (unsigned long long)number);
		cr_assert(i == 0 || m->rank > c->members.at[0].rank);
	}
	cr_assert(c->over == STATE_NONE || is_over(s, c->over));
}

/* No fewer ranks could be the reason. Where all need all of what they want, and nobody has ended. */
static void check_smallest(const struct states *s, const struct core *c, uint64_t number)
{
	static uint8_t others[STATE_CASE_RANKS], goes[STATE_CASE_RANKS];
	for (uint32_t set = 1; set < 1u << s->nranks && s->nranks <= 6; set++) {
		bool none = true;
		for (uint32_t r = 0; r < s->nranks; r++)
			others[r] = (set >> r & 1) == 0;
		truth(s, others, goes);
		for (uint32_t r = 0; r < s->nranks; r++)
			none &= others[r] || !goes[r];
		cr_assert(!none || (uint32_t)__builtin_popcount(set) >= c->nranks, "case %llu: %#x is smaller",
			  (unsigned long long)number, set);
	}
}

static bool is_plain(const struct states *s, const struct graph *g)
{
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.at[i].kind == STATE_OVER)
			return false;
	for (uint32_t i = 0; i < g->nodes.n; i++)
		if (graph_is_dead(g, i) && g->nodes.at[i].kind == NODE_ONE && g->out[i + 1] - g->out[i] > 1)
			return false;
	return true;
}

/* Each that cannot go on is either of a core or waits for one. Returns how many there are. */
static uint32_t check_case(const struct states *s, uint64_t number)
{
	struct graph g;
	struct cores cores;
	static uint8_t goes[STATE_CASE_RANKS], named[STATE_CASE_RANKS];
	uint32_t dead = 0;
	bool cycles = true;
	memset(named, 0, sizeof(named));
	truth(s, NULL, goes);
	cr_assert_eq(graph_make(s, &g), 0);
	for (uint32_t r = 0; r < s->nranks; r++) {
		bool is_dead = !goes[r] && !is_over(s, r);
		dead += is_dead;
		cr_assert_eq(graph_is_dead(&g, r), is_dead, "case %llu, rank %u of %u: %s", (unsigned long long)number,
			     r, s->nranks, is_dead ? "can never go on" : "can go on");
	}
	cr_assert_eq(cores_find(&g, &cores), 0);
	for (size_t i = 0; i < cores.at.n; i++) {
		const struct core *c = &cores.at.at[i];
		uint32_t counted = 0;
		if (s->nranks <= 14 || i < CORES_CHECKED)
			check_core(s, c, number);
		cycles &= c->cycle;
		cr_assert(i == 0 || c->nranks >= cores.at.at[i - 1].nranks, "the smallest is the first");
		for (size_t k = 0; k < c->members.n; k++)
			named[c->members.at[k].rank] = 1;
		for (size_t k = 0; k < c->waiting.n; k++)
			named[c->waiting.at[k]] = 1;
		for (size_t k = 0; k < c->waiters.n; k++)
			counted += c->waiters.at[k].count;
		cr_assert_eq(counted, c->waiting.n);
	}
	for (uint32_t r = 0; r < s->nranks; r++)
		cr_assert_eq(named[r], graph_is_dead(&g, r), "case %llu, rank %u", (unsigned long long)number, r);
	if (cores.at.n > 0 && is_plain(s, &g)) {
		cr_assert(cycles);
		check_smallest(s, &cores.at.at[0], number);
		smallest++;
	}
	cores_done(&cores);
	graph_done(&g);
	return dead;
}

Test(state_graph, says_of_random_situations_what_the_definition_says, .timeout = 3600)
{
	const char *wanted = getenv("STATE_CASES"), *one = getenv("STATE_CASE");
	uint64_t n = wanted != NULL ? strtoull(wanted, NULL, 10) : CASES, dead = 0, free_of_it = 0;
	uint64_t from = one != NULL ? strtoull(one, NULL, 10) : 0;
	for (uint64_t i = from; i < (one != NULL ? from + 1 : n); i++) {
		struct states s;
		state_case(&s, i);
		uint32_t found = check_case(&s, i);
		dead += found > 0;
		free_of_it += found == 0;
		states_done(&s);
	}
	cr_assert(one != NULL || (dead > n / 10 && free_of_it > n / 10 && smallest > n / 50),
		  "all kinds: %llu, %llu, %llu", (unsigned long long)dead, (unsigned long long)free_of_it,
		  (unsigned long long)smallest);
}

/* ---- by hand ---- */

static int32_t *many;

static void world(struct states *s, uint32_t n)
{
	*s = (struct states){.nranks = n};
	many = calloc(n, sizeof(*many));
	for (uint32_t i = 0; i < n; i++)
		many[i] = (int32_t)i;
	cr_assert_eq(vec_push(&s->comms, (struct state_comm){.group = many, .size = n}), 0);
}

static void waits(struct states *s, uint32_t rank, uint32_t thread, enum state_kind kind, const char *op)
{
	cr_assert_eq(
		states_add(s,
			   &(struct state){.rank = rank, .thread = thread, .kind = kind, .op = op, .site = STATE_NONE}),
		0);
}

static void message(struct states *s, int32_t from, int32_t tag)
{
	cr_assert_eq(states_want(s, &(struct want){.kind = WANT_MESSAGE, .peer = from, .tag = tag}), 0);
}

static void meeting(struct states *s, uint64_t k, int32_t coll, int32_t root)
{
	cr_assert_eq(states_want(s, &(struct want){.kind = WANT_MEETING, .k = k, .coll = coll, .root = root}), 0);
}

struct found {
	struct graph g;
	struct cores cores;
};

static void find(const struct states *s, struct found *f)
{
	cr_assert_eq(graph_make(s, &f->g), 0);
	cr_assert_eq(cores_find(&f->g, &f->cores), 0);
}

static void end(struct states *s, struct found *f)
{
	cores_done(&f->cores);
	graph_done(&f->g);
	states_done(s);
	free(many);
}

static const char *until(const struct states *s, const struct core_member *m)
{
	static char text[128];
	struct buf b = {0};
	state_put_want(&b, &s->wants.at[m->want], s->threads.at[m->thread].op, m->needs);
	snprintf(text, sizeof(text), "%.*s", (int)b.len_bytes, (const char *)b.data);
	buf_done(&b);
	return text;
}

/* Of 64 in a barrier three are missing, and they wait for each other. */
Test(state_graph, names_the_three_of_sixty_four_that_are_the_reason)
{
	struct states s;
	struct found f;
	world(&s, 64);
	for (uint32_t r = 0; r < 61; r++) {
		waits(&s, r, 0, STATE_ALL, "MPI_Barrier");
		meeting(&s, 0, COLL_BARRIER, -1);
	}
	for (uint32_t r = 61; r < 64; r++) {
		waits(&s, r, 0, STATE_ALL, "MPI_Recv");
		message(&s, r == 63 ? 61 : (int32_t)r + 1, 9);
	}
	find(&s, &f);
	cr_assert_eq(f.cores.at.n, 1);
	const struct core *c = &f.cores.at.at[0];
	cr_assert(c->cycle && c->nranks == 3 && c->members.at[0].rank == 61);
	cr_assert_str_eq(until(&s, &c->members.at[0]), "a message from rank 62 with tag 9");
	cr_assert_eq(c->waiting.n, 61);
	cr_assert(c->waiters.n == 1 && c->waiters.at[0].count == 61 && strcmp(c->waiters.at[0].op, "MPI_Barrier") == 0);
	end(&s, &f);
}

Test(state_graph, says_whose_collective_is_missing)
{
	struct states s;
	struct found f;
	world(&s, 4);
	for (uint32_t r = 0; r < 3; r++) {
		waits(&s, r, 0, STATE_ALL, "MPI_Barrier");
		meeting(&s, 0, COLL_BARRIER, -1);
	}
	waits(&s, 3, 0, STATE_ALL, "MPI_Recv");
	message(&s, 0, 0);
	find(&s, &f);
	const struct core *c = &f.cores.at.at[0];
	cr_assert(f.cores.at.n == 1 && c->cycle && c->nranks == 2);
	cr_assert_str_eq(until(&s, &c->members.at[0]), "rank 3's MPI_Barrier");
	cr_assert_eq(c->waiting.n, 2);
	end(&s, &f);
}

/* One that had no processor may have its message, but nobody's barrier. */
Test(state_graph, who_may_have_its_message_still_waits_for_a_barrier_that_cannot_end)
{
	for (int with_message = 0; with_message < 2; with_message++) {
		struct states s;
		struct found f;
		world(&s, 4);
		for (uint32_t r = 0; r < 3; r++) {
			waits(&s, r, 0, r == 0 ? STATE_ALL : STATE_FREE, "MPI_X");
			if (r == 2 && with_message)
				message(&s, 0, 0);
			else
				meeting(&s, 0, COLL_BARRIER, -1);
		}
		waits(&s, 3, 0, STATE_ALL, "MPI_Recv");
		message(&s, 0, 0);
		find(&s, &f);
		const struct core *c = &f.cores.at.at[0];
		cr_assert(f.cores.at.n == 1 && c->nranks == 2 && c->members.at[0].rank == 0);
		cr_assert_eq(c->waiting.n, with_message ? 1 : 2);
		cr_assert_eq(c->waiting.at[0], 1);
		end(&s, &f);
	}
}

Test(state_graph, who_has_ended_is_named_with_those_who_need_it)
{
	struct states s;
	struct found f;
	world(&s, 4);
	waits(&s, 0, 0, STATE_OVER, NULL);
	for (uint32_t r = 1; r < 4; r++) {
		waits(&s, r, 0, STATE_ALL, "MPI_Recv");
		message(&s, r == 3 ? 2 : 0, 9);
	}
	find(&s, &f);
	const struct core *c = &f.cores.at.at[0];
	cr_assert(f.cores.at.n == 1 && !c->cycle && c->over == 0 && c->nranks == 2 && c->waiting.n == 1 &&
		  c->waiting.at[0] == 3);
	cr_assert_str_eq(until(&s, &c->members.at[0]), "a message from rank 0 with tag 9");
	end(&s, &f);
}

/* A process goes on as long as one of its threads can; with both stuck all three are the reason. */
Test(state_graph, a_process_goes_on_as_long_as_one_of_its_threads_can)
{
	for (int helped = 0; helped < 2; helped++) {
		struct states s;
		struct found f;
		world(&s, 3);
		for (uint32_t r = 0; r < 3; r++)
			for (uint32_t t = 0; t < 2; t++) {
				waits(&s, r, t, helped && r == 1 && t == 1 ? STATE_FREE : STATE_ALL, "MPI_Recv");
				if (!helped || r != 1 || t != 1)
					message(&s, (int32_t)(r + 1 + t) % 3, 0);
			}
		find(&s, &f);
		cr_assert_eq(f.cores.at.n, helped ? 0 : 1);
		if (!helped)
			cr_assert(f.cores.at.at[0].nranks == 3 && f.cores.at.at[0].members.n == 6 &&
				  !f.cores.at.at[0].cycle);
		end(&s, &f);
	}
}

/* Two that hold what the other wants; a third only waits. */
Test(state_graph, locks_held_crosswise_are_a_cycle)
{
	struct states s;
	struct found f;
	world(&s, 3);
	for (uint32_t r = 0; r < 3; r++) {
		waits(&s, r, 0, STATE_ALL, "MPI_Win_lock");
		cr_assert_eq(
			states_want_ranks(&s, (struct want){.object = WANT_UNLOCK}, (int32_t[]){r == 0 ? 1 : 0}, 1), 0);
	}
	find(&s, &f);
	const struct core *c = &f.cores.at.at[0];
	cr_assert(f.cores.at.n == 1 && c->cycle && c->nranks == 2 && c->waiting.n == 1);
	cr_assert_str_eq(until(&s, &c->members.at[0]), "rank 1's MPI_Win_unlock");
	end(&s, &f);
}

/* ---- many at once ---- */

#define LARGE 10000u
#define PART 14

struct large {
	struct states s;
	VEC(int32_t *) groups;
	uint8_t goes[LARGE + PART];
	size_t cores;
};

static int32_t moved(int32_t rank, uint32_t by)
{
	return rank < 0 ? rank : rank + (int32_t)by;
}

static const int32_t *moved_group(struct large *x, const int32_t *group, uint32_t n)
{
	int32_t *copy = calloc(n + 1, sizeof(*copy));
	cr_assert(copy != NULL && vec_push(&x->groups, copy) == 0);
	for (uint32_t i = 0; i < n; i++)
		copy[i] = moved(group[i], x->s.nranks);
	return copy;
}

static void put_comms(struct large *x, const struct states *part)
{
	uint32_t first = (uint32_t)x->s.comms.n;
	for (size_t i = 0; i < part->comms.n; i++) {
		struct state_comm c = part->comms.at[i];
		c.group = moved_group(x, c.group, c.size);
		c.remote = c.remote != NULL ? moved_group(x, c.remote, c.remote_size) : NULL;
		c.same += first;
		cr_assert_eq(vec_push(&x->s.comms, c), 0);
	}
}

/* Ranks of their own, who have nothing to do with those that are there. */
static void put_part(struct large *x, const struct states *part)
{
	struct states *s = &x->s;
	uint32_t comm = (uint32_t)s->comms.n, wants = (uint32_t)s->wants.n, listed = (uint32_t)s->ranks.n;
	put_comms(x, part);
	for (size_t i = 0; i < part->threads.n; i++) {
		struct state t = part->threads.at[i];
		t.rank += s->nranks;
		t.first_want += wants;
		cr_assert_eq(vec_push(&s->threads, t), 0);
	}
	for (size_t i = 0; i < part->wants.n; i++) {
		struct want w = part->wants.at[i];
		w.comm += comm;
		w.peer = moved(w.peer, s->nranks);
		w.root = moved(w.root, s->nranks);
		w.first += listed;
		cr_assert_eq(vec_push(&s->wants, w), 0);
	}
	for (size_t i = 0; i < part->ranks.n; i++)
		cr_assert_eq(vec_push(&s->ranks, moved(part->ranks.at[i], s->nranks)), 0);
	for (size_t i = 0; i < part->uses.n; i++) {
		struct state_use u = part->uses.at[i];
		u.rank += s->nranks;
		u.comm += comm;
		cr_assert_eq(vec_push(&s->uses, u), 0);
	}
}

/* What is true of the parts is true of them together. */
Test(state_graph, says_of_ten_thousand_ranks_what_the_definition_says_of_their_parts)
{
	struct large *x = calloc(1, sizeof(*x));
	struct found f;
	uint32_t dead = 0;
	cr_assert_not_null(x);
	for (uint64_t i = 1; x->s.nranks < LARGE; i++) {
		struct states part;
		struct found of_part;
		state_case(&part, 1000000 + i);
		if (part.nranks > PART) {
			states_done(&part);
			continue;
		}
		truth(&part, NULL, x->goes + x->s.nranks);
		for (uint32_t r = 0; r < part.nranks; r++)
			x->goes[x->s.nranks + r] |= (uint8_t)is_over(&part, r);
		put_part(x, &part);
		x->s.nranks += part.nranks;
		find(&part, &of_part);
		x->cores += of_part.cores.at.n;
		end(&part, &of_part);
	}
	find(&x->s, &f);
	for (uint32_t r = 0; r < x->s.nranks; r++) {
		cr_assert_eq(graph_is_dead(&f.g, r), !x->goes[r], "rank %u", r);
		dead += graph_is_dead(&f.g, r);
	}
	cr_assert(dead > LARGE / 10 && dead < LARGE - LARGE / 10, "%u", dead);
	cr_assert_eq(f.cores.at.n, x->cores);
	end(&x->s, &f);
	for (size_t i = 0; i < x->groups.n; i++)
		free(x->groups.at[i]);
	vec_done(&x->groups);
	free(x);
}

/* ---- size ---- */

/* What there is to look at. */
static uint64_t size_of(const struct states *s)
{
	uint64_t n = s->nranks + s->threads.n + s->wants.n + s->uses.n;
	for (size_t i = 0; i < s->comms.n; i++)
		n += s->comms.at[i].size;
	return n;
}

static void check_linear(struct states *s, size_t cores, const char *what)
{
	struct found f;
	uint64_t size = size_of(s);
	find(s, &f);
	cr_expect(f.cores.at.n == cores, "%s: %zu cores", what, f.cores.at.n);
	cr_expect(f.g.nodes.n <= 3 * size, "%s: %zu nodes of %llu", what, f.g.nodes.n, (unsigned long long)size);
	cr_expect(f.g.edges.n <= 4 * size, "%s: %zu edges of %llu", what, f.g.edges.n, (unsigned long long)size);
	cr_expect(f.g.work <= 200 * size, "%s: %llu steps of %llu", what, (unsigned long long)f.g.work,
		  (unsigned long long)size);
	end(s, &f);
}

#define MANY 100000u

static int32_t columns[2 * MANY];

static void add_column(struct states *s, uint32_t first, uint32_t end, uint32_t step, int32_t *at)
{
	uint32_t n = 0, same = (uint32_t)s->comms.n;
	for (uint32_t r = first; r < end; r += 4)
		if (step == 1 || r / 400 % step == 0)
			at[n++] = (int32_t)r;
	at[n++] = (int32_t)MANY - 1;
	cr_assert_eq(vec_push(&s->comms, (struct state_comm){.group = at, .size = n, .same = same}), 0);
}

/* A quarter each in receives from anybody, Waitany, Waitall (some with another thread), and barriers of columns or of
 * all even columns. All come down to the last rank, which is in a cycle of three, or can go on. */
static void make_many(struct states *s, bool stuck)
{
	world(s, MANY);
	add_column(s, 3, MANY - 3, 2, columns + MANY);
	for (uint32_t c = 0; c < MANY / 400; c++)
		add_column(s, 400 * c + 3, 400 * (c + 1) < MANY - 3 ? 400 * (c + 1) : MANY - 3, 1, columns + 110 * c);
	for (uint32_t r = 0; r < MANY; r++) {
		bool last = r >= MANY - 3;
		waits(s, r, 0, !last && r % 4 == 1 ? STATE_ONE : !last || stuck ? STATE_ALL : STATE_FREE, "MPI_X");
		if (last && stuck)
			message(s, (int32_t)(r + 1 == MANY ? MANY - 3 : r + 1), 9);
		else if (!last && r % 4 == 0)
			message(s, SIG_ANY, 0);
		else if (!last && r % 4 == 3)
			cr_assert_eq(states_want(s, &(struct want){.kind = WANT_MEETING,
								   .comm = r / 400 % 2 == 0 ? 1 : 2 + r / 400,
								   .coll = COLL_BARRIER,
								   .root = -1}),
				     0);
		for (uint32_t k = 0; !last && (r % 4 == 1 || r % 4 == 2) && k < 4; k++)
			message(s, (int32_t)(r + 1 + k * k * 37 < MANY ? r + 1 + k * k * 37 : MANY - 1), (int32_t)k);
		if (r % 16 == 2 && !last) {
			waits(s, r, 1, STATE_ALL, "MPI_Recv");
			message(s, (int32_t)MANY - 1, 0);
		}
	}
}

Test(state_graph, a_hundred_thousand_ranks_take_steps_in_proportion, .timeout = 600)
{
	struct states s;
	make_many(&s, true);
	check_linear(&s, 1, "stuck");
	make_many(&s, false);
	check_linear(&s, 0, "not stuck");
}

/* Each in a collective of its own: all pairs differ. */
Test(state_graph, collectives_that_all_differ_take_steps_in_proportion, .timeout = 600)
{
	for (int same = 0; same < 2; same++) {
		struct states s;
		world(&s, MANY);
		for (uint32_t r = 0; r < MANY; r++) {
			waits(&s, r, 0, STATE_ALL, "MPI_Reduce");
			meeting(&s, same ? 0 : r / 2, COLL_REDUCE, (int32_t)r);
			cr_assert_eq(vec_push(&s.uses, (struct state_use){r, 0, CHANNEL_COLLECTIVES, same ? 0 : r / 2}),
				     0);
		}
		check_linear(&s, same ? 1 : MANY / 2, same ? "all at once" : "two after two");
	}
}

Test(state_graph, long_cycles_take_steps_in_proportion, .timeout = 600)
{
	struct states s;
	world(&s, MANY);
	for (uint32_t r = 0; r < MANY; r++) {
		waits(&s, r, 0, STATE_ALL, "MPI_Recv");
		message(&s, (int32_t)((r + 1) % MANY), 0);
	}
	check_linear(&s, 1, "a ring");
}

/* Ranks 0 and 1 wait for each other, and so do 2 and 3; 4 waits for 0, 5 for 2. */
static void two_pairs(struct states *s)
{
	static const int32_t from[] = {1, 0, 3, 2, 0, 2};
	world(s, 6);
	for (uint32_t r = 0; r < 6; r++) {
		waits(s, r, 0, STATE_ALL, "MPI_Recv");
		message(s, from[r], 9);
	}
}

Test(state_graph, who_may_have_more_threads_lets_those_go_on_who_need_it_and_nobody_else)
{
	for (int more = 0; more < 4; more++) { /* bits: of rank 1, of rank 3 */
		struct states s;
		struct found f;
		struct cores possible;
		two_pairs(&s);
		cr_assert_eq(vec_reach(&s.more, 5), 0);
		s.more.at[1] = more & 1;
		s.more.at[3] = more >> 1;
		find(&s, &f);
		cr_assert_eq(f.cores.at.n, 2);
		cr_assert_eq(cores_part(&s, &f.cores, &possible), 0);
		cr_assert_eq(f.cores.at.n, more == 3 ? 0 : more == 0 ? 2 : 1);
		cr_assert_eq(possible.at.n, more == 3 ? 2 : 0);
		for (size_t i = 0; i < f.cores.at.n; i++)
			cr_assert(s.more.at[f.cores.at.at[i].members.at[1].rank] == 0 &&
				  f.cores.at.at[i].waiting.n == 1);
		cores_done(&possible);
		end(&s, &f);
	}
}
