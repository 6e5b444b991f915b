/* counts_comms.c - communicators made in all ways; on each of them a message goes to a known world rank, so that
 * members that disagreed about which communicator it is would not match. 4 ranks or more, an even number. */
#include "truth.h"

static int rank, size, out, in;

/* In a ring of the communicator's ranks; `next` is the world rank of the next one. */
static void ring(MPI_Comm c, int next)
{
	int n, me;
	CALL(MPI_Comm_rank, c, &me);
	CALL(MPI_Comm_size, c, &n);
	CALL(MPI_Sendrecv, &out, 1, MPI_INT, (me + 1) % n, 0, &in, 1, MPI_INT, (me + n - 1) % n, 0, c,
	     MPI_STATUS_IGNORE);
	sent(next, 4);
}

/* Only the members call: pairs at once with one tag, then the same pairs again, then the even ranks while the odd
 * ones do not. */
static void groups(void)
{
	MPI_Group world, pair, even;
	MPI_Comm first, second, third;
	int members[2] = {rank & ~1, rank | 1}, evens[TRUTH_RANKS];
	for (int i = 0; i < size / 2; i++)
		evens[i] = 2 * i;
	CALL(MPI_Comm_group, MPI_COMM_WORLD, &world);
	CALL(MPI_Group_incl, world, 2, members, &pair);
	CALL(MPI_Group_incl, world, size / 2, evens, &even);
	CALL(MPI_Comm_create_group, MPI_COMM_WORLD, pair, 7, &first);
	if (rank % 2 == 0)
		CALL(MPI_Comm_create_group, MPI_COMM_WORLD, even, 7, &third);
	CALL(MPI_Comm_create_group, MPI_COMM_WORLD, pair, 7, &second);
	CALL(MPI_Comm_set_name, first, "first pair");
	CALL(MPI_Comm_set_name, second, "second pair");
	ring(second, rank ^ 1);
	ring(first, rank ^ 1);
	if (rank % 2 == 0) {
		CALL(MPI_Comm_set_name, third, "even");
		ring(third, (rank + 2) % size);
		CALL(MPI_Comm_free, &third);
	}
	CALL(MPI_Comm_free, &first);
	CALL(MPI_Comm_free, &second);
	CALL(MPI_Comm_create, MPI_COMM_WORLD, even, &third);
	if (third != MPI_COMM_NULL) {
		ring(third, (rank + 2) % size);
		CALL(MPI_Comm_free, &third);
	}
	CALL(MPI_Comm_split, MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, rank, &third);
	if (third != MPI_COMM_NULL) {
		ring(third, rank + 1 < size ? rank + 1 : 1);
		CALL(MPI_Comm_free, &third);
	}
	CALL(MPI_Group_free, &pair);
	CALL(MPI_Group_free, &even);
	CALL(MPI_Group_free, &world);
}

/* Several duplicates under way at once, and one made while they are. */
static void duplicates(void)
{
	MPI_Comm dups[3], between;
	MPI_Request r[3];
	for (int i = 0; i < 3; i++)
		CALL(MPI_Comm_idup, MPI_COMM_WORLD, &dups[i], &r[i]);
	CALL(MPI_Comm_dup, MPI_COMM_WORLD, &between);
	ring(between, (rank + 1) % size);
	for (int i = 2; i >= 0; i--)
		CALL(MPI_Wait, &r[i], MPI_STATUS_IGNORE);
	for (int i = 2; i >= 0; i--) {
		ring(dups[i], (rank + 1) % size);
		CALL(MPI_Comm_free, &dups[i]);
	}
	CALL(MPI_Comm_free, &between);
	for (int i = 0; i < 200; i++) { /* handles come back */
		CALL(MPI_Comm_dup, MPI_COMM_WORLD, &between);
		if (i % 50 == 0)
			ring(between, (rank + 1) % size);
		CALL(MPI_Comm_free, &between);
	}
}

static void graphs(void)
{
	MPI_Comm c, d;
	int next = (rank + 1) % size, previous = (rank + size - 1) % size, one = 1;
	CALL(MPI_Dist_graph_create, MPI_COMM_WORLD, 1, &rank, &one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);
	CALL(MPI_Comm_set_name, c, "graph");
	ring(c, next);
	CALL(MPI_Dist_graph_create_adjacent, c, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL,
	     0, &d);
	ring(d, next);
	CALL(MPI_Comm_free, &d);
	CALL(MPI_Comm_free, &c);
}

/* Both sides of two inter-communicators with different tags; a merged one. */
static void between(void)
{
	MPI_Comm half, one, two, merged;
	int me;
	CALL(MPI_Comm_split, MPI_COMM_WORLD, rank % 2, rank, &half);
	CALL(MPI_Comm_rank, half, &me);
	CALL(MPI_Intercomm_create, half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &one);
	CALL(MPI_Intercomm_create, half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &two);
	CALL(MPI_Sendrecv, &out, 1, MPI_INT, me, 0, &in, 1, MPI_INT, me, 0, two, MPI_STATUS_IGNORE), sent(rank ^ 1, 4);
	CALL(MPI_Sendrecv, &out, 1, MPI_INT, me, 0, &in, 1, MPI_INT, me, 0, one, MPI_STATUS_IGNORE), sent(rank ^ 1, 4);
	CALL(MPI_Intercomm_merge, one, rank % 2, &merged); /* the even ones first */
	ring(merged, rank % 2 == 0 ? (rank + 2 < size ? rank + 2 : 1) : (rank + 2 < size ? rank + 2 : 0));
	CALL(MPI_Comm_free, &merged);
	CALL(MPI_Comm_free, &one);
	CALL(MPI_Comm_free, &two);
	CALL(MPI_Comm_free, &half);
}

int main(int argc, char **argv)
{
	CALL(MPI_Init, &argc, &argv);
	CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
	CALL(MPI_Comm_size, MPI_COMM_WORLD, &size);
	groups();
	duplicates();
	graphs();
	between();
	CALL(MPI_Finalize);
	truth_write(rank, size);
	return 0;
}
