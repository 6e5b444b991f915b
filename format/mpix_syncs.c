/* mpix_syncs.c - locks and groups of one-sided synchronisations, by signature: written and read. See SPEC.md, SYNCS. */
#include "format/mpix_syncs.h"
#include "format/mpix_reader.h"

#include "base/vec.h"

/* ---- writing ---- */

/* Is each of its ranks one of n? */
static bool run_is_sane(const struct mpix_sync_run *run, uint32_t n)
{
	int64_t last = run->first + (int64_t)run->stride * ((int64_t)run->count - 1);
	return run->count >= 1 && run->count <= n && run->first < n && last >= 0 && last < n;
}

static bool sync_is_sane(const struct mpix_syncs *s, const struct mpix_head *h, const struct mpix_sync *x)
{
	const struct mpix_sync *last = s->n > 0 ? &s->at[s->n - 1] : NULL;
	if (x->rank >= h->info.ranks || x->signature >= h->sigs[x->rank].n || x->lock > MPIX_LOCK_EXCLUSIVE ||
	    (last != NULL && (x->rank < last->rank || (x->rank == last->rank && x->signature <= last->signature))))
		return false;
	uint64_t members = 0;
	for (uint32_t i = 0; i < x->nruns; i++) {
		members += x->runs[i].count;
		if (!run_is_sane(&x->runs[i], h->info.ranks))
			return false;
	}
	return members <= h->info.ranks;
}

int mpix_syncs_add(struct mpix_syncs *s, const struct mpix_head *h, const struct mpix_sync *sync)
{
	if (!sync_is_sane(s, h, sync))
		return -EINVAL;
	if (vec_grow(&s->at, &s->cap, s->n + 1, sizeof(*s->at)) < 0 ||
	    vec_grow(&s->runs, &s->cap_runs, s->nruns + sync->nruns, sizeof(*s->runs)) < 0)
		return -ENOMEM;
	if (sync->nruns > 0)
		memcpy(s->runs + s->nruns, sync->runs, sync->nruns * sizeof(*s->runs));
	s->nruns += sync->nruns;
	s->at[s->n] = *sync;
	s->at[s->n++].runs = NULL;
	return 0;
}

void mpix_syncs_done(struct mpix_syncs *s)
{
	free(s->at);
	free(s->runs);
}

static void put_sync(struct buf *out, const struct mpix_sync *x, const struct mpix_sync_run *runs)
{
	buf_varint(out, x->lock);
	buf_varint(out, x->nruns);
	for (uint32_t i = 0; i < x->nruns; i++) {
		buf_varint(out, mpix_zigzag((int64_t)runs[i].first - x->rank));
		buf_varint(out, mpix_zigzag(runs[i].stride));
		buf_varint(out, runs[i].count);
	}
}

int mpix_syncs_write(const struct mpix_syncs *s, const struct mpix_head *h, struct mpix_chunks *out, struct error *e)
{
	const struct mpix_sync_run *runs = s->runs;
	int rc = 0;
	for (size_t i = 0; i < s->n && rc == 0;) {
		uint32_t group = s->at[i].rank / h->shape.group_ranks, rank = group * h->shape.group_ranks;
		struct mpix_entry entry = {.kind = MPIX_SYNCS, .group = group, .end_ns = h->info.runtime_ns};
		uint32_t signature = 0;
		for (; i < s->n && s->at[i].rank / h->shape.group_ranks == group; i++) {
			const struct mpix_sync *x = &s->at[i];
			buf_varint(&out->raw, x->rank - rank);
			buf_varint(&out->raw, x->signature - (x->rank == rank ? signature : 0));
			put_sync(&out->raw, x, runs);
			runs += x->nruns;
			rank = x->rank;
			signature = x->signature;
			entry.records++;
		}
		rc = mpix_write_chunk(out, entry, e);
	}
	return rc;
}

/* ---- reading ---- */

struct reading {
	struct mpix_file *f;
	VEC(struct mpix_sync_run) runs;
	struct mpix_sync at; /* the one before; first a rank without any */
};

static int get_run(struct reading *r, struct cursor *c)
{
	struct mpix_sync_run run;
	uint64_t first, stride;
	int64_t rank;
	if (rd_varint(c, &first) < 0 || rd_varint(c, &stride) < 0 || stride > UINT32_MAX ||
	    mpix_rd_u32(c, &run.count) < 0)
		return -EBADMSG;
	if (__builtin_add_overflow(mpix_unzigzag(first), r->at.rank, &rank) || rank < 0 || rank >= r->f->info.ranks)
		return -EBADMSG;
	run.first = (uint32_t)rank;
	run.stride = (int32_t)mpix_unzigzag(stride);
	return run_is_sane(&run, r->f->info.ranks) ? vec_push(&r->runs, run) : -EBADMSG;
}

static int get_sync(struct reading *r, struct cursor *c, uint32_t end_rank)
{
	struct mpix_sync *x = &r->at;
	uint64_t ranks, signature, lock, runs;
	if (rd_varint(c, &ranks) < 0 || ranks >= end_rank - x->rank || rd_varint(c, &signature) < 0 ||
	    rd_varint(c, &lock) < 0 || lock > MPIX_LOCK_EXCLUSIVE || rd_varint(c, &runs) < 0 || runs > cursor_left(c))
		return -EBADMSG;
	signature += ranks == 0 ? x->signature : 0;
	if (signature >= MPIX_GROUP_SIGS_MAX)
		return -EBADMSG;
	*x = (struct mpix_sync){.rank = x->rank + (uint32_t)ranks,
				.signature = (uint32_t)signature,
				.lock = (uint32_t)lock,
				.nruns = (uint32_t)runs};
	uint64_t members = 0;
	r->runs.n = 0;
	for (uint64_t i = 0; i < runs; i++) {
		int rc = get_run(r, c);
		if (rc < 0)
			return rc;
		members += r->runs.at[i].count;
	}
	if (members > r->f->info.ranks)
		return -EBADMSG;
	x->runs = r->runs.at;
	return 0;
}

static int visit_chunk(struct reading *r, const struct mpix_entry *x, struct cursor c,
		       int (*visit)(void *context, const struct mpix_sync *sync), void *context)
{
	uint64_t first = (uint64_t)x->group * r->f->shape.group_ranks, end = first + r->f->shape.group_ranks;
	if (first >= r->f->info.ranks)
		return -EBADMSG;
	r->at = (struct mpix_sync){.rank = (uint32_t)first};
	uint32_t end_rank = end < r->f->info.ranks ? (uint32_t)end : r->f->info.ranks;
	for (uint32_t i = 0; i < x->records; i++) {
		int rc = get_sync(r, &c, end_rank);
		if (rc == 0)
			rc = visit(context, &r->at);
		if (rc != 0)
			return rc;
	}
	return cursor_left(&c) == 0 ? 0 : -EBADMSG;
}

int mpix_each_sync(struct mpix_file *f, int (*visit)(void *context, const struct mpix_sync *sync), void *context,
		   struct error *e)
{
	struct reading r = {.f = f};
	uint32_t n = 0;
	int rc = 0;
	const struct mpix_entry *x = f->super.version > 1 ? mpix_find_kind(f, MPIX_SYNCS, &n) : NULL;
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		uint8_t *raw;
		rc = mpix_read_chunk(f, &x[i], &raw, e);
		if (rc < 0)
			break;
		rc = visit_chunk(&r, &x[i], cursor_over(raw, x[i].raw_bytes), visit, context);
		free(raw);
		if (rc == -EBADMSG)
			rc = mpix_damaged(f, &x[i], e);
		else if (rc == -ENOMEM)
			rc = fail(e, rc, "%s: out of memory", f->path);
	}
	vec_done(&r.runs);
	return rc;
}
