/* apart.c - see apart.h. In: the step.  Out: file, line and function of its sites.
 * One record a site through a pipe, believed no more than a file: the child has read what a stranger may have made. */
#include "postproc/lines/apart.h"
#include "base/become.h"
#include "base/utf8.h"
#include "postproc/read/sites.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 60 /* of a processor; and twice as much by the clock */
#define DATA_BYTES (2ull << 30)
#define TEXT_MAX 8192u

struct found {
	uint64_t site;
	int32_t line;
	uint32_t file_len, function_len; /* UINT32_MAX: not known */
};

static void confine(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	become_limited(RLIMIT_CORE, 0);
	become_limited(RLIMIT_CPU, SECONDS);
	become_limited(RLIMIT_FSIZE, 0);
#ifndef __SANITIZE_ADDRESS__
	become_limited(RLIMIT_DATA, DATA_BYTES);
#endif
	alarm(2 * SECONDS);
	become_confined(CONFINED_ALONE);
}

/* ---- the child ---- */

static void write_all(int fd, const void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t rc = write(fd, (const char *)bytes + done, n - done);
		if (rc <= 0 && errno != EINTR)
			_exit(1);
		done += rc > 0 ? (size_t)rc : 0;
	}
}

static uint32_t text_len(const char *text)
{
	size_t len = text != NULL ? strlen(text) : 0;
	return text == NULL ? UINT32_MAX : len < TEXT_MAX ? (uint32_t)len : TEXT_MAX;
}

static void write_found(int fd, uint64_t index, const struct site *site)
{
	struct found f = {.site = index,
			  .line = site->line,
			  .file_len = text_len(site->file),
			  .function_len = text_len(site->function)};
	write_all(fd, &f, sizeof(f));
	if (f.file_len != UINT32_MAX)
		write_all(fd, site->file, f.file_len);
	if (f.function_len != UINT32_MAX)
		write_all(fd, site->function, f.function_len);
}

static void work(struct step *s, uint32_t module, apart_fn *resolve, int fd)
{
	confine();
	resolve(s, module);
	for (size_t i = 0; i < sites_places(s); i++)
		if (sites_place(s, i)->module == module)
			write_found(fd, i, sites_place(s, i));
	_exit(0);
}

/* ---- the parent ---- */

static bool read_all(int fd, void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t rc = read(fd, (char *)bytes + done, n - done);
		if (rc == 0 || (rc < 0 && errno != EINTR))
			return false;
		done += rc > 0 ? (size_t)rc : 0;
	}
	return true;
}

static bool take_text(int fd, uint32_t len, char **to)
{
	char text[TEXT_MAX];
	if (len == UINT32_MAX)
		return true;
	if (len > sizeof(text) || !read_all(fd, text, len))
		return false;
	free(*to);
	*to = utf8_clean(text, len);
	return true;
}

static bool read_found(int fd, struct step *s, uint32_t module)
{
	struct found f;
	if (!read_all(fd, &f, sizeof(f)) || f.site >= sites_places(s) || sites_place(s, f.site)->module != module)
		return false;
	struct site *site = sites_place(s, f.site);
	site->line = f.line;
	return take_text(fd, f.file_len, &site->file) && take_text(fd, f.function_len, &site->function);
}

void apart_resolve(struct step *s, uint32_t module, apart_fn *resolve)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	pid_t pid = fork();
	if (pid == 0)
		work(s, module, resolve, ends[1]);
	close(ends[1]);
	while (pid > 0 && read_found(ends[0], s, module))
		;
	close(ends[0]);
	if (pid > 0)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
