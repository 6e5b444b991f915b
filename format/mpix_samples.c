/* mpix_samples.c - what all threads did from one look at them to the next: written, read, and two made one. SPEC.md,
 * SAMPLES, draws them. The bytes of one sample stand by themselves, so whoever serves a running job can hand out
 * the same. */
#include "format/mpix_samples.h"
#include "format/mpix_chunks.h"
#include "format/mpix_head.h"
#include "format/mpix_reader.h"

enum column { LANE, KNOWN, CPU, READY, RESIDENT, CELLS, OP, SITE, CALLS, TICKS, BYTES, WAIT, COLUMNS };
_Static_assert(COLUMNS <= MPIX_COLUMNS_MAX, "columns of a sample");

#define KNOWN_ALL (MPIX_SAMPLE_SYSTEM | MPIX_SAMPLE_RESIDENT | MPIX_SAMPLE_SILENT)

/* ---- writing ---- */

static void put_thread(struct buf columns[COLUMNS], const struct mpix_sample_thread *t, uint64_t next_lane)
{
	buf_varint(&columns[LANE], t->lane - next_lane);
	buf_varint(&columns[KNOWN], t->known);
	if ((t->known & MPIX_SAMPLE_SYSTEM) != 0) {
		buf_varint(&columns[CPU], t->cpu_ns);
		buf_varint(&columns[READY], t->ready_ns);
	}
	if ((t->known & MPIX_SAMPLE_RESIDENT) != 0)
		buf_varint(&columns[RESIDENT], t->resident_bytes);
	buf_varint(&columns[CELLS], t->ncells);
	for (uint32_t i = 0; i < t->ncells; i++) {
		const struct mpix_sample_cell *c = &t->cells[i];
		buf_varint(&columns[OP], c->op);
		buf_varint(&columns[SITE], mpix_site_out(c->callsite));
		buf_varint(&columns[CALLS], c->calls);
		buf_varint(&columns[TICKS], c->ticks);
		buf_varint(&columns[BYTES], c->bytes);
		buf_varint(&columns[WAIT], c->wait_ns);
	}
}

static uint64_t mpix_sample_cells(const struct mpix_sample *s)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < s->nthreads; i++)
		n += s->threads[i].ncells;
	return n;
}

void mpix_put_sample(struct buf *out, const struct mpix_sample *s)
{
	struct buf columns[COLUMNS] = {0};
	uint64_t next_lane = 0;
	for (uint32_t i = 0; i < s->nthreads; i++) {
		put_thread(columns, &s->threads[i], next_lane);
		next_lane = (uint64_t)s->threads[i].lane + 1;
	}
	buf_varint(out, s->number);
	buf_varint(out, s->samples);
	buf_varint(out, s->nthreads);
	buf_varint(out, mpix_sample_cells(s));
	mpix_join_columns(columns, COLUMNS, out);
	for (unsigned i = 0; i < COLUMNS; i++)
		buf_done(&columns[i]);
}

/* ---- what is possible: the same asked of who writes and of what is read ---- */

static bool is_behind(const struct mpix_sample_cell *c, const struct mpix_sample_cell *before)
{
	return c->op > before->op ||
	       (c->op == before->op && mpix_site_out(c->callsite) > mpix_site_out(before->callsite));
}

static bool cells_are_sane(const struct mpix_sample_thread *t, uint32_t nops)
{
	for (uint32_t i = 0; i < t->ncells; i++) {
		const struct mpix_sample_cell *c = &t->cells[i];
		if (c->op >= nops || c->calls >= MPIX_TICKS_MAX || c->ticks >= MPIX_TICKS_MAX ||
		    c->bytes >= MPIX_TICKS_MAX || c->wait_ns >= MPIX_TICKS_MAX ||
		    (i > 0 && !is_behind(c, &t->cells[i - 1])))
			return false;
	}
	return true;
}

static bool thread_is_sane(const struct mpix_sample_thread *t, uint32_t nops)
{
	return (t->known & ~KNOWN_ALL) == 0 && t->cpu_ns < MPIX_TICKS_MAX && t->ready_ns < MPIX_TICKS_MAX &&
	       t->resident_bytes < MPIX_TICKS_MAX && cells_are_sane(t, nops);
}

static bool sample_is_sane(const struct mpix_sample *s, uint32_t lanes, uint32_t nops)
{
	if (s->samples == 0 || s->number >= MPIX_TICKS_MAX || s->start_ns > s->end_ns ||
	    mpix_sample_cells(s) > MPIX_CHUNK_RECORDS_MAX)
		return false;
	for (uint32_t i = 0; i < s->nthreads; i++) {
		const struct mpix_sample_thread *t = &s->threads[i];
		if (t->lane >= lanes || (i > 0 && t->lane <= s->threads[i - 1].lane) || !thread_is_sane(t, nops))
			return false;
	}
	return true;
}

/* ---- reading ---- */

void mpix_sample_done(struct mpix_sample_memory *m)
{
	vec_done(&m->threads);
	vec_done(&m->cells);
}

static int get_cell(struct cursor c[COLUMNS], struct mpix_sample_cell *ret_cell)
{
	uint64_t site;
	if (mpix_rd_u32(&c[OP], &ret_cell->op) < 0 || rd_varint(&c[SITE], &site) < 0 || site > UINT32_MAX ||
	    rd_varint(&c[CALLS], &ret_cell->calls) < 0 || rd_varint(&c[TICKS], &ret_cell->ticks) < 0 ||
	    rd_varint(&c[BYTES], &ret_cell->bytes) < 0 || rd_varint(&c[WAIT], &ret_cell->wait_ns) < 0)
		return -EBADMSG;
	ret_cell->callsite = mpix_site_in(site);
	return 0;
}

static int get_thread(struct cursor c[COLUMNS], struct mpix_sample_memory *m, uint64_t next_lane, uint32_t lanes)
{
	struct mpix_sample_thread t = {0};
	uint64_t lane, known;
	if (rd_varint(&c[LANE], &lane) < 0 || next_lane >= lanes || lane >= lanes - next_lane ||
	    rd_varint(&c[KNOWN], &known) < 0 || (known & ~(uint64_t)KNOWN_ALL) != 0)
		return -EBADMSG;
	t.lane = (uint32_t)(next_lane + lane);
	t.known = (uint8_t)known;
	if ((t.known & MPIX_SAMPLE_SYSTEM) != 0 &&
	    (rd_varint(&c[CPU], &t.cpu_ns) < 0 || rd_varint(&c[READY], &t.ready_ns) < 0))
		return -EBADMSG;
	if ((t.known & MPIX_SAMPLE_RESIDENT) != 0 && rd_varint(&c[RESIDENT], &t.resident_bytes) < 0)
		return -EBADMSG;
	if (mpix_rd_u32(&c[CELLS], &t.ncells) < 0 || t.ncells > cursor_left(&c[OP]))
		return -EBADMSG;
	for (uint32_t i = 0; i < t.ncells; i++) {
		struct mpix_sample_cell cell;
		if (get_cell(c, &cell) < 0)
			return -EBADMSG;
		if (vec_push(&m->cells, cell) < 0)
			return -ENOMEM;
	}
	return vec_push(&m->threads, t);
}

/* Cells move while they are read, so threads get theirs at the end. */
static void give_cells(struct mpix_sample_memory *m)
{
	size_t at = 0;
	for (size_t i = 0; i < m->threads.n; i++) {
		m->threads.at[i].cells = m->cells.at + (m->cells.n > 0 ? at : 0);
		at += m->threads.at[i].ncells;
	}
}

int mpix_get_sample(struct cursor bytes, uint32_t lanes, uint32_t nops, struct mpix_sample_memory *m,
		    struct mpix_sample *ret_sample)
{
	struct mpix_sample s = {.start_ns = ret_sample->start_ns, .end_ns = ret_sample->end_ns};
	struct cursor c[COLUMNS];
	uint64_t cells, next_lane = 0;
	if (rd_varint(&bytes, &s.number) < 0 || mpix_rd_u32(&bytes, &s.samples) < 0 ||
	    mpix_rd_u32(&bytes, &s.nthreads) < 0 || rd_varint(&bytes, &cells) < 0 || s.nthreads > lanes ||
	    cells > MPIX_CHUNK_RECORDS_MAX || mpix_split_columns(&bytes, c, COLUMNS) < 0)
		return -EBADMSG;
	m->threads.n = m->cells.n = 0;
	for (uint32_t i = 0; i < s.nthreads; i++) {
		int rc = get_thread(c, m, next_lane, lanes);
		if (rc < 0)
			return rc;
		next_lane = (uint64_t)m->threads.at[i].lane + 1;
	}
	for (unsigned i = 0; i < COLUMNS; i++)
		if (cursor_left(&c[i]) > 0)
			return -EBADMSG;
	give_cells(m);
	s.threads = m->threads.at;
	if (m->cells.n != cells || !sample_is_sane(&s, lanes, nops))
		return -EBADMSG;
	*ret_sample = s;
	return 0;
}

static int visit_chunk(struct mpix_file *f, const struct mpix_entry *x, struct mpix_sample_memory *m,
		       int (*visit)(void *context, const struct mpix_sample *sample), void *context, struct error *e)
{
	struct mpix_sample s = {.start_ns = x->start_ns, .end_ns = x->end_ns};
	uint8_t *raw;
	int rc = mpix_read_chunk(f, x, &raw, e);
	if (rc < 0)
		return rc;
	rc = mpix_get_sample(cursor_over(raw, x->raw_bytes), f->lanes.n, f->info.nops, m, &s);
	free(raw);
	if (rc == -ENOMEM)
		return fail(e, rc, "%s: out of memory", f->path);
	return rc < 0 || mpix_sample_cells(&s) != x->records ? mpix_damaged(f, x, e) : visit(context, &s);
}

int mpix_each_sample(struct mpix_file *f, int (*visit)(void *context, const struct mpix_sample *sample), void *context,
		     struct error *e)
{
	struct mpix_sample_memory m = {0};
	uint32_t n = 0;
	int rc = 0;
	const struct mpix_entry *x = f->super.version > 1 ? mpix_find_kind(f, MPIX_SAMPLES, &n) : NULL;
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = visit_chunk(f, &x[i], &m, visit, context, e);
	mpix_sample_done(&m);
	return rc;
}

uint32_t mpix_samples(const struct mpix_file *f)
{
	uint32_t n = 0;
	if (f->super.version > 1)
		mpix_find_kind(f, MPIX_SAMPLES, &n);
	return n;
}

int mpix_sample(struct mpix_file *f, uint32_t i, int (*visit)(void *context, const struct mpix_sample *sample),
		void *context, struct error *e)
{
	struct mpix_sample_memory m = {0};
	uint32_t n = mpix_samples(f);
	int rc = i < n ? visit_chunk(f, &mpix_find_kind(f, MPIX_SAMPLES, &n)[i], &m, visit, context, e) : 0;
	mpix_sample_done(&m);
	return rc;
}

/* ---- two that follow each other as one: sums, so that all samples together stay the totals ---- */

/* What no honest program reaches stays there. */
static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return a + b < MPIX_TICKS_MAX ? a + b : MPIX_TICKS_MAX - 1;
}

static int add_cell(struct mpix_sample_memory *to, const struct mpix_sample_cell *a, const struct mpix_sample_cell *b)
{
	struct mpix_sample_cell sum = a != NULL ? *a : *b;
	if (a != NULL && b != NULL) {
		sum.calls = sum_of(a->calls, b->calls);
		sum.ticks = sum_of(a->ticks, b->ticks);
		sum.bytes = sum_of(a->bytes, b->bytes);
		sum.wait_ns = sum_of(a->wait_ns, b->wait_ns);
	}
	return vec_push(&to->cells, sum);
}

/* Either may be NULL. */
static int join_thread(struct mpix_sample_memory *to, const struct mpix_sample_thread *a,
		       const struct mpix_sample_thread *b)
{
	struct mpix_sample_thread sum = a != NULL ? *a : *b;
	uint32_t na = a != NULL ? a->ncells : 0, nb = b != NULL ? b->ncells : 0, i = 0, k = 0;
	size_t first = to->cells.n;
	while (i < na || k < nb) {
		bool one = i < na && (k >= nb || !is_behind(&a->cells[i], &b->cells[k]));
		bool other = k < nb && (i >= na || !is_behind(&b->cells[k], &a->cells[i]));
		if (add_cell(to, one ? &a->cells[i] : NULL, other ? &b->cells[k] : NULL) < 0)
			return -ENOMEM;
		i += one;
		k += other;
	}
	sum.ncells = (uint32_t)(to->cells.n - first);
	if (a != NULL && b != NULL) {
		unsigned either = (unsigned)(a->known | b->known) & (MPIX_SAMPLE_SYSTEM | MPIX_SAMPLE_RESIDENT);
		sum.known = (uint8_t)(either | (unsigned)(a->known & b->known & MPIX_SAMPLE_SILENT));
		sum.cpu_ns = sum_of(sum.cpu_ns, b->cpu_ns);
		sum.ready_ns = sum_of(sum.ready_ns, b->ready_ns);
		if ((b->known & MPIX_SAMPLE_RESIDENT) != 0)
			sum.resident_bytes = b->resident_bytes;
	} else {
		sum.known &= (uint8_t)~MPIX_SAMPLE_SILENT; /* in the other one it was heard, and did nothing */
	}
	return vec_push(&to->threads, sum);
}

int mpix_join_samples(const struct mpix_sample *a, const struct mpix_sample *b, struct mpix_sample_memory *m,
		      struct mpix_sample *ret_sample)
{
	uint32_t i = 0, k = 0;
	m->threads.n = m->cells.n = 0;
	while (i < a->nthreads || k < b->nthreads) {
		bool one = i < a->nthreads && (k >= b->nthreads || a->threads[i].lane <= b->threads[k].lane);
		bool other = k < b->nthreads && (i >= a->nthreads || b->threads[k].lane <= a->threads[i].lane);
		if (join_thread(m, one ? &a->threads[i] : NULL, other ? &b->threads[k] : NULL) < 0)
			return -ENOMEM;
		i += one;
		k += other;
	}
	give_cells(m);
	*ret_sample = (struct mpix_sample){.number = a->number,
					   .samples = a->samples + b->samples,
					   .start_ns = a->start_ns,
					   .end_ns = b->end_ns,
					   .nthreads = (uint32_t)m->threads.n,
					   .threads = m->threads.at};
	return 0;
}

/* ---- the writer of a file keeps as many as there is room for ---- */

static int encode(struct mpix_held_sample *to, const struct mpix_sample *s)
{
	to->start_ns = s->start_ns;
	to->end_ns = s->end_ns;
	to->records = (uint32_t)mpix_sample_cells(s);
	to->bytes.len_bytes = 0;
	mpix_put_sample(&to->bytes, s);
	return buf_failed(&to->bytes) ? -ENOMEM : 0;
}

static int decode(const struct mpix_head *h, const struct mpix_held_sample *from, struct mpix_sample_memory *m,
		  struct mpix_sample *ret_sample)
{
	*ret_sample = (struct mpix_sample){.start_ns = from->start_ns, .end_ns = from->end_ns};
	return mpix_get_sample(cursor_over(from->bytes.data, from->bytes.len_bytes), h->lanes.n, h->info.nops, m,
			       ret_sample);
}

/* Each two become one, from the first on; an odd last one stays. */
static int thin(struct mpix_held_samples *held, const struct mpix_head *h)
{
	struct mpix_sample_memory ma = {0}, mb = {0}, mc = {0};
	struct mpix_sample a, b, both;
	size_t n = held->list.n;
	int rc = 0;
	held->bytes = 0;
	for (size_t i = 0; i < n && rc == 0; i += 2) {
		struct mpix_held_sample *to = &held->list.at[i / 2], *from = &held->list.at[i];
		if (i + 1 < n) {
			rc = decode(h, &from[0], &ma, &a);
			rc = rc == 0 ? decode(h, &from[1], &mb, &b) : rc;
			rc = rc == 0 ? mpix_join_samples(&a, &b, &mc, &both) : rc;
			rc = rc == 0 && !sample_is_sane(&both, h->lanes.n, h->info.nops) ? -EINVAL : rc;
			rc = rc == 0 ? encode(&from[0], &both) : rc;
			buf_done(&from[1].bytes);
		}
		if (to != from) {
			*to = *from;
			*from = (struct mpix_held_sample){0};
		}
		held->bytes += to->bytes.len_bytes;
	}
	held->list.n = rc == 0 ? (n + 1) / 2 : n;
	mpix_sample_done(&ma);
	mpix_sample_done(&mb);
	mpix_sample_done(&mc);
	return rc;
}

int mpix_samples_add(struct mpix_held_samples *held, const struct mpix_head *h, const struct mpix_sample *sample)
{
	struct mpix_held_sample last = {0};
	int rc = 0;
	if (!sample_is_sane(sample, h->lanes.n, h->info.nops) || sample->number < held->next)
		return -EINVAL;
	held->next = sample->number + sample->samples;
	if (encode(&last, sample) < 0 || vec_push(&held->list, last) < 0) {
		buf_done(&last.bytes);
		return -ENOMEM;
	}
	held->bytes += last.bytes.len_bytes;
	while (rc == 0 && held->list.n > 1 && (held->bytes > held->max_bytes || held->list.n > MPIX_SAMPLES_MAX))
		rc = thin(held, h);
	return rc;
}

int mpix_samples_write(const struct mpix_held_samples *held, struct mpix_chunks *out, struct error *e)
{
	int rc = 0;
	for (size_t i = 0; i < held->list.n && rc == 0; i++) {
		const struct mpix_held_sample *s = &held->list.at[i];
		struct mpix_entry entry = {.kind = MPIX_SAMPLES,
					   .seq = (uint32_t)i,
					   .records = s->records,
					   .start_ns = s->start_ns,
					   .end_ns = s->end_ns};
		buf_bytes(&out->raw, s->bytes.data, s->bytes.len_bytes);
		rc = mpix_write_chunk(out, entry, e);
	}
	return rc;
}

void mpix_samples_done(struct mpix_held_samples *held)
{
	for (size_t i = 0; i < held->list.n; i++)
		buf_done(&held->list.at[i].bytes);
	vec_done(&held->list);
}
