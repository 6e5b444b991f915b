/* target_http.c - a request to `mpitrace view`: refused, or a path and a range that are within bounds. */
#include "tests/fuzz/fuzz.h"

#include "cli/http.h"

#include <string.h>

static const uint64_t lengths[] = {0, 1, 4096, UINT64_MAX / 2};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct http_request r;
	int status = http_parse((const char *)data, len_bytes, &r);
	fuzz_check(status == 0 || (status >= 400 && status <= 505));
	if (status != 0)
		return 0;
	fuzz_check(r.path[0] == '/' && strnlen(r.path, sizeof(r.path)) < sizeof(r.path));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t first, len;
		status = http_range(&r, lengths[i], &first, &len);
		fuzz_check(status == 416 || (first <= lengths[i] && len <= lengths[i] - first));
	}
	return 0;
}
