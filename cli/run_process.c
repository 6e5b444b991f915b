/* run_process.c - see run.h: programs as a shell starts them, and their exit codes as it has them. */
#include "cli/print.h"
#include "cli/run.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int run_become(char *const words[])
{
	execvp(words[0], words);
	int failed = errno;
	print_plain("mpitrace run: cannot start \"%s\": %s\n", words[0], strerror(failed));
	return failed == ENOENT ? 127 : 126;
}

pid_t run_start(char *const words[])
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(run_become(words));
	return pid;
}

int run_wait_status(pid_t pid)
{
	int status = 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return W_EXITCODE(1, 0);
	return status;
}

int run_code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_wait(pid_t pid)
{
	return run_code_of(run_wait_status(pid));
}
