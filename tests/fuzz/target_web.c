/* target_web.c - what a request to `mpitrace view` says in its head, headers and path: whole or not, known or not,
 * and a range that is within bounds. */
#include "tests/fuzz/fuzz.h"

#include "reports/web/request.h"

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
	for (size_t n = 1; n <= len_bytes && n <= 256; n++) /* more bytes make neither undone */
		fuzz_check(head_is_whole(text, n - 1) <= head_is_whole(text, n));
	if (head_has_token(text, len_bytes, "token"))
		fuzz_check(memmem(text, len_bytes, " /token/", 8) != NULL);
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
