/* value.c - settings: their table, and text into values. In: what stands behind the '='.  Out: struct policy_value. */
#include "spank/policy/rules.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct policy_setting_row policy_settings[POLICY_SETTINGS] = {
#define POLICY_ROW(id, name, kind, limits, fallback, in_rules, doubt, meaning) \
	[POLICY_##id] = {#name, POLICY_KIND_##kind, limits, fallback, in_rules, POLICY_DOUBT_##doubt, meaning},
	POLICY_SETTING_TABLE(POLICY_ROW)
#undef POLICY_ROW
};

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit sizes[] = {{"", 1},	       {"K", 1ull << 10}, {"M", 1ull << 20},
				    {"G", 1ull << 30}, {"T", 1ull << 40}, {NULL, 0}};
static const struct unit times[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}, {NULL, 0}};

bool policy_parse_number(const char *text, uint64_t *ret_value)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	*ret_value = value;
	return errno == 0 && *end == '\0';
}

static bool with_unit(const char *text, const struct unit *units, uint64_t *ret_value)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno != 0)
		return false;
	for (; units->name != NULL; units++)
		if (strcasecmp(end, units->name) == 0)
			return !__builtin_mul_overflow((uint64_t)value, units->factor, ret_value);
	return false;
}

/* Digits, perhaps a point and up to four more, and a percent sign; in millionths. */
static bool percent(const char *text, uint64_t *ret_ppm)
{
	uint64_t ppm = 0, digits = 0, unit = 10000;
	for (; isdigit((unsigned char)*text) && digits < 4; digits++)
		ppm = ppm * 10 + (uint64_t)(*text++ - '0') * 10000;
	if (digits == 0)
		return false;
	if (*text == '.')
		for (text++; isdigit((unsigned char)*text) && unit > 1; text++)
			ppm += (uint64_t)(*text - '0') * (unit /= 10);
	*ret_ppm = ppm;
	return strcmp(text, "%") == 0 && ppm <= 1000000;
}

/* Place of the word text[0..len) in "a|b|c", -1 if it is none. */
static int place_of(const char *choices, const char *text, size_t len)
{
	for (int i = 0;; i++) {
		size_t n = strcspn(choices, "|");
		if (n == len && strncasecmp(choices, text, n) == 0)
			return i;
		if (choices[n] == '\0')
			return -1;
		choices += n + 1;
	}
}

static bool flags(const char *choices, const char *text, uint64_t *ret_bits)
{
	uint64_t bits = 0;
	unsigned count = 0;
	for (const char *at = text;; at++) {
		at += strspn(at, " \t");
		size_t n = strcspn(at, ", \t");
		int place = place_of(choices, at, n);
		if (place < 0)
			return false;
		bits |= 1ull << place;
		count++;
		at += n;
		at += strspn(at, " \t");
		if (*at == '\0')
			break;
		if (*at != ',')
			return false;
	}
	*ret_bits = bits & ~1ull; /* the first one is "none" */
	return (bits & 1) == 0 || count == 1;
}

static int check_path(const char *text, struct error *e)
{
	size_t len = strlen(text);
	if (text[0] != '/' || strstr(text, "/..") != NULL || text[len - 1] == '/' || len > POLICY_OUTPUT_MAX)
		return fail(e, -EINVAL,
			    "must be an absolute path of at most %u bytes, without \"..\" and '/' at its end",
			    POLICY_OUTPUT_MAX);
	return strchr(text, '%') == NULL ? 0 : fail(e, -EINVAL, "is not a pattern; %%u and others belong into output");
}

static int check_group(const char *text, struct error *e)
{
	for (const char *c = text; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr("_.@-\\", *c) == NULL)
			return fail(e, -EINVAL, "must be the name or number of one group");
	return 0;
}

static int parse(const struct policy_setting_row *row, const char *text, uint64_t *ret_number, struct error *e)
{
	uint64_t max = UINT64_MAX;
	int place;
	switch (row->kind) {
	case POLICY_KIND_CHOICE:
		place = place_of(row->limits, text, strlen(text));
		*ret_number = place >= 0 ? (uint64_t)place : 0;
		return place >= 0 ? 0 : fail(e, -EINVAL, "must be one of %s", row->limits);
	case POLICY_KIND_FLAGS:
		return flags(row->limits, text, ret_number) ? 0 : fail(e, -EINVAL, "must be a list of %s", row->limits);
	case POLICY_KIND_COUNT:
		policy_parse_number(row->limits, &max);
		return policy_parse_number(text, ret_number) && *ret_number <= max
			       ? 0
			       : fail(e, -EINVAL, "must be a number from 0 to %s", row->limits);
	case POLICY_KIND_SIZE:
		return with_unit(text, sizes, ret_number)
			       ? 0
			       : fail(e, -EINVAL, "must be a size: bytes, or 64K, 512M, 2G, 1T");
	case POLICY_KIND_TIME:
		return with_unit(text, times, ret_number)
			       ? 0
			       : fail(e, -EINVAL, "must be a time: seconds, or 30s, 10m, 2h, 30d, 4w");
	case POLICY_KIND_PERCENT:
		return percent(text, ret_number)
			       ? 0
			       : fail(e, -EINVAL, "must be a share from 0%% to 100%%, such as 5%% or 0.1%%");
	case POLICY_KIND_OUTPUT:
		return policy_pattern_check(text, e);
	case POLICY_KIND_PATH:
		return check_path(text, e);
	case POLICY_KIND_GROUP:
		return check_group(text, e);
	}
	return -EINVAL;
}

int policy_value_parse(const struct policy_setting_row *row, const char *text, struct policy_value *ret_value,
		       struct error *e)
{
	struct policy_value v = {.set = true};
	int rc = parse(row, text, &v.number, e);
	if (rc < 0)
		return rc;
	v.text = strdup(text);
	if (v.text == NULL)
		return fail(e, -ENOMEM, "out of memory");
	*ret_value = v;
	return 0;
}

void policy_value_done(struct policy_value *v)
{
	free(v->text);
	*v = (struct policy_value){0};
}
