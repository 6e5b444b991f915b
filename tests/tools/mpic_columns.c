/* mpic_columns.c FILE... - how the bytes of .mpic files divide: everything but times, and times, packed each by itself.
 * Prints "<structure bytes> <time bytes>". */
#include "format/mpic.h"
#include "format/pack.h"

#include <stdio.h>

static size_t packed(const struct buf *raw)
{
	_cleanup_buf_ struct buf out = {0};
	return raw->len_bytes > 0 && pack_deflate(&out, raw->data, raw->len_bytes, 6, NULL) == 0 ? out.len_bytes : 0;
}

static void add_block(const struct mpic_file *f, const struct mpic_block *b, size_t *structure, size_t *times)
{
	_cleanup_buf_ struct buf payload = {0}, other = {0}, time = {0};
	struct mpic_events it;
	uint32_t n;
	if (b->kind != MPIC_EVENTS) {
		*structure += b->packed_len_bytes + 40;
		return;
	}
	if (mpic_read(f, b, &payload, NULL) < 0 ||
	    mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &n) < 0)
		return;
	buf_bytes(&other, it.sig.pos, cursor_left(&it.sig));
	buf_bytes(&other, it.extra.pos, cursor_left(&it.extra));
	buf_bytes(&time, it.gap.pos, cursor_left(&it.gap));
	buf_bytes(&time, it.dur.pos, cursor_left(&it.dur));
	*structure += packed(&other) + 40 + 32;
	*times += packed(&time);
}

int main(int argc, char **argv)
{
	size_t structure = 0, times = 0;
	for (int i = 1; i < argc; i++) {
		struct mpic_file f;
		struct error e;
		if (mpic_open(argv[i], &f, &e) < 0) {
			fprintf(stderr, "%s\n", e.text);
			return 3;
		}
		for (size_t k = 0; k < f.nblocks; k++)
			add_block(&f, &f.blocks[k], &structure, &times);
		mpic_close(&f);
	}
	printf("%zu %zu\n", structure, times);
	return 0;
}
