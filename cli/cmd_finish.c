/* cmd_finish.c - make a step's report once; started by the Slurm plugin, or by hand for a job that
 * has none. */
#include "cli/cli.h"
#include "cli/job_analysis.h"
#include "cli/record_after.h"
#include "cli/report_job.h"
#include "collect/finish.h"
#include "collect/traces.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -1 when all is well, else the exit code. */
static int number(const char *name, const char *text, unsigned long max, unsigned *ret_value)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || value > max)
		return usage_error("finish", "--%s takes a number from 0 to %lu, not \"%.64s\"", name, max, text);
	*ret_value = (unsigned)value;
	return -1;
}

static int seconds(const char *name, const char *text, double *ret_value)
{
	char *end;
	double value = strtod(text, &end);
	if (!(value >= 0 && value <= 1e6) || *end != '\0' || end == text)
		return usage_error("finish", "--%s takes seconds, not \"%.64s\"", name, text);
	*ret_value = value;
	return -1;
}

static int analyze(const struct finish *f)
{
	const char *out = f->out;
	char mpix[PATH_MAX + 16], report[PATH_MAX + 16];
	snprintf(mpix, sizeof(mpix), "%s/job.mpix", out);
	snprintf(report, sizeof(report), "%s/report.html", out);
	char *argv[] = {"analyze", (char *)out, "-o", mpix, "--report", report, NULL};
	int code = cmd_analyze.run(6, argv);
	return code == EXIT_PARTIAL && !analyze_lost() ? EXIT_DONE : code; /* of a rank that died all is there */
}

static int analyze_by_job(const struct finish *f)
{
	char mpix[PATH_MAX + 16], report[PATH_MAX + 16];
	snprintf(mpix, sizeof(mpix), "%s/job.mpix", f->out);
	snprintf(report, sizeof(report), "%s/report.html", f->out);
	return job_analysis(f->out, mpix, report, f->processes);
}

static int totals(const struct finish *f)
{
	const char *out = f->out;
	char report[PATH_MAX + 16];
	snprintf(report, sizeof(report), "%s/report.html", out);
	char *argv[] = {"analyze", "--totals", (char *)out, "--report", report, NULL};
	return cmd_analyze.run(5, argv);
}

/* Has each node that is expected a trace with its end? */
static bool has_all(const struct finish *f)
{
	struct traces t = {0};
	int dir_fd = open(f->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return false;
	traces_scan(dir_fd, f->out, &t);
	bool all = t.n > 0 && t.finished == t.n && t.n >= f->nodes;
	traces_done(&t);
	close(dir_fd);
	return all;
}

/* Not the whole report; but from totals there is one, as a rule. */
static void say_later(const struct finish *f)
{
	const char *out = f->out;
	char report[PATH_MAX + 16];
	snprintf(report, sizeof(report), "%s/report.html", out);
	fprintf(stderr, "mpitrace finish: %s: the traces are %s; the report is %s\n", out,
		has_all(f) ? "complete" : "partial",
		access(report, F_OK) == 0 ? "from totals, the events are not analysed yet" : "not made");
}

static int parse(int argc, char **argv, struct finish *f, bool *job_is_over, const char **policy)
{
	static const struct option options[] = {{"nodes", required_argument, NULL, 'n'},
						{"wait", required_argument, NULL, 'w'},
						{"budget", required_argument, NULL, 'b'},
						{"give-way", required_argument, NULL, 'g'},
						{"queue", no_argument, NULL, 'q'},
						{"job-is-over", no_argument, NULL, 'o'},
						{"policy", required_argument, NULL, 'p'},
						{"processes", required_argument, NULL, 'P'},
						{NULL, 0, NULL, 0}};
	int c, code = -1;
	optind = opterr = 0;
	while (code < 0 && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'n')
			code = number("nodes", optarg, 1000000, &f->nodes);
		else if (c == 'w')
			code = number("wait", optarg, 86400, &f->wait_s);
		else if (c == 'b')
			code = seconds("budget", optarg, &f->budget_s);
		else if (c == 'g') {
			code = seconds("give-way", optarg, &f->give_way_s);
			f->unattended = true; /* it is a node's */
		} else if (c == 'q')
			f->queue = true;
		else if (c == 'o')
			*job_is_over = f->unattended = true;
		else if (c == 'p')
			*policy = optarg;
		else if (c == 'P')
			code = number("processes", optarg, FINISH_PROCESSES_MAX, &f->processes);
		else
			code = usage_error("finish", "unknown option, or its value is missing");
	}
	if (code < 0 && argc - optind != 1)
		code = usage_error("finish", "needs the output directory of one step");
	f->out = argv[optind];
	return code;
}

static int finish(int argc, char **argv)
{
	struct error e = {""};
	struct finish f = {.analyze = analyze, .analyze_by_job = analyze_by_job, .totals = totals};
	bool job_is_over = false;
	const char *policy = NULL;
	int code = parse(argc, argv, &f, &job_is_over, &policy);
	if (code >= 0)
		return code;
	int rc = finish_run(&f, &e);
	if (rc == FINISH_DONE || rc == FINISH_PARTIAL)
		report_job_after(f.out, job_is_over);
	if (rc == FINISH_DONE || rc == FINISH_PARTIAL)
		record_after(f.out, policy);
	if (rc == FINISH_BUSY)
		fprintf(stderr, "mpitrace finish: %s: another finisher is at work on it; use --wait to wait for it\n",
			f.out);
	if (rc == FINISH_NOTHING && access(f.out, F_OK) == 0)
		fprintf(stderr, "mpitrace finish: %s: no trace of an MPI process in it\n", f.out);
	else if (rc == FINISH_NOTHING && !f.unattended && f.wait_s == 0) /* else a step that may have left none */
		rc = fail(&e, -ENOENT, "%s: %s; give mpitrace-<job>/step-<step>", f.out, strerror(ENOENT));
	if (rc < 0)
		fprintf(stderr, "mpitrace finish: %s\n", e.text);
	if (rc == FINISH_LATER || rc == FINISH_STOPPED)
		say_later(&f);
	if (rc == FINISH_LATER || rc == FINISH_STOPPED)
		return EXIT_LATER;
	if (rc == FINISH_QUEUED)
		return EXIT_QUEUED;
	return rc < 0 ? EXIT_BAD_INPUT : rc == FINISH_PARTIAL || rc == FINISH_BUSY ? EXIT_PARTIAL : EXIT_DONE;
}

const struct command cmd_finish = {"finish", finish, "make the report of a step, once all its traces are complete",
				   "finish DIR [--nodes N] [--wait SECONDS] [--budget SECONDS] [--give-way SECONDS] "
				   "[--queue] [--processes N] [--job-is-over] [--policy FILE]"};
