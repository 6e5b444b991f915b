/* so_far.c - see so_far.h. The file lies in a directory of its own that only we can enter, and has no name any more
 * when it is served. */
#include "reports/web/so_far.h"

#include "base/path.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART "/so-far.mpix"

static char *copy(const char *text)
{
	return strdup(text);
}

/* A descriptor of its own: ours is closed when the trace is older than those that are kept. */
static void answer_with_file(const struct so_far_trace *t, struct web_answer *a)
{
	int fd = fcntl(t->fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0)
		*a = (struct web_answer){.kind = WEB_FILE,
					 .type = "application/octet-stream",
					 .fd = fd,
					 .given = true,
					 .len_bytes = t->len_bytes};
}

void so_far_answer(struct so_far *s, const char *path, struct web_answer *a)
{
	char name[32];
	if (strcmp(path, "timeline") == 0) {
		char *text = copy("{\"state\":\"making\"}");
		s->wanted = true;
		if (text != NULL)
			*a = (struct web_answer){
				.kind = WEB_TEXT, .type = "application/json", .text = text, .text_bytes = strlen(text)};
		return;
	}
	for (int i = 0; i < SO_FAR_KEPT; i++) {
		const struct so_far_trace *t = &s->kept[i];
		snprintf(name, sizeof(name), "trace-%u.mpix", t->number);
		if (t->number > 0 && strcmp(path, name) == 0)
			answer_with_file(t, a);
	}
}

/* ---- making one ---- */

/* Does not return. */
static void analyze(const char *step_path, const char *out)
{
	static const char *const beside[] = {"/../cli/mpitrace", "/../../bin/mpitrace"};
	char exe[PATH_MAX], path[PATH_MAX + 64];
	path_self(exe, sizeof(exe));
	char *slash = strrchr(exe, '/');
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	for (size_t i = 0; slash != NULL && i < sizeof(beside) / sizeof(beside[0]); i++) {
		*slash = '\0';
		snprintf(path, sizeof(path), "%s%s", exe, beside[i]);
		execl(path, "mpitrace", "analyze", step_path, "-o", out, (char *)NULL);
	}
	execl(MPITRACE_BINDIR "/mpitrace", "mpitrace", "analyze", step_path, "-o", out, (char *)NULL);
	_exit(127);
}

static char *begin(struct so_far *s, const char *step_path)
{
	char out[sizeof(s->directory) + sizeof(PART)];
	s->wanted = false;
	snprintf(s->directory, sizeof(s->directory), "/tmp/mpitrace-so-far-XXXXXX");
	if (mkdtemp(s->directory) == NULL)
		return copy("{\"error\":\"no temporary directory\"}");
	snprintf(out, sizeof(out), "%s" PART, s->directory);
	signal(SIGCHLD, SIG_DFL); /* we wait for it */
	s->child = fork();
	if (s->child == 0)
		analyze(step_path, out);
	if (s->child > 0)
		return NULL;
	s->child = 0;
	rmdir(s->directory);
	return copy("{\"error\":\"no process for mpitrace analyze\"}");
}

static void clear(struct so_far *s)
{
	char out[sizeof(s->directory) + sizeof(PART)];
	snprintf(out, sizeof(out), "%s" PART, s->directory);
	unlink(out);
	rmdir(s->directory);
}

static char *finish(struct so_far *s)
{
	char out[sizeof(s->directory) + sizeof(PART)], *text = NULL;
	struct stat st;
	snprintf(out, sizeof(out), "%s" PART, s->directory);
	int fd = open(out, O_RDONLY | O_CLOEXEC);
	clear(s);
	if (fd < 0 || fstat(fd, &st) != 0) {
		if (fd >= 0)
			close(fd);
		return copy("{\"error\":\"the analysis failed; mpitrace analyze of the step's directory says why\"}");
	}
	struct so_far_trace *t = &s->kept[s->made++ % SO_FAR_KEPT];
	if (t->number > 0)
		close(t->fd);
	*t = (struct so_far_trace){s->made, fd, (uint64_t)st.st_size};
	return asprintf(&text, "{\"name\":\"trace-%u.mpix\"}", t->number) < 0 ? NULL : text;
}

char *so_far_turn(struct so_far *s, const char *step_path)
{
	int status;
	if (s->child > 0 && waitpid(s->child, &status, WNOHANG) != 0) {
		s->child = 0;
		return finish(s);
	}
	return s->wanted && s->child == 0 ? begin(s, step_path) : NULL;
}

void so_far_done(struct so_far *s)
{
	int status;
	if (s->child > 0) {
		kill(s->child, SIGKILL);
		waitpid(s->child, &status, 0);
		clear(s);
	}
	for (int i = 0; i < SO_FAR_KEPT; i++)
		if (s->kept[i].number > 0)
			close(s->kept[i].fd);
}
