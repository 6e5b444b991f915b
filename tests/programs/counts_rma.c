/* counts_rma.c - one-sided communication with known counts: all kinds of windows, all data calls, all
 * synchronisations, on the world and on halves of it with reversed ranks. 4 ranks or more, an even number. */
#include "truth.h"

#define N 5

static int rank, size, next, previous;
static double data[64], other[64], results[64];

static void fences(void)
{
	MPI_Win win;
	CALL(MPI_Win_create, data, sizeof(data), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	CALL(MPI_Win_set_name, win, "fenced");
	CALL(MPI_Win_fence, MPI_MODE_NOPRECEDE, win);
	for (int i = 0; i < N; i++) {
		CALL(MPI_Put, other, 3, MPI_DOUBLE, next, 0, 3, MPI_DOUBLE, win);
		put(next, 24);
		CALL(MPI_Win_fence, 0, win);
		CALL(MPI_Get, other, 2, MPI_DOUBLE, next, 8, 2, MPI_DOUBLE, win);
		got(next, 16);
		CALL(MPI_Win_fence, 0, win);
		CALL(MPI_Accumulate, other, 1, MPI_DOUBLE, previous, 16, 1, MPI_DOUBLE, MPI_SUM, win);
		put(previous, 8);
		CALL(MPI_Put, other, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, 1, MPI_DOUBLE, win);
		CALL(MPI_Win_fence, 0, win);
	}
	CALL(MPI_Win_free, &win);
}

static void general(void)
{
	MPI_Comm turned; /* ranks of the world in reversed order */
	MPI_Group all, to, from;
	MPI_Win win;
	int me = size - 1 - rank, flag;
	int targets[2] = {(me + 1) % size, (me + 2) % size},
	    origins[2] = {(me + size - 1) % size, (me + size - 2) % size};
	CALL(MPI_Comm_split, MPI_COMM_WORLD, 0, -rank, &turned);
	CALL(MPI_Win_create, data, sizeof(data), 8, MPI_INFO_NULL, turned, &win);
	CALL(MPI_Comm_group, turned, &all);
	CALL(MPI_Group_incl, all, 2, targets, &to);
	CALL(MPI_Group_incl, all, 2, origins, &from);
	for (int i = 0; i < N; i++) {
		CALL(MPI_Win_post, from, 0, win);
		CALL(MPI_Win_start, to, 0, win);
		for (int k = 0; k < 2; k++) {
			CALL(MPI_Put, other, 2, MPI_DOUBLE, targets[k], 0, 2, MPI_DOUBLE, win);
			put(size - 1 - targets[k], 16);
		}
		CALL(MPI_Win_complete, win);
		if (i % 2 == 0)
			CALL(MPI_Win_wait, win);
		else
			for (flag = 0; !flag;)
				CALL(MPI_Win_test, win, &flag);
	}
	CALL(MPI_Group_free, &to);
	CALL(MPI_Group_free, &from);
	CALL(MPI_Group_free, &all);
	CALL(MPI_Win_free, &win);
	CALL(MPI_Comm_free, &turned);
}

static void requests(MPI_Win win, int to, int to_world)
{
	MPI_Request r[4];
	CALL(MPI_Win_lock_all, MPI_MODE_NOCHECK, win);
	CALL(MPI_Rput, other, 1, MPI_DOUBLE, to, 0, 1, MPI_DOUBLE, win, &r[0]);
	put(to_world, 8);
	CALL(MPI_Rget, results, 2, MPI_DOUBLE, to, 2, 2, MPI_DOUBLE, win, &r[1]);
	got(to_world, 16);
	CALL(MPI_Raccumulate, other, 3, MPI_DOUBLE, to, 8, 3, MPI_DOUBLE, MPI_SUM, win, &r[2]);
	put(to_world, 24);
	CALL(MPI_Rget_accumulate, other, 1, MPI_DOUBLE, results + 8, 1, MPI_DOUBLE, to, 16, 1, MPI_DOUBLE, MPI_SUM, win,
	     &r[3]);
	put(to_world, 8);
	got(to_world, 8);
	CALL(MPI_Waitall, 4, r, MPI_STATUSES_IGNORE);
	CALL(MPI_Win_flush_all, win);
	CALL(MPI_Win_flush_local_all, win);
	CALL(MPI_Win_flush_local, to, win);
	CALL(MPI_Win_sync, win);
	CALL(MPI_Win_unlock_all, win);
}

static void locks(void)
{
	MPI_Comm half;
	MPI_Win win;
	double *mine;
	int n, me;
	long one = 1, old, expected = 0;
	CALL(MPI_Comm_split, MPI_COMM_WORLD, rank % 2, -rank, &half); /* reversed order of ranks */
	CALL(MPI_Comm_size, half, &n);
	CALL(MPI_Comm_rank, half, &me);
	/* the next one in the reversed half is two below in the world */
	int to = (me + 1) % n, to_world = (rank - 2 + size) % size;
	CALL(MPI_Win_allocate, 512, 8, MPI_INFO_NULL, half, &mine, &win);
	memset(mine, 0, 512);
	CALL(MPI_Barrier, half);
	for (int i = 0; i < N; i++) {
		CALL(MPI_Win_lock, i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, to, 0, win);
		CALL(MPI_Put, other, 4, MPI_DOUBLE, to, 0, 4, MPI_DOUBLE, win);
		put(to_world, 32);
		CALL(MPI_Win_flush, to, win);
		CALL(MPI_Fetch_and_op, &one, &old, MPI_LONG, to, 32, MPI_SUM, win);
		put(to_world, 8);
		got(to_world, 8);
		CALL(MPI_Fetch_and_op, NULL, &old, MPI_LONG, to, 32, MPI_NO_OP, win);
		put(to_world, 0);
		got(to_world, 8);
		CALL(MPI_Compare_and_swap, &one, &expected, &old, MPI_LONG, to, 33, win);
		put(to_world, 8);
		got(to_world, 8);
		CALL(MPI_Get_accumulate, NULL, 0, MPI_DATATYPE_NULL, results, 2, MPI_DOUBLE, to, 40, 2, MPI_DOUBLE,
		     MPI_NO_OP, win);
		put(to_world, 0);
		got(to_world, 16);
		CALL(MPI_Win_unlock, to, win);
	}
	CALL(MPI_Comm_free, &half); /* the window outlives it */
	requests(win, to, to_world);
	CALL(MPI_Win_free, &win);
}

/* On one node, ranks are those of the world; but MPICH 5 over UCX shares no memory, and puts each alone. */
static void shared(void)
{
	MPI_Comm node;
	MPI_Win win;
	double *mine;
	int n, me;
	CALL(MPI_Comm_split_type, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	CALL(MPI_Comm_size, node, &n);
	CALL(MPI_Comm_rank, node, &me);
	CALL(MPI_Win_allocate_shared, 64, 8, MPI_INFO_NULL, node, &mine, &win);
	CALL(MPI_Win_fence, 0, win);
	CALL(MPI_Put, other, 1, MPI_DOUBLE, (me + 1) % n, 0, 1, MPI_DOUBLE, win);
	put(n == 1 ? rank : next, 8);
	CALL(MPI_Win_fence, 0, win);
	CALL(MPI_Win_free, &win);
	CALL(MPI_Comm_free, &node);
}

static void dynamic(void)
{
	MPI_Win win;
	MPI_Aint where, all[TRUTH_RANKS];
	CALL(MPI_Win_create_dynamic, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	CALL(MPI_Win_attach, win, data, sizeof(data));
	CALL(MPI_Get_address, data, &where);
	CALL(MPI_Allgather, &where, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
	CALL(MPI_Win_fence, 0, win);
	CALL(MPI_Put, other, 7, MPI_DOUBLE, next, all[next], 7, MPI_DOUBLE, win);
	put(next, 56);
	CALL(MPI_Win_fence, 0, win);
	CALL(MPI_Win_detach, win, data);
	CALL(MPI_Win_free, &win);
}

int main(int argc, char **argv)
{
	CALL(MPI_Init, &argc, &argv);
	CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
	CALL(MPI_Comm_size, MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	previous = (rank + size - 1) % size;
	fences();
	general();
	locks();
	shared();
	dynamic();
	CALL(MPI_Finalize);
	truth_write(rank, size);
	return 0;
}
