/* ends.c MODE - prints to both streams, talks a little MPI, then ends in one of many ways. */
#include <mpi.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

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
	if (strcmp(mode, "fork") == 0 || strcmp(mode, "rawfork") == 0) {
		int flag, status;
		fflush(stdout);
		pid_t pid = strcmp(mode, "fork") == 0 ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0) {
			MPI_Initialized(&flag);
			for (int i = 0; i < 9; i++) { /* erroneous, and done */
				MPI_Group group;
				MPI_Comm_group(MPI_COMM_WORLD, &group);
				MPI_Group_free(&group);
			}
			printf("child %d\n", flag);
			fflush(stdout);
			_exit(flag ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		printf("child ended %d\n", WEXITSTATUS(status));
	}
	if (strcmp(mode, "vfork") == 0) {
		int status;
		pid_t pid = vfork();
		if (pid == 0) {
			execlp("echo", "echo", "by vfork", (char *)NULL);
			_exit(1);
		}
		waitpid(pid, &status, 0);
		printf("child ended %d\n", WEXITSTATUS(status));
	}
	if (strcmp(mode, "posix_spawn") == 0) {
		char *words[] = {"sh", "-c", "echo spawned; exit 4", NULL};
		int status = 0;
		pid_t pid;
		if (posix_spawnp(&pid, "sh", NULL, NULL, words, environ) == 0)
			waitpid(pid, &status, 0);
		printf("child ended %d\n", WEXITSTATUS(status));
	}
	if (strcmp(mode, "system") == 0)
		printf("system ended %d\n", WEXITSTATUS(system("echo from a shell; exit 3")));
	if (strcmp(mode, "closed") == 0) /* a program may close whatever it finds open */
		for (int fd = 3; fd < 256; fd++)
			close(fd);
	if (strcmp(mode, "chdir") == 0 && chdir("/") != 0)
		abort();
}

/* What may be called without MPI being initialised: five calls. */
static void outside(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int a, b, len;
	MPI_Initialized(&a);
	MPI_Finalized(&b);
	printf("initialized %d finalized %d\n", a, b);
	MPI_Get_version(&a, &b);
	MPI_Get_version(&a, &b);
	MPI_Get_library_version(text, &len);
	printf("version %d.%d %d\n", a, b, len > 0);
}

/* The tool interface is another tool's. */
static void tool(void)
{
	int level, vars = 0;
	MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
	MPI_T_cvar_get_num(&vars);
	printf("level %d, variables %d\n", level, vars);
	MPI_T_finalize();
}

int main(int argc, char **argv)
{
	int rank, sum;
	const char *mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "outside") == 0)
		outside();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 100; i++)
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("sum %d LD_PRELOAD=%s\n", sum, getenv("SHOW_PRELOAD") != NULL ? getenv("LD_PRELOAD") : "-");
	fprintf(stderr, "to stderr\n");
	if (strcmp(mode, "tool") == 0)
		tool();
	fflush(stdout);
	end(mode);
	if (strcmp(mode, "closed") != 0)
		MPI_Finalize();
	if (strcmp(mode, "outside") == 0)
		outside();
	return strcmp(mode, "exit3") == 0 ? 3 : 0;
}
