/* buf_file.h - a whole file in a buffer. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* Append what is left to read of fd. 0, -E2BIG if that is more than max_bytes, or -errno. */
int buf_read(struct buf *b, int fd, size_t max_bytes);
/* Append a regular file; -EINVAL if it is none: a FIFO under that name holds nobody. */
int buf_file(struct buf *b, const char *path, size_t max_bytes);
/* A regular file, and a '\0' that the length counts. 0, or -errno with text; -EFBIG if it is none, or longer. */
int buf_text(struct buf *b, const char *path, unsigned max_bytes, struct error *e);
