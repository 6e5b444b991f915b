/* cmd_doctor.c - `mpitrace doctor [--json]`: is this installation right, and if not, what to do. `--policy FACTS`: what
 * a job would get. Only looks, changes nothing. Exit code 1 when a check is BAD; warnings alone are no issue. */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	check_fn *check;
} checks[] = {
	{"tracer", check_front},     {"open mpi", check_openmpi}, {"mpich", check_mpich},
	{"preload", check_preload},  {"clock", check_clock},	  {"viewer", check_viewer},
	{"slurm", check_slurm},	     {"plugin", check_plugin},	  {"plugstack", check_plugstack},
	{"slurmd", check_slurmd},    {"spool", check_spool},	  {"programs", check_programs},
	{"pyxis", check_containers}, {"room", check_room},	  {"late", check_late},
	{"policy", check_policy},
};

#define NCHECKS (sizeof(checks) / sizeof(checks[0]))

void verdict_say(struct verdict *v, enum verdict_level level, const char *next, const char *fmt, ...)
{
	va_list ap;
	v->level = level;
	snprintf(v->next, sizeof(v->next), "%s", next != NULL ? next : "");
	va_start(ap, fmt);
	vsnprintf(v->what, sizeof(v->what), fmt, ap);
	va_end(ap);
}

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
	put_json_text(stdout, name);
	printf(",\"status\":\"%s\",\"what\":", levels[v->level]);
	put_json_text(stdout, v->what);
	fputs(",\"next\":", stdout);
	put_json_text(stdout, v->next);
	putchar('}');
}

static int run_checks(bool json)
{
	unsigned count[3] = {0};
	if (json)
		fputs("{\"schema\":\"mpitrace/doctor/1\",\"checks\":[", stdout);
	for (size_t i = 0; i < NCHECKS; i++) {
		struct verdict v = {0};
		checks[i].check(&v);
		count[v.level]++;
		if (json)
			print_json(checks[i].name, &v, i == 0);
		else
			print_text(checks[i].name, &v);
	}
	if (json)
		printf("],\"warnings\":%u,\"bad\":%u}\n", count[VERDICT_WARN], count[VERDICT_BAD]);
	else
		printf("%zu checks: %u bad, %u warnings\n", NCHECKS, count[VERDICT_BAD], count[VERDICT_WARN]);
	return count[VERDICT_BAD] > 0 ? EXIT_ISSUES : EXIT_DONE;
}

static int doctor(int argc, char **argv)
{
	bool json = false, policy = false;
	const char *file = NULL;
	int i = 1;
	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--policy") == 0)
			policy = true;
		else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
			file = argv[++i];
		else
			return usage_error("doctor", "unknown option \"%.64s\", or one without its value", argv[i]);
	}
	if (!policy && (i < argc || file != NULL))
		return usage_error("doctor", "facts and --config go with --policy");
	return policy ? doctor_policy(file, argv + i, argc - i, json) : run_checks(json);
}

const struct command cmd_doctor = {"doctor", doctor, "is this installation right, and if not, what to do",
				   "doctor [--json] [--policy [--config FILE] [FACT=VALUE ...]]"};
