/* other_libc.c - what the front has functions of its own for, in a program of a libc that is not glibc (musl). */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	char name[16] = "";
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(syscall(SYS_getpid) == getpid() ? 7 : 8);
	waitpid(pid, &status, 0);
	prctl(PR_SET_NAME, "other", 0, 0, 0);
	prctl(PR_GET_NAME, name, 0, 0, 0);
	void *self = dlopen(NULL, RTLD_NOW);
	int is_found = self != NULL && dlsym(self, "puts") == (void *)puts && dlsym(self, "nowhere") == NULL;
	printf("%d %s %d %d\n", WEXITSTATUS(status), name, is_found, dlclose(self));
	return 3;
}
