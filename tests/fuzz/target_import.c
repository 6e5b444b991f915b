/* target_import.c - traces of other tools: refused, or made a trace. The first byte chooses which tool. */
#include "tests/fuzz/fuzz.h"

#include "postproc/protocol/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct import x;
	struct error e = {""};
	if (len_bytes == 0)
		return 0;
	struct span bytes = {data + 1, len_bytes - 1};
	int rc = import_formats[data[0] & 1].read("fuzz", bytes, &x, &e);
	fuzz_check(rc == 0 || e.text[0] != '\0');
	import_done(&x);
	return 0;
}
