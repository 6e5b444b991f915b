/* cmd_diff.c - `mpitrace diff A B`: what changed between two runs, or two groups of runs; more of them: how they
 * scale.
 * In: .mpix files, or JSON of `analyze`.  Out: text, JSON, or the report of the last run with a section about the
 * change. */
#include "base/atomic_file.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/show.h"
#include "postproc/compare/compare.h"
#include "reports/html/html.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

struct diff {
	VEC(struct compare_run) runs;
	unsigned ngroups;
	enum compare_reading reading;
	const char *html;
	bool json, grouped; /* grouped: by the user, with -- */
};

static int parse_option(struct diff *d, int key)
{
	if (key == 'j')
		d->json = true;
	else if (key == 'h')
		d->html = optarg;
	else if (key == 's' && strcmp(optarg, "strong") == 0)
		d->reading = COMPARE_STRONG;
	else if (key == 's' && strcmp(optarg, "weak") == 0)
		d->reading = COMPARE_WEAK;
	else if (key == 's')
		return usage_error("diff", "--scaling is strong or weak, not \"%.64s\"", optarg);
	else
		return usage_error("diff", "unknown option, or its value is missing");
	return EXIT_DONE;
}

/* Words between two --; words[0] is the one before them. */
static int parse_group(struct diff *d, int nwords, char **words)
{
	static const struct option names[] = {
		{"json", no_argument, NULL, 'j'},
		{"html", required_argument, NULL, 'h'},
		{"scaling", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	int key, code = EXIT_DONE;
	opterr = 0;
	optind = 0;
	while (code == EXIT_DONE && (key = getopt_long(nwords, words, "", names, NULL)) != -1)
		code = parse_option(d, key);
	if (code == EXIT_DONE && optind == nwords && d->grouped)
		return usage_error("diff", "no file before or after --");
	for (int i = optind; code == EXIT_DONE && i < nwords; i++)
		if (vec_push(&d->runs, (struct compare_run){.path = words[i], .group = d->ngroups}) < 0)
			return usage_error("diff", "out of memory");
	d->ngroups++;
	return code;
}

static int parse(struct diff *d, int argc, char **argv)
{
	int from = 0, code = EXIT_DONE;
	for (int i = 1; i < argc; i++)
		d->grouped = d->grouped || strcmp(argv[i], "--") == 0;
	for (int i = 1; code == EXIT_DONE && i <= argc; i++)
		if (i == argc || strcmp(argv[i], "--") == 0) {
			code = parse_group(d, i - from, argv + from);
			from = i;
		}
	if (code == EXIT_DONE && d->runs.n < 2)
		return usage_error("diff", "give at least two files");
	return code;
}

static int complain(const struct error *e)
{
	fprintf(stderr, "mpitrace diff: %s\n", e->text);
	return EXIT_BAD_INPUT;
}

static int load(struct diff *d)
{
	struct error e;
	for (size_t i = 0; i < d->runs.n; i++) {
		unsigned group = d->runs.at[i].group;
		if (compare_load(d->runs.at[i].path, &d->runs.at[i], &e) < 0)
			return complain(&e);
		d->runs.at[i].group = group;
	}
	return EXIT_DONE;
}

static int by_ranks(const void *a, const void *b)
{
	const struct compare_run *x = a, *y = b;
	if (x->ranks != y->ranks)
		return (x->ranks > y->ranks) - (x->ranks < y->ranks);
	return (x->group > y->group) - (x->group < y->group);
}

/* Without --: two files are before and after; of more, those with as many ranks repeat each other, fewest ranks
 * first. */
static int group(struct diff *d)
{
	if (d->grouped)
		return EXIT_DONE;
	for (size_t i = 0; i < d->runs.n; i++)
		d->runs.at[i].group = (unsigned)i;
	d->ngroups = 2;
	if (d->runs.n == 2)
		return EXIT_DONE;
	vec_sort(&d->runs, by_ranks);
	d->ngroups = 0;
	for (size_t i = 0; i < d->runs.n; i++) {
		d->ngroups += i == 0 || d->runs.at[i].ranks != d->runs.at[i - 1].ranks;
		d->runs.at[i].group = d->ngroups - 1;
	}
	if (d->ngroups < 2)
		return usage_error("diff",
				   "%zu runs on %.0f ranks each: put -- between the runs before and after the change",
				   d->runs.n, d->runs.at[0].ranks);
	return EXIT_DONE;
}

static int write_page(const cJSON *analysis, const cJSON *diff, const char *path)
{
	struct error e;
	struct atomic_file f = {0};
	char *text = cJSON_PrintUnformatted(analysis);
	int code = text == NULL ? fail(&e, -ENOMEM, "out of memory") : atomic_file_open(&f, path, &e);
	if (code == 0) {
		code = html_report_compared(text, diff, f.stream, &e);
		if (code == 0)
			code = atomic_file_commit(&f, &e);
		else
			atomic_file_abandon(&f);
	}
	free(text);
	return code < 0 ? complain(&e) : EXIT_DONE;
}

static int print(const struct diff *d, const cJSON *diff)
{
	if (d->json) {
		char *text = cJSON_PrintUnformatted(diff);
		if (text != NULL)
			puts(text);
		free(text);
	} else if (d->html == NULL) {
		show_diff(diff);
	}
	return EXIT_DONE;
}

static int compare(struct diff *d)
{
	struct error e;
	cJSON *diff;
	int code = load(d);
	if (code == EXIT_DONE)
		code = group(d);
	if (code != EXIT_DONE)
		return code;
	struct compare_input in = {d->runs.at, d->runs.n, d->ngroups, d->reading};
	if (compare_runs(&in, &diff, &e) < 0)
		return complain(&e);
	if (d->html != NULL)
		code = write_page(d->runs.at[d->runs.n - 1].analysis, diff, d->html);
	if (code == EXIT_DONE)
		code = print(d, diff);
	cJSON_Delete(diff);
	return code;
}

static int diff(int argc, char **argv)
{
	struct diff d = {.reading = COMPARE_BOTH};
	int code = parse(&d, argc, argv);
	if (code == EXIT_DONE)
		code = compare(&d);
	for (size_t i = 0; i < d.runs.n; i++)
		cJSON_Delete(d.runs.at[i].analysis);
	vec_done(&d.runs);
	return code;
}

const struct command cmd_diff = {"diff", diff, "compare runs, with noise taken into account; show how a program scales",
				 "diff A B | A1 A2 ... -- B1 B2 ... [-- ...] [--json] [--html FILE.html] "
				 "[--scaling strong|weak]"};
