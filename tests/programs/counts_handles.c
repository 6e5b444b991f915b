/* counts_handles.c - handles that come back as something else, in every call: a datatype of another size for each
 * message, made by each constructor; communicators of other members, duplicates of duplicates, windows. Whoever
 * takes a handle for what it was counts other bytes or other ranks. In the end more types are alive at once than
 * anybody expects. */
#include "truth.h"

#define ROUNDS 300
#define MANY 70000 /* types alive at once */

static int rank, size;
static char out[1 << 16], in[1 << 16];

/* A type of n ints, made in one way after the other. */
static MPI_Datatype ints(int n, int how)
{
	MPI_Datatype t, half;
	int lengths[2] = {n - n / 2, n / 2}, where[2] = {0, n - n / 2}, sizes[1] = {n + 3}, part[1] = {n},
	    from[1] = {1};
	MPI_Aint bytes[2] = {0, 4 * (MPI_Aint)(n - n / 2)};
	MPI_Datatype both[2] = {MPI_INT, MPI_INT};
	switch (how % 7) {
	case 0:
		CALL(MPI_Type_contiguous, n, MPI_INT, &t);
		break;
	case 1:
		CALL(MPI_Type_vector, n, 1, 1, MPI_INT, &t);
		break;
	case 2:
		CALL(MPI_Type_indexed, 2, lengths, where, MPI_INT, &t);
		break;
	case 3:
		CALL(MPI_Type_create_struct, 2, lengths, bytes, both, &t);
		break;
	case 4:
		CALL(MPI_Type_create_subarray, 1, sizes, part, from, MPI_ORDER_C, MPI_INT, &t);
		break;
	case 5:
		CALL(MPI_Type_create_hindexed, 2, lengths, bytes, MPI_INT, &t);
		break;
	default: /* of a type that is gone before it is used */
		CALL(MPI_Type_contiguous, n, MPI_INT, &half);
		CALL(MPI_Type_create_resized, half, 0, 4 * (MPI_Aint)n, &t);
		CALL(MPI_Type_free, &half);
	}
	CALL(MPI_Type_commit, &t);
	return t;
}

static void types(void)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	for (int i = 0; i < ROUNDS; i++) {
		int n = 1 + (i * 7919) % 2000;
		MPI_Datatype t = ints(n, i);
		CALL(MPI_Sendrecv, out, 1, t, next, 1, in, n, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CALL(MPI_Type_free, &t);
		sent(next, 4l * n);
	}
}

static void ring(MPI_Comm c, const int *world, int n, int me)
{
	CALL(MPI_Sendrecv, out, 1, MPI_INT, (me + 1) % n, 2, in, 1, MPI_INT, (me + n - 1) % n, 2, c, MPI_STATUS_IGNORE);
	sent(world[(me + 1) % n], 4);
}

/* By turns everybody, everybody backwards, and halves. */
static void communicators(void)
{
	int world[TRUTH_RANKS];
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Comm c, d;
		int how = i % 3, half = rank % 2, n = how == 2 ? size / 2 : size;
		CALL(MPI_Comm_split, MPI_COMM_WORLD, how == 2 ? half : 0, how == 1 ? -rank : rank, &c);
		for (int k = 0; k < n; k++)
			world[k] = how == 0 ? k : how == 1 ? size - 1 - k : 2 * k + half;
		int me = how == 0 ? rank : how == 1 ? size - 1 - rank : rank / 2;
		CALL(MPI_Comm_dup, c, &d);
		ring(d, world, n, me);
		CALL(MPI_Comm_free, &c);
		CALL(MPI_Comm_dup, d, &c);
		ring(c, world, n, me);
		CALL(MPI_Comm_free, &d);
		CALL(MPI_Comm_free, &c);
	}
}

static void windows(void)
{
	static int memory[64];
	for (int i = 0; i < 20; i++) {
		MPI_Win win;
		int n = 1 + i % 9, target = (rank + i) % size;
		CALL(MPI_Win_create, memory, sizeof(memory), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
		CALL(MPI_Win_fence, 0, win);
		CALL(MPI_Put, out, n, MPI_INT, target, 0, n, MPI_INT, win);
		CALL(MPI_Win_fence, 0, win);
		CALL(MPI_Win_free, &win);
		put(target, 4l * n);
	}
}

/* The last ones find no room in the tables; their bytes count all the same. */
static void many_types(void)
{
	MPI_Datatype *all = malloc(MANY * sizeof(*all));
	for (int i = 0; i < MANY; i++)
		CALL(MPI_Type_contiguous, 1 + i % 16000, MPI_BYTE, &all[i]);
	for (int i = MANY - 50; i < MANY; i++) {
		CALL(MPI_Type_commit, &all[i]);
		CALL(MPI_Sendrecv, out, 2, all[i], rank, 3, in, 2, all[i], rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sent(rank, 2l * (1 + i % 16000));
	}
	for (int i = 0; i < MANY; i++)
		CALL(MPI_Type_free, &all[i]);
	free(all);
}

int main(int argc, char **argv)
{
	CALL(MPI_Init, &argc, &argv);
	CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
	CALL(MPI_Comm_size, MPI_COMM_WORLD, &size);
	types();
	communicators();
	windows();
	many_types();
	CALL(MPI_Barrier, MPI_COMM_WORLD);
	CALL(MPI_Finalize);
	truth_write(rank, size);
	return 0;
}
