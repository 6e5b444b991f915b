/* early_death.c FILE - the first of Open MPI's processes dies inside of MPI_Init before the others come there: these
 * wait until it is gone; FILE says who it is. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void say_pid(const char *path)
{
	char temporary[4096];
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	FILE *f = fopen(temporary, "w");
	fprintf(f, "%d", (int)getpid());
	fclose(f);
	rename(temporary, path);
}

/* A process that nobody has waited for yet is gone, too. */
static int is_there(int pid)
{
	char path[64], text[512] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "r");
	if (f == NULL)
		return 0;
	fgets(text, sizeof(text), f);
	fclose(f);
	const char *behind = strrchr(text, ')');
	return behind != NULL && behind[2] != 'Z' && behind[2] != 'X';
}

static void wait_for_end(const char *path)
{
	int pid = 0;
	while (pid == 0) {
		FILE *f = fopen(path, "r");
		if (f != NULL && fscanf(f, "%d", &pid) != 1)
			pid = 0;
		if (f != NULL)
			fclose(f);
		usleep(1000);
	}
	while (is_there(pid))
		usleep(1000);
}

/* On a machine that is SLOWER than others so many seconds later: it must have come to MPI_Init, where it waits for the
 * others. */
static void die_soon(void)
{
	const char *slower = getenv("SLOWER");
	struct itimerval once = {.it_value = {.tv_usec = 100000}};
	once.it_value.tv_sec = slower != NULL ? atoi(slower) - 1 : 0;
	setitimer(ITIMER_REAL, &once, NULL);
}

int main(int argc, char **argv)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	if (argc < 2 || rank == NULL)
		return 2;
	signal(SIGTERM, SIG_IGN); /* the launcher ends who is left */
	if (strcmp(rank, "0") == 0) {
		say_pid(argv[1]);
		die_soon();
	} else {
		wait_for_end(argv[1]);
	}
	MPI_Init(&argc, &argv);
	MPI_Finalize();
	return 0;
}
