/* watch.c - `mpitrace-warden step`: stays with a step while it runs.
 * In: the step's directory; a socket (3) whose other end slurmstepd holds as long as the step runs.
 * Out: an agent that is always there, whoever kills or stops it; then the end of the step (teardown.h). The lock on the
 * file `warden` says that somebody sees to the step. */
#include "base/clock.h"
#include "spank/warden/alert.h"
#include "spank/warden/child.h"
#include "spank/warden/elsewhere.h"
#include "spank/warden/lock.h"
#include "spank/warden/teardown.h"
#include "spank/warden/spool.h"
#include "spank/warden/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTS_MAX 8   /* of the agent while the step runs */
#define STOPS_MAX 1000 /* that are undone */
#define AGAIN_MS 200   /* before the next start */

struct watch {
	struct teardown teardown;
	pid_t agent; /* 0: none runs */
	unsigned starts, stops;
	struct alert alert;
	int signals_fd;
	int namespace_fd; /* of the job, or -1 (elsewhere.h) */
};

static void start_agent(struct watch *w)
{
	if (w->agent != 0 || w->starts >= STARTS_MAX || teardown_is_sealed(&w->teardown))
		return;
	w->starts++;
	int pid = teardown_start_agent(&w->teardown, true);
	w->agent = pid > 0 ? pid : 0;
}

static void reap_agent(struct watch *w)
{
	int status;
	pid_t got = w->agent > 0 ? waitpid(w->agent, &status, WNOHANG | WUNTRACED) : 0;
	if (got != w->agent || got <= 0)
		return;
	if (!WIFSTOPPED(status))
		w->agent = 0;
	else if (w->stops++ < STOPS_MAX)
		kill(w->agent, SIGCONT);
}

/* False: slurmstepd is done with the step, or dead. */
static bool listen_to_step(struct watch *w, short events)
{
	int fd = -1;
	bool goes_on = events == 0 || ((events & POLLIN) != 0 && elsewhere_receive(WARDEN_STEP_FD, &fd));
	if (fd >= 0 && w->namespace_fd >= 0)
		close(fd);
	else if (fd >= 0)
		w->namespace_fd = fd;
	return goes_on;
}

/* For poll(): until the agent is started again, or there is somebody to be told that the step hangs. */
static int wait_ms(const struct watch *w)
{
	bool waiting = w->agent == 0 && w->starts < STARTS_MAX && !teardown_is_sealed(&w->teardown);
	return waiting ? AGAIN_MS : alert_wait_ms(&w->alert, &w->teardown);
}

static void serve(struct watch *w)
{
	struct pollfd polls[2] = {{.fd = WARDEN_STEP_FD, .events = POLLIN}, {.fd = w->signals_fd, .events = POLLIN}};
	struct signalfd_siginfo info;
	while (listen_to_step(w, polls[0].revents)) {
		if (poll(polls, 2, wait_ms(w)) == 0) {
			start_agent(w);
			alert_check(&w->alert, &w->teardown);
		}
		if ((polls[1].revents & POLLIN) != 0 && read(w->signals_fd, &info, sizeof(info)) > 0) {
			reap_agent(w);
			alert_reap(&w->alert);
		}
	}
}

static void end_agent(struct watch *w)
{
	if (w->agent == 0)
		return;
	child_hurry(w->agent);
	kill(w->agent, SIGCONT);
	kill(w->agent, SIGUSR1); /* look at `done` now */
	child_wait(w->agent, SEAL_SECONDS);
	w->agent = 0;
}

int warden_step(const char *spool, const char *dir, const char *program)
{
	struct step_facts step_facts;
	sigset_t child;
	struct watch w = {.teardown = {.spool = spool, .program = program, .dir = dir, .step_facts = &step_facts},
			  .namespace_fd = -1};
	double begin = now_s();
	w.teardown.step_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int lock_fd = w.teardown.step_fd >= 0 ? lock_take(w.teardown.step_fd, 0) : -1;
	if (lock_fd < 0 || step_facts_read(w.teardown.step_fd, &step_facts) < 0)
		return 1;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	w.signals_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	start_agent(&w);
	serve(&w);
	alert_end(&w.alert);
	spool_mark(w.teardown.step_fd, "done"); /* slurmstepd may have died without saying so */
	end_agent(&w);
	elsewhere_unmount(w.namespace_fd, dir);
	w.teardown.ran_seconds = now_s() - begin;
	if (teardown_step(&w.teardown))
		teardown_remove(w.teardown.step_fd, dir);
	return 0;
}
