/* target_sample.c - the payload of a SAMPLE block: refused, or every number is within its limit, and what is written
 * again from it reads as the same. */
#include "tests/fuzz/fuzz.h"

#include "format/mpic_sample.h"

#include <errno.h>
#include <string.h>

static void put_again(struct buf *out, const struct mpic_sample_item *x, uint32_t *next_sig)
{
	switch (x->type) {
	case MPIC_SAMPLE_PROCESS:
		mpic_put_sample_process(out, x->process, x->state, x->resident_bytes);
		break;
	case MPIC_SAMPLE_THREAD:
		*next_sig = 0;
		mpic_put_sample_thread(out, x->thread);
		break;
	case MPIC_SAMPLE_TOTAL:
		fuzz_check(x->sig >= *next_sig);
		mpic_put_sample_total(out, *next_sig, x->sig, x->calls, x->ticks);
		*next_sig = x->sig + 1;
		break;
	case MPIC_SAMPLE_OPEN:
		mpic_put_sample_open(out, x->age_ticks, x->sig, x->words, x->nwords);
		break;
	case MPIC_SAMPLE_STILL:
		mpic_put_sample_still(out);
		break;
	case MPIC_SAMPLE_SYSTEM:
		mpic_put_sample_system(out, &x->system);
		break;
	case MPIC_SAMPLE_MEMORY:
		mpic_put_sample_memory(out, x->used_bytes, x->limit_bytes);
		break;
	case MPIC_SAMPLE_COUNTERS:
		mpic_put_sample_counters(out, &x->counters);
		break;
	case MPIC_SAMPLE_STARTED:
		mpic_put_sample_started(out, x->next_serial, x->started, x->nstarted);
		break;
	case MPIC_SAMPLE_OTHERS:
		mpic_put_sample_others(out, x->others);
		break;
	}
}

static void within_limits(const struct mpic_sample_item *x)
{
	fuzz_check(x->process < MPIC_PROCESSES_MAX && x->thread < MPIC_THREADS_MAX);
	if (x->type == MPIC_SAMPLE_TOTAL || x->type == MPIC_SAMPLE_OPEN)
		fuzz_check(x->sig < MPIC_SIGS_MAX);
	if (x->type == MPIC_SAMPLE_OPEN)
		fuzz_check(x->nwords <= MPIC_SAMPLE_WORDS_MAX);
	for (uint32_t i = 0; x->type == MPIC_SAMPLE_STARTED && i < x->nstarted; i++)
		fuzz_check(x->nstarted <= MPIC_SAMPLE_STARTED_MAX && x->started[i] < MPIC_SIGS_MAX);
}

/* Reads on; false where it is refused. With out: writes it again. */
static bool read_all(struct mpic_sample_reader *r, struct buf *out, uint64_t *ret_items)
{
	struct mpic_sample_item item;
	uint32_t next_sig = 0;
	int rc;
	memset(&item, 0, sizeof(item));
	while ((rc = mpic_sample_next(r, &item)) == 1) {
		within_limits(&item);
		++*ret_items;
		if (out != NULL)
			put_again(out, &item, &next_sig);
	}
	fuzz_check(rc == 0 || rc == -EBADMSG);
	return rc == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	_cleanup_buf_ struct buf out = {0};
	struct mpic_sample s, again;
	struct mpic_sample_reader r;
	uint64_t items = 0, items_again = 0;
	if (mpic_sample_begin(cursor_over(data, len_bytes), &s, &r) < 0)
		return 0;
	mpic_put_sample(&out, &s);
	if (!read_all(&r, &out, &items) || out.failed)
		return 0;
	fuzz_check(mpic_sample_begin(cursor_over(out.data, out.len_bytes), &again, &r) == 0);
	fuzz_check(again.tick == s.tick && again.gap_ns == s.gap_ns && again.whole == s.whole);
	fuzz_check(read_all(&r, NULL, &items_again) && items_again == items);
	return 0;
}
