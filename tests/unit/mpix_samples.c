/* mpix_samples.c - samples of all threads come back from an .mpix as they were given, and sums stay the totals however
 * many there are. */
#include "format/mpix_samples.h"
#include "format/mpix_writer.h"
#include "tests/unit/mpix_trace.h"

#include <criterion/criterion.h>
#include <errno.h>

#define RANKS 40u
#define OPS 3u
#define FAR ((1ull << 53) - 1)

TestSuite(mpix_samples, .init = make_directory, .fini = remove_directory);

static struct mpix_writer *begin(const char *path)
{
	static const char *const ops[OPS] = {"MPI_Send", "MPI_Recv", "MPI_Barrier"};
	static const struct mpix_clock_knot knot = {0, 0, 1};
	static const struct mpix_clock clock = {0, &knot, 1};
	struct mpix_info info = {
		.ranks = RANKS, .runtime_ns = 1000000, .ops = ops, .nops = OPS, .clocks = &clock, .nclocks = 1};
	struct mpix_writer *w;
	struct error e = {{0}};
	cr_assert_eq(mpix_writer_create(path, &info, &w, &e), 0, "%s", e.text);
	return w;
}

struct made {
	struct mpix_sample_thread threads[RANKS];
	struct mpix_sample_cell cells[RANKS][4];
	struct mpix_sample sample;
};

/* Every rank but those that do nothing now; each second one knows what the kernel counted, every eighth is silent. */
static const struct mpix_sample *make_sample(struct made *m, uint64_t number)
{
	uint32_t n = 0;
	for (uint32_t r = 0; r < RANKS; r++) {
		struct mpix_sample_thread *t = &m->threads[n];
		struct mpix_sample_cell *c = m->cells[n];
		if ((r + number) % 5 == 0)
			continue;
		*t = (struct mpix_sample_thread){.lane = r, .cells = c};
		t->known = (uint8_t)((r % 2 == 0 ? MPIX_SAMPLE_SYSTEM : 0) | (r % 3 == 0 ? MPIX_SAMPLE_RESIDENT : 0) |
				     ((r + number) % 8 == 1 ? MPIX_SAMPLE_SILENT : 0));
		t->cpu_ns = r % 2 == 0 ? number * 7 : 0;
		t->ready_ns = r % 2 == 0 ? r : 0;
		t->resident_bytes = r % 3 == 0 ? r * 4096ull + number : 0;
		if ((t->known & MPIX_SAMPLE_SILENT) == 0)
			for (uint32_t i = 0; i < 4 && i < (number + r) % 6; i++)
				c[t->ncells++] = (struct mpix_sample_cell){.op = i / 2 + (number % 2),
									   .callsite = i % 2 ? r : MPIX_NO_CALLSITE,
									   .calls = r + i,
									   .ticks = number * 1000 + r,
									   .bytes = i * 123456789ull,
									   .wait_ns = number};
		n++;
	}
	m->sample = (struct mpix_sample){.number = number,
					 .samples = 1,
					 .nthreads = n,
					 .start_ns = (int64_t)number * 100 - 100,
					 .end_ns = (int64_t)number * 100,
					 .threads = m->threads};
	return &m->sample;
}

struct sums {
	uint64_t calls, ticks, bytes, wait_ns, cpu_ns, ready_ns, samples, number, n;
	int64_t end_ns;
};

static void add(struct sums *s, const struct mpix_sample *x)
{
	s->samples += x->samples;
	s->n++;
	for (uint32_t i = 0; i < x->nthreads; i++) {
		const struct mpix_sample_thread *t = &x->threads[i];
		s->cpu_ns += t->cpu_ns;
		s->ready_ns += t->ready_ns;
		for (uint32_t k = 0; k < t->ncells; k++) {
			s->calls += t->cells[k].calls;
			s->ticks += t->cells[k].ticks;
			s->bytes += t->cells[k].bytes;
			s->wait_ns += t->cells[k].wait_ns;
		}
	}
}

static int see_sum(void *context, const struct mpix_sample *x)
{
	struct sums *s = context;
	cr_assert_gt(x->number, s->number);
	cr_assert_eq(x->start_ns, s->end_ns);
	s->number = x->number + x->samples - 1;
	s->end_ns = x->end_ns;
	add(s, x);
	return 0;
}

static void assert_same(const struct mpix_sample *a, const struct mpix_sample *b)
{
	cr_assert_eq(a->number, b->number);
	cr_assert_eq(a->samples, b->samples);
	cr_assert_eq(a->start_ns, b->start_ns);
	cr_assert_eq(a->end_ns, b->end_ns);
	cr_assert_eq(a->nthreads, b->nthreads);
	for (uint32_t i = 0; i < a->nthreads; i++) {
		const struct mpix_sample_thread *x = &a->threads[i], *y = &b->threads[i];
		cr_assert(x->lane == y->lane && x->ncells == y->ncells && x->known == y->known);
		cr_assert(x->cpu_ns == y->cpu_ns && x->ready_ns == y->ready_ns);
		cr_assert_eq(x->resident_bytes, y->resident_bytes);
		for (uint32_t k = 0; k < x->ncells; k++) {
			const struct mpix_sample_cell *c = &x->cells[k], *d = &y->cells[k];
			cr_assert(c->op == d->op && c->callsite == d->callsite && c->calls == d->calls);
			cr_assert(c->ticks == d->ticks && c->bytes == d->bytes && c->wait_ns == d->wait_ns);
		}
	}
}

static int expect(void *context, const struct mpix_sample *got)
{
	uint64_t *number = context;
	static struct made m;
	assert_same(make_sample(&m, ++*number), got);
	return 0;
}

/* How many samples the file has at the end; given is what they must add up to. */
static struct sums write_and_read(uint64_t samples, uint64_t max_bytes, struct sums *ret_given)
{
	static struct made m;
	struct mpix_writer *w = begin(path_of("s.mpix"));
	struct sums read = {0};
	struct mpix_file *f;
	struct error e = {{0}};
	if (max_bytes > 0)
		w->samples.max_bytes = max_bytes;
	for (uint64_t i = 1; i <= samples; i++) {
		add(ret_given, make_sample(&m, i));
		cr_assert_eq(mpix_writer_sample(w, &m.sample, &e), 0, "%s", e.text);
	}
	cr_assert_eq(mpix_writer_finish(w, "{}", &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(path_of("s.mpix"), &f, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_each_sample(f, see_sum, &read, &e), 0, "%s", e.text);
	mpix_close(f);
	return read;
}

static void assert_sums(const struct sums *a, const struct sums *b)
{
	cr_assert_eq(a->calls, b->calls);
	cr_assert_eq(a->ticks, b->ticks);
	cr_assert_eq(a->bytes, b->bytes);
	cr_assert_eq(a->wait_ns, b->wait_ns);
	cr_assert_eq(a->cpu_ns, b->cpu_ns);
	cr_assert_eq(a->ready_ns, b->ready_ns);
	cr_assert_eq(a->samples, b->samples);
}

Test(mpix_samples, come_back_in_order)
{
	struct sums given = {0}, read = write_and_read(30, 0, &given);
	struct mpix_file *f;
	struct error e = {{0}};
	uint64_t number = 0;
	assert_sums(&read, &given);
	cr_assert_eq(read.n, 30);
	cr_assert_eq(mpix_open(path_of("s.mpix"), &f, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_each_sample(f, expect, &number, &e), 0, "%s", e.text);
	cr_assert_eq(number, 30);
	mpix_close(f);
}

Test(mpix_samples, too_many_become_fewer_with_the_same_sums)
{
	for (uint64_t samples = 50; samples < 60; samples++) {
		struct sums given = {0}, read = write_and_read(samples, 10000, &given);
		cr_assert_lt(read.n, samples);
		cr_assert_gt(read.n, 1);
		cr_assert_eq(read.number, samples);
		assert_sums(&read, &given);
	}
}

Test(mpix_samples, a_file_has_at_most_so_many)
{
	struct sums given = {0}, read = write_and_read(2 * MPIX_SAMPLES_MAX + 3, 0, &given);
	cr_assert_leq(read.n, MPIX_SAMPLES_MAX);
	assert_sums(&read, &given);
}

Test(mpix_samples, of_two_a_thread_is_silent_if_it_was_in_both)
{
	struct mpix_sample_thread one[] = {{.lane = 1, .known = MPIX_SAMPLE_SILENT}, {.lane = 2, .known = 4}};
	struct mpix_sample_thread other[] = {{.lane = 2, .known = 4}, {.lane = 3, .known = 2, .resident_bytes = 9}};
	struct mpix_sample a = {.number = 1, .samples = 1, .nthreads = 2, .threads = one};
	struct mpix_sample b = {.number = 2, .samples = 3, .nthreads = 2, .threads = other, .end_ns = 7}, both;
	struct mpix_sample_memory m = {0};
	cr_assert_eq(mpix_join_samples(&a, &b, &m, &both), 0);
	cr_assert(both.number == 1 && both.samples == 4 && both.end_ns == 7 && both.nthreads == 3);
	cr_assert_eq(both.threads[0].known, 0);
	cr_assert_eq(both.threads[1].known, MPIX_SAMPLE_SILENT);
	cr_assert_eq(both.threads[2].resident_bytes, 9);
	mpix_sample_done(&m);
}

static int write_one(struct mpix_sample_cell cell, struct mpix_sample_thread thread, struct mpix_sample sample)
{
	struct mpix_writer *w = begin(path_of("bad.mpix"));
	struct error e = {{0}};
	thread.cells = &cell;
	thread.ncells = 1;
	sample.threads = &thread;
	sample.nthreads = 1;
	int rc = mpix_writer_sample(w, &sample, &e);
	mpix_writer_abandon(w);
	return rc;
}

Test(mpix_samples, impossible_ones_are_refused)
{
	const struct mpix_sample one = {.number = 1, .samples = 1};
	const struct mpix_sample_thread t = {0};
	const struct mpix_sample_cell c = {0};
	cr_assert_eq(write_one(c, t, one), 0);
	cr_assert_eq(write_one((struct mpix_sample_cell){.ticks = FAR}, t, one), 0);
	cr_assert_eq(write_one((struct mpix_sample_cell){.ticks = FAR + 1}, t, one), -EINVAL);
	cr_assert_eq(write_one((struct mpix_sample_cell){.calls = FAR + 1}, t, one), -EINVAL);
	cr_assert_eq(write_one((struct mpix_sample_cell){.op = OPS}, t, one), -EINVAL);
	cr_assert_eq(write_one(c, (struct mpix_sample_thread){.lane = RANKS}, one), -EINVAL);
	cr_assert_eq(write_one(c, (struct mpix_sample_thread){.known = 8}, one), -EINVAL);
	cr_assert_eq(write_one(c, t, (struct mpix_sample){.number = 1}), -EINVAL);
	cr_assert_eq(write_one(c, t, (struct mpix_sample){.number = 1, .samples = 1, .start_ns = 1}), -EINVAL);
}

Test(mpix_samples, a_number_is_there_once)
{
	static struct made m;
	struct mpix_writer *w = begin(path_of("twice.mpix"));
	struct error e = {{0}};
	cr_assert_eq(mpix_writer_sample(w, make_sample(&m, 1), &e), 0, "%s", e.text);
	cr_assert_eq(mpix_writer_sample(w, &m.sample, &e), -EINVAL);
	mpix_writer_abandon(w);
}

/* Cut anywhere, a byte changed, or one more: refused, or something possible is read; never outside of the bytes. */
Test(mpix_samples, any_bytes_are_refused_or_possible)
{
	static struct made m;
	_cleanup_buf_ struct buf b = {0};
	struct mpix_sample_memory memory = {0};
	struct mpix_sample s = {0};
	mpix_put_sample(&b, make_sample(&m, 4));
	for (size_t n = 0; n < b.len_bytes; n++)
		cr_assert_eq(mpix_get_sample(cursor_over(b.data, n), RANKS, OPS, &memory, &s), -EBADMSG);
	for (size_t i = 0; i < b.len_bytes; i++) {
		b.data[i] ^= 0x81;
		int rc = mpix_get_sample(cursor_over(b.data, b.len_bytes), RANKS, OPS, &memory, &s);
		cr_assert(rc == 0 || rc == -EBADMSG);
		b.data[i] ^= 0x81;
	}
	buf_u8(&b, 0);
	cr_assert_eq(mpix_get_sample(cursor_over(b.data, b.len_bytes), RANKS, OPS, &memory, &s), -EBADMSG);
	mpix_sample_done(&memory);
}
