/* target_policy.c - mpitrace.conf, which root reads: refused with file and line, or a policy whose decisions are in
 * bounds. */
#include "tests/unit/policy_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	policy_fuzz_one(data, len_bytes);
	return 0;
}
