/* child.h - starting `mpitrace SUBCOMMAND` as a job's user, within bounds, and ending it.
 * It starts as root and gives that up itself before it reads a byte (`mpitrace --as`, base/become.h): between exec and
 * then it is nobody's to trace. */
#pragma once

#include "base/become.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_ARGS_MAX 16
#define CHILD_FDS_MAX 2

struct child {
	const char *program; /* path of mpitrace */
	const struct identity *who;
	const char *args[CHILD_ARGS_MAX]; /* subcommand and what follows, ended by NULL */
	int fds[CHILD_FDS_MAX];		  /* become 3, 4 in it */
	int nfds;
	uint64_t address_bytes; /* RLIMIT_AS */
	uint64_t data_bytes;	/* RLIMIT_DATA */
	unsigned cpu_seconds;	/* RLIMIT_CPU, 0: none */
	bool alone;		/* no further processes */
	bool nice;		/* 19 */
	bool idle;		/* SCHED_IDLE as well */
};

/* Detach from whoever started us: own session, no descriptor but 0-2 (/dev/null) and `keep`..., / as directory, default
 * signals, OOM score 0. False: go no further. */
bool detach_self(const int *keep, int nkeep);
/* The pid, leader of a process group of its own, or -errno. */
pid_t child_start(const struct child *c);
/* Wait until it ends, at most `seconds`, then kill the whole group. Its exit code, -EINTR when a signal ended it, 
 * -ETIME when time did. A stopped one is sent on. */
int child_wait(pid_t pid, double seconds);
/* End its group at once and reap it. */
void child_kill(pid_t pid);
/* Out of the idle class: what it does now somebody waits for. */
void child_hurry(pid_t pid);
/* May root run this file: root's, and nobody else's to write? */
bool program_is_trusted(const char *program);
