/* mended.c WHAT [mended] - programs with one known fault, and the same without it: what mending gains is known by
 * running both. Computing is sleeping (cases.h); the program prints the seconds from MPI_Init to MPI_Finalize. */
#include "cases.h"

#include <stdio.h>

#define STEPS 40
#define LONG (1 << 20)
#define LARGE (1 << 18) /* above what libraries send without the receiver */

static int mended;
static MPI_Request request;

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

/* ---- computing between the start of something and its completion ---- */

static void wait_for_it(void)
{
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ibarrier(void)
{
	for (int i = 0; i < STEPS; i++) {
		MPI_Ibarrier(MPI_COMM_WORLD, &request);
		uneven(1);
		wait_for_it();
	}
}

static void iallreduce(void)
{
	for (int i = 0; i < STEPS; i++) {
		MPI_Iallreduce(MPI_IN_PLACE, buffer, 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
		uneven(i % size);
		wait_for_it();
	}
}

static void ialltoall(void)
{
	for (int i = 0; i < STEPS; i++) {
		MPI_Ialltoall(buffer, 1000, MPI_BYTE, buffer + LONG, 1000, MPI_BYTE, MPI_COMM_WORLD, &request);
		uneven(2);
		wait_for_it();
	}
}

/* Who passes it on computes long, then who gets it from there. */
static void ibcast(void)
{
	for (int i = 0; i < STEPS; i++) {
		MPI_Ibcast(buffer, 1000, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
		uneven(i % 2 == 0 ? 1 : size - 1);
		wait_for_it();
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

static void isend(void)
{
	for (int i = 0; i < STEPS; i++) {
		pause_us(rank % 2 == 1 && !mended ? 10000 : 2000);
		if (rank % 2 == 0) {
			MPI_Isend(buffer, LARGE, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD, &request);
			pause_us(2000);
			wait_for_it();
		} else {
			MPI_Recv(buffer, LARGE, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
	}
}

static void irecv(void)
{
	for (int i = 0; i < STEPS; i++) {
		if (rank % 2 == 1) {
			MPI_Irecv(buffer, LARGE, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, &request);
			pause_us(mended ? 4000 : 12000);
			wait_for_it();
		} else {
			pause_us(2000);
			MPI_Send(buffer, LARGE, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
			pause_us(4000);
		}
	}
}

/* ---- calls that block, and need not ---- */

static void blocking_recv(void)
{
	for (int i = 0; i < STEPS; i++) {
		if (rank % 2 == 0) {
			pause_us(8000);
			MPI_Send(buffer, 8, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
		} else if (mended) {
			MPI_Irecv(buffer, 8, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, &request);
			pause_us(6000);
			wait_for_it();
		} else {
			MPI_Recv(buffer, 8, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* a receive */
			pause_us(6000);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

static void blocking_send(void)
{
	for (int i = 0; i < STEPS; i++) {
		if (rank % 2 == 1) {
			pause_us(8000);
			MPI_Recv(buffer, 8, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else if (mended) {
			MPI_Issend(buffer, 8, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD, &request);
			pause_us(6000);
			wait_for_it();
		} else {
			MPI_Ssend(buffer, 8, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD); /* a send */
			pause_us(6000);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* In turn a rank computes 10 ms before it, and the next one behind it. */
static void blocking_allreduce(void)
{
	for (int i = 0; i < STEPS; i++) {
		pause_us(rank == i % size ? 10000 : 2000);
		if (mended)
			MPI_Iallreduce(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
		else
			MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* a collective */
		pause_us(rank == (i + 1) % size ? 10000 : 2000);
		if (mended)
			wait_for_it();
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* What comes from both sides is needed a step later. */
static void blocking_halo(void)
{
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	MPI_Request both[4];
	for (int i = 0; i < STEPS; i++) {
		if (mended) {
			MPI_Irecv(buffer + LONG, 1000, MPI_BYTE, left, 0, MPI_COMM_WORLD, &both[0]);
			MPI_Isend(buffer, 1000, MPI_BYTE, right, 0, MPI_COMM_WORLD, &both[1]);
			MPI_Irecv(buffer + LONG + 1000, 1000, MPI_BYTE, right, 1, MPI_COMM_WORLD, &both[2]);
			MPI_Isend(buffer, 1000, MPI_BYTE, left, 1, MPI_COMM_WORLD, &both[3]);
		} else {
			MPI_Sendrecv(buffer, 1000, MPI_BYTE, right, 0, buffer + LONG, 1000, MPI_BYTE, left, 0,
				     MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* a receive from the left */
			MPI_Sendrecv(buffer, 1000, MPI_BYTE, left, 1, buffer + LONG + 1000, 1000, MPI_BYTE, right, 1,
				     MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* a receive from the right */
		}
		pause_us(rank == i % size ? 12000 : 4000);
		if (mended)
			MPI_Waitall(4, both, MPI_STATUSES_IGNORE);
	}
}

/* ---- others ---- */

/* Each in turn computes more, and nothing asks for the barrier. */
static void needless_barrier(void)
{
	for (int i = 0; i < STEPS; i++) {
		pause_us(rank == i % size ? 12000 : 4000);
		if (!mended)
			MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* One rank takes 2.5 times as long for everything. */
static void slow(void)
{
	for (int i = 0; i < STEPS; i++) {
		pause_us(rank == 3 && !mended ? 10000 : 4000);
		exchange(1000);
		pause_us(rank == 3 && !mended ? 5000 : 2000);
		MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void gather(void)
{
	for (int i = 0; i < STEPS; i++) {
		uneven(3);
		MPI_Gather(buffer, 1000, MPI_BYTE, buffer + LONG, 1000, MPI_BYTE, 0, MPI_COMM_WORLD);
		MPI_Bcast(buffer, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	static const struct program_case all[] = {
		{"barrier", barrier},
		{"moving", moving},
		{"halo", halo},
		{"alltoall", alltoall},
		{"late_send", late_send},
		{"late_isend", late_isend},
		{"late_root", late_root},
		{"late_leaf", late_leaf},
		{"late_receive", late_receive},
		{"pipeline", pipeline},
		{"site", site},
		{"master", master},
		{"ibarrier", ibarrier},
		{"iallreduce", iallreduce},
		{"ialltoall", ialltoall},
		{"ibcast", ibcast},
		{"isend", isend},
		{"irecv", irecv},
		{"blocking_recv", blocking_recv},
		{"blocking_send", blocking_send},
		{"blocking_allreduce", blocking_allreduce},
		{"blocking_halo", blocking_halo},
		{"needless_barrier", needless_barrier},
		{"slow", slow},
		{"gather", gather},
	};
	mended = argc > 2 && strcmp(argv[2], "mended") == 0;
	return run_case(argc, argv, all, sizeof(all) / sizeof(all[0]), "", 2 * LONG);
}
