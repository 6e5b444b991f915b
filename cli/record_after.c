/* record_after.c - see record_after.h. In: job.mpix of a step, the policy.  Out: one file in the outbox, as the job's
 * user. What reads the trace is a process of its own, bounded, which opens the outbox before it can do nothing else. */
#include "cli/record_after.h"
#include "cli/site_outbox.h"
#include "base/become.h"
#include "base/json.h"
#include "fleet/outbox.h"
#include "fleet/record.h"
#include "format/mpix.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD_SECONDS 5u /* then the step has no record */

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

static void leave(struct site_outbox *o, const char *step_dir)
{
	char whole[PATH_MAX], report[PATH_MAX + 16];
	struct error e = {""};
	snprintf(report, sizeof(report), "%s/report.html", realpath(step_dir, whole) != NULL ? whole : step_dir);
	int rc = outbox_is_full(o->fd) ? outbox_put_full(o->fd, report, &e) : site_outbox_user(o, &e);
	if (rc == 0) {
		struct record_source source = {.user = o->user,
					       .report = report,
					       .version = MPITRACE_VERSION,
					       .without_paths = o->without_paths};
		rc = write_record(o->fd, step_dir, &source, &e);
	}
	if (rc < 0)
		fprintf(stderr, "mpitrace finish: record: the step has none: %s\n", e.text);
}

void record_after(const char *step_dir, const char *policy_file)
{
	struct site_outbox o;
	struct error e;
	int rc = site_outbox_open(policy_file, &o, &e);
	if (rc == 0 && o.fd >= 0)
		leave(&o, step_dir);
	if (rc < 0 && e.text[0] != '\0')
		fprintf(stderr, "mpitrace finish: record: the step has none: %s\n", e.text);
	site_outbox_done(&o);
}
