/* target_request.c - the argument of --mpitrace, which slurmstepd parses as root: refused with a text, or within bounds. */
#include "tests/fuzz/fuzz.h"

#include "spank/request.h"
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct cursor c = cursor_over(data, len_bytes);
	struct request r;
	struct error e = {""};
	char *text = text_next(&c);
	int rc = request_parse(text, &r, &e);
	fuzz_check(rc == 0 || e.text[0] != '\0');
	if (rc == 0) {
		fuzz_check(r.stack <= REQUEST_STACK_MAX && strnlen(r.out, sizeof(r.out)) < sizeof(r.out));
		fuzz_check(strnlen(r.name, sizeof(r.name)) < sizeof(r.name) && strchr(r.name, '\n') == NULL);
		fuzz_check(request_report_name(r.report) != NULL);
	}
	free(text);
	return 0;
}
