/* ending.h - how the agent hears that its step is over. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whose end is that of the step; pid 0: nobody's. */
struct starter {
	pid_t pid;
	uint64_t begun;
};

/* pid: 0, or a process that runs. */
struct starter ending_starter(pid_t pid);
/* It is over, or the directory of the step is gone: what is left of the step nobody waits for. */
bool ending_starter_is_gone(const struct starter *s, const char *stepdir);
/* From now on whoever started us can tell by SIGUSR1; what came before waits. */
void ending_listen(void);
/* Whoever started us says that the step is over: by a signal, or by a mark in its directory, which in a full file
 * system cannot be made, nor where the user has taken the right to. */
bool ending_is_told(const char *stepdir);
