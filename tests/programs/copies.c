/* copies.c - a process of MPI is copied (fork) for a while, before the copy executes another program or ends:
 * milliseconds that the copy lasts, milliseconds afterwards, program that the copy becomes. */
#include <mpi.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void wait_ms(const char *ms)
{
	usleep((useconds_t)atoi(ms) * 1000);
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? fork() : -1;
	if (pid == 0) {
		wait_ms(argv[1]);
		if (argc > 3)
			execl(argv[3], argv[3], (char *)NULL);
		_exit(argc > 3);
	}
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		wait_ms(argv[2]);
	}
	MPI_Init(&argc, &argv);
	MPI_Finalize();
	return 0;
}
