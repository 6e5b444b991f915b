/* blocking.c - calls that wait for somebody, each for a known time. Three ranks.
 * blocking CASE MILLISECONDS: one rank comes so much late to one thing. Rank 1 always waits, and ends last. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size, late_ms;
static char bytes[1 << 16];

static void late(void)
{
	struct timespec t = {late_ms / 1000, late_ms % 1000 * 1000000};
	while (nanosleep(&t, &t) != 0)
		;
}

static void send_to(int who, int tag)
{
	MPI_Send(bytes, 512, MPI_BYTE, who, tag, MPI_COMM_WORLD);
}

static void recv_from(int who, int tag)
{
	MPI_Recv(bytes, sizeof(bytes), MPI_BYTE, who, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- rank 0 sends late; rank 1 waits for it in a probe ---- */

static void probe(void)
{
	MPI_Status s;
	if (rank == 0) {
		late();
		send_to(1, 1);
	} else if (rank == 1) {
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
		recv_from(s.MPI_SOURCE, s.MPI_TAG);
	}
}

static void mprobe(void)
{
	MPI_Message m;
	if (rank == 0) {
		late();
		send_to(1, 1);
	} else if (rank == 1) {
		MPI_Mprobe(0, 1, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
		MPI_Mrecv(bytes, sizeof(bytes), MPI_BYTE, &m, MPI_STATUS_IGNORE);
	}
}

#if MPI_VERSION >= 4
/* One of its partitions is late. */
static void partitioned(void)
{
	MPI_Request r;
	if (rank == 0)
		MPI_Psend_init(bytes, 4, sizeof(bytes) / 4, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
	else if (rank == 1)
		MPI_Precv_init(bytes, 4, sizeof(bytes) / 4, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
	else
		return;
	MPI_Start(&r);
	if (rank == 0) {
		MPI_Pready_range(0, 2, r);
		late();
		MPI_Pready(3, r);
	}
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Request_free(&r);
}
#endif

/* ---- and in tests ---- */

static void test(void)
{
	MPI_Request r;
	int done = 0;
	if (rank == 0) {
		late();
		send_to(1, 1);
	} else if (rank == 1) {
		MPI_Irecv(bytes, sizeof(bytes), MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r);
		while (!done)
			MPI_Test(&r, &done, MPI_STATUS_IGNORE);
	}
}

static void iprobe(void)
{
	int found = 0;
	if (rank == 0) {
		late();
		send_to(1, 1);
	} else if (rank == 1) {
		while (!found)
			MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
		recv_from(0, 1);
	}
}

/* The one of rank 2 is there at once. */
static void testsome(void)
{
	MPI_Request r[2];
	int n = 0, which[2], some;
	if (rank == 0)
		late();
	if (rank != 1) {
		send_to(1, 1);
		return;
	}
	for (int i = 0; i < 2; i++)
		MPI_Irecv(bytes + 1024 * i, 512, MPI_BYTE, 2 * i, 1, MPI_COMM_WORLD, &r[i]);
	for (; n < 2; n += some)
		MPI_Testsome(2, r, &some, which, MPI_STATUSES_IGNORE);
}

/* ---- rank 2 computes while rank 1 sends: the library has no room, or needs it inside of MPI ---- */

#define MANY 20000

static void small_sends(void)
{
	for (int i = 0; rank == 1 && i < MANY; i++)
		send_to(2, 1);
	if (rank == 0)
		send_to(2, 2);
	if (rank == 2) {
		late();
		recv_from(0, 2); /* it is in MPI, for something else */
		late();
		for (int i = 0; i < MANY; i++)
			recv_from(1, 1);
	}
}

/* ---- rank 2 comes late to what all do together ---- */

static void late_together(void)
{
	if (rank == 2)
		late();
}

static void comm_dup(void)
{
	MPI_Comm comm;
	late_together();
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
}

static void comm_idup(void)
{
	MPI_Comm comm;
	MPI_Request r;
	late_together();
	MPI_Comm_idup(MPI_COMM_WORLD, &comm, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void comm_split(void)
{
	MPI_Comm comm;
	late_together();
	MPI_Comm_split(MPI_COMM_WORLD, rank == 1 ? 1 : 0, 0, &comm);
}

/* Of ranks 1 and 2 only. */
static void comm_create_group(void)
{
	static const int zero = 0;
	MPI_Group all, some;
	MPI_Comm comm;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_excl(all, 1, &zero, &some);
	late_together();
	if (rank != 0)
		MPI_Comm_create_group(MPI_COMM_WORLD, some, 7, &comm);
}

static void cart_create(void)
{
	int dims = 3, periodic = 0;
	MPI_Comm comm;
	late_together();
	MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periodic, 0, &comm);
}

static void comm_free(void)
{
	MPI_Comm comm;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	late_together();
	MPI_Comm_free(&comm);
}

static void comm_disconnect(void)
{
	MPI_Comm comm;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	late_together();
	MPI_Comm_disconnect(&comm);
}

/* 0 - 1 - 2: rank 1 waits for rank 2, and rank 0 for nobody. */
static void neighbors(int nonblocking)
{
	int dims = 3, periodic = 0;
	double mine[2] = {0}, theirs[2];
	MPI_Comm comm;
	MPI_Request r;
	MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periodic, 0, &comm);
	MPI_Barrier(comm);
	late_together();
	if (nonblocking) {
		MPI_Ineighbor_alltoall(mine, 1, MPI_DOUBLE, theirs, 1, MPI_DOUBLE, comm, &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	} else {
		MPI_Neighbor_alltoall(mine, 1, MPI_DOUBLE, theirs, 1, MPI_DOUBLE, comm);
	}
}

static void neighbor(void)
{
	neighbors(0);
}

static void ineighbor(void)
{
	neighbors(1);
}

/* ---- all have started it, and rank 2 computes before it completes it ---- */

static void iallreduce(void)
{
	static double mine[100000], ours[100000];
	MPI_Request r;
	MPI_Iallreduce(mine, ours, 100000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
	late_together();
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD); /* rank 1 may have needed none of it, and left */
}

static void ibarrier(void)
{
	MPI_Request r;
	MPI_Ibarrier(MPI_COMM_WORLD, &r);
	late_together();
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"probe", probe},
	{"mprobe", mprobe},
#if MPI_VERSION >= 4
	{"partitioned", partitioned},
#endif
	{"test", test},
	{"iprobe", iprobe},
	{"testsome", testsome},
	{"small_sends", small_sends},
	{"comm_dup", comm_dup},
	{"comm_idup", comm_idup},
	{"comm_split", comm_split},
	{"comm_create_group", comm_create_group},
	{"cart_create", cart_create},
	{"comm_free", comm_free},
	{"comm_disconnect", comm_disconnect},
	{"neighbor", neighbor},
	{"ineighbor", ineighbor},
	{"iallreduce", iallreduce},
	{"ibarrier", ibarrier},
};

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	late_ms = argc > 2 ? atoi(argv[2]) : 300;
	MPI_Barrier(MPI_COMM_WORLD);
	size_t i = 0, n = sizeof(cases) / sizeof(cases[0]);
	while (i < n && argc > 1 && strcmp(argv[1], cases[i].name) != 0)
		i++;
	if (argc < 2 || i == n)
		MPI_Abort(MPI_COMM_WORLD, 2);
	cases[i].run();
	if (rank == 1)
		late();
	MPI_Finalize();
	return 0;
}
