/* page.c - see page.h. */
#include "reports/text/viewer_file.h"
#include "reports/web/page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int page_file(const char *path, struct page *x)
{
	struct stat st;
	x->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (x->fd < 0 || fstat(x->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	x->len_bytes = (uint64_t)st.st_size;
	return 0;
}

int page_find(struct page *x, struct error *e)
{
	char path[PATH_MAX];
	if (viewer_file(path, sizeof(path)) == 0 && page_file(path, x) == 0)
		return 0;
	return fail(
		e, -ENOENT,
		"%s is missing: build with node and npm (meson -Dviewer=enabled), or open the file with a viewer.html "
		"from elsewhere",
		path);
}

void page_answer(const struct page *p, struct web_answer *ret_answer)
{
	*ret_answer = (struct web_answer){
		.kind = WEB_FILE, .type = "text/html; charset=utf-8", .fd = p->fd, .len_bytes = p->len_bytes};
}

bool page_port(const char *text, uint16_t *ret_port)
{
	char *end;
	long port = strtol(text, &end, 10);
	if (end == text || *end != 0 || port < 0 || port > 65535)
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

static void open_browser(const char *url)
{
	signal(SIGCHLD, SIG_IGN); /* nobody waits for it */
	pid_t pid = fork();
	if (pid != 0)
		return;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	execlp("xdg-open", "xdg-open", url, (char *)NULL);
	_exit(127);
}

static struct {
	struct pollfd fds[3];
	nfds_t n;
} terminals;

static void note_terminals(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (isatty(fd))
			terminals.fds[terminals.n++] = (struct pollfd){.fd = fd};
}

bool page_wait(int milliseconds)
{
	return poll(terminals.fds, terminals.n, milliseconds) > 0;
}

void page_open(const char *url, uint16_t port, bool no_browser)
{
	note_terminals();
	printf("%s\n", url);
	fflush(stdout);
	fprintf(stderr,
		"Only you can open it. From another machine: ssh -L %u:127.0.0.1:%u, then the same address. Ctrl-C "
		"ends.\n",
		port, port);
	if (!no_browser)
		open_browser(url);
}
