/* spec_parse.c - tokens to rules. Each name is bound to one end of the message where it stands alone in an item, so
 * it is known here what it stands for: the first look at a rule binds names, the second makes conditions.
 *
 *	rule := P(item,item) -> P(item,item) [ :: quantifier { (","|";") quantifier } ] ;
 *	item := nothing | * | expression	quantifier := forall name : expression */
#include "postproc/protocol/spec_parts.h"

#include <errno.h>

struct binding {
	uint32_t at, len_bytes; /* the name in the text */
	enum spec_slot slot;
};

struct parser {
	struct spec *s;
	size_t at;  /* token */
	bool binds; /* the first look */
	struct binding names[4];
	unsigned nnames, depth;
	unsigned slots; /* bits: what the expression looks at */
	struct error *e;
};

static const struct spec_token *here(const struct parser *p)
{
	return &p->s->tokens.at[p->at];
}

static bool is_sign(const struct spec_token *t, char sign)
{
	return t->kind == SPEC_SIGN && t->value == sign;
}

static int expected(const struct parser *p, const char *what)
{
	const struct spec_token *t = here(p);
	if (t->kind == SPEC_END)
		return spec_fail(p->s, t->at, -EINVAL, p->e, "expected %s, but the text ends", what);
	return spec_fail(p->s, t->at, -EINVAL, p->e, "expected %s", what);
}

static int take_sign(struct parser *p, char sign, const char *what)
{
	if (!is_sign(here(p), sign))
		return expected(p, what);
	p->at++;
	return 0;
}

static int emit(struct parser *p, enum spec_op op, uint32_t at, int64_t value)
{
	if (!p->binds && vec_push(&p->s->code, (struct spec_code){op, at, value}) < 0)
		return fail(p->e, -ENOMEM, "%s: out of memory", p->s->name);
	return 0;
}

/* ---- names ---- */

static bool is_name(const struct parser *p, const struct spec_token *t, const char *name)
{
	return t->kind == SPEC_NAME && t->len_bytes == strlen(name) &&
	       memcmp(p->s->text + t->at, name, t->len_bytes) == 0;
}

static const struct binding *find_name(const struct parser *p, const struct spec_token *t)
{
	for (unsigned i = 0; i < p->nnames; i++)
		if (p->names[i].len_bytes == t->len_bytes &&
		    memcmp(p->s->text + p->names[i].at, p->s->text + t->at, t->len_bytes) == 0)
			return &p->names[i];
	return NULL;
}

static int load_name(struct parser *p, const struct spec_token *t)
{
	enum spec_slot slot = SLOT_PROCESSES;
	if (!is_name(p, t, "n")) {
		const struct binding *b = find_name(p, t);
		if (b == NULL && !p->binds)
			return spec_fail(
				p->s, t->at, -EINVAL, p->e,
				"%.*s is not known: it must stand alone in an item of this rule, as in P(%.*s,*)",
				(int)t->len_bytes, p->s->text + t->at, (int)t->len_bytes, p->s->text + t->at);
		slot = b != NULL ? b->slot : SLOT_PROCESSES;
	}
	p->slots |= 1u << slot;
	return emit(p, OP_LOAD, t->at, slot);
}

/* ---- expressions ---- */

static int parse_level(struct parser *p, unsigned level);

static int parse_operand(struct parser *p)
{
	const struct spec_token *t = here(p);
	if (t->kind == SPEC_NUMBER) {
		p->at++;
		return emit(p, OP_PUSH, t->at, t->value);
	}
	if (t->kind == SPEC_NAME) {
		p->at++;
		return load_name(p, t);
	}
	if (t->kind == SPEC_OPERATOR && t->value == OP_MUL)
		return spec_fail(p->s, t->at, -EINVAL, p->e, "\"*\" for any stands alone, as in P(0,*)");
	if (!is_sign(t, '('))
		return expected(p, "a number, a name or \"(\"");
	if (++p->depth > SPEC_DEPTH_MAX)
		return spec_fail(p->s, t->at, -E2BIG, p->e, "more than %u parentheses within each other",
				 SPEC_DEPTH_MAX);
	p->at++;
	int code = parse_level(p, 0);
	p->depth--;
	return code < 0 ? code : take_sign(p, ')', "\")\" or an operator");
}

#define LEVELS 6

static unsigned level_of(enum spec_op op)
{
	return op == OP_OR ? 0 : op == OP_AND ? 1 : op <= OP_NE ? 2 : op <= OP_GE ? 3 : op <= OP_SUB ? 4 : 5;
}

/* What stands right of && and || is not looked at when the left side decides. */
static int parse_right(struct parser *p, unsigned level, const struct spec_token *t)
{
	size_t jump = p->s->code.n;
	bool decides = t->value == OP_AND || t->value == OP_OR;
	int code = decides ? emit(p, (enum spec_op)t->value, t->at, 0) : 0;
	if (code == 0)
		code = parse_level(p, level + 1);
	if (code == 0)
		code = emit(p, decides ? OP_TRUTH : (enum spec_op)t->value, t->at, 0);
	if (code == 0 && decides && !p->binds)
		p->s->code.at[jump].value = (int64_t)p->s->code.n;
	return code;
}

static int parse_level(struct parser *p, unsigned level)
{
	int code = level == LEVELS ? parse_operand(p) : parse_level(p, level + 1);
	while (code == 0 && level < LEVELS) {
		const struct spec_token *t = here(p);
		if (t->kind != SPEC_OPERATOR || level_of((enum spec_op)t->value) != level)
			break;
		p->at++;
		code = parse_right(p, level, t);
	}
	return code;
}

/* ---- items ---- */

static int add_condition(struct parser *p, size_t first)
{
	bool sender = (p->slots & (1u << SLOT_DST | 1u << SLOT_DST_LINE)) == 0;
	if (p->binds)
		return 0;
	if (vec_push(&p->s->conditions, (struct spec_condition){(uint32_t)first, (uint32_t)p->s->code.n, sender}) < 0)
		return fail(p->e, -ENOMEM, "%s: out of memory", p->s->name);
	return 0;
}

static bool ends_item(const struct spec_token *t)
{
	return is_sign(t, ',') || is_sign(t, ')');
}

/* A name that stands alone for the first time: it is what the message has there. */
static bool binds_name(struct parser *p, enum spec_slot slot)
{
	const struct spec_token *t = here(p);
	if (t->kind != SPEC_NAME || !ends_item(t + 1) || is_name(p, t, "n"))
		return false;
	const struct binding *b = find_name(p, t);
	if (b == NULL && p->binds)
		p->names[p->nnames++] = (struct binding){t->at, t->len_bytes, slot};
	else if (b == NULL || b->slot != slot)
		return false;
	p->at++;
	return true;
}

static int parse_item(struct parser *p, enum spec_slot slot)
{
	const struct spec_token *t = here(p);
	size_t first = p->s->code.n;
	if (ends_item(t) || binds_name(p, slot))
		return 0;
	if (t->kind == SPEC_OPERATOR && t->value == OP_MUL && ends_item(t + 1)) {
		p->at++;
		return 0;
	}
	p->slots = 1u << slot;
	int code = emit(p, OP_LOAD, t->at, slot);
	if (code == 0)
		code = parse_level(p, 0);
	if (code == 0)
		code = emit(p, OP_EQ, t->at, 0);
	bool sends = slot == SLOT_SRC || slot == SLOT_SRC_LINE;
	if (code == 0 && !p->binds && sends && (p->slots & (1u << SLOT_DST | 1u << SLOT_DST_LINE)) != 0)
		return spec_fail(p->s, t->at, -EINVAL, p->e,
				 "the sender is described by a name of the receiver; say it behind \"::\"");
	return code < 0 ? code : add_condition(p, first);
}

static int parse_end(struct parser *p, enum spec_slot rank, enum spec_slot line)
{
	if (!is_name(p, here(p), "P"))
		return expected(p, "P(rank,line)");
	p->at++;
	int code = take_sign(p, '(', "\"(\" after P");
	if (code == 0)
		code = parse_item(p, rank);
	if (code == 0)
		code = take_sign(p, ',', "\",\" or an operator");
	if (code == 0)
		code = parse_item(p, line);
	return code < 0 ? code : take_sign(p, ')', "\")\" or an operator");
}

/* ---- rules ---- */

static int parse_quantifier(struct parser *p)
{
	size_t first = p->s->code.n;
	if (here(p)->kind != SPEC_FORALL)
		return expected(p, "forall");
	p->at++;
	const struct spec_token *t = here(p);
	if (t->kind != SPEC_NAME)
		return expected(p, "a name after forall");
	if (is_name(p, t, "n"))
		return spec_fail(p->s, t->at, -EINVAL, p->e, "n is the number of processes: choose another name");
	p->slots = 0;
	size_t code_before = p->s->code.n;
	int code = load_name(p, t);
	p->s->code.n = code_before; /* only to know whose name it is */
	p->at++;
	if (code == 0)
		code = take_sign(p, ':', "\":\"");
	if (code == 0)
		code = parse_level(p, 0);
	return code < 0 ? code : add_condition(p, first);
}

static int parse_quantifiers(struct parser *p)
{
	int code = parse_quantifier(p);
	for (unsigned n = 1; code == 0; n++) {
		const struct spec_token *t = here(p);
		if (!is_sign(t, ',') && !(is_sign(t, ';') && t[1].kind == SPEC_FORALL))
			break;
		if (n == SPEC_QUANTIFIERS_MAX)
			return spec_fail(p->s, t->at, -E2BIG, p->e, "more than %u quantifiers in a rule",
					 SPEC_QUANTIFIERS_MAX);
		p->at++;
		code = parse_quantifier(p);
	}
	return code;
}

static int parse_rule(struct parser *p)
{
	int code = parse_end(p, SLOT_SRC, SLOT_SRC_LINE);
	if (code == 0 && here(p)->kind != SPEC_ARROW)
		code = expected(p, "\"->\"");
	if (code == 0) {
		p->at++;
		code = parse_end(p, SLOT_DST, SLOT_DST_LINE);
	}
	if (code == 0 && here(p)->kind == SPEC_COLONS) {
		p->at++;
		code = parse_quantifiers(p);
	} else if (code == 0 && !is_sign(here(p), ';')) {
		return expected(p, "\"::\" or \";\"");
	}
	return code < 0 ? code : take_sign(p, ';', "\";\", \",\" or an operator");
}

static int add_rule(struct parser *p, uint32_t line)
{
	struct spec *s = p->s;
	size_t begin = p->at;
	struct spec_rule rule = {.at = here(p)->at, .line = line, .first = (uint32_t)s->conditions.n};
	if (s->rules.n == SPEC_RULES_MAX)
		return spec_fail(s, rule.at, -E2BIG, p->e, "more than %u rules", SPEC_RULES_MAX);
	p->nnames = p->depth = 0;
	p->binds = true;
	int code = parse_rule(p);
	p->at = begin;
	p->binds = false;
	if (code == 0)
		code = parse_rule(p);
	if (code < 0)
		return code;
	rule.end = s->tokens.at[p->at - 1].at;
	rule.conditions = (uint32_t)(s->conditions.n - rule.first);
	return vec_push(&s->rules, rule) < 0 ? fail(p->e, -ENOMEM, "%s: out of memory", s->name) : 0;
}

static int parse_all(struct spec *s, struct error *e)
{
	struct parser p = {.s = s, .e = e};
	uint32_t line = 1, counted = 0;
	int code = spec_lex(s, e);
	while (code == 0 && here(&p)->kind != SPEC_END) {
		for (; counted < here(&p)->at; counted++)
			line += s->text[counted] == '\n';
		code = add_rule(&p, line);
	}
	if (code == 0 && s->rules.n == 0)
		return fail(e, -EINVAL, "%s: no rule in it, such as P(0,*)->P(1,*);", s->name);
	return code;
}

int spec_parse(const char *name, const char *text, size_t len_bytes, struct spec **ret_spec, struct error *e)
{
	if (len_bytes > SPEC_BYTES_MAX)
		return fail(e, -E2BIG, "%s: over the limit of %u bytes", name, SPEC_BYTES_MAX);
	struct spec *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return fail(e, -ENOMEM, "%s: out of memory", name);
	s->name = strdup(name);
	s->text = malloc(len_bytes + 1);
	s->len_bytes = len_bytes;
	int code = s->name == NULL || s->text == NULL ? fail(e, -ENOMEM, "%s: out of memory", name) : 0;
	if (code == 0) {
		memcpy(s->text, text, len_bytes);
		s->text[len_bytes] = 0;
		code = parse_all(s, e);
	}
	if (code < 0) {
		spec_free(s);
		return code;
	}
	*ret_spec = s;
	return 0;
}

void spec_free(struct spec *s)
{
	if (s == NULL)
		return;
	free(s->name);
	free(s->text);
	vec_done(&s->tokens);
	vec_done(&s->code);
	vec_done(&s->conditions);
	vec_done(&s->rules);
	free(s);
}
