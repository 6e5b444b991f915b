/* spec_read.c - a specification from a file. */
#include "base/buf_file.h"
#include "base/regular.h"
#include "postproc/protocol/spec.h"

#include <errno.h>
#include <unistd.h>

int spec_read(const char *path, struct spec **ret_spec, struct error *e)
{
	_cleanup_buf_ struct buf text = {0};
	int fd = regular_open(path, e);
	if (fd < 0)
		return fd;
	int code = buf_read(&text, fd, SPEC_BYTES_MAX);
	close(fd);
	if (code == -ENOMEM)
		return fail(e, code, "%s: out of memory", path);
	if (code < 0 && code != -E2BIG) /* what is too long is refused by name below */
		return fail(e, code, "%s: cannot read it: is it a file?", path);
	return spec_parse(path, (const char *)text.data, text.len_bytes, ret_spec, e);
}
