/* mpic_sample.c - see mpic_sample.h. A head, then records {varint type, varint length, payload}. */
#include "format/mpic_sample.h"

#define FLAG_WHOLE 1u

/* ---- writing ---- */

void mpic_put_sample(struct buf *out, const struct mpic_sample *s)
{
	buf_u64(out, s->tick);
	buf_u64(out, (uint64_t)s->monotonic_ns);
	buf_u64(out, (uint64_t)s->realtime_ns);
	buf_varint(out, s->gap_ns);
	buf_varint(out, s->whole ? FLAG_WHOLE : 0);
}

static void put_record(struct buf *out, enum mpic_sample_type type, const uint64_t *numbers, uint32_t n)
{
	_cleanup_buf_ struct buf payload = {0};
	for (uint32_t i = 0; i < n; i++)
		buf_varint(&payload, numbers[i]);
	buf_varint(out, type);
	buf_varint(out, payload.len_bytes);
	buf_bytes(out, payload.data, payload.len_bytes);
	out->failed |= payload.failed;
}

#define PUT(out, type, ...) \
	put_record(out, type, (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

void mpic_put_sample_process(struct buf *out, uint32_t process, enum mpic_sample_state state, uint64_t resident_bytes)
{
	PUT(out, MPIC_SAMPLE_PROCESS, process, state, resident_bytes);
}

void mpic_put_sample_thread(struct buf *out, uint32_t thread)
{
	PUT(out, MPIC_SAMPLE_THREAD, thread);
}

void mpic_put_sample_total(struct buf *out, uint32_t next_sig, uint32_t sig, uint64_t calls, uint64_t ticks)
{
	PUT(out, MPIC_SAMPLE_TOTAL, sig - next_sig, calls, ticks);
}

void mpic_put_sample_open(struct buf *out, uint64_t age_ticks, uint32_t sig, const uint64_t *words, uint32_t nwords)
{
	uint64_t all[2 + MPIC_SAMPLE_WORDS_MAX] = {age_ticks, sig};
	uint32_t n = nwords < MPIC_SAMPLE_WORDS_MAX ? nwords : MPIC_SAMPLE_WORDS_MAX;
	for (uint32_t i = 0; i < n; i++)
		all[2 + i] = words[i];
	put_record(out, MPIC_SAMPLE_OPEN, all, 2 + n);
}

void mpic_put_sample_still(struct buf *out)
{
	put_record(out, MPIC_SAMPLE_STILL, NULL, 0);
}

void mpic_put_sample_started(struct buf *out, uint64_t next_serial, const uint32_t *started, uint32_t n)
{
	uint64_t all[1 + MPIC_SAMPLE_STARTED_MAX] = {next_serial};
	for (uint32_t i = 0; i < n && i < MPIC_SAMPLE_STARTED_MAX; i++)
		all[1 + i] = started[i];
	put_record(out, MPIC_SAMPLE_STARTED, all, 1 + (n < MPIC_SAMPLE_STARTED_MAX ? n : MPIC_SAMPLE_STARTED_MAX));
}

void mpic_put_sample_others(struct buf *out, uint64_t others)
{
	PUT(out, MPIC_SAMPLE_OTHERS, others);
}

void mpic_put_sample_system(struct buf *out, const struct mpic_system *since)
{
	PUT(out, MPIC_SAMPLE_SYSTEM, since->cpu_ns, since->wait_ns, since->slices, since->minor_faults,
	    since->major_faults, since->cpu, since->run_state, since->involuntary);
}

void mpic_put_sample_counters(struct buf *out, const struct mpic_counters *since)
{
	PUT(out, MPIC_SAMPLE_COUNTERS, since->cycles, since->instructions, since->user_ns);
}

void mpic_put_sample_memory(struct buf *out, uint64_t used_bytes, uint64_t limit_bytes)
{
	PUT(out, MPIC_SAMPLE_MEMORY, used_bytes, limit_bytes);
}

/* ---- reading ---- */

int mpic_sample_begin(struct cursor payload, struct mpic_sample *ret_sample, struct mpic_sample_reader *ret_reader)
{
	struct mpic_sample s;
	uint64_t monotonic, realtime, flags;
	if (rd_u64(&payload, &s.tick) < 0 || rd_u64(&payload, &monotonic) < 0 || rd_u64(&payload, &realtime) < 0 ||
	    rd_varint(&payload, &s.gap_ns) < 0 || rd_varint(&payload, &flags) < 0 || s.gap_ns > INT64_MAX)
		return -EBADMSG;
	s.monotonic_ns = (int64_t)monotonic;
	s.realtime_ns = (int64_t)realtime;
	s.whole = (flags & FLAG_WHOLE) != 0;
	*ret_sample = s;
	*ret_reader = (struct mpic_sample_reader){.rest = payload};
	return 0;
}

/* A number below max. */
static int rd_below(struct cursor *c, uint64_t max, uint32_t *ret_value)
{
	uint64_t value;
	if (rd_varint(c, &value) < 0 || value >= max)
		return -EBADMSG;
	*ret_value = (uint32_t)value;
	return 0;
}

static int read_process(struct mpic_sample_reader *r, struct cursor c, struct mpic_sample_item *item)
{
	uint32_t state;
	r->in_thread = false;
	if (rd_below(&c, MPIC_PROCESSES_MAX, &r->process) < 0 || rd_below(&c, SAMPLE_STARTING + 1, &state) < 0 ||
	    rd_varint(&c, &item->resident_bytes) < 0)
		return -EBADMSG;
	item->state = state;
	r->in_process = true;
	return 1;
}

static int read_thread(struct mpic_sample_reader *r, struct cursor c)
{
	if (!r->in_process || rd_below(&c, MPIC_THREADS_MAX, &r->thread) < 0)
		return -EBADMSG;
	r->next_sig = 0;
	r->in_thread = true;
	return 1;
}

static int read_total(struct mpic_sample_reader *r, struct cursor c, struct mpic_sample_item *item)
{
	uint32_t step;
	if (!r->in_thread || rd_below(&c, MPIC_SIGS_MAX - r->next_sig, &step) < 0 || rd_varint(&c, &item->calls) < 0 ||
	    rd_varint(&c, &item->ticks) < 0)
		return -EBADMSG;
	item->sig = r->next_sig + step;
	r->next_sig = item->sig + 1;
	return 1;
}

static int read_open(const struct mpic_sample_reader *r, struct cursor c, struct mpic_sample_item *item)
{
	if (!r->in_thread || rd_varint(&c, &item->age_ticks) < 0 || rd_below(&c, MPIC_SIGS_MAX, &item->sig) < 0)
		return -EBADMSG;
	for (item->nwords = 0; cursor_left(&c) > 0; item->nwords++)
		if (item->nwords == MPIC_SAMPLE_WORDS_MAX || rd_varint(&c, &item->words[item->nwords]) < 0)
			return -EBADMSG;
	return 1;
}

static int read_system(const struct mpic_sample_reader *r, struct cursor c, struct mpic_system *s)
{
	s->run_state = s->involuntary = 0;
	if (!r->in_thread || rd_varint(&c, &s->cpu_ns) < 0 || rd_varint(&c, &s->wait_ns) < 0 ||
	    rd_varint(&c, &s->slices) < 0 || rd_varint(&c, &s->minor_faults) < 0 ||
	    rd_varint(&c, &s->major_faults) < 0 || rd_varint(&c, &s->cpu) < 0)
		return -EBADMSG;
	/* Writers before November 2026 end here. */
	if (cursor_left(&c) > 0 && (rd_varint(&c, &s->run_state) < 0 || rd_varint(&c, &s->involuntary) < 0))
		return -EBADMSG;
	return 1;
}

static int read_counters(const struct mpic_sample_reader *r, struct cursor c, struct mpic_counters *x)
{
	if (!r->in_thread || rd_varint(&c, &x->cycles) < 0 || rd_varint(&c, &x->instructions) < 0 ||
	    rd_varint(&c, &x->user_ns) < 0)
		return -EBADMSG;
	return 1;
}

static int read_started(const struct mpic_sample_reader *r, struct cursor c, struct mpic_sample_item *item)
{
	if (!r->in_thread || rd_varint(&c, &item->next_serial) < 0)
		return -EBADMSG;
	for (item->nstarted = 0; cursor_left(&c) > 0; item->nstarted++)
		if (item->nstarted == MPIC_SAMPLE_STARTED_MAX ||
		    rd_below(&c, MPIC_SIGS_MAX, &item->started[item->nstarted]) < 0)
			return -EBADMSG;
	return item->nstarted <= item->next_serial ? 1 : -EBADMSG;
}

static int read_others(const struct mpic_sample_reader *r, struct cursor c, struct mpic_sample_item *item)
{
	return !r->in_process || rd_varint(&c, &item->others) < 0 || item->others > INT64_MAX ? -EBADMSG : 1;
}

static int read_memory(struct cursor c, struct mpic_sample_item *item)
{
	return rd_varint(&c, &item->used_bytes) < 0 || rd_varint(&c, &item->limit_bytes) < 0 ? -EBADMSG : 1;
}

/* 1, 0 for a record of a type not known here, -EBADMSG. */
static int read_record(struct mpic_sample_reader *r, uint64_t type, struct cursor c, struct mpic_sample_item *item)
{
	switch (type) {
	case MPIC_SAMPLE_PROCESS:
		return read_process(r, c, item);
	case MPIC_SAMPLE_THREAD:
		return read_thread(r, c);
	case MPIC_SAMPLE_TOTAL:
		return read_total(r, c, item);
	case MPIC_SAMPLE_OPEN:
		return read_open(r, c, item);
	case MPIC_SAMPLE_STILL:
		return r->in_thread ? 1 : -EBADMSG;
	case MPIC_SAMPLE_SYSTEM:
		return read_system(r, c, &item->system);
	case MPIC_SAMPLE_OTHERS:
		return read_others(r, c, item);
	case MPIC_SAMPLE_MEMORY:
		return read_memory(c, item);
	case MPIC_SAMPLE_COUNTERS:
		return read_counters(r, c, &item->counters);
	case MPIC_SAMPLE_STARTED:
		return read_started(r, c, item);
	default:
		return 0;
	}
}

int mpic_sample_next(struct mpic_sample_reader *r, struct mpic_sample_item *ret_item)
{
	while (cursor_left(&r->rest) > 0) {
		uint64_t type, len;
		struct span payload;
		if (rd_varint(&r->rest, &type) < 0 || rd_varint(&r->rest, &len) < 0 || len > cursor_left(&r->rest) ||
		    rd_bytes(&r->rest, (size_t)len, &payload) < 0)
			return -EBADMSG;
		int rc = read_record(r, type, cursor_over(payload.data, payload.len_bytes), ret_item);
		if (rc == 0)
			continue;
		ret_item->type = (enum mpic_sample_type)type;
		ret_item->process = r->process;
		ret_item->thread = r->thread;
		return rc;
	}
	return 0;
}
