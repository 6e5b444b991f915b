/* target_mpic_blocks.c - what lies in the blocks of a .mpic (fuzz.h): the whole analysis, whatever they say. */
#include "tests/fuzz/fuzz.h"

#include "postproc/postproc.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	_cleanup_buf_ struct buf file = {0};
	struct postproc_result result = {0};
	struct error e = {""};
	fuzz_mpic(data, len_bytes, &file);
	char *paths[] = {(char *)(uintptr_t)fuzz_file(file.data, file.len_bytes)};
	int rc = postproc_analyze(paths, 1, NULL, 1, &result, &e);
	fuzz_check(rc == 0 || e.text[0] != '\0'); /* a failure is said */
	if (rc == 0) {
		cJSON *json = cJSON_Parse(result.json);
		fuzz_check(cJSON_IsObject(json));
		cJSON_Delete(json);
	}
	free(result.json);
	return 0;
}
