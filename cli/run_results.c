/* run_results.c - see run.h. In: the step directory of a run that is over.  Out: DIR/NAME.mpic, .mpix, .html; lines on
 * standard error. */
#include "cli/run.h"
#include "base/atomic_file.h"
#include "base/error.h"

#include "base/shell_word.h"
#include "base/slurp.h"
#include "cli/cli.h"
#include "collect/untraced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FINISH_WAIT "60" /* seconds for the nodes' traces to be complete */

#define NAMES_MAX 1000

static void say_where(const struct run *r)
{
	if (r->request.quiet)
		return;
	char *word = shell_word(r->mpix);
	print_plain("mpitrace: report %s\n", r->html);
	print_plain("mpitrace: trace  %s  (mpitrace view %s)\n", r->mpix, word != NULL ? word : r->mpix);
	free(word);
}

/* DIR/NAME and what comes behind it, which nothing was when the run began: what is now is the program's own, and stays,
 * which is said. */
static void name_result(const struct run *r, const char *behind, char ret_path[RUN_RESULT_MAX])
{
	struct stat st;
	const char *dot = strrchr(behind, '.') != NULL ? strrchr(behind, '.') : behind;
	snprintf(ret_path, RUN_RESULT_MAX, "%s/%s%s", r->dir, r->name, behind);
	if (lstat(ret_path, &st) != 0)
		return;
	for (int i = 2; i < NAMES_MAX && lstat(ret_path, &st) == 0; i++)
		snprintf(ret_path, RUN_RESULT_MAX, "%s/%s%.*s.%d%s", r->dir, r->name, (int)(dot - behind), behind, i,
			 dot);
	print_plain("mpitrace run: %s/%s%s was made by somebody else while %s ran, and stays: this is %s\n", r->dir,
		    r->name, behind, r->launcher.program, ret_path);
}

/* The first reason, which is the worst; what may be none at all only where nothing was recorded. False: there is
 * none. */
static bool say_untraced(const struct run *r, bool recorded)
{
	struct untraced u;
	char ranks[PATH_MAX + 16];
	snprintf(ranks, sizeof(ranks), "%s/ranks", r->stepdir);
	untraced_read(ranks, &u);
	if (u.n == 0 || (recorded && !u.whys[0].failed))
		return false;
	print_plain("mpitrace run: %u process%s of %s ran untraced: %s\n", u.whys[0].processes,
		    u.whys[0].processes == 1 ? "" : "es", r->launcher.program, u.whys[0].why);
	return true;
}

/* What it recorded stood in there. */
static bool say_removed(const struct run *r)
{
	if (access(r->stepdir, F_OK) == 0 || errno != ENOENT)
		return false;
	print_plain("mpitrace run: %s was removed or renamed while %s ran, and the trace with it\n", r->stepdir,
		    r->launcher.program);
	return true;
}

/* Where the agent says that its trace is: not under its first name if somebody has removed or replaced it, and that is
 * said. Where it says nothing, it has that name. */
static void find_trace(const struct run *r, char *ret_mpic, size_t cap)
{
	char sealed[PATH_MAX + 16], path[PATH_MAX] = "";
	snprintf(ret_mpic, cap, "%s/%s.mpic", r->dir, r->name);
	snprintf(sealed, sizeof(sealed), "%s/ranks/sealed", r->stepdir);
	slurp(sealed, path, sizeof(path));
	if (path[0] == '\0' || strcmp(path, ret_mpic) == 0)
		return;
	print_plain("mpitrace run: %s was removed or replaced while %s ran: the trace is %s\n", ret_mpic,
		    r->launcher.program, path);
	snprintf(ret_mpic, cap, "%s", path);
}

/* By a limit of time or of memory, or by who wants no more. What it had begun goes. */
static void say_cut_short(const struct run *r, const char *mpic, int signal)
{
	char *trace = shell_word(mpic), *mpix = shell_word(r->mpix), *html = shell_word(r->html);
	atomic_file_sweep(r->mpix);
	atomic_file_sweep(r->html);
	if (trace != NULL && mpix != NULL && html != NULL)
		print_plain("mpitrace run: signal %d ended the analysis, of which nothing is lost but its time: "
			    "mpitrace analyze %s -o %s --report %s\n",
			    signal, trace, mpix, html);
	free(trace);
	free(mpix);
	free(html);
}

void run_finish(struct run *r, int program_code)
{
	char mpic[PATH_MAX + NAME_MAX + 8];
	find_trace(r, mpic, sizeof(mpic));
	bool recorded = access(mpic, R_OK) == 0;
	bool said = say_untraced(r, recorded) || (!recorded && (say_removed(r) || r->agent_failed));
	if (!recorded && !said)
		launcher_explain(&r->launcher, program_code);
	if (!recorded)
		return;
	name_result(r, ".mpix", r->mpix);
	name_result(r, ".html", r->html);
	char *const words[] = {r->self, WORD("analyze"), mpic, WORD("-o"), r->mpix, WORD("--report"), r->html, NULL};
	int code = run_wait(run_start(words));
	if (code == EXIT_DONE || code == EXIT_PARTIAL)
		say_where(r);
	else if (code > 128)
		say_cut_short(r, mpic, code - 128);
}

/* ---- of srun --mpitrace ---- */

/* Why the program ended, as who ran its launcher knows it, beside the traces of the plugin's agents. Of what Slurm
 * itself ended it knows more. */
static void tell_finisher(const char *step, int signal)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/mpitrace-outcome", step);
	int fd = signal != 0 ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666) : -1;
	if (fd >= 0) {
		dprintf(fd, "signal %d\n", signal);
		close(fd);
	}
}

/* The first name in the directory of path that begins so is put behind path; false: there is none, or no room. */
static bool descend(char path[PATH_MAX], const char *prefix)
{
	DIR *dir = opendir(path);
	const struct dirent *entry = NULL;
	size_t len = strlen(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			break;
	bool found =
		entry != NULL && snprintf(path + len, PATH_MAX - len, "/%s", entry->d_name) < (int)(PATH_MAX - len);
	if (dir != NULL)
		closedir(dir);
	return found;
}

static const char *ending_of(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot != NULL ? dot : "";
}

/* report.html becomes NAME.html, job.mpix NAME.mpix; n1.mpic NAME.mpic, or NAME.n1.mpic where there are more. */
static void adopt(struct run *r, const char *step, const char *name, bool several)
{
	char from[PATH_MAX + NAME_MAX + 2], behind[NAME_MAX + 2], other[RUN_RESULT_MAX];
	const char *ending = ending_of(name);
	char *to = strcmp(ending, ".mpix") == 0 ? r->mpix : strcmp(ending, ".html") == 0 ? r->html : other;
	several &= strcmp(ending, ".mpic") == 0;
	snprintf(from, sizeof(from), "%s/%s", step, name);
	snprintf(behind, sizeof(behind), "%s%s", several ? "." : "", several ? name : ending);
	if (strcmp(name, "log.txt") == 0 || strcmp(name, "mpitrace-outcome") == 0 ||
	    strcmp(name, "mpitrace-verdict") == 0) {
		unlink(from);
		return;
	}
	name_result(r, behind, to);
	if (rename(from, to) != 0)
		print_plain("mpitrace run: %s: cannot become %s: %s\n", from, to, strerror(errno));
}

static void adopt_all(struct run *r, const char *step)
{
	struct dirent **names;
	int n = scandir(step, &names, NULL, alphasort), traces = 0;
	for (int i = 0; i < n; i++)
		traces += strcmp(ending_of(names[i]->d_name), ".mpic") == 0;
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.')
			adopt(r, step, names[i]->d_name, traces > 1);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

void run_finish_step(struct run *r, int program_code, int signal)
{
	char job[PATH_MAX], step[PATH_MAX];
	snprintf(job, sizeof(job), "%s", r->stepdir);
	bool found = descend(job, "mpitrace-");
	snprintf(step, sizeof(step), "%s", job);
	found = found && descend(step, "step-");
	if (found)
		tell_finisher(step, signal);
	char *const words[] = {r->self, WORD("finish"), step, WORD("--wait"), WORD(FINISH_WAIT), NULL};
	int code = found ? run_wait(run_start(words)) : EXIT_BAD_INPUT;
	if (code == EXIT_DONE || code == EXIT_PARTIAL)
		adopt_all(r, step);
	rmdir(step);
	rmdir(job);
	rmdir(r->stepdir);
	if (r->mpix[0] != '\0' && access(r->mpix, F_OK) == 0)
		say_where(r);
	else if (access(r->stepdir, F_OK) != 0)
		launcher_explain(&r->launcher, program_code);
	if (access(r->stepdir, F_OK) == 0)
		print_plain("mpitrace run: %s holds what could not be finished\n", r->stepdir);
}
