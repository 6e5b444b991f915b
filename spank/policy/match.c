/* match.c - conditions: does a rule fit a job? In: lists of patterns or ranges, facts.  Out: yes, no, or not known. */
#include "base/path.h"
#include "spank/policy/names.h"
#include "spank/policy/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct policy_fact_row policy_facts[POLICY_FACTS] = {
#define POLICY_ROW(id, name, match, meaning) [FACT_##id] = {#name, POLICY_MATCH_##match, meaning},
	POLICY_FACT_TABLE(POLICY_ROW)
#undef POLICY_ROW
};

bool policy_glob(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL;
	while (*text != '\0') {
		if (*pattern == '*') {
			star = pattern++;
			retry = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star + 1;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

/* ---- reading ---- */

/* "4", "1-8", "16-" (and more), "-8" (at most). */
static bool parse_range(const char *text, struct policy_item *item)
{
	char copy[64];
	size_t len = strlen(text);
	char *dash;
	if (len == 0 || len >= sizeof(copy))
		return false;
	memcpy(copy, text, len + 1);
	dash = strchr(copy, '-');
	if (dash == NULL)
		return policy_parse_number(copy, &item->from) && (item->to = item->from, true);
	*dash = '\0';
	item->from = 0;
	item->to = UINT64_MAX;
	if ((*copy == '\0' && dash[1] == '\0') || (*copy != '\0' && !policy_parse_number(copy, &item->from)) ||
	    (dash[1] != '\0' && !policy_parse_number(dash + 1, &item->to)))
		return false;
	return item->from <= item->to;
}

/* What names are made of, and patterns of them; useradd(8) and sacctmgr(1) make none with more. */
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$@\\*?"

static bool is_number(const char *text)
{
	return text[strspn(text, "0123456789")] == '\0';
}

/* "400" and "400-600" alike. */
static bool is_range(const char *text)
{
	return text[strspn(text, "0123456789-")] == '\0';
}

/* A shell's variable, a list of Slurm's, an escape, half a name of a domain, a '-' meant as '!'. */
static bool is_misplaced(const char *text)
{
	const char *dollar = strchr(text, '$');
	char first = text[0], last = text[strlen(text) - 1];
	return first == '-' || first == '@' || first == '\\' || last == '@' || last == '\\' ||
	       strstr(text, "\\\\") != NULL || (dollar != NULL && (dollar == text || dollar[1] != '\0'));
}

/* As a rule that fits nobody takes nothing away, what no user, group, account, partition or QOS is called, or few, is
 * more likely a slip. */
static int check_name(const char *text, struct error *e)
{
	unsigned char bad = (unsigned char)text[strspn(text, NAME_BYTES)];
	char shown[16];
	snprintf(shown, sizeof(shown), bad >= ' ' && bad < 0x7f ? "'%c'" : "byte 0x%02x", bad);
	if (bad != '\0')
		return fail(e, -EINVAL,
			    "has %s in \"%.64s\": items are separated by commas, names stand without quotes and are of "
			    "A-Z a-z 0-9 _ . - $ @ \\, and ? stands for any one byte",
			    shown, text);
	if (is_misplaced(text))
		return fail(e, -EINVAL,
			    "has - @ \\ or $ where names have none, in \"%.64s\": only ! excludes, @ and one \\ stand "
			    "inside, $ at the end, and nothing is escaped",
			    text);
	return 0;
}

static int check_user(const char *text, struct error *e)
{
	if (is_range(text))
		return fail(e, -EINVAL,
			    "compares names, and \"%.64s\" is none: numbers of users stand behind uid =", text);
	return check_name(text, e);
}

static int check_group(const char *text, struct error *e)
{
	uint64_t number;
	if (is_number(text) && (!policy_parse_number(text, &number) || number > UINT32_MAX))
		return fail(e, -EINVAL, "has \"%.64s\", and no group has so large a number", text);
	if (is_range(text) && !is_number(text))
		return fail(e, -EINVAL, "takes names and single numbers, not \"%.64s\": list them, as 400, 401", text);
	return check_name(text, e);
}

static int check_item(enum policy_match match, const char *text, struct error *e)
{
	if (match == POLICY_MATCH_USER)
		return check_user(text, e);
	if (match == POLICY_MATCH_GROUP)
		return check_group(text, e);
	if (match == POLICY_MATCH_NAME)
		return check_name(text, e);
	if (*text == '"' || *text == '\'')
		return fail(e, -EINVAL, "has a quote before \"%.64s\": names stand without quotes", text + 1);
	return 0;
}

/* A group's number is compared as it is written in facts. */
static const char *without_zeros(const char *text)
{
	while (is_number(text) && text[0] == '0' && text[1] != '\0')
		text++;
	return text;
}

static int parse_item(enum policy_match match, const char *text, struct policy_item *item, struct error *e)
{
	item->negated = *text == '!';
	text += item->negated;
	text += strspn(text, " \t");
	if (*text == '\0')
		return fail(e, -EINVAL, "has an empty item in its list");
	if (*text == '!')
		return fail(e, -EINVAL, "has an item with two !");
	if (check_item(match, text, e) < 0)
		return -EINVAL;
	if (match == POLICY_MATCH_RANGE)
		return parse_range(text, item)
			       ? 0
			       : fail(e, -EINVAL, "takes numbers and ranges: 4, 1-8, 16-; not \"%.64s\"", text);
	item->pattern = strdup(match == POLICY_MATCH_GROUP ? without_zeros(text) : text);
	return item->pattern != NULL ? 0 : fail(e, -ENOMEM, "out of memory");
}

static char *trim(char *text)
{
	size_t len;
	text += strspn(text, " \t");
	for (len = strlen(text); len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'); len--)
		text[len - 1] = '\0';
	return text;
}

static int parse_items(enum policy_match match, char *list, struct policy_condition *c, struct error *e)
{
	char *word;
	while ((word = strsep(&list, ",")) != NULL) {
		struct policy_item item = {0};
		if (c->items.n == POLICY_ITEMS_MAX)
			return fail(e, -E2BIG, "has more than %u items", POLICY_ITEMS_MAX);
		int rc = parse_item(match, trim(word), &item, e);
		if (rc < 0)
			return rc;
		if (vec_push(&c->items, item) < 0) {
			free(item.pattern);
			return fail(e, -ENOMEM, "out of memory");
		}
	}
	return 0;
}

int policy_condition_parse(enum policy_match match, const char *text, struct policy_condition *ret_condition,
			   struct error *e)
{
	struct policy_condition c = {0};
	char *copy = strdup(text);
	int rc = copy != NULL ? parse_items(match, copy, &c, e) : fail(e, -ENOMEM, "out of memory");
	free(copy);
	if (rc < 0)
		policy_condition_done(&c);
	else
		*ret_condition = c;
	return rc;
}

void policy_condition_done(struct policy_condition *c)
{
	for (size_t i = 0; i < c->items.n; i++)
		free(c->items.at[i].pattern);
	vec_done(&c->items);
}

/* ---- comparing ---- */

static bool program_fits(const char *pattern, const char *program)
{
	return policy_glob(pattern, strchr(pattern, '/') == NULL ? path_name(program) : program);
}

/* One of the names in "1,2,a,b". Numbers are all there; an unknown name may be any. */
static enum policy_fit any_fits(const char *pattern, const char *names)
{
	char name[POLICY_FACT_MAX];
	enum policy_fit best = POLICY_FITS_NOT;
	for (;; names++) {
		size_t n = strcspn(names, ",");
		bool whole = n < sizeof(name);
		snprintf(name, sizeof(name), "%.*s", (int)(whole ? n : 0), names);
		if (!whole || strcmp(name, NAMES_UNKNOWN) == 0)
			best = is_number(pattern) ? best : POLICY_FITS_MAYBE;
		else if (n > 0 && policy_glob(pattern, name))
			return POLICY_FITS;
		names += n;
		if (*names == '\0')
			return best;
	}
}

static enum policy_fit item_fits(enum policy_match match, const struct policy_item *item, const char *fact,
				 uint64_t number)
{
	bool fits;
	if (match == POLICY_MATCH_GROUP)
		return any_fits(item->pattern, fact);
	if (match == POLICY_MATCH_RANGE)
		fits = number >= item->from && number <= item->to;
	else
		fits = match == POLICY_MATCH_PROGRAM ? program_fits(item->pattern, fact)
						     : policy_glob(item->pattern, fact);
	return fits ? POLICY_FITS : POLICY_FITS_NOT;
}

static enum policy_fit most(enum policy_fit a, enum policy_fit b)
{
	return a > b ? a : b;
}

/* One of the items fits and none that is excluded; with exclusions only, everything else fits. */
static enum policy_fit condition_fits(enum policy_match match, const struct policy_condition *c, const char *fact)
{
	uint64_t number = 0;
	enum policy_fit wanted = POLICY_FITS_NOT, excluded = POLICY_FITS_NOT;
	bool listed = false;
	if (fact == NULL || (match == POLICY_MATCH_RANGE && !policy_parse_number(fact, &number)))
		return POLICY_FITS_MAYBE;
	for (size_t i = 0; i < c->items.n; i++) {
		const struct policy_item *item = &c->items.at[i];
		enum policy_fit fit = item_fits(match, item, fact, number);
		if (item->negated)
			excluded = most(excluded, fit);
		else
			wanted = most(wanted, fit);
		listed |= !item->negated;
	}
	if (!listed)
		wanted = POLICY_FITS;
	if (excluded == POLICY_FITS || wanted == POLICY_FITS_NOT)
		return POLICY_FITS_NOT;
	return excluded == POLICY_FITS_MAYBE ? POLICY_FITS_MAYBE : wanted;
}

enum policy_fit policy_section_fits(const struct policy_section *s, const struct policy_facts *f, unsigned *unknown)
{
	enum policy_fit all = POLICY_FITS;
	unsigned missing = 0;
	for (int i = 0; i < POLICY_FACTS; i++) {
		if (s->conditions[i].items.n == 0)
			continue;
		enum policy_fit fit = condition_fits(policy_facts[i].match, &s->conditions[i], f->values[i]);
		if (fit == POLICY_FITS_NOT)
			return POLICY_FITS_NOT;
		if (fit == POLICY_FITS_MAYBE) {
			missing |= 1u << i;
			all = POLICY_FITS_MAYBE;
		}
	}
	*unknown |= missing;
	return all;
}
