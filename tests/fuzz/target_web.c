/* target_web.c - what a request to `mpitrace view` says in its headers and path: known or not, and a range that is
 * within bounds. */
#include "tests/fuzz/fuzz.h"

#include "web/request.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t lengths[] = {0, 1, 4096, UINT64_MAX / 2};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static const char *const names[] = {"mpi.example", NULL};
	uint64_t first, len;
	char *text = malloc(len_bytes + 1); /* of just that length, so that the sanitizer sees what reads on */
	if (text == NULL)
		return 0;
	memcpy(text, data, len_bytes);
	text[len_bytes] = '\0';
	if (host_is_known(text, names))
		fuzz_check(strchr(text, '/') == NULL && strchr(text, '@') == NULL);
	(void)origin_is_known(text, names);
	const char *rest = behind_token(text, "token");
	fuzz_check(rest == NULL || strncmp(text, "/token/", 7) == 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		int status = range_of(text, lengths[i], &first, &len);
		fuzz_check(status == 200 || status == 206 || status == 416);
		fuzz_check(status == 416 || (first <= lengths[i] && len <= lengths[i] - first));
	}
	free(text);
	return 0;
}
