/* synth.c - see synth.h. What collect/ and pmpi/ do with calls is done here as they do it: drain.c, snapshot.c, meta.c
 * and stream.c are the models; sizes and back-offs are theirs. */
#include "synth.h"

#include "base/vec.h"
#include "collect/snapshot.h"
#include "pmpi/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENT_BYTES (256u << 10)	 /* of a main thread */
#define SEGMENTS_BYTES_MAX (1024u << 20) /* of all ranks together: with more than 4,096 segments are smaller */
#define DEFLATE_LEVEL 6
#define FLUSH_BYTES (1u << 20)
#define FILE_ID 0x73796e74u
#define SLOTS_FIRST 64u
#define EXTRA_MAX MPIC_EXTRA_MAX
#define SLOW_TICKS 5000		/* of the tracer, for what is new */
#define ROUND_PS 50000000000ull /* the agent sleeps at most so long */
#define START_PS 20000000000ull /* of the first process */
#define INIT_PS 300000000000ull
#define REALTIME_ZERO_NS 1760000000000000000ll
#define TICKS_PER_PS 0.00245
#define CODE_BEGIN 0x401000ull /* of the program */
#define CODE_BYTES 0x8000ull
#define INSTRUCTION_BYTES 16u /* from line to line */

/* What tracer and agent know of one rank. */
struct synth_record {
	uint32_t index; /* in its node's file */
	uint64_t *records;
	size_t len_words, cap_words, added_words;
	uint64_t begin_tick, previous_tick;
	uint64_t *slots; /* as in pmpi/stream.h: hash | signature */
	uint32_t slots_mask;
	struct segment_total *totals;
	size_t totals_cap;
	uint32_t nsigs, nexact, ncomms;
	uint64_t ops_defined;
	struct buf defs;
	uint64_t defs_seq, events_seq, profile_seq, meta_seq;
	uint64_t written, calls;
	uint64_t slow_calls, slow_ticks;
	uint64_t start_tick, init_exit_tick, finalize_tick, end_tick;
	struct tick_sample clock_start, clock_end;
	struct backoff snapshots;
	bool running, finalized;
};

/* One node: its clock and its file. */
struct node {
	char path[PATH_MAX];
	int fd;
	struct buf pending;
	uint64_t blocks, clock_seq, meta_seq;
	uint64_t tick_zero;
	unsigned __int128 ticks_per_ps; /* in 2^-64 */
	int64_t monotonic_zero_ns;
	struct buf clocks;
	struct backoff clocks_sampled, clocks_written;
};

struct synth_files {
	struct node *nodes;
	uint32_t nnodes;
	size_t segment_words;
	uint64_t next_round_ps;
	struct mpic_columns columns;
	struct buf payload;
};

static const char *const op_names[SYNTH_OP_COUNT] = {
#define OP(name) "MPI_" #name,
	SYNTH_OPS(OP)
#undef OP
};

static void give_up(struct synth *s, const char *what)
{
	if (!s->failed)
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
	s->failed = true;
}

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);
	if (p == NULL) {
		fprintf(stderr, "out of memory\n");
		exit(3);
	}
	return p;
}

static void grow(void *at, size_t *cap, size_t want, size_t size)
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

static struct node *node_of(const struct synth *s, uint32_t rank)
{
	return &s->files->nodes[synth_node_of(s, rank)];
}

/* ---- clocks ---- */

static uint64_t tick_at(struct synth *s, const struct node *n, uint64_t ps)
{
	uint64_t tick = n->tick_zero + (uint64_t)(ps * n->ticks_per_ps >> 64);
	return s->options.noise ? (tick + (synth_random(s) >> 32) % 26) & ~1ull : tick * 2 / 49 * 49 / 2;
}

static struct tick_sample sample_at(struct synth *s, const struct node *n, uint64_t ps)
{
	int64_t ns = (int64_t)(ps / 1000);
	return (struct tick_sample){tick_at(s, n, ps), n->monotonic_zero_ns + ns,
				    REALTIME_ZERO_NS + ns + (int64_t)(synth_random(s) % 61) - 30};
}

/* ---- blocks ---- */

static void flush(struct synth *s, struct node *n)
{
	size_t done = 0;
	while (done < n->pending.len_bytes && !s->failed) {
		ssize_t got = write(n->fd, n->pending.data + done, n->pending.len_bytes - done);
		if (got > 0)
			done += (size_t)got;
		else if (got == 0 || errno != EINTR)
			give_up(s, n->path);
	}
	n->pending.len_bytes = 0;
}

static void put_block(struct synth *s, struct node *n, const struct mpic_block *b, const struct buf *payload)
{
	struct error e;
	errno = ENOMEM;
	if (buf_failed(payload)) {
		give_up(s, n->path);
	} else if (mpic_append_block(&n->pending, b, payload->data, payload->len_bytes, DEFLATE_LEVEL, &e) < 0) {
		fprintf(stderr, "%s: %s\n", n->path, e.text);
		s->failed = true;
	}
	n->blocks++;
	if (n->pending.len_bytes >= FLUSH_BYTES)
		flush(s, n);
}

static void put_defs(struct synth *s, uint32_t rank)
{
	struct synth_record *r = s->ranks[rank].record;
	struct mpic_block b = {.kind = MPIC_DEFS, .process = r->index, .seq = r->defs_seq};
	if (r->defs.len_bytes == 0)
		return;
	put_block(s, node_of(s, rank), &b, &r->defs);
	r->defs_seq++;
	r->defs.len_bytes = 0;
}

static void add_up(struct synth_record *r);

static void put_profile(struct synth *s, uint32_t rank)
{
	static struct buf payload;
	struct synth_record *r = s->ranks[rank].record;
	payload.len_bytes = 0;
	add_up(r);
	r->calls = 0;
	for (uint32_t sig = 0; sig < r->nsigs; sig++) {
		const struct segment_total *t = &r->totals[sig];
		if (t->calls > 0)
			mpic_put_total(&payload, &(struct mpic_total){sig, t->calls, t->ticks});
		r->calls += t->calls;
	}
	struct mpic_block b = {.kind = MPIC_PROFILE, .process = r->index, .seq = r->profile_seq};
	r->profile_seq++;
	if (payload.len_bytes > 0)
		put_block(s, node_of(s, rank), &b, &payload);
}

static void put_clocks(struct synth *s, struct node *n, int64_t now_ns)
{
	struct mpic_block b = {.kind = MPIC_CLOCK, .process = MPIC_NODE, .seq = n->clock_seq++};
	if (n->clocks.len_bytes > 0)
		put_block(s, n, &b, &n->clocks);
	n->clocks.len_bytes = 0;
	backoff_written(&n->clocks_written, now_ns);
}

static void keep_clock(struct node *n, struct tick_sample t)
{
	mpic_put_clock(&n->clocks, &(struct mpic_clock){t.tick, t.monotonic_ns, t.realtime_ns});
}

/* ---- META ---- */

static void put_tick(struct buf *json, const char *name, uint64_t tick)
{
	buf_printf(json, ",\"%s\":\"%llu\"", name, (unsigned long long)tick);
}

static void put_node_meta(struct synth *s, uint32_t node)
{
	static struct buf json;
	const struct synth_options *o = &s->options;
	struct node *n = &s->files->nodes[node];
	json.len_bytes = 0;
	buf_printf(&json,
		   "{\"nodeid\":%u,\"nnodes\":%u,\"ntasks\":%u,\"restart\":0,\"node\":\"n%05u\",\"cluster\":\"synth\","
		   "\"job_id\":\"1\",\"step_id\":\"0\",\"nodelist\":\"n[00000-%05u]\",\"program\":\"%s\",\"switches\":"
		   "\"core.leaf%u.n%05u switch.switch.node\",\"slurm\":\"22.05.8\",\"submit\":\"/home/user/run\","
		   "\"mode\":\"events\",\"argv\":[\"%s\"],\"clock\":{\"source\":\"tsc\"},\"exits\":[]}",
		   node, o->nodes, o->ranks, node, o->nodes - 1, o->program, node / 16, node, o->program);
	put_block(s, n, &(struct mpic_block){.kind = MPIC_META, .process = MPIC_NODE, .seq = n->meta_seq++}, &json);
}

static void put_description(struct synth *s, uint32_t rank, struct buf *json)
{
	const struct synth_record *r = s->ranks[rank].record;
	buf_printf(json,
		   ",\"world\":0,\"namespace\":\"synth.1.0\",\"calls_before_init\":0,\"host\":\"n%05u\",\"exe\":"
		   "\"/home/user/bin/%s\",\"argv\":[\"%s\"],\"argv_missing_bytes\":0,\"modules_missing\":0,"
		   "\"library\":\"%s\",\"thread_level\":0,\"cpus\":\"%u\",\"cpu\":%u,\"switches\":\"\"",
		   synth_node_of(s, rank), s->options.program, s->options.program, r->running ? "Open MPI v4.1.4" : "",
		   r->index, r->index);
	put_tick(json, "init_exit_tick", r->init_exit_tick);
	buf_printf(json, ",\"overhead_ns\":%s", r->running ? "31.5" : "0");
}

static void put_meta(struct synth *s, uint32_t rank, bool whole)
{
	static struct buf json;
	struct synth_record *r = s->ranks[rank].record;
	json.len_bytes = 0;
	buf_printf(&json, "{\"pid\":%u,\"rank\":%d,\"size\":%d", 10000 + rank, r->running ? (int)rank : -1,
		   r->running ? (int)s->options.ranks : -1);
	put_tick(&json, "start_tick", r->start_tick);
	if (whole)
		put_description(s, rank, &json);
	buf_printf(&json, ",\"state\":\"%s\"", r->finalized ? "finalized" : "running");
	put_tick(&json, "end_tick", r->end_tick);
	put_tick(&json, "finalize_enter_tick", r->finalize_tick);
	buf_str(&json, ",\"threads\":[");
	if (r->running)
		buf_printf(&json,
			   "{\"thread\":0,\"calls\":%llu,\"events\":%llu,\"lost\":0,\"slow_calls\":%llu,"
			   "\"slow_ticks\":%llu,\"defs_missing\":0,\"lost_from_tick\":\"0\",\"lost_reason\":\"\"}",
			   (unsigned long long)r->calls, (unsigned long long)r->written,
			   (unsigned long long)r->slow_calls, (unsigned long long)r->slow_ticks);
	buf_str(&json, "]}");
	struct mpic_block b = {.kind = MPIC_META, .process = r->index, .seq = r->meta_seq++};
	put_block(s, node_of(s, rank), &b, &json);
}

static void snapshot(struct synth *s, uint32_t rank, bool whole, int64_t now_ns)
{
	put_profile(s, rank);
	put_defs(s, rank);
	put_meta(s, rank, whole);
	backoff_written(&s->ranks[rank].record->snapshots, now_ns);
}

/* ---- definitions ---- */

static void define_op(struct synth_record *r, uint32_t op)
{
	if ((r->ops_defined >> op & 1) != 0)
		return;
	r->ops_defined |= 1ull << op;
	mpic_put_def_name(&r->defs, MPIC_DEF_OP, op, op_names[op]);
}
_Static_assert(SYNTH_OP_COUNT <= 64, "ops_defined");

static struct span text_span(const char *text)
{
	return (struct span){(const uint8_t *)text, strlen(text)};
}

static void define_module(struct synth_record *r, const char *path, uint64_t begin, uint64_t bytes)
{
	struct mpic_def d = {.type = MPIC_DEF_MODULE,
			     .begin = begin,
			     .end = begin + bytes,
			     .bias = begin >= 1ull << 32 ? begin : 0,
			     .build_id = text_span("0123456789abcdefghij"),
			     .name = text_span(path)};
	mpic_put_def_module(&r->defs, &d);
}

static void define_modules(struct synth_record *r, const char *program)
{
	static const char *const libraries[] = {
		"libmpi.so.40",	  "libopen-rte.so.40", "libopen-pal.so.40", "libc.so.6",     "libm.so.6",
		"libhwloc.so.15", "libz.so.1",	       "libpmix.so.2",	    "libgcc_s.so.1", "libmpitrace.so"};
	char path[256];
	snprintf(path, sizeof(path), "/home/user/bin/%s", program);
	define_module(r, path, CODE_BEGIN, CODE_BYTES);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/%s", libraries[i]);
		define_module(r, path, 0x7f0000000000ull + (i << 24), 0x120000);
	}
}

static void define_types(struct synth_record *r)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} types[SYNTH_TYPES] = {
		[TYPE_DOUBLE] = {"MPI_DOUBLE", 8}, [TYPE_INT] = {"MPI_INT", 4}, [TYPE_BYTE] = {"MPI_BYTE", 1}};
	for (uint32_t i = 0; i < SYNTH_TYPES; i++)
		mpic_put_def_datatype(&r->defs, i, types[i].bytes, typesig_basic(types[i].name, strlen(types[i].name)),
				      types[i].name);
}

uint32_t synth_comm(struct synth *s, uint32_t rank, enum synth_op made_by, uint64_t global_id,
		    struct mpic_rank_run members)
{
	struct synth_record *r = s->ranks[rank].record;
	struct mpic_def d = {.type = MPIC_DEF_COMM,
			     .id = r->ncomms,
			     .parent = r->ncomms < 2 ? MPIC_NO_COMM : 0,
			     .global_id = global_id,
			     .created_by = made_by,
			     .size = members.count,
			     .my_rank = ((int32_t)rank - members.first) / members.stride,
			     .runs = {(const uint8_t *)&members, sizeof(members)}};
	mpic_put_def_comm(&r->defs, &d);
	return r->ncomms++;
}

/* ---- the dictionary, as in pmpi/stream.c ---- */

/* A signature's home comes from the upper bits of its hash, which its slot holds. */
static uint64_t *find_slot(const struct synth_record *r, uint64_t hash)
{
	uint32_t at = (uint32_t)(hash >> 40) & r->slots_mask;
	while (r->slots[at] != 0 && (r->slots[at] ^ hash) > SLOT_SIG)
		at = (at + 1) & r->slots_mask;
	return &r->slots[at];
}

static void double_slots(struct synth_record *r)
{
	uint64_t *old = r->slots;
	uint32_t n = old != NULL ? r->slots_mask + 1 : 0;
	r->slots_mask = n > 0 ? 2 * n - 1 : SLOTS_FIRST - 1;
	r->slots = allocate((size_t)r->slots_mask + 1, sizeof(*r->slots));
	for (uint32_t i = 0; i < n; i++)
		if (old[i] != 0)
			*find_slot(r, old[i]) = old[i];
	free(old);
}

static uint32_t new_sig(struct synth_record *r, const uint64_t *words, uint32_t n, uint64_t hash)
{
	if (2 * (r->nsigs + 1) > r->slots_mask)
		double_slots(r);
	grow(&r->totals, &r->totals_cap, r->nsigs + 1, sizeof(*r->totals));
	r->totals[r->nsigs] = (struct segment_total){0, 0};
	define_op(r, (uint32_t)words[0] & 0xffff);
	mpic_put_def_sig(&r->defs, r->nsigs, words, n);
	if (r->nsigs > 0) /* nothing looks for the first one */
		*find_slot(r, hash) = (hash & ~SLOT_SIG) | r->nsigs;
	r->slow_calls++;
	r->slow_ticks += SLOW_TICKS;
	return r->nsigs++;
}

/* Its number; *ret_literal = there is no room for it, its words go with the event. */
static uint32_t sig_of(struct synth_record *r, const uint64_t *words, uint32_t n, bool *ret_literal)
{
	uint64_t hash = sig_hash(words, n), slot = *find_slot(r, hash);
	if (slot != 0)
		return (uint32_t)(slot & SLOT_SIG);
	if (r->nexact < STREAM_SIGS_MAX) {
		r->nexact++;
		return new_sig(r, words, n, hash);
	}
	const uint64_t coarse[2] = {sig_head((uint16_t)words[0], SIG_TIME, 0, 1, 0, 0), words[1]};
	*ret_literal = true;
	hash = sig_hash(coarse, 2);
	slot = *find_slot(r, hash);
	return slot != 0 ? (uint32_t)(slot & SLOT_SIG) : new_sig(r, coarse, 2, hash);
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
static void add_up(struct synth_record *r)
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
	add_up(r);
	mpic_columns_begin(c, r->begin_tick);
	for (size_t at = 0; at < r->len_words;) {
		at = read_record(r, at, c->clock, &ev);
		mpic_columns_put(c, &ev);
	}
	payload->len_bytes = 0;
	mpic_columns_payload(c, payload);
	struct mpic_block b = {.kind = MPIC_EVENTS, .process = r->index, .seq = r->events_seq++};
	put_block(s, node_of(s, rank), &b, payload);
	put_defs(s, rank);
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
		grow(&r->records, &r->cap_words, r->len_words + words, sizeof(*r->records));
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
	const struct node *n = node_of(s, rank);
	uint64_t enter = tick_at(s, n, enter_ps), exit = tick_at(s, n, exit_ps), calls = polls > 0 ? polls : 1;
	bool literal = false;
	uint32_t sig = sig_of(r->record, words, nwords, &literal), nextra = 0;
	enter = enter > r->record->previous_tick ? enter : r->record->previous_tick;
	exit = exit > enter ? exit : enter;
	uint64_t inside = polls > 0 ? (exit - enter) / 2 : exit - enter;
	for (; literal && nextra < nwords && nextra < EXTRA_MAX - 2; nextra++)
		extra[nextra] = words[nextra];
	if (polls > 0) {
		extra[nextra++] = polls;
		extra[nextra++] = inside;
	}
	if (polls > 0) { /* add_up() takes it for one call, which it is in between */
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
		errno = ENAMETOOLONG, give_up(s, s->options.dir);
	n->fd = open(n->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (n->fd < 0)
		give_up(s, n->path);
	n->tick_zero = 1000000000000ull + (chance >> 20 & 0xffffffffffull);
	n->ticks_per_ps = (unsigned __int128)(TICKS_PER_PS * (1 + ppm * 1e-6) * 0x1p64);
	n->monotonic_zero_ns = (int64_t)((double)n->tick_zero / (TICKS_PER_PS * 1e3));
	mpic_append_magic(&n->pending, FILE_ID ^ i);
	keep_clock(n, sample_at(s, n, 0));
	backoff_written(&n->clocks_sampled, n->monotonic_zero_ns);
}

static void begin_rank(struct synth *s, uint32_t rank)
{
	static const uint64_t anything[2] = {(uint64_t)SIG_TIME << 16 | 1ull << 32, 0};
	struct synth_rank *r = &s->ranks[rank];
	struct node *n = node_of(s, rank);
	uint32_t node = synth_node_of(s, rank), nodes = s->options.nodes;
	r->record = allocate(1, sizeof(*r->record));
	/* The first rank of a node is the smallest r with r * nodes / ranks == node. */
	r->record->index = rank - (uint32_t)(((uint64_t)node * s->options.ranks + nodes - 1) / nodes);
	r->pace = 1 + 0.2 * (double)(synth_mix(s->options.seed + 2, rank) >> 11) * 0x1p-53;
	r->now_ps = START_PS + synth_random(s) % (START_PS / 4);
	r->record->clock_start = sample_at(s, n, r->now_ps);
	r->record->start_tick = r->record->begin_tick = r->record->previous_tick = r->record->clock_start.tick;
	double_slots(r->record);
	new_sig(r->record, anything, 2, 0);
	put_meta(s, rank, true);
	backoff_written(&r->record->snapshots, r->record->clock_start.monotonic_ns);
}

struct synth *synth_create(const struct synth_options *o)
{
	struct synth *s = allocate(1, sizeof(*s));
	size_t share = SEGMENTS_BYTES_MAX / o->ranks;
	s->options = *o;
	s->random = synth_mix(o->seed, 0x73796e7468);
	s->ranks = allocate(o->ranks, sizeof(*s->ranks));
	s->files = allocate(1, sizeof(*s->files));
	s->files->nodes = allocate(o->nodes, sizeof(*s->files->nodes));
	s->files->segment_words =
		((share < SEGMENT_BYTES ? share : SEGMENT_BYTES) - sizeof(struct segment)) / sizeof(uint64_t);
	make_spread(s);
	if (mkdir(o->dir, 0777) != 0 && errno != EEXIST)
		give_up(s, o->dir);
	for (uint32_t i = 0; i < o->nodes; i++)
		open_node(s, i);
	for (uint32_t r = 0; r < o->ranks; r++)
		begin_rank(s, r);
	for (uint32_t i = 0; i < o->nodes; i++) {
		put_node_meta(s, i);
		put_clocks(s, &s->files->nodes[i], s->files->nodes[i].monotonic_zero_ns);
	}
	return s;
}

static void initialized(struct synth *s, uint32_t rank, uint64_t exit_ps)
{
	const struct mpic_rank_run world = {0, 1, s->options.ranks}, self = {(int32_t)rank, 1, 1};
	const uint64_t words[2] = {sig_head(OP_Init, SIG_TIME, 0, 0, 0, 0), synth_address(__LINE__ % 8)};
	struct synth_record *r = s->ranks[rank].record;
	define_modules(r, s->options.program);
	synth_comm(s, rank, OP_Init, 1, world);
	synth_comm(s, rank, OP_Init, synth_mix(2, rank), self);
	define_types(r);
	synth_call(s, rank, words, 2, s->ranks[rank].now_ps, exit_ps);
	r->init_exit_tick = r->previous_tick;
	r->running = true;
}

void synth_init(struct synth *s)
{
	for (uint32_t i = 0; i < s->options.ranks; i++)
		initialized(s, i, INIT_PS + synth_random(s) % (INIT_PS / 200));
	for (uint32_t i = 0; i < s->options.ranks; i++) /* described as soon as it has a rank */
		snapshot(s, i, true, sample_at(s, node_of(s, i), INIT_PS).monotonic_ns);
	s->files->next_round_ps = INIT_PS + ROUND_PS;
}

/* ---- while it runs ---- */

static void look_around(struct synth *s, uint32_t node, uint64_t now_ps)
{
	struct node *n = &s->files->nodes[node];
	struct tick_sample now = sample_at(s, n, now_ps);
	if (backoff_is_due(&n->clocks_sampled, CLOCK_SAMPLE_SHARE, now.monotonic_ns)) {
		keep_clock(n, now);
		backoff_written(&n->clocks_sampled, now.monotonic_ns);
	}
	if (backoff_is_due(&n->clocks_written, CLOCK_SHARE, now.monotonic_ns))
		put_clocks(s, n, now.monotonic_ns);
}

void synth_round(struct synth *s, uint64_t now_ps)
{
	if (now_ps < s->files->next_round_ps)
		return;
	s->files->next_round_ps = now_ps + ROUND_PS;
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		int64_t now_ns = node_of(s, i)->monotonic_zero_ns + (int64_t)(now_ps / 1000);
		if (backoff_is_due(&s->ranks[i].record->snapshots, SNAPSHOT_SHARE, now_ns))
			snapshot(s, i, false, now_ns);
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
	r->finalize_tick = tick_at(s, node_of(s, rank), enter_ps);
	r->clock_end = sample_at(s, node_of(s, rank), exit_ps + 1000000);
	r->end_tick = r->clock_end.tick > r->previous_tick ? r->clock_end.tick : r->previous_tick;
	r->finalized = true;
	put_events(s, rank);
	put_defs(s, rank);
	snapshot(s, rank, false, r->clock_end.monotonic_ns);
}

void synth_finalize(struct synth *s)
{
	uint64_t last_ps = 0;
	for (uint32_t i = 0; i < s->options.ranks; i++)
		last_ps = s->ranks[i].now_ps > last_ps ? s->ranks[i].now_ps : last_ps;
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
	put_node_meta(s, node);
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		struct synth_record *r = s->ranks[i].record;
		if (synth_node_of(s, i) != node)
			continue;
		snapshot(s, i, true, r->clock_end.monotonic_ns);
		keep_clock(n, r->clock_start);
		keep_clock(n, r->clock_end);
		events += r->written;
		processes++;
	}
	put_clocks(s, n, 0);
	json.len_bytes = 0;
	buf_printf(&json, "{\"processes\":%llu,\"events\":%llu,\"blocks\":%llu,\"failed_blocks\":0,\"lost\":0}",
		   (unsigned long long)processes, (unsigned long long)events, (unsigned long long)n->blocks);
	struct mpic_block b = {.kind = MPIC_END, .process = MPIC_NODE, .seq = FILE_ID ^ node};
	put_block(s, n, &b, &json);
	flush(s, n);
	if (n->fd >= 0 && close(n->fd) != 0)
		give_up(s, n->path);
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
