/* mpix_packed.c - what packing needs and makes, see mpix_pack.h: the room of one thread, and the chunks of one part. */
#include "format/mpix_pack.h"

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/vec.h"

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

/* ---- from one process to another ---- */

struct sent {
	uint32_t window, group, nchunks, first_bin, nbins;
	uint64_t events, messages, waits, ncandidates, nflows, ntiles;
};

static size_t cells(uint32_t nbins)
{
	return (size_t)MPIX_GROUP_RANKS * MPIX_PLANES * nbins;
}

void mpix_packed_send(const struct mpix_packed *p, struct buf *out)
{
	struct sent s = {p->window,   p->group, p->nchunks,	p->first_bin, p->nbins, p->events,
			 p->messages, p->waits, p->ncandidates, p->nflows,    p->ntiles};
	buf_bytes(out, &s, sizeof(s));
	for (uint32_t i = 0; i < p->nchunks; i++) {
		buf_bytes(out, &p->chunks[i].entry, sizeof(p->chunks[i].entry));
		buf_u64(out, p->chunks[i].bytes.len_bytes);
		buf_bytes(out, p->chunks[i].bytes.data, p->chunks[i].bytes.len_bytes);
	}
	buf_bytes(out, p->busy_ns, cells(p->nbins) * sizeof(*p->busy_ns));
	buf_bytes(out, p->candidates, p->ncandidates * sizeof(*p->candidates));
	buf_bytes(out, p->flows, p->nflows * sizeof(*p->flows));
	buf_bytes(out, p->tiles, p->ntiles * sizeof(*p->tiles));
}

static int take_chunk(struct mpix_chunk *c, struct cursor *in)
{
	uint64_t len;
	struct span bytes;
	if (rd_copy(in, &c->entry, sizeof(c->entry)) < 0 || rd_u64(in, &len) < 0 || rd_bytes(in, len, &bytes) < 0)
		return -EBADMSG;
	c->bytes.len_bytes = 0;
	buf_bytes(&c->bytes, bytes.data, bytes.len_bytes);
	return buf_failed(&c->bytes) ? -ENOMEM : 0;
}

/* An array that has room for n elements then. */
static int take_array(struct cursor *in, void *at, size_t *cap, uint64_t n, size_t size)
{
	void *to;
	if (n > cursor_left(in) / size)
		return -EBADMSG;
	if (vec_grow(at, cap, n, size) < 0)
		return -ENOMEM;
	memcpy(&to, at, sizeof(to));
	return rd_copy(in, to, n * size);
}

int mpix_packed_take(struct mpix_packed *p, struct cursor *in)
{
	struct sent s;
	if (rd_copy(in, &s, sizeof(s)) < 0 || s.nchunks > sizeof(p->chunks) / sizeof(p->chunks[0]))
		return -EBADMSG;
	p->window = s.window;
	p->group = s.group;
	p->nchunks = s.nchunks;
	p->first_bin = s.first_bin;
	p->nbins = s.nbins;
	p->events = s.events;
	p->messages = s.messages;
	p->waits = s.waits;
	int code = 0;
	for (uint32_t i = 0; i < s.nchunks && code == 0; i++)
		code = take_chunk(&p->chunks[i], in);
	if (code == 0)
		code = take_array(in, &p->busy_ns, &p->cap_busy, cells(s.nbins), sizeof(*p->busy_ns));
	if (code == 0)
		code = take_array(in, &p->candidates, &p->cap_candidates, p->ncandidates = s.ncandidates,
				  sizeof(*p->candidates));
	if (code == 0)
		code = take_array(in, &p->flows, &p->cap_flows, p->nflows = s.nflows, sizeof(*p->flows));
	return code == 0 ? take_array(in, &p->tiles, &p->cap_tiles, p->ntiles = s.ntiles, sizeof(*p->tiles)) : code;
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
