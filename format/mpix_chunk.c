/* mpix_chunk.c - chunks of rank groups as bytes, and what is said of one that cannot be decoded. */
#include "format/mpix_reader.h"

#include <errno.h>

int mpix_read_group_chunk(const struct mpix_file *f, const struct mpix_entry *x, uint8_t **ret_raw, struct error *e)
{
	if ((uint64_t)x->group * f->shape.group_ranks >= f->info.ranks)
		return mpix_damaged(f, x, e);
	return mpix_read_chunk(f, x, ret_raw, e);
}

int mpix_decoded(const struct mpix_file *f, const struct mpix_entry *x, int rc, const struct error *inner,
		 struct error *e)
{
	if (rc < 0 && inner->text[0] != 0)
		return fail(e, rc, "%s", inner->text);
	if (rc == -ENOMEM)
		return fail(e, rc, "%s: out of memory", f->path);
	return rc == -EBADMSG ? mpix_damaged(f, x, e) : rc;
}
