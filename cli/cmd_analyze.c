/* cmd_analyze.c - from the .mpic files of a step to its analysis: .mpix, report, JSON.
 * In: command line.  Out: files through postproc/ and reports/html/; what went wrong on stderr. */
#include "base/pool.h"
#include "base/atomic_file.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/cluster.h"
#include "cli/print.h"
#include "postproc/postproc.h"
#include "reports/html/html.h"
#include "reports/text/viewer_file.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct analyze {
	const char *mpix, *report;
	bool json, totals, mpi;
	struct peers *peers; /* with --mpi: all processes */
	unsigned nthreads;
	char **paths;
	int npaths;
};

/* -1 when all is well, else the exit code. */
static int parse_threads(const char *text, struct analyze *a)
{
	char *end;
	long n = strtol(text, &end, 10);
	if (*end != '\0' || n < 1 || n > 1024)
		return usage_error("analyze", "--threads takes a number from 1 to 1024, not \"%.64s\"", text);
	a->nthreads = (unsigned)n;
	return -1;
}

static int check(const struct analyze *a)
{
	if (a->npaths == 0)
		return usage_error("analyze", "give .mpic files or the directory of a step");
	if (a->mpix == NULL && a->report == NULL && !a->json)
		return usage_error("analyze", "nothing to write: give -o, --report or --json");
	if (a->totals && a->mpix != NULL)
		return usage_error("analyze", "--totals reads no events: use --report or --json, not -o");
	if (a->mpi && (a->totals || a->mpix == NULL))
		return usage_error("analyze", "--mpi shares out the events: give -o, and not --totals");
	return -1;
}

static int parse(int argc, char **argv, struct analyze *a)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'},
		{"report", required_argument, NULL, 'r'},
		{"threads", required_argument, NULL, 't'},
		{"json", no_argument, NULL, 'j'},
		{"totals", no_argument, NULL, 'a'},
		{"mpi", no_argument, NULL, 'm'},
		{NULL, 0, NULL, 0},
	};
	int c, code = -1;
	optind = opterr = 0;
	while (code < 0 && (c = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
		if (c == 'o')
			a->mpix = optarg;
		else if (c == 'r')
			a->report = optarg;
		else if (c == 't')
			code = parse_threads(optarg, a);
		else if (c == 'j')
			a->json = true;
		else if (c == 'a')
			a->totals = true;
		else if (c == 'm')
			a->mpi = true;
		else
			code = usage_error("analyze", "unknown option, or its value is missing");
	}
	a->paths = argv + optind;
	a->npaths = argc - optind;
	return code < 0 ? check(a) : code;
}

static int write_report(const struct analyze *a, const char *json, struct error *e)
{
	struct atomic_file f = {0};
	char viewer[PATH_MAX];
	bool carries = !a->totals && viewer_file(viewer, sizeof(viewer)) == 0;
	struct html_source source = {
		.analysis_json = json, .trace = a->totals ? a->paths[0] : a->mpix, .viewer = carries ? viewer : NULL};
	int code = atomic_file_open(&f, a->report, e);
	if (code < 0)
		return code;
	code = html_report_of(&source, f.stream, e);
	if (code == 0)
		return atomic_file_commit(&f, e);
	atomic_file_abandon(&f);
	return code;
}

/* Of a record of which nothing can be read, or that is of several steps, the page says just that. */
static char *unreadable(const struct error *e)
{
	cJSON *root = cJSON_CreateObject(), *coverage = json_object(root, "coverage");
	json_put_text(root, "schema", "mpitrace/analysis/1");
	json_put_text(coverage, "mode", "totals");
	cJSON_AddFalseToObject(coverage, "complete");
	cJSON_AddFalseToObject(coverage, "totals_complete");
	json_put(coverage, "ranks_seen", 0);
	json_push_text(json_array(coverage, "reasons"), e->text);
	char *json = json_print(root);
	cJSON_Delete(root);
	return json;
}

/* What analyses before this one left that were killed. */
static void sweep(const struct analyze *a)
{
	if (a->mpix != NULL)
		atomic_file_sweep(a->mpix);
	if (a->report != NULL)
		atomic_file_sweep(a->report);
}

static int run_analysis(const struct analyze *a, struct postproc_result *ret_result, struct error *e)
{
	if (!a->totals)
		return postproc_analyze_by(a->peers, a->paths, (size_t)a->npaths, a->mpix, a->nthreads, ret_result, e);
	int code = postproc_totals(a->paths, (size_t)a->npaths, a->nthreads, ret_result, e);
	bool is_said = code == -EBADMSG || code == -EINVAL;
	if (!is_said || (ret_result->json = unreadable(e)) == NULL)
		return code;
	fprintf(stderr, "mpitrace analyze: %s\n", e->text);
	return 0;
}

static int print_json(const char *json, struct error *e)
{
	if (puts(json) < 0 || fflush(stdout) != 0)
		return fail(e, -EIO, "cannot write the analysis to standard output");
	return 0;
}

static bool lost;

bool analyze_lost(void)
{
	return lost;
}

/* Everything but what is said: 0 or -errno with text. */
static int work(const struct analyze *a, struct postproc_result *ret_result, struct error *e)
{
	bool first = a->peers == NULL || a->peers->rank == 0;
	if (first)
		sweep(a);
	int code = run_analysis(a, ret_result, e);
	if (code == 0 && first && a->report != NULL)
		code = write_report(a, ret_result->json, e);
	return code == 0 && first && a->json ? print_json(ret_result->json, e) : code;
}

static int say(const struct analyze *a, int code, const struct postproc_result *result, const struct error *e)
{
	if (code < 0) {
		fprintf(stderr, "mpitrace analyze: %s\n", e->text);
		return EXIT_BAD_INPUT;
	}
	if (result->policy[0] != '\0' && !a->json) {
		fputs("mpitrace analyze: policy: ", stderr);
		put_plain(stderr, result->policy, sizeof(result->policy));
		fputc('\n', stderr);
	}
	if (!result->complete)
		fprintf(stderr, "mpitrace analyze: the record is partial; coverage.reasons says "
				"what is missing\n");
	return result->complete ? EXIT_DONE : EXIT_PARTIAL;
}

/* A launcher ends all when one has died. What the first was writing goes with it, and what was there before stays. */
static char unfinished[2][PATH_MAX + 64];

static void end_unfinished(int signo)
{
	static const char text[] =
		"mpitrace analyze: ended by its launcher, as when another process of the job dies: the "
		"result is as it was, start it again\n";
	(void)signo;
	for (size_t i = 0; i < 2; i++)
		if (unfinished[i][0] != '\0')
			unlink(unfinished[i]);
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(EXIT_BAD_INPUT);
	_exit(EXIT_BAD_INPUT);
}

static void await_end(const struct analyze *a)
{
	const char *const paths[] = {a->mpix, a->report};
	struct sigaction act = {.sa_handler = end_unfinished};
	for (size_t i = 0; i < 2 && a->peers->rank == 0; i++)
		if (paths[i] != NULL)
			atomic_file_temporary(unfinished[i], sizeof(unfinished[i]), paths[i]);
	if (a->peers->rank == 0)
		sigaction(SIGTERM, &act, NULL);
}

/* One of several processes: the first speaks for all, and all exit alike. */
static int analyze_together(struct analyze *a)
{
	struct postproc_result result = {0};
	struct error e = {0};
	a->peers = cluster_open(&e);
	if (a->peers == NULL)
		return cluster_is_first() ? say(a, -EINVAL, &result, &e) : EXIT_BAD_INPUT;
	await_end(a);
	int code = work(a, &result, &e);
	int64_t exits = a->peers->rank == 0 && code == 0 && !result.complete ? -EXIT_PARTIAL : 0;
	code = peers_agree(a->peers, code, &exits);
	signal(SIGTERM,
	       SIG_IGN); /* what launchers send once the first of us has exited with a code: all is done and said */
	if (code < 0)
		peers_tell(a->peers, &e);
	if (code < 0 && e.text[0] == '\0')
		fail(&e, code, "a process of the job failed: %s; the result is as it was, start it again",
		     strerror(-code));
	int exit_code = a->peers->rank == 0 ? say(a, code, &result, &e) : code < 0 ? EXIT_BAD_INPUT : (int)-exits;
	free(result.json);
	a->peers->destroy(a->peers);
	return exit_code;
}

static int analyze(int argc, char **argv)
{
	struct analyze a = {.nthreads = 0};
	struct postproc_result result = {0};
	struct error e = {0};
	int code = parse(argc, argv, &a);
	if (code >= 0)
		return code;
	if (a.nthreads == 0)
		a.nthreads = a.mpi ? 1 : pool_threads();
	if (a.mpi)
		return analyze_together(&a);
	code = work(&a, &result, &e);
	free(result.json);
	lost = result.lost;
	return say(&a, code, &result, &e);
}

const struct command cmd_analyze = {"analyze", analyze, "read the .mpic files of a step; write .mpix, report, JSON",
				    "analyze PATH... [-o FILE.mpix] [--report FILE.html] [--threads N] [--json] "
				    "[--totals] [--mpi]"};
