/* sampled.c - see sampled.h. In: heads of SAMPLE blocks. */
#include "postproc/read/sampled.h"

/* What is late by the start of taking it is of that moment. The last sample of a node is of no such moment: it counts
 * as of the next. */
static int64_t slot_of(const struct mpic_sample *s, int64_t gap_before_ns)
{
	int64_t gap_ns = s->gap_ns > 0 && s->gap_ns < INT64_MAX ? (int64_t)s->gap_ns : gap_before_ns;
	if (gap_ns <= 0 || s->realtime_ns < 0 || s->realtime_ns > INT64_MAX - gap_ns)
		return s->realtime_ns;
	int64_t slot_ns = s->realtime_ns / gap_ns * gap_ns;
	return s->gap_ns > 0 || slot_ns == s->realtime_ns ? slot_ns : slot_ns + gap_ns;
}

int sampled_read(const struct mpic_file *f, const struct mpic_block *b, const struct sampled *before,
		 struct buf *payload, struct sampled *ret_sampled)
{
	struct mpic_sample head;
	struct mpic_sample_reader r;
	int code = mpic_read(f, b, payload, NULL);
	code = code == 0 ? mpic_sample_begin(cursor_over(payload->data, payload->len_bytes), &head, &r) : code;
	if (code < 0)
		return code;
	*ret_sampled = (struct sampled){.block = *b,
					.slot_ns = slot_of(&head, before->gap_ns),
					.realtime_ns = head.realtime_ns,
					.gap_ns = (int64_t)head.gap_ns};
	if (ret_sampled->slot_ns < before->slot_ns) /* a clock was set back: its samples stay in order */
		ret_sampled->slot_ns = before->slot_ns;
	return 0;
}
