/* mpix_tables.c - what an .mpix has of each group of ranks and each clock: signatures, objects, callers, knots.
 * In: struct mpix_head.  Out: SIGNATURES, OBJECTS, STACKS and CLOCK chunks (SPEC.md). */
#include "format/mpix_tables.h"

#include "format/pack.h"

#include <stdlib.h>

#define SIG_COLUMNS 9

static void put_signature(struct buf columns[SIG_COLUMNS], uint32_t rank, const struct mpix_signature *x)
{
	const uint64_t values[SIG_COLUMNS] = {
		x->op,
		x->class,
		mpix_site_out(x->callsite),
		x->comm,
		x->peer >= 0 ? mpix_zigzag((int64_t)x->peer - rank) + 2 : x->peer == -2,
		mpix_zigzag(x->tag),
		x->bytes,
		x->message_bytes,
		x->flags,
	};
	for (unsigned i = 0; i < SIG_COLUMNS; i++)
		buf_varint(&columns[i], values[i]);
}

static int write_signatures(const struct mpix_head *h, struct mpix_chunks *out, uint32_t group, struct error *e)
{
	struct mpix_entry entry = {.kind = MPIX_SIGNATURES, .group = group, .end_ns = h->info.runtime_ns};
	uint64_t first = (uint64_t)group * h->shape.group_ranks, records = 0;
	struct buf columns[SIG_COLUMNS] = {{0}};
	for (uint64_t r = first; r < first + h->shape.group_ranks && r < h->info.ranks; r++) {
		buf_varint(&out->raw, h->sigs[r].n);
		for (uint32_t i = 0; i < h->sigs[r].n; i++)
			put_signature(columns, (uint32_t)r, &h->sigs[r].at[i]);
		records += h->sigs[r].n;
	}
	mpix_join_columns(columns, SIG_COLUMNS, &out->raw);
	for (unsigned i = 0; i < SIG_COLUMNS; i++)
		buf_done(&columns[i]);
	entry.records = (uint32_t)records;
	if (records > MPIX_GROUP_SIGS_MAX)
		return fail(e, -EFBIG, "%s: group %u has too many signatures", out->file.path, group);
	if (records > 0)
		return mpix_write_chunk(out, entry, e);
	out->raw.len_bytes = 0;
	return 0;
}

/* Most programs have none. */
static int write_objects(const struct mpix_head *h, struct mpix_chunks *out, uint32_t group, struct error *e)
{
	struct mpix_entry entry = {.kind = MPIX_OBJECTS, .group = group, .end_ns = h->info.runtime_ns};
	uint64_t first = (uint64_t)group * h->shape.group_ranks;
	bool any = false;
	for (uint64_t r = first; r < first + h->shape.group_ranks && r < h->info.ranks; r++) {
		for (uint32_t i = 0; i < h->sigs[r].n; i++) {
			const struct mpix_signature *x = &h->sigs[r].at[i];
			buf_varint(&out->raw, x->object);
			buf_varint(&out->raw, x->came_bytes);
			any |= x->object != 0 || x->came_bytes != 0;
		}
		entry.records += h->sigs[r].n;
	}
	if (any)
		return mpix_write_chunk(out, entry, e);
	out->raw.len_bytes = 0;
	return 0;
}

/* Only where callers were recorded. */
static int write_stacks(const struct mpix_head *h, struct mpix_chunks *out, uint32_t group, struct error *e)
{
	struct mpix_entry entry = {.kind = MPIX_STACKS, .group = group, .end_ns = h->info.runtime_ns};
	uint64_t first = (uint64_t)group * h->shape.group_ranks;
	bool any = false;
	for (uint64_t r = first; r < first + h->shape.group_ranks && r < h->info.ranks; r++) {
		for (uint32_t i = 0; i < h->sigs[r].n; i++) {
			buf_varint(&out->raw, h->sigs[r].at[i].stack);
			any |= h->sigs[r].at[i].stack != 0;
		}
		entry.records += h->sigs[r].n;
	}
	if (any)
		return mpix_write_chunk(out, entry, e);
	out->raw.len_bytes = 0;
	return 0;
}

static void put_f64(struct buf *out, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	buf_u64(out, bits);
}

static int write_clock(const struct mpix_head *h, struct mpix_chunks *out, uint32_t at, struct error *e)
{
	const struct mpix_clock *c = &h->info.clocks[at];
	struct mpix_entry entry = {.kind = MPIX_CLOCK, .group = at, .records = c->nknots, .end_ns = h->info.runtime_ns};
	buf_u32(&out->raw, c->nknots);
	buf_u32(&out->raw, 0);
	buf_u64(&out->raw, c->base_tick);
	for (uint32_t i = 0; i < c->nknots; i++)
		buf_u64(&out->raw, c->knots[i].tick - c->base_tick);
	for (uint32_t i = 0; i < c->nknots; i++)
		put_f64(&out->raw, c->knots[i].ns);
	for (uint32_t i = 0; i < c->nknots; i++)
		put_f64(&out->raw, c->knots[i].ns_per_tick);
	return mpix_write_chunk(out, entry, e);
}

int mpix_tables_write(const struct mpix_head *h, struct mpix_chunks *out, struct error *e)
{
	static int (*const writers[])(const struct mpix_head *, struct mpix_chunks *, uint32_t,
				      struct error *) = {write_signatures, write_objects, write_stacks};
	uint32_t groups = (h->info.ranks + h->shape.group_ranks - 1) / h->shape.group_ranks;
	int rc = 0;
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
		for (uint32_t g = 0; g < groups && rc == 0; g++)
			rc = writers[i](h, out, g, e);
	return rc;
}

int mpix_clocks_write(const struct mpix_head *h, struct mpix_chunks *out, struct error *e)
{
	int rc = 0;
	for (uint32_t i = 0; i < h->info.nclocks && rc == 0; i++)
		rc = write_clock(h, out, i, e);
	return rc;
}
