/* buf_file.c - see buf_file.h. */
#include "base/buf_file.h"
#include "base/regular.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES 65536u

int buf_read(struct buf *b, int fd, size_t max_bytes)
{
	size_t before = b->len_bytes;
	ssize_t n = 1;
	while (n != 0) {
		uint8_t *room = buf_reserve(b, PIECE_BYTES);
		if (room == NULL)
			return -ENOMEM;
		n = read(fd, room, PIECE_BYTES);
		if (n < 0 && errno != EINTR)
			return -errno;
		b->len_bytes += n > 0 ? (size_t)n : 0;
		if (b->len_bytes - before > max_bytes)
			return -E2BIG;
	}
	return 0;
}

int buf_file(struct buf *b, const char *path, size_t max_bytes)
{
	int fd = regular_open(path, NULL);
	if (fd < 0)
		return fd;
	int rc = buf_read(b, fd, max_bytes);
	close(fd);
	return rc;
}

int buf_text(struct buf *b, const char *path, unsigned max_bytes, struct error *e)
{
	int rc = buf_file(b, path, max_bytes);
	buf_u8(b, '\0');
	if (rc == -EINVAL || rc == -E2BIG)
		return fail(e, -EFBIG, "%s: not a file of at most %u bytes", path, max_bytes);
	if (rc < 0)
		return fail(e, rc, "%s: %s", path, strerror(-rc));
	return buf_failed(b) ? fail(e, -ENOMEM, "out of memory") : 0;
}
