/* unnamed.c N - N messages to itself with 6,000 tags; it cleans up what it takes for its own, twice: what the tracer
 * has of it loses its name once the agent has it. Then a thread that sends N more. */
#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAGS 6000

static void messages(int n, int first)
{
	int a = 0, b;
	for (int i = first; i < first + n; i++)
		MPI_Sendrecv(&a, 1, MPI_INT, 0, i % TAGS, &b, 1, MPI_INT, 0, i % TAGS, MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
}

/* The agent's note of its output lies there when it has seen a process. */
static void clean_up(void)
{
	char mine[32];
	const struct dirent *entry;
	const char *dir = getenv("MPITRACE_DIR");
	DIR *d = dir != NULL ? opendir(dir) : NULL;
	while (d != NULL && faccessat(dirfd(d), "output", F_OK, 0) != 0)
		usleep(1000);
	snprintf(mine, sizeof(mine), "%d.", (int)getpid());
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strncmp(entry->d_name, mine, strlen(mine)) == 0)
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d != NULL)
		closedir(d);
}

static void *thread(void *n)
{
	messages(*(int *)n, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;
	int level, n = argc > 1 ? atoi(argv[1]) : 0;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	messages(n / 3, 0);
	clean_up();
	messages(n / 3, n / 3);
	clean_up();
	messages(n - n / 3 * 2, n / 3 * 2);
	pthread_create(&other, NULL, thread, &n);
	pthread_join(other, NULL);
	MPI_Finalize();
	return 0;
}
