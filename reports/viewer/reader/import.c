/* import.c - traces of other tools in the browser: what postproc/protocol/ has, behind the function that the worker
 * calls (src/decode/foreign.ts). In: bytes of such a file.  Out: those of an .mpix, in memory (file.c). */
#include "postproc/protocol/import.h"
#include "reader.h"

struct error error;

/* Text of the mistake, ended by a zero. */
EXPORTED("error") const char *import_error(void)
{
	return error.text;
}

/* format: of import_formats. name, ended by a zero, is for texts of errors and of the program. 0 or -errno. */
EXPORTED("import") int import_bytes(uint32_t format, const char *name, const uint8_t *bytes, uint32_t len_bytes)
{
	struct import x;
	int code = import_formats[format].read(name, (struct span){bytes, len_bytes}, &x, &error);
	return code == 0 ? import_write(&x, name, &error) : code;
}

EXPORTED("room") void *import_room(uint32_t len_bytes)
{
	return malloc(len_bytes);
}
