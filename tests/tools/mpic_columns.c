/* mpic_columns.c FILE... - how the bytes of .mpic files divide: everything but times, and times, packed each by itself.
 * Prints "<structure bytes> <time bytes>". */
#include "format/mpic.h"
#include "format/pack.h"

#include <stdio.h>

#define BLOCK_HEADER_BYTES 40

static size_t packed(const uint8_t *data, size_t len_bytes, size_t numbers_at)
{
	_cleanup_buf_ struct buf out = {0};
	return len_bytes > 0 && pack_deflate(&out, data, len_bytes, numbers_at, 6, NULL) == 0 ? out.len_bytes : 0;
}

static void add_block(const struct mpic_file *f, const struct mpic_block *b, size_t *structure, size_t *times)
{
	_cleanup_buf_ struct buf payload = {0};
	*structure += BLOCK_HEADER_BYTES;
	if (b->kind != MPIC_EVENTS) {
		*structure += b->packed_len_bytes;
		return;
	}
	if (mpic_read(f, b, &payload, NULL) < 0)
		return;
	size_t at = mpic_events_times_at(payload.data, payload.len_bytes);
	*structure += packed(payload.data, at, at);
	*times += packed(payload.data + at, payload.len_bytes - at, 0);
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
