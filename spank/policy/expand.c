/* expand.c - patterns of output directories, after the ones of sbatch(1). In: a pattern and facts.  Out: a path. What a
 * user chose (the job's name) is one component and no way out of the directory. */
#include "spank/policy/rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	char letter;
	enum policy_fact fact, instead; /* which counts when the first is not known */
	const char *otherwise;		/* when neither is; NULL: an error */
} tokens[] = {
	{'u', FACT_USER, FACT_UID, NULL},
	{'U', FACT_UID, FACT_UID, NULL},
	{'j', FACT_JOB, FACT_JOB, NULL},
	{'r', FACT_RESTART, FACT_RESTART, "0"},
	{'A', FACT_ARRAY, FACT_JOB, NULL},
	{'a', FACT_ARRAY_TASK, FACT_ARRAY_TASK, "0"},
	{'s', FACT_STEP, FACT_STEP, NULL},
	{'x', FACT_JOB_NAME, FACT_JOB, NULL},
	{'p', FACT_PARTITION, FACT_PARTITION, "unknown"},
	{'c', FACT_ACCOUNT, FACT_ACCOUNT, "none"},
};

#define TOKENS \
	"%u user, %U uid, %j job, %r restart, %A array, %a index, %s step, %x job name, %p partition, %c account, %%"

static int find(char letter)
{
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
		if (tokens[i].letter == letter)
			return (int)i;
	return -1;
}

/* ".." as a component. */
static bool climbs(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
			return true;
	return false;
}

int policy_pattern_check(const char *pattern, struct error *e)
{
	bool names_job = false;
	if (strlen(pattern) > POLICY_OUTPUT_MAX)
		return fail(e, -EINVAL, "is longer than %u bytes", POLICY_OUTPUT_MAX);
	if (climbs(pattern))
		return fail(e, -EINVAL, "must not contain \"..\"");
	for (const char *at = pattern; (at = strchr(at, '%')) != NULL; at += 2) {
		if (at[1] == 'n' || at[1] == 'N' || at[1] == 't')
			return fail(e, -EINVAL, "%%%c differs between the nodes of a step, which share one directory",
				    at[1]);
		if (at[1] != '%' && find(at[1]) < 0)
			return fail(e, -EINVAL, "unknown %%%c; known: %s", at[1] != '\0' ? at[1] : ' ', TOKENS);
		names_job |= at[1] == 'j' || at[1] == 'A';
	}
	return names_job ? 0 : fail(e, -EINVAL, "needs %%j, or %%A and %%a: otherwise jobs would share one directory");
}

struct path {
	char *text;
	size_t used, cap;
};

static void put(struct path *p, char c)
{
	if (p->used + 1 < p->cap)
		p->text[p->used] = c;
	p->used++;
}

/* One component: no slash, and not hidden or a way up. */
static void put_component(struct path *p, const char *value)
{
	for (const char *c = value; *c != '\0'; c++)
		put(p, *c == '/' || (*c == '.' && c == value) ? '_' : *c);
}

static int put_token(struct path *p, char letter, const struct policy_facts *f, struct error *e)
{
	int i = find(letter);
	const char *value = letter == '%' ? "%" : NULL;
	if (i >= 0) {
		value = f->values[tokens[i].fact];
		value = value != NULL ? value : f->values[tokens[i].instead];
		value = value != NULL ? value : tokens[i].otherwise;
	}
	if (letter == 's' && value == NULL) {
		put(p, POLICY_STEP_MARK);
		return 0;
	}
	if (value == NULL || *value == '\0')
		return fail(e, -ENOENT, "%%%c of the output directory is not known", letter);
	put_component(p, value);
	return 0;
}

/* Is %letter in it? "%%s" is none. */
static bool names(const char *pattern, char letter)
{
	for (const char *at = pattern; (at = strchr(at, '%')) != NULL && at[1] != '\0'; at += 2)
		if (at[1] == letter)
			return true;
	return false;
}

/* A requeued job has results of its own: what names the job then names the run, unless the pattern has a place
 * for it. */
static void put_restart(struct path *p, const char *pattern, char letter, const struct policy_facts *f)
{
	const char *restart = f->values[FACT_RESTART];
	char run = names(pattern, 'j') ? 'j' : names(pattern, 'a') ? 'a' : 'A';
	if (letter != run || names(pattern, 'r') || restart == NULL || strcmp(restart, "0") == 0)
		return;
	put(p, '.');
	put_component(p, restart);
}

int policy_expand(const char *pattern, const struct policy_facts *f, char *ret_path, size_t cap_bytes, struct error *e)
{
	struct path p = {.text = ret_path, .cap = cap_bytes};
	bool names_step = names(pattern, 's');
	int rc = 0;
	for (const char *at = pattern; rc == 0 && *at != '\0'; at++) {
		if (*at != '%') {
			put(&p, *at);
			continue;
		}
		rc = put_token(&p, *++at, f, e);
		put_restart(&p, pattern, *at, f);
	}
	for (const char *at = names_step ? "" : "/step-"; *at != '\0'; at++)
		put(&p, *at);
	if (rc == 0 && !names_step)
		rc = put_token(&p, 's', f, e);
	if (rc < 0)
		return rc;
	if (p.used >= cap_bytes)
		return fail(e, -ENAMETOOLONG, "the output directory is longer than %zu bytes", cap_bytes - 1);
	ret_path[p.used] = '\0';
	return 0;
}

const char *policy_output(const struct policy_decision *d, char ret_pattern[POLICY_OUTPUT_MAX + 32])
{
	const char *directory = policy_text(d, POLICY_DIRECTORY);
	ret_pattern[0] = '\0';
	if (policy_text(d, POLICY_OUTPUT)[0] != '\0')
		snprintf(ret_pattern, POLICY_OUTPUT_MAX + 32, "%s", policy_text(d, POLICY_OUTPUT));
	else if (directory[0] != '\0')
		snprintf(ret_pattern, POLICY_OUTPUT_MAX + 32, "%s/%%u/mpitrace-%%j", directory);
	return ret_pattern;
}
