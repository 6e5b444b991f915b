/* mpix_reader.c - strict reading of an .mpix file: everything is checked before it is used, nothing
 * is guessed. In: a file from anyone.  Out: info, analysis text, events and messages through
 * callbacks. */
#include "format/mpix_layout.h"
#include "format/pack.h"

#include "base/crc32c.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct mpix_file {
	char *path;
	int fd;
	uint64_t len_bytes;
	struct mpix_super super;
	struct mpix_entry *entries;
	struct mpix_info info;
	struct mpix_shape shape;
	const char **ops;
	char *analysis;
};

/* Prefix what e says with the path. */
static int fail_at(struct error *e, int code, const char *path)
{
	char text[ERROR_TEXT_MAX];
	if (e == NULL)
		return code;
	memcpy(text, e->text, sizeof(text));
	return fail(e, code, "%s: %s", path, text);
}

static int read_at(const struct mpix_file *f, uint64_t offset, void *ret_bytes, size_t len_bytes)
{
	uint8_t *to = ret_bytes;
	while (len_bytes > 0) {
		ssize_t n = pread(f->fd, to, len_bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		to += n;
		offset += (uint64_t)n;
		len_bytes -= (size_t)n;
	}
	return 0;
}

/* ---- chunks ---- */

/* *ret_raw is malloc'ed, one byte longer than the chunk, NUL there. */
static int read_chunk(const struct mpix_file *f, const struct mpix_entry *x, uint8_t **ret_raw, struct error *e)
{
	uint8_t *packed = malloc(x->packed_bytes + 1u), *raw = malloc((size_t)x->raw_bytes + 1);
	int rc = packed == NULL || raw == NULL ? -ENOMEM : read_at(f, x->offset, packed, x->packed_bytes);
	if (rc == 0 && crc32c(0, packed, x->packed_bytes) != x->crc)
		rc = -EBADMSG;
	if (rc == 0)
		rc = pack_inflate_to(raw, x->raw_bytes, (struct span){packed, x->packed_bytes}, NULL);
	free(packed);
	if (rc < 0) {
		free(raw);
		return fail(e, rc, "%s: offset %llu: chunk of kind %u: %s", f->path, (unsigned long long)x->offset,
			    x->kind, rc == -EBADMSG ? "damaged; copy the file again or analyse again" : strerror(-rc));
	}
	raw[x->raw_bytes] = 0;
	*ret_raw = raw;
	return 0;
}

static int damaged(const struct mpix_file *f, const struct mpix_entry *x, struct error *e)
{
	return fail(e, -EBADMSG, "%s: offset %llu: chunk of kind %u contradicts itself", f->path,
		    (unsigned long long)x->offset, x->kind);
}

static const struct mpix_entry *find_kind(const struct mpix_file *f, enum mpix_kind kind)
{
	for (uint32_t i = 0; i < f->super.entries; i++)
		if (f->entries[i].kind == kind)
			return &f->entries[i];
	return NULL;
}

static bool entry_is_sane(const struct mpix_file *f, const struct mpix_entry *x)
{
	uint32_t raw_max = x->kind == MPIX_ANALYSIS ? MPIX_ANALYSIS_RAW_MAX : MPIX_CHUNK_RAW_MAX;
	uint64_t end;
	return x->kind >= MPIX_META && x->kind <= MPIX_FLOW && x->raw_bytes <= raw_max &&
	       x->offset >= MPIX_SUPERBLOCK_BYTES &&
	       !__builtin_add_overflow(x->offset, (uint64_t)x->packed_bytes, &end) && end <= f->super.index_offset &&
	       x->raw_bytes <= (uint64_t)x->packed_bytes * MPIC_INFLATE_RATIO_MAX + 64;
}

/* ---- opening ---- */

static int read_super(struct mpix_file *f, struct error *e)
{
	uint8_t bytes[MPIX_SUPERBLOCK_BYTES];
	size_t n = f->len_bytes < sizeof(bytes) ? (size_t)f->len_bytes : sizeof(bytes);
	int rc = read_at(f, 0, bytes, n);
	if (rc < 0)
		return fail(e, rc, "cannot read: %s", strerror(-rc));
	return mpix_get_super(cursor_over(bytes, n), f->len_bytes, &f->super, e);
}

static int check_place(const struct mpix_file *f, struct error *e)
{
	const struct mpix_super *s = &f->super;
	uint64_t end;
	if (s->entries > MPIX_CHUNKS_MAX)
		return fail(e, -EBADMSG, "%u chunks: over the limit of %u", s->entries, MPIX_CHUNKS_MAX);
	if (__builtin_add_overflow(s->index_offset, (uint64_t)s->entries * MPIX_ENTRY_BYTES, &end) ||
	    __builtin_add_overflow(end, (uint64_t)MPIX_TRAILER_BYTES, &end) || end != s->file_bytes ||
	    s->index_offset < MPIX_SUPERBLOCK_BYTES)
		return fail(e, -EBADMSG, "index at %llu with %u chunks does not end the file",
			    (unsigned long long)s->index_offset, s->entries);
	return 0;
}

static int decode_index(struct mpix_file *f, const uint8_t *bytes, size_t len_bytes, struct error *e)
{
	struct cursor c = cursor_over(bytes, len_bytes);
	if (crc32c(0, bytes, len_bytes) != f->super.index_crc)
		return fail(e, -EBADMSG, "offset %llu: index damaged (checksum differs)",
			    (unsigned long long)f->super.index_offset);
	for (uint32_t i = 0; i < f->super.entries; i++)
		if (mpix_get_entry(&c, &f->entries[i]) < 0 || !entry_is_sane(f, &f->entries[i]))
			return fail(e, -EBADMSG, "offset %llu: entry %u of the index is impossible",
				    (unsigned long long)f->super.index_offset, i);
	return 0;
}

static int read_index(struct mpix_file *f, struct error *e)
{
	int rc = check_place(f, e);
	if (rc < 0)
		return rc;
	size_t len = (size_t)f->super.entries * MPIX_ENTRY_BYTES;
	uint8_t *bytes = malloc(len + 1);
	f->entries = calloc(f->super.entries + 1u, sizeof(*f->entries));
	if (bytes == NULL || f->entries == NULL)
		rc = fail(e, -ENOMEM, "out of memory");
	if (rc == 0 && (rc = read_at(f, f->super.index_offset, bytes, len)) < 0)
		fail(e, rc, "cannot read the index: %s", strerror(-rc));
	if (rc == 0)
		rc = decode_index(f, bytes, len, e);
	free(bytes);
	return rc;
}

static int read_texts(struct mpix_file *f, struct error *e)
{
	const struct mpix_entry *meta = find_kind(f, MPIX_META), *analysis = find_kind(f, MPIX_ANALYSIS);
	uint8_t *raw;
	if (meta == NULL || analysis == NULL)
		return fail(e, -EBADMSG, "%s: no description or no analysis in it", f->path);
	int rc = read_chunk(f, meta, &raw, e);
	if (rc < 0)
		return rc;
	rc = mpix_get_meta(cursor_over(raw, meta->raw_bytes), &f->info, &f->shape, &f->ops);
	free(raw);
	if (rc < 0)
		return damaged(f, meta, e);
	rc = read_chunk(f, analysis, &raw, e);
	if (rc < 0)
		return rc;
	f->analysis = (char *)raw;
	if (strlen(f->analysis) != analysis->raw_bytes)
		return damaged(f, analysis, e);
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
	free(f->entries);
	free(f->ops);
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

/* ---- events ---- */

struct event_query {
	uint32_t rank;
	int64_t from_ns, to_ns;
	bool with_carried;
	int (*visit)(void *context, const struct mpix_event *event);
	void *context;
};

struct head {
	uint64_t row, flags, bin, count;
};

static int get_head(struct cursor *c, uint64_t *total, struct head *ret_head)
{
	struct head h;
	if (rd_varint(c, &h.row) < 0 || rd_varint(c, &h.flags) < 0 || rd_varint(c, &h.bin) < 0 ||
	    rd_varint(c, &h.count) < 0 || h.count > MPIX_CHUNK_RECORDS_MAX || h.bin > UINT32_MAX)
		return -EBADMSG;
	*total += h.count;
	*ret_head = h;
	return *total > MPIX_CHUNK_RECORDS_MAX ? -EBADMSG : 0;
}

static bool overlaps(const struct mpix_event *x, int64_t from_ns, int64_t to_ns)
{
	return x->start_ns < to_ns && (x->end_ns > from_ns || x->start_ns >= from_ns);
}

static int visit_segment(const struct mpix_file *f, const struct event_query *q, const struct head *h,
			 struct cursor columns[MPIX_COLUMNS])
{
	bool wanted = f->shape.group_ranks > h->row && h->row == q->rank % f->shape.group_ranks &&
		      ((h->flags & 1) == 0 || q->with_carried);
	struct mpix_event x;
	int64_t clock;
	if (__builtin_mul_overflow((int64_t)h->bin, (int64_t)f->shape.segment_ns, &clock))
		return -EBADMSG;
	for (uint64_t i = 0; i < h->count; i++) {
		if (mpix_get_event(columns, &x, &clock) < 0 || x.op >= f->info.nops)
			return -EBADMSG;
		int rc = wanted && overlaps(&x, q->from_ns, q->to_ns) ? q->visit(q->context, &x) : 0;
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* The heads stand before the columns: find the columns first, then walk both. */
static int visit_payload(const struct mpix_file *f, const struct event_query *q, struct cursor c)
{
	struct cursor heads, columns[MPIX_COLUMNS];
	struct head h;
	uint64_t segments, total = 0;
	if (rd_varint(&c, &segments) < 0 || segments > MPIX_SEGMENTS_MAX)
		return -EBADMSG;
	heads = c;
	for (uint64_t i = 0; i < segments; i++)
		if (get_head(&c, &total, &h) < 0)
			return -EBADMSG;
	if (mpix_columns_split(&c, columns) < 0)
		return -EBADMSG;
	for (uint64_t i = 0; i < segments; i++) {
		total = 0;
		int rc = get_head(&heads, &total, &h);
		if (rc == 0)
			rc = visit_segment(f, q, &h, columns);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int mpix_each_event(struct mpix_file *f, uint32_t rank, int64_t from_ns, int64_t to_ns,
		    int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e)
{
	struct event_query q = {rank, from_ns, to_ns, true, visit, context};
	for (uint32_t i = 0; i < f->super.entries; i++) {
		const struct mpix_entry *x = &f->entries[i];
		if (x->kind != MPIX_EVENTS || x->group != rank / f->shape.group_ranks || x->start_ns >= to_ns ||
		    x->end_ns <= from_ns)
			continue;
		uint8_t *raw;
		int rc = read_chunk(f, x, &raw, e);
		if (rc < 0)
			return rc;
		rc = visit_payload(f, &q, cursor_over(raw, x->raw_bytes));
		free(raw);
		if (rc == -EBADMSG)
			return damaged(f, x, e);
		if (rc != 0)
			return rc;
		q.with_carried = false;
	}
	return 0;
}

/* ---- messages ---- */

static int visit_messages(const struct mpix_file *f, struct cursor c,
			  int (*visit)(void *context, const struct mpix_message *message), void *context)
{
	struct cursor columns[MPIX_COLUMNS];
	struct mpix_message x;
	uint64_t count;
	int64_t clock = 0;
	if (rd_varint(&c, &count) < 0 || count > MPIX_CHUNK_RECORDS_MAX || mpix_columns_split(&c, columns) < 0)
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++) {
		if (mpix_get_message(columns, &x, &clock) < 0 || x.src >= f->info.ranks || x.dst >= f->info.ranks)
			return -EBADMSG;
		int rc = visit(context, &x);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int mpix_each_message(struct mpix_file *f, int64_t from_ns, int64_t to_ns,
		      int (*visit)(void *context, const struct mpix_message *message), void *context, struct error *e)
{
	for (uint32_t i = 0; i < f->super.entries; i++) {
		const struct mpix_entry *x = &f->entries[i];
		if (x->kind != MPIX_MESSAGES || x->start_ns >= to_ns || x->end_ns <= from_ns)
			continue;
		uint8_t *raw;
		int rc = read_chunk(f, x, &raw, e);
		if (rc < 0)
			return rc;
		rc = visit_messages(f, cursor_over(raw, x->raw_bytes), visit, context);
		free(raw);
		if (rc == -EBADMSG)
			return damaged(f, x, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}
