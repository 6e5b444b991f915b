/* mpix_read_objects.c - which windows and files signatures name, and who called. In: OBJECTS and STACKS chunks.
 * Out: struct mpix_signature. */
#include "format/mpix_reader.h"

#include <stdlib.h>

typedef int read_fn(struct cursor *c, struct mpix_signature *sig);

static int read_object(struct cursor *c, struct mpix_signature *sig)
{
	return mpix_rd_u32(c, &sig->object) < 0 || rd_varint(c, &sig->came_bytes) < 0 ? -EBADMSG : 0;
}

static int read_stack(struct cursor *c, struct mpix_signature *sig)
{
	return mpix_rd_u32(c, &sig->stack);
}

/* A chunk with as many records as the group has signatures; or none. */
static int read_beside(const struct mpix_file *f, struct mpix_group_sigs *s, enum mpix_kind kind, read_fn *read,
		       struct error *e)
{
	const struct mpix_entry *x = mpix_find(f, kind, s->group, 0);
	uint32_t n = s->first[f->shape.group_ranks];
	uint8_t *raw;
	if (x == NULL)
		return 0;
	int rc = mpix_read_chunk(f, x, &raw, e);
	if (rc < 0)
		return rc;
	struct cursor c = cursor_over(raw, x->raw_bytes);
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = read(&c, &s->sigs[i]);
	if (rc < 0 || cursor_left(&c) > 0)
		rc = mpix_damaged(f, x, e);
	free(raw);
	return rc;
}

int mpix_read_objects(const struct mpix_file *f, struct mpix_group_sigs *s, struct error *e)
{
	return read_beside(f, s, MPIX_OBJECTS, read_object, e);
}

int mpix_read_stacks(const struct mpix_file *f, struct mpix_group_sigs *s, struct error *e)
{
	return read_beside(f, s, MPIX_STACKS, read_stack, e);
}
