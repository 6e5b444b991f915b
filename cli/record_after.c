/* record_after.c - see record_after.h. In: job.mpix of a step, the policy.  Out: one file in the outbox, as the job's
 * user. What reads the trace is a process of its own, bounded, which opens the outbox before it can do nothing else. */
#include "cli/record_after.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "base/become.h"
#include "base/json.h"
#include "fleet/outbox.h"
#include "fleet/record.h"
#include "fleet/user.h"
#include "format/mpix.h"
#include "spank/policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD_SECONDS 5u /* then the step has no record */

enum { USERS_NAME, USERS_HASH, USERS_NONE }; /* places in the policy's table */

static void say_error(void *context, const char *text)
{
	(void)context;
	fprintf(stderr, "mpitrace finish: record: policy: %s\n", text);
}

static int take_user(const struct policy_decision *d, char ret_text[USER_TEXT_MAX], struct error *e)
{
	char name[USER_TEXT_MAX];
	const struct passwd *p = getpwuid(geteuid());
	uint64_t how = policy_number(d, POLICY_RECORD_USERS);
	ret_text[0] = '\0';
	if (p != NULL)
		snprintf(name, sizeof(name), "%s", p->pw_name);
	else
		snprintf(name, sizeof(name), "%u", (unsigned)geteuid());
	if (how == USERS_HASH)
		return user_hash_by(policy_text(d, POLICY_SITE_KEY), name, ret_text, e);
	if (how == USERS_NAME)
		snprintf(ret_text, USER_TEXT_MAX, "%s", name);
	return 0;
}

static int put_record(int outbox_fd, const char *mpix, const struct record_source *source, struct error *e)
{
	struct mpix_file *f = NULL;
	char *text = NULL;
	int rc = mpix_open(mpix, &f, e);
	if (rc == 0)
		rc = record_build(mpix_analysis(f), source, &text, e);
	if (rc == 0) {
		cJSON *record = cJSON_Parse(text);
		rc = outbox_put(outbox_fd, json_text(record, "id", "step"), text, e);
		cJSON_Delete(record);
	}
	free(text);
	if (f != NULL)
		mpix_close(f);
	return rc;
}

static void work(int outbox_fd, const char *step_dir, const struct record_source *source)
{
	char mpix[PATH_MAX + 16];
	struct error e;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	alarm(RECORD_SECONDS);
	become_confined(CONFINED_THREADS);
	snprintf(mpix, sizeof(mpix), "%s/job.mpix", step_dir);
	int rc = put_record(outbox_fd, mpix, source, &e);
	if (rc < 0)
		fprintf(stderr, "mpitrace finish: record: %s\n", e.text);
	_exit(rc < 0);
}

/* In a process of its own, which says itself why it fails, unless it is ended. */
static int write_record(int outbox_fd, const char *step_dir, const struct record_source *source, struct error *e)
{
	int status = 0;
	pid_t pid = fork();
	if (pid < 0)
		return fail(e, -errno, "no process: %s", strerror(errno));
	if (pid == 0)
		work(outbox_fd, step_dir, source);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFSIGNALED(status))
		return 0;
	if (WTERMSIG(status) == SIGALRM)
		return fail(e, -ETIME, "the analysis could not be read within %u s", RECORD_SECONDS);
	return fail(e, -EIO, "who wrote it was ended by signal %d", WTERMSIG(status));
}

static void leave(const struct policy_decision *d, const char *step_dir)
{
	char user[USER_TEXT_MAX], whole[PATH_MAX], report[PATH_MAX + 16];
	struct error e = {""};
	const char *outbox = policy_text(d, POLICY_OUTBOX);
	int fd = open(outbox, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? fail(&e, -errno, "outbox %s: %s", outbox, strerror(errno)) : 0;
	snprintf(report, sizeof(report), "%s/report.html", realpath(step_dir, whole) != NULL ? whole : step_dir);
	if (rc == 0)
		rc = outbox_is_full(fd) ? outbox_put_full(fd, report, &e) : take_user(d, user, &e);
	if (rc == 0) {
		struct record_source source = {.user = user,
					       .report = report,
					       .version = MPITRACE_VERSION,
					       .without_paths = policy_number(d, POLICY_RECORD_USERS) != USERS_NAME};
		rc = write_record(fd, step_dir, &source, &e);
	}
	if (rc < 0)
		fprintf(stderr, "mpitrace finish: record: the step has none: %s\n", e.text);
	if (fd >= 0)
		close(fd);
}

void record_after(const char *step_dir, const char *policy_file)
{
	struct policy_errors errors = {.say = say_error};
	struct policy_facts nothing = {0};
	struct policy *p = NULL;
	struct plugstack stack;
	plugstack_read(&stack);
	if (policy_load(policy_file != NULL ? policy_file : stack.config.policy, policy_file != NULL ? geteuid() : 0,
			&p, &errors) < 0)
		return;
	struct policy_decision d = policy_decide(p, &nothing);
	if (policy_text(&d, POLICY_OUTBOX)[0] != '\0')
		leave(&d, step_dir);
	policy_free(p);
}
