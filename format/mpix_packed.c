/* mpix_packed.c - what packing needs and makes, see mpix_pack.h: the room of one thread, and the chunks of one part. */
#include "format/mpix_pack.h"

#include "base/crc32c.h"

#include <stdlib.h>

struct mpix_scratch *mpix_scratch_new(void)
{
	return calloc(1, sizeof(struct mpix_scratch));
}

void mpix_scratch_free(struct mpix_scratch *s)
{
	if (s == NULL)
		return;
	mpic_columns_done(&s->columns);
	buf_done(&s->raw);
	buf_done(&s->payload);
	pack_done(&s->packer);
	pack_done(&s->waits_packer);
	for (unsigned i = 0; i < MPIX_COLUMNS_MAX; i++)
		buf_done(&s->fields[i]);
	mpix_memory_done(&s->memory);
	free(s->order);
	free(s->counts);
	free(s->sorting);
	free(s->keys);
	index_done(&s->by_flow);
	free(s);
}

struct mpix_packed *mpix_packed_new(void)
{
	return calloc(1, sizeof(struct mpix_packed));
}

void mpix_packed_free(struct mpix_packed *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < sizeof(p->chunks) / sizeof(p->chunks[0]); i++)
		buf_done(&p->chunks[i].bytes);
	free(p->busy_ns);
	free(p->candidates);
	free(p->flows);
	free(p->tiles);
	free(p);
}

int mpix_pack_chunk(struct mpix_scratch *s, struct mpix_packed *p, struct mpix_entry entry, size_t numbers_at,
		    size_t bits_at, struct error *e)
{
	struct mpix_chunk *c = &p->chunks[p->nchunks];
	if (s->raw.len_bytes > MPIX_CHUNK_RAW_MAX)
		return fail(e, -EFBIG, "window %u of group %u: a chunk of %zu bytes is over the limit", p->window,
			    p->group, s->raw.len_bytes);
	c->bytes.len_bytes = 0;
	bool waits = entry.kind == MPIX_WAITS;
	int rc = buf_failed(&s->raw) ? fail(e, -ENOMEM, "out of memory for a window")
		 : numbers_at < s->raw.len_bytes
			 ? pack_deflate_parts(&c->bytes, s->raw.data, s->raw.len_bytes, numbers_at, bits_at,
					      MPIX_NUMBERS_LEVEL, e)
			 : pack_deflate(waits ? &s->waits_packer : &s->packer, &c->bytes, s->raw.data, s->raw.len_bytes,
					waits ? MPIX_WAITS_LEVEL : MPIX_STREAM_LEVEL, e);
	if (rc < 0)
		return rc;
	c->entry = entry;
	c->entry.group = p->group;
	c->entry.seq = p->window;
	c->entry.raw_bytes = (uint32_t)s->raw.len_bytes;
	c->entry.packed_bytes = (uint32_t)c->bytes.len_bytes;
	c->entry.crc = crc32c(0, c->bytes.data, c->bytes.len_bytes);
	p->nchunks++;
	return 0;
}
