/* patterns.c - those in which all ranks do the same: halo, self, alltoall. */
#include "calls.h"
#include "patterns.h"

/* ---- halo ---- */

static uint32_t neighbor(struct grid g, uint32_t rank, unsigned k)
{
	uint32_t row = rank / g.columns, column = rank % g.columns;
	if (k < 2)
		row = (row + (k == 0 ? g.rows - 1 : 1)) % g.rows;
	else
		column = (column + (k == 2 ? g.columns - 1 : 1)) % g.columns;
	return row * g.columns + column;
}

static uint32_t make_grid(struct synth *s)
{
	const struct mpic_rank_run world = {0, 1, s->options.ranks};
	uint32_t comm = 0;
	uint64_t last = 0;
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		simple(s, i, OP_Comm_size, __LINE__);
		simple(s, i, OP_Dims_create, __LINE__);
		s->ranks[i].now_ps += synth_vary(s, GAP);
		last = later(last, s->ranks[i].now_ps);
	}
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		comm = synth_comm(s, i, OP_Cart_create, synth_mix(1, 0), world);
		const uint64_t words[3] = {sig_head(OP_Cart_create, SIG_COMM, 0, 0, 0, 0), synth_address(__LINE__),
					   sig_pair(WORLD, comm)};
		synth_call(s, i, words, 3, s->ranks[i].now_ps, last + synth_vary(s, 100 * US));
		simple(s, i, OP_Comm_rank, __LINE__);
		simple(s, i, OP_Cart_shift, __LINE__);
		simple(s, i, OP_Cart_shift, __LINE__);
	}
	return comm;
}

/* Times when the four sends of each rank began are left in began. */
static void halo_start(struct synth *s, struct grid g, uint32_t comm, uint64_t (*began)[4])
{
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		compute(s, i, 20 * US);
		for (unsigned k = 0; k < 4; k++)
			start(s, i, OP_Irecv, SIG_RECV, 0, __LINE__,
			      (struct envelope){comm, (int32_t)neighbor(g, i, k), (int32_t)k, TYPE_DOUBLE, 128});
		for (unsigned k = 0; k < 4; k++)
			began[i][k] = start(
				s, i, OP_Isend, SIG_SEND, 0, __LINE__,
				(struct envelope){comm, (int32_t)neighbor(g, i, k ^ 1), (int32_t)k, TYPE_DOUBLE, 128});
	}
}

void pattern_halo(struct synth *s, uint64_t events)
{
	const struct grid g = grid_of(s->options.ranks);
	uint64_t(*began)[4] = allocate(s->options.ranks, sizeof(*began));
	uint32_t comm = make_grid(s);
	const struct shared sum = {OP_Allreduce, COLL_ALLREDUCE, comm, SIG_NO_ROOT, BYTES_DOUBLE, BYTES_DOUBLE};
	while (s->events < events && !s->failed) {
		halo_start(s, g, comm, began);
		for (uint32_t i = 0; i < s->options.ranks; i++) {
			uint64_t over = 0;
			for (unsigned k = 0; k < 4; k++) {
				uint32_t from = neighbor(g, i, k);
				over = later(over, began[from][k] + transfer(s, from, i, 128 * BYTES_DOUBLE));
			}
			wait_last(s, i, __LINE__, 8, over);
		}
		synth_round(s, coll_of_all(s, __LINE__, sum, 100 * NS));
	}
	free(began);
}

/* ---- alltoall ---- */

#define PART 4096u     /* bytes to each, Alltoall */
#define VARIANTS 8u    /* of Alltoallv */
#define LIST_WORDS 64u /* at most: more peers have more equal sizes */
#define SHARED_BYTES 65536u

/* Sizes to each peer in that iteration; returns how many words. */
static uint32_t put_sizes(struct synth *s, uint32_t rank, uint64_t iteration, uint64_t *w)
{
	uint32_t n = s->options.ranks, used = 0;
	const uint32_t repeat = n > 4 * LIST_WORDS ? (n + LIST_WORDS - 1) / LIST_WORDS : 4;
	for (uint32_t i = 0; i < n; i += repeat) {
		uint64_t chance = synth_mix(synth_mix(rank, iteration % VARIANTS), i);
		w[used++] = chance % PART * 2 | (uint64_t)(n - i < repeat ? n - i : repeat) << 48;
	}
	return used;
}

static void alltoallv(struct synth *s, uint64_t iteration)
{
	uint32_t n = s->options.ranks;
	uint64_t last = last_of_all(s);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t words[5 + LIST_WORDS] = {0, synth_address(__LINE__), sig_pair(WORLD, (uint32_t)SIG_NO_ROOT)};
		uint32_t list = put_sizes(s, i, iteration, words + 5);
		words[0] = sig_head(OP_Alltoallv, SIG_COLL, 0, list, 0, COLL_ALLTOALLV);
		synth_call(s, i, words, 5 + list, s->ranks[i].now_ps,
			   last + agreement(s, n) + synth_vary(s, (uint64_t)n * PART * 80));
	}
}

/* All but the root wait for the root alone. */
static void bcast(struct synth *s, int32_t root)
{
	const struct shared c = {OP_Bcast, COLL_BCAST, WORLD, root, SHARED_BYTES, SHARED_BYTES};
	const uint64_t began = begin(s, (uint32_t)root);
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		bool is_root = i == (uint32_t)root;
		uint64_t enter = is_root ? began : begin(s, i);
		uint64_t over = is_root ? enter + synth_vary(s, 8 * US)
					: later(enter, began + transfer(s, (uint32_t)root, i, SHARED_BYTES));
		coll(s, i, __LINE__, c, enter, over + synth_vary(s, FINISH));
	}
}

void pattern_alltoall(struct synth *s, uint64_t events)
{
	const uint32_t n = s->options.ranks;
	const struct shared all = {OP_Alltoall, COLL_ALLTOALL, WORLD, SIG_NO_ROOT, PART, PART};
	const struct shared sum = {OP_Allreduce, COLL_ALLREDUCE, WORLD, SIG_NO_ROOT, BYTES_DOUBLE, BYTES_DOUBLE};
	for (uint64_t k = 0; s->events < events && !s->failed; k++) {
		for (uint32_t i = 0; i < n; i++)
			compute(s, i, 50 * US);
		coll_of_all(s, __LINE__, all, (uint64_t)n * PART * 80);
		if (k % 2 == 1)
			alltoallv(s, k);
		uint64_t now = coll_of_all(s, __LINE__, sum, 100 * NS);
		bcast(s, (int32_t)(k % (n < 4 ? n : 4)));
		synth_round(s, now);
	}
}

/* ---- self ---- */

void pattern_self(struct synth *s, uint64_t events)
{
	while (s->events < events && !s->failed) {
		for (uint32_t i = 0; i < s->options.ranks; i++) {
			const struct envelope e = {WORLD, (int32_t)i, 5, TYPE_INT, 1};
			start(s, i, OP_Irecv, SIG_RECV, 0, __LINE__, e);
			uint64_t began = start(s, i, OP_Isend, SIG_SEND, 0, __LINE__, e);
			wait_last(s, i, __LINE__, 2, began + START);
		}
		synth_round(s, s->ranks[0].now_ps);
	}
}
