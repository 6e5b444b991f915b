/* loader.c race|constructor LIBRARY - MPI begins while another thread opens and closes a library all the time; or opens
 * one whose constructor calls MPI (loader_plugin.c). */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *library;
static atomic_int stop, rounds;

static void *opens_and_closes(void *unused)
{
	(void)unused;
	while (!stop) {
		void *h = dlopen(library, RTLD_NOW);
		if (h != NULL)
			dlclose(h);
		rounds++;
	}
	return NULL;
}

static void *opens(void *unused)
{
	(void)unused;
	dlopen(library, RTLD_NOW);
	return NULL;
}

/* Until the constructor runs: it makes this file. */
static void wait_for_constructor(void)
{
	char name[4096];
	snprintf(name, sizeof(name), "%s.runs", library);
	while (access(name, F_OK) != 0)
		usleep(1000);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int provided;
	if (argc < 3)
		return 2;
	library = argv[2];
	if (strcmp(argv[1], "race") == 0) {
		pthread_create(&thread, NULL, opens_and_closes, NULL);
		while (rounds < 100)
			usleep(1000);
	} else {
		pthread_create(&thread, NULL, opens, NULL);
		wait_for_constructor();
	}
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	stop = 1;
	pthread_join(thread, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	printf("done\n");
	return 0;
}
