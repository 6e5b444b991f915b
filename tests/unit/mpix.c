/* mpix.c - what is written to an .mpix is read back, whatever is asked; and the same bytes whoever packed them. */
#include "format/mpix_layout.h"
#include "format/pack.h"
#include "tests/unit/mpix_trace.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

TestSuite(mpix, .init = make_directory, .fini = remove_directory);

#define ANALYSIS "{\"schema\":\"mpitrace/analysis/1\"}"

/* ---- events ---- */

/* The events of one rank as they must come back, by start. */
struct expected {
	struct mpix_event *at;
	uint32_t n, next;
	int64_t from_ns, to_ns;
};

static int by_start(const void *a, const void *b)
{
	const struct mpix_event *x = a, *y = b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->at.window != y->at.window)
		return x->at.window < y->at.window ? -1 : 1;
	return x->at.index < y->at.index ? -1 : x->at.index > y->at.index;
}

static int64_t wait_of(const struct plain_trace *t, const struct plain_wait *x)
{
	int64_t start, end, causer_start, causer_end;
	if (x->how == MPIX_WAIT_NS)
		return x->ns;
	start = plain_ns(t, x->at, &end);
	causer_start = plain_ns(t, x->causer, &causer_end);
	int64_t ns = x->how == MPIX_WAIT_UNTIL_START ? (causer_start < end ? causer_start : end) - start
						     : end - (causer_end > start ? causer_end : start);
	return ns > 0 ? ns : 0;
}

static void add_lane(const struct plain_trace *t, struct expected *to, uint32_t lane, uint32_t thread, uint32_t rank)
{
	uint64_t numbers[8] = {0};
	for (uint32_t i = 0; i < t->lanes[lane].n; i++) {
		const struct plain_event *x = &t->lanes[lane].events[i];
		const struct mpix_signature *sig = &t->sigs[rank][x->sig];
		struct plain_place place = {lane, i};
		struct mpix_event ev = {.bytes = x->bytes == PLAIN_SIG_BYTES ? sig->bytes : x->bytes,
					.calls = x->calls > 0 ? x->calls : 1,
					.peer = sig->peer,
					.tag = sig->tag,
					.op = sig->op,
					.callsite = sig->callsite,
					.comm = sig->comm,
					.object = sig->object,
					.stack = sig->stack,
					.came_bytes = sig->came_bytes,
					.thread = thread,
					.class = sig->class,
					.at = plain_position(t, place),
					.number = MPIX_NO_NUMBER};
		if ((sig->flags & MPIX_COLLECTIVE) != 0)
			ev.number = numbers[sig->comm]++;
		ev.start_ns = plain_ns(t, place, &ev.end_ns);
		for (uint32_t k = 0; k < t->nwaits; k++) {
			const struct plain_wait *w = &t->waits[k];
			if (w->at.lane == lane && w->at.event == i && w->state != MPIX_WRONG_ORDER &&
			    w->state != MPIX_LATE_COMPLETE &&
			    __builtin_add_overflow(ev.wait_ns, wait_of(t, w), &ev.wait_ns))
				ev.wait_ns = INT64_MAX;
		}
		to->at[to->n++] = ev;
	}
}

static struct expected expect_rank(const struct plain_trace *t, uint32_t rank)
{
	struct expected x = {0};
	uint32_t lane = 0, n = 0;
	for (uint32_t r = 0; r < rank; r++)
		lane += t->info.threads[r];
	for (uint32_t k = 0; k < t->info.threads[rank]; k++)
		n += t->lanes[lane + k].n;
	x.at = calloc(n + 1u, sizeof(*x.at));
	for (uint32_t k = 0; k < t->info.threads[rank]; k++)
		add_lane(t, &x, lane + k, k, rank);
	qsort(x.at, x.n, sizeof(*x.at), by_start);
	return x;
}

static void skip_outside(struct expected *x)
{
	for (; x->next < x->n; x->next++) {
		const struct mpix_event *ev = &x->at[x->next];
		if (ev->start_ns < x->to_ns && (ev->end_ns > x->from_ns || ev->start_ns >= x->from_ns))
			break;
	}
}

static bool same_place(struct mpix_position a, struct mpix_position b)
{
	return a.window == b.window && (a.window == MPIX_NOWHERE || (a.lane == b.lane && a.index == b.index));
}

static int compare_event(void *context, const struct mpix_event *got)
{
	struct expected *x = context;
	skip_outside(x);
	cr_assert_lt(x->next, x->n, "one event too many");
	const struct mpix_event *want = &x->at[x->next++];
	cr_assert(got->start_ns == want->start_ns && got->end_ns == want->end_ns, "event %u: times", x->next - 1);
	cr_assert(got->bytes == want->bytes && got->calls == want->calls, "event %u: bytes or calls", x->next - 1);
	cr_assert(got->peer == want->peer && got->tag == want->tag && got->op == want->op &&
			  got->callsite == want->callsite && got->comm == want->comm && got->object == want->object &&
			  got->came_bytes == want->came_bytes && got->thread == want->thread &&
			  got->class == want->class,
		  "event %u: signature", x->next - 1);
	cr_assert(same_place(got->at, want->at), "event %u: position", x->next - 1);
	cr_assert_eq(got->number, want->number, "event %u: number %" PRIu64 ", not %" PRIu64, x->next - 1, got->number,
		     want->number);
	cr_assert_eq(got->wait_ns, want->wait_ns, "event %u: waited %" PRId64 ", not %" PRId64, x->next - 1,
		     got->wait_ns, want->wait_ns);
	return 0;
}

static void expect_events(struct mpix_file *f, struct expected *x, uint32_t rank, int64_t from_ns, int64_t to_ns)
{
	struct error e = {{0}};
	x->next = 0;
	x->from_ns = from_ns;
	x->to_ns = to_ns;
	cr_assert_eq(mpix_each_event(f, rank, from_ns, to_ns, compare_event, x, &e), 0, "%s", e.text);
	skip_outside(x);
	cr_assert_eq(x->next, x->n, "rank %u [%" PRId64 ", %" PRId64 "): events missing", rank, from_ns, to_ns);
}

/* ---- messages and waits ---- */

struct found {
	const struct plain_trace *t;
	struct mpix_link *links;
	struct mpix_wait *waits;
	uint32_t nlinks, nwaits;
};

static int keep_link(void *context, const struct mpix_link *x)
{
	struct found *f = context;
	cr_assert_lt(f->nlinks, f->t->nlinks, "one message too many");
	f->links[f->nlinks++] = *x;
	return 0;
}

static int keep_wait(void *context, const struct mpix_wait *x)
{
	struct found *f = context;
	cr_assert_lt(f->nwaits, f->t->nwaits, "one wait too many");
	f->waits[f->nwaits++] = *x;
	return 0;
}

static bool same_message(const struct mpix_message *a, const struct mpix_message *b)
{
	return a->send_start_ns == b->send_start_ns && a->send_end_ns == b->send_end_ns &&
	       a->recv_start_ns == b->recv_start_ns && a->completion_start_ns == b->completion_start_ns &&
	       a->recv_end_ns == b->recv_end_ns && a->bytes == b->bytes && a->src == b->src && a->dst == b->dst &&
	       a->tag == b->tag && a->comm == b->comm && a->send_callsite == b->send_callsite &&
	       a->recv_callsite == b->recv_callsite;
}

/* Each is there; taken ones are marked, so that of equal ones each counts. */
static void expect_link(struct found *f, const struct plain_link *x)
{
	struct mpix_position recv = plain_position(f->t, x->recv), done = plain_position(f->t, x->completion),
			     send = plain_position(f->t, x->send), sent = plain_position(f->t, x->sent);
	struct mpix_message m = plain_message(f->t, x);
	for (uint32_t i = 0; i < f->nlinks; i++) {
		struct mpix_link *got = &f->links[i];
		if (same_place(got->recv, recv) && same_place(got->completion, done) && same_place(got->send, send) &&
		    same_place(got->sent, sent) && got->signature == x->signature && same_message(&got->message, &m)) {
			got->recv.lane = UINT32_MAX;
			return;
		}
	}
	cr_assert(false, "message %u to %u is missing or differs", m.src, m.dst);
}

static void expect_wait(struct found *f, const struct plain_wait *x)
{
	struct mpix_position at = plain_position(f->t, x->at), causer = plain_position(f->t, x->causer);
	for (uint32_t i = 0; i < f->nwaits; i++) {
		struct mpix_wait *got = &f->waits[i];
		if (same_place(got->at, at) && same_place(got->causer, causer) && got->state == x->state &&
		    got->how == x->how && got->ns == wait_of(f->t, x)) {
			got->at.lane = UINT32_MAX;
			return;
		}
	}
	cr_assert(false, "a wait is missing or differs");
}

static void expect_all(struct mpix_file *file, const struct plain_trace *t)
{
	struct error e = {{0}};
	struct found f = {.t = t,
			  .links = calloc(t->nlinks + 1u, sizeof(*f.links)),
			  .waits = calloc(t->nwaits + 1u, sizeof(*f.waits))};
	cr_assert_eq(mpix_each_message(file, INT64_MIN, INT64_MAX, keep_link, &f, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_each_wait(file, INT64_MIN, INT64_MAX, keep_wait, &f, &e), 0, "%s", e.text);
	cr_assert_eq(f.nlinks, t->nlinks);
	cr_assert_eq(f.nwaits, t->nwaits);
	for (uint32_t i = 0; i < t->nlinks; i++)
		expect_link(&f, &t->links[i]);
	for (uint32_t i = 0; i < t->nwaits; i++)
		expect_wait(&f, &t->waits[i]);
	free(f.links);
	free(f.waits);
}

static void round_trip(const struct trace_shape *shape, uint32_t rank_step)
{
	struct error e = {{0}};
	struct mpix_file *f;
	uint64_t state = 1234567;
	struct plain_trace *t = trace_make(shape);
	cr_assert_eq(plain_write(path_of("t.mpix"), t, ANALYSIS, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(path_of("t.mpix"), &f, &e), 0, "%s", e.text);
	for (uint32_t rank = 0; rank < shape->ranks; rank += rank_step) {
		struct expected x = expect_rank(t, rank);
		expect_events(f, &x, rank, INT64_MIN, INT64_MAX);
		cr_assert_eq(mpix_keep(f, 0, &e), 0); /* from now on all is read again, into the same memory */
		for (int i = 0; i < 8; i++) {
			int64_t from = (int64_t)(next_random(&state) % (uint64_t)shape->runtime_ns);
			int64_t len = (int64_t)(next_random(&state) % (uint64_t)shape->runtime_ns) >> (i % 12);
			expect_events(f, &x, rank, from, from + len + 1);
		}
		free(x.at);
	}
	expect_all(f, t);
	mpix_close(f);
	trace_done(t);
}

Test(mpix, gives_back_everything_of_one_rank)
{
	round_trip(
		&(struct trace_shape){
			.ranks = 1, .events = 400, .links = 100, .waits = 60, .windows = 5, .runtime_ns = 1000000},
		1);
}

Test(mpix, gives_back_everything_of_threads_clocks_and_empty_lanes)
{
	round_trip(&(struct trace_shape){.ranks = 21,
					 .events = 300,
					 .links = 2000,
					 .waits = 800,
					 .windows = 7,
					 .threads = true,
					 .empty = true,
					 .far_ticks = true,
					 .runtime_ns = 3000000000},
		   1);
}

Test(mpix, gives_back_everything_of_1000_ranks)
{
	round_trip(&(struct trace_shape){.ranks = 1000,
					 .events = 40,
					 .links = 3000,
					 .waits = 500,
					 .windows = 3,
					 .threads = true,
					 .far_ticks = true,
					 .runtime_ns = 100000000},
		   37);
}

Test(mpix, gives_back_many_events_of_one_window)
{
	round_trip(&(struct trace_shape){.ranks = 2, .events = 10000, .windows = 1, .runtime_ns = 1000000000}, 1);
}

Test(mpix, gives_back_times_of_104_days)
{
	round_trip(&(struct trace_shape){.ranks = 3,
					 .events = 200,
					 .links = 50,
					 .waits = 20,
					 .windows = 4,
					 .runtime_ns = MPIX_RUNTIME_MAX_NS - 1},
		   1);
}

Test(mpix, the_bytes_are_the_same_whatever_number_of_threads_packed)
{
	struct trace_shape shape = {.ranks = 70,
				    .events = 500,
				    .links = 9000,
				    .waits = 3000,
				    .windows = 6,
				    .threads = true,
				    .far_ticks = true,
				    .runtime_ns = 1000000000};
	struct error e = {{0}};
	struct plain_trace *t = trace_make(&shape);
	cr_assert_eq(plain_write(path_of("1.mpix"), t, ANALYSIS, &e), 0, "%s", e.text);
	struct buf one = slurp(path_of("1.mpix"));
	for (t->threads = 2; t->threads < 6; t->threads++) {
		cr_assert_eq(plain_write(path_of("n.mpix"), t, ANALYSIS, &e), 0, "%s", e.text);
		struct buf many = slurp(path_of("n.mpix"));
		cr_assert_eq(one.len_bytes, many.len_bytes);
		cr_assert_eq(memcmp(one.data, many.data, one.len_bytes), 0, "%u threads", t->threads);
		buf_done(&many);
	}
	buf_done(&one);
	trace_done(t);
}

static int count_event(void *context, const struct mpix_event *event)
{
	(void)event;
	++*(int *)context;
	return 0;
}

Test(mpix, holds_a_run_without_any_event)
{
	const struct mpix_clock_knot knot = {0, 0, 1};
	const struct mpix_clock clock = {0, &knot, 1};
	struct mpix_info info = {.ranks = 3, .clocks = &clock, .nclocks = 1};
	struct error e;
	struct mpix_file *f;
	struct mpix_writer *w;
	int count = 0;
	cr_assert_eq(mpix_writer_create(path_of("n.mpix"), &info, &w, &e), 0);
	cr_assert_eq(mpix_writer_finish(w, "{\"a\":1}", &e), 0);
	cr_assert_eq(mpix_open(path_of("n.mpix"), &f, &e), 0);
	cr_assert_eq(mpix_info(f)->ranks, 3);
	cr_assert_str_eq(mpix_analysis(f), "{\"a\":1}");
	cr_assert_eq(mpix_each_event(f, 2, INT64_MIN, INT64_MAX, count_event, &count, &e), 0);
	cr_assert_eq(count, 0);
	mpix_close(f);
}

Test(mpix, keeps_names_places_threads_and_analysis)
{
	struct trace_shape shape = {.ranks = 6, .events = 3, .windows = 1, .threads = true, .runtime_ns = 12345};
	struct error e = {{0}};
	struct mpix_file *f;
	struct plain_trace *t = trace_make(&shape);
	cr_assert_eq(plain_write(path_of("i.mpix"), t, ANALYSIS, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(path_of("i.mpix"), &f, &e), 0);
	cr_assert_eq(mpix_info(f)->runtime_ns, 12345);
	cr_assert_eq(mpix_info(f)->nops, 3);
	cr_assert_str_eq(mpix_info(f)->ops[2], "MPI_Allreduce");
	cr_assert_eq(mpix_info(f)->lanes, 12);
	for (uint32_t r = 0; r < 6; r++) {
		cr_assert_eq(mpix_info(f)->threads[r], t->info.threads[r]);
		cr_assert_eq(mpix_info(f)->place_of_rank[r], t->info.place_of_rank[r]);
	}
	cr_assert_str_eq(mpix_analysis(f), ANALYSIS);
	mpix_close(f);
	trace_done(t);
}

/* ---- how small ---- */

/* Packed bytes of all chunks of a kind. */
static uint64_t bytes_of(const struct buf *file, enum mpix_kind kind, uint64_t *ret_records)
{
	struct mpix_super s;
	struct error e;
	struct mpix_entry x;
	uint64_t bytes = 0;
	*ret_records = 0;
	cr_assert_eq(mpix_get_super(cursor_over(file->data, file->len_bytes), file->len_bytes, &s, &e), 0);
	struct cursor c = cursor_over(file->data + s.index_offset, s.entries * MPIX_ENTRY_BYTES);
	for (uint32_t i = 0; i < s.entries; i++) {
		cr_assert_eq(mpix_get_entry(&c, &x), 0);
		bytes += x.kind == kind ? x.packed_bytes : 0;
		*ret_records += x.kind == kind ? x.records : 0;
	}
	return bytes;
}

/* 16 ranks, each exchanging with both neighbours on a ring, 1000 times: Irecv, Irecv, Isend, Isend, Waitall. */
Test(mpix, a_message_of_a_regular_exchange_takes_less_than_a_third_of_a_byte)
{
	enum { RANKS = 16, STEPS = 1000, CALLS = 5 };
	struct trace_shape shape = {.ranks = RANKS, .windows = 3, .events = STEPS * CALLS, .runtime_ns = 1000000000};
	struct error e = {{0}};
	struct plain_trace *t = trace_make(&shape);
	struct plain_link *links = calloc(RANKS * STEPS * 2, sizeof(*links));
	uint64_t state = 99, messages;
	for (uint32_t r = 0; r < RANKS; r++) {
		uint64_t tick = 0;
		for (uint32_t i = 0; i < t->lanes[r].n; i++) {
			uint64_t enter = tick + next_random(&state) % 40000,
				 leave = enter + next_random(&state) % 90000;
			t->lanes[r].events[i] = (struct plain_event){enter, leave, i % CALLS, 0, PLAIN_SIG_BYTES};
			tick = leave;
		}
	}
	uint32_t n = 0;
	for (uint32_t step = 0; (step + 1) * CALLS <= 4900; step++)
		for (uint32_t r = 0; r < RANKS; r++)
			for (uint32_t side = 0; side < 2; side++) {
				uint32_t from = (r + (side == 0 ? 1 : RANKS - 1)) % RANKS, at = step * CALLS;
				links[n++] = (struct plain_link){{r, at + side},
								 {r, at + 4},
								 {from, at + 2 + side},
								 {from, at + 4},
								 MPIX_OF_START};
			}
	t->links = links;
	t->nlinks = n;
	t->last_ns = 0; /* other events than those made */
	cr_assert_eq(plain_write(path_of("h.mpix"), t, ANALYSIS, &e), 0, "%s", e.text);
	struct buf file = slurp(path_of("h.mpix"));
	uint64_t bytes = bytes_of(&file, MPIX_MESSAGES, &messages);
	cr_assert_eq(messages, n);
	cr_assert_lt(bytes, messages * 3 / 10, "%" PRIu64 " bytes for %" PRIu64 " messages", bytes, messages);
	buf_done(&file);
	free(links);
	trace_done(t);
}

/* Of a thousand in each part; once, choosing the largest did not end. */
Test(mpix, the_largest_messages_are_chosen_of_many)
{
	struct trace_shape shape = {
		.ranks = 8, .events = 2000, .links = 40000, .windows = 40, .runtime_ns = 1000000000};
	struct error e = {{0}};
	uint64_t messages;
	struct plain_trace *t = trace_make(&shape);
	cr_assert_eq(plain_write(path_of("l.mpix"), t, ANALYSIS, &e), 0, "%s", e.text);
	struct buf file = slurp(path_of("l.mpix"));
	cr_assert_gt(bytes_of(&file, MPIX_TOP, &messages), 0);
	cr_assert_eq(messages, t->nlinks);
	buf_done(&file);
	trace_done(t);
}

/* ---- refusals of the writer ---- */

static const struct mpix_signature send_sig = {.peer = 1, .message_bytes = 8, .class = MPIX_P2P};

static struct mpix_writer *begin(const char *name)
{
	static const struct mpix_clock_knot knot = {100, 0, 1};
	static const struct mpix_clock clock = {100, &knot, 1};
	static const char *const names[] = {"MPI_Send"};
	struct mpix_info info = {
		.ranks = 3, .runtime_ns = 1000, .ops = names, .nops = 1, .clocks = &clock, .nclocks = 1};
	struct mpix_writer *w;
	struct error e;
	cr_assert_eq(mpix_writer_create(path_of(name), &info, &w, &e), 0);
	for (uint32_t r = 0; r < 3; r++)
		cr_assert_eq(mpix_writer_signatures(w, r, &send_sig, 1, &e), 0);
	return w;
}

static int try_pack(struct mpix_part part, const char *text)
{
	struct mpix_writer *w = begin("r.mpix");
	struct mpix_scratch *s = mpix_scratch_new();
	struct mpix_packed *p = mpix_packed_new();
	struct error e = {{0}};
	part.end_ns = 1000;
	int rc = mpix_pack(w, &part, s, p, &e);
	if (rc < 0)
		cr_assert_not_null(strstr(e.text, text), "%s", e.text);
	mpix_scratch_free(s);
	mpix_packed_free(p);
	mpix_writer_abandon(w);
	return rc;
}

Test(mpix, a_part_that_contradicts_itself_is_refused)
{
	const uint64_t enter[] = {110, 120}, leave[] = {115, 125}, early[] = {110, 112},
		       far[] = {110, 200 + (1ull << 53)};
	const uint32_t sigs[] = {0, 0}, wild[] = {0, 1};
	const struct mpix_run good = {
		.lane = 1, .n = 2, .begin_tick = 105, .enter = enter, .leave = leave, .sig = sigs};
	struct mpix_run runs[] = {good, good, good, good, good, good, good};
	runs[1].lane = 3;
	runs[2].enter = early;
	runs[3].sig = wild;
	runs[4].begin_tick = 111;
	runs[5].begin_tick = 99;
	runs[6].leave = far;
	cr_assert_eq(try_pack((struct mpix_part){.runs = runs, .nruns = 1}, ""), 0);
	for (int i = 1; i < 7; i++)
		cr_assert_eq(try_pack((struct mpix_part){.runs = &runs[i], .nruns = 1}, "lane"), -EINVAL, "run %d", i);
	cr_assert_eq(try_pack((struct mpix_part){.runs = runs, .nruns = 2}, "lane"), -EINVAL);
	cr_assert_eq(try_pack((struct mpix_part){.group = 1}, "group"), -EINVAL);
	struct mpix_link link = {.recv = {0, 1, 0},
				 .completion = {0, 1, 1},
				 .send = {0, 0, 0},
				 .sent = {0, 0, 0},
				 .signature = MPIX_OF_START,
				 .message = {.src = 0, .dst = 1}};
	struct mpix_link links[] = {link, link, link, link, link};
	links[1].message.dst = 3;
	links[2].completion.window = 1;
	links[3].recv.index = 2;
	links[4].signature = 1;
	cr_assert_eq(try_pack((struct mpix_part){.links = links, .nlinks = 1}, ""), 0);
	for (int i = 1; i < 5; i++)
		cr_assert_eq(try_pack((struct mpix_part){.links = &links[i], .nlinks = 1}, "message"), -EINVAL);
	struct mpix_wait wait = {.at = {0, 1, 0}, .causer = {.window = MPIX_NOWHERE}, .how = MPIX_WAIT_UNTIL_START};
	cr_assert_eq(try_pack((struct mpix_part){.waits = &wait, .nwaits = 1}, "wait"), -EINVAL);
}

Test(mpix, parts_out_of_order_are_refused)
{
	struct mpix_writer *w = begin("o.mpix");
	struct mpix_scratch *s = mpix_scratch_new();
	struct mpix_packed *p = mpix_packed_new();
	struct error e;
	cr_assert_eq(mpix_pack(w, &(struct mpix_part){.window = 1, .end_ns = 10}, s, p, &e), 0);
	cr_assert_eq(mpix_writer_put(w, p, &e), 0);
	cr_assert_eq(mpix_writer_put(w, p, &e), -EINVAL);
	cr_assert_neq(mpix_writer_finish(w, "{}", &e), 0);
	cr_assert_neq(access(path_of("o.mpix"), F_OK), 0);
	mpix_scratch_free(s);
	mpix_packed_free(p);
}

Test(mpix, descriptions_outside_the_limits_are_refused)
{
	const struct mpix_clock_knot knots[] = {{5, 0, 1}, {5, 1, 1}};
	const struct mpix_clock good = {0, knots, 1};
	const struct mpix_clock bad[] = {{6, knots, 1}, {0, knots, 2}, {0, knots, 0}};
	const uint32_t wild[] = {0, 9};
	const struct mpix_info info = {.ranks = 2, .runtime_ns = 10, .clocks = &good, .nclocks = 1};
	struct mpix_info infos[] = {info, info, info, info, info, info, info, info, info};
	struct mpix_writer *w;
	struct error e;
	infos[0].ranks = 0;
	infos[1].ranks = RANKS_MAX + 1;
	infos[2].runtime_ns = MPIX_RUNTIME_MAX_NS + 1;
	for (int i = 0; i < 3; i++)
		infos[3 + i].clocks = &bad[i];
	infos[6].threads = wild;
	infos[7].clock_of_lane = wild;
	infos[8].place_of_rank = wild;
	for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++)
		cr_assert_eq(mpix_writer_create(path_of("d.mpix"), &infos[i], &w, &e), -EINVAL, "info %zu", i);
}

/* ---- a full disk ---- */

static int files_in_directory(void)
{
	DIR *d = opendir(test_directory());
	struct dirent *entry;
	int count = 0;
	while ((entry = readdir(d)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(d);
	return count;
}

Test(mpix, a_full_disk_leaves_nothing_behind)
{
	struct error e = {{0}};
	struct rlimit limit = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
	struct trace_shape shape = {.ranks = 4, .events = 5000, .links = 3000, .windows = 3, .runtime_ns = 1000000000};
	struct plain_trace *t = trace_make(&shape);
	signal(SIGXFSZ, SIG_IGN);
	for (limit.rlim_cur = 0; limit.rlim_cur < 60000; limit.rlim_cur += 7001) {
		cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
		int rc = plain_write(path_of("full.mpix"), t, ANALYSIS, &e);
		cr_assert_lt(rc, 0, "%ju bytes were enough", (uintmax_t)limit.rlim_cur);
		cr_assert_eq(files_in_directory(), 0, "limit %ju left a file", (uintmax_t)limit.rlim_cur);
		cr_assert_not_null(strstr(e.text, "nothing was left behind"), "%s", e.text);
	}
	trace_done(t);
}

Test(mpix, giving_up_leaves_nothing_behind)
{
	mpix_writer_abandon(begin("g.mpix"));
	mpix_writer_abandon(NULL);
	cr_assert_eq(files_in_directory(), 0);
}
