/* ends.c MODE - prints to both streams, talks a little MPI, then ends in one of many ways. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(const char *mode)
{
	if (strcmp(mode, "segv") == 0)
		raise(SIGSEGV);
	if (strcmp(mode, "abort") == 0)
		abort();
	if (strcmp(mode, "mpi_abort") == 0)
		MPI_Abort(MPI_COMM_WORLD, 9);
	if (strcmp(mode, "exit7") == 0)
		exit(7);
	if (strcmp(mode, "_exit5") == 0)
		_exit(5);
	if (strcmp(mode, "exec") == 0)
		execlp("echo", "echo", "executed", (char *)NULL);
	if (strcmp(mode, "fork") == 0) {
		int flag, status;
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0) {
			MPI_Initialized(&flag);
			printf("child %d\n", flag);
			fflush(stdout);
			_exit(flag ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		printf("child ended %d\n", WEXITSTATUS(status));
	}
	if (strcmp(mode, "closed") == 0) /* a program may close whatever it finds open */
		for (int fd = 3; fd < 256; fd++)
			close(fd);
	if (strcmp(mode, "chdir") == 0 && chdir("/") != 0)
		abort();
}

int main(int argc, char **argv)
{
	int rank, sum;
	const char *mode = argc > 1 ? argv[1] : "";
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 100; i++)
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("sum %d LD_PRELOAD=%s\n", sum, getenv("SHOW_PRELOAD") != NULL ? getenv("LD_PRELOAD") : "-");
	fprintf(stderr, "to stderr\n");
	fflush(stdout);
	end(mode);
	if (strcmp(mode, "closed") != 0)
		MPI_Finalize();
	return strcmp(mode, "exit3") == 0 ? 3 : 0;
}
