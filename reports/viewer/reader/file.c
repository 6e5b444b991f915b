/* file.c - the one file that is written in the browser: bytes in memory, which the worker takes away. */
#include "base/atomic_file.h"
#include "base/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

struct memory_file {
	struct buf bytes;
	size_t at; /* where what is written next goes */
};

static struct memory_file written;
int errno;

char *strerror(int code)
{
	static char text[] = "out of memory";
	(void)code;
	return text;
}

size_t fwrite(const void *data, size_t size, size_t n, FILE *to)
{
	size_t end = to->at + size * n, more = end > to->bytes.len_bytes ? end - to->bytes.len_bytes : 0;
	if (buf_reserve(&to->bytes, more) == NULL)
		return 0;
	to->bytes.len_bytes += more;
	memcpy(to->bytes.data + to->at, data, size * n);
	to->at = end;
	return n;
}

int fseeko(FILE *f, off_t offset, int from)
{
	(void)from;
	f->at = (size_t)offset;
	return 0;
}

int fflush(FILE *f)
{
	(void)f;
	return 0;
}

int atomic_file_open_trace(struct atomic_file *ret_f, const char *path, struct error *e)
{
	*ret_f = (struct atomic_file){.stream = &written, .path = strdup(path)};
	return ret_f->path == NULL ? fail(e, -ENOMEM, "%s: out of memory", path) : 0;
}

int atomic_file_commit(struct atomic_file *f, struct error *e)
{
	(void)f, (void)e;
	return 0;
}

void atomic_file_abandon(struct atomic_file *f)
{
	free(f->path);
	f->path = NULL;
}

/* What was written. */
EXPORTED("written") const uint8_t *file_written(void)
{
	return written.bytes.data;
}

EXPORTED("length") size_t file_length(void)
{
	return written.bytes.len_bytes;
}
