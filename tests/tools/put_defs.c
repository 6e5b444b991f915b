/* put_defs.c - see put_defs.h. Heads are those of format/mpic_defs.h, which pmpi/ fills in as well. */
#include "tests/tools/put_defs.h"

#include "format/mpic_defs.h"

static void put_def(struct buf *out, enum mpic_def_type type, const void *head, size_t head_bytes,
		    const struct span *tails, size_t ntails)
{
	size_t len_bytes = head_bytes;
	for (size_t i = 0; i < ntails; i++)
		len_bytes += tails[i].len_bytes;
	buf_u32(out, type);
	buf_u32(out, (uint32_t)len_bytes);
	buf_bytes(out, head, head_bytes);
	for (size_t i = 0; i < ntails; i++)
		buf_bytes(out, tails[i].data, tails[i].len_bytes);
	while (!buf_failed(out) && out->len_bytes % 8 != 0)
		buf_u8(out, 0);
}

static struct span span_of(const void *data, size_t len_bytes)
{
	return (struct span){data, len_bytes};
}

void mpic_put_def_sig(struct buf *out, uint32_t id, const uint64_t *words, uint32_t nwords)
{
	struct mpic_sig_head head = {id, nwords};
	struct span tail = span_of(words, nwords * sizeof(*words));
	put_def(out, MPIC_DEF_SIG, &head, sizeof(head), &tail, 1);
}

void mpic_put_def_name(struct buf *out, enum mpic_def_type type, uint32_t id, const char *name)
{
	struct span tail = span_of(name, strlen(name));
	put_def(out, type, &id, sizeof(id), &tail, 1);
}

void mpic_put_def_datatype(struct buf *out, uint32_t id, uint64_t size_bytes, struct typesig sig, const char *name)
{
	struct mpic_datatype_head head = {id, 0, size_bytes, sig.hash, sig.elements};
	struct span tail = span_of(name, strlen(name));
	put_def(out, MPIC_DEF_DATATYPE, &head, sizeof(head), &tail, 1);
}

void mpic_put_def_comm(struct buf *out, const struct mpic_def *d)
{
	struct mpic_comm_head head = {d->id,
				      d->parent,
				      d->global_id,
				      d->created_by,
				      d->size,
				      d->my_rank,
				      d->inter,
				      (uint32_t)(d->runs.len_bytes / sizeof(struct mpic_rank_run)),
				      (uint32_t)(d->remote_runs.len_bytes / sizeof(struct mpic_rank_run))};
	put_def(out, MPIC_DEF_COMM, &head, sizeof(head), (struct span[]){d->runs, d->remote_runs}, 2);
}

void mpic_put_def_module(struct buf *out, const struct mpic_def *d)
{
	struct mpic_module_head head = {d->begin, d->end, d->bias, (uint32_t)d->build_id.len_bytes,
					(uint32_t)d->name.len_bytes};
	put_def(out, MPIC_DEF_MODULE, &head, sizeof(head), (struct span[]){d->build_id, d->name}, 2);
}

void mpic_put_def_object(struct buf *out, const struct mpic_def *d)
{
	struct mpic_object_head head = {d->id, d->comm, d->global_id, d->created_by, d->mode};
	struct span tail = d->type == MPIC_DEF_WINDOW ? span_of(&d->size_bytes, sizeof(d->size_bytes)) : d->name;
	put_def(out, d->type, &head, sizeof(head), &tail, 1);
}
