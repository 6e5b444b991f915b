/* launcher.c - see launcher.h. An MPI library's ranks find each other only when that library's launcher started
 * them; with another one each believes to be alone. So the library decides, then PATH, then the place where the
 * library lies. */
#include "cli/launcher.h"
#include "base/error.h"
#include "base/path.h"
#include "cli/capture.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_MAX 16384
#define HELP_MAX (256u << 10)
#define STEPS_MAX 0xfffffff0u /* SLURM_MAX_NORMAL_STEP_ID */

#define WORD(text) ((char *)(uintptr_t)(text))

/* What there is to know about an MPI library's launcher. */
static const struct flavour {
	enum mpi_kind kind;
	const char *name, *package;
	const char *commands[6];   /* in PATH, then in ../bin of the library */
	const char *signs[5];	   /* what --version says */
	const char *srun_mpi;	   /* srun's plugins that start it, by the beginning of their names */
	const char *oversubscribe; /* NULL: its launcher counts no slots */
} flavours[] = {
	{MPI_OPEN,
	 "Open MPI",
	 "openmpi-bin",
	 {"mpirun", "mpirun.openmpi", "mpiexec", "orterun", "prterun", NULL},
	 {"Open MPI", "OpenRTE", "PRRTE", "prte", NULL},
	 "pmix",
	 "--oversubscribe"},
	{MPI_MPICH,
	 "MPICH",
	 "mpich",
	 {"mpirun", "mpirun.mpich", "mpiexec", "mpiexec.hydra", "mpiexec.mpich", NULL},
	 {"HYDRA", "MPICH", "Intel", "MVAPICH", NULL},
	 "pmi2",
	 NULL},
};
#define FLAVOURS (sizeof(flavours) / sizeof(flavours[0]))

static const struct flavour *flavour_of(enum mpi_kind kind)
{
	for (size_t i = 0; i < FLAVOURS; i++)
		if (flavours[i].kind == kind)
			return &flavours[i];
	return NULL;
}

/* Is it a program? 0, or why not. */
static int try_path(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return ENOENT;
	return S_ISDIR(st.st_mode) ? EISDIR : access(path, X_OK) == 0 ? 0 : EACCES;
}

/* As execvp looks: 0, or what was wrong with the file that came closest. */
static int find_in_path(const char *name, char *to)
{
	const char *dir = getenv("PATH"), *end;
	int rc = ENOENT;
	if (strchr(name, '/') != NULL)
		return snprintf(to, PATH_MAX, "%s", name) < PATH_MAX ? try_path(to) : ENOENT;
	for (dir = dir != NULL ? dir : "/usr/local/bin:/usr/bin:/bin"; *name != '\0'; dir = end + 1) {
		end = strchrnul(dir, ':');
		int len = (int)(end - dir);
		int now = snprintf(to, PATH_MAX, "%.*s/%s", len > 0 ? len : 1, len > 0 ? dir : ".", name) < PATH_MAX
				  ? try_path(to)
				  : ENOENT;
		if (now == 0)
			return 0;
		if (now == EACCES)
			rc = EACCES;
		if (*end == '\0')
			break;
	}
	return rc;
}

static int find_program(struct launcher *l)
{
	switch (find_in_path(l->program, l->path)) {
	case 0:
		return 0;
	case EISDIR:
		print_plain("mpitrace run: %s is a directory, not a program\n", l->program);
		return 126;
	case EACCES:
		print_plain("mpitrace run: %s is not executable; a script needs: chmod +x %s\n", l->program,
			    l->program);
		return 126;
	default:
		print_plain("mpitrace run: program \"%s\" not found%s\n", l->program,
			    strchr(l->program, '/') != NULL ? "" : " in PATH; one that lies here is ./NAME");
		return 127;
	}
}

static bool says_one_of(const char *text, const char *const *signs)
{
	for (; *signs != NULL; signs++)
		if (strstr(text, *signs) != NULL)
			return true;
	return false;
}

static const struct flavour *flavour_of_command(const char *path)
{
	char answer[ANSWER_MAX];
	char *const words[] = {WORD(path), WORD("--version"), NULL};
	if (capture(words, answer, sizeof(answer)) != 0)
		return NULL;
	for (size_t i = 0; i < FLAVOURS; i++)
		if (says_one_of(answer, flavours[i].signs))
			return &flavours[i];
	return NULL;
}

/* PREFIX/lib/libmpi.so has PREFIX/bin/mpirun; Debian's lib has one folder more. */
static bool beside_library(struct launcher *l, const struct flavour *f)
{
	char dir[PATH_MAX];
	if (realpath(l->mpi.library, dir) == NULL)
		return false;
	for (int up = 0; up < 5; up++) {
		char *slash = strrchr(dir, '/');
		if (slash == NULL || slash == dir)
			break;
		*slash = '\0';
		for (const char *const *c = f->commands; *c != NULL; c++) {
			int n = snprintf(l->command, sizeof(l->command), "%s/bin/%s", dir, *c);
			if (n < PATH_MAX && access(l->command, X_OK) == 0 && flavour_of_command(l->command) == f)
				return true;
		}
	}
	l->command[0] = '\0';
	return false;
}

static bool in_path(struct launcher *l, const struct flavour *f)
{
	for (const char *const *c = f->commands; *c != NULL; c++) {
		char path[PATH_MAX];
		if (find_in_path(*c, path) == 0 && flavour_of_command(path) == f) {
			snprintf(l->command, sizeof(l->command), "%s", *c);
			return true;
		}
	}
	return false;
}

static bool srun_has_plugin(void)
{
	char *const words[] = {WORD("srun"), WORD("--help"), NULL};
	char *help = malloc(HELP_MAX);
	bool has = help != NULL && capture(words, help, HELP_MAX) == 0 && strstr(help, " --mpitrace") != NULL;
	free(help);
	return has;
}

/* Since Slurm 26.05 a batch script has a number as well, -5: steps that srun did not start count down from -1. */
static bool in_step_of_srun(void)
{
	const char *id = getenv("SLURM_STEP_ID");
	return id != NULL && (uint32_t)strtoll(id, NULL, 10) < STEPS_MAX;
}

/* Inside an allocation, but not in a step (there srun would wait for its own processors). */
static bool by_srun(struct launcher *l, const struct flavour *f)
{
	char path[PATH_MAX], answer[ANSWER_MAX], *save = NULL;
	char *const words[] = {WORD("srun"), WORD("--mpi=list"), NULL};
	if (getenv("SLURM_JOB_ID") == NULL || in_step_of_srun() || find_in_path("srun", path) != 0 ||
	    capture(words, answer, sizeof(answer)) != 0)
		return false;
	for (char *w = strtok_r(answer, " \t\n,", &save); w != NULL; w = strtok_r(NULL, " \t\n,", &save))
		if (strcmp(w, f->srun_mpi) == 0) {
			snprintf(l->command, sizeof(l->command), "srun");
			snprintf(l->mpi_option, sizeof(l->mpi_option), "--mpi=%s", f->srun_mpi);
			l->oversubscribe = "--overcommit";
			l->by_plugin = srun_has_plugin();
			return true;
		}
	return false;
}

/* Which MPI it uses nobody can tell: what PATH has first. */
static int choose_default(struct launcher *l)
{
	static const char *const commands[] = {"mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich"};
	char path[PATH_MAX];
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (find_in_path(commands[i], path) != 0)
			continue;
		const struct flavour *f = flavour_of_command(path);
		snprintf(l->command, sizeof(l->command), "%s", commands[i]);
		l->oversubscribe = f != NULL ? f->oversubscribe : NULL;
		if (l->mpi.kind == MPI_NOT_KNOWN) {
			print_plain("mpitrace run: cannot tell which MPI library %s uses; starting it with %s%s%s%s\n",
				    l->program, commands[i], f != NULL ? " (" : "", f != NULL ? f->name : "",
				    f != NULL ? ")" : "");
		}
		return 0;
	}
	print_plain("mpitrace run: no mpirun in PATH; install openmpi-bin or mpich, or load your site's MPI module\n");
	return 127;
}

static int choose_command(struct launcher *l)
{
	const struct flavour *f = flavour_of(l->mpi.kind);
	if (f == NULL)
		return choose_default(l);
	l->oversubscribe = f->oversubscribe;
	if (by_srun(l, f) || in_path(l, f) || beside_library(l, f))
		return 0;
	print_plain("mpitrace run: %s needs the launcher of %s (%s), and there is none in PATH or near the library; "
		    "install %s, "
		    "or load your site's module of it\n",
		    l->program, f->name, l->mpi.library, f->package);
	return 127;
}

/* One too many says so itself. */
static void add_word(struct launcher *l, unsigned *n, const char *word)
{
	if (*n <= LAUNCHER_WORDS_MAX)
		l->words[(*n)++] = WORD(word);
}

static unsigned count_of(char *const *words)
{
	unsigned n = 0;
	while (words[n] != NULL)
		n++;
	return n;
}

static int put_words(struct launcher *l, const char *ranks, const char *args, bool oversubscribe, char **program)
{
	unsigned n = 0, nprogram = count_of(program);
	char *save = NULL;
	l->words = calloc(LAUNCHER_WORDS_MAX + nprogram + 2, sizeof(*l->words));
	l->args = strdup(args != NULL ? args : "");
	if (l->words == NULL || l->args == NULL) {
		print_plain("mpitrace run: no memory for the command line\n");
		return 126;
	}
	if (ranks != NULL) {
		add_word(l, &n, l->command);
		if (l->mpi_option[0] != '\0')
			add_word(l, &n, l->mpi_option);
		if (l->by_plugin)
			add_word(l, &n, l->plugin_option);
		add_word(l, &n, "-n");
		add_word(l, &n, ranks);
		if (oversubscribe && l->oversubscribe != NULL)
			add_word(l, &n, l->oversubscribe);
		for (char *w = strtok_r(l->args, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
			add_word(l, &n, w);
	}
	l->nwords_before = n;
	memcpy(l->words + n, program, nprogram * sizeof(*program));
	if (n <= LAUNCHER_WORDS_MAX)
		return 0;
	print_plain("mpitrace run: more than %d words in front of the program\n", LAUNCHER_WORDS_MAX);
	return 126;
}

int launcher_choose(struct launcher *l, const char *ranks, const char *args, bool oversubscribe, char **program)
{
	memset(l, 0, sizeof(*l));
	l->program = program[0];
	l->watch = -1;
	int code = find_program(l);
	if (code == 0 && ranks != NULL) {
		l->mpi = program_mpi(l->path);
		code = choose_command(l);
	}
	return code != 0 ? code : put_words(l, ranks, args, oversubscribe, program);
}

/* Others use the same Python at the same time, but hardly the same script. */
static const char *watched_file(const struct launcher *l)
{
	const char *script = l->words[l->nwords_before + 1];
	struct stat st;
	bool is_script = script != NULL && program_is_python(l->path) && stat(script, &st) == 0 && S_ISREG(st.st_mode);
	return is_script ? script : l->path;
}

void launcher_watch(struct launcher *l)
{
	l->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (l->watch >= 0 && inotify_add_watch(l->watch, watched_file(l), IN_OPEN) < 0) {
		close(l->watch);
		l->watch = -1;
	}
}

/* True also when nobody knows. */
static bool was_started(const struct launcher *l)
{
	struct pollfd p = {.fd = l->watch, .events = POLLIN};
	return l->command[0] == '\0' || l->watch < 0 || poll(&p, 1, 0) != 0;
}

/* The launcher's words went to the terminal and stayed its own. It is asked once more, with a program that does
 * nothing. */
static const char *remedy(struct launcher *l)
{
	static const struct {
		const char *sign, *remedy;
	} known[] = {
		{"allow-run-as-root", "Open MPI does not start programs for root: use another user, or add --mpirun "
				      "\"--allow-run-as-root\""},
		{"not enough slots", "more ranks than this machine has slots: use a smaller -n, or --oversubscribe"},
		{"unrecognized argument", "it rejects an option in --mpirun \"...\""},
		{"unrecognized option", "it rejects an option in --mpirun \"...\""},
		{"unknown option", "it rejects an option in --mpirun \"...\""},
	};
	char answer[ANSWER_MAX], *words[LAUNCHER_WORDS_MAX + 2];
	memcpy(words, l->words, l->nwords_before * sizeof(*words));
	words[l->nwords_before] = WORD("/bin/true");
	words[l->nwords_before + 1] = NULL;
	if (strcmp(l->command, "srun") == 0 || capture(words, answer, sizeof(answer)) == 0)
		return NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcasestr(answer, known[i].sign) != NULL)
			return known[i].remedy;
	return NULL;
}

void launcher_explain(struct launcher *l, int code)
{
	if (strcmp(path_name(l->path), "srun") == 0) {
		print_plain("mpitrace run: use srun --mpitrace for a program that srun starts\n");
		return;
	}
	if (code == 0 || was_started(l)) {
		print_plain("mpitrace run: no MPI call of %s came to the tracer", l->program);
		if (code != 0)
			print_plain("; the program ended with exit code %d, and may have said why above. If not,",
				    code);
		print_plain(
			"%s it is not an MPI program, or is linked with MPI statically, or loads MPI past "
			"preloaded libraries (RTLD_DEEPBIND, dlmopen), or is started without the LD_PRELOAD that it "
			"was given, or may make no files (ulimit -f, a full file system, a sandbox), or has an "
			"mpitrace run of its own\n",
			code == 0 ? ":" : "");
		return;
	}
	if (code >= 128 && code - 128 != SIGABRT && code - 128 < SIGRTMIN) {
		print_plain("mpitrace run: %s was ended by signal %d before it started %s\n", l->command, code - 128,
			    l->program);
		return;
	}
	const char *what = remedy(l);
	print_plain("mpitrace run: %s failed before it started %s: exit code %d; %s\n", l->command, l->program, code,
		    what != NULL ? what : "its own message is above");
}

void launcher_done(struct launcher *l)
{
	if (l->watch >= 0)
		close(l->watch);
	free(l->args);
	free(l->words);
}
