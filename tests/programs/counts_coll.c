/* counts_coll.c - every collective, blocking and nonblocking, on the world, on halves of it, on a cartesian grid
 * and on an inter-communicator; messages inside sub-communicators go to known world ranks. 4 ranks or more, an
 * even number. */
#include "truth.h"

static int world_rank, world_size;
static int a[4096], b[4096], counts[64], displs[64], ones[64];

static void blocking(MPI_Comm c, int n)
{
	MPI_Datatype types[64];
	for (int i = 0; i < n; i++)
		types[i] = MPI_INT;
	CALL(MPI_Barrier, c);
	CALL(MPI_Bcast, a, 3, MPI_INT, 0, c);
	CALL(MPI_Reduce, a, b, 3, MPI_INT, MPI_SUM, n - 1, c);
	CALL(MPI_Allreduce, a, b, 2, MPI_INT, MPI_MAX, c);
	CALL(MPI_Allreduce, MPI_IN_PLACE, b, 2, MPI_INT, MPI_MAX, c);
	CALL(MPI_Gather, a, 2, MPI_INT, b, 2, MPI_INT, 0, c);
	CALL(MPI_Gatherv, a, 1, MPI_INT, b, ones, displs, MPI_INT, 0, c);
	CALL(MPI_Scatter, a, 2, MPI_INT, b, 2, MPI_INT, 0, c);
	CALL(MPI_Scatterv, a, ones, displs, MPI_INT, b, 1, MPI_INT, 0, c);
	CALL(MPI_Allgather, a, 1, MPI_INT, b, 1, MPI_INT, c);
	CALL(MPI_Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, c);
	CALL(MPI_Allgatherv, a, 1, MPI_INT, b, ones, displs, MPI_INT, c);
	CALL(MPI_Alltoall, a, 1, MPI_INT, b, 1, MPI_INT, c);
	CALL(MPI_Alltoallv, a, ones, displs, MPI_INT, b, ones, displs, MPI_INT, c);
	CALL(MPI_Alltoallw, a, ones, displs, types, b, ones, displs, types, c);
	CALL(MPI_Reduce_scatter, a, b, ones, MPI_INT, MPI_SUM, c);
	CALL(MPI_Reduce_scatter_block, a, b, 1, MPI_INT, MPI_SUM, c);
	CALL(MPI_Scan, a, b, 1, MPI_INT, MPI_SUM, c);
	CALL(MPI_Exscan, a, b, 1, MPI_INT, MPI_SUM, c);
}

static void nonblocking(MPI_Comm c)
{
	MPI_Request r[15];
	int n = 0;
	CALL(MPI_Ibarrier, c, &r[n++]);
	CALL(MPI_Ibcast, a, 3, MPI_INT, 0, c, &r[n++]);
	CALL(MPI_Ireduce, a, b, 3, MPI_INT, MPI_SUM, 0, c, &r[n++]);
	CALL(MPI_Iallreduce, a, b + 8, 2, MPI_INT, MPI_MAX, c, &r[n++]);
	CALL(MPI_Igather, a, 2, MPI_INT, b + 16, 2, MPI_INT, 0, c, &r[n++]);
	CALL(MPI_Iscatter, a, 2, MPI_INT, b + 400, 2, MPI_INT, 0, c, &r[n++]);
	CALL(MPI_Iallgather, a, 1, MPI_INT, b + 500, 1, MPI_INT, c, &r[n++]);
	CALL(MPI_Iallgatherv, a, 1, MPI_INT, b + 600, ones, displs, MPI_INT, c, &r[n++]);
	CALL(MPI_Ialltoall, a, 1, MPI_INT, b + 700, 1, MPI_INT, c, &r[n++]);
	CALL(MPI_Ialltoallv, a, ones, displs, MPI_INT, b + 800, ones, displs, MPI_INT, c, &r[n++]);
	CALL(MPI_Ireduce_scatter_block, a, b + 900, 1, MPI_INT, MPI_SUM, c, &r[n++]);
	CALL(MPI_Iscan, a, b + 1000, 1, MPI_INT, MPI_SUM, c, &r[n++]);
	CALL(MPI_Iexscan, a, b + 1001, 1, MPI_INT, MPI_SUM, c, &r[n++]);
	CALL(MPI_Igatherv, a, 1, MPI_INT, b + 1100, ones, displs, MPI_INT, 0, c, &r[n++]);
	CALL(MPI_Iscatterv, a, ones, displs, MPI_INT, b + 1200, 1, MPI_INT, 0, c, &r[n++]);
	CALL(MPI_Waitall, n, r, MPI_STATUSES_IGNORE);
}

static void halves(void)
{
	MPI_Comm half, inter, merged, dup, idup;
	MPI_Request r;
	int n, me;
	CALL(MPI_Comm_split, MPI_COMM_WORLD, world_rank % 2, -world_rank, &half); /* reversed order of ranks */
	CALL(MPI_Comm_set_name, half, "half");
	CALL(MPI_Comm_size, half, &n);
	CALL(MPI_Comm_rank, half, &me);
	blocking(half, n);
	/* the next one in the reversed half is two below in the world */
	int to = (me + 1) % n, to_world = (world_rank - 2 + world_size) % world_size;
	CALL(MPI_Sendrecv, a, 5, MPI_INT, to, 1, b, 5, MPI_INT, (me + n - 1) % n, 1, half, MPI_STATUS_IGNORE);
	sent(to_world, 20);
	CALL(MPI_Comm_dup, half, &dup);
	CALL(MPI_Comm_idup, half, &idup, &r);
	CALL(MPI_Wait, &r, MPI_STATUS_IGNORE);
	CALL(MPI_Sendrecv, a, 1, MPI_INT, to, 1, b, 1, MPI_INT, (me + n - 1) % n, 1, idup, MPI_STATUS_IGNORE);
	sent(to_world, 4);
	/* leaders are rank 0 of each reversed half: the two highest of the world */
	CALL(MPI_Intercomm_create, half, 0, MPI_COMM_WORLD, world_size - 1 - world_rank % 2, 7, &inter);
	CALL(MPI_Barrier, inter);
	CALL(MPI_Allreduce, a, b, 1, MPI_INT, MPI_SUM, inter);
	CALL(MPI_Sendrecv, a, 2, MPI_INT, me, 3, b, 2, MPI_INT, me, 3, inter, MPI_STATUS_IGNORE);
	sent(world_rank ^ 1, 8);
	CALL(MPI_Intercomm_merge, inter, world_rank % 2, &merged);
	CALL(MPI_Barrier, merged);
	CALL(MPI_Comm_free, &merged);
	CALL(MPI_Comm_free, &inter);
	CALL(MPI_Comm_free, &dup);
	CALL(MPI_Comm_free, &idup);
	CALL(MPI_Comm_free, &half);
}

static void grid(void)
{
	MPI_Comm cart, row;
	int dims[2] = {0, 0}, periods[2] = {1, 0}, keep[2] = {0, 1}, from, to;
	CALL(MPI_Dims_create, world_size, 2, dims);
	CALL(MPI_Cart_create, MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
	CALL(MPI_Cart_shift, cart, 0, 1, &from, &to);
	CALL(MPI_Sendrecv, a, 1, MPI_INT, to, 0, b, 1, MPI_INT, from, 0, cart, MPI_STATUS_IGNORE);
	sent(to, 4);
	CALL(MPI_Neighbor_allgather, a, 1, MPI_INT, b, 1, MPI_INT, cart);
	CALL(MPI_Cart_sub, cart, keep, &row);
	CALL(MPI_Barrier, row);
	CALL(MPI_Comm_free, &row);
	CALL(MPI_Comm_free, &cart);
}

int main(int argc, char **argv)
{
	CALL(MPI_Init, &argc, &argv);
	CALL(MPI_Comm_rank, MPI_COMM_WORLD, &world_rank);
	CALL(MPI_Comm_size, MPI_COMM_WORLD, &world_size);
	for (int i = 0; i < world_size; i++) {
		ones[i] = 1;
		displs[i] = i;
		counts[i] = i;
	}
	blocking(MPI_COMM_WORLD, world_size);
	for (int i = 0; i < world_size; i++)
		displs[i] = i * 4;
	CALL(MPI_Barrier, MPI_COMM_SELF);
	for (int i = 0; i < world_size; i++)
		displs[i] = i;
	nonblocking(MPI_COMM_WORLD);
	halves();
	grid();
	CALL(MPI_Finalize);
	truth_write(world_rank, world_size);
	return 0;
}
