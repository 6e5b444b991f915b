/* run_signals.h - what `mpitrace run` is sent while its program runs is for the program's launcher: that may handle
 * what was ignored when we began (nohup, a script's background), as those of Open MPI and MPICH do. We stay, for the
 * trace. */
#pragma once

#include <sys/types.h>

/* The program is pid; < 0: there is none. From here to our end no signal that it may be sent ends us. */
void run_signals_pass(pid_t pid);
/* The program has ended: what comes now is too late for it, and not for its report. */
void run_signals_end(void);
/* The first signal that was to end the program; 0: none. */
int run_signals_stopped_by(void);
