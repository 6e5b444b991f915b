/* exits.c - how ranks end: only who started a process learns it, and that is MPI's launcher, which has this library
 * loaded too. So what it learns by waitpid() is noted beside the segments.
 *
 * In: waitpid() of mpirun and its daemons, MPITRACE_DIR.  Out: "<pid> <wait status> <tick>\n" a process in
 * $MPITRACE_DIR/exits. In all other programs this is waitpid(). */
#include "base/path.h"
#include "base/tick.h"
#include "format/limits.h"
#include "pmpi/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static int is_launcher;

/* Shells and make have children as well, thousands of them. */
__attribute__((constructor)) static void find_out(void)
{
	static const char *const names[] = {"orterun", "orted",	 "prterun",	  "prte",
					    "prted",   "mpirun", "mpiexec.hydra", "hydra_pmi_proxy"};
	char path[4096];
	path_self(path, sizeof(path));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		is_launcher |= strcmp(path_name(path), names[i]) == 0;
	is_launcher &= secure_getenv("MPITRACE_DIR") != NULL;
	if (is_launcher)
		tick_choose();
}

static void note(pid_t pid, int status)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%d %d %llu\n", (int)pid, status, (unsigned long long)tick_now());
	note_append("exits", EXITS_BYTES_MAX, line, (size_t)len);
}

__attribute__((visibility("default"))) pid_t waitpid(pid_t pid, int *status, int options)
{
	int own;
	pid_t ended = wait4(pid, status != NULL ? status : &own, options, NULL);
	if (ended <= 0 || !is_launcher)
		return ended;
	int ended_as = status != NULL ? *status : own, before = errno;
	if (WIFEXITED(ended_as) || WIFSIGNALED(ended_as))
		note(ended, ended_as);
	errno = before;
	return ended;
}
