/* cmd_show.c - `mpitrace show FILE.mpix`: what an analysed step says, as text for people or JSON
 * for machines. */
#include "cli/cli.h"
#include "cli/show.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct options {
	const char *path;
	bool json, events, epochs;
	struct event_choice choice;
	struct epoch_choice epoch_choice;
};

static int parse_count(const char *text, unsigned long long max, unsigned long long *ret_count)
{
	char *end;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	if (end == text || *end != 0 || errno != 0 || text[0] == '-' || n > max)
		return -EINVAL;
	*ret_count = n;
	return 0;
}

/* Numbers with commas between them. */
static int parse_budgets(const char *text, struct epoch_choice *to)
{
	for (to->nbudgets = 0; to->nbudgets < SHOW_BUDGETS_MAX;) {
		char one[24];
		unsigned long long n;
		size_t length = strcspn(text, ",");
		if (length >= sizeof(one))
			return -EINVAL;
		snprintf(one, sizeof(one), "%.*s", (int)length, text);
		if (parse_count(one, UINT32_MAX, &n) < 0 || n == 0)
			return -EINVAL;
		to->budgets[to->nbudgets++] = n;
		if (text[length] == 0)
			return 0;
		text += length + 1;
	}
	return -EINVAL;
}

static int parse_option(struct options *o, int key, const char *value)
{
	unsigned long long rank;
	switch (key) {
	case 'j':
		o->json = true;
		return 0;
	case 'e':
		o->events = true;
		return 0;
	case 'p':
		o->epochs = true;
		return 0;
	case 'b':
		if (parse_budgets(value, &o->epoch_choice) < 0)
			return usage_error("show", "--buffers %s: give at most %u counts, such as 4,16,64", value,
					   SHOW_BUDGETS_MAX);
		return 0;
	case 'r':
		if (parse_count(value, RANKS_MAX - 1, &rank) < 0)
			return usage_error("show", "--rank %s: not a rank", value);
		o->choice.rank = (long)rank;
		return 0;
	case 'f':
	case 't':
		if (option_seconds(value, key == 'f' ? &o->choice.from_ns : &o->choice.to_ns) < 0)
			return usage_error("show", "%s: not a number of seconds", value);
		return 0;
	case 'l':
		if (parse_count(value, UINT64_MAX, &o->choice.limit) < 0)
			return usage_error("show", "--limit %s: not a count", value);
		return 0;
	default:
		return usage_error("show", "unknown option, or its value is missing");
	}
}

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {
		{"json", no_argument, NULL, 'j'},
		{"events", no_argument, NULL, 'e'},
		{"rank", required_argument, NULL, 'r'},
		{"from", required_argument, NULL, 'f'},
		{"to", required_argument, NULL, 't'},
		{"limit", required_argument, NULL, 'l'},
		{"epochs", no_argument, NULL, 'p'},
		{"buffers", required_argument, NULL, 'b'},
		{NULL, 0, NULL, 0},
	};
	int key, rc = 0;
	opterr = 0;
	*o = (struct options){.choice = {.rank = -1, .from_ns = INT64_MIN, .to_ns = INT64_MAX, .limit = UINT64_MAX}};
	while (rc == 0 && (key = getopt_long(argc, argv, "", names, NULL)) != -1)
		rc = parse_option(o, key, optarg);
	if (rc != 0)
		return rc;
	if (optind + 1 != argc)
		return usage_error("show", "give one FILE.mpix");
	if (!o->events && (o->choice.rank >= 0 || o->choice.from_ns != INT64_MIN || o->choice.to_ns != INT64_MAX ||
			   o->choice.limit != UINT64_MAX))
		return usage_error("show", "--rank, --from, --to and --limit choose --events");
	if (o->epochs && o->events)
		return usage_error("show", "give --events or --epochs, not both");
	if (!o->epochs && o->epoch_choice.nbudgets > 0)
		return usage_error("show", "--buffers applies to --epochs only");
	o->choice.json = o->json;
	o->path = argv[optind];
	return 0;
}

static int bad(const struct error *e)
{
	fprintf(stderr, "mpitrace show: %s\n", e->text);
	return EXIT_BAD_INPUT;
}

static int show_open(const struct options *o, struct mpix_file *f)
{
	struct error e = {{0}};
	int rc = EXIT_DONE;
	if (o->json && !o->events && !o->epochs) {
		puts(mpix_analysis(f));
		return EXIT_DONE;
	}
	cJSON *analysis = cJSON_Parse(mpix_analysis(f));
	if (analysis == NULL && !o->events) {
		fail(&e, -EBADMSG, "%s: its analysis is not JSON; analyse again", o->path);
		rc = bad(&e);
	} else if (o->choice.rank >= (long)mpix_info(f)->ranks) {
		rc = usage_error("show", "--rank %ld: the trace has ranks 0 to %u", o->choice.rank,
				 mpix_info(f)->ranks - 1);
	} else if (o->epochs) {
		if (show_epochs(f, o->path, analysis, &o->epoch_choice, o->json, &e) < 0)
			rc = bad(&e);
	} else if (!o->events) {
		show_summary(analysis, mpix_info(f), o->path);
	} else if (show_events(f, analysis, &o->choice, &e) < 0) {
		rc = bad(&e);
	}
	cJSON_Delete(analysis);
	return rc;
}

static int show(int argc, char **argv)
{
	struct options o;
	struct mpix_file *f;
	struct error e;
	int rc = parse(&o, argc, argv);
	if (rc != 0)
		return rc;
	if (mpix_open(o.path, &f, &e) < 0)
		return bad(&e);
	rc = show_open(&o, f);
	mpix_close(f);
	return rc;
}

const struct command cmd_show = {"show", show, "print what a trace contains, as text or JSON",
				 "show FILE.mpix [--json] [--events [--rank R] [--from S] [--to S] [--limit N]] "
				 "[--epochs [--buffers N,...]]"};
