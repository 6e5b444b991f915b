/* steps.c FILE STEPS THREADS [ignore | hog | slow] - STEPS rounds (0: for ever) of six calls in each thread, with
 * a few thousand different signatures. What has returned is counted in FILE, mapped: long[thread][6]; whoever dies
 * loses nothing of it. Prints a sum that messages made. ignore: SIGTERM does not end it. hog: takes memory at the
 * end until it gets no more. slow: rests now and then, so that an idle agent comes to its turn. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KINDS 6

struct worker {
	volatile long *returned;
	MPI_Comm comm;
	long steps, sum;
	int slow;
};

static void *work(void *context)
{
	struct worker *w = context;
	int a[16], b[16], sum, flag;
	MPI_Request r[2];
	memset(a, 0, sizeof(a));
	for (long i = 0; w->steps == 0 || i < w->steps; i++) {
		int n = 1 + (int)(i % 13), tag = (int)(i % 97);
		a[n - 1] = (int)(i & 0xff);
		MPI_Irecv(b, n, MPI_INT, 0, tag, w->comm, r);
		w->returned[0]++;
		MPI_Iprobe(0, 1000, w->comm, &flag, MPI_STATUS_IGNORE);
		w->returned[1]++;
		MPI_Isend(a, n, MPI_INT, 0, tag, w->comm, r + 1);
		w->returned[2]++;
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		w->returned[3]++;
		MPI_Allreduce(&b[n - 1], &sum, 1, MPI_INT, MPI_SUM, w->comm);
		w->returned[4]++;
		MPI_Barrier(w->comm);
		w->returned[5]++;
		w->sum += sum;
		if (w->slow && i % 20 == 0)
			usleep(1000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker w[64];
	pthread_t threads[64];
	long sum = 0;
	int got;
	if (argc < 4)
		return 2;
	int n = atoi(argv[3]);
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 4096) != 0)
		return 2;
	volatile long *returned = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (argc > 4 && strcmp(argv[4], "ignore") == 0)
		signal(SIGTERM, SIG_IGN);
	if (n > 1)
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &got);
	else
		MPI_Init(&argc, &argv);
	for (int i = 0; i < n; i++) {
		w[i] = (struct worker){.returned = returned + i * KINDS,
				       .steps = atol(argv[2]),
				       .slow = argc > 4 && strcmp(argv[4], "slow") == 0};
		MPI_Comm_dup(MPI_COMM_SELF, &w[i].comm);
	}
	for (int i = 1; i < n; i++)
		pthread_create(&threads[i], NULL, work, &w[i]);
	work(&w[0]);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < n; i++)
		sum += w[i].sum;
	for (char *p; argc > 4 && strcmp(argv[4], "hog") == 0 && (p = malloc(1 << 20)) != NULL;)
		memset(p, 1, 1 << 20);
	MPI_Finalize();
	printf("sum %ld\n", sum);
	return 0;
}
