/* stuck.c WHAT - programs that never end, until a signal ends them when nothing happens any more: deadlocks, and
 * `computes`, in which all wait for one that does something else. With a second argument nothing ends them. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define LONG (1 << 20)

static int rank, size, next, before;
static char *a, *b;
static MPI_Comm copy;

static void receives(void)
{
	MPI_Recv(b, 1, MPI_CHAR, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* After some that went well, on another communicator. */
static void receives_later(void)
{
	for (int i = 0; i < 5; i++) {
		MPI_Sendrecv(a, 1, MPI_CHAR, next, 0, b, 1, MPI_CHAR, before, 0, copy, MPI_STATUS_IGNORE);
		MPI_Barrier(copy);
	}
	MPI_Send(a, 1, MPI_CHAR, next, 3, copy);
	MPI_Recv(b, 1, MPI_CHAR, before, 3, copy, MPI_STATUS_IGNORE);
	MPI_Recv(b, 1, MPI_CHAR, before, 4, copy, MPI_STATUS_IGNORE);
}

static void sends(void)
{
	MPI_Send(a, LONG, MPI_CHAR, next, 0, MPI_COMM_WORLD);
	MPI_Recv(b, LONG, MPI_CHAR, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void waits(void)
{
	MPI_Request request;
	MPI_Irecv(b, 1, MPI_CHAR, before, 0, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* An exchange with both neighbours that goes well three times; then rank 0 waits for one more first. */
static void halo(void)
{
	for (int i = 0; i < 4; i++) {
		MPI_Request r[4];
		if (i == 3 && rank == 0)
			MPI_Recv(b, 1, MPI_CHAR, next, 9, copy, MPI_STATUS_IGNORE);
		MPI_Irecv(b, 8, MPI_CHAR, before, 0, copy, &r[0]);
		MPI_Irecv(b + 8, 8, MPI_CHAR, next, 1, copy, &r[1]);
		MPI_Isend(a, 8, MPI_CHAR, next, 0, copy, &r[2]);
		MPI_Isend(a, 8, MPI_CHAR, before, 1, copy, &r[3]);
		MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	}
}

/* The last three wait for each other, the others for them. */
static void three(void)
{
	if (rank >= size - 3)
		MPI_Recv(b, 1, MPI_CHAR, rank == size - 1 ? size - 3 : rank + 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Two threads each, which wait for the next rank and for the one before. */
static void *receives_from(void *from)
{
	char c;
	MPI_Recv(&c, 1, MPI_CHAR, *(int *)from, from == &before, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return NULL;
}

static void threads(void)
{
	pthread_t other;
	if (pthread_create(&other, NULL, receives_from, &before) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	receives_from(&next);
	pthread_join(other, NULL);
}

static void anybody(void)
{
	MPI_Recv(b, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 0 is in a barrier, the last one wants a message first. */
static void barrier(void)
{
	if (rank == size - 1)
		MPI_Recv(b, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Two communicators in two orders. */
static void orders(void)
{
	MPI_Barrier(rank % 2 == 0 ? MPI_COMM_WORLD : copy);
	MPI_Barrier(rank % 2 == 0 ? copy : MPI_COMM_WORLD);
}

/* Nobody sends to rank 1 any more. */
static void ended(void)
{
	if (rank == 1)
		MPI_Recv(b, 1, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 0 might send yet. */
static void computes(void)
{
	while (rank == 0)
		pause();
	MPI_Recv(b, 1, MPI_CHAR, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- the end ---- */

#define TICKS 10 /* of each rank: it has had a processor so often since it set out */
#define TICK_US 100000

static volatile int *ticks; /* by rank, shared by all */

static void tick(int number)
{
	ticks[rank]++;
	for (int i = 0; i < size; i++)
		if (ticks[i] < TICKS)
			return;
	signal(number, SIG_DFL);
	raise(number);
}

static void end_when_all_stand(void)
{
	struct itimerval every = {{0, TICK_US}, {0, TICK_US}};
	int fd = open("stuck.ticks", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size * (off_t)sizeof(*ticks)) < 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	void *shared = mmap(NULL, (size_t)size * sizeof(*ticks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		MPI_Abort(MPI_COMM_WORLD, 1);
	ticks = shared;
	ticks[rank] = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{"receives", receives}, {"receives_later", receives_later},
		{"sends", sends},	{"waits", waits},
		{"anybody", anybody},	{"barrier", barrier},
		{"orders", orders},	{"ended", ended},
		{"halo", halo},		{"three", three},
		{"threads", threads},	{"computes", computes},
	};
	int provided;
	if (argc > 1 && strcmp(argv[1], "threads") == 0)
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	else
		MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	a = calloc(1, LONG);
	b = calloc(1, LONG);
	if (argc < 3)
		end_when_all_stand();
	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].name, argv[1]) == 0)
			all[i].run();
	return MPI_Finalize();
}
