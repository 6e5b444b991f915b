/* target_spec.c - a protocol specification (docs/PROTOCOL.md): refused with line and place, or judged. */
#include "tests/fuzz/fuzz.h"

#include "postproc/protocol/spec.h"

#include <string.h>

static const struct spec_message messages[] = {
	{0, SPEC_NO_LINE, 1, SPEC_NO_LINE},
	{3, 10, 2, 20},
	{INT64_MAX, INT64_MAX, 0, 0},
	{1, 0, INT64_MAX, 1},
};

static void judge(const struct spec *s)
{
	enum spec_verdict verdict;
	struct error e;
	for (size_t rule = 0; rule < spec_rules(s) && rule < 16; rule++)
		for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
			spec_evaluate(s, rule, &messages[i], 4, &verdict, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct spec *s;
	struct error e = {""};
	if (spec_parse("fuzz", (const char *)data, len_bytes, &s, &e) < 0) {
		fuzz_check(e.text[0] != '\0');
		return 0;
	}
	for (size_t rule = 0; rule < spec_rules(s); rule++) {
		char text[SPEC_SHOWN_BYTES + 1];
		spec_rule_shown(s, rule, text);
		fuzz_check(strlen(text) <= len_bytes);
		fuzz_check(spec_rule_line(s, rule) >= 1);
	}
	judge(s);
	spec_free(s);
	return 0;
}
