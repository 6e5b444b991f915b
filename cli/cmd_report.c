/* cmd_report.c - `mpitrace report`: the page of an analysed step, written anew.
 * In: the analysis inside an .mpix, or all of a job's directory.  Out: one HTML file, whole or not at all. */
#include "base/atomic_file.h"
#include "cli/cli.h"
#include "cli/report_job.h"
#include "format/mpix.h"
#include "reports/html/html.h"
#include "reports/text/viewer_file.h"

#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

static int complain(const struct error *e)
{
	fprintf(stderr, "mpitrace report: %s\n", e->text);
	return EXIT_BAD_INPUT;
}

static int write_page(const char *analysis, const char *trace, const char *path)
{
	struct error e;
	struct atomic_file f = {0};
	char viewer[PATH_MAX];
	bool carries = viewer_file(viewer, sizeof(viewer)) == 0;
	atomic_file_sweep(path);
	if (atomic_file_open(&f, path, &e) < 0)
		return complain(&e);
	struct html_source source = {.analysis_json = analysis, .trace = trace, .viewer = carries ? viewer : NULL};
	if (html_report_of(&source, f.stream, &e) < 0) {
		atomic_file_abandon(&f);
		return complain(&e);
	}
	return atomic_file_commit(&f, &e) < 0 ? complain(&e) : EXIT_DONE;
}

static int report_file(const char *trace, const char *path)
{
	struct error e;
	struct mpix_file *f = NULL;
	if (mpix_open(trace, &f, &e) < 0)
		return complain(&e);
	int rc = write_page(mpix_analysis(f), trace, path);
	mpix_close(f);
	return rc;
}

static int report(int argc, char **argv)
{
	static const struct option options[] = {{"refresh", no_argument, NULL, 'r'}, {NULL, 0, NULL, 0}};
	const char *path = NULL;
	struct stat st;
	bool refresh = false;
	int c;
	optind = opterr = 0;
	while ((c = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
		if (c != 'o' && c != 'r')
			return usage_error("report", "unknown option, or its value is missing");
		path = c == 'o' ? optarg : path;
		refresh |= c == 'r';
	}
	bool job = optind + 1 == argc && stat(argv[optind], &st) == 0 && S_ISDIR(st.st_mode);
	if (refresh && (!job || path != NULL))
		return usage_error("report", "--refresh takes a job's directory and nothing else");
	if (refresh)
		return report_job_refresh(argv[optind], true);
	if (job)
		return report_job(argv[optind], path);
	if (optind + 1 != argc || path == NULL)
		return usage_error("report", "give one .mpix file and where to write the page, or a job's directory");
	return report_file(argv[optind], path);
}

const struct command cmd_report = {"report", report,
				   "write the HTML report of an analysed trace, or of all steps of a job",
				   "report FILE.mpix -o FILE.html | report [--refresh] mpitrace-JOB [-o FILE.html]"};
