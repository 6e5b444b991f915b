/* protocol.c - specifications of protocols in the browser: what postproc/protocol/ has, behind the functions that the
 * worker calls (src/model/protocol.ts). One specification for each instance of the reader. */
#include "reader.h"

#include "base/error.h"
#include "postproc/protocol/spec.h"

static struct spec *spec;

/* Read it. name, ended by a zero, is for texts of errors. 0 or -errno. */
EXPORTED("spec") int protocol_spec(const char *name, const char *text, uint32_t len_bytes)
{
	return spec_parse(name, text, len_bytes, &spec, &error);
}

static void put_text(uint8_t *to, size_t *at, const char *text)
{
	size_t len_bytes = strlen(text) + 1;
	memcpy(to + *at, text, len_bytes);
	*at += len_bytes;
}

/* Columns: line of each rule u32 · the rules u8, as they are shown, each ended by a zero. */
EXPORTED("rules") int protocol_rules(void)
{
	char text[SPEC_SHOWN_BYTES + 1];
	size_t len_bytes = 0, at = 0;
	mpix_table_done(&table);
	uint32_t n = (uint32_t)spec_rules(spec), *lines = mpix_table_column(&table, MPIX_U32, n);
	for (size_t i = 0; i < n; i++) {
		spec_rule_shown(spec, i, text);
		len_bytes += strlen(text) + 1;
	}
	uint8_t *texts = mpix_table_column(&table, MPIX_U8, (uint32_t)len_bytes);
	for (size_t i = 0; i < n && texts != NULL && lines != NULL; i++) {
		lines[i] = spec_rule_line(spec, i);
		spec_rule_shown(spec, i, text);
		put_text(texts, &at, text);
	}
	return table.rc;
}

/* What it says of a message (struct spec_message): the colour (enum spec_colour), or -errno with text. Column: a
 * verdict for each rule u8 (enum spec_verdict). */
EXPORTED("evaluate")
int protocol_evaluate(uint32_t level, double src, double src_line, double dst, double dst_line, double processes)
{
	struct spec_message m = {(int64_t)src, (int64_t)src_line, (int64_t)dst, (int64_t)dst_line};
	uint64_t matches = 0, violations = 0;
	mpix_table_done(&table);
	uint8_t *verdicts = mpix_table_column(&table, MPIX_U8, (uint32_t)spec_rules(spec));
	for (size_t i = 0; i < spec_rules(spec) && verdicts != NULL; i++) {
		enum spec_verdict v;
		int code = spec_evaluate(spec, i, &m, (int64_t)processes, &v, &error);
		if (code < 0)
			return code;
		verdicts[i] = (uint8_t)v;
		matches += v == SPEC_MATCH;
		violations += v == SPEC_VIOLATION;
	}
	return table.rc < 0 ? table.rc : (int)spec_colour(level, matches, violations);
}
