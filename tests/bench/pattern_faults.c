/* pattern_faults.c - a program with one to three faults of eight kinds, drawn from the seed, as the user of a trace
 * would have to find them. The same program without one of them (options.without) is the truth of what that fault
 * costs: all else is drawn the same. */
#include "calls.h"
#include "patterns.h"

#include <string.h>

#define CALLS_A_ROUND 16u
#define ROUNDS_MIN 40u
#define WORK (200 * US)	  /* of each rank, in each round */
#define SMALL_PS (2 * US) /* of a message of one number, more or less */
#define MESSAGE 4096u	  /* doubles */
#define LARGE 200000u	  /* doubles: no library sends so much before the receiver asks for it */

enum kind { UNEVEN, LATE_SEND, LATE_RECEIVE, IN_TURN, LATE_ROOT, BARRIER, SLOW_NODE, SMALL, KINDS };

static const char *const names[KINDS] = {"uneven",    "late_send", "late_receive", "in_turn",
					 "late_root", "barrier",   "slow_node",	   "small"};

/* work: what of it is in the wrong place. */
struct fault {
	uint32_t rank;
	uint64_t work;
	bool planted, there;
};

struct faulty {
	struct synth *s;
	uint32_t ranks;
	struct fault of[KINDS];
};

/* As much as a tenth to a whole of what each rank computes in a round. */
static void plant(struct faulty *f)
{
	struct synth *s = f->s;
	uint64_t chance = synth_mix(s->options.seed, 77);
	uint32_t n = 1 + (uint32_t)(chance % 3);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t draw = synth_mix(chance, i + 1);
		struct fault *x = &f->of[draw % KINDS];
		if (x->planted)
			continue;
		*x = (struct fault){(uint32_t)(draw >> 8) % f->ranks, WORK / 10 * (1 + (draw >> 40) % 10), true,
				    (s->options.without >> s->nfaults & 1) == 0};
		s->faults[s->nfaults++] = (struct synth_fault){names[draw % KINDS], x->rank};
	}
}

static uint32_t right_of(const struct faulty *f, uint32_t rank)
{
	return (rank + 1) % f->ranks;
}

static uint32_t left_of(const struct faulty *f, uint32_t rank)
{
	return (rank + f->ranks - 1) % f->ranks;
}

static void all_compute(struct faulty *f, uint64_t ps)
{
	for (uint32_t i = 0; i < f->ranks; i++)
		compute(f->s, i, ps);
}

static void meet(struct faulty *f, unsigned line)
{
	const struct shared sum = {OP_Allreduce, COLL_ALLREDUCE, WORLD, SIG_NO_ROOT, BYTES_DOUBLE, BYTES_DOUBLE};
	coll_of_all(f->s, line, sum, 100 * NS);
}

/* All compute the same; uneven: one what is everybody's; on a slow node: longer. */
static void work(struct faulty *f)
{
	const struct fault *x = &f->of[UNEVEN], *slow = &f->of[SLOW_NODE];
	all_compute(f, WORK);
	for (uint32_t i = 0; i < f->ranks; i++)
		if (slow->there && synth_node_of(f->s, i) == synth_node_of(f->s, slow->rank))
			compute(f->s, i, slow->work);
	if (x->there)
		compute(f->s, x->rank, x->work);
	else if (x->planted)
		all_compute(f, x->work / f->ranks);
	meet(f, __LINE__);
}

/* To the right, then work of which no message needs anything; late: one does it first. */
static void exchange(struct faulty *f)
{
	struct synth *s = f->s;
	const struct fault *x = &f->of[LATE_SEND];
	uint64_t *began = allocate(f->ranks, sizeof(*began));
	for (uint32_t i = 0; i < f->ranks; i++) {
		if (x->there && i == x->rank)
			compute(s, i, x->work);
		start(s, i, OP_Irecv, SIG_RECV, 0, __LINE__,
		      (struct envelope){WORLD, (int32_t)left_of(f, i), 1, TYPE_DOUBLE, MESSAGE});
		began[i] = start(s, i, OP_Isend, SIG_SEND, 0, __LINE__,
				 (struct envelope){WORLD, (int32_t)right_of(f, i), 1, TYPE_DOUBLE, MESSAGE});
	}
	for (uint32_t i = 0; i < f->ranks; i++) {
		uint32_t from = left_of(f, i);
		wait_last(s, i, __LINE__, 2, began[from] + transfer(s, from, i, MESSAGE * BYTES_DOUBLE));
		if (x->planted && !(x->there && i == x->rank))
			compute(s, i, x->work);
	}
	free(began);
	meet(f, __LINE__);
}

static void send_large(struct faulty *f, uint32_t from, uint32_t to, uint64_t received_ps)
{
	struct synth *s = f->s;
	const uint64_t send[5] = {sig_head(OP_Send, SIG_SEND, 0, 0, 0, 0), synth_address(__LINE__), sig_pair(WORLD, to),
				  sig_pair(2, TYPE_DOUBLE), LARGE};
	const uint64_t recv[6] = {sig_head(OP_Recv, SIG_RECV, SIG_SIZED, 0, 0, 0),
				  synth_address(__LINE__),
				  sig_pair(WORLD, from),
				  sig_pair(2, TYPE_DOUBLE),
				  LARGE,
				  LARGE * BYTES_DOUBLE};
	uint64_t enter = begin(s, from), over = later(enter, received_ps) + transfer(s, from, to, LARGE * BYTES_DOUBLE);
	synth_call(s, from, send, 5, enter, over);
	synth_call(s, to, recv, 6, received_ps, over + synth_vary(s, FINISH));
}

/* Of each pair one sends much, and then both work; late: one receiver works first. */
static void hand_over(struct faulty *f)
{
	const struct fault *x = &f->of[LATE_RECEIVE];
	uint32_t late = x->rank % 2 == 1 ? x->rank : right_of(f, x->rank) < x->rank ? x->rank - 1 : x->rank + 1;
	if (!x->planted)
		return;
	for (uint32_t i = 1; i < f->ranks; i += 2) {
		bool first = x->there && i == late;
		if (first)
			compute(f->s, i, x->work);
		send_large(f, i - 1, i, begin(f->s, i));
		compute(f->s, i - 1, x->work);
		if (!first)
			compute(f->s, i, x->work);
	}
	if (f->ranks % 2 == 1) /* as long as the others */
		compute(f->s, f->ranks - 1, x->work + LARGE * BYTES_DOUBLE * 100);
	meet(f, __LINE__);
}

/* Work of the same length for each; in turn: nobody begins before the one to the left is done. */
static void take_turns(struct faulty *f)
{
	struct synth *s = f->s;
	const struct fault *x = &f->of[IN_TURN];
	if (!x->planted)
		return;
	for (uint32_t i = 0; i < f->ranks; i++) {
		const uint64_t recv[6] = {sig_head(OP_Recv, SIG_RECV, SIG_SIZED, 0, 0, 0),
					  synth_address(__LINE__),
					  sig_pair(WORLD, i - 1),
					  sig_pair(3, TYPE_DOUBLE),
					  1,
					  BYTES_DOUBLE};
		const uint64_t send[5] = {sig_head(OP_Send, SIG_SEND, 0, 0, 0, 0), synth_address(__LINE__),
					  sig_pair(WORLD, i + 1), sig_pair(3, TYPE_DOUBLE), 1};
		if (x->there && i > 0) {
			uint64_t enter = begin(s, i),
				 over = s->ranks[i - 1].now_ps + transfer(s, i - 1, i, BYTES_DOUBLE);
			synth_call(s, i, recv, 6, enter, later(enter, over) + synth_vary(s, FINISH));
		}
		compute(s, i, x->work / 4);
		if (x->there && i + 1 < f->ranks) {
			uint64_t enter = begin(s, i);
			synth_call(s, i, send, 5, enter, enter + synth_vary(s, 2 * START));
		}
	}
	meet(f, __LINE__);
}

/* A root tells all what it has found; late: only after work that nobody needs. */
static void broadcast(struct faulty *f)
{
	struct synth *s = f->s;
	const struct fault *x = &f->of[LATE_ROOT];
	const struct shared c = {OP_Bcast, COLL_BCAST, WORLD, (int32_t)x->rank, 1024, 1024};
	if (!x->planted)
		return;
	if (x->there)
		compute(s, x->rank, x->work);
	uint64_t began = begin(s, x->rank);
	for (uint32_t i = 0; i < f->ranks; i++) {
		uint64_t enter = i == x->rank ? began : begin(s, i), over = enter + synth_vary(s, US);
		if (i != x->rank)
			over = later(enter, began + transfer(s, x->rank, i, 1024)) + synth_vary(s, FINISH);
		coll(s, i, __LINE__, c, enter, over);
	}
	meet(f, __LINE__);
}

/* Half of the ranks compute more, then the other half; a barrier between them makes both wait. */
static void halves(struct faulty *f)
{
	struct synth *s = f->s;
	const struct fault *x = &f->of[BARRIER];
	const struct shared barrier = {OP_Barrier, COLL_BARRIER, WORLD, SIG_NO_ROOT, 0, 0};
	if (!x->planted)
		return;
	for (uint32_t i = 0; i < f->ranks; i++)
		compute(s, i, i % 2 == 0 ? x->work : x->work / 8);
	if (x->there)
		coll_of_all(s, __LINE__, barrier, 100 * NS);
	for (uint32_t i = 0; i < f->ranks; i++)
		compute(s, i, i % 2 == 1 ? x->work : x->work / 8);
	meet(f, __LINE__);
}

/* Of each pair one sends a number after the other, where all of them fit into one message. */
static void count_out(struct faulty *f)
{
	struct synth *s = f->s;
	const struct fault *x = &f->of[SMALL];
	uint64_t messages = !x->planted ? 0 : x->there ? x->work / SMALL_PS : 1;
	for (uint64_t k = 0; k < messages; k++)
		for (uint32_t i = 0; i + 1 < f->ranks; i += 2) {
			const uint64_t send[5] = {sig_head(OP_Send, SIG_SEND, 0, 0, 0, 0), synth_address(__LINE__),
						  sig_pair(WORLD, i + 1), sig_pair(4, TYPE_DOUBLE), 1};
			const uint64_t recv[6] = {sig_head(OP_Recv, SIG_RECV, SIG_SIZED, 0, 0, 0),
						  synth_address(__LINE__),
						  sig_pair(WORLD, i),
						  sig_pair(4, TYPE_DOUBLE),
						  1,
						  BYTES_DOUBLE};
			uint64_t sent = begin(s, i), waits = begin(s, i + 1);
			uint64_t over =
				later(waits, sent + transfer(s, i, i + 1, BYTES_DOUBLE)) + synth_vary(s, FINISH);
			synth_call(s, i, send, 5, sent, over);
			synth_call(s, i + 1, recv, 6, waits, over);
		}
	if (x->planted)
		meet(f, __LINE__);
}

/* Times vary by a tenth of what they do in other patterns: what is planted is to be the worst that there is. */
static void be_quiet(struct synth *s)
{
	const uint32_t n = sizeof(s->spread) / sizeof(s->spread[0]);
	for (uint32_t i = 0; i < n; i++) {
		int64_t more = (int64_t)s->spread[i] - n;
		s->spread[i] = more > n ? n : (uint32_t)(n + more / 10);
	}
}

void pattern_faults(struct synth *s, uint64_t events)
{
	struct faulty f = {.s = s, .ranks = s->options.ranks};
	uint64_t rounds = events / f.ranks / CALLS_A_ROUND;
	be_quiet(s);
	for (uint32_t i = 0; i < f.ranks; i++)
		s->ranks[i].pace = 1;
	plant(&f);
	for (uint64_t i = 0; i < (rounds > ROUNDS_MIN ? rounds : ROUNDS_MIN) && !s->failed; i++) {
		work(&f);
		exchange(&f);
		hand_over(&f);
		take_turns(&f);
		broadcast(&f);
		halves(&f);
		count_out(&f);
		synth_round(s, s->ranks[0].now_ps);
	}
}
