/* answers.c WHAT - programs of the kinds that people write, each with one truth about where its time goes. Computing is
 * sleeping, so that it lasts as long with many ranks on few processors. */
#include "cases.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#define STEPS 20
#define FACE 4096

static int left(void)
{
	return (rank + size - 1) % size;
}

static int right(void)
{
	return (rank + 1) % size;
}

/* Neighbours exchange faces; rank 1 has three times the work. */
static void exchange(void)
{
	MPI_Request all[4];
	MPI_Irecv(buffer, FACE, MPI_BYTE, left(), 0, MPI_COMM_WORLD, &all[0]);
	MPI_Irecv(buffer + FACE, FACE, MPI_BYTE, right(), 1, MPI_COMM_WORLD, &all[1]);
	MPI_Isend(buffer + 2 * FACE, FACE, MPI_BYTE, right(), 0, MPI_COMM_WORLD, &all[2]);
	MPI_Isend(buffer + 3 * FACE, FACE, MPI_BYTE, left(), 1, MPI_COMM_WORLD, &all[3]);
	MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
}

static void halo(void)
{
	for (int i = 0; i < STEPS; i++) {
		compute(rank == 1 ? 30 : 10);
		exchange();
	}
}

/* Rank 0 hands out tasks and only waits for results; the tasks are even. */
static void farm(void)
{
	int task = 0, none = -1, tasks = STEPS * (size - 1), working = size - 1;
	MPI_Status status;
	if (rank == 0) {
		while (working > 0) {
			MPI_Recv(&none, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
			int next = task < tasks ? task++ : -1;
			working -= next < 0;
			MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
		}
		return;
	}
	for (task = 0; task >= 0;) {
		MPI_Send(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
		MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (task >= 0)
			compute(10);
	}
}

/* Each rank needs what the one before has made: one works at a time. */
static void pipeline(void)
{
	for (int i = 0; i < 4; i++) {
		if (rank > 0)
			MPI_Recv(buffer, FACE, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		compute(10);
		if (rank < size - 1)
			MPI_Send(buffer, FACE, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* A distributed matrix is turned round and round. */
static void transpose(void)
{
	int part = (16 << 20) / size;
	char *from = calloc((size_t)part, (size_t)size), *to = calloc((size_t)part, (size_t)size);
	for (int i = 0; i < STEPS; i++) {
		compute(2);
		MPI_Alltoall(from, part, MPI_BYTE, to, part, MPI_BYTE, MPI_COMM_WORLD);
	}
	free(from);
	free(to);
}

/* Neighbours' faces are put into windows; rank 1 has three times the work. */
static void one_sided(int passive)
{
	MPI_Win win;
	MPI_Win_create(buffer, 2 * FACE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	passive ? MPI_Win_lock_all(0, win) : MPI_Win_fence(0, win);
	for (int i = 0; i < STEPS; i++) {
		compute(rank == 1 ? 30 : 10);
		MPI_Put(buffer + 2 * FACE, FACE, MPI_BYTE, right(), 0, FACE, MPI_BYTE, win);
		MPI_Put(buffer + 3 * FACE, FACE, MPI_BYTE, left(), FACE, FACE, MPI_BYTE, win);
		passive ? MPI_Win_flush_all(win) : MPI_Win_fence(0, win);
		if (passive)
			MPI_Barrier(MPI_COMM_WORLD);
	}
	if (passive)
		MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
}

static void fence(void)
{
	one_sided(0);
}

static void passive(void)
{
	one_sided(1);
}

static void files(int collective)
{
	MPI_File file;
	int block = 4 << 20;
	char *data = calloc(1, (size_t)block);
	MPI_File_open(MPI_COMM_WORLD, "answers.out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	for (int i = 0; i < 256 / size; i++) {
		MPI_Offset at = ((MPI_Offset)i * size + rank) * block;
		compute(1);
		if (collective)
			MPI_File_write_at_all(file, at % (64 << 20), data, block, MPI_BYTE, MPI_STATUS_IGNORE);
		else
			MPI_File_write_at(file, at % (64 << 20), data, block, MPI_BYTE, MPI_STATUS_IGNORE);
	}
	MPI_File_close(&file);
	free(data);
}

static void collective_io(void)
{
	files(1);
}

static void own_io(void)
{
	files(0);
}

/* Each thread exchanges with its fellow on the neighbour; thread 0 of rank 1 is slow. */
static void hybrid(void)
{
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
	{
		int thread = omp_get_thread_num(), got;
		for (int i = 0; i < STEPS; i++) {
			compute(rank == 1 && thread == 0 ? 30 : 10);
			MPI_Sendrecv(&i, 1, MPI_INT, right(), thread, &got, 1, MPI_INT, left(), thread, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
		}
	}
#endif
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Between two pieces of work each rank asks whether something has come; rank 1 sends late. */
static void polling(void)
{
	for (int i = 0; i < STEPS; i++) {
		MPI_Request all[2];
		int done = 0, n, which[2];
		compute(rank == 1 ? 30 : 10);
		MPI_Irecv(buffer, FACE, MPI_BYTE, left(), 0, MPI_COMM_WORLD, &all[0]);
		MPI_Isend(buffer + FACE, FACE, MPI_BYTE, right(), 0, MPI_COMM_WORLD, &all[1]);
		while (done < 2) {
			MPI_Testsome(2, all, &n, which, MPI_STATUSES_IGNORE);
			done += n > 0 ? n : 0;
		}
	}
}

/* New communicators in every step, for a sum over them. */
static void split(void)
{
	double sum = rank;
	for (int i = 0; i < 200; i++) {
		MPI_Comm half;
		MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
		MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
		MPI_Comm_free(&half);
	}
}

/* ---- ends ---- */

static void early(void)
{
	for (int i = 0; i < STEPS; i++) {
		compute(10);
		exchange();
		if (rank == 1 && i == STEPS / 2)
			exit(0);
	}
}

static void aborts(void)
{
	for (int i = 0; i < STEPS; i++) {
		compute(10);
		exchange();
		if (rank == 1 && i == STEPS / 2)
			MPI_Abort(MPI_COMM_WORLD, 3);
	}
}

static void crash(void)
{
	for (int i = 0; i < STEPS; i++) {
		compute(10);
		MPI_Allreduce(rank == 1 && i == STEPS / 2 ? (void *)64 : buffer, buffer + FACE, 64, MPI_DOUBLE, MPI_SUM,
			      MPI_COMM_WORLD);
	}
}

/* Everybody receives before anybody sends. */
static void deadlock(void)
{
	for (int i = 0; i < STEPS / 2; i++) {
		compute(10);
		exchange();
	}
	MPI_Recv(buffer, FACE, MPI_BYTE, left(), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(buffer, FACE, MPI_BYTE, right(), 7, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	static const struct program_case all[] = {
		{"halo", halo},
		{"farm", farm},
		{"pipeline", pipeline},
		{"transpose", transpose},
		{"fence", fence},
		{"passive", passive},
		{"collective_io", collective_io},
		{"own_io", own_io},
		{"hybrid", hybrid},
		{"polling", polling},
		{"split", split},
		{"early", early},
		{"aborts", aborts},
		{"crash", crash},
		{"deadlock", deadlock},
	};
	return run_case(argc, argv, all, sizeof(all) / sizeof(all[0]), "hybrid", 4 * FACE);
}
