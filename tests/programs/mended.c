/* mended.c WHAT [mended] - programs with one known fault, and the same without it: what mending gains is known by
 * running both. Computing is sleeping (cases.h); the program prints the seconds from MPI_Init to MPI_Finalize. */
#include "cases.h"

#include <stdio.h>

#define STEPS 40
#define LONG (1 << 20)

static int mended;

static void pause_us(long us)
{
	nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* Rank `heavy` computes 12 ms a step, the others 4; or all their mean. */
static void uneven(int heavy)
{
	pause_us(mended ? 1000 * (12 + 4 * (size - 1)) / size : rank == heavy ? 12000 : 4000);
}

static void barrier(void)
{
	for (int i = 0; i < STEPS; i++) {
		uneven(1);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

static void moving(void)
{
	for (int i = 0; i < STEPS; i++) {
		uneven(i % size);
		MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void exchange(int bytes)
{
	MPI_Sendrecv(buffer, bytes, MPI_BYTE, (rank + 1) % size, 0, buffer + LONG, bytes, MPI_BYTE,
		     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void halo(void)
{
	for (int i = 0; i < STEPS; i++) {
		uneven(2);
		exchange(1000);
	}
}

static void alltoall(void)
{
	for (int i = 0; i < STEPS; i++) {
		uneven(0);
		MPI_Alltoall(buffer, 1000, MPI_BYTE, buffer + LONG, 1000, MPI_BYTE, MPI_COMM_WORLD);
	}
}

/* Even ranks compute before they send, though nothing of it is in the message. */
static void late_send(void)
{
	for (int i = 0; i < STEPS; i++) {
		if (rank % 2 == 0) {
			pause_us(mended ? 2000 : 10000);
			MPI_Send(buffer, 8, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
			continue;
		}
		pause_us(2000);
		MPI_Recv(buffer, 8, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static void late_isend(void)
{
	MPI_Request requests[2];
	for (int i = 0; i < STEPS; i++) {
		MPI_Irecv(buffer + LONG, 64, MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
		pause_us(rank == 3 && !mended ? 9000 : 3000);
		MPI_Isend(buffer, 64, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
}

static void late_root(void)
{
	for (int i = 0; i < STEPS; i++) {
		pause_us(rank == 0 && !mended ? 11000 : 3000);
		MPI_Bcast(buffer, 1000, MPI_BYTE, 0, MPI_COMM_WORLD);
	}
}

static void late_leaf(void)
{
	for (int i = 0; i < STEPS; i++) {
		pause_us(rank == 2 && !mended ? 11000 : 3000);
		MPI_Reduce(buffer, buffer + LONG, 100, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	}
}

static void late_receive(void)
{
	for (int i = 0; i < STEPS; i++) {
		pause_us(rank % 2 == 1 && !mended ? 10000 : 2000);
		if (rank % 2 == 0)
			MPI_Ssend(buffer, 1000, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
		else
			MPI_Recv(buffer, 1000, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* One stage of a pipeline takes twice as long as the others. */
static void pipeline(void)
{
	for (int i = 0; i < STEPS; i++) {
		if (rank > 0)
			MPI_Recv(buffer, 8, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		pause_us(rank == 1 && !mended ? 10000 : 5000);
		if (rank + 1 < size)
			MPI_Send(buffer, 8, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
	}
}

/* What is computed before one of two calls is halved. */
static void site(void)
{
	for (int i = 0; i < STEPS; i++) {
		pause_us(mended ? 4000 : 8000);
		MPI_Barrier(MPI_COMM_WORLD); /* halved */
		pause_us(4000);
		exchange(8);
	}
}

/* A master that takes long to hand out each task. */
static void master(void)
{
	for (int i = 0; i < STEPS; i++)
		for (int r = 1; r < size; r++) {
			if (rank == 0) {
				pause_us(mended ? 1000 : 4000);
				MPI_Send(buffer, 8, MPI_BYTE, r, 0, MPI_COMM_WORLD);
			} else if (rank == r) {
				MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				pause_us(2000);
			}
		}
}

int main(int argc, char **argv)
{
	static const struct program_case all[] = {
		{"barrier", barrier},	  {"moving", moving},	    {"halo", halo},
		{"alltoall", alltoall},	  {"late_send", late_send}, {"late_isend", late_isend},
		{"late_root", late_root}, {"late_leaf", late_leaf}, {"late_receive", late_receive},
		{"pipeline", pipeline},	  {"site", site},	    {"master", master},
	};
	mended = argc > 2 && strcmp(argv[2], "mended") == 0;
	return run_case(argc, argv, all, sizeof(all) / sizeof(all[0]), "", 2 * LONG);
}
