/* run_group.h - a signal may have been sent to us alone, by pid, or to our process group, as a terminal does: then the
 * program has it already. Nothing in a signal says which (sigaction(2)); another member of the group tells. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Start that member: a process that does nothing, and holds what it is sent. Without it no signal is the group's. */
void run_group_begin(void);
/* In a handler of this signal: was the group sent it? Async-signal-safe. */
bool run_group_has(int signal_number);
void run_group_end(void);
/* Is the signal in that set of proc_pid_status(5), as "SigIgn"? Async-signal-safe but for numbers of snprintf(3), which
 * glibc writes without memory of its own. */
bool run_process_has(pid_t pid, const char *set, int signal_number);
