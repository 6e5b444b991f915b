/* cmd_check.c - `mpitrace check FILE.mpix --protocol SPEC`: do the messages of a trace keep to a protocol? */
#include "base/json.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/print.h"
#include "cli/show_text.h"
#include "postproc/protocol/check.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>

#define SHOWN 20u /* messages and rules */

struct options {
	const char *path, *protocol;
	unsigned level;
	bool json;
};

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {
		{"protocol", required_argument, NULL, 'p'},
		{"level", required_argument, NULL, 'l'},
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	int key;
	opterr = 0;
	*o = (struct options){0};
	while ((key = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (key == 'p')
			o->protocol = optarg;
		else if (key == 'j')
			o->json = true;
		else if (key == 'l' && optarg[0] >= '0' && optarg[0] < '0' + SPEC_LEVELS && optarg[1] == 0)
			o->level = (unsigned)(optarg[0] - '0');
		else if (key == 'l')
			return usage_error("check", "--level %s: a level is 0, 1, 2 or 3", optarg);
		else
			return usage_error("check", "unknown option, or its value is missing");
	}
	if (o->protocol == NULL && optind + 2 == argc)
		o->protocol = argv[optind + 1];
	else if (optind + 1 != argc)
		return usage_error("check", "give one FILE.mpix");
	if (o->protocol == NULL)
		return usage_error("check", "--protocol FILE is missing: the specification to check against");
	o->path = argv[optind];
	return 0;
}

/* ---- text ---- */

static const struct {
	const char *colour, *sign, *means;
} colours[] = {
	{"red", "x", "no rule allows it, and some forbid it"},
	{"orange", "~", "not as this level requires"},
	{"blue", "o", "no rule applies"},
	{"green", "+", "conforms"},
};

static const char *sign_of(const char *colour)
{
	for (size_t i = 0; i < sizeof(colours) / sizeof(*colours); i++)
		if (strcmp(colours[i].colour, colour) == 0)
			return colours[i].sign;
	return "?";
}

static double unreceived(const cJSON *r)
{
	return json_number_or(r, "unreceived", 0);
}

static void put_colours(const cJSON *r)
{
	double n = json_number_or(r, "messages", 0), unknown = json_number_or(r, "unknown_lines", 0);
	printf("%s, level %.0f\n", fmt_many(n, "message").s, json_number_or(r, "level", 0));
	for (size_t i = 0; i < sizeof(colours) / sizeof(*colours); i++) {
		double count = json_number_or(json_item(r, "colours"), colours[i].colour, 0);
		if (count > 0)
			printf("  %s %-7s %12s   %s\n", colours[i].sign, colours[i].colour,
			       fmt_plain(fmt_count(count)).s, colours[i].means);
	}
	if (unreceived(r) > 0)
		printf("  %s sent and not received, as far as the record tells: not checked\n",
		       fmt_many(unreceived(r), "more message").s);
	if (unknown > 0)
		printf("  of %s the source lines are not known: rules that name lines do not match them (compile with "
		       "-g)\n",
		       fmt_plain(fmt_count(unknown)).s);
}

static void put_rules(const cJSON *r)
{
	unsigned n = 0;
	printf("\nRules      line      applied      matched     violated\n");
	for (const cJSON *x = json_first(r, "lines"); x != NULL && n < SHOWN; x = x->next, n++) {
		printf("     %10.0f %12.0f %12.0f %12.0f   ", json_number_or(x, "line", 0),
		       json_number_or(x, "applied", 0), json_number_or(x, "matched", 0),
		       json_number_or(x, "violated", 0));
		put_plain(stdout, json_text(x, "text", ""), 60);
		putchar('\n');
	}
	if (json_count(r, "lines") > n)
		printf("  ... %zu more: --json lists all\n", json_count(r, "lines") - n);
}

static void put_end(const cJSON *x, const char *rank, const char *line, const char *event)
{
	double number = json_number_or(x, line, -1);
	printf("%.0f", json_number_or(x, rank, 0));
	if (number >= 0)
		printf(":%.0f", number);
	printf(" (event %.0f)", json_number_or(x, event, 0));
}

/* Why it does not conform: the rules that forbid it; else how many allow it, where a level wants one. */
static void put_reason(const cJSON *x)
{
	const char *comma = "   violates line ";
	for (const cJSON *l = json_first(x, "lines"); l != NULL; l = l->next) {
		if (strcmp(json_text(l, "verdict", ""), "violation") != 0)
			continue;
		printf("%s%.0f", comma, json_number_or(l, "line", 0));
		comma = ", ";
	}
	double allow = json_number_or(x, "a", 0);
	if (json_number_or(x, "l", 0) == 0 && allow == 0)
		fputs("   no rule allows it", stdout);
	else if (json_number_or(x, "l", 0) == 0)
		printf("   %.0f rules allow it, not one", allow);
}

static void put_results(const cJSON *r)
{
	double bad = json_number_or(json_item(r, "colours"), "red", 0) +
		     json_number_or(json_item(r, "colours"), "orange", 0);
	unsigned n = 0;
	if (bad > 0)
		printf("\nMessages that do not conform: rank:source line (event of the rank)\n");
	for (const cJSON *x = json_first(r, "results"); x != NULL && n < SHOWN && n < bad; x = x->next, n++) {
		const char *colour = json_text(x, "colour", "?");
		printf("  %s %-7s", sign_of(colour), colour);
		put_end(x, "src", "send_line", "send_event");
		fputs(" -> ", stdout);
		put_end(x, "dst", "recv_line", "recv_event");
		put_reason(x);
		putchar('\n');
	}
	if (bad > n)
		printf("  ... %.0f more: --json lists the first %u\n", bad - n, CHECK_RESULTS_MAX);
}

/* Are all messages in the record? Of an imported one nobody knows. */
static bool is_whole(const cJSON *coverage)
{
	const cJSON *unmatched = json_item(coverage, "unmatched");
	double missing = json_number(unmatched, "partner_missing");
	return isnan(missing) ||
	       (json_number_or(coverage, "ranks_seen", 0) >= json_number_or(coverage, "ranks_expected", 0) &&
		json_number_or(coverage, "events_lost", 0) + missing + json_number_or(unmatched, "record_cut", 0) == 0);
}

/* What was not recorded was not checked. */
static void put_text(const cJSON *r, bool conforms, const cJSON *coverage)
{
	put_colours(r);
	put_rules(r);
	put_results(r);
	if (!conforms)
		puts("\nThe trace does not conform.");
	else if (is_whole(coverage) && unreceived(r) == 0)
		puts("\nThe trace conforms.");
	else if (is_whole(coverage))
		puts("\nWhat was received conforms; not all that was sent was received.");
	else
		puts("\nWhat was recorded conforms; not all was:");
	for (const cJSON *x = is_whole(coverage) ? NULL : json_first(coverage, "reasons"); x != NULL; x = x->next) {
		fputs("  ", stdout);
		show_words(cJSON_IsString(x) ? x->valuestring : "", 2, 4);
	}
}

/* ---- the command ---- */

static int bad(const struct error *e, int code)
{
	fprintf(stderr, "mpitrace check: %s\n", e->text);
	return code;
}

static int check_open(const struct options *o, struct mpix_file *f, const struct spec *spec)
{
	struct error e;
	bool conforms;
	cJSON *result, *analysis = cJSON_Parse(mpix_analysis(f));
	int code = check_trace(f, o->path, analysis, spec, o->level, &result, &conforms, &e);
	const cJSON *coverage = json_item(analysis, "coverage");
	if (code < 0) {
		cJSON_Delete(analysis);
		return bad(&e, code == -ERANGE ? EXIT_USAGE : EXIT_BAD_INPUT);
	}
	bool whole = is_whole(coverage) && unreceived(result) == 0;
	if (o->json) {
		char *text = json_print(result);
		puts(text != NULL ? text : "null");
		cJSON_free(text);
	} else {
		put_text(result, conforms, coverage);
	}
	cJSON_Delete(result);
	cJSON_Delete(analysis);
	return !conforms ? EXIT_ISSUES : whole ? EXIT_DONE : EXIT_PARTIAL;
}

static int check(int argc, char **argv)
{
	struct options o;
	struct mpix_file *f;
	struct spec *spec;
	struct error e;
	int rc = parse(&o, argc, argv);
	if (rc != 0)
		return rc;
	if (spec_read(o.protocol, &spec, &e) < 0)
		return bad(&e, EXIT_USAGE);
	if (mpix_open(o.path, &f, &e) < 0) {
		spec_free(spec);
		return bad(&e, EXIT_BAD_INPUT);
	}
	rc = check_open(&o, f, spec);
	mpix_close(f);
	spec_free(spec);
	return rc;
}

const struct command cmd_check = {"check", check, "check the messages of a trace against a protocol (docs/PROTOCOL.md)",
				  "check FILE.mpix --protocol SPEC [--level 0..3] [--json]"};
