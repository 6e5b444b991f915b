/* stuck.c WHAT - programs that never end, until a signal ends them when nothing happens any more: deadlocks, and
 * `computes`, in which all wait for one that does something else. With a second argument nothing ends them. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
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

/* Two threads each, which wait for the next rank and for the one before: of odd ranks the first one comes later. */
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
	if (rank % 2 == 1)
		usleep(20000);
	receives_from(&next);
	pthread_join(other, NULL);
}

/* Another thread, which calls MPI for the first time so many seconds later, sends what all wait for. */
static void *sends_late(void *seconds)
{
	sleep((unsigned)strtoul(seconds, NULL, 10));
	MPI_Send(b, 1, MPI_CHAR, next, 9, MPI_COMM_WORLD);
	return NULL;
}

static void late(void)
{
	pthread_t other;
	char *seconds = getenv("STUCK_SECONDS");
	if (pthread_create(&other, NULL, sends_late, seconds != NULL ? seconds : "0") != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Recv(a, 1, MPI_CHAR, before, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	pthread_join(other, NULL);
}

/* There could be other threads, and there are none. */
static void alone(void)
{
	MPI_Recv(a, 1, MPI_CHAR, next, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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

/* All but rank 0 wait for each other, and rank 0 for none of them. */
static void others(void)
{
	while (rank == 0)
		pause();
	MPI_Recv(b, 1, MPI_CHAR, rank == 1 ? size - 1 : rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- by which call ---- */

static void probes(void)
{
	MPI_Probe(before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void mprobes(void)
{
	MPI_Message message;
	MPI_Mprobe(before, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
}

static void ssends(void)
{
	MPI_Ssend(a, 1, MPI_CHAR, next, 0, MPI_COMM_WORLD);
	MPI_Recv(b, 1, MPI_CHAR, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Nobody sends with the tag that all wait for. */
static void sendrecvs(void)
{
	MPI_Sendrecv(a, LONG, MPI_CHAR, next, 0, b, LONG, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int irecv_from_both(MPI_Request *r)
{
	MPI_Irecv(b, 1, MPI_CHAR, before, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(b + 1, 1, MPI_CHAR, next, 0, MPI_COMM_WORLD, &r[1]);
	return 2;
}

static void waitalls(void)
{
	MPI_Request r[2];
	MPI_Waitall(irecv_from_both(r), r, MPI_STATUSES_IGNORE);
}

static void waitanys(void)
{
	MPI_Request r[2];
	int which;
	MPI_Waitany(irecv_from_both(r), r, &which, MPI_STATUS_IGNORE);
}

static void waitsomes(void)
{
	MPI_Request r[2];
	int n, which[2];
	MPI_Waitsome(irecv_from_both(r), r, &n, which, MPI_STATUSES_IGNORE);
}

static void isends(void)
{
	MPI_Request r;
	MPI_Isend(a, LONG, MPI_CHAR, next, 0, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void persistent(void)
{
	MPI_Request r;
	MPI_Recv_init(b, 1, MPI_CHAR, before, 0, MPI_COMM_WORLD, &r);
	MPI_Start(&r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* ---- collectives to which the last rank does not come: it wants a message from rank 0 first ---- */

static bool is_last(void)
{
	if (rank == size - 1)
		MPI_Recv(b, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return rank == size - 1;
}

static void bcasts(void)
{
	is_last();
	MPI_Bcast(b, 8, MPI_CHAR, size - 1, MPI_COMM_WORLD);
}

static void reduces(void)
{
	int one = 1, sum;
	is_last();
	MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduces(void)
{
	int one = 1, sum;
	is_last();
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoalls(void)
{
	is_last();
	MPI_Alltoall(a, 8, MPI_CHAR, b, 8, MPI_CHAR, MPI_COMM_WORLD);
}

static void gathers(void)
{
	is_last();
	MPI_Gather(a, 8, MPI_CHAR, b, 8, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void dups(void)
{
	MPI_Comm c;
	is_last();
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
}

static void ibarriers(void)
{
	MPI_Request r;
	is_last();
	MPI_Ibarrier(MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* ---- others ---- */

/* A square whose sides are communicators: each is in the barrier of one side, its neighbour in that of the other. */
static void sides(void)
{
	MPI_Comm one, two;
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &one);
	MPI_Comm_split(MPI_COMM_WORLD, (rank + 1) % size / 2, rank, &two);
	MPI_Barrier(rank % 2 == 0 ? one : two);
	MPI_Barrier(rank % 2 == 0 ? two : one);
}

/* Halves that wait for each other. */
static void halves(void)
{
	MPI_Comm half, inter;
	int low = rank < size / 2;
	MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 0, &inter);
	MPI_Recv(b, 1, MPI_CHAR, low ? rank : rank - size / 2, 0, inter, MPI_STATUS_IGNORE);
}

static void windows(void)
{
	MPI_Win w;
	is_last();
	MPI_Win_create(b, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
}

static void fences(void)
{
	MPI_Win w;
	MPI_Win_create(b, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
	is_last();
	MPI_Win_fence(0, w);
}

/* ---- one-sided ---- */

static MPI_Win window(void)
{
	MPI_Win w;
	MPI_Win_create(a, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
	MPI_Barrier(MPI_COMM_WORLD);
	return w;
}

static void take(MPI_Win w, int target)
{
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w);
	MPI_Put(b, 1, MPI_CHAR, target, 0, 1, MPI_CHAR, w);
	MPI_Win_flush(target, w);
}

/* Each has the next one's lock, and wants that which the next one has. */
static void locks(void)
{
	MPI_Win w = window();
	take(w, next);
	MPI_Barrier(MPI_COMM_WORLD);
	take(w, (next + 1) % size);
}

static MPI_Group only_last(void)
{
	MPI_Group all, one;
	int last = size - 1;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, &last, &one);
	return one;
}

static MPI_Group all_but_last(void)
{
	MPI_Group all, most;
	int last = size - 1;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_excl(all, 1, &last, &most);
	return most;
}

/* The last one is to access the windows of the others. */
static void exposures(void)
{
	MPI_Win w = window();
	if (is_last()) {
		MPI_Win_start(all_but_last(), 0, w);
		MPI_Win_complete(w);
	} else {
		MPI_Win_post(only_last(), 0, w);
		MPI_Win_wait(w);
	}
}

/* The last one is to expose its window to the others. */
static void accesses(void)
{
	MPI_Win w = window();
	if (is_last()) {
		MPI_Win_post(all_but_last(), 0, w);
		MPI_Win_wait(w);
	} else {
		MPI_Win_start(only_last(), 0, w);
		MPI_Put(b, 1, MPI_CHAR, size - 1, 0, 1, MPI_CHAR, w);
		MPI_Win_complete(w);
	}
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

/* Rank 1 takes all the memory that it can get, once that file is there. */
static void *eats(void *file)
{
	while (access(file, F_OK) != 0)
		usleep(100000);
	for (char *more; (more = malloc(LONG)) != NULL;)
		memset(more, 1, LONG);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{"receives", receives},
		{"receives_later", receives_later},
		{"sends", sends},
		{"waits", waits},
		{"anybody", anybody},
		{"barrier", barrier},
		{"orders", orders},
		{"ended", ended},
		{"halo", halo},
		{"three", three},
		{"threads", threads},
		{"late", late},
		{"alone", alone},
		{"computes", computes},
		{"others", others},
		{"probes", probes},
		{"mprobes", mprobes},
		{"ssends", ssends},
		{"sendrecvs", sendrecvs},
		{"waitalls", waitalls},
		{"waitanys", waitanys},
		{"waitsomes", waitsomes},
		{"isends", isends},
		{"persistent", persistent},
		{"bcasts", bcasts},
		{"reduces", reduces},
		{"allreduces", allreduces},
		{"alltoalls", alltoalls},
		{"gathers", gathers},
		{"dups", dups},
		{"ibarriers", ibarriers},
		{"sides", sides},
		{"halves", halves},
		{"windows", windows},
		{"fences", fences},
		{"locks", locks},
		{"exposures", exposures},
		{"accesses", accesses},
	};
	int provided, began = open(getenv("STUCK_BEGAN") != NULL ? getenv("STUCK_BEGAN") : "", O_CREAT | O_EXCL, 0644);
	if (began >= 0)
		close(began);
	if (argc > 1 && strstr("threads late alone", argv[1]) != NULL)
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
	if (getenv("STUCK_PAUSED") != NULL) {
		MPI_Pcontrol(0);
		for (int i = 0; i < 1000; i++)
			MPI_Allreduce(a, b, 1, MPI_CHAR, MPI_BOR, copy);
	}
	if (argc < 3)
		end_when_all_stand();
	pthread_t eater;
	if (rank == 1 && getenv("STUCK_EATS") != NULL)
		pthread_create(&eater, NULL, eats, getenv("STUCK_EATS"));
	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].name, argv[1]) == 0)
			all[i].run();
	return MPI_Finalize();
}
