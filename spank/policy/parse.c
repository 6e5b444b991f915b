/* parse.c - the text of a policy: sections, keys, values. In: bytes of one file.  Out: rules, or errors with file and
 * line. Goes on behind an error, so that all are told at once. */
#include "spank/policy/rules.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTIONS "[defaults], [rule NAME] and [destination NAME]"
#define NEAR_MAX 3u  /* changes between a word and the one that was meant */
#define WORD_MAX 32u /* bytes of words that are compared so */

struct parser {
	struct policy_place at;
	struct policy_section *section;		    /* NULL: before the first, or behind one that is none */
	char destination[POLICY_RULE_NAME_MAX + 1]; /* "": the section is none of `mpitrace publish` */
	bool skipping;				    /* the section is none; its keys are not judged */
	int rc;
};

int policy_fail(const struct policy_place *at, int code, const char *fmt, ...)
{
	char what[ERROR_TEXT_MAX - 256], text[ERROR_TEXT_MAX];
	struct policy_errors *errors = at->errors;
	const char *file = at->file < at->policy->files.n ? at->policy->files.at[at->file] : "policy";
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(text, sizeof(text), "%.240s:%u: %s", file, at->line, what);
	if (errors == NULL)
		return code;
	if (errors->count++ == 0)
		snprintf(errors->first.text, sizeof(errors->first.text), "%s", text);
	if (errors->say != NULL && errors->count <= POLICY_ERRORS_MAX)
		errors->say(errors->context, text);
	return code;
}

static void keep_first_error(struct parser *p, int rc)
{
	p->rc = p->rc != 0 ? p->rc : rc;
}

/* ---- what was meant ---- */

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Letters to insert, remove or replace. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD_MAX + 1];
	size_t n = strlen(b);
	if (strlen(a) > WORD_MAX || n > WORD_MAX)
		return NEAR_MAX + 1;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1] != '\0'; i++) {
		unsigned corner = row[0];
		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned replaced = corner + (a[i - 1] != b[j - 1]);
			corner = row[j];
			row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

static void consider(const char *word, const char *known, const char **nearest, unsigned *changes)
{
	unsigned d = distance(word, known);
	if (d < *changes) {
		*changes = d;
		*nearest = known;
	}
}

/* NULL if nothing is near. */
static const char *nearest_key(const char *word, bool in_rule)
{
	const char *nearest = NULL;
	unsigned changes = NEAR_MAX + 1;
	for (int i = 0; i < POLICY_SETTINGS; i++)
		consider(word, policy_settings[i].name, &nearest, &changes);
	for (int i = 0; in_rule && i < POLICY_FACTS; i++)
		if (policy_facts[i].match != POLICY_MATCH_NONE)
			consider(word, policy_facts[i].name, &nearest, &changes);
	return changes < strlen(word) ? nearest : NULL;
}

/* ---- sections ---- */

static const struct policy_section *find_rule(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->rules.n; i++)
		if (strcmp(p->rules.at[i]->name, name) == 0)
			return p->rules.at[i];
	return NULL;
}

static int add_rule(struct parser *p, const char *name)
{
	struct policy *policy = p->at.policy;
	const struct policy_section *other = find_rule(policy, name);
	if (*name == '\0' || strlen(name) > POLICY_RULE_NAME_MAX)
		return policy_fail(&p->at, -EINVAL, "a rule needs a name of at most %u bytes: [rule NAME]",
				   POLICY_RULE_NAME_MAX);
	if (other != NULL)
		return policy_fail(&p->at, -EEXIST, "rule \"%s\" is there already, at %s:%u; names are unique", name,
				   policy->files.at[other->file], other->line);
	if (policy->rules.n == POLICY_RULES_MAX)
		return policy_fail(&p->at, -E2BIG, "more than %u rules", POLICY_RULES_MAX);
	struct policy_section *s = calloc(1, sizeof(*s));
	if (s == NULL || vec_push(&policy->rules, s) < 0) {
		free(s);
		return policy_fail(&p->at, -ENOMEM, "out of memory");
	}
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->file = p->at.file;
	s->line = p->at.line;
	p->section = s;
	return 0;
}

/* Kept as it is written: only `mpitrace publish` knows what its keys are (fleet/publish/config.c). */
static int begin_destination(struct parser *p, const char *name)
{
	if (*name == '\0' || strlen(name) > POLICY_RULE_NAME_MAX)
		return policy_fail(&p->at, -EINVAL,
				   "a destination needs a name of at most %u bytes: [destination NAME]",
				   POLICY_RULE_NAME_MAX);
	for (const char *c = name; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL)
			return policy_fail(&p->at, -EINVAL,
					   "a destination's name has letters, digits, '.', '_' and '-'");
	for (size_t i = 0; i < p->at.policy->destinations.n; i++)
		if (strcmp(p->at.policy->destinations.at[i].section, name) == 0)
			return policy_fail(&p->at, -EEXIST, "destination \"%s\" is there already; names are unique",
					   name);
	snprintf(p->destination, sizeof(p->destination), "%s", name);
	return 0;
}

static int take_destination(struct parser *p, const char *key, const char *value)
{
	struct policy *policy = p->at.policy;
	struct policy_destination_key k = {strdup(p->destination), strdup(key), strdup(value), p->at.file, p->at.line};
	if (policy->destinations.n < POLICY_DESTINATION_KEYS_MAX && k.section != NULL && k.key != NULL &&
	    k.value != NULL && vec_push(&policy->destinations, k) == 0)
		return 0;
	bool many = policy->destinations.n >= POLICY_DESTINATION_KEYS_MAX;
	free(k.section);
	free(k.key);
	free(k.value);
	return many ? policy_fail(&p->at, -E2BIG, "more than %u keys of destinations", POLICY_DESTINATION_KEYS_MAX)
		    : policy_fail(&p->at, -ENOMEM, "out of memory");
}

/* line begins with '['. */
static int take_header(struct parser *p, char *line)
{
	size_t len = strlen(line);
	p->section = NULL;
	p->skipping = true;
	p->destination[0] = '\0';
	if (line[len - 1] != ']')
		return policy_fail(&p->at, -EINVAL, "a section ends with ']'; known: " SECTIONS);
	line[len - 1] = '\0';
	char *name = line + 1 + strspn(line + 1, " \t");
	char *end = name + strcspn(name, " \t");
	char *rest = end + strspn(end, " \t");
	*end = '\0';
	for (len = strlen(rest); len > 0 && (rest[len - 1] == ' ' || rest[len - 1] == '\t'); len--)
		rest[len - 1] = '\0';
	int rc = 0;
	if (strcmp(name, "defaults") == 0 && *rest == '\0')
		p->section = &p->at.policy->defaults;
	else if (strcmp(name, "rule") == 0)
		rc = add_rule(p, rest);
	else if (strcmp(name, "destination") == 0)
		rc = begin_destination(p, rest);
	else
		return policy_fail(&p->at, -EINVAL, "unknown section \"%.64s\"; known: " SECTIONS, name);
	p->skipping = rc < 0;
	return rc;
}

/* ---- keys ---- */

static int already(struct parser *p, const char *key, unsigned file, unsigned line)
{
	return policy_fail(&p->at, -EEXIST, "\"%s\" is set already, at %s:%u", key, p->at.policy->files.at[file], line);
}

static int take_setting(struct parser *p, int row, const char *value)
{
	struct error e = {""};
	struct policy_value *v = &p->section->values[row];
	const char *key = policy_settings[row].name;
	if (p->section != &p->at.policy->defaults && !policy_settings[row].in_rules)
		return policy_fail(&p->at, -EINVAL, "\"%s\" counts for all jobs and stands in [defaults]", key);
	if (v->set)
		return already(p, key, v->file, v->line);
	int rc = policy_value_parse(&policy_settings[row], value, v, &e);
	if (rc < 0)
		return policy_fail(&p->at, rc, "%s = %.128s: %s", key, value, e.text);
	v->file = p->at.file;
	v->line = p->at.line;
	return 0;
}

static int take_condition(struct parser *p, int row, const char *value)
{
	struct error e = {""};
	struct policy_condition *c = &p->section->conditions[row];
	const char *key = policy_facts[row].name;
	if (p->section == &p->at.policy->defaults)
		return policy_fail(&p->at, -EINVAL, "\"%s\" is a condition and stands in a [rule NAME]", key);
	if (c->items.n > 0)
		return already(p, key, c->file, c->line);
	int rc = policy_condition_parse(policy_facts[row].match, value, c, &e);
	if (rc < 0)
		return policy_fail(&p->at, rc, "%s = %.128s: %s", key, value, e.text);
	c->file = p->at.file;
	c->line = p->at.line;
	return 0;
}

static int take_key(struct parser *p, const char *key, const char *value)
{
	for (int i = 0; i < POLICY_SETTINGS; i++)
		if (strcmp(key, policy_settings[i].name) == 0)
			return take_setting(p, i, value);
	for (int i = 0; i < POLICY_FACTS; i++)
		if (policy_facts[i].match != POLICY_MATCH_NONE && strcmp(key, policy_facts[i].name) == 0)
			return take_condition(p, i, value);
	const char *nearest = nearest_key(key, p->section != &p->at.policy->defaults);
	if (nearest != NULL)
		return policy_fail(&p->at, -EINVAL, "unknown key \"%.64s\"; did you mean \"%s\"?", key, nearest);
	return policy_fail(&p->at, -EINVAL, "unknown key \"%.64s\"; mpitrace.conf(5) lists all", key);
}

static int take_assignment(struct parser *p, char *line)
{
	char *equals = strchr(line, '='), *end;
	if (p->section == NULL && p->destination[0] == '\0')
		return p->skipping ? 0
				   : policy_fail(&p->at, -EINVAL, "stands before the first section; known: " SECTIONS);
	if (equals == NULL)
		return policy_fail(&p->at, -EINVAL, "expects KEY = VALUE, a [section], or a comment after '#'");
	for (end = equals; end > line && (end[-1] == ' ' || end[-1] == '\t'); end--)
		;
	*equals = *end = '\0';
	const char *value = equals + 1 + strspn(equals + 1, " \t");
	if (*value == '\0')
		return policy_fail(&p->at, -EINVAL, "\"%.64s\" has no value", line);
	if (strpbrk(value, "#;") != NULL)
		return policy_fail(&p->at, -EINVAL, "%.64s: comments stand on lines of their own", line);
	return p->section == NULL ? take_destination(p, line, value) : take_key(p, line, value);
}

/* ---- lines ---- */

static bool is_text(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)line[i]) && line[i] != '\t')
			return false;
	return true;
}

static int take_line(struct parser *p, const char *text, size_t len)
{
	char line[POLICY_LINE_MAX + 1];
	if (len > 0 && text[len - 1] == '\r')
		len--;
	while (len > 0 && (*text == ' ' || *text == '\t'))
		text++, len--;
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	if (len == 0 || *text == '#' || *text == ';')
		return 0;
	if (len > POLICY_LINE_MAX)
		return policy_fail(&p->at, -E2BIG, "the line is longer than %u bytes", POLICY_LINE_MAX);
	if (!is_text(text, len))
		return policy_fail(&p->at, -EINVAL, "the line holds a control character");
	memcpy(line, text, len);
	line[len] = '\0';
	return *line == '[' ? take_header(p, line) : take_assignment(p, line);
}

int policy_add_text(struct policy *policy, const char *name, const char *text, size_t len_bytes,
		    struct policy_errors *errors)
{
	struct parser p = {.at = {.policy = policy, .errors = errors, .file = (unsigned)policy->files.n}};
	char *copy = strdup(name);
	if (copy == NULL || vec_push(&policy->files, copy) < 0) {
		free(copy);
		return policy_fail(&p.at, -ENOMEM, "out of memory");
	}
	if (len_bytes > POLICY_FILE_BYTES_MAX)
		return policy_fail(&p.at, -E2BIG, "the file is longer than %u bytes", POLICY_FILE_BYTES_MAX);
	while (len_bytes > 0) {
		const char *end = memchr(text, '\n', len_bytes);
		size_t len = end != NULL ? (size_t)(end - text) : len_bytes;
		p.at.line++;
		keep_first_error(&p, take_line(&p, text, len));
		text += len + (end != NULL);
		len_bytes -= len + (end != NULL);
	}
	return p.rc;
}

/* ---- when all is read ---- */

static const struct policy_value *effective(const struct policy *p, const struct policy_section *s, int key)
{
	if (s->values[key].set)
		return &s->values[key];
	return p->defaults.values[key].set ? &p->defaults.values[key] : &p->builtin.values[key];
}

static bool over(enum policy_setting key, uint64_t value, uint64_t cap)
{
	return key == POLICY_MAX_BUDGET ? cap != 0 && value > cap : value > cap;
}

/* A value and the cap of the same section, of which at least one is the section's own. */
static int check_cap(struct policy *p, const struct policy_section *s, enum policy_setting key,
		     enum policy_setting cap_key, struct policy_errors *errors)
{
	const struct policy_value *value = effective(p, s, key), *cap = effective(p, s, cap_key);
	const struct policy_value *own = s->values[key].set ? value : cap;
	if ((!s->values[key].set && !s->values[cap_key].set) || !value->set ||
	    !over(cap_key, value->number, cap->number))
		return 0;
	struct policy_place at = {.policy = p, .errors = errors, .file = own->file, .line = own->line};
	if (value == &p->builtin.values[key])
		return 0; /* without a wish the cap is the value */
	return policy_fail(&at, -EINVAL, "%s = %s is over %s = %s", policy_settings[key].name, value->text,
			   policy_settings[cap_key].name, cap->text);
}

static int check_section(struct policy *p, const struct policy_section *s, struct policy_errors *errors)
{
	int level = check_cap(p, s, POLICY_LEVEL, POLICY_MAX_LEVEL, errors);
	int stack = check_cap(p, s, POLICY_STACK, POLICY_MAX_STACK, errors);
	int budget = check_cap(p, s, POLICY_BUDGET, POLICY_MAX_BUDGET, errors);
	return level < 0 ? level : stack < 0 ? stack : budget;
}

int policy_check(struct policy *p, struct policy_errors *errors)
{
	int rc = check_section(p, &p->defaults, errors);
	for (size_t i = 0; i < p->rules.n; i++) {
		int one = check_section(p, p->rules.at[i], errors);
		rc = rc < 0 ? rc : one;
	}
	return rc;
}

int policy_parse(const char *name, const char *text, size_t len_bytes, struct policy **ret_policy,
		 struct policy_errors *errors)
{
	struct policy *p = policy_new();
	if (p == NULL)
		return fail(&errors->first, -ENOMEM, "out of memory");
	int rc = policy_add_text(p, name, text, len_bytes, errors);
	if (rc == 0)
		rc = policy_check(p, errors);
	if (rc < 0)
		policy_free(p);
	else
		*ret_policy = p;
	return rc;
}
