/* pattern_master.c - teams of one master and its workers. A worker sends what it has and receives the next task, whose
 * size and tag it does not know; the master takes what comes first, from anyone. */
#include "calls.h"
#include "patterns.h"

#define TEAM 64u
#define TASK_BYTES_MAX 65536u
#define EAGER_BYTES 4096u /* a larger message waits for its receive */
#define RESULTS 100u	  /* different sizes */
#define TASKS 16u
#define TAGS 4u
#define TAG_STOP 99

struct team {
	uint32_t master, end; /* ranks [master, end) */
};

/* What a worker has sent, and the master has not yet taken. */
struct result {
	uint64_t began_ps, over_ps; /* over: it is there if somebody waits for it */
	uint64_t bytes;
	int32_t tag;
};

static void send(struct synth *s, uint32_t rank, unsigned line, uint32_t to, int32_t tag, uint64_t bytes,
		 uint64_t enter, uint64_t exit)
{
	const uint64_t words[5] = {sig_head(OP_Send, SIG_SEND, 0, 0, 0, 0), synth_address(line), sig_pair(WORLD, to),
				   sig_pair((uint32_t)tag, TYPE_BYTE), bytes};
	synth_call(s, rank, words, 5, enter, exit);
}

static void receive(struct synth *s, uint32_t rank, unsigned line, unsigned wild, uint32_t from, int32_t tag,
		    uint64_t bytes, uint64_t enter, uint64_t exit)
{
	const uint64_t words[6] = {sig_head(OP_Recv, SIG_RECV, SIG_SIZED | wild, 0, 0, 0),
				   synth_address(line),
				   sig_pair(WORLD, from),
				   sig_pair((uint32_t)tag, TYPE_BYTE),
				   TASK_BYTES_MAX,
				   bytes};
	synth_call(s, rank, words, 6, enter, exit);
}

/* The worker has computed and begins to send. */
static void offer(struct synth *s, uint32_t worker, uint32_t master, struct result *r)
{
	uint64_t steps = synth_random(s) % RESULTS;
	r->bytes = 16 + steps * steps * 6;
	r->tag = 1 + (int32_t)(steps * TAGS / RESULTS);
	r->began_ps = begin(s, worker);
	r->over_ps = r->began_ps + transfer(s, worker, master, r->bytes);
}

/* The master takes a result; the worker's send is over, and it waits for a task. Returns when it began to. */
static uint64_t take(struct synth *s, uint32_t worker, uint32_t master, const struct result *r)
{
	uint64_t enter = begin(s, master), over = later(enter, r->over_ps), sent;
	bool eager = r->bytes <= EAGER_BYTES;
	if (!eager && enter > r->began_ps)
		over = enter + transfer(s, worker, master, r->bytes);
	receive(s, master, __LINE__, SIG_ANY_SOURCE | SIG_ANY_TAG, worker, r->tag, r->bytes, enter,
		over + synth_vary(s, FINISH));
	sent = eager ? r->began_ps + synth_vary(s, 2 * START) : over;
	send(s, worker, __LINE__, master, r->tag, r->bytes, r->began_ps, sent);
	return begin(s, worker);
}

static void give(struct synth *s, uint32_t worker, uint32_t master, uint64_t waits_ps, int32_t tag, uint64_t bytes)
{
	uint64_t enter = begin(s, master), over = enter + transfer(s, master, worker, bytes);
	send(s, master, __LINE__, worker, tag, bytes, enter, enter + synth_vary(s, 2 * START + bytes * 20));
	receive(s, worker, __LINE__, SIG_ANY_TAG, master, tag, bytes, waits_ps,
		later(waits_ps, over) + synth_vary(s, FINISH));
}

static uint32_t first_there(const struct team *t, const struct result *results)
{
	uint32_t first = t->master + 1;
	for (uint32_t i = first + 1; i < t->end; i++)
		first = results[i].over_ps < results[first].over_ps ? i : first;
	return first;
}

static void one_task(struct synth *s, const struct team *t, struct result *results)
{
	uint32_t worker = first_there(t, results);
	uint64_t waits = take(s, worker, t->master, &results[worker]);
	uint64_t size = synth_random(s) % TASKS;
	give(s, worker, t->master, waits, 10 + (int32_t)(size * TAGS / TASKS), 64 + size * size * 256);
	compute(s, worker, (20 + size * size) * US);
	offer(s, worker, t->master, &results[worker]);
}

static void stop(struct synth *s, const struct team *t, struct result *results)
{
	for (uint32_t n = t->master + 1; n < t->end; n++) {
		uint32_t worker = first_there(t, results);
		uint64_t waits = take(s, worker, t->master, &results[worker]);
		give(s, worker, t->master, waits, TAG_STOP, 0);
		results[worker].over_ps = UINT64_MAX;
	}
}

void pattern_master(struct synth *s, uint64_t events)
{
	const uint32_t ranks = s->options.ranks, nteams = ranks < TEAM ? 1 : ranks / TEAM;
	const struct shared barrier = {OP_Barrier, COLL_BARRIER, WORLD, SIG_NO_ROOT, 0, 0};
	struct team *teams = allocate(nteams, sizeof(*teams));
	struct result *results = allocate(ranks, sizeof(*results));
	uint64_t stopping = 4 * (uint64_t)ranks;
	for (uint32_t i = 0; i < nteams; i++) {
		teams[i].master = (uint32_t)((uint64_t)i * ranks / nteams);
		teams[i].end = (uint32_t)(((uint64_t)i + 1) * ranks / nteams);
		for (uint32_t k = teams[i].master + 1; k < teams[i].end; k++)
			offer(s, k, teams[i].master, &results[k]);
	}
	while (s->events + stopping < events && !s->failed) {
		for (uint32_t i = 0; i < nteams; i++)
			one_task(s, &teams[i], results);
		synth_round(s, s->ranks[0].now_ps);
	}
	for (uint32_t i = 0; i < nteams; i++)
		stop(s, &teams[i], results);
	coll_of_all(s, __LINE__, barrier, NS);
	free(teams);
	free(results);
}
