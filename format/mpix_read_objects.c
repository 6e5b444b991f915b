/* mpix_read_objects.c - which windows and files signatures name. In: OBJECTS chunks.  Out: struct mpix_signature. */
#include "format/mpix_reader.h"

#include <stdlib.h>

int mpix_read_objects(const struct mpix_file *f, struct mpix_group_sigs *s, struct error *e)
{
	const struct mpix_entry *x = mpix_find(f, MPIX_OBJECTS, s->group, 0);
	uint32_t n = s->first[f->shape.group_ranks];
	uint8_t *raw;
	if (x == NULL)
		return 0;
	int rc = mpix_read_chunk(f, x, &raw, e);
	if (rc < 0)
		return rc;
	struct cursor c = cursor_over(raw, x->raw_bytes);
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = mpix_rd_u32(&c, &s->sigs[i].object) < 0 || rd_varint(&c, &s->sigs[i].came_bytes) < 0 ? -EBADMSG
													  : 0;
	if (rc < 0 || cursor_left(&c) > 0)
		rc = mpix_damaged(f, x, e);
	free(raw);
	return rc;
}
