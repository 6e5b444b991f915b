/* notes.c - see notes.h. A cell's notes are a chain of blocks: the newest in memory, older ones in the file. */
#include "reports/export/notes.h"

#include "base/sort.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define BLOCK_NOTES 250u
#define BLOCKS_MAX 4096u /* in memory: 64 MiB */
#define NOWHERE UINT64_MAX

struct block {
	uint64_t before; /* place in the file of the block before, or NOWHERE */
	uint32_t n;
	uint32_t cell_slot; /* of those in memory */
	struct export_note notes[BLOCK_NOTES];
};

struct notes {
	struct cell {
		struct block *open;
		uint64_t last; /* in the file */
	} * cells;
	size_t ncells;
	VEC(struct block *) open; /* those in memory */
	VEC(struct block *) spare;
	VEC(struct export_note) taken, sorted;
	VEC(struct sort_key) order;
	VEC(struct block) chain; /* of one cell, the newest first */
	uint64_t end;
	int fd;
	char *directory;
};

static int open_nameless(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	char *path = NULL; /* a file system that knows no files without names */
	if (asprintf(&path, "%s/.mpitrace.XXXXXX", directory) < 0)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

struct notes *notes_create(const char *directory, size_t cells, struct error *e)
{
	struct notes *n = calloc(1, sizeof(*n));
	if (n == NULL) {
		fail(e, -ENOMEM, "out of memory");
		return NULL;
	}
	n->fd = -1;
	n->ncells = cells;
	n->cells = calloc(cells + 1, sizeof(*n->cells));
	n->directory = strdup(directory);
	if (n->cells == NULL || n->directory == NULL) {
		fail(e, -ENOMEM, "out of memory for %zu parts of the trace", cells);
		notes_done(n);
		return NULL;
	}
	for (size_t i = 0; i < cells; i++)
		n->cells[i].last = NOWHERE;
	return n;
}

void notes_done(struct notes *n)
{
	if (n == NULL)
		return;
	for (size_t i = 0; i < n->open.n; i++)
		free(n->open.at[i]);
	for (size_t i = 0; i < n->spare.n; i++)
		free(n->spare.at[i]);
	vec_done(&n->open);
	vec_done(&n->spare);
	vec_done(&n->taken);
	vec_done(&n->sorted);
	vec_done(&n->order);
	vec_done(&n->chain);
	if (n->fd >= 0)
		close(n->fd);
	free(n->cells);
	free(n->directory);
	free(n);
}

static int cannot(const struct notes *n, int code, struct error *e)
{
	return fail(e, code, "%s: cannot keep a temporary file there: %s", n->directory, strerror(-code));
}

static int write_all(struct notes *n, const void *data, size_t len_bytes, struct error *e)
{
	const char *from = data;
	while (len_bytes > 0) {
		ssize_t done = pwrite(n->fd, from, len_bytes, (off_t)n->end);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return cannot(n, -errno, e);
		from += done;
		n->end += (uint64_t)done;
		len_bytes -= (size_t)done;
	}
	return 0;
}

static size_t block_bytes(uint32_t notes)
{
	return offsetof(struct block, notes) + notes * sizeof(struct export_note);
}

/* Move a cell's block to the file. */
static int put_away(struct notes *n, struct cell *c, struct error *e)
{
	uint64_t at = n->end;
	if (n->fd < 0 && (n->fd = open_nameless(n->directory)) < 0)
		return cannot(n, -errno, e);
	c->open->before = c->last;
	int rc = write_all(n, c->open, block_bytes(c->open->n), e);
	if (rc == 0)
		c->last = at;
	return rc;
}

/* Everything, once there are too many blocks. */
static int put_all_away(struct notes *n, struct error *e)
{
	for (size_t i = 0; i < n->ncells && n->open.n > 0; i++) {
		struct cell *c = &n->cells[i];
		int rc = c->open != NULL ? put_away(n, c, e) : 0;
		if (rc < 0)
			return rc;
		c->open = NULL;
	}
	for (size_t i = 0; i < n->open.n; i++)
		if (vec_push(&n->spare, n->open.at[i]) < 0)
			return fail(e, -ENOMEM, "out of memory");
	n->open.n = 0;
	return 0;
}

static int begin_block(struct notes *n, struct cell *c, struct error *e)
{
	if (n->open.n >= BLOCKS_MAX && put_all_away(n, e) < 0)
		return -EIO;
	struct block *b = n->spare.n > 0 ? n->spare.at[--n->spare.n] : malloc(sizeof(*b));
	if (b == NULL || vec_push(&n->open, b) < 0) {
		free(b);
		return fail(e, -ENOMEM, "out of memory");
	}
	*b = (struct block){.before = NOWHERE};
	c->open = b;
	return 0;
}

int notes_add(struct notes *n, size_t cell, const struct export_note *note, struct error *e)
{
	if (cell >= n->ncells)
		return fail(e, -EBADMSG, "a message names a part of the trace that is not there; analyse again");
	struct cell *c = &n->cells[cell];
	int rc = c->open == NULL ? begin_block(n, c, e) : 0;
	if (rc == 0 && c->open->n == BLOCK_NOTES) {
		rc = put_away(n, c, e);
		if (rc == 0)
			c->open->n = 0;
	}
	if (rc == 0)
		c->open->notes[c->open->n++] = *note;
	return rc;
}

/* In one piece: what is behind a short block is not its own. */
static int read_block(struct notes *n, uint64_t at, struct block *b, struct error *e)
{
	ssize_t got = pread(n->fd, b, sizeof(*b), (off_t)at);
	bool whole = got >= (ssize_t)block_bytes(0) && b->n <= BLOCK_NOTES && got >= (ssize_t)block_bytes(b->n);
	return whole ? 0 : cannot(n, got < 0 ? -errno : -EIO, e);
}

static int append(struct notes *n, const struct block *b, struct error *e)
{
	size_t want = n->taken.n + b->n;
	if (vec_grow(&n->taken.at, &n->taken.cap, want, sizeof(*n->taken.at)) < 0)
		return fail(e, -ENOMEM, "out of memory");
	memcpy(n->taken.at + n->taken.n, b->notes, b->n * sizeof(*b->notes));
	n->taken.n = want;
	return 0;
}

/* Those of one event stay as they came. */
static int sort(struct notes *n)
{
	size_t count = n->taken.n;
	if (count == 0)
		return 0;
	if (vec_grow(&n->sorted.at, &n->sorted.cap, count, sizeof(*n->sorted.at)) < 0 ||
	    vec_grow(&n->order.at, &n->order.cap, 2 * count, sizeof(*n->order.at)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		n->order.at[i] = (struct sort_key){n->taken.at[i].lane, n->taken.at[i].index, (uint32_t)i};
	sort_keys(n->order.at, n->order.at + count, count);
	for (size_t i = 0; i < count; i++)
		n->sorted.at[i] = n->taken.at[n->order.at[i].at];
	return 0;
}

/* Behind those that were read. */
static int read_older(struct notes *n, uint64_t at, struct error *e)
{
	if (vec_grow(&n->chain.at, &n->chain.cap, n->chain.n + 1, sizeof(*n->chain.at)) < 0)
		return fail(e, -ENOMEM, "out of memory");
	int rc = read_block(n, at, &n->chain.at[n->chain.n], e);
	n->chain.n += rc == 0;
	return rc;
}

int notes_take(struct notes *n, size_t cell, const struct export_note **ret_notes, size_t *ret_count, struct error *e)
{
	struct cell *c = cell < n->ncells ? &n->cells[cell] : NULL;
	int rc = 0;
	n->taken.n = n->chain.n = 0;
	for (uint64_t at = c != NULL ? c->last : NOWHERE; at != NOWHERE; at = n->chain.at[n->chain.n - 1].before) {
		rc = read_older(n, at, e);
		if (rc < 0)
			return rc;
	}
	for (size_t i = n->chain.n; i > 0 && rc == 0; i--)
		rc = append(n, &n->chain.at[i - 1], e);
	if (rc == 0 && c != NULL && c->open != NULL)
		rc = append(n, c->open, e);
	if (rc == 0 && sort(n) < 0)
		rc = fail(e, -ENOMEM, "out of memory");
	*ret_notes = n->sorted.at;
	*ret_count = n->taken.n;
	return rc;
}
