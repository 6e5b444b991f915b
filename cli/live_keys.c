/* live_keys.c - see live_keys.h. */
#include "cli/live_keys.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static struct termios before, ours;
static volatile sig_atomic_t on;

void keys_end(void)
{
	if (on)
		tcsetattr(STDIN_FILENO, TCSANOW, &before); /* async-signal-safe */
	on = 0;
}

/* Ends or stops as if there were no handler. */
static void leave(int signal_number)
{
	keys_end();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
	sigset_t only;
	sigemptyset(&only);
	sigaddset(&only, signal_number);
	sigprocmask(SIG_UNBLOCK, &only, NULL); /* it comes here, and comes back where it only stopped */
}

static void go_on(int signal_number)
{
	(void)signal_number;
	if (tcgetpgrp(STDIN_FILENO) == getpgrp() && tcsetattr(STDIN_FILENO, TCSANOW, &ours) == 0)
		on = 1;
	signal(SIGTSTP, leave);
}

static void resized(int signal_number)
{
	(void)signal_number; /* poll() returns */
}

static void handle(int signal_number, void (*handler)(int))
{
	struct sigaction a = {.sa_handler = handler}; /* no SA_RESTART: poll() returns */
	sigemptyset(&a.sa_mask);
	sigaction(signal_number, &a, NULL);
}

bool keys_begin(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
	const char *term = getenv("TERM");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || term == NULL || *term == '\0' ||
	    strcmp(term, "dumb") == 0 || tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, &before) != 0)
		return false;
	ours = before;
	ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	ours.c_cc[VMIN] = 0;
	ours.c_cc[VTIME] = 0;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		handle(ends[i], leave);
	handle(SIGCONT, go_on);
	handle(SIGWINCH, resized);
	on = tcsetattr(STDIN_FILENO, TCSANOW, &ours) == 0;
	atexit(keys_end);
	return on;
}

static enum key of_text(const char *text, size_t n)
{
	static const struct {
		const char *text;
		enum key key;
	} keys[] = {
		{"q", KEY_QUIT},       {"Q", KEY_QUIT},		 {" ", KEY_PAUSE},	     {"k", KEY_UP},
		{"j", KEY_DOWN},       {"\033[A", KEY_UP},	 {"\033OA", KEY_UP},	     {"\033[B", KEY_DOWN},
		{"\033OB", KEY_DOWN},  {"\033[5~", KEY_PAGE_UP}, {"\033[6~", KEY_PAGE_DOWN}, {"\033[H", KEY_HOME},
		{"\033[1~", KEY_HOME}, {"\033OH", KEY_HOME},	 {"\033[F", KEY_END},	     {"\033[4~", KEY_END},
		{"\033OF", KEY_END},
	};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strlen(keys[i].text) == n && memcmp(keys[i].text, text, n) == 0)
			return keys[i].key;
	return KEY_OTHER;
}

/* One key: a character, or an escape sequence, which comes at once. */
static enum key read_key(void)
{
	char text[8];
	size_t n = 0;
	if (read(STDIN_FILENO, text, 1) != 1)
		return KEY_NONE;
	for (n = 1; text[0] == '\033' && n < sizeof(text) - 1 && read(STDIN_FILENO, text + n, 1) == 1;) {
		char c = text[n++];
		if (n > 2 && ((c >= 'A' && c <= 'Z') || c == '~'))
			break;
	}
	return of_text(text, n);
}

enum key keys_wait(int64_t ns)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	struct timespec t = {ns / 1000000000, ns % 1000000000};
	int n = ppoll(&p, 1, ns < 0 ? NULL : &t, NULL);
	if (n <= 0)
		return KEY_NONE;
	if ((p.revents & POLLIN) == 0)
		return KEY_QUIT; /* the terminal is gone */
	return read_key();
}
