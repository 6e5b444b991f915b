/* unjudged.c start|free|message - what MPI has not judged yet when the tracer sees it, and then refuses, or takes: a
 * group that is none, a communicator that was freed already, a datatype that is none for a message that stays. Prints
 * what came of it, and how often the program's error handlers were called. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
	(void)comm, (void)code;
	handled++;
}

static void start(void)
{
	int x = 0;
	MPI_Win win;
	MPI_Win_create(&x, sizeof(x), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	int rc = MPI_Win_start(MPI_GROUP_NULL, 0, win);
	printf("%d, %d handled\n", rc != MPI_SUCCESS, handled);
	MPI_Win_free(&win);
}

static void free_twice(void)
{
	MPI_Comm dup, copy;
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	copy = dup;
	MPI_Comm_free(&dup);
	int rc = MPI_Comm_free(&copy);
	printf("%d, %d handled\n", rc != MPI_SUCCESS, handled);
}

static void message(void)
{
	int rank, x = 7;
	MPI_Message m;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		MPI_Send(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
		return;
	}
	x = 0;
	MPI_Mprobe(0, 5, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
	int rc = MPI_Mrecv(&x, 1, MPI_DATATYPE_NULL, &m, MPI_STATUS_IGNORE);
	printf("%d, %d handled\n", rc != MPI_SUCCESS, handled);
	rc = MPI_Mrecv(&x, 1, MPI_INT, &m, MPI_STATUS_IGNORE);
	printf("then %d: %d\n", rc, x);
}

int main(int argc, char **argv)
{
	MPI_Errhandler handler;
	if (argc < 2)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_create_errhandler(handle, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
	if (strcmp(argv[1], "start") == 0)
		start();
	else if (strcmp(argv[1], "free") == 0)
		free_twice();
	else
		message();
	MPI_Finalize();
	return 0;
}
