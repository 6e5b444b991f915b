/* spec_parts.h - what spec_lex.c (text to tokens), spec_parse.c (tokens to rules) and spec_evaluate.c (rules and
 * messages) share. */
#pragma once

#include "base/vec.h"
#include "postproc/protocol/spec.h"

enum spec_kind {
	SPEC_END,
	SPEC_NAME,
	SPEC_NUMBER,
	SPEC_FORALL,
	SPEC_ARROW,
	SPEC_COLONS,
	SPEC_OPERATOR, /* of enum spec_op */
	SPEC_SIGN,     /* any other: ( ) , ; : in value */
};

/* In order of how tightly they bind, see spec_parse.c. */
enum spec_op {
	OP_PUSH,  /* value */
	OP_LOAD,  /* value: enum spec_slot */
	OP_TRUTH, /* any number but 0 becomes 1 */
	OP_AND,	  /* 0 on top: jump to value and leave it there, else pop */
	OP_OR,	  /* not 0 on top: the same, as 1 */
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_GT,
	OP_LE,
	OP_GE,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
};

/* Whatever a name is bound to is one of these. */
enum spec_slot { SLOT_PROCESSES, SLOT_SRC, SLOT_SRC_LINE, SLOT_DST, SLOT_DST_LINE, SLOTS };

struct spec_token {
	enum spec_kind kind;
	uint32_t at, len_bytes; /* in the text */
	int64_t value;
};

struct spec_code {
	enum spec_op op;
	uint32_t at; /* in the text */
	int64_t value;
};

/* True when what its code leaves is not 0. */
struct spec_condition {
	uint32_t first, end; /* of code */
	bool sender;	     /* looks at nothing but the sender */
};

struct spec_rule {
	uint32_t at, end; /* of the text */
	uint32_t line;
	uint32_t first, conditions;
};

struct spec {
	char *name, *text;
	size_t len_bytes;
	VEC(struct spec_token) tokens;
	VEC(struct spec_code) code;
	VEC(struct spec_condition) conditions;
	VEC(struct spec_rule) rules;
};

#define SPEC_STACK (SPEC_DEPTH_MAX * 8) /* numbers at once: each parenthesis waits with one operand of each level */

int spec_lex(struct spec *s, struct error *e);
/* "name:line:column: what", the line of the text, and a caret under the place. Returns code. */
int spec_fail(const struct spec *s, uint32_t at, int code, struct error *e, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
