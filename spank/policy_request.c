/* policy_request.c - the site's decision and the user's wishes. In: both.  Out: the request as it will be, with a line
 * that says why. Opting out may come from the user; everything else is the site's, as far as `override` says. */
#include "spank/policy_request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
	char *at;
	size_t cap, used;
};

static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *fmt, ...)
{
	va_list ap;
	if (t->used >= t->cap)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(t->at + t->used, t->cap - t->used, fmt, ap);
	va_end(ap);
	t->used += n > 0 ? (size_t)n : 0;
}

static bool is_built_in(const struct policy_decision *d, enum policy_setting key)
{
	char where[512];
	return strcmp(policy_where(d, key, where), "built in") == 0;
}

/* The level, and what is to be said of how it came about. */
static enum policy_level choose_level(const struct policy_decision *d, bool default_on, const struct policy_wish *wish,
				      const struct request *r, const char **ret_note)
{
	uint64_t override = policy_number(d, POLICY_OVERRIDE), max = policy_number(d, POLICY_MAX_LEVEL);
	enum policy_level level = policy_level(d);
	bool wants_out = wish->asked ? !r->on : wish->opted_out;
	*ret_note = "";
	if (default_on && is_built_in(d, POLICY_LEVEL))
		level = POLICY_LEVEL_EVENTS;
	if (wants_out && override == POLICY_OVERRIDE_NONE) {
		*ret_note = "; the user may not opt out";
	} else if (wants_out) {
		*ret_note = "; the user opted out";
		return POLICY_LEVEL_OFF;
	} else if (wish->asked && override != POLICY_OVERRIDE_ALL) {
		*ret_note = "; what the user asks for does not count";
	} else if (wish->asked) {
		*ret_note = "; asked by the user";
		level = r->profile ? POLICY_LEVEL_PROFILE : POLICY_LEVEL_EVENTS;
	}
	if ((uint64_t)level > max) {
		*ret_note = wish->asked ? "; asked by the user, lowered to max_level" : "; lowered to max_level";
		level = (enum policy_level)max;
	}
	return level;
}

/* May the user's value of this kind stand? */
static bool is_users(const struct policy_decision *d, const struct request *r, unsigned given)
{
	return (r->given & given) != 0 && policy_number(d, POLICY_OVERRIDE) == POLICY_OVERRIDE_ALL;
}

static void choose_budget(const struct policy_decision *d, struct request *r, struct text *why)
{
	char where[512];
	uint64_t cap = policy_number(d, POLICY_MAX_BUDGET);
	bool users = is_users(d, r, REQUEST_GAVE_BUDGET);
	uint64_t budget = users ? r->budget_bytes : policy_number(d, POLICY_BUDGET);
	if (!users && (d->doubted >> POLICY_BUDGET & 1) != 0) { /* it may be more than the plugin's share */
		cap = cap == 0 || budget < cap ? budget : cap;
		budget = 0;
	}
	if (cap != 0 && budget > cap) {
		if (users)
			say(why, "; budget=%" PRIu64 " lowered to max_budget=%" PRIu64 " (%s)", budget, cap,
			    policy_where(d, POLICY_MAX_BUDGET, where));
		budget = cap;
	}
	r->budget_bytes = budget; /* 0: the plugin's share, up to the cap */
	r->site.max_budget_bytes = cap;
}

static void choose_stack(const struct policy_decision *d, struct request *r, struct text *why)
{
	char where[512];
	uint64_t cap = policy_number(d, POLICY_MAX_STACK);
	bool users = is_users(d, r, REQUEST_GAVE_STACK);
	uint64_t stack = users ? r->stack : policy_number(d, POLICY_STACK);
	if (stack > cap && users)
		say(why, "; stack=%" PRIu64 " lowered to max_stack=%" PRIu64 " (%s)", stack, cap,
		    policy_where(d, POLICY_MAX_STACK, where));
	r->stack = (unsigned)(stack > cap ? cap : stack);
}

/* The agent's own gap unless somebody says one. */
static void choose_sample(const struct policy_decision *d, struct request *r)
{
	uint64_t seconds = policy_number(d, POLICY_SAMPLE_SECONDS);
	if (is_users(d, r, REQUEST_GAVE_SAMPLE))
		return;
	r->sample[0] = '\0';
	if (!is_built_in(d, POLICY_SAMPLE_SECONDS))
		snprintf(r->sample, sizeof(r->sample), "%u",
			 seconds < REQUEST_SAMPLE_MAX ? (unsigned)seconds : REQUEST_SAMPLE_MAX);
}

static void choose_site(const struct policy_decision *d, struct request *r)
{
	int mask = policy_umask(d);
	r->site.redact = (unsigned)policy_number(d, POLICY_REDACT);
	r->site.modules = policy_number(d, POLICY_RECORD_MODULES) != 0;
	r->site.alert_s = (unsigned)policy_number(d, POLICY_ALERT_SECONDS);
	r->site.umask = mask >= 0 ? REQUEST_UMASK_GIVEN | (unsigned)mask : 0;
	if (!is_built_in(d, POLICY_PAGE_BYTES))
		snprintf(r->site.page, sizeof(r->site.page), "%llu",
			 (unsigned long long)policy_number(d, POLICY_PAGE_BYTES));
	if (!is_built_in(d, POLICY_FINISH))
		policy_choice(d, POLICY_FINISH, r->site.finish);
	r->site.finish_processes = (unsigned)policy_number(d, POLICY_FINISH_PROCESSES);
	if (!is_users(d, r, REQUEST_GAVE_REPORT) && !is_built_in(d, POLICY_REPORT))
		r->report = (enum request_report)policy_number(d, POLICY_REPORT);
}

bool policy_combine(const struct policy_decision *d, bool default_on, const struct policy_wish *wish, struct request *r)
{
	char reason[POLICY_WHY_MAX];
	const char *note;
	static const char *const names[] = {"off", "profile", "events"};
	struct text why = {.at = r->site.why, .cap = sizeof(r->site.why)};
	r->site.why[0] = '\0';
	enum policy_level level = choose_level(d, default_on, wish, r, &note);
	say(&why, "%s: %s%s", names[level], policy_why(d, reason), note);
	r->on = level != POLICY_LEVEL_OFF;
	r->profile = level == POLICY_LEVEL_PROFILE;
	choose_budget(d, r, &why);
	choose_stack(d, r, &why);
	choose_sample(d, r);
	choose_site(d, r);
	return r->on;
}
