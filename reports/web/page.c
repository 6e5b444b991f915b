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
#include <sys/syscall.h>
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
	return fail(e, -ENOENT,
		    "%s is missing: build with node, npm, clang and lld (meson -Dviewer=enabled), or open the file "
		    "with a viewer.html "
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

/* ---- a browser, without the address in any process's arguments: all users can read those ---- */

static struct {
	char directory[PATH_MAX], page[PATH_MAX + 16]; /* what the browser is given: it leads to the address */
	int alive[2];				       /* a pipe that ends with us */
} led;

static int write_redirect(const char *url)
{
	int fd = open(led.page, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (f == NULL)
		return -errno;
	fputs("<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url=", f);
	for (; *url != '\0'; url++)
		fputs(*url == '&' ? "&amp;" : (char[]){*url, '\0'}, f);
	fputs("\"><title>mpitrace</title>\n", f);
	return fclose(f) == 0 ? 0 : -errno;
}

/* Private to the user. */
static int make_redirect(const char *url)
{
	const char *where = getenv("TMPDIR");
	if (snprintf(led.directory, sizeof(led.directory), "%s/mpitrace-view-XXXXXX",
		     where != NULL && *where == '/' ? where : "/tmp") >= (int)sizeof(led.directory))
		return -ENAMETOOLONG;
	if (mkdtemp(led.directory) == NULL)
		return -errno;
	snprintf(led.page, sizeof(led.page), "%s/view.html", led.directory);
	int rc = pipe2(led.alive, O_CLOEXEC) == 0 ? write_redirect(url) : -errno;
	if (rc == 0)
		return 0;
	unlink(led.page);
	rmdir(led.directory);
	return rc;
}

/* The child starts the browser, and takes the page away when we have ended, however that is. Of many threads it is
 * one: it calls the system only. */
static void lead_browser(void)
{
	char end;
	setsid();
	signal(SIGPIPE, SIG_DFL);
	close(led.alive[1]); /* also where the kernel has no close_range() */
	dup2(led.alive[0], 3);
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	syscall(SYS_close_range, 4u, ~0u, 0);
	if (fork() == 0) {
		close(3);
		execlp("xdg-open", "xdg-open", led.page, (char *)NULL);
		_exit(127);
	}
	while (read(3, &end, 1) < 0 && errno == EINTR)
		;
	unlink(led.page);
	rmdir(led.directory);
	_exit(0);
}

static void open_browser(const char *url)
{
	int rc = make_redirect(url);
	if (rc == 0 && fork() == 0)
		lead_browser();
	if (rc < 0)
		fprintf(stderr, "No browser is opened: %s\n", strerror(-rc));
	else
		close(led.alive[0]);
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
