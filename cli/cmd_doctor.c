/* cmd_doctor.c - `mpitrace doctor [--json]`: is this installation right, and if not, what to do. `--try NODES`: a
 * traced step on each. `--policy FACTS`: what a job would get. Only looks, changes nothing. Exit code 1 when a check is
 * BAD; warnings alone are no issue. */
#include "base/json_quote.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/print.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_text(const char *name, const struct verdict *v)
{
	static const char *const marks[] = {"ok  ", "warn", "BAD "};
	printf("%s  %-10s", marks[v->level], name);
	put_plain(stdout, v->what, sizeof(v->what));
	if (v->next[0] != '\0') {
		fputs("\n                -> ", stdout);
		put_plain(stdout, v->next, sizeof(v->next));
	}
	putchar('\n');
}

static void print_json(const char *name, const struct verdict *v, bool first)
{
	static const char *const levels[] = {"ok", "warn", "bad"};
	printf("%s\n{\"check\":", first ? "" : ",");
	json_quote_to(stdout, name);
	printf(",\"status\":\"%s\",\"what\":", levels[v->level]);
	json_quote_to(stdout, v->what);
	fputs(",\"next\":", stdout);
	json_quote_to(stdout, v->next);
	putchar('}');
}

static struct {
	bool json;
	unsigned rows, levels[3];
} output;

static void print_row(const char *name, const struct verdict *v)
{
	if (output.json)
		print_json(name, v, output.rows == 0);
	else
		print_text(name, v);
	output.rows++;
	output.levels[v->level]++;
	fflush(stdout);
}

static void print_node(const char *node, const struct verdict *v)
{
	char name[320];
	snprintf(name, sizeof(name), "try %s", node);
	print_row(name, v);
}

static int run_checks(bool try, char *const *nodes, int n)
{
	if (output.json)
		fputs("{\"schema\":\"mpitrace/doctor/1\",\"checks\":[", stdout);
	for (const struct doctor_check *c = doctor_checks; c->name != NULL; c++) {
		struct verdict v = {0};
		c->check(&v);
		print_row(c->name, &v);
	}
	if (try)
		doctor_try(nodes, n, print_node);
	if (output.json)
		printf("],\"warnings\":%u,\"bad\":%u}\n", output.levels[VERDICT_WARN], output.levels[VERDICT_BAD]);
	else
		printf("%u checks: %u bad, %u warnings\n", output.rows, output.levels[VERDICT_BAD],
		       output.levels[VERDICT_WARN]);
	return output.levels[VERDICT_BAD] > 0 ? EXIT_ISSUES : EXIT_DONE;
}

enum mode { MODE_CHECKS, MODE_POLICY, MODE_TRY };

static int doctor(int argc, char **argv)
{
	enum mode mode = MODE_CHECKS;
	const char *file = NULL;
	int i = 1;
	if (argc == 2 && strcmp(argv[1], "--step") == 0) /* what --try runs on a node, and nobody else */
		return doctor_step();
	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--json") == 0)
			output.json = true;
		else if (strcmp(argv[i], "--policy") == 0)
			mode = MODE_POLICY;
		else if (strcmp(argv[i], "--try") == 0)
			mode = MODE_TRY;
		else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
			file = argv[++i];
		else
			return usage_error("doctor", "unknown option \"%.64s\", or its value is missing", argv[i]);
	}
	if ((mode == MODE_CHECKS && i < argc) || (mode != MODE_POLICY && file != NULL))
		return usage_error("doctor", "facts and --config go with --policy, nodes with --try");
	if (mode == MODE_TRY && geteuid() == 0)
		return usage_error("doctor", "root's steps are never traced: run --try as an ordinary user");
	return mode == MODE_POLICY ? doctor_policy(file, argv + i, argc - i, output.json)
				   : run_checks(mode == MODE_TRY, argv + i, argc - i);
}

const struct command cmd_doctor = {"doctor", doctor, "check this installation and say how to repair it",
				   "doctor [--json] [--try [NODE ...]] [--policy [--config FILE] [FACT=VALUE ...]]"};
