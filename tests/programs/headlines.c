/* headlines.c WHAT - programs whose time goes to one known thing, and which do something else beside it that an
 * answer could fall for. */
#include "cases.h"

#include <stdio.h>

#define LONG (1 << 20)

/* Ranks hold a lock in turn, for long; and two messages of 4 bytes are never received. */
static void lock(void)
{
	MPI_Win win;
	MPI_Win_create(buffer, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int i = 0; i < 2 && rank == 1; i++)
		MPI_Send(buffer, 4, MPI_BYTE, 0, 99, MPI_COMM_WORLD);
	for (int i = 0; i < 10; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		compute(rank == i % 2 ? 0 : 5);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Put(buffer + 64, 4, MPI_BYTE, 0, 0, 4, MPI_BYTE, win);
		MPI_Win_flush(0, win);
		compute(rank == i % 2 ? 40 : 0);
		MPI_Win_unlock(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_free(&win);
}

static void late_receives(int nonblocking)
{
	for (int i = 0; i < 10; i++) {
		MPI_Request request;
		if (rank == 0) {
			MPI_Ssend(buffer, LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
			continue;
		}
		compute(20);
		if (nonblocking) {
			MPI_Irecv(buffer, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(buffer, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
	}
}

static void irecv(void)
{
	late_receives(1);
}

static void recv(void)
{
	late_receives(0);
}

static void writes(int collective)
{
	MPI_File file;
	MPI_File_open(MPI_COMM_WORLD, "headlines.out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	for (int i = 0; i < 40; i++) {
		MPI_Offset at = (MPI_Offset)(2 * i + rank) * LONG;
		if (collective)
			MPI_File_write_at_all(file, at, buffer, LONG, MPI_BYTE, MPI_STATUS_IGNORE);
		else
			MPI_File_write_at(file, at, buffer, LONG, MPI_BYTE, MPI_STATUS_IGNORE);
	}
	MPI_File_close(&file);
}

static void collective_io(void)
{
	writes(1);
}

static void own_io(void)
{
	writes(0);
}

/* Many tests in vain are one event each run of them. */
static void polls(void)
{
	int done = 0;
	MPI_Request request;
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		MPI_Irecv(buffer, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
		for (long n = 1; !done; n++) {
			MPI_Test(&request, &done, MPI_STATUS_IGNORE);
			if (done)
				printf("tests %ld\n", n);
		}
	} else {
		compute(200);
		MPI_Send(buffer, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	}
}

/* More ranks than processors that all compute and all wait for each other. */
static void crowd(void)
{
	for (int i = 0; i < 30; i++) {
		double end = MPI_Wtime() + 0.002;
		while (MPI_Wtime() < end)
			;
		MPI_Sendrecv(buffer, 8, MPI_BYTE, (rank + 1) % size, 0, buffer + 8, 8, MPI_BYTE,
			     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* Nearly all of it is computing. */
static void even(void)
{
	for (int i = 0; i < 4; i++) {
		compute(100);
		MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	static const struct program_case all[] = {
		{"lock", lock},	    {"irecv", irecv}, {"recv", recv},	{"collective_io", collective_io},
		{"own_io", own_io}, {"polls", polls}, {"crowd", crowd}, {"even", even},
	};
	return run_case(argc, argv, all, sizeof(all) / sizeof(all[0]), "", 2 * LONG);
}
