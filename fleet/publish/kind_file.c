/* kind_file.c - a file of records, a line each (NDJSON). */
#include "fleet/publish/kind.h"

static void lines(const struct publish_batch *b, struct buf *ret_body)
{
	for (size_t i = 0; i < b->n; i++) {
		buf_str(ret_body, b->records[i].text);
		buf_u8(ret_body, '\n');
	}
}

const struct publish_kind publish_file = {.name = "file", .append = lines};
