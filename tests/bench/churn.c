/* churn.c MODE N - programs whose handles and arguments change all the time; of several
 * processes each for itself, but for comm and split.
 * type     a new datatype for each message: vector, commit, Sendrecv to itself, free (BLACS does so)
 * shapes   the same, of 1,000 different sizes in turn
 * distinct the same, of N different sizes
 * comm     MPI_Comm_dup, free
 * split    MPI_Comm_split, an Allreduce on it, free
 * sizes    MPI_Sendrecv of 20,000 sizes in turn
 * tags     MPI_Isend, Irecv, Waitall with 20,000 tags in turn
 * once     MPI_Sendrecv of N sizes and tags, each of them once
 * fresh    MPI_Sendrecv of N tags, each of them once */
#include "bench.h"

#include <string.h>

#define VARIANTS 20000
#define TYPE_INTS 2000000

static int in[TYPE_INTS], out[TYPE_INTS];

static void with_type(int count, int length, int stride)
{
	MPI_Datatype t;
	MPI_Type_vector(count, length, stride, MPI_INT, &t);
	MPI_Type_commit(&t);
	MPI_Sendrecv(out, 1, t, 0, 1, in, count * length, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	MPI_Type_free(&t);
}

static long type(long i)
{
	(void)i;
	with_type(4, 1, 2);
	return 4;
}

static long shapes(long i)
{
	with_type(4 + (int)(i % 1000), 1, 2);
	return 4;
}

static long distinct(long i)
{
	with_type(1, 1 + (int)(i % TYPE_INTS), 1);
	return 4;
}

static long comm(long i)
{
	MPI_Comm c;
	(void)i;
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	MPI_Comm_free(&c);
	return 2;
}

static long split(long i)
{
	MPI_Comm c;
	MPI_Comm_split(MPI_COMM_WORLD, (int)(i & 1), 0, &c);
	MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, c);
	MPI_Comm_free(&c);
	return 3;
}

static long sizes(long i)
{
	int n = 1 + (int)(i % VARIANTS);
	MPI_Sendrecv(out, n, MPI_CHAR, 0, 1, in, n, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	return 1;
}

static long tags(long i)
{
	MPI_Request r[2];
	int tag = (int)(i % VARIANTS);
	MPI_Irecv(in, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &r[0]);
	MPI_Isend(out, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	return 3;
}

static long once(long i)
{
	int n = 1 + (int)(i % VARIANTS), tag = (int)(i / VARIANTS);
	MPI_Sendrecv(out, n, MPI_CHAR, 0, tag, in, n, MPI_CHAR, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	return 1;
}

static long fresh(long i)
{
	MPI_Sendrecv(out, 8, MPI_CHAR, 0, (int)i, in, 8, MPI_CHAR, 0, (int)i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	return 1;
}

static const struct mode {
	const char *name;
	long (*step)(long i);
	long warm_up;
} modes[] = {
	{"type", type, 1000},	      {"shapes", shapes, 2000}, {"distinct", distinct, 0},
	{"comm", comm, 100},	      {"split", split, 100},	{"sizes", sizes, 2 * VARIANTS},
	{"tags", tags, 2 * VARIANTS}, {"once", once, 0},	{"fresh", fresh, 0},
};

int main(int argc, char **argv)
{
	const struct mode *m = modes;
	long n = argc > 2 ? atol(argv[2]) : 100000, calls = 0;
	while (argc > 1 && strcmp(m->name, argv[1]) != 0)
		if (++m == modes + sizeof(modes) / sizeof(modes[0]))
			return 2;
	bench_begin(&argc, &argv);
	for (long i = 0; i < m->warm_up; i++)
		m->step(i);
	double seconds = bench_timed(m->step, n, &calls);
	bench_end(0, (double)calls, seconds);
	printf("STEPS %ld\n", m->warm_up + n);
	return 0;
}
