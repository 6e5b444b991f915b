/* main.c - `mpitrace-warden step|epilog|sweep`: root's side of a node (warden.h). Not for the hand: the plugin and
 * `mpitrace sweep` start it. */
#include "spank/warden/teardown.h"
#include "spank/warden/warden.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STOPPED_MAX_S 10

static void nothing(int number)
{
	(void)number;
}

/* Whoever stops one that nobody watches stops it for so long: the kernel's timer sends it on. With a handler: of a
 * signal that is ignored, newer kernels (6.13) do not begin the timer again. A step's warden is sent on by the epilog's
 * (lock_take_over()), and is to wake for nothing while the job runs. */
static void go_on_when_stopped(void)
{
	struct sigaction handler = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	struct sigevent sends = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
	struct itimerspec every = {{STOPPED_MAX_S, 0}, {STOPPED_MAX_S, 0}};
	timer_t timer;
	if (sigaction(SIGCONT, &handler, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &sends, &timer) == 0)
		timer_settime(timer, 0, &every, NULL);
}

int main(int argc, char **argv)
{
	if (geteuid() != 0) {
		fputs("mpitrace-warden: only root can run it\n", stderr);
		return 2;
	}
	if (argc > 3 && strcmp(argv[argc - 2], "--policy") == 0) {
		teardown_policy(argv[argc - 1]);
		argc -= 2;
	}
	if (argc == 5 && strcmp(argv[1], "step") == 0)
		return warden_step(argv[2], argv[4], argv[3]);
	go_on_when_stopped();
	if (argc >= 5 && strcmp(argv[1], "epilog") == 0)
		return warden_epilog(argv[2], argv[3], argv + 4, argc - 4);
	if ((argc == 4 || argc == 6) && strcmp(argv[1], "sweep") == 0)
		return warden_sweep(argv[2], argv[3], argc == 6 ? argv[4] : NULL,
				    argc == 6 ? strtoull(argv[5], NULL, 10) : 0);
	fputs("usage: mpitrace-warden step SPOOL MPITRACE STEPDIR | epilog SPOOL MPITRACE RUN... | sweep SPOOL "
	      "MPITRACE [DIRECTORY RETENTION_SECONDS]; behind all: [--policy FILE]\n",
	      stderr);
	return 2;
}
