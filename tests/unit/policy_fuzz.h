/* policy_fuzz.h - bytes as a policy: parsed, asked, expanded; aborts when a promise is broken. Shared by the unit test,
 * which damages a good one, and by the fuzz target. */
#pragma once

#include "spank/policy/policy.h"

#include <stdlib.h>
#include <string.h>

static inline bool policy_fuzz_each(void *context, const struct policy_decision *d)
{
	char why[POLICY_WHY_MAX], pattern[POLICY_OUTPUT_MAX + 32], path[4096], where[512];
	const struct policy_facts *f = context;
	if (strlen(policy_why(d, why)) == 0 || policy_level(d) > POLICY_LEVEL_EVENTS ||
	    policy_number(d, POLICY_STACK) > POLICY_STACK_MAX || policy_number(d, POLICY_SAMPLE) > 1000000)
		abort();
	for (int i = 0; i < POLICY_SETTINGS; i++)
		if (policy_where(d, (enum policy_setting)i, where)[0] == '\0')
			abort();
	if (policy_output(d, pattern)[0] != '\0' && policy_expand(pattern, f, path, sizeof(path), NULL) == 0 &&
	    (strstr(path, "/../") != NULL || strlen(path) == 0))
		abort();
	return true;
}

static inline void policy_fuzz_one(const uint8_t *data, size_t len_bytes)
{
	struct policy_errors errors = {.count = 0};
	struct policy_facts f = {0};
	struct policy *p = NULL;
	int rc = policy_parse("fuzz", (const char *)data, len_bytes, &p, &errors);
	if ((rc == 0) != (p != NULL) || (rc == 0) != (errors.count == 0) || (rc < 0 && errors.first.text[0] == '\0'))
		abort();
	if (rc < 0)
		return;
	for (int i = 0; i < POLICY_FACTS; i += 2) {
		policy_facts_set(&f, (enum policy_fact)i, "../7");
		policy_consider(p, &f, policy_fuzz_each, &f);
	}
	struct policy_decision d = policy_decide(p, &f);
	policy_fuzz_each(&f, &d);
	policy_facts_done(&f);
	policy_free(p);
}
