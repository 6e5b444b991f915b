/* policy.c - see policy.h. In: Slurm's items, and in the prolog slurmd's environment, both from the credential; what
 * only the user says (the job's name, MPITRACE=off) is asked for last and permits nothing.  Out: <spool>/jobs/<job>,
 * the request as the site wants it. */
#include "spank/policy.h"
#include "spank/policy/names.h"
#include "spank/policy_directory.h"
#include "spank/warden/central.h"
#include "spank/warden/quota.h"
#include "spank/warden/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS "jobs"
#define CENTRAL_LEAST_BYTES (1u << 20) /* less is no use to a step on a node */

/* ---- the file of a job ---- */

static int open_jobs(const struct config *c, bool make)
{
	return spool_open(c->spool, JOBS, make, NULL);
}

static void job_name(uint32_t job_id, char ret_name[16])
{
	snprintf(ret_name, 16, "%u", job_id);
}

/* ---- the policy ---- */

static void say_complaint(void *context, const char *text)
{
	(void)context;
	sl_error("policy: %s", text);
}

static void say_verbose(void *context, const char *text)
{
	(void)context;
	sl_verbose("policy: %s", text);
}

/* ---- facts ---- */

/* In the prolog the environment is slurmd's own, and says what the credential does. */
static void take_prolog(struct policy_facts *f, spank_t sp)
{
	static const struct {
		const char *name;
		enum policy_fact fact;
	} variables[] = {{"SLURM_JOB_USER", FACT_USER},		  {"SLURM_JOB_ACCOUNT", FACT_ACCOUNT},
			 {"SLURM_JOB_PARTITION", FACT_PARTITION}, {"SLURM_JOB_QOS", FACT_QOS},
			 {"SLURM_JOB_NUM_NODES", FACT_NODES},	  {"SLURM_JOB_NTASKS", FACT_TASKS},
			 {"SLURM_JOB_NAME", FACT_JOB_NAME},	  {"SLURM_JOB_RESTART_COUNT", FACT_RESTART},
			 {"SLURM_HET_JOB_ID", FACT_HET_JOB},	  {"SLURM_ARRAY_JOB_ID", FACT_ARRAY},
			 {"SLURM_ARRAY_TASK_ID", FACT_ARRAY_TASK}};
	uint32_t number;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		policy_facts_set(f, variables[i].fact, getenv(variables[i].name));
	if (f->values[FACT_ACCOUNT] == NULL && f->values[FACT_PARTITION] != NULL)
		policy_facts_set(f, FACT_ACCOUNT, ""); /* a job without one */
	if (sl_number(sp, S_JOB_ID, &number))
		policy_facts_set_number(f, FACT_JOB, number);
	if (sl_number(sp, S_JOB_UID, &number))
		policy_facts_set_number(f, FACT_UID, number);
}

static void take_user(struct policy_facts *f, uid_t uid)
{
	policy_facts_set_number(f, FACT_UID, uid);
	if (f->values[FACT_USER] == NULL)
		names_user(f, uid);
}

static void take_group_items(struct policy_facts *f, spank_t sp)
{
	gid_t *more = NULL;
	uint32_t gid;
	int n = sl_gids(sp, &more);
	if (n >= 0 && sl_number(sp, S_JOB_GID, &gid))
		names_groups(f, gid, more, (size_t)n);
}

static void take_callers_groups(struct policy_facts *f)
{
	int n = getgroups(0, NULL);
	gid_t *more = n >= 0 ? calloc((size_t)n + 1, sizeof(*more)) : NULL;
	if (more != NULL && getgroups(n, more) == n)
		names_groups(f, getgid(), more, (size_t)n);
	free(more);
}

/* What the user says of the job, where the credential does not. */
static void take_names(struct policy_facts *f, spank_t sp)
{
	char **argv = NULL;
	if (f->values[FACT_JOB_NAME] == NULL)
		policy_facts_set(f, FACT_JOB_NAME, sl_env(sp, "SLURM_JOB_NAME"));
	policy_facts_set(f, FACT_PROGRAM, sl_argv(sp, &argv) > 0 ? argv[0] : NULL);
}

static void take_array(struct policy_facts *f, spank_t sp)
{
	uint32_t array, task;
	if (f->values[FACT_ARRAY] != NULL || !sl_number(sp, S_JOB_ARRAY_ID, &array) || array == 0 ||
	    !sl_number(sp, S_JOB_ARRAY_TASK_ID, &task) || task >= 0xfffffffeu) /* NO_VAL: no array */
		return;
	policy_facts_set_number(f, FACT_ARRAY, array);
	policy_facts_set_number(f, FACT_ARRAY_TASK, task);
}

/* What the prolog left; it must be of this user. False: nothing. */
static bool read_job(struct policy_facts *f, const struct config *c, uint32_t job_id, uint32_t uid)
{
	char name[16], number[16];
	int jobs_fd = open_jobs(c, false);
	job_name(job_id, name);
	snprintf(number, sizeof(number), "%u", uid);
	int rc = jobs_fd < 0 ? jobs_fd : policy_facts_read(f, jobs_fd, name);
	if (jobs_fd >= 0)
		close(jobs_fd);
	if (rc == 0 && f->values[FACT_UID] != NULL && strcmp(f->values[FACT_UID], number) == 0)
		return true;
	policy_facts_done(f);
	return false;
}

/* All that is known of the step. False: the prolog left nothing. */
static bool know_step(struct policy_facts *f, spank_t sp, const struct config *c, const struct policy *p)
{
	uint32_t job_id = 0, uid = UINT32_MAX;
	sl_number(sp, S_JOB_ID, &job_id);
	sl_number(sp, S_JOB_UID, &uid);
	bool known = read_job(f, c, job_id, uid);
	policy_facts_set_number(f, FACT_JOB, job_id);
	take_user(f, uid);
	if (policy_asks(p, FACT_GROUP, 0) != NULL)
		take_group_items(f, sp);
	take_names(f, sp);
	take_array(f, sp);
	return known;
}

/* ---- the prolog and the epilog ---- */

static int admit(const struct policy_facts *f, int jobs_fd)
{
	const char *uid = f->values[FACT_UID];
	return quota_admit(QUOTA_JOBS, jobs_fd, uid != NULL ? (uid_t)strtoul(uid, NULL, 10) : (uid_t)-1,
			   POLICY_FACT_MAX, NULL);
}

void policy_job_begin(spank_t sp, const struct config *c)
{
	struct policy_errors errors = {.say = say_complaint};
	struct policy_facts f = {0};
	struct policy *p = NULL;
	char name[16];
	uint32_t job_id;
	bool wanted = policy_load(c->policy, 0, &p, &errors) < 0 || !policy_is_empty(p);
	policy_free(p);
	if (errors.count > 0)
		sl_error("policy: %u error%s: no job is traced on this node until corrected", errors.count,
			 errors.count == 1 ? "" : "s");
	if (!wanted || !sl_number(sp, S_JOB_ID, &job_id))
		return;
	take_prolog(&f, sp);
	job_name(job_id, name);
	int jobs_fd = open_jobs(c, true);
	int rc = jobs_fd < 0 ? jobs_fd : admit(&f, jobs_fd);
	if (rc == 0)
		rc = policy_facts_write(&f, jobs_fd, name);
	if (rc < 0)
		sl_error("policy: cannot write %s/" JOBS "/%s: %s", c->spool, name, strerror(-rc));
	if (jobs_fd >= 0)
		close(jobs_fd);
	policy_facts_done(&f);
}

void policy_job_end(const struct config *c, uint32_t job_id)
{
	char name[16];
	int jobs_fd = open_jobs(c, false);
	job_name(job_id, name);
	if (jobs_fd < 0)
		return;
	unlinkat(jobs_fd, name, 0);
	close(jobs_fd);
}

/* ---- a step ---- */

static void take_limits(const struct policy_decision *d, struct config *c)
{
	struct {
		uint64_t *to;
		enum policy_setting key;
	} limits[] = {{&c->spool_bytes, POLICY_SPOOL_BYTES},
		      {&c->node_bytes, POLICY_NODE_BYTES},
		      {&c->reserve_bytes, POLICY_RESERVE_BYTES},
		      {&c->trace_bytes, POLICY_TRACE_BYTES},
		      {&c->report_seconds, POLICY_REPORT_SECONDS}};
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (*limits[i].to == 0)
			*limits[i].to = policy_number(d, limits[i].key);
}

/* Who cannot be had reads nothing. */
static void take_readers(const struct policy_decision *d, struct request *r)
{
	const char *name = policy_text(d, POLICY_READERS);
	char *end;
	unsigned long number = strtoul(name, &end, 10);
	gid_t gid;
	if (*name == '\0')
		return;
	int rc = names_group(name, &gid);
	if (rc == 0)
		snprintf(r->site.readers, sizeof(r->site.readers), "%u", gid);
	else if (rc == -ENOENT && *end == '\0' && number < UINT32_MAX)
		snprintf(r->site.readers, sizeof(r->site.readers), "%lu", number);
	else
		sl_error("policy: readers = %.64s: %s; the results stay the user's", name,
			 rc == -ENOENT ? "no such group here" : "the group cannot be looked up here");
}

/* The site's directory, unless the user may and does name one. */
static void take_place(const struct policy_decision *d, const struct policy_facts *f, struct request *r)
{
	char pattern[POLICY_OUTPUT_MAX + 32];
	struct error e;
	bool users = (r->given & REQUEST_GAVE_OUT) != 0 && policy_number(d, POLICY_OVERRIDE) == POLICY_OVERRIDE_ALL;
	if (users || policy_output(d, pattern)[0] == '\0')
		return;
	if (policy_expand(pattern, f, r->site.place, sizeof(r->site.place), &e) == 0)
		return;
	r->site.place[0] = '\0';
	sl_verbose("policy: %s; the results go where the user has them", e.text);
}

static void add_why(struct request *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add_why(struct request *r, const char *fmt, ...)
{
	va_list ap;
	size_t used = strlen(r->site.why);
	va_start(ap, fmt);
	vsnprintf(r->site.why + used, sizeof(r->site.why) - used, fmt, ap);
	va_end(ap);
}

struct room {
	const struct policy_decision *decision;
	uint32_t nodes; /* among whom it is shared */
	struct config *config;
	struct request *request;
};

/* What may still be written of a limit, as far as the last sweep has counted. False: nothing to speak of, and why. */
static bool take_room(const struct room *o, enum policy_setting key, const char *what, uint64_t used)
{
	char where[512];
	uint64_t limit = policy_number(o->decision, key);
	uint64_t left = used < limit ? (limit - used) / o->nodes : 0;
	if (limit == 0)
		return true;
	if (used == CENTRAL_UNKNOWN) {
		snprintf(o->request->site.refusal, sizeof(o->request->site.refusal),
			 "%.300s could not be counted, and this site bounds what it may hold: remove directories that "
			 "are "
			 "closed or very deep there, or ask its administrators; mpitrace sweep counts again",
			 what);
		return false;
	}
	if (left < CENTRAL_LEAST_BYTES) {
		snprintf(o->request->site.refusal, sizeof(o->request->site.refusal),
			 "%.300s holds %.1f of the %.1f MB that this site lets it have; remove results there, or ask "
			 "who runs it",
			 what, (double)used / 1e6, (double)limit / 1e6);
		return false;
	}
	if (o->config->trace_bytes == 0 || o->config->trace_bytes > left) {
		o->config->trace_bytes = left;
		add_why(o->request, "; %.1f MB left for each node (%s)", (double)left / 1e6,
			policy_where(o->decision, key, where));
	}
	return true;
}

static void take_quota(spank_t sp, const struct policy_decision *d, const struct policy_place *p,
		       const struct policy_usage *usage, struct config *c, struct request *r)
{
	char mine[PATH_MAX];
	struct room room = {.decision = d, .config = c, .request = r};
	snprintf(mine, sizeof(mine), "%s/%s", p->directory, p->user);
	if (!sl_number(sp, S_JOB_NNODES, &room.nodes) || room.nodes == 0)
		room.nodes = 1;
	bool counted = usage->user_bytes != CENTRAL_UNKNOWN; /* else nobody knows what it is of the whole */
	if (take_room(&room, POLICY_QUOTA, mine, usage->user_bytes))
		take_room(&room, POLICY_DIRECTORY_BYTES, counted ? p->directory : mine,
			  counted ? usage->all_bytes : CENTRAL_UNKNOWN);
}

/* The results will lie in the user's own part of the central directory: it must be there before the agent, which is the
 * user and cannot make it. */
static void make_directory(spank_t sp, const struct policy_decision *d, const struct policy_facts *f, struct config *c,
			   struct request *r)
{
	struct policy_usage usage;
	const char *directory = policy_text(d, POLICY_DIRECTORY), *user = f->values[FACT_USER];
	size_t len = strlen(directory), n = user != NULL ? strlen(user) : 0;
	uint32_t uid, gid, readers = (uint32_t)-1;
	if (len == 0 || n == 0 || strncmp(r->site.place, directory, len) != 0 || r->site.place[len] != '/' ||
	    strncmp(r->site.place + len + 1, user, n) != 0 || r->site.place[len + 1 + n] != '/' ||
	    !sl_number(sp, S_JOB_UID, &uid) || !sl_number(sp, S_JOB_GID, &gid))
		return;
	if (r->site.readers[0] != '\0')
		readers = (uint32_t)strtoul(r->site.readers, NULL, 10);
	struct policy_place place = {.directory = directory, .user = user, .uid = uid, .gid = gid, .readers = readers};
	place.mask = (r->site.umask & REQUEST_UMASK_GIVEN) != 0 ? r->site.umask & 0777 : 077;
	bool bounded = policy_number(d, POLICY_QUOTA) != 0 || policy_number(d, POLICY_DIRECTORY_BYTES) != 0;
	if (!policy_directory(&place, &usage) && bounded)
		snprintf(r->site.refusal, sizeof(r->site.refusal),
			 "%.300s does not answer, so it is not known whether it has room for results", directory);
	else
		take_quota(sp, d, &place, &usage, c, r);
}

static bool is_opted_out(const char *value)
{
	return value != NULL && strcmp(value, "off") == 0;
}

static bool without_policy(const struct config *c, const struct policy_wish *wish, const struct request *r)
{
	return wish->asked ? r->on : c->default_on && !wish->opted_out;
}

static void note_difference(const struct request *wished, const struct policy_decision *d, bool on,
			    const struct request *r, struct notice *n)
{
	if (!on)
		notice_set(n, NOTICE_POLICY, "%s", r->site.why);
	else if ((wished->given & REQUEST_GAVE_OUT) != 0 && r->site.place[0] != '\0')
		notice_set(n, NOTICE_SITE_PLACE, "they go to %s (override, output and directory of %s)",
			   policy_text(d, POLICY_DIRECTORY)[0] != '\0' ? policy_text(d, POLICY_DIRECTORY)
								       : policy_text(d, POLICY_OUTPUT),
			   r->site.why);
	else if (r->profile && !wished->profile)
		notice_set(n, NOTICE_TOTALS, "%s", r->site.why);
}

static bool decide(spank_t sp, struct config *c, const struct policy *p, const struct policy_wish *wish,
		   struct request *r, struct notice *n)
{
	struct request wished = *r;
	struct policy_facts f = {0};
	bool known = know_step(&f, sp, c, p);
	struct policy_decision d = policy_decide(p, &f);
	bool on = policy_combine(&d, c->default_on, wish, r);
	if (!known && policy_count_rules(p) > 0)
		add_why(r, "; the prolog left no facts of the job");
	take_limits(&d, c);
	take_readers(&d, r);
	take_place(&d, &f, r);
	if (f.values[FACT_ACCOUNT] != NULL)
		snprintf(r->site.account, sizeof(r->site.account), "%s", f.values[FACT_ACCOUNT]);
	if (f.values[FACT_PARTITION] != NULL)
		snprintf(r->site.partition, sizeof(r->site.partition), "%s", f.values[FACT_PARTITION]);
	if (on)
		make_directory(sp, &d, &f, c, r);
	note_difference(&wished, &d, on, r, n);
	policy_facts_done(&f);
	sl_verbose("policy: %s", r->site.why);
	return on;
}

bool policy_apply(spank_t sp, struct config *c, bool asked, struct request *r, struct notice *n)
{
	struct policy_wish wish = {.asked = asked, .opted_out = is_opted_out(sl_env(sp, "MPITRACE"))};
	struct policy_errors errors = {.say = say_verbose};
	struct policy *p = NULL;
	if (policy_load(c->policy, 0, &p, &errors) < 0) {
		sl_error("policy: nothing is traced: %s", errors.first.text);
		notice_set(n, NOTICE_POLICY_BROKEN, "the site's policy is broken: %s", errors.first.text);
		return false;
	}
	bool on = policy_is_empty(p) ? without_policy(c, &wish, r) : decide(sp, c, p, &wish, r, n);
	policy_free(p);
	return on;
}

/* ---- srun, sbatch, salloc ---- */

/* From the environment that srun has, or makes for its tasks. */
static void know_caller(struct policy_facts *f, const struct policy *p)
{
	take_user(f, getuid());
	if (policy_asks(p, FACT_GROUP, 0) != NULL)
		take_callers_groups(f);
	if (getenv("SLURM_JOB_ID") == NULL)
		return;
	policy_facts_set(f, FACT_PARTITION, getenv("SLURM_JOB_PARTITION"));
	policy_facts_set(f, FACT_ACCOUNT, getenv("SLURM_JOB_ACCOUNT"));
	if (f->values[FACT_ACCOUNT] == NULL && f->values[FACT_PARTITION] != NULL)
		policy_facts_set(f, FACT_ACCOUNT, "");
	policy_facts_set(f, FACT_NODES, getenv("SLURM_JOB_NUM_NODES"));
	policy_facts_set(f, FACT_JOB, getenv("SLURM_JOB_ID"));
	policy_facts_set(f, FACT_HET_JOB, getenv("SLURM_HET_JOB_ID"));
	policy_facts_set(f, FACT_RESTART, getenv("SLURM_RESTART_COUNT"));
	policy_facts_set(f, FACT_ARRAY, getenv("SLURM_ARRAY_JOB_ID"));
	policy_facts_set(f, FACT_ARRAY_TASK, getenv("SLURM_ARRAY_TASK_ID"));
	policy_facts_set(f, FACT_JOB_NAME, getenv("SLURM_JOB_NAME"));
}

/* What may be decided for a job of this user, over all rules that may apply. */
struct prospect {
	bool traced, free, may_leave; /* by some rule: traced unasked; wishes count; opting out counts */
	uint64_t max_level;
	uint64_t max_budget, max_stack; /* 0 of max_budget: no cap */
	char budget_where[512], stack_where[512];
	char why[POLICY_WHY_MAX]; /* of the first */
	bool any;
};

static bool collect_prospect(void *context, const struct policy_decision *d)
{
	struct prospect *a = context;
	uint64_t override = policy_number(d, POLICY_OVERRIDE), budget = policy_number(d, POLICY_MAX_BUDGET);
	uint64_t stack = policy_number(d, POLICY_MAX_STACK), level = policy_number(d, POLICY_MAX_LEVEL);
	a->traced |= policy_number(d, POLICY_LEVEL) != POLICY_LEVEL_OFF;
	a->free |= override == POLICY_OVERRIDE_ALL;
	a->may_leave |= override != POLICY_OVERRIDE_NONE;
	a->max_level = level > a->max_level ? level : a->max_level;
	if (!a->any || (a->max_budget != 0 && (budget == 0 || budget > a->max_budget))) {
		a->max_budget = budget;
		policy_where(d, POLICY_MAX_BUDGET, a->budget_where);
	}
	if (!a->any || stack > a->max_stack) {
		a->max_stack = stack;
		policy_where(d, POLICY_MAX_STACK, a->stack_where);
	}
	if (!a->any)
		policy_why(d, a->why);
	a->any = true;
	return true;
}

static bool check_request(const struct prospect *a, const struct request *r, bool says)
{
	if (!r->on) {
		if (!a->may_leave)
			sl_error("this site does not let jobs opt out: %s", a->why);
		return true;
	}
	if (!a->free || a->max_level == POLICY_LEVEL_OFF) {
		if (says)
			sl_error("this site %s: %s",
				 a->traced ? "says itself how jobs are traced, --mpitrace changes nothing"
					   : "does not trace this job, --mpitrace changes nothing",
				 a->why);
		return true;
	}
	if ((r->given & REQUEST_GAVE_BUDGET) != 0 && a->max_budget != 0 && r->budget_bytes > a->max_budget) {
		sl_error("budget=%llu is over this site's cap; ask for at most budget=%llu (max_budget, %s)",
			 (unsigned long long)r->budget_bytes, (unsigned long long)a->max_budget, a->budget_where);
		return false;
	}
	if ((r->given & REQUEST_GAVE_STACK) != 0 && r->stack > a->max_stack) {
		sl_error("stack=%u is over this site's cap; ask for at most stack=%llu (max_stack, %s)", r->stack,
			 (unsigned long long)a->max_stack, a->stack_where);
		return false;
	}
	return true;
}

/* An srun in a job has the option from sbatch as a rule: it must not fail of a cap that is new, nor say a thing in the
 * job's output. */
bool policy_submit(const struct config *c, const struct request *r)
{
	struct policy_errors errors = {.say = NULL};
	struct policy_facts f = {0};
	struct prospect ahead = {0};
	struct policy *p = NULL;
	bool in_job = getenv("SLURM_JOB_ID") != NULL, fine = true;
	bool says = spank_context() == S_CTX_ALLOCATOR && !r->quiet; /* srun's step says it itself */
	if (in_job && !isatty(STDERR_FILENO))
		return true;
	int rc = policy_load(c->policy, 0, &p, &errors);
	if (rc < 0 && r->on && rc != -EACCES && says)
		sl_error("nothing will be traced, the site's policy is broken: %s", errors.first.text);
	if (rc < 0)
		return true;
	if (!policy_is_empty(p)) {
		know_caller(&f, p);
		policy_consider(p, &f, collect_prospect, &ahead);
		fine = check_request(&ahead, r, says);
		policy_facts_done(&f);
	}
	policy_free(p);
	return fine || in_job;
}

bool policy_expect(spank_t sp, struct config *c, bool asked, struct request *r)
{
	struct policy_wish wish = {.asked = asked, .opted_out = is_opted_out(getenv("MPITRACE"))};
	struct policy_errors errors = {.say = NULL};
	struct policy_facts f = {0};
	struct policy *p = NULL;
	uint32_t job_id;
	if (policy_load(c->policy, 0, &p, &errors) < 0)
		return false;
	bool on = without_policy(c, &wish, r);
	if (!policy_is_empty(p)) {
		know_caller(&f, p);
		take_names(&f, sp);
		if (sl_number(sp, S_JOB_ID, &job_id))
			policy_facts_set_number(&f, FACT_JOB, job_id);
		struct policy_decision d = policy_guess(p, &f);
		on = policy_combine(&d, c->default_on, &wish, r);
		take_limits(&d, c);
		take_place(&d, &f, r);
		policy_facts_done(&f);
	}
	policy_free(p);
	return on;
}

bool policy_may_trace(const struct config *c, bool asked, const struct request *r)
{
	struct policy_wish wish = {.asked = asked, .opted_out = is_opted_out(getenv("MPITRACE"))};
	struct policy_errors errors = {.say = NULL};
	struct policy_facts f = {0};
	struct prospect ahead = {0};
	struct policy *p = NULL;
	if (policy_load(c->policy, 0, &p, &errors) < 0)
		return false;
	bool may = without_policy(c, &wish, r);
	if (!policy_is_empty(p)) {
		know_caller(&f, p);
		policy_consider(p, &f, collect_prospect, &ahead);
		may |= ahead.traced;
		policy_facts_done(&f);
	}
	policy_free(p);
	return may;
}
