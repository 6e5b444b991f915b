/* verdicts.c WHAT - programs that are hard to judge: each loses its time in one known way, and looks like another.
 * Computing is sleeping, so that it lasts as long with many ranks on few processors. */
#include "cases.h"

#include <pthread.h>
#include <unistd.h>

#define STEPS 20
#define BLOCK (4 << 20)

/* All ranks want the one lock all the time; whoever has it computes. */
static void locks(void)
{
	MPI_Win win;
	MPI_Win_create(buffer, BLOCK, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int i = 0; i < STEPS; i++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Put(buffer + 64, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, win);
		MPI_Win_flush(0, win);
		compute(10);
		MPI_Win_unlock(0, win);
	}
	MPI_Win_free(&win);
}

/* Nothing but files. */
static void io(void)
{
	MPI_File file;
	MPI_File_open(MPI_COMM_WORLD, "verdicts.out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	for (int i = 0; i < STEPS; i++)
		MPI_File_write_at(file, (MPI_Offset)rank * BLOCK, buffer, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

/* Rank 1 alone writes, the others wait at the barrier: for the file. */
static void slow_io(void)
{
	MPI_File file;
	if (rank == 1)
		MPI_File_open(MPI_COMM_SELF, "verdicts.one", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	for (int i = 0; i < STEPS; i++) {
		compute(1);
		for (int k = 0; k < 8 && rank == 1; k++)
			MPI_File_write_at(file, k * BLOCK, buffer, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (rank == 1)
		MPI_File_close(&file);
}

/* Work is even in all, but in each step another rank has all of it. */
static void alternating(void)
{
	double sum = rank;
	for (int i = 0; i < STEPS; i++) {
		compute(i % size == rank ? 30 : 5);
		MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
}

/* The master takes longer to make a task than a worker needs for it. */
static void master(void)
{
	int task = 0, none, working = size - 1;
	MPI_Status status;
	if (rank == 0) {
		while (working > 0) {
			MPI_Recv(&none, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
			compute(10);
			int next = task < 3 * STEPS ? task++ : -1;
			working -= next < 0;
			MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
		}
		return;
	}
	while (task >= 0) {
		MPI_Send(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
		MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		compute(task >= 0 ? 1 : 0);
	}
}

/* Rank 0 does it all and hands out results. */
static void serial(void)
{
	for (int i = 0; i < STEPS; i++) {
		compute(rank == 0 ? 30 : 0);
		MPI_Bcast(buffer, 1024, MPI_BYTE, 0, MPI_COMM_WORLD);
	}
}

/* All is well, but for three messages that nobody receives. */
static void stray(void)
{
	for (int i = 0; i < 4; i++) {
		compute(100);
		MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		if (rank == 1 && i < 3)
			MPI_Send(buffer, 4, MPI_BYTE, 0, 99, MPI_COMM_WORLD);
	}
}

static void *talk(void *arg)
{
	int thread = (int)(long)arg, got;
	for (int i = 0; i < STEPS; i++) {
		compute(rank == 1 && thread == 1 ? 30 : 5);
		MPI_Sendrecv(&i, 1, MPI_INT, (rank + 1) % size, thread, &got, 1, MPI_INT, (rank + size - 1) % size,
			     thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return NULL;
}

/* Each thread exchanges with its fellows; one thread of rank 1 is slow. */
static void threads(void)
{
	pthread_t other;
	pthread_create(&other, NULL, talk, (void *)1);
	talk((void *)0);
	pthread_join(other, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
}

static int calls_left = -1;

static void ending(void *in, void *out, int *n, MPI_Datatype *type)
{
	(void)in;
	(void)out;
	(void)n;
	(void)type;
	if (calls_left == 0)
		_exit(3);
}

/* The operation of a reduction ends the process: inside of the collective. */
static void ends_inside(void)
{
	MPI_Op op;
	double sum = 0;
	MPI_Op_create(ending, 1, &op);
	for (int i = 0; i < STEPS; i++) {
		compute(5);
		calls_left = rank == 1 && i == STEPS / 2 ? 0 : -1;
		MPI_Allreduce(&sum, buffer, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
	}
}

/* Neighbours exchange, all is even: more ranks than processors is all there is. */
static void crowd(void)
{
	for (int i = 0; i < STEPS; i++) {
		double end = MPI_Wtime() + 0.001;
		while (MPI_Wtime() < end)
			;
		MPI_Sendrecv(buffer, 64, MPI_BYTE, (rank + 1) % size, 0, buffer + 64, 64, MPI_BYTE,
			     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* A nonblocking collective is started and waited for at once; rank 2 is late. */
static void nonblocking(void)
{
	double sum = rank, all;
	for (int i = 0; i < STEPS; i++) {
		MPI_Request request;
		compute(rank == 2 ? 30 : 5);
		MPI_Iallreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

/* Rank 0 gathers and writes after the last step; the others are done. */
static void output(void)
{
	double sum = rank;
	for (int i = 0; i < STEPS; i++) {
		compute(10);
		MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Gather(&sum, 1, MPI_DOUBLE, buffer, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	compute(rank == 0 ? 300 : 0);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 sends everybody the same, one after the other, each time with work before it. */
static void fan(void)
{
	for (int i = 0; i < STEPS; i++) {
		for (int r = 1; r < size && rank == 0; r++) {
			compute(10);
			MPI_Send(buffer, 1024, MPI_BYTE, r, 0, MPI_COMM_WORLD);
		}
		if (rank > 0)
			MPI_Recv(buffer, 1024, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* Whether a message has come is asked until it has; rank 1 sends late. */
static void probing(void)
{
	for (int i = 0; i < STEPS; i++) {
		int there = 0;
		compute(rank == 1 ? 30 : 5);
		MPI_Send(buffer, 8, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD);
		while (!there)
			MPI_Iprobe((rank + size - 1) % size, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
		MPI_Recv(buffer, 8, MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* All is even, and takes a processor. */
static void burns(void)
{
	for (int i = 0; i < STEPS; i++) {
		struct timespec now;
		do
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < 100 + 20 * (i + 1));
		MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	static const struct program_case all[] = {
		{"locks", locks},
		{"io", io},
		{"slow_io", slow_io},
		{"alternating", alternating},
		{"master", master},
		{"serial", serial},
		{"stray", stray},
		{"threads", threads},
		{"crowd", crowd},
		{"ends_inside", ends_inside},
		{"nonblocking", nonblocking},
		{"output", output},
		{"burns", burns},
		{"fan", fan},
		{"probing", probing},
	};
	return run_case(argc, argv, all, sizeof(all) / sizeof(all[0]), "threads", BLOCK);
}
