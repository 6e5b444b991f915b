/* decide.c - which rule applies to a job, and what follows. In: a policy and facts.  Out: a decision, and words
 * for it. */
#include "spank/policy/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Output function of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014):
 * neighbouring job numbers give unrelated results, and every node the same. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

bool policy_sampled(uint64_t job, uint64_t share_ppm)
{
	return mix(job) % 1000000 < share_ppm;
}

_Static_assert(POLICY_SETTINGS <= 32, "a bit each");

static const struct policy_value *value_of(const struct policy *p, const struct policy_section *rule, int key)
{
	if (rule != NULL && rule->values[key].set)
		return &rule->values[key];
	return p->defaults.values[key].set ? &p->defaults.values[key] : &p->builtin.values[key];
}

/* A job whose number is not known is in no sample. Components of a heterogeneous job are in it together. */
static bool passed_over(const struct policy_decision *d, const struct policy_facts *f)
{
	uint64_t job = 0, share = policy_number(d, POLICY_SAMPLE);
	const char *number = f->values[FACT_HET_JOB] != NULL ? f->values[FACT_HET_JOB] : f->values[FACT_JOB];
	bool known = number != NULL && policy_parse_number(number, &job);
	return share < 1000000 && (!known || !policy_sampled(job, share));
}

static struct policy_decision decision_of(const struct policy *p, size_t number, const struct policy_facts *f,
					  unsigned unknown)
{
	const struct policy_section *rule = number < p->rules.n ? p->rules.at[number] : NULL;
	struct policy_decision d = {.policy = p, .rule_number = (unsigned)number, .unknown = unknown};
	d.rule = rule != NULL ? rule->name : NULL;
	for (int i = 0; i < POLICY_SETTINGS; i++)
		d.values[i] = value_of(p, rule, i);
	d.sampled_out = passed_over(&d, f);
	return d;
}

/* ---- in doubt ---- */

/* By the bits of enum policy_redact, of which the first stands for 2. */
static const struct policy_value unions[] = {
	{true, 0, "none", 0, 0},	  {true, 2, "arguments", 0, 0},
	{true, 4, "paths", 0, 0},	  {true, 6, "arguments, paths", 0, 0},
	{true, 8, "hosts", 0, 0},	  {true, 10, "arguments, hosts", 0, 0},
	{true, 12, "paths, hosts", 0, 0}, {true, 14, "arguments, paths, hosts", 0, 0},
};
static const struct policy_value owner_only = {true, 1, "0600", 0, 0}, nobody = {false, 0, NULL, 0, 0};

static bool same(enum policy_setting key, const struct policy_value *a, const struct policy_value *b)
{
	if (policy_settings[key].kind != POLICY_KIND_GROUP)
		return a->number == b->number;
	return strcmp(a->text != NULL ? a->text : "", b->text != NULL ? b->text : "") == 0;
}

/* Of two that may count, what takes away more. */
static const struct policy_value *closer(enum policy_setting key, const struct policy_value *a,
					 const struct policy_value *b)
{
	switch (policy_settings[key].doubt) {
	case POLICY_DOUBT_LEAST:
		return b->number < a->number ? b : a;
	case POLICY_DOUBT_BOUND:
		return a->number == 0 || (b->number != 0 && b->number < a->number) ? b : a;
	case POLICY_DOUBT_UNION:
		return &unions[(a->number | b->number) / 2 % 8];
	case POLICY_DOUBT_OWNER:
		return &owner_only;
	case POLICY_DOUBT_NOBODY:
		return &nobody;
	default:
		return a;
	}
}

static void drop_uncertain(struct policy_decision *d, const struct policy_section *rule)
{
	for (int i = 0; i < POLICY_SETTINGS; i++) {
		const struct policy_value *before = d->values[i], *other = value_of(d->policy, rule, i);
		if (policy_settings[i].doubt == POLICY_DOUBT_CERTAIN || same((enum policy_setting)i, before, other))
			continue;
		d->values[i] = closer((enum policy_setting)i, before, other);
		d->doubted |= 1u << i;
		if (d->taker == NULL && !same((enum policy_setting)i, before, d->values[i]))
			d->taker = rule;
	}
}

/* ---- decisions ---- */

struct policy_decision policy_guess(const struct policy *p, const struct policy_facts *f)
{
	unsigned unknown = 0;
	size_t i = 0;
	while (i < p->rules.n && policy_section_fits(p->rules.at[i], f, &unknown) != POLICY_FITS)
		i++;
	return decision_of(p, i, f, unknown);
}

struct policy_decision policy_decide(const struct policy *p, const struct policy_facts *f)
{
	unsigned unknown = 0;
	struct policy_decision d = policy_guess(p, f);
	for (size_t i = 0; d.unknown != 0 && i < d.rule_number; i++)
		if (policy_section_fits(p->rules.at[i], f, &unknown) == POLICY_FITS_MAYBE)
			drop_uncertain(&d, p->rules.at[i]);
	d.sampled_out = passed_over(&d, f);
	return d;
}

void policy_consider(const struct policy *p, const struct policy_facts *f,
		     bool (*each)(void *context, const struct policy_decision *d), void *context)
{
	unsigned unknown = 0;
	for (size_t i = 0; i <= p->rules.n; i++) {
		enum policy_fit fit = i < p->rules.n ? policy_section_fits(p->rules.at[i], f, &unknown) : POLICY_FITS;
		struct policy_decision d = decision_of(p, i, f, unknown);
		if (fit != POLICY_FITS_NOT && (!each(context, &d) || fit == POLICY_FITS))
			return;
	}
}

uint64_t policy_number(const struct policy_decision *d, enum policy_setting key)
{
	return d->values[key]->number;
}

const char *policy_text(const struct policy_decision *d, enum policy_setting key)
{
	return d->values[key]->text != NULL ? d->values[key]->text : "";
}

const char *policy_choice(const struct policy_decision *d, enum policy_setting key, char ret_name[16])
{
	const char *at = policy_settings[key].limits;
	for (uint64_t i = policy_number(d, key); i > 0; i--)
		at += strcspn(at, "|") + 1;
	snprintf(ret_name, 16, "%.*s", (int)strcspn(at, "|"), at);
	return ret_name;
}

const char *policy_where(const struct policy_decision *d, enum policy_setting key, char ret_text[512])
{
	const struct policy_value *v = d->values[key];
	if (v->line == 0)
		return (d->doubted >> key & 1) != 0 ? "in doubt: a rule that restricts the job may match" : "built in";
	snprintf(ret_text, 512, "%.480s:%u", d->policy->files.at[v->file], v->line);
	return ret_text;
}

static void put_unknown(const struct policy_decision *d, char *text, size_t used)
{
	const char *before = "; not known here: ";
	for (int i = 0; i < POLICY_FACTS && used < POLICY_WHY_MAX; i++) {
		if ((d->unknown >> i & 1) == 0)
			continue;
		used += (size_t)snprintf(text + used, POLICY_WHY_MAX - used, "%s%s", before, policy_facts[i].name);
		before = ", ";
	}
	if (d->taker != NULL && used < POLICY_WHY_MAX)
		snprintf(text + used, POLICY_WHY_MAX - used, ": so rule \"%s\" (%.240s:%u) counts where it takes away",
			 d->taker->name, d->policy->files.at[d->taker->file], d->taker->line);
}

const char *policy_why(const struct policy_decision *d, char ret_text[POLICY_WHY_MAX])
{
	const struct policy *p = d->policy;
	size_t used;
	if (d->rule != NULL) {
		const struct policy_section *s = p->rules.at[d->rule_number];
		used = (size_t)snprintf(ret_text, POLICY_WHY_MAX, "rule \"%s\" (%.480s:%u)", d->rule,
					p->files.at[s->file], s->line);
	} else {
		used = (size_t)snprintf(ret_text, POLICY_WHY_MAX, "%s",
					p->rules.n > 0 ? "no rule matches, [defaults]" : "[defaults]");
	}
	if (policy_number(d, POLICY_SAMPLE) < 1000000)
		used += (size_t)snprintf(ret_text + used, POLICY_WHY_MAX - used, "; sample %s: %s",
					 policy_text(d, POLICY_SAMPLE), d->sampled_out ? "not this job" : "this job");
	put_unknown(d, ret_text, used);
	return ret_text;
}

enum policy_level policy_level(const struct policy_decision *d)
{
	return d->sampled_out ? POLICY_LEVEL_OFF : (enum policy_level)policy_number(d, POLICY_LEVEL);
}

int policy_umask(const struct policy_decision *d)
{
	static const int masks[] = {-1, 0077, 0027, 0022};
	return masks[policy_number(d, POLICY_FILE_MODE) & 3];
}
