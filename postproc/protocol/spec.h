/* spec.h - a protocol specification: which messages a program may send (docs/PROTOCOL.md). Text is turned once into
 * rules; a rule says of each message that it does not apply to it, that they match, or that the message violates it. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPEC_BYTES_MAX (1u << 20)
#define SPEC_RULES_MAX 4096u
#define SPEC_NAME_MAX 63u	 /* bytes */
#define SPEC_QUANTIFIERS_MAX 64u /* of one rule */
#define SPEC_DEPTH_MAX 64u	 /* parentheses within each other */
#define SPEC_SHOWN_BYTES 199u	 /* of a rule */

struct spec;

/* Both ends of a message: ranks, and the source lines of the calls. SPEC_NO_LINE: not known, and no number, so no
 * condition holds that looks at it. */
struct spec_message {
	int64_t src, src_line, dst, dst_line;
};
#define SPEC_NO_LINE (-1)

enum spec_verdict {
	SPEC_SILENT, /* the rule does not apply */
	SPEC_MATCH,
	SPEC_VIOLATION,
};

enum spec_colour { SPEC_GREEN, SPEC_RED, SPEC_ORANGE, SPEC_BLUE, SPEC_COLOURS };

#define SPEC_LEVELS 4

/* name is for error texts, which say line and column and show the place: -EINVAL, -E2BIG past a limit, -ENOMEM. text
 * needs no NUL and may hold anything. */
int spec_parse(const char *name, const char *text, size_t len_bytes, struct spec **ret_spec, struct error *e);
int spec_read(const char *path, struct spec **ret_spec, struct error *e);
void spec_free(struct spec *s);
size_t spec_rules(const struct spec *s);
/* Where a rule begins: line, from 1. */
uint32_t spec_rule_line(const struct spec *s, size_t rule);
/* The beginning of a rule in one line: whole characters, blanks for what else would end the line. */
void spec_rule_shown(const struct spec *s, size_t rule, char ret_text[SPEC_SHOWN_BYTES + 1]);
/* processes: the value of n. -ERANGE with text and place: a division by zero, or a number beyond 64 bits. */
int spec_evaluate(const struct spec *s, size_t rule, const struct spec_message *m, int64_t processes,
		  enum spec_verdict *ret_verdict, struct error *e);
/* From how many rules match a message and how many it violates; level 0 to 3. */
enum spec_colour spec_colour(unsigned level, uint64_t matches, uint64_t violations);
const char *spec_colour_name(enum spec_colour colour);
