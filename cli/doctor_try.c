/* doctor_try.c - `mpitrace doctor --try [NODE...]`: one traced step on each node. In: what srun and the step say.
 * Out: a verdict a node. The step is this program again (`doctor --step`): it looks at what it was given, and where it
 * was given nothing, at the installation of its node. */
#include "base/hostlist.h"
#include "base/path.h"
#include "base/slurp.h"
#include "cli/capture.h"
#include "cli/cli.h"
#include "cli/doctor.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 16
#define SAID_BYTES (64u << 10)
#define NODES_BYTES (4u << 20)
#define STEP_SECONDS "90" /* to be given the node, to run, and to be told so */
#define NODE_SECONDS "30"
#define AGENT_PATIENCE_MS 10000
#define MARK "mpitrace-step "
#define TIMEOUT_CODE 124

/* ---- in the step ---- */

static bool maps_tracer(void)
{
	char line[PATH_MAX + 256];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "re");
	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = strstr(line, "/libmpitrace.so") != NULL;
	if (f != NULL)
		fclose(f);
	return found;
}

/* Is it `mpitrace ... collect STEPDIR`? */
static bool is_agent(const char *pid, const char *stepdir)
{
	char path[300], words[8192];
	bool collects = false, ours = false;
	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	size_t n = slurp(path, words, sizeof(words));
	for (char *w = words; w < words + n; w += strlen(w) + 1) {
		collects = collects || strcmp(w, "collect") == 0;
		ours = ours || strcmp(w, stepdir) == 0;
	}
	return collects && ours;
}

static bool has_agent(const char *stepdir)
{
	bool found = false;
	const struct dirent *entry;
	DIR *d = opendir("/proc");
	while (d != NULL && !found && (entry = readdir(d)) != NULL)
		found = isdigit((unsigned char)entry->d_name[0]) && is_agent(entry->d_name, stepdir);
	if (d != NULL)
		closedir(d);
	return found;
}

static bool agent_comes(const char *stepdir)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	bool found = false;
	for (int ms = 0; ms < AGENT_PATIENCE_MS && !(found = has_agent(stepdir)); ms += 20)
		nanosleep(&pause, NULL);
	return found;
}

/* What this process was given, to be traced. NULL: all of it. */
static const char *lacks(void)
{
	char stepdir[PATH_MAX];
	const char *dir = getenv("MPITRACE_DIR");
	if (dir == NULL)
		return "the step was not prepared for tracing";
	snprintf(stepdir, sizeof(stepdir), "%s", dir);
	char *slash = strrchr(stepdir, '/');
	if (slash != NULL)
		*slash = '\0';
	if (access(dir, W_OK | X_OK) != 0)
		return "the step's directory in the spool cannot be written by its ranks";
	if (!maps_tracer())
		return "the loader did not load the tracer";
	return agent_comes(stepdir) ? NULL : "no agent runs for the step";
}

static void one_line(char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '\n' || *text == '\t')
			*text = ' ';
}

int doctor_step(void)
{
	struct verdict v = {0};
	const char *lack = lacks(), *check = "";
	if (!doctor_first_bad(&v, &check))
		verdict_say(&v, VERDICT_OK,
			    "see slurmd's log there for mpitrace, and `mpitrace doctor --policy user=...`", "%s",
			    "all checks pass there");
	one_line(v.what);
	one_line(v.next);
	printf("%s" MARK "%s\t%s\t%s\t%s\n", "\n", lack != NULL ? lack : "", check, v.what, v.next);
	return EXIT_DONE;
}

/* ---- where srun is called ---- */

struct attempt {
	char *node;
	pid_t pid;
	int said; /* a file in memory: what srun and the step print */
};

static void exec_srun(const char *node, int said)
{
	char exe[PATH_MAX];
	path_self(exe, sizeof(exe));
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(said, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	execlp("timeout", "timeout", "-k", "5", STEP_SECONDS, "srun", "-N1", "-n1", "-w", node, "--mpi=none",
	       "--immediate=" NODE_SECONDS, "--time=2", "--mpitrace=report=none", exe, "doctor", "--step",
	       (char *)NULL);
	dprintf(STDERR_FILENO, "error: cannot run timeout: %s\n", strerror(errno));
	_exit(127);
}

static bool begin(struct attempt *a)
{
	a->said = memfd_create("srun", MFD_CLOEXEC);
	fflush(NULL);
	a->pid = a->said >= 0 ? fork() : -1;
	if (a->pid == 0)
		exec_srun(a->node, a->said);
	return a->pid > 0;
}

/* The last line that holds the word, from there on if it is at a line's begin. */
static const char *last_line(char *said, const char *word, char *ret_line, size_t cap_bytes)
{
	char *save = NULL, *copy = strdup(said);
	bool found = false;
	for (char *line = copy != NULL ? strtok_r(copy, "\n", &save) : NULL; line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		if (strstr(line, word) != NULL) {
			snprintf(ret_line, cap_bytes, "%s", line);
			found = true;
		}
	free(copy);
	return found ? ret_line : NULL;
}

static void classify_silence(struct verdict *v, char *said, int code)
{
	char line[600];
	if (strstr(said, "unrecognized option '--mpitrace") != NULL)
		verdict_say(v, VERDICT_BAD, "repair what is BAD above: plugin, plugstack",
			    "srun has no --mpitrace here: Slurm loads no plugin of mpitrace");
	else if (code == TIMEOUT_CODE || code == 128 + 9)
		verdict_say(v, VERDICT_BAD, "see slurmd's log there", "a step did not end within " STEP_SECONDS " s");
	else if (last_line(said, "error:", line, sizeof(line)) != NULL)
		verdict_say(v, VERDICT_BAD, "repair this first; `srun -w NODE true` shows it without mpitrace",
			    "no step: %s", line);
	else
		verdict_say(v, VERDICT_BAD, "try `srun -w NODE true`",
			    "no step ran: srun exited with %d and printed nothing", code);
}

static void classify_output(struct verdict *v, char *said, int code)
{
	char line[sizeof(v->what) + sizeof(v->next) + 256], own[600];
	const char *at = last_line(said, MARK, line, sizeof(line));
	if (at == NULL) {
		classify_silence(v, said, code);
		return;
	}
	char *words = line + (strstr(line, MARK) - line) + strlen(MARK);
	const char *lack = strsep(&words, "\t"), *check = strsep(&words, "\t"), *what = strsep(&words, "\t"),
		   *next = words;
	if (check == NULL || what == NULL || next == NULL)
		classify_silence(v, said, code);
	else if (lack[0] == '\0' && check[0] == '\0')
		verdict_say(v, VERDICT_OK, NULL, "a step is traced: the tracer is loaded, an agent at work");
	else if (check[0] != '\0')
		verdict_say(v, VERDICT_BAD, next, "%s%s%s: %s", lack, lack[0] != '\0' ? ": " : "", check, what);
	else if (last_line(said, "mpitrace: ", own, sizeof(own)) != NULL) /* of the plugin, to the user */
		verdict_say(v, VERDICT_BAD, next, "%s: %s", lack, own);
	else
		verdict_say(v, VERDICT_BAD, next, "%s, and %s", lack, what);
}

static void end(struct attempt *a, int status, struct verdict *v)
{
	static char said[SAID_BYTES];
	ssize_t n = pread(a->said, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	close(a->said);
	classify_output(v, said, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	a->pid = 0;
}

/* Whoever is done makes room for the next. */
static void try_all(struct attempt *all, size_t n, try_row *row)
{
	size_t begun = 0, running = 0;
	while (begun < n || running > 0) {
		struct verdict v = {0};
		if (begun < n && running < AT_ONCE) {
			struct attempt *a = &all[begun++];
			if (begin(a)) {
				running++;
				continue;
			}
			verdict_say(&v, VERDICT_BAD, NULL, "cannot start srun: %s", strerror(errno));
			row(a->node, &v);
			continue;
		}
		int status;
		pid_t pid = wait(&status);
		for (size_t i = 0; pid > 0 && i < begun; i++)
			if (all[i].pid == pid) {
				end(&all[i], status, &v);
				row(all[i].node, &v);
				running--;
			}
	}
}

struct list {
	struct attempt *at;
	size_t n;
};

static int add_node(void *context, const char *name)
{
	struct list *l = context;
	struct attempt *more = realloc(l->at, (l->n + 1) * sizeof(*more));
	char *node = strdup(name);
	if (more != NULL)
		l->at = more;
	if (more == NULL || node == NULL) {
		free(node);
		return -ENOMEM;
	}
	l->at[l->n++] = (struct attempt){.node = node};
	return 0;
}

/* sinfo names them one a line, each once a partition. */
static int add_idle_nodes(struct list *l)
{
	static const char command[] = "sinfo -h -N -t idle -o %N | sort -u";
	char *const words[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)command, NULL};
	char *names = malloc(NODES_BYTES), *save = NULL;
	int rc = names != NULL && capture(words, names, NODES_BYTES) == 0 ? 0 : -EIO;
	for (char *name = rc == 0 ? strtok_r(names, "\n", &save) : NULL; name != NULL && rc == 0;
	     name = strtok_r(NULL, "\n", &save))
		rc = strchr(name, ' ') == NULL ? hostlist_each(name, add_node, l)
					       : -EIO; /* else a mistake that sinfo names */
	free(names);
	return rc;
}

void doctor_try(char *const *nodes, int n, try_row *row)
{
	struct list l = {0};
	struct verdict v = {0};
	int rc = 0;
	for (int i = 0; i < n && rc == 0; i++)
		rc = hostlist_each(nodes[i], add_node, &l);
	if (n == 0)
		rc = add_idle_nodes(&l);
	if (rc < 0 || l.n == 0) {
		verdict_say(&v, VERDICT_BAD, "name the nodes: mpitrace doctor --try n1 n[2-4]", "%s",
			    n > 0     ? "a name of a node is none"
			    : rc == 0 ? "no node is idle"
				      : "sinfo does not say which nodes are idle");
		row("try", &v);
	} else {
		try_all(l.at, l.n, row);
	}
	for (size_t i = 0; i < l.n; i++)
		free(l.at[i].node);
	free(l.at);
}
