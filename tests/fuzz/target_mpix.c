/* target_mpix.c - any bytes as an .mpix: refused, or read whole. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_mpix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	read_mpix(fuzz_file(data, len_bytes));
	return 0;
}
