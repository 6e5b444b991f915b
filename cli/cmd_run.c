/* cmd_run.c - trace a program without Slurm: one step directory, one agent, the program, the analysis.
 * In: a command line.  Out: DIR/NAME.mpic, DIR/NAME.mpix, DIR/NAME.html; the exit code is the program's.
 * In an allocation of Slurm srun --mpitrace does the tracing, and its files get these names. */
#include "base/path.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "cli/run_group.h"
#include "cli/run_signals.h"

#include "base/directories.h"
#include "base/error.h"
#include "base/tick.h"
#include "collect/untraced.h"
#include "format/layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define NAMES_MAX 1000
#define BASE_MAX (REQUEST_NAME_MAX - 1)
#define RANKS_DIGITS 9 /* of a number that is an int */

/* What --mpitrace= takes as well. */
static int parse_request(struct run *r, const struct request_key *key, const char *value)
{
	struct error e;
	if (request_set(key, value, &r->request, &e) < 0)
		return usage_error("run", "--%s: %s", key->name, e.text);
	if (strchr(r->request.name, '/') != NULL || r->request.name[0] == '.')
		return usage_error("run", "--name: \"%.64s\" is not a file name", value);
	return 0;
}

/* One option; returns how many words it is, or EXIT_USAGE as a negative number. */
static int parse_option(struct run *r, const char *word, const char *value)
{
	const struct request_key *key = strncmp(word, "--", 2) == 0 ? request_key(word + 2)
					: strcmp(word, "-o") == 0   ? request_key("out")
								    : NULL;
	const char **text = strcmp(word, "-n") == 0 || strcmp(word, "-np") == 0 ? &r->ranks
			    : strcmp(word, "--mpirun") == 0			? &r->mpirun_args
										: NULL;
	if (strcmp(word, "--oversubscribe") == 0) {
		r->oversubscribe = true;
		return 1;
	}
	if (text == NULL && (key == NULL || !key->of_run))
		return -usage_error("run", "unknown option \"%.64s\"", word);
	if (value == NULL && (text != NULL || key->takes_value))
		return -usage_error("run", "%.64s needs a value", word);
	if (text != NULL) {
		*text = value;
		return 2;
	}
	int wrong = parse_request(r, key, key->takes_value ? value : NULL);
	return wrong != 0 ? -wrong : key->takes_value ? 2 : 1;
}

static int parse(struct run *r, int argc, char **argv)
{
	int i = 1, words;
	for (; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i += words) {
		words = parse_option(r, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
		if (words < 0)
			return -words;
	}
	if (i < argc && strcmp(argv[i], "--") == 0)
		i++;
	if (i >= argc)
		return usage_error("run", "no program given");
	if (r->ranks != NULL && (strlen(r->ranks) > RANKS_DIGITS || atoi(r->ranks) < 1 ||
				 strspn(r->ranks, "0123456789") != strlen(r->ranks)))
		return usage_error("run", "-n needs a number of ranks, not \"%.64s\"", r->ranks);
	if (r->oversubscribe && r->ranks == NULL)
		return usage_error("run", "--oversubscribe needs -n: it is an option of the launcher");
	r->program = argv + i;
	return 0;
}

static bool is_taken(const struct run *r)
{
	static const char *const suffixes[] = {".mpic", ".mpix", ".html"};
	char path[PATH_MAX + NAME_MAX + 16];
	struct stat st;
	bool taken = false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s%s", r->dir, r->name, suffixes[i]);
		taken |= lstat(path, &st) == 0;
	}
	return taken;
}

/* What the layout has in one line, and a file is named after. */
static void without_controls(char *name)
{
	for (; *name != '\0'; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			*name = '_';
}

/* A name that nothing has yet; making the step directory reserves it. */
static int reserve(struct run *r, struct error *e)
{
	const char *out = r->request.out[0] != '\0' ? r->request.out : ".";
	char base[BASE_MAX + 1];
	snprintf(base, sizeof(base), "%.*s", BASE_MAX,
		 r->request.name[0] != '\0' ? r->request.name : path_name(r->program[0]));
	without_controls(base);
	int rc = directories_make(out);
	if (rc == 0 && realpath(out, r->dir) == NULL)
		rc = -errno;
	if (rc < 0)
		return fail(e, rc, "%s: cannot make the directory: %s", out, strerror(-rc));
	for (int i = 1; i < NAMES_MAX; i++) {
		if (i == 1)
			snprintf(r->name, sizeof(r->name), "%s", base);
		else
			snprintf(r->name, sizeof(r->name), "%s-%d", base, i);
		if (is_taken(r))
			continue;
		if (snprintf(r->stepdir, sizeof(r->stepdir), "%s/.%s.mpitrace", r->dir, r->name) >=
		    (int)sizeof(r->stepdir))
			return fail(e, -ENAMETOOLONG, "%s: name too long", r->dir);
		if (mkdir(r->stepdir, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			return fail(e, -errno, "%s: cannot write: %s", r->dir, strerror(errno));
	}
	return fail(e, -EEXIST, "%s: %d runs named \"%s\" are there; choose another --name", r->dir, NAMES_MAX, base);
}

static void describe(const struct run *r, struct layout *l)
{
	struct utsname here = {.nodename = "here"};
	int argc = 0;
	uname(&here);
	while (r->program[argc] != NULL)
		argc++;
	layout_set(l, LAYOUT_NODE, here.nodename);
	layout_set(l, LAYOUT_FILE, r->name);
	layout_set_number(l, LAYOUT_NODEID, 0);
	layout_set_number(l, LAYOUT_NNODES, 1);
	layout_set(l, LAYOUT_NTASKS, r->ranks != NULL ? r->ranks : "0");
	layout_set(l, LAYOUT_OUT, r->dir);
	layout_set(l, LAYOUT_MODE, r->request.profile ? "profile" : "events");
	layout_set_number(l, LAYOUT_BUDGET, r->request.budget_bytes);
	layout_set_number(l, LAYOUT_STACK, r->request.stack);
	if (r->request.sample[0] != '\0')
		layout_set(l, LAYOUT_SAMPLE, r->request.sample);
	layout_set_argv(l, r->program, argc);
	layout_set_number(l, LAYOUT_PARENT, (uint64_t)getpid());
}

static bool make_file(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd >= 0 && close(fd) == 0;
}

/* Where no file can be made any more, programs could not even be counted: `unsaid` is there before them. */
static int write_layout(const struct run *r, struct error *e)
{
	struct layout l = {0};
	int dir_fd = open(r->stepdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || !make_file(dir_fd, "exits") || mkdirat(dir_fd, "ranks", 0700) != 0 ||
	    !make_file(dir_fd, "ranks/" UNTRACED_UNSAID)) {
		int rc = fail(e, -errno, "%s: cannot write: %s", r->stepdir, strerror(errno));
		if (dir_fd >= 0)
			close(dir_fd);
		return rc;
	}
	describe(r, &l);
	int rc = layout_write(dir_fd, &l, e);
	layout_done(&l);
	close(dir_fd);
	return rc;
}

/* LD_PRELOAD goes behind what the user has there. */
static void set_environment(const struct run *r)
{
	if (r->launcher.by_plugin)
		return;
	char dir[PATH_MAX + 16], stack[16], *preload = NULL;
	const char *have = getenv("LD_PRELOAD");
	const char *tracer = tracer_path();
	snprintf(dir, sizeof(dir), "%s/ranks", r->stepdir);
	if (asprintf(&preload, "%s%s%s", have != NULL ? have : "", have != NULL && have[0] != '\0' ? ":" : "", tracer) <
	    0)
		return;
	setenv("LD_PRELOAD", preload, 1);
	setenv("MPITRACE_DIR", dir, 1);
	if (r->request.profile)
		setenv("MPITRACE_MODE", "profile", 1);
	if ((r->request.given & REQUEST_GAVE_STACK) != 0) {
		snprintf(stack, sizeof(stack), "%u", r->request.stack);
		setenv("MPITRACE_STACK", stack, 1);
	}
	free(preload);
}

/* To append to; the program may have put anything there. */
static FILE *open_exits(const char *path)
{
	struct stat st;
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1;
	FILE *f = ours ? fdopen(fd, "a") : NULL;
	if (f == NULL && fd >= 0)
		close(fd);
	return f;
}

/* Why the program ended, as who ran its launcher knows it (docs/STEPDIR.md): to our agent, before it ends. */
static void tell_agent(const struct run *r, int status)
{
	tick_choose();
	char path[PATH_MAX + 16];
	snprintf(path, sizeof(path), "%s/exits", r->stepdir);
	FILE *f = open_exits(path);
	if (f != NULL && run_signals_stopped_by() != 0)
		fprintf(f, "signal %d\n", run_signals_stopped_by());
	if (f != NULL) {
		fprintf(f, "launcher %d\nended %" PRIu64 "\n", status, tick_now());
		fclose(f);
	}
}

static void become_program(struct run *r, const sigset_t *blocked)
{
	as_called();
	set_environment(r);
	sigprocmask(SIG_SETMASK, blocked, NULL);
	_exit(run_become(r->launcher.words));
}

static int run_program(struct run *r, struct error *e)
{
	launcher_watch(&r->launcher);
	run_group_begin();
	fflush(NULL);
	sigset_t all, before; /* what comes now waits for who is to have it */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid_t pid = fork();
	if (pid < 0) { /* then it is the program's */
		run_group_end();
		pid = fork();
	}
	if (pid == 0)
		become_program(r, &before);
	int failed = pid < 0 ? -errno : 0;
	run_signals_pass(pid);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (failed < 0)
		return fail(e, failed, "cannot start \"%s\": %s", r->launcher.words[0], strerror(-failed));
	int status = run_wait_status(pid);
	run_signals_end();
	run_group_end();
	if (!r->launcher.by_plugin)
		tell_agent(r, status);
	return run_code_of(status);
}

/* What was asked for cannot be, wherever and whenever it is tried. */
static bool is_mistake(int code)
{
	return code == -ENOTDIR || code == -EEXIST || code == -ELOOP || code == -ENAMETOOLONG || code == -EINVAL;
}

/* No place for a trace is no reason to run nothing: a full disk, a folder that is not ours. `code` where it is a
 * mistake; else it comes back only if there is no such program. */
static int run_untraced(struct run *r, int code, const struct error *e)
{
	if (is_mistake(code))
		return code;
	print_plain("mpitrace run: %s; \"%s\" runs untraced\n", e->text, path_name(r->program[0]));
	snprintf(r->launcher.plugin_option, sizeof(r->launcher.plugin_option), "--mpitrace=off");
	as_called();
	return run_become(r->launcher.words);
}

/* Of processes that could leave no more (collect/untraced.h). */
static void remove_names(const char *ranks)
{
	const struct dirent *entry;
	DIR *d = opendir(ranks);
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strncmp(entry->d_name, UNTRACED_NAME, strlen(UNTRACED_NAME)) == 0)
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d != NULL)
		closedir(d);
}

static void remove_stepdir(const struct run *r)
{
	static const char unsaid[] = "ranks/" UNTRACED_UNSAID;
	static const char *const names[] = {"layout",	   ".layout",	     "done", "exits", "ranks/sealed",
					    "ranks/exits", "ranks/untraced", unsaid, NULL};
	char path[PATH_MAX + 32];
	for (int i = 0; names[i] != NULL; i++) {
		snprintf(path, sizeof(path), "%s/%s", r->stepdir, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/ranks", r->stepdir);
	remove_names(path);
	if (rmdir(path) != 0 && errno != ENOENT)
		print_plain("mpitrace run: %s holds what could not be written\n", path);
	else
		rmdir(r->stepdir);
}

/* What was asked for, in the plugin's words; the files get their places and names afterwards. */
static void write_plugin_option(struct run *r)
{
	const struct request *q = &r->request;
	char *to = r->launcher.plugin_option;
	size_t max = sizeof(r->launcher.plugin_option);
	int n = snprintf(to, max, "--mpitrace=out=%s,report=none%s%s", r->stepdir, q->profile ? ",profile" : "",
			 q->quiet ? ",quiet" : "");
	if ((q->given & REQUEST_GAVE_STACK) != 0)
		n += snprintf(to + n, max - (size_t)n, ",stack=%u", q->stack);
	if ((q->given & REQUEST_GAVE_BUDGET) != 0)
		n += snprintf(to + n, max - (size_t)n, ",budget=%" PRIu64, q->budget_bytes);
	if ((q->given & REQUEST_GAVE_SAMPLE) != 0)
		snprintf(to + n, max - (size_t)n, ",sample=%s", q->sample);
}

/* In an allocation srun may start ranks on other nodes, where our agent is blind: the Slurm plugin has one a node. */
static int run_by_plugin(struct run *r, struct error *e)
{
	if (strchr(r->stepdir, ',') != NULL) {
		rmdir(r->stepdir);
		return fail(e, -EINVAL, "%s: srun --mpitrace takes no path with a comma; choose another --out", r->dir);
	}
	write_plugin_option(r);
	int code = run_program(r, e);
	if (code < 0)
		rmdir(r->stepdir);
	else
		run_finish_step(r, code, run_signals_stopped_by());
	return code;
}

static int run_here(struct run *r, struct error *e)
{
	int code = write_layout(r, e);
	if (code < 0) {
		remove_stepdir(r);
		return run_untraced(r, code, e);
	}
	run_agent_start(r);
	code = run_program(r, e);
	run_agent_end(r);
	if (code >= 0)
		run_finish(r, code);
	remove_stepdir(r);
	return code;
}

static int run(int argc, char **argv)
{
	struct run r = {.ranks = NULL};
	struct error e;
	int code = parse(&r, argc, argv);
	if (code == 0)
		code = launcher_choose(&r.launcher, r.ranks, r.mpirun_args, r.oversubscribe, r.program);
	if (code != 0)
		return code;
	path_self(r.self, sizeof(r.self));
	code = reserve(&r, &e);
	if (code < 0)
		code = run_untraced(&r, code, &e);
	else
		code = (r.launcher.by_plugin ? run_by_plugin : run_here)(&r, &e);
	if (code < 0)
		print_plain("mpitrace run: %s\n", e.text);
	launcher_done(&r.launcher);
	return code < 0 ? EXIT_BAD_INPUT : code;
}

const struct command cmd_run = {"run", run, "trace a program without Slurm; its exit code is the program's",
				"run [-n N]" REQUEST_RUN_USAGE " [--mpirun \"ARGS\"] [--oversubscribe] -- PROG [ARGS]"};
