/* target_mpix_chunks.c - what lies in the chunks of an .mpix (fuzz.h), whatever they say. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_mpix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	_cleanup_buf_ struct buf file = {0};
	fuzz_mpix(data, len_bytes, &file);
	read_mpix(fuzz_file(file.data, file.len_bytes));
	return 0;
}
