/* report_job.c - see report_job.h. In: step-* / job.mpix and report.html in a directory.  Out: one HTML file, whole or
 * not at all. One analysis is in memory at a time. */
#include "cli/report_job.h"
#include "base/atomic_file.h"
#include "cli/cli.h"
#include "format/mpix.h"
#include "reports/html/job.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
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
	if (atomic_file_open(&f, path, &e) < 0)
		return complain(&e);
	if (html_job(all, title, f.stream, &e) < 0) {
		atomic_file_abandon(&f);
		return complain(&e);
	}
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
	const char *slash = strrchr(whole, '/');
	int code = add_steps(&all, whole, &e) < 0
			   ? complain(&e)
			   : write_page(&all, slash[1] != '\0' ? slash + 1 : whole, path != NULL ? path : index);
	job_done(&all);
	return code;
}
