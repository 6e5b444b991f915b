/* run_signals.c - see run_signals.h. In: signals, to us alone or to our group (run_group.h).  Out: each of them once,
 * to the launcher. */
#include "cli/run_signals.h"
#include "cli/run_group.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define SIGNALS 65

static volatile pid_t program_pid;
static volatile sig_atomic_t stopped_by;
static bool was_ignored[SIGNALS]; /* when we began */

/* What a program may be told while it runs, as to write a checkpoint; once, where it has it with all of our group. */
static void hand_on(int signal_number)
{
	if (program_pid > 0 && !run_group_has(signal_number))
		kill(program_pid, signal_number);
}

/* What ends us ends the program, unless that ignores it; we stay to finish its trace. */
static void pass_on(int signal_number)
{
	if (program_pid <= 0 || run_process_has(program_pid, "SigIgn", signal_number))
		return;
	stopped_by = stopped_by == 0 ? signal_number : stopped_by;
	hand_on(signal_number);
}

static bool is_waiting(int signal_number)
{
	sigset_t waiting;
	return sigpending(&waiting) == 0 && sigismember(&waiting, signal_number) == 1;
}

static void stop(int signal_number);

static void listen_to_stops(void)
{
	struct sigaction a = {.sa_handler = stop, .sa_flags = SA_RESTART};
	sigemptyset(&a.sa_mask);
	sigaddset(&a.sa_mask, SIGCONT); /* the program has it after the stop */
	sigaction(SIGTSTP, &a, NULL);
}

/* As if nobody had handled it: where our group is an orphan nothing happens (setpgid(2)). */
static void stop_here(int signal_number)
{
	sigset_t one, before;
	sigemptyset(&one);
	sigaddset(&one, signal_number);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
	sigprocmask(SIG_UNBLOCK, &one, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	listen_to_stops();
}

/* We stop with the program, as a shell waits for that. What is to go on already never stops: a SIGCONT has taken the
 * group's signal out of the member's hand. */
static void stop(int signal_number)
{
	int saved = errno;
	bool has = program_pid <= 0 || run_group_has(signal_number);
	if (!is_waiting(SIGCONT)) {
		if (!has)
			kill(program_pid, signal_number);
		if (!was_ignored[signal_number])
			stop_here(signal_number);
	}
	errno = saved;
}

static void listen_to(int signal_number, void (*handler)(int))
{
	was_ignored[signal_number] = signal(signal_number, handler) == SIG_IGN;
}

/* While the program runs, and after it: nothing of what it is told, and nobody who reads our words no more, ends us
 * before its report. */
void run_signals_pass(pid_t pid)
{
	static const int ends[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	static const int others[] = {SIGUSR1, SIGUSR2,	 SIGALRM,   SIGXCPU, SIGPWR,   SIGIO,
				     SIGPROF, SIGVTALRM, SIGSTKFLT, SIGURG,  SIGWINCH, SIGCONT};
	program_pid = pid;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		listen_to(ends[i], pass_on);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		listen_to(others[i], hand_on);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		listen_to(i, hand_on);
	listen_to(SIGTSTP, SIG_DFL);
	listen_to_stops();
	signal(SIGPIPE, SIG_IGN);
}

void run_signals_end(void)
{
	program_pid = 0;
	was_ignored[SIGINT] = was_ignored[SIGQUIT] = true;
	for (int i = 1; i < SIGNALS; i++)
		if (was_ignored[i])
			signal(i, SIG_IGN); /* by who makes the report as well */
}

int run_signals_stopped_by(void)
{
	return (int)stopped_by;
}
