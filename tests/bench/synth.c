/* synth.c - see synth.h. What collect/ and pmpi/ do with calls is done here as they do it: drain.c, snapshot.c, meta.c
 * and stream.c are the models; sizes and back-offs are theirs. */
#include "synth_parts.h"

#include "base/vec.h"
#include "pmpi/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENT_BYTES (256u << 10)	 /* of a main thread */
#define SEGMENTS_BYTES_MAX (1024u << 20) /* of all ranks together: with more than 4,096 segments are smaller */
#define FILE_ID 0x73796e74u
#define EXTRA_MAX MPIC_EXTRA_MAX
#define ROUND_PS 50000000000ull /* the agent sleeps at most so long */
#define START_PS 20000000000ull /* of the first process */
#define INIT_PS 300000000000ull
#define TICKS_PER_PS 0.00245

void *synth_allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);
	if (p == NULL) {
		fprintf(stderr, "out of memory\n");
		exit(3);
	}
	return p;
}

void synth_grow(void *at, size_t *cap, size_t want, size_t size)
{
	if (vec_grow(at, cap, want, size) < 0) {
		fprintf(stderr, "out of memory\n");
		exit(3);
	}
}

uint32_t synth_node_of(const struct synth *s, uint32_t rank)
{
	return (uint32_t)((uint64_t)rank * s->options.nodes / s->options.ranks);
}

uint64_t synth_address(unsigned line)
{
	return CODE_BEGIN + (uint64_t)line * INSTRUCTION_BYTES % CODE_BYTES;
}

struct node *synth_place_of(const struct synth *s, uint32_t rank)
{
	return &s->files->nodes[synth_node_of(s, rank)];
}

/* ---- events ---- */

/* The next record; returns where it ends. */
static size_t read_record(const struct synth_record *r, size_t at, uint64_t clock, struct mpic_event *ret_event)
{
	uint64_t head = r->records[at++], gap = head >> 16 & SEGREC_TICKS_MAX, duration = head >> 40;
	struct mpic_event ev = {.sig = (uint32_t)head & SEGREC_LONG};
	if (ev.sig == SEGREC_LONG) {
		ev.sig = (uint32_t)(head >> 16) & SEGREC_TICKS_MAX;
		ev.nextra = (uint32_t)(head >> 40);
		gap = r->records[at++];
		duration = r->records[at++];
		ev.extra = &r->records[at];
		at += ev.nextra;
	}
	ev.enter_tick = clock + gap;
	ev.exit_tick = ev.enter_tick + duration;
	*ret_event = ev;
	return at;
}

/* Records since the last time go into the totals: many of one rank at once, while its totals are in the cache. */
void synth_add_up(struct synth_record *r)
{
	struct mpic_event ev;
	while (r->added_words < r->len_words) {
		r->added_words = read_record(r, r->added_words, 0, &ev);
		r->totals[ev.sig].calls++;
		r->totals[ev.sig].ticks += ev.exit_tick - ev.enter_tick;
	}
}

/* A segment becomes a block, as in collect/drain.c. */
static void put_events(struct synth *s, uint32_t rank)
{
	struct synth_record *r = s->ranks[rank].record;
	struct mpic_columns *c = &s->files->columns;
	struct buf *payload = &s->files->payload;
	struct mpic_event ev;
	if (r->len_words == 0)
		return;
	synth_add_up(r);
	mpic_columns_begin(c, r->begin_tick);
	for (size_t at = 0; at < r->len_words;) {
		at = read_record(r, at, c->clock, &ev);
		mpic_columns_put(c, &ev);
	}
	payload->len_bytes = 0;
	mpic_columns_payload(c, payload);
	struct mpic_block b = {.kind = MPIC_EVENTS, .process = r->index, .seq = r->events_seq++};
	synth_put_block(s, synth_place_of(s, rank), &b, payload);
	synth_put_defs(s, rank);
	r->written += c->count;
	r->slow_calls++;
	r->slow_ticks += SLOW_TICKS;
	r->len_words = r->added_words = 0;
	r->begin_tick = r->previous_tick;
}

static uint64_t *room_for(struct synth *s, uint32_t rank, size_t words)
{
	struct synth_record *r = s->ranks[rank].record;
	if (r->len_words + words > s->files->segment_words)
		put_events(s, rank);
	if (r->len_words + words > r->cap_words)
		synth_grow(&r->records, &r->cap_words, r->len_words + words, sizeof(*r->records));
	uint64_t *p = r->records + r->len_words;
	r->len_words += words;
	return p;
}

static void record(struct synth *s, uint32_t rank, uint32_t sig, uint64_t enter, uint64_t exit, const uint64_t *extra,
		   uint32_t nextra)
{
	struct synth_record *r = s->ranks[rank].record;
	uint64_t gap = enter - r->previous_tick, duration = exit - enter;
	if (nextra == 0 && (gap | duration) <= SEGREC_TICKS_MAX) {
		*room_for(s, rank, 1) = segrec_short(sig, gap, duration);
	} else {
		uint64_t *p = room_for(s, rank, 3 + (size_t)nextra);
		*p++ = segrec_long(sig, nextra);
		*p++ = gap;
		*p++ = duration;
		for (uint32_t i = 0; i < nextra; i++)
			*p++ = extra[i];
	}
	r->previous_tick = exit;
	s->events++;
}

static void put_call(struct synth *s, uint32_t rank, const uint64_t *words, uint32_t nwords, uint64_t enter_ps,
		     uint64_t exit_ps, uint64_t polls)
{
	uint64_t extra[EXTRA_MAX];
	struct synth_rank *r = &s->ranks[rank];
	const struct node *n = synth_place_of(s, rank);
	uint64_t enter = synth_tick_at(s, n, enter_ps), exit = synth_tick_at(s, n, exit_ps),
		 calls = polls > 0 ? polls : 1;
	bool literal = false;
	uint32_t sig = synth_sig_of(r->record, words, nwords, &literal), nextra = 0;
	enter = enter > r->record->previous_tick ? enter : r->record->previous_tick;
	exit = exit > enter ? exit : enter;
	uint64_t inside = polls > 0 ? (exit - enter) / 2 : exit - enter;
	for (; literal && nextra < nwords && nextra < EXTRA_MAX - 2; nextra++)
		extra[nextra] = words[nextra];
	if (polls > 0) {
		extra[nextra++] = polls;
		extra[nextra++] = inside;
	}
	if (polls > 0) { /* synth_add_up() takes it for one call, which it is in between */
		r->record->totals[sig].calls += polls - 1;
		r->record->totals[sig].ticks += inside - (exit - enter);
	}
	s->op_calls[words[0] & 0xffff] += calls;
	r->next_serial += (words[0] >> 24 & SIG_STARTS_REQUEST) != 0;
	r->now_ps = exit_ps;
	record(s, rank, sig, enter, exit, extra, nextra);
}

void synth_call(struct synth *s, uint32_t rank, const uint64_t *words, uint32_t nwords, uint64_t enter_ps,
		uint64_t exit_ps)
{
	put_call(s, rank, words, nwords, enter_ps, exit_ps, 0);
}

void synth_polls(struct synth *s, uint32_t rank, const uint64_t *words, uint32_t nwords, uint64_t enter_ps,
		 uint64_t exit_ps, uint64_t calls)
{
	put_call(s, rank, words, nwords, enter_ps, exit_ps, calls);
}

/* ---- beginning ---- */

/* Times vary as in practice: most by some percent, few by much, one in 2,048 because of something else. */
static void make_spread(struct synth *s)
{
	enum { N = 4096, OTHERS = 2 };
	for (uint32_t i = 0; i < N; i++) {
		double p = (i + 0.5) / N, factor = exp(0.1 * log(p / (1 - p)));
		s->spread[i] = (uint32_t)(factor * N);
	}
	for (uint32_t i = N - OTHERS; i < N; i++)
		s->spread[i] = 12 * N;
}

static void open_node(struct synth *s, uint32_t i)
{
	struct node *n = &s->files->nodes[i];
	uint64_t chance = synth_mix(s->options.seed + 1, i);
	double ppm = ((double)(chance & 0xff) - 128) / 16;
	if (snprintf(n->path, sizeof(n->path), "%s/n%05u.mpic", s->options.dir, i) >= (int)sizeof(n->path))
		errno = ENAMETOOLONG, synth_give_up(s, s->options.dir);
	n->fd = open(n->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (n->fd < 0)
		synth_give_up(s, n->path);
	n->tick_zero = 1000000000000ull + (chance >> 20 & 0xffffffffffull);
	n->ticks_per_ps = (unsigned __int128)(TICKS_PER_PS * (1 + ppm * 1e-6) * 0x1p64);
	n->monotonic_zero_ns = (int64_t)((double)n->tick_zero / (TICKS_PER_PS * 1e3));
	mpic_append_magic(&n->pending, FILE_ID ^ i);
	synth_keep_clock(n, synth_sample_at(s, n, 0));
	backoff_written(&n->clocks_sampled, n->monotonic_zero_ns);
}

static void begin_rank(struct synth *s, uint32_t rank)
{
	struct synth_rank *r = &s->ranks[rank];
	struct node *n = synth_place_of(s, rank);
	uint32_t node = synth_node_of(s, rank), nodes = s->options.nodes;
	r->record = synth_allocate(1, sizeof(*r->record));
	/* The first rank of a node is the smallest r with r * nodes / ranks == node. */
	r->record->index = rank - (uint32_t)(((uint64_t)node * s->options.ranks + nodes - 1) / nodes);
	r->pace = 1 + 0.2 * (double)(synth_mix(s->options.seed + 2, rank) >> 11) * 0x1p-53;
	r->now_ps = START_PS + synth_random(s) % (START_PS / 4);
	r->record->clock_start = synth_sample_at(s, n, r->now_ps);
	r->record->start_tick = r->record->begin_tick = r->record->previous_tick = r->record->clock_start.tick;
	synth_begin_dictionary(r->record);
	synth_put_meta(s, rank, true);
	backoff_written(&r->record->snapshots, r->record->clock_start.monotonic_ns);
}

struct synth *synth_create(const struct synth_options *o)
{
	struct synth *s = synth_allocate(1, sizeof(*s));
	size_t share = SEGMENTS_BYTES_MAX / o->ranks;
	s->options = *o;
	s->random = synth_mix(o->seed, 0x73796e7468);
	s->ranks = synth_allocate(o->ranks, sizeof(*s->ranks));
	s->files = synth_allocate(1, sizeof(*s->files));
	s->files->nodes = synth_allocate(o->nodes, sizeof(*s->files->nodes));
	s->files->segment_words =
		((share < SEGMENT_BYTES ? share : SEGMENT_BYTES) - sizeof(struct segment)) / sizeof(uint64_t);
	make_spread(s);
	if (mkdir(o->dir, 0777) != 0 && errno != EEXIST)
		synth_give_up(s, o->dir);
	for (uint32_t i = 0; i < o->nodes; i++)
		open_node(s, i);
	for (uint32_t r = 0; r < o->ranks; r++)
		begin_rank(s, r);
	for (uint32_t i = 0; i < o->nodes; i++) {
		synth_put_node_meta(s, i);
		synth_put_clocks(s, &s->files->nodes[i], s->files->nodes[i].monotonic_zero_ns);
	}
	return s;
}

static void initialized(struct synth *s, uint32_t rank, uint64_t exit_ps)
{
	const struct mpic_rank_run world = {0, 1, s->options.ranks}, self = {(int32_t)rank, 1, 1};
	const uint64_t words[2] = {sig_head(OP_Init, SIG_TIME, 0, 0, 0, 0), synth_address(__LINE__ % 8)};
	struct synth_record *r = s->ranks[rank].record;
	synth_define_modules(r, s->options.program);
	synth_comm(s, rank, OP_Init, 1, world);
	synth_comm(s, rank, OP_Init, synth_mix(2, rank), self);
	synth_define_types(r);
	synth_call(s, rank, words, 2, s->ranks[rank].now_ps, exit_ps);
	r->init_exit_tick = r->previous_tick;
	r->running = true;
}

void synth_init(struct synth *s)
{
	for (uint32_t i = 0; i < s->options.ranks; i++)
		initialized(s, i, INIT_PS + synth_random(s) % (INIT_PS / 200));
	for (uint32_t i = 0; i < s->options.ranks; i++) /* described as soon as it has a rank */
		synth_snapshot(s, i, true, synth_sample_at(s, synth_place_of(s, i), INIT_PS).monotonic_ns);
	s->files->next_round_ps = INIT_PS + ROUND_PS;
	s->begun_ps = INIT_PS;
}

/* ---- while it runs ---- */

static void look_around(struct synth *s, uint32_t node, uint64_t now_ps)
{
	struct node *n = &s->files->nodes[node];
	struct tick_sample now = synth_sample_at(s, n, now_ps);
	if (backoff_is_due(&n->clocks_sampled, CLOCK_SAMPLE_SHARE, now.monotonic_ns)) {
		synth_keep_clock(n, now);
		backoff_written(&n->clocks_sampled, now.monotonic_ns);
	}
	if (backoff_is_due(&n->clocks_written, CLOCK_SHARE, now.monotonic_ns))
		synth_put_clocks(s, n, now.monotonic_ns);
}

void synth_round(struct synth *s, uint64_t now_ps)
{
	if (now_ps < s->files->next_round_ps)
		return;
	s->files->next_round_ps = now_ps + ROUND_PS;
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		int64_t now_ns = synth_place_of(s, i)->monotonic_zero_ns + (int64_t)(now_ps / 1000);
		if (backoff_is_due(&s->ranks[i].record->snapshots, SNAPSHOT_SHARE, now_ns))
			synth_snapshot(s, i, false, now_ns);
	}
	for (uint32_t i = 0; i < s->options.nodes; i++)
		look_around(s, i, now_ps);
}

/* ---- ending ---- */

static void finalized(struct synth *s, uint32_t rank, uint64_t enter_ps, uint64_t exit_ps)
{
	const uint64_t words[2] = {sig_head(OP_Finalize, SIG_TIME, 0, 0, 0, 0), synth_address(__LINE__ % 8)};
	struct synth_record *r = s->ranks[rank].record;
	synth_call(s, rank, words, 2, enter_ps, exit_ps);
	r->finalize_tick = synth_tick_at(s, synth_place_of(s, rank), enter_ps);
	r->clock_end = synth_sample_at(s, synth_place_of(s, rank), exit_ps + 1000000);
	r->end_tick = r->clock_end.tick > r->previous_tick ? r->clock_end.tick : r->previous_tick;
	r->finalized = true;
	put_events(s, rank);
	synth_put_defs(s, rank);
	synth_snapshot(s, rank, false, r->clock_end.monotonic_ns);
}

void synth_finalize(struct synth *s)
{
	uint64_t last_ps = 0;
	for (uint32_t i = 0; i < s->options.ranks; i++)
		last_ps = s->ranks[i].now_ps > last_ps ? s->ranks[i].now_ps : last_ps;
	s->last_ps = last_ps;
	for (uint32_t i = 0; i < s->options.ranks; i++)
		finalized(s, i, s->ranks[i].now_ps + synth_vary(s, 100000),
			  last_ps + 20000000000ull + synth_vary(s, 10000000000ull));
}

/* Everything once more, whole, then the end. */
static void end_node(struct synth *s, uint32_t node)
{
	static struct buf json;
	struct node *n = &s->files->nodes[node];
	uint64_t events = 0, processes = 0;
	synth_put_node_meta(s, node);
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		struct synth_record *r = s->ranks[i].record;
		if (synth_node_of(s, i) != node)
			continue;
		synth_snapshot(s, i, true, r->clock_end.monotonic_ns);
		synth_keep_clock(n, r->clock_start);
		synth_keep_clock(n, r->clock_end);
		events += r->written;
		processes++;
	}
	synth_put_clocks(s, n, 0);
	json.len_bytes = 0;
	buf_printf(&json, "{\"processes\":%llu,\"events\":%llu,\"blocks\":%llu,\"failed_blocks\":0,\"lost\":0}",
		   (unsigned long long)processes, (unsigned long long)events, (unsigned long long)n->blocks);
	struct mpic_block b = {.kind = MPIC_END, .process = MPIC_NODE, .seq = FILE_ID ^ node};
	synth_put_block(s, n, &b, &json);
	synth_flush(s, n);
	if (n->fd >= 0 && close(n->fd) != 0)
		synth_give_up(s, n->path);
	buf_done(&n->pending);
	buf_done(&n->clocks);
}

int synth_end(struct synth *s)
{
	bool failed;
	for (uint32_t i = 0; i < s->options.nodes; i++)
		end_node(s, i);
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		struct synth_record *r = s->ranks[i].record;
		free(r->records);
		free(r->slots);
		free(r->totals);
		buf_done(&r->defs);
		free(r);
	}
	failed = s->failed;
	mpic_columns_done(&s->files->columns);
	buf_done(&s->files->payload);
	free(s->files->nodes);
	free(s->files);
	free(s->ranks);
	free(s);
	return failed ? -EIO : 0;
}
