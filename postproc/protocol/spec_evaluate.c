/* spec_evaluate.c - rules and messages: does a rule apply, does the message obey it, and which colour follows. */
#include "postproc/protocol/spec_parts.h"

static int compute(const struct spec *s, const struct spec_code *c, int64_t a, int64_t b, int64_t *ret, struct error *e)
{
	bool over = false;
	switch (c->op) {
	case OP_EQ:
		*ret = a == b;
		break;
	case OP_NE:
		*ret = a != b;
		break;
	case OP_LT:
		*ret = a < b;
		break;
	case OP_GT:
		*ret = a > b;
		break;
	case OP_LE:
		*ret = a <= b;
		break;
	case OP_GE:
		*ret = a >= b;
		break;
	case OP_ADD:
		over = __builtin_add_overflow(a, b, ret);
		break;
	case OP_SUB:
		over = __builtin_sub_overflow(a, b, ret);
		break;
	case OP_MUL:
		over = __builtin_mul_overflow(a, b, ret);
		break;
	default: /* OP_DIV, OP_MOD */
		if (b == 0)
			return spec_fail(s, c->at, -ERANGE, e,
					 "division by zero; test it before, as in i != 0 && n / i > 2");
		over = a == INT64_MIN && b == -1;
		if (!over)
			*ret = c->op == OP_DIV ? a / b : a % b;
	}
	return over ? spec_fail(s, c->at, -ERANGE, e, "the result is beyond 64 bits") : 0;
}

/* Is it a line that is not known? Whatever is computed from it is not known either, and no reason for a match. */
static bool is_unknown(const struct spec_code *c, const int64_t slots[SLOTS])
{
	return (c->value == SLOT_SRC_LINE || c->value == SLOT_DST_LINE) && slots[c->value] == SPEC_NO_LINE;
}

static int evaluate(const struct spec *s, const struct spec_condition *condition, const int64_t slots[SLOTS],
		    bool *ret_true, struct error *e)
{
	int64_t stack[SPEC_STACK];
	unsigned n = 0;
	for (uint32_t i = condition->first; i < condition->end; i++) {
		const struct spec_code *c = &s->code.at[i];
		if (c->op == OP_LOAD && is_unknown(c, slots)) {
			*ret_true = false;
			return 0;
		}
		if (c->op == OP_PUSH || c->op == OP_LOAD) {
			stack[n++] = c->op == OP_PUSH ? c->value : slots[c->value];
		} else if (c->op == OP_TRUTH) {
			stack[n - 1] = stack[n - 1] != 0;
		} else if (c->op == OP_AND || c->op == OP_OR) {
			if ((stack[n - 1] != 0) == (c->op == OP_OR)) {
				stack[n - 1] = c->op == OP_OR;
				i = (uint32_t)c->value - 1;
			} else {
				n--;
			}
		} else {
			int code = compute(s, c, stack[n - 2], stack[n - 1], &stack[n - 2], e);
			if (code < 0)
				return code;
			n--;
		}
	}
	*ret_true = stack[0] != 0;
	return 0;
}

/* Those that look at the sender alone, or the others. */
static int all_true(const struct spec *s, const struct spec_rule *r, bool sender, const int64_t slots[SLOTS],
		    bool *ret_true, struct error *e)
{
	int code = 0;
	*ret_true = true;
	for (uint32_t i = r->first; i < r->first + r->conditions && code == 0 && *ret_true; i++)
		if (s->conditions.at[i].sender == sender)
			code = evaluate(s, &s->conditions.at[i], slots, ret_true, e);
	return code;
}

int spec_evaluate(const struct spec *s, size_t rule, const struct spec_message *m, int64_t processes,
		  enum spec_verdict *ret_verdict, struct error *e)
{
	const int64_t slots[SLOTS] = {processes, m->src, m->src_line, m->dst, m->dst_line};
	const struct spec_rule *r = &s->rules.at[rule];
	bool applies, holds = false;
	int code = all_true(s, r, true, slots, &applies, e);
	if (code == 0 && applies)
		code = all_true(s, r, false, slots, &holds, e);
	if (code == 0)
		*ret_verdict = !applies ? SPEC_SILENT : holds ? SPEC_MATCH : SPEC_VIOLATION;
	return code;
}

enum spec_colour spec_colour(unsigned level, uint64_t matches, uint64_t violations)
{
	switch (level) {
	case 0:
		return matches > 0 ? SPEC_GREEN : violations > 0 ? SPEC_RED : SPEC_BLUE;
	case 1:
		return violations > 0 ? SPEC_ORANGE : matches > 0 ? SPEC_GREEN : SPEC_BLUE;
	case 2:
		return violations == 0 && matches > 0 ? SPEC_GREEN : SPEC_ORANGE;
	default:
		return violations == 0 && matches == 1 ? SPEC_GREEN : SPEC_ORANGE;
	}
}

const char *spec_colour_name(enum spec_colour colour)
{
	static const char *const names[SPEC_COLOURS] = {"green", "red", "orange", "blue"};
	return names[colour];
}

size_t spec_rules(const struct spec *s)
{
	return s->rules.n;
}

uint32_t spec_rule_line(const struct spec *s, size_t rule)
{
	return s->rules.at[rule].line;
}

void spec_rule_shown(const struct spec *s, size_t rule, char ret_text[SPEC_SHOWN_BYTES + 1])
{
	const struct spec_rule *r = &s->rules.at[rule];
	const char *from = s->text + r->at;
	size_t len = r->end - r->at + 1u, n = len < SPEC_SHOWN_BYTES ? len : SPEC_SHOWN_BYTES;
	while (n < len && n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		ret_text[i] = (unsigned char)from[i] < 0x20 || from[i] == 0x7f ? ' ' : from[i];
	ret_text[n] = 0;
}
