/* rules.h - a policy in memory; private to this room. */
#pragma once

#include "base/vec.h"
#include "spank/policy/policy.h"

/* One item of a condition's list: a pattern or a range, perhaps excluded by a '!'. */
struct policy_item {
	bool negated;
	char *pattern;
	uint64_t from, to;
};

struct policy_condition {
	VEC(struct policy_item) items;
	unsigned file, line;
};

struct policy_section {
	char name[POLICY_RULE_NAME_MAX + 1];
	unsigned file, line;
	struct policy_condition conditions[POLICY_FACTS];
	struct policy_value values[POLICY_SETTINGS];
};

struct policy {
	VEC(char *) files;
	VEC(struct policy_section *) rules;
	VEC(struct policy_destination_key) destinations;
	struct policy_section builtin, defaults;
};

/* Where an error is, and who takes it. */
struct policy_place {
	struct policy *policy;
	struct policy_errors *errors;
	unsigned file, line;
};

/* Tell an error at the place and return code. */
int policy_fail(const struct policy_place *at, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* An empty policy, NULL when memory is short. */
struct policy *policy_new(void);
/* Add a file's text. Goes on behind errors, to tell them all; 0 or the first one's -errno. */
int policy_add_text(struct policy *p, const char *name, const char *text, size_t len_bytes,
		    struct policy_errors *errors);
/* What can be judged when all is read: defaults beside their caps. */
int policy_check(struct policy *p, struct policy_errors *errors);

/* value.c: text into a value of the row's kind; 0, or -EINVAL with what would be right. */
int policy_value_parse(const struct policy_setting_row *row, const char *text, struct policy_value *ret_value,
		       struct error *e);
void policy_value_done(struct policy_value *v);
/* Decimal digits only; false when it is none or too large. */
bool policy_parse_number(const char *text, uint64_t *ret_value);

/* match.c */
int policy_condition_parse(enum policy_match match, const char *text, struct policy_condition *ret_condition,
			   struct error *e);
void policy_condition_done(struct policy_condition *c);
enum policy_fit { POLICY_FITS_NOT, POLICY_FITS_MAYBE, POLICY_FITS };
/* Does the section fit these facts? MAYBE: a fact is not known; its bit is put into *unknown. */
enum policy_fit policy_section_fits(const struct policy_section *s, const struct policy_facts *f, unsigned *unknown);
/* '*' is any text, '?' one byte. No backtracking but to the last star: linear in each. */
bool policy_glob(const char *pattern, const char *text);

/* expand.c: is it a pattern that policy_expand() understands? */
int policy_pattern_check(const char *pattern, struct error *e);
