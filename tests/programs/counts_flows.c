/* counts_flows.c - what collectives move between world ranks, counted by the program: neighbourhood collectives on
 * cartesian, graph and distributed graph communicators, and MPI_IN_PLACE everywhere. Exactly 4 ranks, or any
 * number above. */
#include "truth.h"

#define N 3

static int rank, size;
static int a[4096], b[4096], counts[64], displs[64];

/* ---- neighbours: nin, nout of them, `out` in world ranks (-1: none there) ---- */

static void passed_each(int nout, const int *out, long bytes)
{
	for (int i = 0; i < nout; i++)
		if (out[i] >= 0 && out[i] != rank)
			passed(out[i], bytes);
}

/* i + 1 ints to the i-th neighbour. */
static void passed_growing(int nout, const int *out)
{
	for (int i = 0; i < nout; i++)
		if (out[i] >= 0 && out[i] != rank)
			passed(out[i], (i + 1) * 4);
}

static void neighbors(MPI_Comm c, int nin, int nout, const int *out)
{
	int send[16], recv[16], from[16];
	MPI_Aint sdispls[16], rdispls[16];
	MPI_Datatype types[16];
	MPI_Request r[5];
	for (int i = 0; i < 16; i++) {
		send[i] = i + 1;
		recv[i] = 0; /* stays so where the neighbour is MPI_PROC_NULL */
		from[i] = i * 16;
		sdispls[i] = rdispls[i] = i * 64;
		types[i] = MPI_INT;
	}
	/* what comes in is not known here without asking: everybody sends to its i-th neighbour, so ask */
	CALL(MPI_Neighbor_alltoall, send, 1, MPI_INT, recv, 1, MPI_INT, c);
	passed_each(nout, out, 4);
	CALL(MPI_Neighbor_allgather, a, N, MPI_INT, b, N, MPI_INT, c);
	passed_each(nout, out, N * 4);
	for (int i = 0; i < nin; i++)
		counts[i] = N;
	CALL(MPI_Neighbor_allgatherv, a, N, MPI_INT, b, counts, from, MPI_INT, c);
	passed_each(nout, out, N * 4);
	CALL(MPI_Neighbor_alltoallv, a, send, from, MPI_INT, b, recv, from, MPI_INT, c);
	passed_growing(nout, out);
	CALL(MPI_Neighbor_alltoallw, a, send, sdispls, types, b, recv, rdispls, types, c);
	passed_growing(nout, out);
	CALL(MPI_Ineighbor_alltoall, a, 1, MPI_INT, b, 1, MPI_INT, c, &r[0]);
	passed_each(nout, out, 4);
	CALL(MPI_Ineighbor_allgather, a, N, MPI_INT, b + 512, N, MPI_INT, c, &r[1]);
	passed_each(nout, out, N * 4);
	CALL(MPI_Ineighbor_allgatherv, a, N, MPI_INT, b + 1024, counts, from, MPI_INT, c, &r[2]);
	passed_each(nout, out, N * 4);
	CALL(MPI_Ineighbor_alltoallv, a, send, from, MPI_INT, b + 1536, recv, from, MPI_INT, c, &r[3]);
	passed_growing(nout, out);
	CALL(MPI_Ineighbor_alltoallw, a, send, sdispls, types, b + 2048, recv, rdispls, types, c, &r[4]);
	passed_growing(nout, out);
	CALL(MPI_Waitall, 5, r, MPI_STATUSES_IGNORE);
}

/* A line of ranks in reversed order, open at its ends. */
static void cart(void)
{
	MPI_Comm turned, c;
	int dims[1] = {size}, periods[1] = {0}, out[2];
	CALL(MPI_Comm_split, MPI_COMM_WORLD, 0, -rank, &turned);
	CALL(MPI_Cart_create, turned, 1, dims, periods, 0, &c);
	out[0] = rank + 1 < size ? rank + 1 : -1; /* the lower neighbour there is the higher here */
	out[1] = rank - 1;
	neighbors(c, 2, 2, out);
	CALL(MPI_Comm_free, &c);
	CALL(MPI_Comm_free, &turned);
}

/* A star around rank 0. */
static void graph(void)
{
	MPI_Comm c;
	int index[64], edges[128], out[64], n = 0;
	for (int i = 1; i < size; i++)
		edges[n++] = i;
	index[0] = n;
	for (int i = 1; i < size; i++) {
		edges[n++] = 0;
		index[i] = n;
	}
	CALL(MPI_Graph_create, MPI_COMM_WORLD, size, index, edges, 0, &c);
	for (int i = 0; i < size - 1; i++)
		out[i] = rank == 0 ? i + 1 : 0;
	n = rank == 0 ? size - 1 : 1;
	neighbors(c, n, n, out);
	CALL(MPI_Comm_free, &c);
}

/* To the next and the one after; another degree in than out for nobody, but other ranks. */
static void dist_graph(void)
{
	MPI_Comm c, again;
	int out[2] = {(rank + 1) % size, (rank + 2) % size},
	    in[2] = {(rank + size - 1) % size, (rank + size - 2) % size};
	int one = rank, degree = 2;
	CALL(MPI_Dist_graph_create_adjacent, MPI_COMM_WORLD, 2, in, MPI_UNWEIGHTED, 2, out, MPI_UNWEIGHTED,
	     MPI_INFO_NULL, 0, &c);
	neighbors(c, 2, 2, out);
	CALL(MPI_Comm_dup, c, &again);
	neighbors(again, 2, 2, out);
	CALL(MPI_Comm_free, &again);
	CALL(MPI_Comm_free, &c);
	CALL(MPI_Dist_graph_create, MPI_COMM_WORLD, 1, &one, &degree, out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);
	int nin, nout, weighted, order_in[16], order[16], weights[16];
	CALL(MPI_Dist_graph_neighbors_count, c, &nin, &nout, &weighted);
	CALL(MPI_Dist_graph_neighbors, c, nin, order_in, weights, nout, order, weights);
	neighbors(c, nin, nout, order);
	CALL(MPI_Comm_free, &c);
}

/* ---- in place ---- */

static void all(long bytes)
{
	for (int i = 0; i < size; i++)
		if (i != rank)
			passed(i, bytes);
}

static void all_growing(void)
{
	for (int i = 0; i < size; i++)
		if (i != rank)
			passed(i, (i + 1) * 4);
}

static void in_place(void)
{
	MPI_Datatype types[64];
	void *const here = MPI_IN_PLACE;
	for (int i = 0; i < size; i++) {
		counts[i] = i + 1;
		displs[i] = i * 8;
		types[i] = MPI_INT;
	}
	CALL(MPI_Allreduce, here, a, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD), all(8);
	CALL(MPI_Allgather, here, 0, MPI_DATATYPE_NULL, a, 2, MPI_INT, MPI_COMM_WORLD), all(8);
	CALL(MPI_Allgatherv, here, 0, MPI_DATATYPE_NULL, a, counts, displs, MPI_INT, MPI_COMM_WORLD),
		all((rank + 1) * 4);
	CALL(MPI_Alltoall, here, 0, MPI_DATATYPE_NULL, a, 2, MPI_INT, MPI_COMM_WORLD), all(8);
	for (int i = 0; i < size; i++)
		counts[i] = 3; /* in place, pairs exchange equal sizes */
	CALL(MPI_Alltoallv, here, NULL, NULL, MPI_DATATYPE_NULL, a, counts, displs, MPI_INT, MPI_COMM_WORLD), all(12);
	for (int i = 0; i < size; i++)
		displs[i] = i * 32;
	CALL(MPI_Alltoallw, here, NULL, NULL, NULL, a, counts, displs, types, MPI_COMM_WORLD), all(12);
	for (int i = 0; i < size; i++)
		counts[i] = i + 1;
	CALL(MPI_Reduce_scatter, here, a, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD), all_growing();
	CALL(MPI_Reduce_scatter_block, here, a, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD), all(8);
	CALL(MPI_Reduce, rank == 1 ? here : (void *)a, rank == 1 ? a : NULL, 2, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
	if (rank != 1)
		passed(1, 8);
	CALL(MPI_Gather, rank == 1 ? here : (void *)b, 2, MPI_INT, a, 2, MPI_INT, 1, MPI_COMM_WORLD);
	if (rank != 1)
		passed(1, 8);
	CALL(MPI_Gatherv, rank == 1 ? here : (void *)b, rank + 1, MPI_INT, a, counts, displs, MPI_INT, 1,
	     MPI_COMM_WORLD);
	if (rank != 1)
		passed(1, (rank + 1) * 4);
	CALL(MPI_Scatter, a, 2, MPI_INT, rank == 1 ? here : (void *)b, 2, MPI_INT, 1, MPI_COMM_WORLD);
	if (rank == 1)
		all(8);
	CALL(MPI_Scatterv, a, counts, displs, MPI_INT, rank == 1 ? here : (void *)b, rank + 1, MPI_INT, 1,
	     MPI_COMM_WORLD);
	if (rank == 1)
		all_growing();
	CALL(MPI_Scan, here, a, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CALL(MPI_Exscan, here, a, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (int i = rank + 1; i < size; i++) {
		passed(i, 8);
		passed(i, 8);
	}
}

int main(int argc, char **argv)
{
	CALL(MPI_Init, &argc, &argv);
	CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
	CALL(MPI_Comm_size, MPI_COMM_WORLD, &size);
	cart();
	graph();
	dist_graph();
	in_place();
	CALL(MPI_Finalize);
	truth_write(rank, size);
	return 0;
}
