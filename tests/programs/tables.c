/* tables.c CASE N - more objects at once than the tracer has places for: N of one kind are made, used and freed. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static void communicators(int n)
{
	MPI_Comm *c = calloc((size_t)n, sizeof(*c));
	for (int i = 0; i < n; i++)
		MPI_Comm_dup(MPI_COMM_SELF, &c[i]);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			MPI_Barrier(c[i]);
	for (int i = 0; i < n; i++)
		MPI_Comm_free(&c[i]);
}

/* Made, and not used before all of them are. */
static void promises(int n)
{
	MPI_Comm *c = calloc((size_t)n, sizeof(*c));
	for (int i = 0; i < n; i++) {
		MPI_Request r;
		MPI_Comm_idup(MPI_COMM_SELF, &c[i], &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < n; i++)
		MPI_Comm_free(&c[i]);
}

/* All different, or all alike. */
static void datatypes(int n, int step)
{
	MPI_Datatype *t = calloc((size_t)n, sizeof(*t));
	for (int i = 0; i < n; i++)
		MPI_Type_contiguous(1 + i * step, MPI_INT, &t[i]);
	for (int i = 0; i < n; i++)
		MPI_Type_free(&t[i]);
}

static void windows(int n)
{
	MPI_Win *w = calloc((size_t)n, sizeof(*w));
	int room[4];
	for (int i = 0; i < n; i++)
		MPI_Win_create(room, sizeof(room), 1, MPI_INFO_NULL, MPI_COMM_SELF, &w[i]);
	for (int i = 0; i < n; i++)
		MPI_Win_free(&w[i]);
}

static void messages(int n)
{
	MPI_Message *m = calloc((size_t)n, sizeof(*m));
	int a = 1, b;
	for (int i = 0; i < n; i++) {
		MPI_Request r;
		MPI_Isend(&a, 1, MPI_INT, 0, i, MPI_COMM_SELF, &r);
		MPI_Request_free(&r);
		MPI_Mprobe(0, i, MPI_COMM_SELF, &m[i], MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < n; i++)
		MPI_Mrecv(&b, 1, MPI_INT, &m[i], MPI_STATUS_IGNORE);
}

/* Operations that were never called before come when definitions are full. */
static void definitions(int n)
{
	int a = 1, b;
	for (int i = 0; i < n; i++) {
		MPI_Comm c;
		MPI_Comm_dup(MPI_COMM_SELF, &c);
		MPI_Comm_free(&c);
	}
	for (int i = 0; i < 10; i++) {
		MPI_Sendrecv(&a, 1, MPI_INT, 0, i, &b, 1, MPI_INT, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
		MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
	}
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]);
	MPI_Init(&argc, &argv);
	if (strcmp(argv[1], "communicators") == 0)
		communicators(n);
	else if (strcmp(argv[1], "promises") == 0)
		promises(n);
	else if (strcmp(argv[1], "meanings") == 0)
		datatypes(n, 1);
	else if (strcmp(argv[1], "datatypes") == 0)
		datatypes(n, 0);
	else if (strcmp(argv[1], "windows") == 0)
		windows(n);
	else if (strcmp(argv[1], "messages") == 0)
		messages(n);
	else if (strcmp(argv[1], "definitions") == 0)
		definitions(n);
	MPI_Finalize();
	return 0;
}
