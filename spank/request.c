/* request.c - see request.h. Strict, and harmless to call again with the same text: Slurm does. */
#include "spank/request.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const report_names[] = {"srun", "epilog", "none"};

static int set_on(struct request *r, const char *value, struct error *e)
{
	(void)value, (void)e;
	r->on = true;
	return 0;
}

static int set_off(struct request *r, const char *value, struct error *e)
{
	(void)value, (void)e;
	r->on = false;
	return 0;
}

static int set_profile(struct request *r, const char *value, struct error *e)
{
	(void)value, (void)e;
	r->profile = true;
	return 0;
}

static int set_quiet(struct request *r, const char *value, struct error *e)
{
	(void)value, (void)e;
	r->quiet = true;
	return 0;
}

static bool without_controls(const char *text)
{
	for (; *text != '\0'; text++)
		if (iscntrl((unsigned char)*text))
			return false;
	return true;
}

static int set_out(struct request *r, const char *value, struct error *e)
{
	if (!without_controls(value))
		return fail(e, -EINVAL, "give a path without control characters");
	if ((size_t)snprintf(r->out, sizeof(r->out), "%s", value) >= sizeof(r->out))
		return fail(e, -ENAMETOOLONG, "longer than %zu bytes", sizeof(r->out) - 1);
	r->given |= REQUEST_GAVE_OUT;
	return 0;
}

static int set_name(struct request *r, const char *value, struct error *e)
{
	if (!without_controls(value))
		return fail(e, -EINVAL, "give a name without control characters");
	if (snprintf(r->name, sizeof(r->name), "%s", value) >= REQUEST_NAME_MAX)
		return fail(e, -EINVAL, "longer than %d bytes", REQUEST_NAME_MAX - 1);
	return 0;
}

static unsigned shift_of(char unit)
{
	switch (toupper((unsigned char)unit)) {
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	default:
		return 0;
	}
}

static int set_budget(struct request *r, const char *value, struct error *e)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(value, &end, 10);
	unsigned shift = shift_of(*end);
	bool bad = !isdigit((unsigned char)*value) || errno != 0 || (shift > 0 ? end[1] : *end) != '\0';
	if (bad || number > UINT64_MAX >> shift)
		return fail(e, -EINVAL, "\"%.64s\" is not a size; write bytes, or 64M, 512K, 2G", value);
	r->budget_bytes = (uint64_t)number << shift;
	r->given |= REQUEST_GAVE_BUDGET;
	return 0;
}

static int set_stack(struct request *r, const char *value, struct error *e)
{
	char *end;
	unsigned long depth = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end != '\0' || depth > REQUEST_STACK_MAX)
		return fail(e, -EINVAL, "\"%.64s\" is not a depth from 0 to %d", value, REQUEST_STACK_MAX);
	r->stack = (unsigned)depth;
	r->given |= REQUEST_GAVE_STACK;
	return 0;
}

static int set_report(struct request *r, const char *value, struct error *e)
{
	for (unsigned i = 0; i < sizeof(report_names) / sizeof(report_names[0]); i++) {
		if (strcmp(value, report_names[i]) == 0) {
			r->report = (enum request_report)i;
			r->given |= REQUEST_GAVE_REPORT;
			return 0;
		}
	}
	return fail(e, -EINVAL, "\"%.64s\" is not one of srun, epilog, none", value);
}

static int set_sample(struct request *r, const char *value, struct error *e)
{
	char *end;
	double seconds = strtod(value, &end);
	if (strspn(value, "0123456789.") != strlen(value) || *end != '\0' || end == value ||
	    seconds > REQUEST_SAMPLE_MAX ||
	    snprintf(r->sample, sizeof(r->sample), "%s", value) >= (int)sizeof(r->sample))
		return fail(e, -EINVAL, "\"%.64s\" is not a number of seconds from 0 (none) to %d", value,
			    REQUEST_SAMPLE_MAX);
	r->given |= REQUEST_GAVE_SAMPLE;
	return 0;
}

static const struct request_key keys[] = {
#define ROW(key, value, run) {#key, sizeof(value) > 1, sizeof(run) > 1, set_##key},
	REQUEST_TABLE(ROW)
#undef ROW
};

const struct request_key *request_key(const char *name)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

int request_set(const struct request_key *key, const char *value, struct request *r, struct error *e)
{
	if (key->takes_value && (value == NULL || *value == '\0'))
		return fail(e, -EINVAL, "give a value");
	if (!key->takes_value && value != NULL)
		return fail(e, -EINVAL, "it takes no value");
	return key->set(r, value, e);
}

/* item is "key" or "key=value"; the '=' is overwritten. */
static int apply(struct request *r, char *item, struct error *e)
{
	char *value = strchr(item, '=');
	if (value != NULL)
		*value++ = '\0';
	const struct request_key *key = request_key(item);
	struct error why;
	if (key == NULL)
		return fail(e, -EINVAL, "unknown key \"%.64s\"; known:" REQUEST_KEYS, item);
	if (request_set(key, value, r, &why) < 0)
		return fail(e, -EINVAL, "%s: %s; known:" REQUEST_KEYS, key->name, why.text);
	return 0;
}

int request_parse(const char *text, struct request *ret_request, struct error *e)
{
	char copy[PATH_MAX], *rest = copy, *item;
	struct request r = {.on = true};
	if (text == NULL || strcmp(text, "(null)") == 0)
		text = "";
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return fail(e, -EINVAL, "the argument is longer than %zu characters", sizeof(copy) - 1);
	while (*copy != '\0' && (item = strsep(&rest, ",")) != NULL)
		if (apply(&r, item, e) < 0)
			return -EINVAL;
	*ret_request = r;
	return 0;
}
