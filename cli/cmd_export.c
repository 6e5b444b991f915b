/* cmd_export.c - `mpitrace export FILE.mpix --to FORMAT -o PATH`: a trace as other tools read it. */
#include "cli/cli.h"
#include "cli/losses.h"
#include "base/units.h"
#include "reports/export/export.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	const char *path, *to;
	const struct export_format *format;
	struct export_choice choice;
	bool json;
};

/* Which signal asked to stop. */
static volatile sig_atomic_t stopped;

static void stop(int number)
{
	stopped = number;
}

static int parse_option(struct options *o, int key, const char *value)
{
	switch (key) {
	case 't':
		o->to = value;
		o->format = export_format_find(value);
		return o->format != NULL
			       ? 0
			       : usage_error("export", "--to %.64s: give one of %s", value, export_format_names());
	case 'o':
		o->choice.path = value;
		return 0;
	case 'r':
		return export_ranks_parse(value, &o->choice.ranks) == 0
			       ? 0
			       : usage_error("export", "--ranks %.64s: give ranks such as 0-3,8", value);
	case 'b':
	case 'e':
		return option_seconds(value, key == 'b' ? &o->choice.from_ns : &o->choice.to_ns) == 0
			       ? 0
			       : usage_error("export", "%.64s: not a number of seconds", value);
	case 'w':
		if (strcmp(value, "mpi") != 0 && strcmp(value, "wait") != 0)
			return usage_error("export", "--weight %.64s: give mpi or wait", value);
		o->choice.waits = strcmp(value, "wait") == 0;
		return 0;
	case 'T':
		o->choice.tables = true;
		return 0;
	case 'L':
		o->choice.large = true;
		return 0;
	case 's':
		o->choice.skip_damaged = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	default:
		return usage_error("export", "unknown option, or its value is missing");
	}
}

static int check(struct options *o, int argc, char **argv)
{
	if (o->format == NULL)
		return usage_error("export", "--to is missing: give one of %s", export_format_names());
	if (o->choice.path == NULL)
		return usage_error("export", "-o PATH is missing");
	if (optind + 1 != argc)
		return usage_error("export", "give one FILE.mpix");
	if (o->choice.from_ns != INT64_MIN && o->choice.from_ns >= o->choice.to_ns)
		return usage_error("export", "--since is not before --until");
	if (o->choice.tables && !export_takes_tables(o->format))
		return usage_error("export", "--tables applies to --to json only");
	if (o->choice.waits && strcmp(o->to, "folded") != 0)
		return usage_error("export", "--weight applies to --to folded only");
	o->path = argv[optind];
	return 0;
}

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {
		{"to", required_argument, NULL, 't'},
		{"output", required_argument, NULL, 'o'},
		{"ranks", required_argument, NULL, 'r'},
		{"since", required_argument, NULL, 'b'},
		{"until", required_argument, NULL, 'e'},
		{"tables", no_argument, NULL, 'T'},
		{"weight", required_argument, NULL, 'w'},
		{"large", no_argument, NULL, 'L'},
		{"skip-damaged", no_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	int key, rc = 0;
	opterr = 0;
	*o = (struct options){.choice = {.from_ns = INT64_MIN, .to_ns = INT64_MAX}};
	while (rc == 0 && (key = getopt_long(argc, argv, "o:", names, NULL)) != -1)
		rc = parse_option(o, key, optarg);
	return rc == 0 ? check(o, argc, argv) : rc;
}

static uint64_t damaged(const struct export_counts *n)
{
	return n->events_damaged + n->messages_damaged + n->waits_damaged;
}

static void print_json(FILE *out, const struct options *o, const struct export_counts *n)
{
	char bytes[32] = "null"; /* of a pipe nobody knows */
	if (n->bytes > 0)
		snprintf(bytes, sizeof(bytes), "%" PRIu64, n->bytes);
	fprintf(out,
		"{\"schema\":\"mpitrace/export/1\",\"format\":\"%s\",\"bytes\":%s,\"events\":%" PRIu64
		",\"messages\":%" PRIu64 ",\"waits\":%" PRIu64 ",\"lanes\":%" PRIu64 ",\"collectives\":%" PRIu64
		",\"rma\":%" PRIu64 ",\"io\":%" PRIu64,
		o->to, bytes, n->events, n->messages, n->waits, n->lanes, n->collectives, n->rma, n->io);
	fprintf(out,
		",\"open\":{\"calls\":%" PRIu64 ",\"seconds\":%.9f,\"left_out\":%" PRIu64
		"},\"not_chosen\":{\"events\":%" PRIu64 ",\"messages\":%" PRIu64 "},\"damaged\":{\"events\":%" PRIu64
		",\"messages\":%" PRIu64 ",\"waits\":%" PRIu64 "},\"left_out\":{\"count\":%" PRIu64
		",\"what\":\"%s\"}}\n",
		n->open, (double)n->open_ns / 1e9, n->open_unknown, n->events_outside, n->messages_outside,
		n->events_damaged, n->messages_damaged, n->waits_damaged, n->left_out,
		n->left_out_what != NULL ? n->left_out_what : "");
}

static void print_text(FILE *out, const struct options *o, const struct export_counts *n)
{
	fprintf(out, "%s: ", o->choice.path);
	if (n->bytes > 0)
		fprintf(out, "%s, ", fmt_plain(fmt_bytes((double)n->bytes)).s);
	fprintf(out, "%s", fmt_plain(fmt_many((double)n->events, "event")).s);
	fprintf(out, ", %s", fmt_plain(fmt_many((double)n->messages, "message")).s);
	fprintf(out, ", %s\n", fmt_plain(fmt_many((double)n->waits, "wait state")).s);
	if (n->open > 0)
		fprintf(out, "%s never ended: events to the end of their rank, %s in all\n",
			fmt_many((double)n->open, "call").s, fmt_plain(fmt_time((double)n->open_ns / 1e9)).s);
	if (n->open_unknown > 0)
		fprintf(out, "left out, because nobody knows when they began or ended: %s that never ended\n",
			fmt_many((double)n->open_unknown, "call").s);
	if (n->left_out > 0)
		fprintf(out, "left out, because the format cannot hold them: %" PRIu64 " %s\n", n->left_out,
			n->left_out_what);
	if (damaged(n) > 0)
		fprintf(stderr,
			"mpitrace export: damaged and left out: %" PRIu64 " events, %" PRIu64 " messages, %" PRIu64
			" wait states; copy the file again or analyse again\n",
			n->events_damaged, n->messages_damaged, n->waits_damaged);
}

/* What was asked wrongly, what was read, and what could not be written are told apart. */
static int exit_code(int code)
{
	if (code == -EINVAL || code == -EEXIST || code == -E2BIG)
		return EXIT_USAGE;
	return code == -EBADMSG || code == -ENOENT || code == -EACCES ? EXIT_BAD_INPUT : EXIT_PARTIAL;
}

/* Not those that are ignored, as of nohup. */
static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (signal(numbers[i], stop) == SIG_IGN)
			signal(numbers[i], SIG_IGN);
}

static int export(int argc, char **argv)
{
	struct options o;
	struct export_counts counts;
	struct error e = {{0}};
	int rc = parse(&o, argc, argv);
	if (rc != 0)
		return rc;
	o.choice.stop = &stopped;
	catch_signals();
	rc = export_file(o.path, o.format, &o.choice, &counts, &e);
	if (rc == -EINTR && stopped != 0) { /* what was begun is removed: now die as one dies of it */
		signal(stopped, SIG_DFL);
		raise(stopped);
	}
	if (rc < 0) {
		if (e.text[0] == '\0') /* a format that only has the code of its failed write */
			fail(&e, rc, "%s: cannot write: %s", o.choice.path, strerror(-rc));
		fprintf(stderr, "mpitrace export: %s\n", e.text);
		return exit_code(rc);
	}
	losses_say("export", o.path);
	FILE *out = strcmp(o.choice.path, "-") == 0 ? stderr : stdout; /* what is written has the other one */
	if (o.json)
		print_json(out, &o, &counts);
	else
		print_text(out, &o, &counts);
	return damaged(&counts) > 0 ? EXIT_PARTIAL : EXIT_DONE;
}

const struct command cmd_export = {
	"export", export, "convert a trace for other tools",
	"export FILE.mpix --to FORMAT -o PATH [--ranks R-R,...] [--since S] [--until S] [--tables] [--weight mpi|wait] "
	"[--large] [--skip-damaged] [--json]"};
