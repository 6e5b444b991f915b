/* rules.c - a policy as it is in memory: made, let go of, asked what it has. */
#include "spank/policy/rules.h"

#include <stdlib.h>

struct policy *policy_new(void)
{
	struct policy *p = calloc(1, sizeof(*p));
	bool failed = p == NULL;
	for (int i = 0; p != NULL && i < POLICY_SETTINGS; i++)
		if (policy_settings[i].fallback[0] != '\0')
			failed |= policy_value_parse(&policy_settings[i], policy_settings[i].fallback,
						     &p->builtin.values[i], NULL) < 0;
	if (failed)
		policy_free(p);
	return failed ? NULL : p;
}

static void section_done(struct policy_section *s)
{
	for (int i = 0; i < POLICY_SETTINGS; i++)
		policy_value_done(&s->values[i]);
	for (int i = 0; i < POLICY_FACTS; i++)
		policy_condition_done(&s->conditions[i]);
}

void policy_free(struct policy *p)
{
	if (p == NULL)
		return;
	section_done(&p->builtin);
	section_done(&p->defaults);
	for (size_t i = 0; i < p->rules.n; i++) {
		section_done(p->rules.at[i]);
		free(p->rules.at[i]);
	}
	for (size_t i = 0; i < p->files.n; i++)
		free(p->files.at[i]);
	for (size_t i = 0; i < p->destinations.n; i++) {
		free(p->destinations.at[i].section);
		free(p->destinations.at[i].key);
		free(p->destinations.at[i].value);
	}
	vec_done(&p->destinations);
	vec_done(&p->rules);
	vec_done(&p->files);
	free(p);
}

bool policy_is_empty(const struct policy *p)
{
	return p->files.n == 0;
}

unsigned policy_count_rules(const struct policy *p)
{
	return (unsigned)p->rules.n;
}

unsigned policy_count_files(const struct policy *p)
{
	return (unsigned)p->files.n;
}

const char *policy_file(const struct policy *p, unsigned file)
{
	return file < p->files.n ? p->files.at[file] : "";
}

const struct policy_destination_key *policy_destination_key(const struct policy *p, size_t i)
{
	return i < p->destinations.n ? &p->destinations.at[i] : NULL;
}

const char *policy_asks(const struct policy *p, enum policy_fact fact, unsigned nth)
{
	for (size_t i = 0; i < p->rules.n; i++)
		if (p->rules.at[i]->conditions[fact].items.n > 0 && nth-- == 0)
			return p->rules.at[i]->name;
	return NULL;
}

const char *policy_unreachable(const struct policy *p)
{
	struct policy_facts nothing = {0};
	unsigned unknown = 0;
	for (size_t i = 0; i + 1 < p->rules.n; i++)
		if (policy_section_fits(p->rules.at[i], &nothing, &unknown) == POLICY_FITS)
			return p->rules.at[i + 1]->name;
	return NULL;
}
