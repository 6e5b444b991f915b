/* spec_lex.c - the text of a specification to tokens, and errors that show where they are. */
#include "postproc/protocol/spec_parts.h"

#include "base/buf.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#define SHOWN_COLUMNS 72u /* of the line with the mistake */

/* ---- places ---- */

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Characters of text from `from` to `to`, in UTF-8. */
static uint32_t columns(const struct spec *s, uint32_t from, uint32_t to)
{
	uint32_t n = 0;
	for (uint32_t i = from; i < to; i++)
		n += !continues(s->text[i]);
	return n;
}

static uint32_t line_start(const struct spec *s, uint32_t at)
{
	while (at > 0 && s->text[at - 1] != '\n')
		at--;
	return at;
}

static uint32_t line_number(const struct spec *s, uint32_t at)
{
	uint32_t n = 1;
	for (uint32_t i = 0; i < at; i++)
		n += s->text[i] == '\n';
	return n;
}

/* The part of the line around the place, and a caret under it. */
static void put_place(const struct spec *s, uint32_t at, struct buf *b)
{
	uint32_t start = line_start(s, at), from = at;
	for (uint32_t n = 0; from > start && n < SHOWN_COLUMNS / 2; n += !continues(s->text[from]))
		from--;
	buf_str(b, from > start ? "\n  ..." : "\n  ");
	for (uint32_t i = from; i < s->len_bytes && s->text[i] != '\n'; i++) {
		unsigned char c = (unsigned char)s->text[i];
		if (!continues(s->text[i]) && columns(s, from, i) == SHOWN_COLUMNS)
			break;
		buf_u8(b, c < 0x20 || c == 0x7f ? ' ' : c);
	}
	buf_printf(b, "\n  %*s^", (int)(columns(s, from, at) + (from > start ? 3 : 0)), "");
}

int spec_fail(const struct spec *s, uint32_t at, int code, struct error *e, const char *fmt, ...)
{
	_cleanup_buf_ struct buf b = {0};
	char what[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	buf_printf(&b, "%.200s:%u:%u: %s", s->name, line_number(s, at), columns(s, line_start(s, at), at) + 1, what);
	put_place(s, at, &b);
	buf_u8(&b, 0);
	return fail(e, code, "%s", buf_failed(&b) ? what : (const char *)b.data);
}

/* ---- tokens ---- */

static const struct sign {
	char text[4];
	enum spec_kind kind;
	int value;
} signs[] = {
	/* the longer ones first */
	{"\xe2\x88\x80", SPEC_FORALL, 0},
	{"->", SPEC_ARROW, 0},
	{"\xe2\x86\x92", SPEC_ARROW, 0},
	{"::", SPEC_COLONS, 0},
	{"==", SPEC_OPERATOR, OP_EQ},
	{"!=", SPEC_OPERATOR, OP_NE},
	{"<=", SPEC_OPERATOR, OP_LE},
	{">=", SPEC_OPERATOR, OP_GE},
	{"&&", SPEC_OPERATOR, OP_AND},
	{"||", SPEC_OPERATOR, OP_OR},
	{"<", SPEC_OPERATOR, OP_LT},
	{">", SPEC_OPERATOR, OP_GT},
	{"+", SPEC_OPERATOR, OP_ADD},
	{"-", SPEC_OPERATOR, OP_SUB},
	{"*", SPEC_OPERATOR, OP_MUL},
	{"/", SPEC_OPERATOR, OP_DIV},
	{"%", SPEC_OPERATOR, OP_MOD},
	{"(", SPEC_SIGN, '('},
	{")", SPEC_SIGN, ')'},
	{",", SPEC_SIGN, ','},
	{";", SPEC_SIGN, ';'},
	{":", SPEC_SIGN, ':'},
};

static uint32_t skip_blank(const struct spec *s, uint32_t at)
{
	while (at < s->len_bytes) {
		if (s->text[at] == '#')
			while (at < s->len_bytes && s->text[at] != '\n')
				at++;
		else if (isspace((unsigned char)s->text[at]))
			at++;
		else
			break;
	}
	return at;
}

static bool is_letter(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int lex_number(const struct spec *s, struct spec_token *t, struct error *e)
{
	uint32_t i = t->at;
	t->kind = SPEC_NUMBER;
	for (; i < s->len_bytes && is_digit(s->text[i]); i++)
		if (__builtin_mul_overflow(t->value, 10, &t->value) ||
		    __builtin_add_overflow(t->value, s->text[i] - '0', &t->value))
			return spec_fail(s, t->at, -EINVAL, e, "this number is beyond 64 bits");
	if (i < s->len_bytes && is_letter(s->text[i]))
		return spec_fail(s, i, -EINVAL, e, "a letter in a number");
	t->len_bytes = i - t->at;
	return 0;
}

static int lex_name(const struct spec *s, struct spec_token *t, struct error *e)
{
	uint32_t i = t->at;
	while (i < s->len_bytes && (is_letter(s->text[i]) || is_digit(s->text[i])))
		i++;
	t->len_bytes = i - t->at;
	if (t->len_bytes > SPEC_NAME_MAX)
		return spec_fail(s, t->at, -E2BIG, e, "a name of more than %u letters", SPEC_NAME_MAX);
	bool forall = t->len_bytes == 6 && memcmp(s->text + t->at, "forall", 6) == 0;
	t->kind = forall ? SPEC_FORALL : SPEC_NAME;
	return 0;
}

static int lex_sign(const struct spec *s, struct spec_token *t, struct error *e)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		size_t n = strlen(signs[i].text);
		if (n > s->len_bytes - t->at || memcmp(s->text + t->at, signs[i].text, n) != 0)
			continue;
		t->kind = signs[i].kind;
		t->value = signs[i].value;
		t->len_bytes = (uint32_t)n;
		return 0;
	}
	return spec_fail(s, t->at, -EINVAL, e, "this character means nothing here");
}

int spec_lex(struct spec *s, struct error *e)
{
	uint32_t at = 0;
	int code = 0;
	while (code == 0) {
		at = skip_blank(s, at);
		struct spec_token t = {.kind = SPEC_END, .at = at};
		if (at < s->len_bytes)
			code = is_digit(s->text[at])	? lex_number(s, &t, e)
			       : is_letter(s->text[at]) ? lex_name(s, &t, e)
							: lex_sign(s, &t, e);
		if (code == 0 && vec_push(&s->tokens, t) < 0)
			code = fail(e, -ENOMEM, "%s: out of memory", s->name);
		if (t.kind == SPEC_END)
			break;
		at += t.len_bytes;
	}
	return code;
}
