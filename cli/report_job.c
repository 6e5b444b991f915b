/* report_job.c - see report_job.h. In: step-* / job.mpix and report.html in a directory.  Out: one HTML file, whole or
 * not at all. One analysis is in memory at a time. */
#include "cli/report_job.h"
#include "base/atomic_file.h"
#include "base/path.h"
#include "cli/cli.h"
#include "format/mpix.h"
#include "reports/html/job.h"

#include "base/become.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int complain(const struct error *e)
{
	fprintf(stderr, "mpitrace report: %s\n", e->text);
	return EXIT_BAD_INPUT;
}

static int is_step(const struct dirent *entry)
{
	return strncmp(entry->d_name, "step-", 5) == 0 && entry->d_name[5] != '\0';
}

/* A step whose trace cannot be read is on the page as one without. */
static int add_step(struct job_steps *all, const char *dir, const char *step)
{
	char trace[PATH_MAX], page[PATH_MAX], link[NAME_MAX + sizeof("/report.html")];
	struct mpix_file *f = NULL;
	struct error e;
	snprintf(link, sizeof(link), "%s/report.html", step);
	if (snprintf(trace, sizeof(trace), "%s/%s/job.mpix", dir, step) >= (int)sizeof(trace) ||
	    snprintf(page, sizeof(page), "%s/%s", dir, link) >= (int)sizeof(page))
		return -ENAMETOOLONG;
	bool readable = mpix_open(trace, &f, &e) == 0;
	int code = job_add(all, step, access(page, R_OK) == 0 ? link : NULL, readable ? mpix_analysis(f) : NULL);
	if (readable)
		mpix_close(f);
	return code;
}

static int add_steps(struct job_steps *all, const char *dir, struct error *e)
{
	struct dirent **names;
	int n = scandir(dir, &names, is_step, alphasort), code = 0;
	if (n < 0)
		return fail(e, -errno, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (code == 0)
			code = add_step(all, dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (code < 0)
		return fail(e, code, "%s: %s", dir, strerror(-code));
	return n > 0 ? 0
		     : fail(e, -ENOENT, "%s: holds no step-*; give the directory mpitrace-<job>, or an .mpix file",
			    dir);
}

static int write_page(struct job_steps *all, const char *title, const char *path)
{
	struct error e;
	struct atomic_file f = {0};
	atomic_file_sweep(path);
	if (atomic_file_open(&f, path, &e) < 0)
		return complain(&e);
	html_job(all, title, f.stream);
	return atomic_file_commit(&f, &e) < 0 ? complain(&e) : EXIT_DONE;
}

int report_job(const char *dir, const char *path)
{
	char whole[PATH_MAX], index[PATH_MAX + sizeof("/index.html")];
	struct job_steps all = {0};
	struct error e;
	if (realpath(dir, whole) == NULL) {
		fail(&e, -errno, "%s: %s", dir, strerror(errno));
		return complain(&e);
	}
	snprintf(index, sizeof(index), "%s/index.html", whole);
	int code = add_steps(&all, whole, &e) < 0 ? complain(&e)
						  : write_page(&all, basename_of(whole), path != NULL ? path : index);
	job_done(&all);
	return code;
}

/* ---- while the job runs ---- */

#define ALWAYS_STEPS 8 /* up to so many the page is written with each */
#define GROWTH_NUM 5   /* then when there are a fourth more than on it: the sum of all pages is bounded */
#define GROWTH_DEN 4
#define PAGE_SECONDS 2u	      /* of a page that is made beside a job */
#define LOOK_BYTES (64 << 10) /* in these the page says how many steps it has */

/* Steps with a trace. */
static long count_steps(const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, is_step, NULL);
	long steps = n < 0 ? -errno : 0;
	for (int i = 0; i < n; i++) {
		char trace[PATH_MAX];
		bool fits =
			snprintf(trace, sizeof(trace), "%s/%s/job.mpix", dir, names[i]->d_name) < (int)sizeof(trace);
		steps += fits && access(trace, R_OK) == 0;
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return steps;
}

/* How many steps the page has; 0: there is none, -1: it is not ours. */
static long steps_on_page(const char *index)
{
	char *text = calloc(1, LOOK_BYTES + 1);
	int fd = open(index, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = text != NULL && fd >= 0 ? read(fd, text, LOOK_BYTES) : -1;
	const char *at = n > 0 ? strstr(text, HTML_JOB_STEPS) : NULL;
	long steps = fd < 0 && errno == ENOENT ? 0 : at != NULL ? strtol(at + strlen(HTML_JOB_STEPS), NULL, 10) : -1;
	if (fd >= 0)
		close(fd);
	free(text);
	return steps;
}

int report_job_refresh(const char *dir, bool at_end)
{
	char index[PATH_MAX];
	if (snprintf(index, sizeof(index), "%s/index.html", dir) >= (int)sizeof(index))
		return EXIT_BAD_INPUT;
	long steps = count_steps(dir), shown = steps_on_page(index);
	if (steps < 2 || shown < 0)
		return EXIT_DONE;
	if (at_end ? shown == steps : steps > ALWAYS_STEPS && steps * GROWTH_DEN < shown * GROWTH_NUM)
		return EXIT_DONE;
	return report_job(dir, NULL);
}

/* The directory of the step's job, if it is one of ours and nobody else's. */
static bool find_job(const char *step_dir, char ret_job[PATH_MAX])
{
	struct stat st;
	if (realpath(step_dir, ret_job) == NULL)
		return false;
	char *step = strrchr(ret_job, '/');
	if (step == NULL || step == ret_job || strncmp(step, "/step-", 6) != 0)
		return false;
	*step = '\0';
	const char *job = strrchr(ret_job, '/');
	return job != NULL && strncmp(job, "/mpitrace-", 10) == 0 && stat(ret_job, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && (st.st_mode & S_IWOTH) == 0;
}

static void make_page(const char *job, bool at_end)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	alarm(PAGE_SECONDS);
	become_confined(CONFINED_THREADS);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 1) != 1 || dup2(null, 2) != 2)
		_exit(EXIT_BAD_INPUT);
	_exit(report_job_refresh(job, at_end));
}

void report_job_after(const char *step_dir, bool at_end)
{
	char job[PATH_MAX], temporary[PATH_MAX + 64];
	int status;
	if (!find_job(step_dir, job))
		return;
	pid_t pid = fork();
	if (pid == 0)
		make_page(job, at_end);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid <= 0 || !WIFSIGNALED(status))
		return;
	snprintf(temporary, sizeof(temporary), "%s/index.html.%d.tmp", job, (int)pid); /* base/atomic_file.c */
	unlink(temporary);
}
