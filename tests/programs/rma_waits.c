/* rma_waits.c - one-sided calls and calls on files that wait for a known time. Three ranks.
 * rma_waits CASE|all MILLISECONDS FILE: in each case one rank comes so much late to one thing. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DOUBLES 1024

static int rank, size, late_ms;
static double mine[DOUBLES], other[DOUBLES];
static const char *scratch;

static void late(void)
{
	struct timespec t = {late_ms / 1000, late_ms % 1000 * 1000000};
	while (nanosleep(&t, &t) != 0)
		;
}

static MPI_Win window(void)
{
	MPI_Win win;
	MPI_Win_create(mine, sizeof(mine), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Barrier(MPI_COMM_WORLD);
	return win;
}

static void over(MPI_Win win)
{
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_free(&win);
}

static MPI_Group only(int who)
{
	MPI_Group all, one;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, &who, &one);
	MPI_Group_free(&all);
	return one;
}

/* Rank 2 comes late to making the window. */
static void create(void)
{
	MPI_Win win;
	if (rank == 2)
		late();
	MPI_Win_create(mine, sizeof(mine), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	over(win);
}

static void put_to(int target, MPI_Win win)
{
	MPI_Put(other, DOUBLES, MPI_DOUBLE, target, 0, DOUBLES, MPI_DOUBLE, win);
}

static void fence(void)
{
	MPI_Win win = window();
	MPI_Win_fence(0, win);
	put_to((rank + 1) % size, win);
	if (rank == 1)
		late();
	MPI_Win_fence(0, win);
	over(win);
}

static void free_late(void)
{
	MPI_Win win = window();
	if (rank == 0)
		late();
	MPI_Win_free(&win);
}

/* Rank 1 exposes its window to rank 0; who is late, and before what? */
static void expose(int post_late, int put_late, int complete_late)
{
	MPI_Win win = window();
	MPI_Group group = only(rank == 0 ? 1 : 0);
	if (rank == 0) {
		MPI_Win_start(group, 0, win);
		if (put_late)
			late();
		put_to(1, win);
		if (complete_late)
			late();
		MPI_Win_complete(win);
	} else if (rank == 1) {
		if (post_late)
			late();
		MPI_Win_post(group, 0, win);
		MPI_Win_wait(win);
	}
	if (rank < 2)
		MPI_Group_free(&group);
	over(win);
}

static void late_post(void)
{
	expose(1, 0, 0);
}

static void late_put(void)
{
	expose(0, 1, 0);
}

static void late_complete(void)
{
	expose(0, 0, 1);
}

/* Rank 1 holds a lock of rank 0's window that rank 2 wants. Rank 0 is inside of MPI. */
static void contend(int type)
{
	MPI_Win win = window();
	if (rank == 1) {
		MPI_Win_lock(type, 0, 0, win);
		MPI_Get(other, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
		MPI_Win_flush(0, win);
		MPI_Send(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD);
		late();
		MPI_Win_unlock(0, win);
	} else if (rank == 2) {
		MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Win_lock(type, 0, 0, win);
		put_to(0, win);
		MPI_Win_unlock(0, win);
	}
	over(win);
}

static void lock(void)
{
	contend(MPI_LOCK_EXCLUSIVE);
}

static void lock_shared(void)
{
	contend(MPI_LOCK_SHARED);
}

/* Rank 0 computes while rank 1 reaches into its window. */
static void progress(void)
{
	MPI_Win win = window();
	if (rank == 0) {
		MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		late();
	} else if (rank == 1) {
		MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		put_to(0, win);
		MPI_Win_unlock(0, win);
	}
	over(win);
}

/* Rank 1 comes late to a collective write. */
static void io(void)
{
	MPI_File file;
	MPI_File_open(MPI_COMM_WORLD, scratch, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		late();
	MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof(mine), mine, DOUBLES, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		MPI_File_read_at(file, 0, other, DOUBLES, MPI_DOUBLE, MPI_STATUS_IGNORE);
		MPI_File_write_at(file, 0, other, 16, MPI_DOUBLE, MPI_STATUS_IGNORE);
	}
	MPI_Request request;
	MPI_File_iwrite_at(file, rank * (MPI_Offset)sizeof(mine), mine, 32, MPI_DOUBLE, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_File_read_at_all(file, rank * (MPI_Offset)sizeof(mine), other, DOUBLES, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"create", create},	{"fence", fence},
	{"free", free_late},	{"late_post", late_post},
	{"late_put", late_put}, {"late_complete", late_complete},
	{"lock", lock},		{"lock_shared", lock_shared},
	{"progress", progress}, {"io", io},
};

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	late_ms = argc > 2 ? atoi(argv[2]) : 0;
	scratch = argc > 3 ? argv[3] : "rma_waits.dat";
	MPI_Barrier(MPI_COMM_WORLD);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0 || strcmp(argv[1], "all") == 0)
			cases[i].run();
	MPI_Finalize();
	return 0;
}
