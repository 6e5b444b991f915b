/* doctor_policy.c - the site's policy: is it in order, and what would a job get? In: mpitrace.conf and conf.d/, facts
 * from the command line.  Out: a verdict; or the decision, each value with the line that made it. */
#include "base/json_quote.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/print.h"
#include "spank/policy/names.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct list {
	char *at;
	size_t cap, used;
};

static void append(void *context, const char *text)
{
	struct list *l = context;
	if (l->used < l->cap)
		l->used += (size_t)snprintf(l->at + l->used, l->cap - l->used, "%s%s", l->used > 0 ? "; " : "", text);
}

/* "rule \"a\", rule \"b\" ask". */
static const char *who_asks(const struct policy *p, enum policy_fact fact, char *ret_text, size_t cap_bytes)
{
	const char *name;
	size_t used = 0;
	unsigned n = 0;
	for (; (name = policy_asks(p, fact, n)) != NULL; n++)
		if (used < cap_bytes)
			used += (size_t)snprintf(ret_text + used, cap_bytes - used, "%srule \"%s\"", n > 0 ? ", " : "",
						 name);
	if (used < cap_bytes)
		snprintf(ret_text + used, cap_bytes - used, n > 1 ? " ask" : " asks");
	return ret_text;
}

static void describe_policy(struct verdict *v, const struct policy *p, const char *file)
{
	const char *unreachable = policy_unreachable(p);
	if (policy_is_empty(p))
		verdict_say(v, VERDICT_OK, NULL, "%s does not exist: users decide, within built-in limits", file);
	else if (unreachable != NULL)
		verdict_say(v, VERDICT_WARN,
			    "the first rule that matches decides: move this one up, or give the one before conditions",
			    "%s: rule \"%s\" is never reached", file, unreachable);
	else if (policy_asks(p, FACT_QOS, 0) != NULL)
		verdict_say(v, VERDICT_WARN, "use partition or account, or see docs/POLICY.md",
			    "%s: %s for qos, which Slurm 22.05 does not pass to its prolog: there, such a rule "
			    "restricts every job and grants nothing",
			    file, who_asks(p, FACT_QOS, (char[512]){""}, 512));
	else
		verdict_say(v, VERDICT_OK, NULL, "%s: %s, %s", file,
			    fmt_plain(fmt_many(policy_count_files(p), "file")).s,
			    fmt_plain(fmt_many(policy_count_rules(p), "rule")).s);
}

void check_policy(struct verdict *v)
{
	struct plugstack stack;
	char texts[900] = "";
	struct list list = {texts, sizeof(texts), 0};
	struct policy_errors errors = {.say = append, .context = &list};
	struct policy *p = NULL;
	plugstack_read(&stack);
	const char *file = policy_path(stack.config.policy);
	int rc = policy_load(stack.config.policy, 0, &p, &errors);
	if (rc == -EACCES && geteuid() != 0)
		verdict_say(v, VERDICT_OK, NULL, "%s is not readable by users: run mpitrace doctor as root to check it",
			    file);
	else if (rc < 0)
		verdict_say(v, VERDICT_BAD, "correct it: until then no job on this host is traced", "%s", texts);
	else
		describe_policy(v, p, file);
	policy_free(p);
}

/* ---- what a job would get ---- */

static void print_error(void *context, const char *text)
{
	(void)context;
	fprintf(stderr, "mpitrace doctor: %s\n", text);
}

static void resolve_groups(struct policy_facts *f, const struct passwd *user)
{
	int n = 0;
	getgrouplist(user->pw_name, user->pw_gid, NULL, &n);
	gid_t *gids = calloc((size_t)n + 1, sizeof(*gids));
	if (gids != NULL && getgrouplist(user->pw_name, user->pw_gid, gids, &n) > 0)
		names_groups(f, gids[0], gids + 1, (size_t)n - 1);
	free(gids);
}

/* Of a user whom this host knows, what the command line does not say. */
static void resolve_user(struct policy_facts *f)
{
	const struct passwd *user = f->values[FACT_USER] != NULL ? getpwnam(f->values[FACT_USER]) : NULL;
	if (user == NULL)
		return;
	if (f->values[FACT_UID] == NULL)
		policy_facts_set_number(f, FACT_UID, user->pw_uid);
	if (f->values[FACT_GROUP] == NULL)
		resolve_groups(f, user);
}

static void print_text(const struct policy_decision *d, const char *level)
{
	char why[POLICY_WHY_MAX], where[512];
	printf("a job that does not ask gets: %s\nbecause of: ", level);
	put_plain(stdout, policy_why(d, why), sizeof(why));
	puts("\n");
	for (int i = 0; i < POLICY_SETTINGS; i++) {
		const char *value = policy_text(d, (enum policy_setting)i);
		printf("%-16s ", policy_settings[i].name);
		put_plain(stdout, value[0] != '\0' ? value : "-", 64);
		fputs("  (", stdout);
		put_plain(stdout, policy_where(d, (enum policy_setting)i, where), sizeof(where));
		puts(")");
	}
}

static void print_json(const struct policy_decision *d, const char *level)
{
	char why[POLICY_WHY_MAX], where[512];
	printf("{\"schema\":\"mpitrace/policy/1\",\"level\":\"%s\",\"why\":", level);
	json_quote_to(stdout, policy_why(d, why));
	fputs(",\"settings\":[", stdout);
	for (int i = 0; i < POLICY_SETTINGS; i++) {
		printf("%s\n{\"setting\":\"%s\",\"value\":", i > 0 ? "," : "", policy_settings[i].name);
		json_quote_to(stdout, policy_text(d, (enum policy_setting)i));
		fputs(",\"where\":", stdout);
		json_quote_to(stdout, policy_where(d, (enum policy_setting)i, where));
		putchar('}');
	}
	puts("]}");
}

static void print_place(const struct policy_decision *d, const struct policy_facts *f)
{
	char pattern[POLICY_OUTPUT_MAX + 32], path[PATH_MAX];
	struct error e = {""};
	if (policy_output(d, pattern)[0] == '\0')
		return;
	printf("\nresults go to     ");
	if (policy_expand(pattern, f, path, sizeof(path), &e) < 0) {
		printf("(%s)\n", e.text);
		return;
	}
	for (char *mark = path; (mark = strchr(mark, POLICY_STEP_MARK)) != NULL;)
		*mark = '*'; /* any step */
	put_plain(stdout, path, sizeof(path));
	putchar('\n');
}

int doctor_policy(const char *file, char *const *facts, int nfacts, bool json)
{
	static const char *const levels[] = {"off", "profile", "events"};
	struct policy_errors errors = {.say = print_error};
	struct plugstack stack;
	struct policy_facts f = {0};
	struct policy *p = NULL;
	struct error e = {""};
	plugstack_read(&stack);
	for (int i = 0; i < nfacts; i++) {
		if (policy_facts_take(&f, facts[i], &e) == 0)
			continue;
		policy_facts_done(&f);
		return usage_error("doctor", "%s", e.text);
	}
	resolve_user(&f);
	int rc = policy_load(file != NULL ? file : stack.config.policy, file != NULL ? getuid() : 0, &p, &errors);
	if (rc == 0) {
		struct policy_decision d = policy_decide(p, &f);
		if (json)
			print_json(&d, levels[policy_level(&d)]);
		else
			print_text(&d, levels[policy_level(&d)]);
		if (!json)
			print_place(&d, &f);
	} else {
		fprintf(stderr, "mpitrace doctor: %s: every job would have level off\n",
			fmt_plain(fmt_many(errors.count, "error")).s);
	}
	policy_free(p);
	policy_facts_done(&f);
	return rc == 0 ? EXIT_DONE : EXIT_ISSUES;
}
