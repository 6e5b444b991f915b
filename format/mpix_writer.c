/* mpix_writer.c - begins and ends an .mpix file, and hands what comes in between to the parts that own it. */
#include "format/mpix_writer.h"

#include "base/vec.h"
#include "format/mpix_tables.h"

#include <stdlib.h>

static void writer_free(struct mpix_writer *w)
{
	mpix_summary_done(&w->summary);
	mpix_lod_done(&w->lod);
	mpix_syncs_done(&w->syncs);
	mpix_samples_done(&w->samples);
	mpix_head_done(&w->head);
	mpix_chunks_done(&w->out);
	free(w);
}

static int create(const char *path, const struct mpix_info *info, bool writes, struct mpix_writer **ret_writer,
		  struct error *e)
{
	struct mpix_writer *w = calloc(1, sizeof(*w));
	if (w == NULL)
		return fail(e, -ENOMEM, "%s: out of memory", path);
	w->samples.max_bytes = MPIX_SAMPLES_BYTES_MAX;
	int rc = mpix_head_begin(&w->head, path, info, e);
	if (rc == 0 && (mpix_summary_init(&w->summary, &w->head) < 0 || mpix_lod_init(&w->lod, &w->head) < 0))
		rc = fail(e, -ENOMEM, "%s: out of memory", path);
	if (rc == 0 && writes)
		rc = mpix_chunks_begin(&w->out, path, e);
	if (rc < 0) {
		writer_free(w);
		return rc;
	}
	*ret_writer = w;
	return 0;
}

int mpix_writer_create(const char *path, const struct mpix_info *info, struct mpix_writer **ret_writer, struct error *e)
{
	return create(path, info, true, ret_writer, e);
}

int mpix_packer_create(const char *path, const struct mpix_info *info, struct mpix_writer **ret_writer, struct error *e)
{
	return create(path, info, false, ret_writer, e);
}

/* ---- what comes in between ---- */

static int refuse(const struct mpix_writer *w, struct error *e)
{
	return fail(e, w->code, "%s: an earlier write failed", w->out.file.path);
}

int mpix_writer_signatures(struct mpix_writer *w, uint32_t rank, const struct mpix_signature *sigs, uint32_t n,
			   struct error *e)
{
	if (w->code < 0)
		return refuse(w, e);
	if (rank >= w->head.info.ranks)
		return w->code = fail(e, -EINVAL, "%s: rank %u: only %u ranks", w->out.file.path, rank,
				      w->head.info.ranks);
	struct mpix_sigs *to = &w->head.sigs[rank];
	if (n > MPIX_GROUP_SIGS_MAX - to->n)
		return w->code = fail(e, -EFBIG, "%s: rank %u has too many signatures", w->out.file.path, rank);
	for (uint32_t i = 0; i < n; i++)
		if (sigs[i].class >= MPIX_CLASSES || sigs[i].op >= w->head.info.nops)
			return w->code = fail(e, -EINVAL, "%s: rank %u, signature %u: no such operation or class",
					      w->out.file.path, rank, to->n + i);
	if (vec_grow(&to->at, &to->cap, (size_t)to->n + n, sizeof(*to->at)) < 0)
		return w->code = fail(e, -ENOMEM, "%s: out of memory", w->out.file.path);
	if (n > 0)
		memcpy(to->at + to->n, sigs, n * sizeof(*sigs));
	to->n += n;
	return 0;
}

int mpix_writer_sync(struct mpix_writer *w, const struct mpix_sync *sync, struct error *e)
{
	if (w->code < 0)
		return refuse(w, e);
	w->code = mpix_syncs_add(&w->syncs, &w->head, sync);
	if (w->code == -EINVAL)
		return fail(e, w->code, "%s: rank %u, signature %u: impossible lock or group", w->out.file.path,
			    sync->rank, sync->signature);
	return w->code < 0 ? fail(e, w->code, "%s: out of memory", w->out.file.path) : 0;
}

int mpix_writer_sample(struct mpix_writer *w, const struct mpix_sample *sample, struct error *e)
{
	if (w->code < 0)
		return refuse(w, e);
	w->code = mpix_samples_add(&w->samples, &w->head, sample);
	if (w->code == -EINVAL)
		return fail(e, w->code, "%s: sample %llu is impossible", w->out.file.path,
			    (unsigned long long)sample->number);
	return w->code < 0 ? fail(e, w->code, "%s: out of memory", w->out.file.path) : 0;
}

int mpix_writer_put(struct mpix_writer *w, const struct mpix_packed *p, struct error *e)
{
	if (w->code < 0)
		return refuse(w, e);
	if (p->window < w->next_window || (p->window == w->next_window && p->group < w->next_group))
		return w->code = fail(e, -EINVAL, "%s: window %u of group %u comes out of order", w->out.file.path,
				      p->window, p->group);
	for (uint32_t i = 0; i < p->nchunks && w->code == 0; i++)
		w->code = mpix_append_chunk(&w->out, p->chunks[i].entry, &p->chunks[i].bytes, e);
	if (w->code < 0)
		return w->code;
	mpix_summary_put(&w->summary, &w->head, p);
	if (mpix_lod_put(&w->lod, p) < 0)
		return w->code = fail(e, -ENOMEM, "%s: out of memory", w->out.file.path);
	w->head.shape.events += p->events;
	w->head.shape.messages += p->messages;
	w->head.shape.waits += p->waits;
	w->head.shape.windows = p->window + 1;
	w->next_window = p->window;
	w->next_group = p->group + 1;
	return 0;
}

/* ---- the end ---- */

static int write_texts(struct mpix_writer *w, const char *analysis_json, struct error *e)
{
	size_t len = strlen(analysis_json);
	if (len > MPIX_ANALYSIS_RAW_MAX)
		return fail(e, -EFBIG, "%s: analysis of %zu bytes is over the limit of %u", w->out.file.path, len,
			    MPIX_ANALYSIS_RAW_MAX);
	buf_bytes(&w->out.raw, analysis_json, len);
	int rc = mpix_write_chunk(&w->out, (struct mpix_entry){.kind = MPIX_ANALYSIS}, e);
	if (rc < 0)
		return rc;
	mpix_put_meta(&w->out.raw, &w->head.info, &w->head.shape);
	return mpix_write_chunk(&w->out, (struct mpix_entry){.kind = MPIX_META}, e);
}

static int write_rest(struct mpix_writer *w, const char *analysis_json, struct error *e)
{
	int rc = mpix_summary_write(&w->summary, &w->head, &w->out, e);
	if (rc == 0)
		rc = mpix_lod_write(&w->lod, &w->head, &w->out, e);
	if (rc == 0)
		rc = mpix_tables_write(&w->head, &w->out, e);
	if (rc == 0)
		rc = mpix_syncs_write(&w->syncs, &w->head, &w->out, e);
	if (rc == 0)
		rc = mpix_samples_write(&w->samples, &w->out, e);
	if (rc == 0)
		rc = mpix_clocks_write(&w->head, &w->out, e);
	return rc == 0 ? write_texts(w, analysis_json, e) : rc;
}

/* ---- a look before the end ---- */

/* What a reader of events, messages and waits asks for. */
static int write_draft(struct mpix_writer *w, struct error *e)
{
	int rc = mpix_tables_write(&w->head, &w->out, e);
	if (rc == 0)
		rc = mpix_clocks_write(&w->head, &w->out, e);
	if (rc == 0)
		rc = write_texts(w, "{}", e);
	return rc == 0 ? mpix_chunks_seal(&w->out, e) : rc;
}

int mpix_writer_peek(struct mpix_writer *w, int (*peek)(void *context, struct mpix_file *f), void *context,
		     struct error *e)
{
	uint64_t offset = w->out.offset;
	struct mpix_file *f = NULL;
	if (w->code < 0)
		return refuse(w, e);
	if (w->out.file.temporary == NULL)
		return fail(e, -ENOTSUP, "%s: not a regular file", w->out.file.path);
	int rc = write_draft(w, e);
	if (rc == 0)
		rc = mpix_open(w->out.file.temporary, &f, e);
	if (rc == 0)
		rc = peek(context, f);
	mpix_close(f);
	w->code = mpix_chunks_unseal(&w->out, offset, e);
	return w->code < 0 ? w->code : rc;
}

int mpix_writer_finish(struct mpix_writer *w, const char *analysis_json, struct error *e)
{
	int rc = w->code;
	if (rc < 0)
		fail(e, rc, "%s: an earlier write failed; nothing was left behind", w->out.file.path);
	if (rc == 0)
		rc = write_rest(w, analysis_json, e);
	if (rc == 0)
		rc = mpix_chunks_seal(&w->out, e);
	if (rc == 0)
		rc = atomic_file_commit(&w->out.file, e);
	writer_free(w);
	return rc;
}

void mpix_writer_abandon(struct mpix_writer *w)
{
	if (w != NULL)
		writer_free(w);
}
