/* mpix_open.c - opens an .mpix: superblock, index, description, analysis; all else is read when it is asked for. */
#include "format/mpix_reader.h"

#include "base/budget.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Prefix what e says with the path. */
static int fail_at(struct error *e, int code, const char *path)
{
	char text[ERROR_TEXT_MAX];
	if (e == NULL)
		return code;
	memcpy(text, e->text, sizeof(text));
	return fail(e, code, "%s: %s", path, text);
}

static int read_super(struct mpix_file *f, struct error *e)
{
	uint8_t bytes[MPIX_SUPERBLOCK_BYTES];
	size_t n = f->len_bytes < sizeof(bytes) ? (size_t)f->len_bytes : sizeof(bytes);
	int rc = mpix_read_at(f, 0, bytes, n);
	if (rc < 0)
		return fail(e, rc, "cannot read: %s", strerror(-rc));
	return mpix_get_super(cursor_over(bytes, n), f->len_bytes, &f->super, e);
}

static int read_index(struct mpix_file *f, struct error *e)
{
	int rc = mpix_check_place(&f->super, e);
	if (rc < 0)
		return rc;
	size_t len = (size_t)f->super.entries * MPIX_ENTRY_BYTES;
	uint8_t *bytes = malloc(len + 1);
	f->entries = calloc(f->super.entries + 1u, sizeof(*f->entries));
	if (bytes == NULL || f->entries == NULL)
		rc = fail(e, -ENOMEM, "out of memory");
	if (rc == 0 && (rc = mpix_read_at(f, f->super.index_offset, bytes, len)) < 0)
		fail(e, rc, "cannot read the index: %s", strerror(-rc));
	if (rc == 0)
		rc = mpix_get_index(&f->super, bytes, f->entries, e);
	free(bytes);
	return rc;
}

static int read_texts(struct mpix_file *f, struct error *e)
{
	const struct mpix_entry *meta = mpix_find(f, MPIX_META, 0, 0), *analysis = mpix_find(f, MPIX_ANALYSIS, 0, 0);
	uint8_t *raw;
	if (meta == NULL || analysis == NULL)
		return fail(e, -EBADMSG, "%s: no description or no analysis in it", f->path);
	int rc = mpix_read_chunk(f, meta, &raw, e);
	if (rc < 0)
		return rc;
	struct cursor c = cursor_over(raw, meta->raw_bytes);
	rc = f->super.version == 1 ? mpix_v1_meta(f, c) : mpix_get_meta(c, &f->info, &f->shape);
	free(raw);
	if (rc == 0)
		rc = mpix_lanes_make(&f->lanes, f->info.ranks, f->info.threads);
	if (rc == -ENOMEM)
		return fail(e, rc, "%s: out of memory", f->path);
	if (rc < 0 || f->lanes.n != f->info.lanes)
		return mpix_damaged(f, meta, e);
	rc = mpix_read_chunk(f, analysis, &raw, e);
	if (rc < 0)
		return rc;
	f->analysis = (char *)raw;
	struct budget parsed = budget_for(f->len_bytes);
	if (strlen(f->analysis) != analysis->raw_bytes || budget_json(&parsed, f->analysis, analysis->raw_bytes) < 0)
		return mpix_damaged(f, analysis, e);
	return 0;
}

static int open_file(struct mpix_file *f, struct error *e)
{
	struct stat st;
	f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0 || fstat(f->fd, &st) < 0) {
		int code = -errno;
		return fail(e, code, "cannot open: %s", strerror(-code));
	}
	if (!S_ISREG(st.st_mode))
		return fail(e, -EBADMSG, "not a regular file");
	f->len_bytes = (uint64_t)st.st_size;
	return 0;
}

int mpix_open(const char *path, struct mpix_file **ret_file, struct error *e)
{
	struct mpix_file *f = calloc(1, sizeof(*f));
	if (f == NULL || (f->path = strdup(path)) == NULL) {
		free(f);
		return fail(e, -ENOMEM, "%s: out of memory", path);
	}
	int rc = open_file(f, e);
	if (rc == 0)
		rc = read_super(f, e);
	if (rc == 0)
		rc = read_index(f, e);
	if (rc < 0)
		fail_at(e, rc, path);
	else
		rc = read_texts(f, e);
	if (rc < 0) {
		mpix_close(f);
		return rc;
	}
	*ret_file = f;
	return 0;
}

void mpix_close(struct mpix_file *f)
{
	if (f == NULL)
		return;
	if (f->fd >= 0)
		close(f->fd);
	mpix_cache_done(f);
	mpix_info_done(&f->info);
	mpix_lanes_done(&f->lanes);
	free(f->entries);
	free(f->analysis);
	free(f->path);
	free(f);
}

const struct mpix_info *mpix_info(const struct mpix_file *f)
{
	return &f->info;
}

const char *mpix_analysis(const struct mpix_file *f)
{
	return f->analysis;
}
