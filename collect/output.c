/* output.c - see output.h. */
#include "collect/output.h"

#include "format/mpic_block.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_BYTES (1u << 20) /* parallel file systems like big appends */
#define DEFLATE_LEVEL 6
#define NAMES_MAX 100

static int make_dirs(const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len + 1);
	for (char *p = part + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0777) != 0 && errno != EEXIST && errno != EACCES && errno != EROFS)
			return -errno;
		*p = '/';
	}
	return mkdir(part, 0777) != 0 && errno != EEXIST ? -errno : 0;
}

/* <node>.mpic, or <node>.2.mpic ... if it is there: nothing is ever overwritten. */
static int create_in(struct output *o, const char *dir)
{
	int rc = make_dirs(dir);
	if (rc < 0)
		return rc;
	for (int i = 1; i < NAMES_MAX; i++) {
		char *path = NULL;
		int n = i == 1 ? asprintf(&path, "%s/%s.mpic", dir, o->node)
			       : asprintf(&path, "%s/%s.%d.mpic", dir, o->node, i);
		if (n < 0)
			return -ENOMEM;
		o->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (o->fd >= 0) {
			o->path = path;
			return 0;
		}
		free(path);
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int output_open(struct output *o, struct error *e)
{
	if (o->path != NULL)
		return 0;
	if (o->broken)
		return -EIO;
	int rc = create_in(o, o->wanted_dir);
	if (rc < 0) {
		fail(e, rc, "%s: cannot write: %s; the trace stays in %s", o->wanted_dir,
		     strerror(-rc), o->fallback_dir);
		if (create_in(o, o->fallback_dir) < 0) {
			o->broken = true;
			return rc;
		}
	}
	mpic_append_magic(&o->pending);
	return rc;
}

int64_t output_block(struct output *o, const struct mpic_block *block, const void *payload,
		     size_t len_bytes)
{
	size_t before = o->pending.len_bytes;
	int rc = mpic_append_block(&o->pending, block, payload, len_bytes, DEFLATE_LEVEL, NULL);
	if (rc < 0) {
		o->pending.len_bytes = before;
		o->failed_blocks++;
		return rc;
	}
	o->blocks++;
	int64_t packed = (int64_t)(o->pending.len_bytes - before);
	if (o->pending.len_bytes >= FLUSH_BYTES)
		rc = output_flush(o);
	return rc < 0 ? rc : packed;
}

/* Of the queued bytes `done` reached the file: how many of them are whole blocks; the others count
 * as failed. */
static size_t whole_blocks(struct output *o, size_t done)
{
	size_t at = o->len_bytes == 0 ? MPIC_MAGIC_BYTES : 0, whole = 0;
	struct mpic_block b;
	uint32_t crc;
	while (o->pending.len_bytes - at >= MPIC_HEADER_BYTES &&
	       mpic_parse_header(o->pending.data + at, &b, &crc) == 0) {
		at += MPIC_HEADER_BYTES + b.packed_len_bytes;
		if (at <= done)
			whole = at;
		else
			o->failed_blocks++;
	}
	return whole;
}

/* The file ends behind its last whole block again; an empty one still needs its first bytes. */
static void cut_back(struct output *o, size_t done)
{
	o->len_bytes += whole_blocks(o, done);
	if (ftruncate(o->fd, (off_t)o->len_bytes) == 0)
		lseek(o->fd, (off_t)o->len_bytes, SEEK_SET);
	o->pending.len_bytes = 0;
	if (o->len_bytes == 0)
		mpic_append_magic(&o->pending);
}

int output_flush(struct output *o)
{
	size_t done = 0;
	int rc = 0;
	while (done < o->pending.len_bytes && rc == 0) {
		ssize_t n = write(o->fd, o->pending.data + done, o->pending.len_bytes - done);
		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			rc = n == 0 ? -EIO : -errno;
	}
	if (rc < 0) {
		cut_back(o, done);
		return rc;
	}
	o->len_bytes += done;
	o->pending.len_bytes = 0;
	return 0;
}

int output_close(struct output *o)
{
	int rc = 0;
	if (o->path != NULL) {
		rc = output_flush(o);
		if (fsync(o->fd) != 0 && rc == 0)
			rc = -errno;
		close(o->fd);
	}
	buf_done(&o->pending);
	return rc;
}
