/* detach.h - processes that outlive slurmstepd or the epilog, and becoming the job's user for good.
 * Between fork and exec only system calls: the caller may have threads. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct identity {
	uid_t uid;
	gid_t gid;
	const gid_t *gids;
	int ngids;
};

/* Give up root for the user, irrevocably: groups, gid, uid, checked, no_new_privs. False if
 * anything is not as it must be, also for uid 0; the caller must then _exit. */
bool detach_become(const struct identity *who);
/* Start argv[0] detached from everything of ours (own session, no descriptors, / as directory,
 * normal OOM score, lowest priority) as the user. The pid, or -errno. */
pid_t detach_start(char *const argv[], char *const envp[], const struct identity *who);
/* Fork a detached process, still root: 0 in it, 1 in the caller, -errno. */
int detach_fork(void);
/* In a detached process: run argv as the user and wait at most seconds; its exit code, or -errno
 * (-ETIME: killed). */
int detach_run(char *const argv[], char *const envp[], const struct identity *who, unsigned seconds);
