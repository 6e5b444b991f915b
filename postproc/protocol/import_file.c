/* import_file.c - a trace of another tool from a file. */
#include "base/regular.h"
#include "postproc/protocol/import.h"

#include <sys/stat.h>

/* Below the limit, and *ret_len_bytes long. */
static int load(FILE *in, const char *path, uint8_t **ret_bytes, size_t *ret_len_bytes, struct error *e)
{
	struct stat st;
	if (fstat(fileno(in), &st) < 0)
		return fail(e, -EIO, "%s: cannot read it", path);
	if ((uint64_t)st.st_size > IMPORT_BYTES_MAX)
		return fail(e, -E2BIG, "%s: over the limit of %llu bytes", path, IMPORT_BYTES_MAX);
	*ret_bytes = malloc((size_t)st.st_size + 1);
	if (*ret_bytes == NULL)
		return fail(e, -ENOMEM, "%s: out of memory", path);
	*ret_len_bytes = fread(*ret_bytes, 1, (size_t)st.st_size, in);
	return ferror(in) ? fail(e, -EIO, "%s: cannot read it", path) : 0;
}

int import_read(const struct import_format *format, const char *path, struct import *ret_import, struct error *e)
{
	uint8_t *bytes = NULL;
	size_t len_bytes = 0;
	*ret_import = (struct import){0};
	FILE *in = regular_stream(path, e);
	if (in == NULL)
		return -errno;
	int code = load(in, path, &bytes, &len_bytes, e);
	if (code == 0)
		code = format->read(path, (struct span){bytes, len_bytes}, ret_import, e);
	free(bytes);
	fclose(in);
	return code;
}
