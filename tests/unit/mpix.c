/* mpix.c - what is written is read back, whatever is asked; what is damaged is refused, wherever
 * the damage is. */
#include "base/crc32c.h"
#include "format/mpix_layout.h"
#include "format/pack.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static char directory[64];

static void make_directory(void)
{
	snprintf(directory, sizeof(directory), "/tmp/mpix-test-XXXXXX");
	cr_assert_not_null(mkdtemp(directory));
}

static void remove_directory(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	cr_assert_eq(system(command), 0);
}

TestSuite(mpix, .init = make_directory, .fini = remove_directory);

static const char *path_of(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static const char *const ops[] = {"MPI_Send", "MPI_Recv", "MPI_Allreduce"};

/* A deterministic stream of numbers (xorshift). */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static struct mpix_event *make_events(uint32_t rank, uint64_t count, int64_t runtime_ns)
{
	struct mpix_event *events = calloc(count + 1, sizeof(*events));
	uint64_t state = 88172645463325252ull + rank * 7919u;
	int64_t clock = 0, step = count > 0 ? runtime_ns / (int64_t)count : 1;
	for (uint64_t i = 0; i < count; i++) {
		int64_t gap = (int64_t)(next_random(&state) % (uint64_t)(step / 2 + 1));
		int64_t dur = (int64_t)(next_random(&state) % (uint64_t)(step / 2 + 1));
		if (i % 97 == 13)
			dur *= 40; /* reaches over many grid lines */
		events[i] = (struct mpix_event){.start_ns = clock + gap,
						.end_ns = clock + gap + dur,
						.bytes = next_random(&state) >> (i % 60),
						.calls = 1 + i % 3,
						.peer = (int32_t)(i % 5) - 2,
						.tag = i % 2 ? (int32_t)next_random(&state) : -1,
						.op = (uint32_t)(i % 3),
						.callsite = i % 4 ? (uint32_t)i : MPIX_NO_CALLSITE,
						.comm = (uint32_t)(i % 7),
						.thread = (uint32_t)(i % 2),
						.wait_ns = dur / 3,
						.class = (uint8_t)(1 + i % 7)};
		clock = events[i].end_ns;
	}
	return events;
}

static struct mpix_message make_message(uint64_t i, uint32_t ranks)
{
	int64_t start = (int64_t)(i * 10);
	return (struct mpix_message){.send_start_ns = start,
				     .send_end_ns = start + 5,
				     .recv_start_ns = start - 20,
				     .completion_start_ns = start - 3,
				     .recv_end_ns = start + 7 + (int64_t)(i % 11),
				     .bytes = i * i,
				     .src = (uint32_t)(i % ranks),
				     .dst = (uint32_t)((i + 1) % ranks),
				     .tag = -(int32_t)i,
				     .comm = 3,
				     .send_callsite = (uint32_t)i,
				     .recv_callsite = MPIX_NO_CALLSITE};
}

static int write_messages(struct mpix_writer *w, uint64_t count, uint32_t ranks, struct error *e)
{
	for (uint64_t i = 0; i < count; i++) {
		struct mpix_message x = make_message(i, ranks);
		int rc = mpix_writer_messages(w, &x, 1, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int write_trace(const char *path, uint32_t ranks, uint64_t events, uint64_t messages, int64_t runtime_ns,
		       struct error *e)
{
	struct mpix_info info = {.ranks = ranks, .runtime_ns = runtime_ns, .ops = ops, .nops = 3};
	struct mpix_writer *w;
	int rc = mpix_writer_create(path, &info, &w, e);
	if (rc < 0)
		return rc;
	for (uint32_t rank = 0; rank < ranks && rc == 0; rank++) {
		struct mpix_event *x = make_events(rank, events, runtime_ns);
		rc = mpix_writer_events(w, rank, x, events, e);
		free(x);
	}
	if (rc == 0)
		rc = write_messages(w, messages, ranks, e);
	if (rc < 0) {
		mpix_writer_abandon(w);
		return rc;
	}
	return mpix_writer_finish(w, "{\"schema\":\"mpitrace/analysis/1\"}", e);
}

/* ---- events ---- */

struct expect {
	const struct mpix_event *events;
	uint64_t count, at;
	int64_t from_ns, to_ns;
};

static bool in_range(const struct mpix_event *x, int64_t from_ns, int64_t to_ns)
{
	return x->start_ns < to_ns && (x->end_ns > from_ns || x->start_ns >= from_ns);
}

static void skip_outside(struct expect *x)
{
	while (x->at < x->count && !in_range(&x->events[x->at], x->from_ns, x->to_ns))
		x->at++;
}

static int compare_event(void *context, const struct mpix_event *got)
{
	struct expect *x = context;
	skip_outside(x);
	cr_assert_lt(x->at, x->count, "one event too many");
	const struct mpix_event *want = &x->events[x->at++];
	cr_assert(got->start_ns == want->start_ns && got->end_ns == want->end_ns && got->bytes == want->bytes &&
			  got->calls == want->calls && got->peer == want->peer && got->tag == want->tag &&
			  got->op == want->op && got->callsite == want->callsite && got->comm == want->comm &&
			  got->thread == want->thread && got->wait_ns == want->wait_ns && got->class == want->class,
		  "event %llu differs", (unsigned long long)x->at - 1);
	return 0;
}

static void expect_events(struct mpix_file *f, uint32_t rank, uint64_t count, int64_t runtime_ns, int64_t from_ns,
			  int64_t to_ns)
{
	struct mpix_event *events = make_events(rank, count, runtime_ns);
	struct expect x = {events, count, 0, from_ns, to_ns};
	struct error e;
	cr_assert_eq(mpix_each_event(f, rank, from_ns, to_ns, compare_event, &x, &e), 0);
	skip_outside(&x);
	cr_assert_eq(x.at, count, "rank %u [%lld, %lld): events missing", rank, (long long)from_ns, (long long)to_ns);
	free(events);
}

static void round_trip(uint32_t ranks, uint64_t events, int64_t runtime_ns, uint32_t rank_step)
{
	struct error e = {{0}};
	struct mpix_file *f;
	uint64_t state = 1234567;
	cr_assert_eq(write_trace(path_of("t.mpix"), ranks, events, 10, runtime_ns, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(path_of("t.mpix"), &f, &e), 0, "%s", e.text);
	for (uint32_t rank = 0; rank < ranks; rank += rank_step) {
		expect_events(f, rank, events, runtime_ns, INT64_MIN, INT64_MAX);
		for (int i = 0; i < 8; i++) {
			int64_t from = (int64_t)(next_random(&state) % (uint64_t)runtime_ns);
			int64_t len = (int64_t)(next_random(&state) % (uint64_t)runtime_ns) >> (i % 12);
			expect_events(f, rank, events, runtime_ns, from, from + len + 1);
		}
	}
	mpix_close(f);
}

Test(mpix, gives_back_every_event_of_two_ranks_for_any_interval)
{
	round_trip(2, 100, 1000000, 1);
}

Test(mpix, gives_back_every_event_when_chunks_are_many)
{
	round_trip(20, 20000, 1000000000, 7);
}

Test(mpix, gives_back_every_event_when_all_start_in_one_interval_of_the_grid)
{
	struct error e = {{0}};
	struct mpix_file *f;
	struct mpix_info info = {.ranks = 2, .runtime_ns = 3600ll * 1000000000, .ops = ops, .nops = 3};
	struct mpix_writer *w;
	cr_assert_eq(mpix_writer_create(path_of("d.mpix"), &info, &w, &e), 0);
	for (uint32_t rank = 0; rank < 2; rank++) {
		struct mpix_event *x = make_events(rank, 150000, 1000000);
		cr_assert_eq(mpix_writer_events(w, rank, x, 150000, &e), 0);
		free(x);
	}
	cr_assert_eq(mpix_writer_finish(w, "{}", &e), 0);
	cr_assert_eq(mpix_open(path_of("d.mpix"), &f, &e), 0);
	for (uint32_t rank = 0; rank < 2; rank++) {
		expect_events(f, rank, 150000, 1000000, INT64_MIN, INT64_MAX);
		expect_events(f, rank, 150000, 1000000, 500000, 500001);
	}
	mpix_close(f);
}

static int count_event(void *context, const struct mpix_event *event)
{
	(void)event;
	++*(int *)context;
	return 0;
}

Test(mpix, finds_a_call_that_is_open_for_the_whole_run)
{
	struct error e;
	struct mpix_file *f;
	struct mpix_info info = {.ranks = 1, .runtime_ns = 1000000000, .ops = ops, .nops = 3};
	struct mpix_writer *w;
	struct mpix_event *x = make_events(0, 60000, 900000000);
	x[0].end_ns = 1000000000; /* thread 0 hangs in its first call, thread 1 goes on */
	cr_assert_eq(mpix_writer_create(path_of("o.mpix"), &info, &w, &e), 0);
	cr_assert_eq(mpix_writer_events(w, 0, x, 60000, &e), 0);
	cr_assert_eq(mpix_writer_finish(w, "{}", &e), 0);
	cr_assert_eq(mpix_open(path_of("o.mpix"), &f, &e), 0);
	struct expect expect = {x, 60000, 0, 700000000, 700000010};
	cr_assert_eq(mpix_each_event(f, 0, 700000000, 700000010, compare_event, &expect, &e), 0);
	skip_outside(&expect);
	cr_assert_eq(expect.at, 60000);
	mpix_close(f);
	free(x);
}

Test(mpix, holds_a_run_without_any_event)
{
	struct error e;
	struct mpix_file *f;
	struct mpix_info info = {.ranks = 3};
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

Test(mpix, keeps_names_runtime_and_analysis)
{
	struct error e;
	struct mpix_file *f;
	cr_assert_eq(write_trace(path_of("i.mpix"), 2, 3, 3, 12345, &e), 0);
	cr_assert_eq(mpix_open(path_of("i.mpix"), &f, &e), 0);
	cr_assert_eq(mpix_info(f)->runtime_ns, 12345);
	cr_assert_eq(mpix_info(f)->nops, 3);
	cr_assert_str_eq(mpix_info(f)->ops[2], "MPI_Allreduce");
	cr_assert_str_eq(mpix_analysis(f), "{\"schema\":\"mpitrace/analysis/1\"}");
	mpix_close(f);
}

/* ---- messages ---- */

static int compare_message(void *context, const struct mpix_message *got)
{
	uint64_t *at = context;
	struct mpix_message want = make_message((*at)++, 5);
	cr_assert(got->send_start_ns == want.send_start_ns && got->send_end_ns == want.send_end_ns &&
		  got->recv_start_ns == want.recv_start_ns && got->completion_start_ns == want.completion_start_ns &&
		  got->recv_end_ns == want.recv_end_ns && got->bytes == want.bytes && got->src == want.src &&
		  got->dst == want.dst && got->tag == want.tag && got->comm == want.comm &&
		  got->send_callsite == want.send_callsite && got->recv_callsite == want.recv_callsite);
	return 0;
}

Test(mpix, gives_back_every_message)
{
	struct error e;
	struct mpix_file *f;
	uint64_t at = 0;
	cr_assert_eq(write_trace(path_of("m.mpix"), 5, 10, 50000, 500000, &e), 0);
	cr_assert_eq(mpix_open(path_of("m.mpix"), &f, &e), 0);
	cr_assert_eq(mpix_each_message(f, INT64_MIN, INT64_MAX, compare_message, &at, &e), 0);
	cr_assert_eq(at, 50000);
	mpix_close(f);
}

/* ---- refusals ---- */

static struct buf slurp(const char *path)
{
	struct buf b = {0};
	uint8_t block[4096];
	FILE *in = fopen(path, "rb");
	size_t n;
	cr_assert_not_null(in);
	while ((n = fread(block, 1, sizeof(block), in)) > 0)
		buf_bytes(&b, block, n);
	fclose(in);
	return b;
}

static void spill(const char *path, const void *data, size_t len_bytes)
{
	FILE *out = fopen(path, "wb");
	cr_assert_not_null(out);
	cr_assert_eq(fwrite(data, 1, len_bytes, out), len_bytes);
	fclose(out);
}

Test(mpix, truncated_anywhere_says_so)
{
	struct error e;
	struct mpix_file *f;
	cr_assert_eq(write_trace(path_of("w.mpix"), 2, 20, 20, 1000, &e), 0);
	struct buf whole = slurp(path_of("w.mpix"));
	for (size_t n = 0; n < whole.len_bytes; n++) {
		spill(path_of("cut.mpix"), whole.data, n);
		cr_assert_eq(mpix_open(path_of("cut.mpix"), &f, &e), -EBADMSG, "accepted %zu bytes", n);
		cr_assert_not_null(strstr(e.text, "cut"), "%zu bytes: %s", n, e.text);
	}
	buf_done(&whole);
}

Test(mpix, one_damaged_byte_is_found_or_harms_nothing)
{
	struct error e;
	struct mpix_file *f;
	cr_assert_eq(write_trace(path_of("w.mpix"), 2, 20, 20, 1000, &e), 0);
	struct buf whole = slurp(path_of("w.mpix"));
	uint64_t at = 0;
	for (size_t n = 0; n < whole.len_bytes; n++) {
		int count = 0;
		whole.data[n] ^= 0x41;
		spill(path_of("bad.mpix"), whole.data, whole.len_bytes);
		whole.data[n] ^= 0x41;
		if (mpix_open(path_of("bad.mpix"), &f, &e) < 0)
			continue;
		if (mpix_each_event(f, 0, INT64_MIN, INT64_MAX, count_event, &count, &e) == 0)
			cr_assert_eq(count, 20, "byte %zu changed the count", n);
		mpix_close(f);
		at++;
	}
	cr_assert_gt(at, 0);
	buf_done(&whole);
}

Test(mpix, a_file_of_another_format_is_called_that)
{
	struct error e;
	struct mpix_file *f;
	char text[200];
	memset(text, 'x', sizeof(text));
	spill(path_of("x.mpix"), text, sizeof(text));
	cr_assert_eq(mpix_open(path_of("x.mpix"), &f, &e), -EBADMSG);
	cr_assert_not_null(strstr(e.text, "not an .mpix"));
	cr_assert_eq(mpix_open(path_of("none.mpix"), &f, &e), -ENOENT);
	cr_assert_eq(mpix_open(directory, &f, &e), -EBADMSG);
}

/* Rewrite the index of a small file with one entry changed and every checksum right. */
static int open_with_entry(const struct buf *whole, const struct mpix_entry *forged)
{
	struct mpix_super s;
	struct error e;
	struct mpix_file *f;
	_cleanup_buf_ struct buf out = {0}, super = {0};
	cr_assert_eq(mpix_get_super(cursor_over(whole->data, whole->len_bytes), whole->len_bytes, &s, &e), 0);
	buf_bytes(&out, whole->data, s.index_offset);
	for (uint32_t i = 0; i < s.entries; i++)
		mpix_put_entry(&out, forged);
	s.index_crc = crc32c(0, out.data + s.index_offset, out.len_bytes - s.index_offset);
	mpix_put_super(&super, &s);
	memcpy(out.data, super.data, super.len_bytes);
	mpix_put_trailer(&out, s.file_bytes, crc32c(0, super.data, super.len_bytes));
	spill(path_of("forged.mpix"), out.data, out.len_bytes);
	int rc = mpix_open(path_of("forged.mpix"), &f, &e);
	if (rc == 0)
		mpix_close(f);
	return rc;
}

Test(mpix, an_entry_past_any_limit_is_refused)
{
	struct error e;
	cr_assert_eq(write_trace(path_of("w.mpix"), 2, 20, 20, 1000, &e), 0);
	struct buf whole = slurp(path_of("w.mpix"));
	const struct mpix_entry forged[] = {
		{.kind = 0, .offset = 64, .packed_bytes = 10, .raw_bytes = 10},
		{.kind = 8, .offset = 64, .packed_bytes = 10, .raw_bytes = 10},
		{.kind = MPIX_META, .offset = 0, .packed_bytes = 10, .raw_bytes = 10},
		{.kind = MPIX_META, .offset = 64, .packed_bytes = UINT32_MAX, .raw_bytes = 10},
		{.kind = MPIX_META, .offset = UINT64_MAX, .packed_bytes = 10, .raw_bytes = 10},
		{.kind = MPIX_META, .offset = 64, .packed_bytes = 10, .raw_bytes = MPIX_CHUNK_RAW_MAX + 1},
		{.kind = MPIX_META, .offset = 64, .packed_bytes = 10, .raw_bytes = 1u << 20},
		{.kind = MPIX_META, .offset = 64, .packed_bytes = 0, .raw_bytes = 0},
		{.kind = MPIX_ANALYSIS, .offset = 64, .packed_bytes = 10, .raw_bytes = 10},
	};
	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++)
		cr_assert_eq(open_with_entry(&whole, &forged[i]), -EBADMSG, "entry %zu accepted", i);
	buf_done(&whole);
}

/* The same file with the contents of its first chunk of one kind replaced and every checksum right.
 */
static void write_forged(const struct buf *whole, enum mpix_kind kind, const void *raw, size_t raw_bytes)
{
	struct mpix_super s;
	struct error e;
	struct mpix_entry x;
	_cleanup_buf_ struct buf out = {0}, index = {0}, super = {0};
	cr_assert_eq(mpix_get_super(cursor_over(whole->data, whole->len_bytes), whole->len_bytes, &s, &e), 0);
	struct cursor c = cursor_over(whole->data + s.index_offset, s.entries * MPIX_ENTRY_BYTES);
	buf_bytes(&out, whole->data, MPIX_SUPERBLOCK_BYTES);
	for (uint32_t i = 0; i < s.entries; i++) {
		cr_assert_eq(mpix_get_entry(&c, &x), 0);
		size_t begin = out.len_bytes;
		if (x.kind == kind && raw != NULL) {
			cr_assert_eq(pack_deflate(&out, raw, raw_bytes, 6, NULL), 0);
			x.raw_bytes = (uint32_t)raw_bytes;
			raw = NULL;
		} else {
			buf_bytes(&out, whole->data + x.offset, x.packed_bytes);
		}
		x.offset = begin;
		x.packed_bytes = (uint32_t)(out.len_bytes - begin);
		x.crc = crc32c(0, out.data + begin, x.packed_bytes);
		mpix_put_entry(&index, &x);
	}
	s.index_offset = out.len_bytes;
	s.file_bytes = out.len_bytes + index.len_bytes + MPIX_TRAILER_BYTES;
	s.index_crc = crc32c(0, index.data, index.len_bytes);
	buf_bytes(&out, index.data, index.len_bytes);
	mpix_put_super(&super, &s);
	memcpy(out.data, super.data, super.len_bytes);
	mpix_put_trailer(&out, s.file_bytes, crc32c(0, super.data, super.len_bytes));
	spill(path_of("forged.mpix"), out.data, out.len_bytes);
}

static int count_message(void *context, const struct mpix_message *message)
{
	(void)message;
	++*(int *)context;
	return 0;
}

static struct buf contents_of(const struct buf *whole, enum mpix_kind kind)
{
	struct mpix_super s;
	struct error e;
	struct mpix_entry x;
	struct buf raw = {0};
	cr_assert_eq(mpix_get_super(cursor_over(whole->data, whole->len_bytes), whole->len_bytes, &s, &e), 0);
	struct cursor c = cursor_over(whole->data + s.index_offset, s.entries * MPIX_ENTRY_BYTES);
	do
		cr_assert_eq(mpix_get_entry(&c, &x), 0);
	while (x.kind != kind);
	uint8_t *to = buf_reserve(&raw, x.raw_bytes);
	cr_assert_eq(pack_inflate_to(to, x.raw_bytes, (struct span){whole->data + x.offset, x.packed_bytes}, NULL), 0);
	raw.len_bytes = x.raw_bytes;
	return raw;
}

/* Whatever a chunk says: refused, or read within bounds. Worth most under
 * -Db_sanitize=address,undefined. */
static void try_every_byte(enum mpix_kind kind)
{
	static const uint8_t changes[] = {0x01, 0x80, 0xff};
	struct error e;
	struct mpix_file *f;
	int refused = 0, count = 0;
	cr_assert_eq(write_trace(path_of("w.mpix"), 2, 12, 12, 1000, &e), 0);
	struct buf whole = slurp(path_of("w.mpix")), raw = contents_of(&whole, kind);
	for (size_t n = 0; n < raw.len_bytes * sizeof(changes); n++) {
		uint8_t *byte = &raw.data[n / sizeof(changes)], old = *byte;
		*byte ^= changes[n % sizeof(changes)];
		write_forged(&whole, kind, raw.data, raw.len_bytes);
		*byte = old;
		if (mpix_open(path_of("forged.mpix"), &f, &e) < 0) {
			refused++;
			continue;
		}
		int events = mpix_each_event(f, 0, INT64_MIN, INT64_MAX, count_event, &count, &e);
		int messages = mpix_each_message(f, INT64_MIN, INT64_MAX, count_message, &count, &e);
		cr_assert(events == 0 || events == -EBADMSG);
		cr_assert(messages == 0 || messages == -EBADMSG);
		refused += events < 0 || messages < 0;
		mpix_close(f);
	}
	cr_assert_gt(refused, 0);
	buf_done(&raw);
	buf_done(&whole);
}

Test(mpix, a_forged_event_chunk_stays_within_bounds)
{
	try_every_byte(MPIX_EVENTS);
}

Test(mpix, a_forged_message_chunk_stays_within_bounds)
{
	try_every_byte(MPIX_MESSAGES);
}

Test(mpix, a_forged_description_stays_within_bounds)
{
	try_every_byte(MPIX_META);
}

Test(mpix, a_description_past_any_limit_is_refused)
{
	const struct mpix_info good = {.ranks = 2, .runtime_ns = 10, .ops = ops, .nops = 3};
	const struct mpix_shape shape = {.group_ranks = 16,
					 .rows = 64,
					 .bins = 256,
					 .row_factor = 4,
					 .flow_ranks = 1,
					 .segment_ns = 1,
					 .threads = 1};
	struct mpix_info info[] = {good, good, good};
	struct mpix_info got;
	struct mpix_shape got_shape;
	const char **names;
	info[0].ranks = 0;
	info[1].ranks = RANKS_MAX + 1;
	info[2].runtime_ns = MPIX_RUNTIME_MAX_NS + 1;
	for (int i = 0; i < 3; i++) {
		_cleanup_buf_ struct buf b = {0};
		mpix_put_meta(&b, &info[i], &shape);
		cr_assert_eq(mpix_get_meta(cursor_over(b.data, b.len_bytes), &got, &got_shape, &names), -EBADMSG);
	}
	_cleanup_buf_ struct buf b = {0};
	mpix_put_meta(&b, &good, &shape);
	for (size_t n = 0; n < b.len_bytes; n++)
		cr_assert_eq(mpix_get_meta(cursor_over(b.data, n), &got, &got_shape, &names), -EBADMSG);
	cr_assert_eq(mpix_get_meta(cursor_over(b.data, b.len_bytes), &got, &got_shape, &names), 0);
	free(names);
}

Test(mpix, ranks_out_of_order_and_unknown_ranks_are_refused)
{
	struct error e;
	struct mpix_info info = {.ranks = 3, .runtime_ns = 100, .ops = ops, .nops = 3};
	struct mpix_writer *w;
	struct mpix_message wild = make_message(1, 2);
	wild.dst = 3;
	cr_assert_eq(mpix_writer_create(path_of("r.mpix"), &info, &w, &e), 0);
	cr_assert_eq(mpix_writer_events(w, 1, NULL, 0, &e), 0);
	cr_assert_eq(mpix_writer_events(w, 0, NULL, 0, &e), -EINVAL);
	cr_assert_eq(mpix_writer_events(w, 3, NULL, 0, &e), -EINVAL);
	cr_assert_eq(mpix_writer_messages(w, &wild, 1, &e), -EINVAL);
	cr_assert_neq(mpix_writer_finish(w, "{}", &e), 0);
	cr_assert_neq(access(path_of("r.mpix"), F_OK), 0);
}

/* ---- a full disk ---- */

static int files_in_directory(void)
{
	DIR *d = opendir(directory);
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
	signal(SIGXFSZ, SIG_IGN);
	for (limit.rlim_cur = 0; limit.rlim_cur < 60000; limit.rlim_cur += 7001) {
		cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
		int rc = write_trace(path_of("full.mpix"), 4, 3000, 3000, 1000000, &e);
		cr_assert_lt(rc, 0, "%ju bytes were enough", (uintmax_t)limit.rlim_cur);
		cr_assert_eq(files_in_directory(), 0, "limit %ju left a file", (uintmax_t)limit.rlim_cur);
		cr_assert_not_null(strstr(e.text, "nothing was left behind"), "%s", e.text);
	}
}

Test(mpix, giving_up_leaves_nothing_behind)
{
	struct error e;
	struct mpix_info info = {.ranks = 3, .runtime_ns = 100, .ops = ops, .nops = 3};
	struct mpix_writer *w;
	cr_assert_eq(mpix_writer_create(path_of("g.mpix"), &info, &w, &e), 0);
	mpix_writer_abandon(w);
	mpix_writer_abandon(NULL);
	cr_assert_eq(files_in_directory(), 0);
}
