/* ending.c - see ending.h. */
#include "collect/ending.h"

#include "collect/process.h"
#include "collect/stepdir.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void woken(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	told |= info->si_code == SI_USER && info->si_pid == getppid();
}

struct starter ending_starter(pid_t pid)
{
	return (struct starter){pid, pid > 0 ? process_begun(pid) : 0};
}

bool ending_starter_is_gone(const struct starter *s, const char *stepdir)
{
	return (s->pid > 0 && process_has_gone(s->pid, s->begun)) || stepdir_is_gone(stepdir);
}

void ending_listen(void)
{
	struct sigaction wake = {.sa_sigaction = woken, .sa_flags = SA_SIGINFO}; /* without SA_RESTART */
	sigset_t it;
	sigemptyset(&it);
	sigaddset(&it, SIGUSR1);
	sigaction(SIGUSR1, &wake, NULL);
	sigprocmask(SIG_UNBLOCK, &it, NULL);
}

bool ending_is_told(const char *stepdir)
{
	return told || stepdir_has(stepdir, "done");
}
